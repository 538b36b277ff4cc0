from hookbox_sdk import (
    AfterTurn, AgentStop, Answer, BudgetExceeded, Context, ErrorEvent, Hook, PostCompact, PreCompact,
    SessionEnd, SessionStart, ToolCall, ToolResult, TurnEnd, UserMessage,
    ask, block, callback, follow_up, inject, log, modify, warn,
)

hook = Hook("every-event", "0.1.0", "Answers every event.", answers=["inject", "modify", "follow-up", "callback"])

@hook.session_start()
def session_start(_cx: Context, _event: SessionStart) -> Answer:
    return inject("Use `just test`.")

@hook.session_end()
def session_end(cx: Context, event: SessionEnd) -> None:
    log.info(f"{cx.conversation_id} ended: {event.reason}")

@hook.user_message_send()
def user_message_send(_cx: Context, event: UserMessage) -> Answer | None:
    return block("The message has a private key.") if "PRIVATE KEY" in event.message else None

@hook.before_tool_call(tools=["kind:shell"])
def before_tool_call(_cx: Context, call: ToolCall) -> Answer | None:
    return ask("This publishes a package.") if (call.command or "").startswith("npm publish") else None

@hook.after_tool_call()
def after_tool_call(_cx: Context, result: ToolResult) -> Answer | None:
    return inject("Read the error first.") if result.success is False else None

@hook.on_error()
def on_error(_cx: Context, event: ErrorEvent) -> Answer:
    return modify(f"{event.message} (see docs/errors.md)")

@hook.after_turn()
def after_turn(_cx: Context, event: AfterTurn) -> Answer | None:
    usage = event.usage
    is_full = usage is not None and usage.current_context_window * 10 > usage.max_context_window * 8
    return callback("compact") if is_full else None

@hook.turn_end()
def turn_end(_cx: Context, event: TurnEnd) -> Answer | None:
    return warn("The agent asks.") if (event.response or "").endswith("?") else None

@hook.agent_stop()
def agent_stop(_cx: Context, event: AgentStop) -> Answer | None:
    return follow_up(["Run the tests."]) if event.follow_ups == 0 else None

@hook.pre_compact()
def pre_compact(_cx: Context, _event: PreCompact) -> Answer:
    return inject("Keep the open questions.")

@hook.post_compact()
def post_compact(_cx: Context, _event: PostCompact) -> Answer:
    return inject("Read TODO.md again.")

@hook.on_budget_exceeded()
def on_budget_exceeded(_cx: Context, _event: BudgetExceeded) -> Answer:
    return block("The budget is spent.")
