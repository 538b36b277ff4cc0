"""The component form of a hook: between the generated bindings and the classes of this package.

`hookbox build` gives this module to componentize-py. It exports the variable `hook` of the project's `hook.py`.
"""

import json
from collections.abc import Callable
from typing import TypeVar, cast

from componentize_py_types import Err
from wit_world import exports
from wit_world.imports import atomics, logging, wasi_config_store
from wit_world.imports import facts as wit_facts
from wit_world.imports import types as wit
from wit_world.imports import wasi_keyvalue_store as store

from . import answers, events, facts, host
from .settings import SettingsError
from .state import StateError

LEVELS: dict[host.Level, logging.Level] = {
    "debug": logging.Level.DEBUG,
    "info": logging.Level.INFO,
    "warn": logging.Level.WARN,
    "error": logging.Level.ERROR,
}


_T = TypeVar("_T")


def _in_bucket(use: Callable[[store.Bucket], _T]) -> _T:
    """Uses the hook's own bucket, which has no name."""
    try:
        return use(store.open(""))
    except Err as error:  # pyright: ignore[reportUnknownVariableType]
        match cast(Err[store.Error], error).value:
            case store.Error_AccessDenied():
                reason = "the right `store` was not granted"
            case store.Error_NoSuchStore():
                reason = "there is no such store"
            case store.Error_Other(text):
                reason = text
        raise StateError(f"state: {reason}") from None


def _keys(bucket: store.Bucket) -> list[str]:
    page = bucket.list_keys(None)
    found = page.keys
    while page.cursor is not None:
        page = bucket.list_keys(page.cursor)
        found += page.keys
    return found


class Hookbox:
    """hookbox as the host."""

    def log(self, level: host.Level, message: str) -> None:
        logging.log(LEVELS[level], "hook", message)

    def settings(self) -> list[tuple[str, str]]:
        try:
            return wasi_config_store.get_all()
        except Err as error:  # pyright: ignore[reportUnknownVariableType]
            reason = cast(Err[wasi_config_store.Error], error).value.value
            raise SettingsError(f"settings: {reason}") from None

    def get(self, key: str) -> bytes | None:
        return _in_bucket(lambda bucket: bucket.get(key))

    def set(self, key: str, value: bytes) -> None:
        _in_bucket(lambda bucket: bucket.set(key, value))

    def delete(self, key: str) -> None:
        _in_bucket(lambda bucket: bucket.delete(key))

    def increment(self, key: str, delta: int) -> int:
        return _in_bucket(lambda bucket: atomics.increment(bucket, key, delta))

    def keys(self) -> list[str]:
        return _in_bucket(_keys)

    def read_call(self) -> facts.CallFacts:
        found = wit_facts.read_call()
        files = [
            facts.File(it.path, cast(facts.FileUse, it.usage.name.lower()), it.is_pattern, it.text)
            for it in found.files
        ]
        return facts.CallFacts(found.lines, files)


host.use(Hookbox())

# The project's own module, now that its host is known.
from hook import hook  # noqa: E402


def _context(cx: wit.Context) -> events.Context:
    budget = cx.budget and events.TokenBudget(cx.budget.used_tokens, cx.budget.effective_limit)
    return events.Context(
        conversation_id=cx.conversation_id,
        cwd=cx.cwd,
        invoked_by="main" if cx.invoked_by == wit.InvokedBy.MAIN else "subagent",
        recipe_name=cx.recipe_name,
        agent=cx.agent,
        repository=cx.repository,
        branch=cx.branch,
        mode=cx.mode,
        timestamp_ms=cx.timestamp_ms,
        budget=budget,
    )


def _call(call: wit.ToolCall) -> events.ToolCall:
    return events.ToolCall(
        id=call.id,
        name=call.name,
        kind=cast(events.ToolKind, call.kind.name.lower()),
        command=call.command,
        paths=[events.ResolvedPath(found.path, found.inside) for found in call.paths],
        input=events.Document(call.input),
    )


def _usage(usage: wit.Usage | None) -> events.Usage | None:
    return usage and events.Usage(
        usage.input_tokens, usage.output_tokens, usage.current_context_window, usage.max_context_window
    )


def _source(source: wit.ErrorSource) -> events.ToolCall | events.FailedTurn | events.FailedHook:
    match source:
        case wit.ErrorSource_Tool(call):
            return _call(call)
        case wit.ErrorSource_Turn(number):
            return events.FailedTurn(number)
        case wit.ErrorSource_Hook(name):
            return events.FailedHook(name)


