#!/usr/bin/env python3
"""Blocks dangerous shell commands.

Enforcing, as far as its host lets it: kodelet goes on when it fails; hookbox blocks then too, with
`on_failure = "block"` in hookbox.toml. The component `guardrail` reads a command line far better than this.
"""

import json
import re
import sys

DENY = ["rm -rf", "sudo", "curl | bash", "wget | sh", ":(){:|:&};:", "| bash", "| sh"]
SHELLS = {"bash", "shell", "run_shell_command", "exec_command", "local_shell"}


def expression(pattern):
    """A regular expression that finds a pattern by its words, not inside of longer words."""
    if "|" in pattern and "(" not in pattern:
        first, then = (re.escape(part.strip()) for part in pattern.split("|"))
        head = rf"(?<![\w./-]){first}(?![\w-])[^;&\n]*" if first else ""
        return re.compile(rf"{head}\|&?\s*(?:\S*/)?{then}(?![\w-])")
    words = [re.escape(word) for word in pattern.split()]
    if "(" in pattern:
        return re.compile(r"\s*".join(re.escape(letter) for letter in pattern))
    return re.compile(rf"(?<![\w.-])" + r"\s+".join(words) + r"(?![\w-])")


def denied(command):
    """The first pattern that a command line matches, or None."""
    return next((pattern for pattern in DENY if expression(pattern).search(command)), None)


def run(payload):
    tool_input = payload.get("tool_input")
    command = tool_input
    if isinstance(tool_input, dict):
        command = tool_input.get("command", tool_input.get("cmd", ""))
    if isinstance(command, list):
        command = " ".join(str(word) for word in command)
    if str(payload.get("tool_name", "")).lower() in SHELLS and isinstance(command, str):
        pattern = denied(command)
        if pattern is not None:
            return {"blocked": True, "reason": f"Security policy: '{pattern}' is not allowed"}
    return {"blocked": False}


def main(arguments):
    if arguments == ["hook"]:
        print("before_tool_call")
        return 0
    if arguments == ["run"]:
        print(json.dumps(run(json.load(sys.stdin))))
        return 0
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
