"""Compares the answer that came with the one that must come, as `hookbox test` does."""

import json
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, cast

from .case import Case
from .play import Came


@dataclass(frozen=True)
class Difference:
    """A difference between the answer that must come and the one that came."""

    what: str
    """The key of the expected answer, or `hook` if the case could not be judged."""
    expected: Any
    came: Any

    def lines(self) -> list[tuple[str, str]]:
        """Returns the lines with `-` for one that must come, `+` for one that came, else a space."""
        expected, came = _lines(self.expected), _lines(self.came)
        found = list[tuple[str, str]]()
        for tag, start, end, came_start, came_end in SequenceMatcher(None, expected, came, False).get_opcodes():
            if tag == "equal":
                found += [(" ", line) for line in expected[start:end]]
            else:
                found += [("-", line) for line in expected[start:end]]
                found += [("+", line) for line in came[came_start:came_end]]
        return found


def _lines(value: Any) -> list[str]:
    if value is None:
        return []
    text = value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False, default=str)
    return text.removesuffix("\n").split("\n")


def compare(case: Case, came: Came) -> list[Difference]:
    """Returns the differences between the answer of a case and the one that came."""
    if came.unfit is not None:
        return [Difference("hook", None, came.unfit)]
    expect = case.expect
    if expect is None:
        return [Difference("expect", None, _whole(came))]
    found = list[Difference]()

    def add(what: str, expected: Any, came: Any, is_same: bool) -> None:
        if not is_same:
            found.append(Difference(what, expected, came))

    add("verdict", case.verdict, came.verdict, case.verdict == came.verdict)
    for key, text in (("reason", came.reason), ("log", came.log)):
        if key in expect:
            add(key, expect[key], text, text is not None and expect[key] in text)
    changed = dict([came.changed] if came.changed else [])
    for key in ("input", "output", "message", "error"):
        if key in expect:
            add(key, expect[key], changed.get(key), key in changed and _matches(expect[key], changed[key]))
    if "changed" in expect:
        add("changed", expect["changed"], bool(changed), expect["changed"] == bool(changed))
    lists = (("context", came.context), ("warnings", came.warnings), ("follow_ups", came.follow_ups))
    for key, texts in lists:
        if key in expect:
            parts = expect[key]
            is_same = len(parts) == len(texts) and all(part in text for part, text in zip(parts, texts))
            add(key, parts, texts, is_same)
    if "callback" in expect:
        add("callback", expect["callback"], came.callback, expect["callback"] == came.callback)
    cause = came.failure[0] if came.failure else None
    shown = f"{came.failure[0]}: {came.failure[1]}" if came.failure else None
    add("failure", expect.get("failure"), shown, expect.get("failure") == cause)
    for key, value in sorted(expect.get("store", {}).items()):
        if _parts(value) is not None:
            add(f"store.{key}", value, came.store.get(key), _matches(value, came.store.get(key)))
            continue
        text = value if isinstance(value, str) else None if value is False else json.dumps(value, separators=(",", ":"))
        add(f"store.{key}", text, came.store.get(key), text == came.store.get(key))
    return found


def _is_equal(one: Any, other: Any) -> bool:
    # 1, 1.0 and True are equal in Python, and different in JSON.
    return json.dumps(one, sort_keys=True, default=str) == json.dumps(other, sort_keys=True, default=str)


def _parts(value: Any) -> list[str] | None:
    """Returns the parts of a text, if the value is `{ contains = "…" }` or `{ contains = ["…", "…"] }`."""
    if not isinstance(value, dict) or list[Any](cast(dict[Any, Any], value)) != ["contains"]:
        return None
    found = cast(dict[str, Any], value)["contains"]
    parts = [found] if isinstance(found, str) else cast(list[Any], found) if isinstance(found, list) else []
    return parts if parts and all(isinstance(part, str) for part in parts) else None


def _matches(expected: Any, came: Any) -> bool:
    """Returns true if a value is as it must be. Somewhere in the expected one, `{ contains = "…" }` may be for a text."""
    parts = _parts(expected)
    if parts is not None:
        return _is_equal(expected, came) or all(_contains(came, part) for part in parts)
    if isinstance(expected, dict) and isinstance(came, dict):
        fields, new = cast(dict[str, Any], expected), cast(dict[str, Any], came)
        return fields.keys() == new.keys() and all(_matches(value, new[key]) for key, value in fields.items())
    if isinstance(expected, list) and isinstance(came, list):
        items, others = cast(list[Any], expected), cast(list[Any], came)
        return len(items) == len(others) and all(map(_matches, items, others))
    return _is_equal(expected, came)


def _contains(value: Any, part: str) -> bool:
    """Returns true if a text in a value has this part."""
    if isinstance(value, str):
        return part in value
    if isinstance(value, dict):
        return any(_contains(field, part) for field in cast(dict[str, Any], value).values())
    return isinstance(value, list) and any(_contains(item, part) for item in cast(list[Any], value))


def _whole(came: Came) -> dict[str, Any]:
    """Returns what came, for a case that does not have its answer yet."""
    answer: dict[str, Any] = {
        "verdict": came.verdict,
        "reason": came.reason,
        "context": came.context,
        "warnings": came.warnings,
        "follow_ups": came.follow_ups,
        "callback": came.callback,
        "store": came.store,
        "failure": came.failure and came.failure[0],
    }
    answer.update([came.changed] if came.changed else [])
    return {key: value for key, value in answer.items() if value}
