"""Reads case files."""

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, cast

MAX_FILE = 1 << 20
"""The largest case file, in bytes, as in `hookbox test`."""

MAX_TIMES = 100
"""The largest number of times that a hook gets the event of a case."""

CAUSES = ("denied", "exit", "trap")
"""The causes of a failure that a run without the sandbox finds."""

_Kinds = dict[str, tuple[type, ...]]

CASE_KEYS: _Kinds = {
    "name": (str,),
    "event": (str,),
    "command": (str,),
    "data": (dict,),
    "times": (int,),
    "settings": (dict,),
    "on_failure": (str,),
    "grants": (list,),
    "store": (dict,),
    "expect": (dict,),
    "before": (object,),
    "clock": (object,),
    "environment": (object,),
    "every": (object,),
    "files": (object,),
    "http": (object,),
}
"""The keys of a case, and the types of their values."""

EXPECT_KEYS: _Kinds = {
    "verdict": (str,),
    "reason": (str,),
    "input": (object,),
    "output": (object,),
    "message": (object,),
    "error": (object,),
    "changed": (bool,),
    "context": (list,),
    "warnings": (list,),
    "follow_ups": (list,),
    "callback": (str,),
    "log": (str,),
    "store": (dict,),
    "failure": (str,),
    "files": (object,),
    "fuel": (object,),
    "memory": (object,),
    "requests": (object,),
}
"""The keys of an expected answer, and the types of their values."""

_SANDBOX = ("before", "clock", "environment", "every", "files", "http")
_SANDBOX_OF_EXPECT = ("files", "fuel", "memory", "requests")

_BASE_COAT = {
    "SessionStart": "session_start",
    "SessionEnd": "session_end",
    "PreToolUse": "before_tool_call",
    "PostToolUse": "after_tool_call",
    "OnError": "on_error",
    "PreCompact": "pre_compact",
    "PostCompact": "post_compact",
    "OnBudgetExceeded": "on_budget_exceeded",
}


class CaseError(Exception):
    """A case file is wrong."""


@dataclass(frozen=True)
class Case:
    """One case."""

    name: str
    line: int
    needs_sandbox: str | None
    """The key that only `hookbox test` can honor."""
    event: str
    data: Mapping[str, Any]
    times: int
    settings: Mapping[str, Any]
    on_failure: Literal["pass", "block"] | None
    grants: list[str]
    store: Mapping[str, Any]
    expect: Mapping[str, Any] | None
    """The answer that must come; `None` if the file does not have it yet."""
    verdict: str


def read(path: Path) -> list[Case]:
    """Reads the cases of a file."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_FILE + 1)
        if len(content) > MAX_FILE:
            raise CaseError(f"has more than {MAX_FILE} bytes")
        cases = parse(content.decode())
        if not cases:
            raise CaseError("has no cases")
        return cases
    except (CaseError, OSError, ValueError) as error:
        raise CaseError(f"{path}: {error}") from None


def parse(text: str) -> list[Case]:
    """Reads the text of a case file."""
    file = tomllib.loads(text)
    _check(file, {"hook": (str,), "case": (list,)}, "a case file")
    tables = cast(list[Any], file.get("case", []))
    heads = [number for number, line in enumerate(text.split("\n"), 1) if re.match(r"\s*\[\[\s*case\s*]]", line)]
    lines = heads if len(heads) == len(tables) else [1] * len(tables)
    cases = list[Case]()
    for line, table in zip(lines, tables):
        try:
            case = _case(table, line)
            if any(it.name == case.name for it in cases):
                raise CaseError(f"a second case has the name {json.dumps(case.name)}")
        except CaseError as error:
            raise CaseError(f"line {line}: {error}") from None
        cases.append(case)
    return cases


def _check(table: Any, keys: _Kinds, what: str) -> None:
    if not isinstance(table, dict):
        raise CaseError(f"{what} is a table")
    for key, value in cast(dict[str, Any], table).items():
        if key not in keys:
            raise CaseError(f"{what} has no key {json.dumps(key)}, expected one of: {', '.join(keys)}")
        is_number = isinstance(value, bool) and int in keys[key]
        if is_number or not isinstance(value, keys[key]):
            raise CaseError(f"`{key}` has a wrong type: {type(value).__name__}")


def _texts(table: Mapping[str, Any], key: str) -> list[str]:
    texts = cast(list[Any], table.get(key, []))
    if not all(isinstance(it, str) for it in texts):
        raise CaseError(f"`{key}` is a list of texts")
    return cast(list[str], texts)


def _choice(table: Mapping[str, Any], key: str, choices: tuple[str, ...]) -> str | None:
    found = table.get(key)
    if found is not None and found not in choices:
        raise CaseError(f"`{key}` is one of: {', '.join(choices)}")
    return found


def _case(found: Any, line: int) -> Case:
    _check(found, CASE_KEYS, "a case")
    table = cast(dict[str, Any], found)
    expect: dict[str, Any] | None = table.get("expect")
    if expect is not None:
        _check(expect, EXPECT_KEYS, "an expected answer")
        for key in ("context", "warnings", "follow_ups"):
            _texts(expect, key)
    if "name" not in table:
        raise CaseError("a case needs a name")
    if "event" not in table and "command" not in table:
        raise CaseError("a case needs an event; add `command` or `event`")
    if "command" in table and "data" in table:
        raise CaseError("a case has a command or data, not both")
    event: str = table.get("event", "before_tool_call")
    data: dict[str, Any] = table.get("data", {})
    if "command" in table:
        data = {"tool_name": "bash", "tool_input": {"command": table["command"]}}
    times: int = table.get("times", 1)
    if not 1 <= times <= MAX_TIMES:
        raise CaseError(f"times is a number from 1 to {MAX_TIMES}")
    case = Case(
        name=str(table["name"]),
        line=line,
        needs_sandbox=None,
        event=_BASE_COAT.get(event, event),
        data=data,
        times=times,
        settings=table.get("settings", {}),
        on_failure=cast(Literal["pass", "block"] | None, _choice(table, "on_failure", ("pass", "block"))),
        grants=_texts(table, "grants"),
        store=table.get("store", {}),
        expect=expect,
        verdict=_choice(expect or {}, "verdict", ("pass", "block", "ask", "allow")) or "pass",
    )
    return replace(case, needs_sandbox=_needs_sandbox(table, case))


def _needs_sandbox(table: Mapping[str, Any], case: Case) -> str | None:
    """Returns the first key that this harness cannot honor."""
    expect = case.expect or {}
    keys = [key for key in _SANDBOX if key in table]
    keys += [f"expect.{key}" for key in _SANDBOX_OF_EXPECT if key in expect]
    # The envelope of the Base Coat specification. `hook` is also a field of kodelet's `on_error`.
    if "hook" in case.data and case.event != "on_error":
        keys.append("data.hook")
    keys += [f"grants: {it}" for it in case.grants if it not in ("store", "conversation", "allow")]
    if expect.get("failure", "exit") not in CAUSES:
        keys.append(f"expect.failure: {expect['failure']}")
    return keys[0] if keys else None
