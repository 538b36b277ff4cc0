"""The hook's own settings: its table in `hookbox.toml`."""

import json
from dataclasses import MISSING, fields
from typing import Any, TypeVar, cast, get_args, get_origin, get_type_hints

from .host import current

_T = TypeVar("_T")


class SettingsError(Exception):
    """A setting is unknown, missing, or has a wrong type."""


def settings(kind: type[_T]) -> _T:
    """Reads the settings as a dataclass. Its fields may be `str`, `bool`, `int`, `float`, `list[…]` and
    `dict[str, …]` of these; a field without a default is required.

    Raises `SettingsError` for an unknown key, because a misspelled setting of a guard must not be ignored.
    """
    types = get_type_hints(kind)
    known = {field.name: field for field in fields(cast(Any, kind))}
    values: dict[str, Any] = {}
    for key, text in current().settings():
        if key not in known:
            raise SettingsError(f"unknown setting `{key}`, expected one of: {', '.join(known)}")
        values[key] = _read(key, text, types[key])
    for name, field in known.items():
        if name not in values and field.default is MISSING and field.default_factory is MISSING:
            raise SettingsError(f"the setting `{name}` is missing")
    return kind(**values)


def _read(key: str, text: str, kind: Any) -> Any:
    # A string is itself; any other value is JSON text.
    if kind is str:
        return text
    try:
        value = json.loads(text)
    except ValueError:
        value = text
    if not _is(value, kind):
        shown = kind.__name__ if isinstance(kind, type) and not get_args(kind) else str(kind)
        raise SettingsError(f"setting `{key}`: expected {shown}, found {json.dumps(value)[:64]}")
    return float(value) if kind is float else value


def _is(value: Any, kind: Any) -> bool:
    if get_origin(kind) is list:
        return isinstance(value, list) and all(_is(it, get_args(kind)[0]) for it in cast(list[Any], value))
    if get_origin(kind) is dict:
        items = cast(dict[Any, Any], value) if isinstance(value, dict) else None
        return items is not None and all(_is(it, get_args(kind)[1]) for it in items.values())
    if kind is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, kind)
