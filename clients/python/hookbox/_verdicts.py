"""Verdicts: the answer to an event, typed, and the verdict of an event that got no answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, cast

#: The JSON form of a verdict that this package reads.
VERSION = 1

#: The parts of a verdict that are lists of texts.
TEXTS = ("context", "warnings", "follow_ups", "dropped_follow_ups")

#: The key of the value that an event goes on with, or ``None``, for each event with a decision.
SUBJECTS: dict[str, str | None] = {
    "user_message_send": "message",
    "before_tool_call": "input",
    "after_tool_call": "output",
    "on_error": "error",
    "pre_compact": None,
    "on_budget_exceeded": None,
}


class Failure(Exception):
    """The reason why an event got no verdict from hookbox."""

    def __init__(self, cause: str, text: str) -> None:
        super().__init__(text)
        self.cause = cause


@dataclass(frozen=True)
class ToolCall:
    """A call of a tool, as the model made it."""

    name: str
    input: Any
    id: str | None = None


@dataclass(frozen=True)
class Ruling:
    """A hook's ruling: the reason, the hook, and the cause (``"decision"``, or why a guard failed)."""

    reason: str
    by: str
    cause: str = "decision"
    #: The rule of the hook, if it named one.
    rule: str | None = None
    #: The code with which the user can allow the call. For the user, never for the model.
    code: str | None = None


@dataclass(frozen=True)
class Run:
    """The tool may run with this input, which a hook may have changed."""

    input: Any


@dataclass(frozen=True)
class Ask(Ruling):
    """The user decides. An agent without a user blocks the call."""

    #: The input that the question is about. Show it to the user; run with that of :meth:`user_agreed`.
    input: Any = None

    def user_agreed(self) -> Run:
        """Returns the permission to run the tool. Call it only after the user agreed."""
        return Run(self.input)


@dataclass(frozen=True)
class Block(Ruling):
    """The action must not happen. ``by`` is ``"hookbox"`` if hookbox itself gave no verdict."""

    #: After a tool has run: its output for the model, which hooks may have changed. ``None`` if the hooks did not see it.
    output: Any = None


T = TypeVar("T")
D = TypeVar("D")


@dataclass(frozen=True)
class Proceed(Generic[T]):
    """The agent goes on with this value."""

    value: T


@dataclass(frozen=True)
class Callback:
    """A recipe that hooks ask for, such as ``compact``."""

    name: str
    args: dict[str, str]


@dataclass(frozen=True)
class Verdict(Generic[D]):
    """The answer to an event."""

    #: The decision, with the value to go on with. ``None`` at events without a decision.
    decision: D
    #: True if a hook changed the value.
    modified: bool = False
    #: Texts for the model's next step.
    context: list[str] = field(default_factory=list[str])
    #: Notes for the user. Never for the model.
    warnings: list[str] = field(default_factory=list[str])
    #: Messages of the user with which the agent goes on (``agent_stop``).
    follow_ups: list[str] = field(default_factory=list[str])
    #: Messages that are not applied, because hooks made the agent go on too often in a row.
    dropped_follow_ups: list[str] = field(default_factory=list[str])
    #: The conversation that replaces the present one.
    messages: list[dict[str, str]] | None = None
    #: A recipe to run.
    callback: Callback | None = None
    #: The hook that says that the call needs no question of the agent's own.
    allowed: Ruling | None = None
    #: The hooks' own data, by hook.
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    #: The whole verdict as JSON.
    raw: dict[str, Any] = field(default_factory=dict[str, Any], repr=False)


Noted = Verdict[None]
ToolVerdict = Verdict[Run | Ask | Block]
MessageVerdict = Verdict[Proceed[str] | Block]
OutputVerdict = Verdict[Proceed[Any] | Block]
GateVerdict = Verdict[Proceed[None] | Block]
ErrorVerdict = Verdict[Proceed[str]]


@dataclass(frozen=True)
class ToolRun:
    """The end of a tool call that ``Session.tool`` made."""

    #: The result for the model: the output, the error, or the reason of a block.
    text: str
    #: The output for the model as JSON; ``None`` if the tool did not run, or if the hooks did not see the output.
    output: Any
    #: True if the tool ran.
    ran: bool
    #: The block or question that kept the tool from running, or that stops the agent after it.
    ruling: Ruling | None
    #: Texts for the model's next step.
    context: list[str]
    #: Notes for the user.
    warnings: list[str]


