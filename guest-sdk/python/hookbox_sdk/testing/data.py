"""Makes the data of an event from kodelet's fields."""

import json
import time
from collections.abc import Mapping
from typing import Any, TypeVar, cast

from .. import events
from .facts import command_of, kind_of, paths_of

_T = TypeVar("_T")


class Fields:
    """The fields of a case's data; null counts as absent."""

    def __init__(self, fields: Mapping[str, Any]) -> None:
        # The values of TOML, such as a date, as JSON has them.
        self.all = cast(dict[str, Any], json.loads(json.dumps(fields, default=str)))

    def get(self, name: str, kind: type[_T]) -> _T | None:
        """Returns a field."""
        value: Any = self.all.get(name)
        if kind is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if value is None or (isinstance(value, kind) and (kind is bool or not isinstance(value, bool))):
            return cast(_T | None, value)
        raise ValueError(f"data: {name}: expected {kind.__name__}, found {json.dumps(value)}")

    def usage(self) -> events.Usage | None:
        """Returns the tokens."""
        given: Any = self.all.get("usage")
        if given is None:
            return None
        if not isinstance(given, dict):
            raise ValueError(f"data: usage: expected a table, found {json.dumps(given)}")
        known = ("input_tokens", "output_tokens", "current_context_window", "max_context_window")
        fields = Fields(cast(dict[str, Any], given))
        return events.Usage(**{name: fields.get(name, int) or 0 for name in known})

    def messages(self) -> events.Document:
        """Returns the conversation; empty if it is not given."""
        return events.Document(self.all.get("messages") or [])


def context_of(fields: Fields) -> events.Context:
    """Returns the context of an event."""
    return events.Context(
        conversation_id=fields.get("conv_id", str) or "",
        cwd=fields.get("cwd", str) or "",
        invoked_by="subagent" if fields.all.get("invoked_by") == "subagent" else "main",
        recipe_name=fields.get("recipe_name", str) or None,
        agent=fields.get("agent", str),
        repository=fields.get("repository", str),
        branch=fields.get("branch", str),
        mode=fields.get("mode", str),
        timestamp_ms=fields.get("timestamp", int) or int(time.time() * 1000),
    )


def call_of(fields: Fields) -> events.ToolCall:
    """Returns a tool call with its facts."""
    name, given = fields.get("tool_name", str) or "", fields.all.get("tool_input")
    kind = kind_of(name)
    return events.ToolCall(
        id=fields.get("tool_user_id", str),
        name=name,
        kind=kind,
        command=command_of(kind, given),
        paths=paths_of(kind, given, fields.get("cwd", str) or "/"),
        input=events.Document(given),
    )


def _source(fields: Fields) -> events.ToolCall | events.FailedTurn | events.FailedHook:
    if "tool_name" in fields.all:
        return call_of(fields)
    hook = fields.get("hook", str)
    return events.FailedTurn(fields.get("turn_number", int)) if hook is None else events.FailedHook(hook)


def _result(fields: Fields) -> events.ToolResult:
    output: Any = fields.all.get("tool_output")
    inner = Fields(cast(dict[str, Any], output) if isinstance(output, dict) else {})
    success, error = inner.all.get("success"), inner.all.get("error")
    return events.ToolResult(
        call=call_of(fields),
        output=events.Document(cast(events.JSON, output)),
        success=success if isinstance(success, bool) else None,
        error=error if isinstance(error, str) else None,
        duration_ms=fields.get("duration_ms", int),
        exit_status=fields.get("exit_status", int),
        cost_tokens=fields.get("cost_tokens", int),
    )


def event_of(name: str, fields: Fields) -> events.Event:
    """Returns the data of an event."""
    match name:
        case "session_start":
            return events.SessionStart(fields.get("source", str))
        case "session_end":
            return events.SessionEnd(fields.get("reason", str))
        case "user_message_send":
            return events.UserMessage(fields.get("message", str) or "")
        case "before_tool_call":
            return call_of(fields)
        case "after_tool_call":
            return _result(fields)
        case "on_error":
            return events.ErrorEvent(
                source=_source(fields),
                message=fields.get("error", str) or "",
                kind=fields.get("kind", str),
                attempt=fields.get("attempt", int),
            )
        case "after_turn":
            return events.AfterTurn(
                turn_number=fields.get("turn_number", int),
                tools_used=fields.get("tools_used", bool),
                usage=fields.usage(),
                auto_compact_enabled=fields.get("auto_compact_enabled", bool),
                auto_compact_threshold=fields.get("auto_compact_threshold", float),
                messages=fields.messages(),
            )
        case "turn_end":
            return events.TurnEnd(fields.get("response", str), fields.get("turn_number", int))
        case "agent_stop":
            return events.AgentStop(
                messages=fields.messages(),
                usage=fields.usage(),
                invoked_recipe=fields.get("invoked_recipe", str) or None,
                auto_compact_enabled=fields.get("auto_compact_enabled", bool),
                auto_compact_threshold=fields.get("auto_compact_threshold", float),
                follow_ups=fields.get("follow_ups", int) or 0,
            )
        case "pre_compact":
            return events.PreCompact(fields.get("trigger", str), fields.usage(), fields.messages())
        case "post_compact":
            return events.PostCompact(fields.get("trigger", str), fields.get("summary", str), fields.usage())
        case "on_budget_exceeded":
            return events.BudgetExceeded(fields.usage(), fields.get("threshold", float))
        case _:
            return events.OtherEvent(name, events.Document(fields.all))
