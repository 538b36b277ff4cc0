"""Gives a hook the event of a case, and judges its answer as the host does."""

import json
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from .. import answers, events, host
from ..facts import CallFacts
from ..hook import Hook
from ..state import StateError
from .case import Case, CaseError
from .data import Fields, context_of, event_of
from .facts import facts_of

WORK = "/hookbox-case/repo"
"""The working directory that a hook sees. It does not exist, so that a case depends on no file of its author."""

ALLOWED = {
    "session_start": ("inject",),
    "session_end": (),
    "user_message_send": ("block", "modify", "inject"),
    "before_tool_call": ("block", "ask", "modify", "inject", "allow"),
    "after_tool_call": ("block", "modify", "inject"),
    "on_error": ("modify", "inject"),
    "after_turn": ("inject", "mutate", "callback"),
    "turn_end": (),
    "agent_stop": ("follow-up", "mutate", "callback"),
    "pre_compact": ("block", "inject"),
    "post_compact": ("inject",),
    "on_budget_exceeded": ("block", "inject", "callback"),
}
"""The answers that each event allows, beside passing and warning."""

SUBJECTS = {
    "before_tool_call": "input",
    "after_tool_call": "output",
    "user_message_send": "message",
    "on_error": "error",
}
"""The names of the values that events are about."""


@dataclass
class Came:
    """The answer that came."""

    unfit: str | None = None
    """The reason why the case cannot be judged."""
    verdict: Literal["pass", "block", "ask", "allow"] = "pass"
    reason: str | None = None
    changed: tuple[str, events.JSON] | None = None
    """The value that the hook changed, with its name in a case."""
    context: list[str] = field(default_factory=list[str])
    warnings: list[str] = field(default_factory=list[str])
    follow_ups: list[str] = field(default_factory=list[str])
    callback: str | None = None
    log: str = ""
    store: dict[str, str] = field(default_factory=dict[str, str])
    failure: tuple[str, str] | None = None
    """The cause of the hook's failure, and its message."""


class _Surroundings:
    """A host with the settings and the state of a case."""

    def __init__(self, case: Case, event: events.Event) -> None:
        self.case = case
        self.event = event
        self.notes = ""
        self.was_denied = False
        self.values = {key: _text(value).encode() for key, value in case.store.items() if value is not False}

    def log(self, level: host.Level, message: str) -> None:
        self.notes += f"{level}: {message}\n"

    def settings(self) -> list[tuple[str, str]]:
        return [(key, _text(value)) for key, value in self.case.settings.items()]

    def get(self, key: str) -> bytes | None:
        return self._bucket().get(key)

    def set(self, key: str, value: bytes) -> None:
        self._bucket()[key] = value

    def delete(self, key: str) -> None:
        self._bucket().pop(key, None)

    def increment(self, key: str, delta: int) -> int:
        bucket = self._bucket()
        try:
            count = int(bucket.get(key, b"0")) + delta
        except ValueError:
            raise StateError(f"state: the value of {json.dumps(key)} is not a counter") from None
        bucket[key] = str(count).encode()
        return count

    def keys(self) -> list[str]:
        return [*self._bucket()]

    def read_call(self) -> CallFacts:
        call = _call_of(self.event)
        return CallFacts() if call is None else facts_of(call)

    def _bucket(self) -> dict[str, bytes]:
        if "store" in self.case.grants:
            return self.values
        self.was_denied = True
        raise StateError("state: the right `store` was not granted")


def _text(value: Any) -> str:
    """Returns a setting or a value of the store as a hook gets it: a text, or JSON."""
    return value if isinstance(value, str) else json.dumps(value, default=str, separators=(",", ":"))


def play(hook: Hook, case: Case) -> Came:
    """Runs one case."""
    unfit = _unfit(hook, case)
    if unfit is not None:
        return Came(unfit=unfit)
    fields = Fields({"cwd": WORK, "conv_id": "case", **case.data})
    if "conversation" not in case.grants:
        fields.all.pop("messages", None)
        if case.event == "post_compact":
            fields.all.pop("summary", None)
    try:
        context, event = context_of(fields), event_of(case.event, fields)
    except ValueError as error:
        raise CaseError(f"line {case.line}: {error}") from None
    came = Came()
    if not _is_wanted(hook, case, event):
        return came
    here, before = _Surroundings(case, event), host.current()
    host.use(here)
    try:
        for _ in range(case.times):
            here.was_denied = False
            came = _call(hook, case, context, event, here)
    finally:
        host.use(before)
    came.log = here.notes
    came.store = {key: neutral(value.decode(errors="replace")) for key, value in here.values.items()}
    return came


def _unfit(hook: Hook, case: Case) -> str | None:
    """Returns the reason why a case says nothing about the hook."""
    names = [it.event for it in hook.subscriptions]
    if case.event not in names:
        return f"the hook is for {', '.join(names)}, not for {case.event}"
    missing = next((grant for grant in case.grants if grant not in (*hook.asks_for, *hook.answers)), None)
    return missing and f"the case grants {missing}, and the hook does not ask for it"


