"""A hook that uses each part of the SDK. `tests-data/cases/tour.toml` has its cases."""

import sys
from dataclasses import dataclass

from hookbox_sdk import (
    AgentStop,
    Answer,
    Context,
    Hook,
    PreCompact,
    ToolCall,
    TurnEnd,
    UserMessage,
    allow,
    ask,
    block,
    facts,
    follow_up,
    inject,
    log,
    modify,
    settings,
    state,
)


@dataclass
class Settings:
    reason: str = "Do not remove files."


hook = Hook(
    "tour",
    "0.1.0",
    "Uses each part of the SDK.",
    on_failure="block",
    answers=["modify", "inject", "allow"],
    asks_for=["store", "conversation"],
)


@hook.before_tool_call(tools=["kind:shell"])
def before(_cx: Context, call: ToolCall) -> Answer | None:
    own = settings(Settings)
    match call.command:
        case "remove x":
            return block(own.reason)
        case "safe":
            return allow("It only reads.")
        case "facts":
            return inject(f"runs {','.join(facts.read_call().lines)}")
        case "publish":
            return ask("Are you sure?")
        case "list":
            return modify({"command": "list --all"})
        case "count":
            calls = state.increment("calls")
            log.info("counted")
            return inject(f"call {calls}")
        case "fail":
            raise ValueError("asked to fail")
        case "stop the program":
            sys.exit()
        case _:
            return None


@hook.user_message_send()
def greet(cx: Context, event: UserMessage) -> Answer:
    return modify(f"{event.message} in {cx.cwd}").warn("greeted")


@hook.agent_stop()
def stop(_cx: Context, _event: AgentStop) -> Answer:
    return follow_up(["go on"])


@hook.turn_end()
def end(_cx: Context, _event: TurnEnd) -> Answer:
    return block("no")


@hook.pre_compact()
def compact(_cx: Context, event: PreCompact) -> Answer:
    messages = event.messages.value()
    count = len(messages) if isinstance(messages, list) else 0
    return inject(f"{count} message{'' if count == 1 else 's'}")