def _event(event: wit.Event) -> tuple[str, events.Event]:
    """Returns the name of an event, and its data."""
    match event:
        case wit.Event_SessionStart(it):
            return "session_start", events.SessionStart(it.source)
        case wit.Event_SessionEnd(it):
            return "session_end", events.SessionEnd(it.reason)
        case wit.Event_UserMessageSend(it):
            return "user_message_send", events.UserMessage(it.message)
        case wit.Event_BeforeToolCall(it):
            return "before_tool_call", _call(it)
        case wit.Event_AfterToolCall(it):
            return "after_tool_call", events.ToolResult(
                call=_call(it.call),
                output=events.Document(it.output),
                success=it.success,
                error=it.error,
                duration_ms=it.duration_ms,
                exit_status=it.exit_status,
                cost_tokens=it.cost_tokens,
            )
        case wit.Event_OnError(it):
            return "on_error", events.ErrorEvent(_source(it.source), it.message, it.kind, it.attempt)
        case wit.Event_AfterTurn(it):
            return "after_turn", events.AfterTurn(
                turn_number=it.turn_number,
                tools_used=it.tools_used,
                usage=_usage(it.usage),
                auto_compact_enabled=it.auto_compact_enabled,
                auto_compact_threshold=it.auto_compact_threshold,
                messages=events.Document(it.messages),
            )
        case wit.Event_TurnEnd(it):
            return "turn_end", events.TurnEnd(it.response, it.turn_number)
        case wit.Event_AgentStop(it):
            return "agent_stop", events.AgentStop(
                messages=events.Document(it.messages),
                usage=_usage(it.usage),
                invoked_recipe=it.invoked_recipe,
                auto_compact_enabled=it.auto_compact_enabled,
                auto_compact_threshold=it.auto_compact_threshold,
                follow_ups=it.follow_ups,
            )
        case wit.Event_PreCompact(it):
            return "pre_compact", events.PreCompact(it.trigger, _usage(it.usage), events.Document(it.messages))
        case wit.Event_PostCompact(it):
            return "post_compact", events.PostCompact(it.trigger, it.summary, _usage(it.usage))
        case wit.Event_OnBudgetExceeded(it):
            return "on_budget_exceeded", events.BudgetExceeded(_usage(it.usage), it.threshold)
        case wit.Event_Other(it):
            return it.name, events.OtherEvent(it.name, events.Document(it.data))


def _action(action: answers.Action) -> wit.Action:
    match action:
        case answers.Pass():
            return wit.Action_Pass()
        case answers.Block(reason):
            return wit.Action_Block(reason)
        case answers.Ask(reason):
            return wit.Action_Ask(reason)
        case answers.Modify(value):
            return wit.Action_Modify(json.dumps(value))
        case answers.FollowUp(messages):
            return wit.Action_FollowUp(list(messages))
        case answers.Mutate(messages):
            return wit.Action_Mutate([wit.Message(it.role, it.content) for it in messages])
        case answers.Allow(reason):
            return wit.Action_Allow(reason)
        case answers.Callback(name, args):
            return wit.Action_Callback(wit.Callback(name, list(args)))


def _right(right: str) -> wit.Capability:
    kind, _, value = right.partition(":")
    match kind:
        case "store":
            return wit.Capability_Store()
        case "conversation":
            return wit.Capability_Conversation()
        case "read":
            return wit.Capability_Read(value)
        case "read-write":
            return wit.Capability_ReadWrite(value)
        case "env":
            return wit.Capability_Env(value)
        case "http":
            return wit.Capability_Http(value)
        case _:
            raise ValueError(f"unknown right: {right}")


class Hook(exports.Hook):
    """The exports of the component."""

    def describe(self) -> wit.Manifest:
        given = wit.Answers(0)
        for answer in hook.answers:
            given |= wit.Answers[answer.upper().replace("-", "_")]
        return wit.Manifest(
            name=hook.name,
            version=hook.version,
            description=hook.description,
            subscriptions=[
                wit.Subscription(it.event, list(it.tools), it.priority, it.observe) for it in hook.subscriptions
            ],
            answers=given,
            capabilities=[_right(right) for right in hook.asks_for],
            on_failure=hook.on_failure and wit.OnFailure[hook.on_failure.upper()],
        )

    def run(self, context: wit.Context, event: wit.Event) -> wit.Response:
        # An exception that leaves this function is a trap without its text.
        try:
            name, data = _event(event)
            answer = hook.run(name, _context(context), data)
            return wit.Response(
                action=_action(answer.action),
                context=list(answer.context),
                warnings=list(answer.warnings),
                metadata=[(key, json.dumps(value)) for key, value in answer.metadata],
            )
        except Exception as error:
            raise Err(f"{type(error).__name__}: {error}") from None
