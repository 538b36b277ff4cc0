"""hookbox for the OpenAI Agents SDK: hooks before and after each call of a function tool.

``Agent(…, tools=guarded(tools, session))``. A hook's question is an approval: the run stops with an interruption, until
``state.approve(…)`` or ``state.reject(…)``. With ``ask``, the function decides.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from typing import Any

from agents import FunctionTool, RunContextWrapper, Tool
from agents.tool_context import ToolContext
from pydantic_core import to_jsonable_python

from . import Ask, AsyncSession, ToolCall, ToolVerdict

Approval = Callable[[Ask], bool | Awaitable[bool]]


def guarded(tools: Iterable[Tool], session: AsyncSession, ask: Approval | None = None) -> list[Tool]:
    """Returns the tools with the hooks of a session. A tool that is not a function cannot be guarded, and is an error."""
    return [_guarded(tool, session, ask) for tool in tools]


def _guarded(tool: Tool, session: AsyncSession, ask: Approval | None) -> Tool:
    if not isinstance(tool, FunctionTool):
        raise TypeError(f"hookbox cannot guard {type(tool).__name__}: expected a function tool")
    invoke, needs_approval = tool.on_invoke_tool, tool.needs_approval
    #: The verdicts of calls that did not run yet, each with the input that was judged.
    verdicts: dict[str, tuple[Any, ToolVerdict]] = {}

    async def approval(context: RunContextWrapper[Any], given: dict[str, Any], call: str) -> bool:
        verdict = await session.before_tool_call(ToolCall(tool.name, given, call))
        verdicts[call] = (given, verdict)
        if isinstance(verdict.decision, Ask) and ask is None:
            return True
        return await needs_approval(context, given, call) if callable(needs_approval) else needs_approval

    async def guard(context: ToolContext[Any], arguments: str) -> Any:
        done: list[Any] = []
        faults: list[Exception] = []

        async def run(given: Any) -> Any:
            try:
                done.append(await invoke(context, given if isinstance(given, str) else json.dumps(given)))
            except Exception as error:
                faults.append(error)
                raise
            return to_jsonable_python(done[0], fallback=str)

        def approved(question: Ask) -> bool | Awaitable[bool]:
            if ask is not None:
                return ask(question)
            return context.is_tool_approved(tool.name, context.tool_call_id) is True

        try:
            given: Any = json.loads(arguments) if arguments else {}
        except ValueError:
            given = arguments
        judged, verdict = verdicts.pop(context.tool_call_id, (None, None))
        call = ToolCall(tool.name, given, context.tool_call_id)
        # Only a verdict on this input counts: the state of a run may come from another process.
        end = await session.tool(call, run, approved, verdict if judged == given else None)
        if faults and end.ruling is None:
            raise faults[0]
        if end.context or end.ruling is not None:
            return "\n\n".join([end.text, *end.context])
        # An output that no hook changed keeps its type.
        return done[0] if end.output == to_jsonable_python(done[0], fallback=str) else end.output

    return replace(tool, on_invoke_tool=guard, needs_approval=approval)
