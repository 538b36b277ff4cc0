"""Blocks a forced push, and suggests --force-with-lease."""

from hookbox_sdk import Answer, Context, Hook, ToolCall, block, shell

hook = Hook("no-force-push", "0.1.0", "Blocks a forced push, and suggests --force-with-lease.", on_failure="block")

REASON = "A forced push can remove the commits of others. Use `git push --force-with-lease` instead."


# Late, so that it judges what other hooks have made of the call.
@hook.before_tool_call(tools=["kind:shell"], priority=90)
def guard(_cx: Context, call: ToolCall) -> Answer | None:
    """Answers one call; None lets it pass."""
    return block(REASON) if any(map(forces, shell.commands(call.command or ""))) else None


def forces(words: list[str]) -> bool:
    """Returns true for `git push` with `--force`, `-f` or `+branch`, unless it is a dry run."""
    if shell.program(words) != "git":
        return False
    rest = words[1:]
    while rest and rest[0].startswith("-"):
        has_value = rest[0] in ("-C", "-c", "--config-env", "--git-dir", "--work-tree", "--namespace")
        rest = rest[2 if has_value else 1 :]
    if rest[:1] != ["push"]:
        return False
    options = rest[: rest.index("--")] if "--" in rest else rest
    letters = "".join(word for word in options if word.startswith("-") and not word.startswith("--"))
    forced = "--force" in options or "f" in letters or any(word.startswith("+") for word in rest)
    # A letter `n` among others may be the value of `-o`.
    return forced and "--dry-run" not in options and "-n" not in options