def failed(event: str, data: dict[str, Any], failure: Failure) -> dict[str, Any]:
    """Returns the verdict of an event that got none: a block, or a warning if the event cannot be blocked."""
    reason = f"hookbox: {failure}"
    raw: dict[str, Any] = {"version": VERSION}
    if event == "on_error":
        raw["decision"] = {"action": "proceed", "error": str(data.get("error", ""))}
    elif event in SUBJECTS:
        raw["decision"] = {"action": "block", "reason": reason, "by": "hookbox", "cause": failure.cause}
        return raw
    raw["warnings"] = [reason]
    return raw


def check(event: str, raw: object) -> dict[str, Any]:
    """Returns a verdict that hookbox sent. Raises :class:`Failure` if it is not a verdict of this event."""
    verdict = _object(raw)
    if verdict is None:
        raise Failure("malformed", "the answer has no verdict")
    if verdict.get("version") != VERSION or verdict.get("version") is True:
        raise Failure("version", f"the verdict has version {verdict.get('version')!r:.40}, expected {VERSION}")
    lists: list[Any] = [verdict.get(key, []) for key in TEXTS]
    if not all(
        isinstance(texts, list) and all(isinstance(it, str) for it in cast("list[object]", texts)) for texts in lists
    ):
        raise Failure("malformed", "the verdict has texts that are not texts")
    messages, callback = verdict.get("messages", []), verdict.get("callback")
    if not isinstance(messages, list) or callback is not None and not isinstance(_callback(callback), Callback):
        raise Failure("malformed", "the verdict has a change of the conversation that is malformed")
    if event not in SUBJECTS:
        return verdict
    decision, subject = _object(verdict.get("decision")) or {}, SUBJECTS[event]
    action = decision.get("action")
    going = {"before_tool_call": ("run", "ask")}.get(event, ("proceed",))
    if not isinstance(action, str) or action not in (*going, *(() if event == "on_error" else ("block",))):
        raise Failure("malformed", f"the verdict has the action {action!r:.40}")
    value = decision.get(subject, ...) if subject else None
    is_needed = action != "block" or event == "after_tool_call"
    if is_needed and (value is ... or subject in ("message", "error") and not isinstance(value, str)):
        raise Failure("malformed", f"the verdict has no {subject}")
    if action in ("ask", "block") and not all(isinstance(decision.get(key), str) for key in ("reason", "by", "cause")):
        raise Failure("malformed", "the verdict has no reason")
    return verdict


def typed(event: str, raw: dict[str, Any]) -> Verdict[Any]:
    """Returns the typed form of a verdict that :func:`check` or :func:`failed` returned."""
    return Verdict(
        decision=_decision(event, raw["decision"]) if event in SUBJECTS else None,
        modified=raw.get("modified") is True,
        context=list(raw.get("context", [])),
        warnings=list(raw.get("warnings", [])),
        follow_ups=list(raw.get("follow_ups", [])),
        dropped_follow_ups=list(raw.get("dropped_follow_ups", [])),
        messages=raw.get("messages"),
        callback=_callback(raw.get("callback")),
        allowed=_allowed(raw.get("decision")),
        metadata=_object(raw.get("metadata")) or {},
        raw=raw,
    )


def _decision(event: str, decision: dict[str, Any]) -> Run | Ask | Block | Proceed[Any]:
    action, subject = decision["action"], SUBJECTS[event]
    value = decision.get(subject) if subject else None
    if action == "run":
        return Run(value)
    if action == "proceed":
        return Proceed(value)
    return Ask(**_ruling(decision), input=value) if action == "ask" else Block(**_ruling(decision), output=value)


def _ruling(decision: dict[str, Any]) -> dict[str, Any]:
    return {key: decision.get(key) for key in ("reason", "by", "cause", "rule", "code")}


def _allowed(decision: object) -> Ruling | None:
    allowed = _object((_object(decision) or {}).get("allowed"))
    return Ruling(**_ruling(allowed)) if allowed else None


def _callback(callback: object) -> Callback | None:
    fields = _object(callback) or {}
    args = _object(fields.get("args", {}))
    return Callback(fields["name"], args) if isinstance(fields.get("name"), str) and args is not None else None


def _object(value: object) -> dict[str, Any] | None:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None
