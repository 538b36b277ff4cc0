"""The clients: :class:`AsyncHookbox`, and :class:`Hookbox`, which runs it in a thread of its own."""

from __future__ import annotations

import asyncio
import functools
import inspect
import json
import os
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from . import _events as events
from ._events import Request
from ._process import Core
from ._verdicts import Ask, Block, OutputVerdict, Ruling, Run, ToolCall, ToolRun, ToolVerdict, Verdict, typed

P = ParamSpec("P")
V = TypeVar("V")

#: A step of a tool call: what to do, whose value may have to be awaited.
Step = Callable[[], Any]


class Through(BaseException):
    """Carries an exception of a tool that is not its end, such as a framework's signal, past the hooks."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error


class _State:
    """A session, as both kinds of client know it."""

    def __init__(self, core: Core, conversation: str, cwd: str | None, parent: str | None) -> None:
        self.core, self.id, self.cwd, self.parent = core, conversation, cwd, parent
        # One event after another: the deadline of an event does not run while it waits for its turn.
        self._turn = core.turns.setdefault(conversation, asyncio.Lock())

    async def send(self, event: str, data: dict[str, Any]) -> dict[str, Any]:
        """Sends an event and returns the verdict as JSON."""
        data = {**data, "conv_id": self.id}
        if self.cwd is not None:
            data.setdefault("cwd", self.cwd)
        async with self._turn:
            return await self.core.send(event, data, self.parent)


def _awaited(build: Callable[P, Request[V]]) -> Callable[Concatenate[AsyncSession, P], Coroutine[Any, Any, V]]:
    @functools.wraps(build)
    async def method(self: AsyncSession, /, *args: P.args, **kwargs: P.kwargs) -> Any:
        request = build(*args, **kwargs)
        return typed(request.event, await self.event(request.event, request.data))

    return method


def _blocking(build: Callable[P, Request[V]]) -> Callable[Concatenate[Session, P], V]:
    @functools.wraps(build)
    def method(self: Session, /, *args: P.args, **kwargs: P.kwargs) -> Any:
        request = build(*args, **kwargs)
        return typed(request.event, self.event(request.event, request.data))

    return method


class AsyncSession:
    """One conversation: a coroutine for each event."""

    session_start = _awaited(events.session_start)
    user_message_send = _awaited(events.user_message_send)
    before_tool_call = _awaited(events.before_tool_call)
    after_tool_call = _awaited(events.after_tool_call)
    on_error = _awaited(events.on_error)
    after_turn = _awaited(events.after_turn)
    turn_end = _awaited(events.turn_end)
    agent_stop = _awaited(events.agent_stop)
    pre_compact = _awaited(events.pre_compact)
    post_compact = _awaited(events.post_compact)
    on_budget_exceeded = _awaited(events.on_budget_exceeded)
    session_end = _awaited(events.session_end)

    def __init__(self, state: _State) -> None:
        self._state = state
        self.id = state.id

    async def event(self, name: str, data: dict[str, Any]) -> dict[str, Any]:
        """Sends any event, and returns its verdict as JSON."""
        return await self._state.send(name, data)

    def subagent(self, conversation: str, cwd: str | None = None) -> AsyncSession:
        """Makes the session of a subagent."""
        return AsyncSession(_State(self._state.core, conversation, cwd or self._state.cwd, self.id))

    async def tool(
        self,
        call: ToolCall,
        run: Callable[[Any], Any | Awaitable[Any]],
        ask: Callable[[Ask], bool | Awaitable[bool]] | None = None,
        verdict: ToolVerdict | None = None,
    ) -> ToolRun:
        """Makes one tool call: asks the hooks, runs the tool with the input that they left, and tells them the result.

        An exception of ``run`` is the error of the tool. A question of a hook is a block, unless ``ask`` returns true.
        ``verdict`` is that of ``before_tool_call`` for this call, if the agent has it already.
        """
        steps = _tool(self, call, run, ask, verdict)
        try:
            step = next(steps)
            while True:
                try:
                    value = step()
                    value = await value if inspect.isawaitable(value) else value
                except Exception as error:
                    step = steps.throw(error)
                else:
                    step = steps.send(value)
        except StopIteration as end:
            done: ToolRun = end.value
            return done
        except Through as through:
            raise through.error from None


class Session:
    """One conversation: a method for each event."""

    session_start = _blocking(events.session_start)
    user_message_send = _blocking(events.user_message_send)
    before_tool_call = _blocking(events.before_tool_call)
    after_tool_call = _blocking(events.after_tool_call)
    on_error = _blocking(events.on_error)
    after_turn = _blocking(events.after_turn)
    turn_end = _blocking(events.turn_end)
    agent_stop = _blocking(events.agent_stop)
    pre_compact = _blocking(events.pre_compact)
    post_compact = _blocking(events.post_compact)
    on_budget_exceeded = _blocking(events.on_budget_exceeded)
    session_end = _blocking(events.session_end)

    def __init__(self, client: Hookbox, state: _State) -> None:
        self._client = client
        self._state = state
        self.id = state.id

    def event(self, name: str, data: dict[str, Any]) -> dict[str, Any]:
        """Sends any event, and returns its verdict as JSON."""
        return self._client.wait(self._state.send(name, data))

    def subagent(self, conversation: str, cwd: str | None = None) -> Session:
        """Makes the session of a subagent."""
        state = _State(self._state.core, conversation, cwd or self._state.cwd, self.id)
        return Session(self._client, state)

    def tool(
        self,
        call: ToolCall,
        run: Callable[[Any], Any],
        ask: Callable[[Ask], bool] | None = None,
        verdict: ToolVerdict | None = None,
    ) -> ToolRun:
        """Makes one tool call: asks the hooks, runs the tool with the input that they left, and tells them the result.

        An exception of ``run`` is the error of the tool. A question of a hook is a block, unless ``ask`` returns true.
        ``verdict`` is that of ``before_tool_call`` for this call, if the agent has it already.
        """
        steps = _tool(self, call, run, ask, verdict)
        try:
            step = next(steps)
            while True:
                try:
                    value = step()
                except Exception as error:
                    step = steps.throw(error)
                else:
                    step = steps.send(value)
        except StopIteration as end:
            done: ToolRun = end.value
            return done
        except Through as through:
            raise through.error from None


def _tool(
    session: Session | AsyncSession,
    call: ToolCall,
    run: Callable[[Any], Any],
    ask: Callable[[Ask], Any] | None,
    before: ToolVerdict | None,
) -> Generator[Step, Any, ToolRun]:
    """Makes a tool call, step by step. The kind of session takes the steps."""
    context: list[str] = []
    warnings: list[str] = []

    def noted(verdict: Verdict[Any]) -> None:
        context.extend(verdict.context)
        warnings.extend(verdict.warnings)

    if before is None:
        before = cast(ToolVerdict, (yield lambda: session.before_tool_call(call)))
    noted(before)
    decision = before.decision
    # The text alone may read like a question to the model.
    refusal = ""
    if isinstance(decision, Ask) and ask is not None:
        question = decision
        if (yield lambda: ask(question)) is True:
            decision = question.user_agreed()
        else:
            refusal = " (the user was asked, and said no)"
    if not isinstance(decision, Run):
        reason = (decision.reason or "blocked by a hook") + refusal
        noted((yield lambda: session.after_tool_call(call, None, success=False, error=reason)))
        return ToolRun(f"error: {reason}", None, False, decision, context, warnings)
    permitted, started = ToolCall(call.name, decision.input, call.id), time.monotonic()
    output: Any = None
    error: str | None = None
    try:
        output = yield lambda: run(permitted.input)
    except Exception as failure:
        error = str(failure) or type(failure).__name__
        output = error
    took = int((time.monotonic() - started) * 1000)
    after: OutputVerdict = yield lambda: session.after_tool_call(
        permitted, output, success=None if error is None else False, error=error, duration_ms=took
    )
    has_failed = error is not None or isinstance(output, dict) and cast("Any", output).get("success") is False
    noted(after)
    ruling: Ruling | None = None
    if isinstance(after.decision, Block):
        output, ruling = after.decision.output, after.decision
    else:
        output = after.decision.value
    text = text_of(output)
    if ruling is not None and ruling.by == "hookbox" and output is None:
        # The hooks did not see the output: it could have a secret.
        return ToolRun(f"error: {ruling.reason}", None, True, ruling, context, warnings)
    if has_failed:
        told = text
        fault: Verdict[Any] = yield lambda: session.on_error(told, "tool", permitted)
        noted(fault)
        text = f"error: {fault.decision.value}"
    if ruling is not None:
        text = f"{text}\nstop and change course: {ruling.reason}"
    return ToolRun(text, output, True, ruling, context, warnings)


def text_of(output: Any) -> str:
    """Returns an output as text for the model: a string, the ``output`` or ``error`` of an object, or else JSON."""
    fields = cast("dict[str, Any]", output) if isinstance(output, dict) else {}
    found: list[Any] = [fields.get("output"), fields.get("error"), output]
    texts = [str(it) for it in found if isinstance(it, str)]
    return texts[0] if texts else json.dumps(output, ensure_ascii=False, separators=(",", ":"))


class AsyncHookbox:
    """A client for asyncio. It starts one process ``hookbox mcp`` at the first event, for all its sessions.

    ``deadline`` is the time of an event in seconds. ``on_problem`` gets problems and notices for the user.
    """

    def __init__(
        self,
        *,
        cwd: str | os.PathLike[str] | None = None,
        program: str | os.PathLike[str] | None = None,
        agent: str = "python",
        deadline: float = 60.0,
        args: tuple[str, ...] | list[str] = (),
        on_problem: Callable[[str], None] | None = None,
    ) -> None:
        self._core = Core(
            cwd=cwd, program=program, agent=agent, deadline=deadline, args=tuple(args), on_problem=on_problem
        )

    @property
    def deadline(self) -> float:
        """The time of an event in seconds."""
        return self._core.deadline

    @property
    def problems(self) -> list[str]:
        """The newest problems and notices, for the user."""
        return self._core.problems

    def session(self, conversation: str, cwd: str | None = None, parent: str | None = None) -> AsyncSession:
        """Makes the session of a conversation. ``cwd`` is the agent's directory, ``parent`` the agent of a subagent."""
        return AsyncSession(_State(self._core, conversation, cwd, parent))

    async def start(self) -> None:
        """Starts the process before the first event. Raises :class:`hookbox.Failure` if it does not start."""
        await self._core.running(time.monotonic() + self._core.deadline)

    async def close(self) -> None:
        """Ends the process. Events that wait are blocked, and later ones are an error."""
        await self._core.close()

    async def __aenter__(self) -> AsyncHookbox:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class Hookbox:
    """A client that blocks, for any number of threads. It starts one process ``hookbox mcp`` at the first event.

    ``deadline`` is the time of an event in seconds. ``on_problem`` gets problems and notices for the user, in a thread
    of the client.
    """

    def __init__(
        self,
        *,
        cwd: str | os.PathLike[str] | None = None,
        program: str | os.PathLike[str] | None = None,
        agent: str = "python",
        deadline: float = 60.0,
        args: tuple[str, ...] | list[str] = (),
        on_problem: Callable[[str], None] | None = None,
    ) -> None:
        self._core = Core(
            cwd=cwd, program=program, agent=agent, deadline=deadline, args=tuple(args), on_problem=on_problem
        )
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="hookbox", daemon=True)
        self._process_id = os.getpid()
        self._guard = threading.Lock()

    @property
    def problems(self) -> list[str]:
        """The newest problems and notices, for the user."""
        return self._core.problems

    def session(self, conversation: str, cwd: str | None = None, parent: str | None = None) -> Session:
        """Makes the session of a conversation. ``cwd`` is the agent's directory, ``parent`` the agent of a subagent."""
        return Session(self, _State(self._core, conversation, cwd, parent))

    def start(self) -> None:
        """Starts the process before the first event. Raises :class:`hookbox.Failure` if it does not start."""
        self.wait(self._core.running(time.monotonic() + self._core.deadline))

    def wait(self, work: Coroutine[Any, Any, V]) -> V:
        """Runs a coroutine in the thread of the client. An interrupt cancels it."""
        with self._guard:
            if self._core.is_closed or os.getpid() != self._process_id:
                work.close()
                raise RuntimeError("the client is closed, or of another process")
            if self._thread.ident is None:
                self._thread.start()
            future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def close(self) -> None:
        """Ends the process. Events that wait are blocked, and later ones are an error."""
        with self._guard:
            is_open = not self._core.is_closed and os.getpid() == self._process_id
            self._core.is_closed = True
            if not is_open or self._thread.ident is None:
                return
            future = asyncio.run_coroutine_threadsafe(self._finish(), self._loop)
        future.result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _finish(self) -> None:
        await self._core.close()
        # The events that waited get their blocks.
        others = asyncio.all_tasks() - {task for task in [asyncio.current_task()] if task}
        if others:
            await asyncio.wait(others, timeout=1)

    def __enter__(self) -> Hookbox:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
