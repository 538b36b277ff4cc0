"""hookbox for LangChain: hooks before and after each tool call of an agent.

``create_agent(model, tools, middleware=[HookboxMiddleware(hookbox)])``: with ``Hookbox`` for ``invoke``, with
``AsyncHookbox`` for ``ainvoke``. A thread of LangGraph is a session. A hook's question goes to ``ask``; :func:`by_interrupt`
stops the graph until it is resumed with ``Command(resume=True)``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from langchain.agents.middleware import AgentMiddleware, ToolCallRequest
from langchain.messages import ToolMessage
from langgraph.errors import GraphBubbleUp
from langgraph.types import interrupt

from . import Ask, AsyncHookbox, AsyncSession, Hookbox, Session, ToolCall, ToolRun
from ._client import Through


def by_interrupt(ask: Ask) -> bool:
    """Asks with ``interrupt``. The agent needs a checkpointer."""
    return interrupt({"question": ask.reason, "by": ask.by, "input": ask.input}) is True


class HookboxMiddleware(AgentMiddleware[Any, Any, Any]):
    """Sends each tool call of the agent to the hooks."""

    def __init__(self, client: Hookbox | AsyncHookbox, ask: Callable[[Ask], Any] | None = None) -> None:
        super().__init__()
        self.client, self.ask = client, ask

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]) -> Any:
        """Asks the hooks, runs the tool unless they block it, and returns the output that they left."""
        session, done = self._session(request), _Done()
        if not isinstance(session, Session):
            raise TypeError("the middleware has an AsyncHookbox: call ainvoke, or give it a Hookbox")

        def run(given: Any) -> Any:
            with done:
                return done.output_of(handler(_with(request, given)))

        return done.result(request, session.tool(_call(request), run, self.ask))

    async def awrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]) -> Any:
        """Does the same for ``ainvoke``."""
        session, done = self._session(request), _Done()
        if not isinstance(session, AsyncSession):
            raise TypeError("the middleware has a Hookbox: call invoke, or give it an AsyncHookbox")

        async def run(given: Any) -> Any:
            with done:
                return done.output_of(await handler(_with(request, given)))

        return done.result(request, await session.tool(_call(request), run, self.ask))

    def _session(self, request: ToolCallRequest) -> Session | AsyncSession:
        config = cast("dict[str, Any]", cast(Any, request).runtime.config)
        thread = cast("dict[str, Any]", config.get("configurable") or {}).get("thread_id")
        return self.client.session(str(thread or "langchain"))


class _Done:
    """The result or the exception of a tool, which LangChain gets as it is if no hook changed it."""

    def __init__(self) -> None:
        self.result_of: Any = None
        self.output: Any = None
        self.fault: BaseException | None = None

    def __enter__(self) -> None:
        """Begins to watch the tool."""

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, GraphBubbleUp):
            raise Through(error)  # An interrupt is not an end of the call.
        self.fault = error

    def output_of(self, result: Any) -> Any:
        """Notes a result, and returns its output for the hooks: of a command, the texts of its messages."""
        self.result_of = result
        update: object = getattr(result, "update", None)
        messages: list[Any] = cast("dict[str, Any]", update).get("messages", []) if isinstance(update, dict) else []
        given: Any = result
        self.output = given.content if isinstance(result, ToolMessage) else [str(it.content) for it in messages]
        return self.output

    def result(self, request: ToolCallRequest, end: ToolRun) -> Any:
        """Returns what LangChain goes on with."""
        if self.fault is not None and end.ruling is None:
            raise self.fault
        if end.ran and end.ruling is None and not end.context and end.output == self.output:
            return self.result_of
        text = "\n\n".join([end.text, *end.context])
        status = "error" if end.ruling is not None else "success"
        call = request.tool_call
        return ToolMessage(text, tool_call_id=call["id"] or "", name=call["name"], status=status)


def _call(request: ToolCallRequest) -> ToolCall:
    return ToolCall(request.tool_call["name"], request.tool_call["args"], request.tool_call["id"])


def _with(request: ToolCallRequest, given: Any) -> ToolCallRequest:
    return request.override(tool_call={**request.tool_call, "args": given})
