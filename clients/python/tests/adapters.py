"""What the tests of the adapters share: the hooks, and the calls that a mock model makes."""

from __future__ import annotations

from typing import Any

from .project import NO_SUDO, hook

#: A guard, a changed input, a question, a changed output, and a text for the model.
HOOKS = {
    "1-no-sudo.sh": NO_SUDO,
    "2-change.sh": hook(
        "before_tool_call", """case "$(cat)" in *'"ls"'*) echo '{"input":{"command":"ls -l"}}' ;; esac"""
    ),
    "3-ask.sh": hook(
        "before_tool_call", """case "$(cat)" in *publish*) echo '{"decision":"ask","reason":"Really?"}' ;; esac"""
    ),
    "4-output.sh": hook("after_tool_call", """case "$(cat)" in *'ran secret'*) echo '{"output":"hidden"}' ;; esac"""),
}

#: The line of each call, and what the model reads if nobody agrees to a question.
READS = {
    "sudo ls": "error: No root here.",
    "ls": "ran ls -l",
    "secret": "hidden",
    "echo": "ran echo",
}

#: The words behind a question to which the user said no.
REFUSAL = " (the user was asked, and said no)"


class Tool:
    """A tool that notes the lines that it ran."""

    def __init__(self) -> None:
        self.ran: list[str] = []

    def __call__(self, command: str) -> str:
        self.ran.append(command)
        if command == "fail":
            raise OSError("the disk is full")
        return f"ran {command}"


def arguments(command: str) -> dict[str, Any]:
    """Returns the arguments of a call."""
    return {"command": command}
