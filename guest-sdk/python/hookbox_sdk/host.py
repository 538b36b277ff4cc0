"""The host of the hook: hookbox in a component, and this process in a test."""

import sys
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from .facts import CallFacts

Level = Literal["debug", "info", "warn", "error"]


class Host(Protocol):
    """The functions that hookbox gives a hook."""

    def log(self, level: Level, message: str) -> None: ...
    def settings(self) -> list[tuple[str, str]]: ...
    def get(self, key: str) -> bytes | None: ...
    def set(self, key: str, value: bytes) -> None: ...
    def delete(self, key: str) -> None: ...
    def increment(self, key: str, delta: int) -> int: ...
    def keys(self) -> list[str]: ...
    def read_call(self) -> "CallFacts": ...


class Local:
    """A host in this process, for tests: the pairs of the settings, the facts of the call, and an empty store."""

    def __init__(self, settings: list[tuple[str, str]] | None = None, facts: "CallFacts | None" = None) -> None:
        self._settings = settings or []
        self._facts = facts
        self._values: dict[str, bytes] = {}

    def log(self, level: Level, message: str) -> None:
        print(f"{level}: {message}", file=sys.stderr)

    def settings(self) -> list[tuple[str, str]]:
        return self._settings

    def get(self, key: str) -> bytes | None:
        return self._values.get(key)

    def set(self, key: str, value: bytes) -> None:
        self._values[key] = value

    def delete(self, key: str) -> None:
        self._values.pop(key, None)

    def increment(self, key: str, delta: int) -> int:
        count = int(self._values.get(key, b"0")) + delta
        self._values[key] = str(count).encode()
        return count

    def keys(self) -> list[str]:
        return [*self._values]

    def read_call(self) -> "CallFacts":
        from .facts import CallFacts

        return self._facts or CallFacts()


_current: Host = Local()


def use(host: Host) -> None:
    """Makes this the host of the hook."""
    global _current
    _current = host


def current() -> Host:
    """Returns the host of the hook."""
    return _current
