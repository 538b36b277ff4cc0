"""Values that last from one call to the next, in the hook's own bucket. The hook asks for the right `store`.

Every function raises `StateError` if the right was not granted, or if the store does not work or is full.
"""

import json
from typing import cast

from .values import JSON
from .host import current


class StateError(Exception):
    """The store did not answer."""


def get(key: str) -> bytes | None:
    """Returns the value of a key; `None` if nothing was set."""
    return current().get(key)


def set(key: str, value: bytes) -> None:
    """Sets the value of a key."""
    current().set(key, value)


def delete(key: str) -> None:
    """Removes a key and its value; a missing key is no error."""
    current().delete(key)


def increment(key: str, delta: int = 1) -> int:
    """Adds to the counter of a key, which starts at 0, and returns its new value. No other call comes between."""
    return current().increment(key, delta)


def keys() -> list[str]:
    """Returns every key that has a value, in no particular order."""
    return current().keys()


def get_json(key: str) -> JSON:
    """Returns the value of a key that `set_json` has set; `None` if nothing was set."""
    value = get(key)
    return None if value is None else cast(JSON, json.loads(value))


def set_json(key: str, value: JSON) -> None:
    """Sets the value of a key to JSON."""
    set(key, json.dumps(value).encode())
