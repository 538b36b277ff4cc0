"""hookbox for Pydantic AI: hooks before and after each tool call of an agent.

``Agent(model, tools=[…], capabilities=[HookboxCapability(session)])``. A hook's question goes to ``ask``. Without it, the
call is deferred until it is approved, as for ``ApprovalRequired``: the agent's output types need ``DeferredToolRequests``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from pydantic_ai import ApprovalRequired, CallDeferred, RunContext, SkipToolExecution, SkipToolValidation
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ToolCallPart
from pydantic_core import to_jsonable_python

from . import Ask, AsyncSession, Block, ToolCall, ToolVerdict
from ._client import Through

#: What a tool raises to say something else than that it failed.
SIGNALS = (ApprovalRequired, CallDeferred, SkipToolExecution)


@dataclass
class HookboxCapability(AbstractCapability[Any]):
    """Sends each tool call of the agent to the hooks of a session."""

    session: AsyncSession
    ask: Callable[[Ask], bool | Awaitable[bool]] | None = None
    #: The verdicts of calls that did not run yet. Hooks judge the model's own JSON, which is validated after it.
    verdicts: dict[str, ToolVerdict] = field(default_factory=dict[str, ToolVerdict], repr=False)

    async def wrap_tool_validate(
        self, ctx: RunContext[Any], *, call: ToolCallPart, tool_def: Any, args: Any, handler: Any
    ) -> dict[str, Any]:
        """Asks the hooks, and validates the input that they left."""
        verdict = await self.session.before_tool_call(_call(call))
        self.verdicts[call.tool_call_id] = verdict
        if isinstance(verdict.decision, Block):
            raise SkipToolValidation({})
        given = verdict.decision.input
        validated: dict[str, Any] = await handler(given if verdict.modified else args)
        return validated

    async def wrap_tool_execute(
        self, ctx: RunContext[Any], *, call: ToolCallPart, tool_def: Any, args: dict[str, Any], handler: Any
    ) -> Any:
        """Runs the tool unless the hooks block it, and returns the output that they left."""
        done: list[Any] = []
        faults: list[Exception] = []

        async def run(_: Any) -> Any:
            try:
                # The arguments are the validated form of the input that the hooks left.
                done.append(await handler(args))
            except SIGNALS as signal:
                raise Through(signal) from None
            except Exception as error:
                faults.append(error)
                raise
            return to_jsonable_python(done[0], fallback=str)

        def approved(ask: Ask) -> bool | Awaitable[bool]:
            if ctx.tool_call_approved:
                return True
            if self.ask is None:
                raise ApprovalRequired({"reason": ask.reason, "by": ask.by, "input": ask.input})
            return self.ask(ask)

        verdict = self.verdicts.pop(call.tool_call_id, None)
        if verdict is None:
            # Nobody judged these arguments.
            return "error: hookbox: the input was not judged"
        end = await self.session.tool(_call(call), run, approved, verdict)
        if faults and end.ruling is None:
            raise faults[0]
        if end.context or end.ruling is not None:
            return "\n\n".join([end.text, *end.context])
        # An output that no hook changed keeps its type.
        return done[0] if end.output == to_jsonable_python(done[0], fallback=str) else end.output


def _call(call: ToolCallPart) -> ToolCall:
    try:
        given: Any = call.args_as_dict()
    except ValueError:
        given = call.args
    return ToolCall(call.tool_name, given, call.tool_call_id)
