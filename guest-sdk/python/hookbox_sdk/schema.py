"""The JSON Schema of the settings, which `hookbox build` puts into the component.

`python -m hookbox_sdk.schema` imports the project's `hook.py`, so that its errors are found before a build, and prints
the schema, if the hook has settings.
"""

import ast
import contextlib
import inspect
import json
import sys
import textwrap
import traceback
from dataclasses import MISSING, fields
from typing import Any, cast, get_args, get_origin, get_type_hints

from .hook import Hook

_NAMES: dict[Any, str] = {str: "string", bool: "boolean", int: "integer", float: "number"}


def schema(kind: type[Any]) -> dict[str, Any]:
    """Returns the schema of a dataclass. A string below a field is the field's description.

    Raises `TypeError` for a field that a setting cannot be.
    """
    types, notes = get_type_hints(kind), _notes(kind)
    properties: dict[str, Any] = {}
    for field in fields(cast(Any, kind)):
        found = _type(types[field.name], f"{kind.__name__}.{field.name}")
        if field.name in notes:
            found["description"] = notes[field.name]
        if field.default is not MISSING:
            found["default"] = field.default
        elif field.default_factory is not MISSING:
            found["default"] = field.default_factory()
        properties[field.name] = found
    return {"type": "object", "additionalProperties": False, "properties": properties}


def _type(kind: Any, at: str) -> dict[str, Any]:
    if kind in _NAMES:
        return {"type": _NAMES[kind]}
    if get_origin(kind) is list:
        return {"type": "array", "items": _type(get_args(kind)[0], at)}
    if get_origin(kind) is dict and get_args(kind)[0] is str:
        _type(get_args(kind)[1], at)
        return {"type": "object"}
    raise TypeError(f"{at}: expected str, bool, int, float, list[…] or dict[str, …], found {kind}")


def _notes(kind: type[Any]) -> dict[str, str]:
    """Returns the strings below the fields, by field."""
    try:
        body = cast(ast.ClassDef, ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]).body
    except (OSError, TypeError):
        return {}
    notes: dict[str, str] = {}
    for field, note in zip(body, body[1:]):
        match field, note:
            case ast.AnnAssign(target=ast.Name(name)), ast.Expr(value=ast.Constant(value=str(text))):
                notes[name] = inspect.cleandoc(text)
            case _:
                pass
    return notes


def main() -> int:
    """Imports `hook.py`, and prints the schema of its settings."""
    try:
        # The hook may print as well: only the schema goes to standard output.
        with contextlib.redirect_stdout(sys.stderr):
            hook: object = getattr(__import__("hook"), "hook", None)
        if not isinstance(hook, Hook):
            raise TypeError("hook.py: expected a variable `hook` with a Hook")
        if hook.settings is not None:
            print(json.dumps(schema(hook.settings)))
        return 0
    except BaseException as error:
        # Without the frame of this function; of wrong syntax there is only the place.
        frames = error.__traceback__ and error.__traceback__.tb_next
        traceback.print_exception(type(error), error, frames, limit=0 if isinstance(error, SyntaxError) else None)
        return 1


if __name__ == "__main__":
    sys.exit(main())
