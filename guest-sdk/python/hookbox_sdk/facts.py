"""The lines that a tool call may run, and the files that it uses, whatever its tool is."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from . import host

FileUse = Literal["reads", "writes", "removes", "moves"]
"""The use of a file."""


@dataclass(frozen=True)
class File:
    """A file that a call uses."""

    path: str
    """The path: absolute and without `..` if the directory of the call is known, else as it is written."""
    usage: FileUse
    """The use."""
    is_pattern: bool = False
    """True if the path is a pattern for names of files."""
    text: str | None = None
    """The text that goes into the file, or a part of it, if the call has it."""


@dataclass(frozen=True)
class CallFacts:
    """The effect of a call, as far as its text shows it."""

    lines: Sequence[str] = ()
    """The command lines that it may run. A tool that is not known, or one of an MCP server, may run code, or remove and
    show files: its lines have the same effect."""
    files: Sequence[File] = ()
    """The files that it uses, by its input and its lines."""


def read_call() -> CallFacts:
    """Returns the facts of the call that the event is about; none for another event."""
    return host.current().read_call()
