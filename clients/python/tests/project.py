"""A project with hooks in a temporary directory, and clients for it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any
from unittest import TestCase

from hookbox import AsyncHookbox, Hookbox

PROGRAM = os.environ.get("HOOKBOX_PROGRAM")


def hook(event: str, body: str) -> str:
    """Returns a script for an event. Its body reads the event on standard input and prints the answer."""
    return f'#!/bin/sh\n[ "$1" = hook ] && echo {event} && exit\n[ "$1" = run ] || exit 1\n{body}\n'


#: A guard that stops lines with sudo.
NO_SUDO = hook(
    "before_tool_call",
    """case "$(cat)" in *sudo*) echo '{"blocked":true,"reason":"No root here."}' ;; esac""",
)


class Project:
    """A directory with hooks, an empty home directory, and perhaps a program in place of hookbox."""

    def __init__(
        self, test: TestCase, hooks: dict[str, str], files: dict[str, str] | None = None, program: str | None = None
    ) -> None:
        if PROGRAM is None and program is None:
            raise test.failureException("HOOKBOX_PROGRAM: expected the path of hookbox")
        place = tempfile.TemporaryDirectory()
        test.addCleanup(place.cleanup)
        self.root, self.home = Path(place.name, "project"), Path(place.name, "home")
        self.home.mkdir()
        for name, text in {**{f".hookbox/hooks/{name}": text for name, text in hooks.items()}, **(files or {})}.items():
            self.write(self.root / name, text)
        self.root.mkdir(exist_ok=True)
        self.program = PROGRAM or ""
        if program is not None:
            self.program = str(Path(place.name, "program"))
            self.write(Path(self.program), program)
        # The process inherits the environment.
        before = dict(os.environ)
        test.addCleanup(lambda: (os.environ.clear(), os.environ.update(before)))
        for name in [name for name in os.environ if name.startswith(("HOOKBOX_", "XDG_"))]:
            del os.environ[name]
        os.environ["HOME"] = str(self.home)

    def write(self, path: Path, text: str) -> None:
        """Writes an executable file."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
        path.chmod(0o755)

    def options(self, **more: Any) -> dict[str, Any]:
        """Returns the options of a client."""
        return {"cwd": self.root, "program": self.program, "args": ["--trust", "all"], "agent": "tests", **more}

    def client(self, **more: Any) -> Hookbox:
        """Makes a client that blocks."""
        return Hookbox(**self.options(**more))

    def async_client(self, **more: Any) -> AsyncHookbox:
        """Makes a client for asyncio."""
        return AsyncHookbox(**self.options(**more))
