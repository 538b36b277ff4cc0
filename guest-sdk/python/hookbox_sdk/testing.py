"""Tests of a hook for unittest and pytest: its cases, and its answer to one event.

    from pathlib import Path
    from unittest import TestCase

    from hook import hook
    from hookbox_sdk import block
    from hookbox_sdk.testing import answer, run_cases

    Cases = run_cases(Path(__file__).parent / "cases")

    class Guard(TestCase):
        def test_a_forced_push_is_blocked(self) -> None:
            call = {"tool_name": "bash", "tool_input": {"command": "git push --force"}}
            self.assertEqual(answer(hook, "before_tool_call", call), block("Push without force."))

`run_cases` runs `hookbox test`, and needs the program. `answer` calls the hook in this process, so that a debugger and a
coverage tool see its code.
"""

import json
import os
import re
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import fields as fields_of
from pathlib import Path
from typing import Any, TypeVar, cast
from unittest import TestCase

from . import events, facts, host
from .answers import Answer
from .hook import Hook

__all__ = ["answer", "run_cases"]

_T = TypeVar("_T")


def run_cases(cases: str | Path) -> type[TestCase]:
    """Runs the cases of a directory or of a file with `hookbox test`, for the component that is built, and returns a class
    with a test for each. A case that failed has its differences as `hookbox test` shows them.

    The program is the one that the variable `HOOKBOX` names, else `hookbox` of the `PATH`. If it does not start, if there
    are no cases, if a case file is wrong, or if the component is older than its sources, a test fails for this reason.
    """
    tests = dict[str, Callable[[TestCase], None]]()
    try:
        results = _results(cases)
        for number, sentence in enumerate(results["outdated"]):
            tests[f"test_the_component_is_new_{number}"] = _test(sentence, False, sentence)
        for case in results["cases"]:
            name = re.sub(r"\W+", "_", f"test_{Path(case['file']).stem}_{case['name']}")
            if name in tests:
                name += f"_line_{case['line']}"
            tests[name] = _test(case["name"], case["passed"], case["text"])
    except RuntimeError as error:
        tests["test_cases"] = _test("the cases run", False, str(error))
    return cast(type[TestCase], type("Cases", (TestCase,), tests))


def _results(cases: str | Path) -> Any:
    """Returns the output of `hookbox test --json`."""
    program = os.environ.get("HOOKBOX") or "hookbox"
    try:
        ended = subprocess.run([program, "test", "--json", "--", cases], capture_output=True, stdin=subprocess.DEVNULL)
    except OSError as error:
        get_it = "install hookbox (https://github.com/hookbox/hookbox), or name the program in the variable HOOKBOX"
        raise RuntimeError(f"cannot start {program}: {error.strerror}\nhint: {get_it}") from None
    try:
        return json.loads(ended.stdout)
    except ValueError:
        reason = ended.stderr.decode(errors="replace")
        raise RuntimeError(f"hookbox test failed (exit code {ended.returncode})\n{reason}") from None


def _test(name: str, passed: bool, text: str | None) -> Callable[[TestCase], None]:
    def test(self: TestCase) -> None:
        if not passed:
            self.fail(text)

    test.__doc__ = name
    return test


def answer(
    hook: Hook, event: str, data: Mapping[str, Any] | None = None, settings: Mapping[str, Any] | None = None
) -> Answer:
    """Returns the answer of a hook to one event, in this process. The host's rules do not apply: the function is called
    whatever its tools are, and each answer comes back as it is.

    `data` has the fields of the event, as in a case. The state is empty at each call. hookbox finds the kind of a tool and
    its paths; here a call with a text `command` is one of a shell, and `data` gives `tool_kind` and `paths` (a list of
    objects with `path` and `inside`) of another.

    Raises `KeyError` if the hook is not for the event.
    """
    given = dict(data or {})
    pairs = [(key, it if isinstance(it, str) else json.dumps(it)) for key, it in (settings or {}).items()]
    command = _command(given)
    before = host.current()
    host.use(host.Local(pairs, facts.CallFacts([] if command is None else [command])))
    try:
        context = _make(events.Context, {"timestamp": int(time.time() * 1000), "cwd": os.getcwd(), **given})
        return hook.run(event, context, _event(hook.kinds[event], event, given))
    finally:
        host.use(before)


_NAMES = {"conversation_id": "conv_id", "timestamp_ms": "timestamp", "output": "tool_output"}
"""The fields of a case that have another name here."""

_VALUES: dict[str, Callable[[Any], Any]] = {
    "budget": lambda it: events.TokenBudget(**it),
    "messages": events.Document,
    "output": events.Document,
    "usage": lambda it: events.Usage(**it),
}
"""The fields that are not plain values."""


def _make(kind: type[_T], given: Mapping[str, Any], **more: Any) -> _T:
    """Makes the data of an event; null counts as absent."""
    for name in (it.name for it in fields_of(cast(Any, kind))):
        value = given.get(_NAMES.get(name, name))
        if value is not None and name not in more:
            more[name] = _VALUES.get(name, lambda it: it)(value)
    return kind(**more)


def _event(kind: type[events.Event], name: str, given: Mapping[str, Any]) -> events.Event:
    if kind is events.ToolCall:
        return _call(given)
    if kind is events.ToolResult:
        output: Any = given.get("tool_output")
        of_output = cast(dict[str, Any], output) if isinstance(output, dict) else {}
        known = {key: of_output.get(key) for key in ("success", "error")}
        return _make(kind, {**known, **given}, call=_call(given))
    if kind is events.ErrorEvent:
        failed = events.FailedHook(given["hook"]) if "hook" in given else events.FailedTurn(given.get("turn_number"))
        return _make(kind, given, source=_call(given) if "tool_name" in given else failed, message=given.get("error", ""))
    if kind is events.OtherEvent:
        return events.OtherEvent(name, events.Document(given))
    return _make(kind, given)


def _call(given: Mapping[str, Any]) -> events.ToolCall:
    command = _command(given)
    return events.ToolCall(
        id=given.get("tool_user_id"),
        name=given.get("tool_name", ""),
        kind=given.get("tool_kind", "other" if command is None else "shell"),
        command=command,
        paths=[events.ResolvedPath(**it) for it in given.get("paths", [])],
        input=events.Document(given.get("tool_input")),
    )


def _command(given: Mapping[str, Any]) -> str | None:
    return events.Document(given.get("tool_input")).get_str("/command")
