"""The values of events that have methods, or that another agent has in another form."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias, cast

JSON: TypeAlias = "None | bool | int | float | str | Sequence[JSON] | Mapping[str, JSON]"
"""A JSON value."""


class Source(Protocol):
    """A JSON value as text, which may stay in the host."""

    def get(self, pointer: str, /) -> str | None: ...
    def text(self, /) -> str: ...
    def size(self, /) -> int: ...


class Document:
    """A JSON value: a tool's input or output, the messages of a conversation.

    In a component the value stays in the host. A hook that reads one field pays for that field only.
    """

    def __init__(self, source: "Source | JSON" = None) -> None:
        if source is None or isinstance(source, (bool, int, float, str, Sequence, Mapping)):
            source = _Local(source)
        self._source = source

    def get(self, pointer: str) -> JSON:
        """Returns the value at a JSON Pointer (RFC 6901); `None` if there is no value, or null."""
        text = self._source.get(pointer)
        return None if text is None else cast(JSON, json.loads(text))

    def get_str(self, pointer: str) -> str | None:
        """Returns the string at a JSON Pointer; `None` if there is no value, or another one."""
        found = self.get(pointer)
        return found if isinstance(found, str) else None

    def value(self) -> JSON:
        """Returns the whole value."""
        return cast(JSON, json.loads(self.text()))

    def text(self) -> str:
        """Returns the whole value as JSON text."""
        return self._source.text()

    def size(self) -> int:
        """Returns the length of `text`, in bytes, without copying the value."""
        return self._source.size()


class _Local:
    """A value in this process, for tests."""

    def __init__(self, value: JSON) -> None:
        self._value = value

    def get(self, pointer: str) -> str | None:
        value = self._value
        if pointer and not pointer.startswith("/"):
            return None
        for part in pointer.split("/")[1:]:
            key = part.replace("~1", "/").replace("~0", "~")
            if isinstance(value, Mapping) and key in value:
                value = value[key]
            elif isinstance(value, Sequence) and not isinstance(value, str) and key.isdecimal():
                if int(key) >= len(value):
                    return None
                value = value[int(key)]
            else:
                return None
        return json.dumps(value)

    def text(self) -> str:
        return json.dumps(self._value)

    def size(self) -> int:
        return len(self.text().encode())


@dataclass(frozen=True)
class Usage:
    """The tokens that a conversation has used, and the room that is left."""

    input_tokens: int = 0
    """Tokens sent to the model so far."""
    output_tokens: int = 0
    """Tokens that the model produced so far."""
    current_context_window: int = 0
    """Tokens that the context window holds now."""
    max_context_window: int = 0
    """Tokens that it can hold."""

    def ratio(self) -> float | None:
        """Returns the used part of the context window; `None` if its size is not known."""
        return self.current_context_window / self.max_context_window if self.max_context_window else None


@dataclass(frozen=True)
class FailedTurn:
    """A turn that failed."""

    number: int | None = None
    """Its number, if it is known."""


@dataclass(frozen=True)
class FailedHook:
    """Another hook that failed."""

    name: str
    """Its name."""