def _call_of(event: events.Event) -> events.ToolCall | None:
    """Returns the tool call that an event is about."""
    match event:
        case events.ToolCall():
            return event
        case events.ToolResult():
            return event.call
        case events.ErrorEvent(source=events.ToolCall() as source):
            return source
        case _:
            return None


def _is_wanted(hook: Hook, case: Case, event: events.Event) -> bool:
    """Returns true if a subscription is for the event and its tool."""
    call = _call_of(event)
    wanted = [it.tools for it in hook.subscriptions if it.event == case.event]
    return any(not it or call is None or call.name in it or f"kind:{call.kind}" in it for it in wanted)


def _is_withheld(hook: Hook, case: Case) -> bool:
    """Returns true if the hook asks for the conversation, and the event has it, and the case does not grant it."""
    field = "summary" if case.event == "post_compact" else "messages"
    has_it = case.event in ("after_turn", "agent_stop", "pre_compact", "post_compact")
    is_given = has_it and case.data.get(field) is not None
    return is_given and "conversation" in hook.asks_for and "conversation" not in case.grants


def _call(hook: Hook, case: Case, context: events.Context, event: events.Event, here: _Surroundings) -> Came:
    came = Came()
    rights = ["conversation"] if _is_withheld(hook, case) else []

    def denied() -> list[str]:
        return [*rights, "store"] if here.was_denied else rights

    try:
        answer = cast(object, hook.run(case.event, context, event))
        if not isinstance(answer, answers.Answer):
            raise TypeError(f"expected an Answer or None, found {type(answer).__name__}")
        if denied():
            came.failure = ("denied", "")
        if not any(it.observe for it in hook.subscriptions if it.event == case.event):
            _take(came, hook, case, answer)
    except SystemExit as error:
        # Without this the end of the program would be the success of the run.
        _fail(came, hook, case, "denied" if denied() else "trap", f"SystemExit: {error.code!r}")
    except Exception as error:
        _fail(came, hook, case, "denied" if denied() else "exit", f"{type(error).__name__}: {error}")
    came.warnings += [f"{hook.name} was denied {it}; allow it with `hookbox grants add`" for it in denied()]
    return came


def _take(came: Came, hook: Hook, case: Case, answer: answers.Answer) -> None:
    """Takes the parts of an answer that the hook declares and the event allows."""
    came.warnings = [neutral(it) for it in answer.warnings]
    undeclared = list[str]()

    def is_free(name: str) -> bool:
        if name not in ("pass", "block", "ask") and name not in hook.answers:
            undeclared.append(name)
            return False
        # The agent decides about events that have no name here.
        is_allowed = name == "pass" or name in ALLOWED.get(case.event, ("block", "inject"))
        if not is_allowed:
            came.warnings.append(f"{hook.name} cannot {name} at {case.event}: not applied")
        return is_allowed

    if answer.context and is_free("inject"):
        came.context = [neutral(it) for it in answer.context]
    match answer.action:
        case answers.Block(reason) if is_free("block"):
            came.verdict, came.reason = "block", neutral(reason)
        case answers.Ask(reason) if is_free("ask"):
            came.verdict, came.reason = "ask", neutral(reason)
        case answers.Allow(reason) if is_free("allow") and "allow" in case.grants:
            came.verdict, came.reason = "allow", neutral(reason)
        case answers.Allow() if "allow" in hook.answers and "allow" not in case.grants:
            came.failure = ("denied", "")
            came.warnings.append(f"{hook.name} was denied allow; allow it with `hookbox grants add`")
        case answers.Modify(value) if is_free("modify"):
            text = neutral(json.dumps(value))
            name = SUBJECTS.get(case.event)
            came.changed = (name, cast(events.JSON, json.loads(text))) if name else None
        case answers.FollowUp(messages) if is_free("follow-up"):
            came.follow_ups = [neutral(it) for it in messages]
        case answers.Callback(name, _) if is_free("callback"):
            came.callback = name
        case answers.Mutate():
            is_free("mutate")
        case _:
            pass
    if undeclared:
        message = f"gave answers that it does not declare ({', '.join(undeclared)}): not applied"
        _fail(came, hook, case, "denied", message)


def _fail(came: Came, hook: Hook, case: Case, cause: str, message: str) -> None:
    """Notes a failure: a block if the policy is to block, and a warning."""
    text = neutral(f"{hook.name} failed ({cause}): {message}")
    if (case.on_failure or hook.on_failure) == "block" and "block" in ALLOWED.get(case.event, ("block",)):
        came.verdict, came.reason = "block", text
    came.warnings.append(text)
    came.failure = (cause, neutral(message))


def neutral(text: str) -> str:
    """Returns a text without the path of the working directory."""
    return text.replace(WORK, "$REPO")
