"""The events: the data of each, and the type of its verdict. The methods of both kinds of session come from here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from ._verdicts import ErrorVerdict, GateVerdict, MessageVerdict, Noted, OutputVerdict, ToolCall, ToolVerdict

V = TypeVar("V")
Usage = dict[str, int]
Messages = Sequence[dict[str, str]]


@dataclass(frozen=True)
class Request(Generic[V]):
    """An event to send, whose verdict has the type ``V``."""

    event: str
    data: dict[str, Any]


def _request(event: str, more: dict[str, Any], **data: Any) -> Request[Any]:
    given = {key: value for key, value in {**data, **more}.items() if value is not None}
    return Request(event, given)


def _call(call: ToolCall) -> dict[str, Any]:
    # An input of ``None`` is an input, too; without one no guard would run.
    return {"tool_name": call.name, "tool_input": {} if call.input is None else call.input, "tool_user_id": call.id}


def session_start(source: str = "startup", **more: Any) -> Request[Noted]:
    """The session begins: ``startup``, ``resume`` and so on."""
    return _request("session_start", more, source=source)


def user_message_send(message: str, **more: Any) -> Request[MessageVerdict]:
    """The user sends a message. Send the message inside the decision, or none."""
    return _request("user_message_send", more, message=message)


def before_tool_call(call: ToolCall, **more: Any) -> Request[ToolVerdict]:
    """A tool is about to run. Run it with the input inside the decision, ask the user, or do not run it."""
    return _request("before_tool_call", more, **_call(call))


def after_tool_call(
    call: ToolCall, output: Any, success: bool | None = None, error: str | None = None, **more: Any
) -> Request[OutputVerdict]:
    """A tool has run, or was blocked. Give the model the output inside the decision."""
    if output is None and success is False:
        # Scripts read no other field of a call that did not run.
        output = {"toolName": call.name, "success": False, "error": error or "the tool did not run"}
    request = _request("after_tool_call", more, **_call(call), success=success, error=error)
    request.data["tool_output"] = output
    return request


def on_error(error: str, source: str = "turn", call: ToolCall | None = None, **more: Any) -> Request[ErrorVerdict]:
    """A ``tool`` or a ``turn`` failed. Go on with the text inside the decision."""
    return _request("on_error", more, error=error, source=source, **(_call(call) if call else {}))


def after_turn(
    turn_number: int | None = None,
    tools_used: bool | None = None,
    usage: Usage | None = None,
    messages: Messages | None = None,
    **more: Any,
) -> Request[Noted]:
    """The model has answered. Obey ``messages`` and ``callback`` of the verdict."""
    data = {"turn_number": turn_number, "tools_used": tools_used, "usage": usage, "messages": messages}
    return _request("after_turn", more, **data)


def turn_end(response: str, turn_number: int | None = None, **more: Any) -> Request[Noted]:
    """The turn of the user is over. Send it once, before ``agent_stop``."""
    return _request("turn_end", more, response=response, turn_number=turn_number)


def agent_stop(messages: Messages | None = None, usage: Usage | None = None, **more: Any) -> Request[Noted]:
    """The agent would stop. Obey ``messages`` and ``callback``, then go on with ``follow_ups``, if there are any."""
    return _request("agent_stop", more, messages=messages, usage=usage)


def pre_compact(
    trigger: str, usage: Usage | None = None, messages: Messages | None = None, **more: Any
) -> Request[GateVerdict]:
    """The conversation is about to be compacted: ``auto``, ``manual`` and so on."""
    return _request("pre_compact", more, trigger=trigger, usage=usage, messages=messages)


def post_compact(trigger: str, summary: str, usage: Usage | None = None, **more: Any) -> Request[Noted]:
    """The conversation has been compacted."""
    return _request("post_compact", more, trigger=trigger, summary=summary, usage=usage)


def on_budget_exceeded(usage: Usage, threshold: float, **more: Any) -> Request[GateVerdict]:
    """The token budget has passed a threshold. Obey the decision and ``callback``."""
    return _request("on_budget_exceeded", more, usage=usage, threshold=threshold)


def session_end(reason: str = "exit", **more: Any) -> Request[Noted]:
    """The session ends: ``exit``, ``rotate`` and so on."""
    return _request("session_end", more, reason=reason)
