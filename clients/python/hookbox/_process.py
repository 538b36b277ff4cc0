"""The process ``hookbox mcp``: it starts, answers requests, and ends. A request without an answer is a failure."""

from __future__ import annotations

import asyncio
import atexit
import json
import os
import shutil
import signal
import sysconfig
import time
from collections.abc import Callable
from typing import Any, cast
from weakref import WeakValueDictionary

from ._verdicts import VERSION, Failure, check, failed

#: The further time that the client waits for an answer: hookbox ends late hooks itself.
GRACE = 1.0
#: The time for an orderly end, before the process is killed.
ENDING = 2.0
#: The longest pause before a process that keeps ending is started again.
LONGEST_PAUSE = 5.0
#: The longest line of an answer.
LONGEST_LINE = 1 << 30
#: The limit of a message, if the program does not tell its own.
MESSAGE_BYTES = 256 << 20
#: The error code of a program that has too many calls.
BUSY = -32_000


def find_program() -> str | None:
    """Finds hookbox: beside this package, then on PATH. A relative entry of PATH could be a repository's, and is left out."""
    places = [sysconfig.get_path("scripts"), sysconfig.get_path("scripts", f"{os.name}_user")]
    places += os.environ.get("PATH", "").split(os.pathsep)
    found = (shutil.which(os.path.join(place, "hookbox")) for place in places if os.path.isabs(place))
    return next((path for path in found if path), None)


class Process:
    """One process, its requests that wait, and the reason of its end."""

    def __init__(self, child: asyncio.subprocess.Process, notice: Callable[[str], None]) -> None:
        self.child = child
        self.end_of: Failure | None = None
        self.limit = MESSAGE_BYTES
        self.ended = asyncio.Event()
        self._notice = notice
        self._ids = 0
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        atexit.register(self._signal, "SIGKILL")
        self._reader = asyncio.ensure_future(self._read())

    async def request(self, method: str, params: dict[str, Any], until: float) -> dict[str, Any]:
        """Sends a request and returns the answer. Kills the process if there is none in time."""
        if self.end_of is not None:
            raise self.end_of
        self._ids += 1
        request = self._ids
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        line = encode({"jsonrpc": "2.0", "id": request, "method": method, "params": params})
        if len(line) > self.limit:
            raise Failure("refused", f"the event has {len(line)} bytes, above the limit of {self.limit}")
        self._waiting[request] = answer
        try:
            self._write(line)
            await asyncio.wait({answer}, timeout=max(0, until - time.monotonic()))
            if not answer.done():
                self.end(Failure("deadline", "there was no answer in time"))
            return answer.result()
        except asyncio.CancelledError:
            self.tell("notifications/cancelled", {"requestId": request})
            raise
        finally:
            self._waiting.pop(request, None)

    def tell(self, method: str, params: dict[str, Any]) -> None:
        """Sends a notification."""
        self._write(encode({"jsonrpc": "2.0", "method": method, "params": params}))

    def _write(self, line: bytes) -> None:
        # The transport keeps what the process does not read yet, so this never waits.
        if self.child.stdin is not None and self.end_of is None:
            self.child.stdin.write(line)

    async def _read(self) -> None:
        output = cast(asyncio.StreamReader, self.child.stdout)
        try:
            while (line := await output.readline()).endswith(b"\n"):
                if line.strip():
                    self._receive(line)
            self.end(Failure("killed", "the program ended before it answered"))
        except OSError as error:
            self.end(Failure("killed", f"the program cannot be read: {error}"))
        except (ValueError, AttributeError, RecursionError):
            self.end(Failure("malformed", "the program printed a line that is not a message"))

    def _receive(self, line: bytes) -> None:
        fields: dict[str, Any] = dict(json.loads(line).items())
        if fields.get("method") == "notifications/message":
            params = fields.get("params")
            self._notice(str(cast("dict[str, Any]", params).get("data")) if isinstance(params, dict) else "")
        request = fields.get("id")
        waiting = self._waiting.get(request) if type(request) is int and "method" not in fields else None
        if waiting is not None and not waiting.done():
            waiting.set_result(fields)

    def end(self, failure: Failure) -> None:
        """Kills the process, and fails all requests that wait."""
        if self.end_of is not None:
            return
        self.end_of = failure
        self.kill()
        if self.child.stdin is not None:
            self.child.stdin.close()
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(failure)
                waiting.exception()  # A request that was canceled does not read it.
        self.ended.set()

    def kill(self) -> None:
        """Kills the process with what it started."""
        self._signal("SIGKILL")
        atexit.unregister(self._signal)

    async def close(self) -> None:
        """Asks the process to end, and kills it if it does not."""
        if self.end_of is None:
            self._signal("SIGTERM")
            await asyncio.wait({self._reader}, timeout=ENDING)
            self.end(Failure("killed", "the client was closed"))
        self._reader.cancel()
        await asyncio.wait({asyncio.ensure_future(self.child.wait())}, timeout=ENDING)

    def _signal(self, name: str) -> None:
        """Sends a signal to the process and what it started in its group."""
        try:
            if hasattr(os, "killpg"):
                os.killpg(self.child.pid, getattr(signal, name))
            elif self.child.returncode is None:
                self.child.kill()
        except (ProcessLookupError, PermissionError):
            pass


