"""hookbox for the Claude Agent SDK: hooks at each tool call, message and stop of the agent.

``ClaudeAgentOptions(hooks=hooks(client))``. A hook's question goes to ``can_use_tool``. A failure of a callback blocks.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, cast

from claude_agent_sdk import HookMatcher

from . import Ask, AsyncHookbox, AsyncSession, Block, Proceed, Run, ToolCall, Verdict

Answer = dict[str, Any]


def hooks(client: AsyncHookbox) -> dict[Any, list[HookMatcher]]:
    """Returns the hooks for the options of an agent."""

    def matchers(answer: Callable[[AsyncSession, dict[str, Any]], Awaitable[Answer]]) -> list[HookMatcher]:
        async def callback(data: Any, _: str | None, __: Any) -> Any:
            session = client.session(data["session_id"], cwd=data.get("cwd"))
            agent = data.get("agent_id")
            return await answer(session.subagent(f"{session.id}/{agent}") if agent else session, data)

        # Claude Code waits longer than the client, which blocks at its deadline.
        return [HookMatcher(hooks=[callback], timeout=client.deadline + 10, on_failure="block")]

    return {
        "PreToolUse": matchers(_before),
        "PostToolUse": matchers(_after),
        "PostToolUseFailure": matchers(_failed),
        "UserPromptSubmit": matchers(_message),
        "Stop": matchers(_stop),
        "SubagentStop": matchers(_stop),
    }


def _call(data: dict[str, Any]) -> ToolCall:
    return ToolCall(data["tool_name"], data["tool_input"], data["tool_use_id"])


def _answer(event: str, verdict: Verdict[Any], further: Answer | None = None, **specific: Any) -> Answer:
    if verdict.context:
        specific["additionalContext"] = "\n\n".join(verdict.context)
    answer: Answer = {"hookSpecificOutput": {"hookEventName": event, **specific}} if specific else {}
    if verdict.warnings:
        answer["systemMessage"] = "\n".join(verdict.warnings)
    return {**answer, **(further or {})}


async def _before(session: AsyncSession, data: dict[str, Any]) -> Answer:
    verdict = await session.before_tool_call(_call(data))
    decision = verdict.decision
    specific: Answer = {}
    if isinstance(decision, (Ask, Block)):
        action = "ask" if isinstance(decision, Ask) else "deny"
        specific = {"permissionDecision": action, "permissionDecisionReason": decision.reason}
    if isinstance(decision, (Run, Ask)) and verdict.modified:
        specific["updatedInput"] = decision.input
    return _answer("PreToolUse", verdict, **specific)


async def _after(session: AsyncSession, data: dict[str, Any]) -> Answer:
    was = data.get("tool_response")
    verdict = await session.after_tool_call(_call(data), was, success=True)
    decision, further, specific = verdict.decision, {}, {}
    output = decision.value if isinstance(decision, Proceed) else decision.output
    if isinstance(decision, Block):
        further = {"decision": "block", "reason": decision.reason}
        output = f"error: {decision.reason}" if output is None and decision.by == "hookbox" else output
    if output != was:
        shaped = _shaped(was, output)
        if shaped is None:
            # Claude Code would keep the old output.
            return {"continue_": False, "stopReason": "hookbox: the changed output does not fit the tool"}
        specific = {"updatedToolOutput": shaped}
    return _answer("PostToolUse", verdict, further, **specific)


def _shaped(was: Any, new: Any) -> Any:
    """Returns a new output in the form of the old one, or ``None``: Claude Code takes no other form."""
    fields = cast("dict[str, Any]", was) if isinstance(was, dict) else None
    others = cast("dict[str, Any]", new) if isinstance(new, dict) else None
    if isinstance(new, str) and fields is not None:
        return {**fields, "stdout": new, "stderr": ""} if "stdout" in fields else None
    if isinstance(new, str) and isinstance(was, list):
        return [{"type": "text", "text": new}]
    if fields is not None and others is not None:
        return others if fields.keys() == others.keys() else None
    is_same = any(isinstance(was, it) and isinstance(new, it) for it in (str, list))
    return cast(Any, new) if is_same else None


async def _failed(session: AsyncSession, data: dict[str, Any]) -> Answer:
    verdict = await session.after_tool_call(_call(data), None, success=False, error=data.get("error"))
    return _answer("PostToolUseFailure", verdict)


async def _message(session: AsyncSession, data: dict[str, Any]) -> Answer:
    verdict = await session.user_message_send(data["prompt"])
    decision = verdict.decision
    if isinstance(decision, Block):
        return _answer("UserPromptSubmit", verdict, {"decision": "block", "reason": decision.reason})
    if decision.value != data["prompt"]:
        reason = "hookbox: a hook changed the message, which Claude Code cannot do"
        return _answer("UserPromptSubmit", verdict, {"decision": "block", "reason": reason})
    return _answer("UserPromptSubmit", verdict)


async def _stop(session: AsyncSession, data: dict[str, Any]) -> Answer:
    verdict = await session.agent_stop()
    further = {"decision": "block", "reason": "\n\n".join(verdict.follow_ups)} if verdict.follow_ups else None
    return _answer(data["hook_event_name"], verdict, further)