def encode(message: dict[str, Any]) -> bytes:
    """Returns the line of a message. A value that JSON does not have, but Python reads from it, is refused."""
    try:
        return json.dumps(message, allow_nan=False, separators=(",", ":")).encode() + b"\n"
    except (ValueError, RecursionError) as error:
        raise Failure("refused", f"the event cannot be written as JSON: {error}") from None


class Core:
    """The client without its sessions: one process that is started again after its end."""

    def __init__(
        self,
        *,
        cwd: str | os.PathLike[str] | None,
        program: str | os.PathLike[str] | None,
        agent: str,
        deadline: float,
        args: tuple[str, ...],
        on_problem: Callable[[str], None] | None,
    ) -> None:
        self.cwd, self.program, self.agent, self.deadline, self.args = cwd, program, agent, deadline, args
        #: The newest problems and notices, for the user.
        self.problems: list[str] = []
        self.process: Process | None = None
        self.is_closed = False
        #: The lock of each session that is in use.
        self.turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._on_problem = on_problem
        self._starting: asyncio.Task[Process] | None = None
        #: The number of starts since the last answer, and the time of the last one.
        self._starts, self._last_start = 0, 0.0
        self._last = Failure("killed", "the program ended")

    def notice(self, text: str) -> None:
        """Keeps a problem or a notice for the user."""
        self.problems = [*self.problems[-99:], text]
        if self._on_problem is not None:
            # An error of the callback is not one of the event.
            asyncio.get_running_loop().call_soon(self._on_problem, text)

    async def send(self, event: str, data: dict[str, Any], parent: str | None) -> dict[str, Any]:
        """Sends an event and returns its verdict. A failure is a block, or a warning."""
        if self.is_closed:
            raise RuntimeError("the client is closed")
        try:
            verdict = await self._ask(event, data, parent, time.monotonic() + self.deadline)
        except Failure as failure:
            self.notice(f"{event}: {failure}")
            return failed(event, data, failure)
        self._starts = 1
        return verdict

    async def _ask(self, event: str, data: dict[str, Any], parent: str | None, until: float) -> dict[str, Any]:
        pause = 0.02
        while True:
            process = await self.running(until + GRACE)
            meta: dict[str, Any] = {"hookbox/deadline_ms": max(1, int((until - time.monotonic()) * 1000))}
            if parent is not None:
                meta["hookbox/parent"] = parent
            params = {"name": event, "arguments": data, "_meta": meta}
            answer = await process.request("tools/call", params, until + GRACE)
            error: object = answer.get("error")
            if error is None:
                break
            fields = cast("dict[str, Any]", error) if isinstance(error, dict) else {}
            if fields.get("code") != BUSY:
                raise Failure("refused", f"the program refused the event: {fields.get('message')!s:.300}")
            if time.monotonic() + pause >= until:
                raise Failure("busy", "the program had too many calls until the deadline")
            await asyncio.sleep(pause)
            pause = min(pause * 2, 1.0)
        found: object = answer.get("result")
        result = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
        if result.get("isError") not in (None, False):
            raise Failure("malformed", f"no hook ran: {_text(result)}")
        return check(event, result.get("structuredContent"))

    async def running(self, until: float) -> Process:
        """Returns the process. Starts it if it does not run, with longer and longer pauses if it keeps ending."""
        self._adopt(asyncio.get_running_loop())
        if self._starting is None:
            if self.process is not None and self.process.end_of is None:
                return self.process
            if self.process is not None and self.process.end_of is not None:
                self._last = self.process.end_of
            pause = min(0.1 * 2 ** (self._starts - 2), LONGEST_PAUSE) if self._starts > 1 else 0.0
            if time.monotonic() < self._last_start + pause:
                raise Failure(self._last.cause, f"{self._last}; it is started again after a pause")
            self._starts, self._last_start = min(self._starts + 1, 10), time.monotonic()
            self._starting = asyncio.ensure_future(self._start(until))
            # An event that was canceled does not read the failure.
            self._starting.add_done_callback(lambda it: it.cancelled() or it.exception())
        starting = self._starting
        await asyncio.wait({starting}, timeout=max(0, until - time.monotonic()))
        if not starting.done():
            raise Failure("deadline", "the program did not start in time")
        return starting.result()

    def _adopt(self, loop: asyncio.AbstractEventLoop) -> None:
        """Leaves the process of an event loop that has ended: nobody reads it any more."""
        if self._loop is not None and self._loop is not loop:
            if self._loop.is_running():
                raise RuntimeError("the client belongs to another event loop")
            if self.process is not None:
                self.process.kill()
            self.process, self._starting = None, None
        self._loop = loop

    async def _start(self, until: float) -> Process:
        try:
            process = await self._spawn()
            try:
                await self._initialize(process, until)
            except Failure as failure:
                process.end(failure)
                raise
            return process
        except Failure as failure:
            self._last = failure
            raise
        finally:
            self._starting = None

    async def _spawn(self) -> Process:
        program = find_program() if self.program is None else os.path.abspath(self.program)
        if program is None:
            raise Failure("missing", "the program hookbox is neither beside this Python nor on PATH")
        try:
            child = await asyncio.create_subprocess_exec(
                program,
                "mcp",
                *self.args,
                cwd=self.cwd,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                limit=LONGEST_LINE,
                start_new_session=True,
            )
        except (OSError, ValueError, NotImplementedError) as error:
            raise Failure("missing", f"the program does not start: {error}") from None
        self.process = Process(child, self.notice)
        if self.is_closed:
            self.process.end(Failure("killed", "the client was closed"))
        return self.process

    async def _initialize(self, process: Process, until: float) -> None:
        params = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": self.agent, "version": "0.1.0"},
        }
        answer = await process.request("initialize", params, until)
        if "error" in answer:
            raise Failure("refused", f"the program refused to start: {answer['error']!s:.300}")
        found: object = answer.get("result")
        for key in ("capabilities", "experimental", "hookbox"):
            found = cast("dict[str, Any]", found).get(key) if isinstance(found, dict) else None
        about = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
        version = about.get("verdict_version")
        if type(version) is not int or version != VERSION:
            raise Failure("version", f"the program has verdicts of version {version!r:.40}, expected {VERSION}")
        limits: object = about.get("limits")
        limit = cast("dict[str, Any]", limits).get("message_bytes") if isinstance(limits, dict) else None
        if type(limit) is int and limit > 0:
            process.limit = limit
        process.tell("notifications/initialized", {})

    async def close(self) -> None:
        """Ends the process. Events that wait are blocked, and later ones are an error."""
        self.is_closed = True
        self._adopt(asyncio.get_running_loop())
        if self.process is not None:
            await self.process.close()


def _text(result: dict[str, Any]) -> str:
    try:
        return f"{result['content'][0]['text']:.300}"
    except (KeyError, IndexError, TypeError, ValueError):
        return "the program gave no reason"
