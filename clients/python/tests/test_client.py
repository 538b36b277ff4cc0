"""The behavior of the clients beside the verdicts: tool calls, failures, waits and ends."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import subprocess
import sys
import threading
import time
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

from hookbox import Ask, Block, Failure, Hookbox, Proceed, Run, ToolCall
from hookbox._process import find_program

from .project import NO_SUDO, Project, hook
from .test_cases import killed

LS, SUDO = ToolCall("bash", {"command": "ls"}, "call-1"), ToolCall("bash", {"command": "sudo ls"})

#: A hook that asks before `npm publish`, and changes `ls`.
CAREFUL = hook(
    "before_tool_call",
    """case "$(cat)" in
*publish*) echo '{"decision":"ask","reason":"This publishes a package."}' ;;
*'"ls"'*) echo '{"input":{"command":"ls -l"}}' ;;
esac""",
)

#: Notes every event of `after_tool_call` in a file.
RECORD = hook("after_tool_call", "cat >> after; echo >> after")

#: A program that answers `initialize`, and then does as its shell code says at a call.
FAKE = """#!/bin/sh
echo started >> starts
while read -r line; do
  id=$(printf '%s\\n' "$line" | sed -n 's/.*"id": *\\([0-9]*\\).*/\\1/p')
  case $line in
  *'"initialize"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"capabilities":{"experimental":{"hookbox":{"verdict_version":1}}}}}' ;;
  *'"tools/call"'*) CALL ;;
  *) printf '%s\\n' "$line" >> told ;;
  esac
done
"""


def fake(call: str) -> str:
    """Returns a program that does this at a call."""
    return FAKE.replace("CALL", call)


class ToolCalls(unittest.TestCase):
    """``Session.tool``."""

    def test_a_tool_runs_with_the_input_that_hooks_left(self) -> None:
        project = Project(self, {"careful.sh": CAREFUL, "record.sh": RECORD})
        with project.client() as client:
            run = client.session("a").tool(LS, lambda given: f"ran {given['command']}")
        self.assertEqual((run.text, run.output, run.ran, run.ruling), ("ran ls -l", "ran ls -l", True, None))
        told = json.loads((project.root / "after").read_text())
        self.assertEqual((told["tool_input"], told["tool_user_id"]), ({"command": "ls -l"}, "call-1"))

    def test_a_block_keeps_the_tool_from_running_and_tells_the_model_why(self) -> None:
        project = Project(self, {"no-sudo.sh": NO_SUDO, "record.sh": RECORD})
        with project.client() as client:
            run = client.session("a").tool(SUDO, lambda _: self.fail("the tool ran"))
        self.assertEqual((run.text, run.ran, run.output), ("error: No root here.", False, None))
        assert run.ruling is not None
        self.assertEqual(run.ruling.by, "no-sudo.sh")
        told = json.loads((project.root / "after").read_text())
        self.assertEqual((told["tool_output"]["success"], told["tool_output"]["error"]), (False, "No root here."))

    def test_a_question_is_a_block_unless_the_user_agrees(self) -> None:
        project = Project(self, {"careful.sh": CAREFUL})
        publish = ToolCall("bash", {"command": "npm publish"})
        asked: list[Ask] = []

        def answers(agrees: Any) -> Any:
            return lambda ask: asked.append(ask) or agrees

        with project.client() as client:
            session = client.session("a")
            unasked = session.tool(publish, lambda _: self.fail("the tool ran"))
            self.assertEqual((unasked.text, unasked.ran), ("error: This publishes a package.", False))
            for odd in (False, None, "yes", 1):
                refused = session.tool(publish, lambda _: self.fail("the tool ran"), ask=answers(odd))
                self.assertEqual(refused.text, "error: This publishes a package. (the user was asked, and said no)")
                self.assertFalse(refused.ran)
            run = session.tool(publish, lambda given: given["command"], ask=answers(True))
        self.assertEqual((run.text, run.ran), ("npm publish", True))
        self.assertEqual((asked[0].reason, asked[0].input), ("This publishes a package.", {"command": "npm publish"}))

    def test_an_exception_of_the_tool_is_its_error(self) -> None:
        hooks = {"record.sh": RECORD, "docs.sh": hook("on_error", """echo '{"error":"See docs."}'""")}
        project = Project(self, hooks)

        def run(_: Any) -> str:
            raise OSError("the disk is full")

        with project.client() as client:
            end = client.session("a").tool(LS, run)
        self.assertEqual((end.text, end.ran), ("error: See docs.", True))
        self.assertIn("the disk is full", (project.root / "after").read_text())

    def test_a_block_after_the_tool_tells_the_model_to_change_course(self) -> None:
        stop = hook("after_tool_call", """echo '{"action":"block","reason":"Enough."}'""")
        with Project(self, {"stop.sh": stop}).client() as client:
            run = client.session("a").tool(LS, lambda _: {"output": "a b"})
        self.assertEqual(
            (run.text, run.output, run.ran), ("a b\nstop and change course: Enough.", {"output": "a b"}, True)
        )

    def test_an_output_that_no_hook_could_see_does_not_reach_the_model(self) -> None:
        body = """case $line in *after_tool_call*) exit 1 ;; esac
    echo '{"jsonrpc":"2.0","id":'$id',"result":{"structuredContent":{"version":1,"decision":{"action":"run","input":{}}}}}'"""
        with Project(self, {}, program=fake(body)).client() as client:
            run = client.session("a").tool(LS, lambda _: "the password is 1234")
        self.assertTrue(run.ran)
        self.assertNotIn("1234", repr(run))
        assert isinstance(run.ruling, Block)
        self.assertEqual(run.ruling.cause, "killed")

    def test_a_coroutine_is_a_tool_and_a_question(self) -> None:
        project = Project(self, {"careful.sh": CAREFUL, "no-sudo.sh": NO_SUDO})

        async def run(given: Any) -> str:
            await asyncio.sleep(0)
            return f"ran {given['command']}"

        async def agree(_: Ask) -> bool:
            return True

        async def main() -> list[str]:
            async with project.async_client() as client:
                session = client.session("a")
                calls = [LS, SUDO, ToolCall("bash", {"command": "npm publish"})]
                return [(await session.tool(call, run, ask=agree)).text for call in calls]

        self.assertEqual(asyncio.run(main()), ["ran ls -l", "error: No root here.", "ran npm publish"])


class Events(unittest.TestCase):
    """A method for each event."""

    def test_each_event_has_a_method(self) -> None:
        with Project(self, {}).client() as client:
            session = client.session("a", cwd="/tmp")
            usage = {"current_context_window": 1, "max_context_window": 10}
            said = [{"role": "user", "content": "Hi."}]
            verdicts = [
                session.session_start("resume", agent="tests"),
                session.user_message_send("Hi."),
                session.before_tool_call(LS),
                session.before_tool_call(ToolCall("x", None)),
                session.after_tool_call(LS, None, success=True, exit_status=0),
                session.on_error("It failed.", "tool", LS, attempt=2),
                session.after_turn(1, True, usage, said),
                session.turn_end("Done.", 1),
                session.agent_stop(said, usage),
                session.pre_compact("auto", usage, said),
                session.post_compact("auto", "We talked.", usage),
                session.on_budget_exceeded(usage, 0.1),
                session.session_end("exit"),
            ]
        decisions = [it.decision for it in verdicts]
        passed = [Proceed(None)] * 2
        self.assertEqual(decisions[1:6], [Proceed("Hi."), Run(LS.input), Run({}), passed[0], Proceed("It failed.")])
        self.assertEqual(decisions[6:], [None, None, None, passed[0], None, passed[1], None])
        # The budget's built-in hook warns; no event has data that hookbox does not know.
        self.assertEqual([it.warnings for it in verdicts if any("ignored" in text for text in it.warnings)], [])
        self.assertEqual(client.problems, [])

    def test_a_programming_error_is_raised(self) -> None:
        with Project(self, {}).client() as client:
            session = client.session("a")
            with self.assertRaises(TypeError):
                session.before_tool_call(ToolCall("x", {1, 2}))
            self.assertIsInstance(session.before_tool_call(LS).decision, Run)
        with self.assertRaisesRegex(RuntimeError, "closed"):
            session.before_tool_call(LS)
        client.close()

    def test_a_value_that_only_python_has_is_blocked(self) -> None:
        deep: Any = []
        for _ in range(100_000):
            deep = [deep]
        with Project(self, {}).client() as client:
            session = client.session("a")
            for value in (float("nan"), deep):
                decision = session.before_tool_call(ToolCall("x", {"a": value})).decision
                assert isinstance(decision, Block)
                self.assertEqual(decision.cause, "refused")
            self.assertIsInstance(session.before_tool_call(ToolCall("x", {"a": "\ud800"})).decision, Run)

    def test_a_subagent_stays_one_after_its_process_was_killed(self) -> None:
        who = (
            """case "$(cat)" in *'"invoked_by":"subagent"'*) echo '{"blocked":true,"reason":"No subagents."}' ;; esac"""
        )
        with Project(self, {"who.sh": hook("before_tool_call", who)}).client() as client:
            parent = client.session("a")
            child = parent.subagent("b")
            self.assertIsInstance(child.before_tool_call(LS).decision, Block)
            self.assertIsInstance(parent.before_tool_call(LS).decision, Run)
            client.wait(killed(client))
            decision = child.before_tool_call(LS).decision
            assert isinstance(decision, Block)
            self.assertEqual(decision.by, "who.sh")

    def test_the_user_is_told_of_changed_hooks(self) -> None:
        project = Project(self, {})
        told: list[str] = []
        with project.client(on_problem=told.append) as client:
            session = client.session("a")
            self.assertIsInstance(session.before_tool_call(SUDO).decision, Run)
            project.write(project.root / ".hookbox/hooks/no-sudo.sh", NO_SUDO)
            while not isinstance(session.before_tool_call(SUDO).decision, Block):
                pass
        self.assertIn("no-sudo.sh", "".join(told))
        self.assertEqual(told, client.problems)


class Failures(unittest.TestCase):
    """Each failure of the process is a block, and nothing waits for ever."""

    def test_a_program_that_keeps_ending_is_started_after_longer_and_longer_pauses(self) -> None:
        project = Project(self, {}, program="#!/bin/sh\necho started >> starts\n")
        now = 0.0

        def clock() -> float:
            return now

        with project.client() as client:
            session = client.session("a")

            def starts() -> int:
                decision = session.before_tool_call(LS).decision
                assert isinstance(decision, Block)
                self.assertEqual(decision.cause, "killed")
                return len((project.root / "starts").read_text().splitlines())

            with mock.patch("hookbox._process.time.monotonic", clock):
                found = [starts() for _ in range(4)]
                for pause in (0.09, 0.02, 0.1, 0.1, 0.3, 0.11, 5, 5, 5, 5, 5, 4.9, 0.11):
                    now += pause
                    found.append(starts())
        self.assertEqual(found, [1, 2, 2, 2, 2, 3, 3, 4, 4, 5, 6, 7, 8, 9, 10, 10, 11])

    def test_an_answer_ends_the_pauses(self) -> None:
        with Project(self, {}).client() as client:
            session = client.session("a")
            for _ in range(4):
                self.assertIsInstance(session.before_tool_call(LS).decision, Run)
                client.wait(killed(client))

    def test_events_in_a_queue_do_not_use_up_the_deadline_of_each_other(self) -> None:
        slow = hook("before_tool_call", "sleep 0.4")
        limit = 1.5
        with Project(self, {"slow.sh": slow}).client(deadline=limit) as client:
            session = client.session("a")
            decisions: list[object] = []
            threads = [
                threading.Thread(target=lambda: decisions.append(session.before_tool_call(LS).decision))
                for _ in range(8)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual(decisions, [Run(LS.input)] * 8)

    def test_a_deadline_kills_the_process_with_what_it_started(self) -> None:
        project = Project(self, {}, program=fake("sleep 600 & echo $! > child; wait"))
        with project.client(deadline=0.5) as client:
            decision = client.session("a").before_tool_call(LS).decision
            assert isinstance(decision, Block)
            self.assertEqual((decision.cause, decision.by), ("deadline", "hookbox"))
            self.wait_for_end(int((project.root / "child").read_text()))

    def test_closing_blocks_the_events_that_wait(self) -> None:
        project = Project(self, {}, program=fake("echo >> called; trap '' TERM; sleep 600"))
        client = project.client()
        decisions: list[Any] = []
        thread = threading.Thread(target=lambda: decisions.append(client.session("a").before_tool_call(LS).decision))
        thread.start()
        while not (project.root / "called").exists():
            time.sleep(0.01)
        client.close()
        thread.join()
        self.assertEqual(decisions[0].cause, "killed")

    def test_a_canceled_event_is_told_and_the_process_goes_on(self) -> None:
        project = Project(self, {}, program=fake("echo >> called"))

        async def main() -> None:
            async with project.async_client() as client:
                session = client.session("a")
                task = asyncio.ensure_future(session.before_tool_call(LS))
                while not (project.root / "called").exists():
                    await asyncio.sleep(0.01)
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task
                self.assertTrue(task.cancelled())
                while "cancelled" not in (project.root / "told").read_text():
                    await asyncio.sleep(0.01)
                assert client._core.process is not None
                self.assertIsNone(client._core.process.end_of)

        asyncio.run(main())
        told = (project.root / "told").read_text().splitlines()
        self.assertEqual(json.loads(told[-1])["params"], {"requestId": 2})

    def test_canceling_a_hook_lets_the_next_event_of_the_session_run(self) -> None:
        slow = hook("before_tool_call", """case "$(cat)" in *wait*) : > called; sleep 600 ;; esac""")
        project = Project(self, {"slow.sh": slow})

        async def main() -> object:
            async with project.async_client() as client:
                session = client.session("a")
                task = asyncio.ensure_future(session.before_tool_call(ToolCall("bash", {"command": "wait"})))
                while not (project.root / "called").exists():
                    await asyncio.sleep(0.01)
                task.cancel()
                return (await session.before_tool_call(LS)).decision

        self.assertEqual(asyncio.run(main()), Run(LS.input))

    def test_a_client_goes_on_in_a_new_event_loop(self) -> None:
        client = Project(self, {"no-sudo.sh": NO_SUDO}).async_client()
        session = client.session("a")

        children: list[asyncio.subprocess.Process] = []

        async def main() -> object:
            verdict = await session.before_tool_call(LS)
            assert client._core.process is not None
            children.append(client._core.process.child)
            return verdict.decision

        loops = [asyncio.new_event_loop() for _ in range(3)]
        self.assertEqual([it.run_until_complete(main()) for it in loops[:2]], [Run(LS.input)] * 2)
        loops[2].run_until_complete(client.close())
        for loop, child in zip(loops[:2], children, strict=True):
            self.assertEqual(loop.run_until_complete(child.wait()), -9, "a process without a reader is killed")
            rest = asyncio.all_tasks(loop)
            loop.run_until_complete(asyncio.wait(rest) if rest else asyncio.sleep(0))
        for loop in loops:
            loop.close()

    def test_start_raises_the_failure(self) -> None:
        with Hookbox(program="/no/such/program") as client, self.assertRaises(Failure) as raised:
            client.start()
        self.assertEqual(raised.exception.cause, "missing")
        with Project(self, {}).client() as client:
            client.start()
            self.assertIsNotNone(client._core.process)

    def test_no_process_is_left_when_the_interpreter_ends_without_closing(self) -> None:
        project = Project(self, {}, program=fake("trap '' HUP TERM; echo $$ > child; exec sleep 600"))
        code = (
            "import threading, time, os\nfrom hookbox import *\n"
            f"client = Hookbox(program={project.program!r}, cwd={str(project.root)!r})\n"
            "call = lambda: client.session('a').before_tool_call(ToolCall('x', {}))\n"
            "threading.Thread(target=call, daemon=True).start()\n"
            "while not os.path.exists('child') or not open('child').read().strip(): time.sleep(0.01)\n"
        )
        package = str(Path(__file__).resolve().parents[1])
        env = {**os.environ, "PYTHONPATH": package}
        subprocess.run([sys.executable, "-c", code], cwd=project.root, env=env, check=True, timeout=120)
        self.wait_for_end(int((project.root / "child").read_text()))

    def test_a_client_is_not_used_in_a_forked_process(self) -> None:
        if not hasattr(os, "fork"):
            self.skipTest("this system has no fork")
        with Project(self, {}).client() as client:
            session = client.session("a")
            self.assertIsInstance(session.before_tool_call(LS).decision, Run)
            child = os.fork()
            if child == 0:
                try:
                    session.before_tool_call(LS)
                except RuntimeError:
                    os._exit(7)
                os._exit(1)
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 7)
            self.assertIsInstance(session.before_tool_call(LS).decision, Run)

    def wait_for_end(self, process: int) -> None:
        """Waits until a process has ended."""
        while True:
            try:
                os.kill(process, 0)
                if Path(f"/proc/{process}/stat").read_text().rsplit(")")[-1].split()[0] == "Z":
                    return
            except (ProcessLookupError, FileNotFoundError):
                return
            time.sleep(0.01)


class Programs(unittest.TestCase):
    """The search for hookbox."""

    def test_a_relative_directory_of_the_path_is_never_searched(self) -> None:
        project = Project(self, {}, program="#!/bin/sh\n")
        shutil.copy(project.program, project.root / "hookbox")
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(project.root)
        with mock.patch("hookbox._process.sysconfig.get_path", lambda *_: str(project.home)):
            with mock.patch.dict(os.environ, {"PATH": os.pathsep.join(["", ".", "x"])}):
                self.assertIsNone(find_program())
            with mock.patch.dict(os.environ, {"PATH": str(project.root)}):
                self.assertEqual(find_program(), str(project.root / "hookbox"))
            shutil.copy(project.program, project.home / "hookbox")
            with mock.patch.dict(os.environ, {"PATH": str(project.root)}):
                self.assertEqual(find_program(), str(project.home / "hookbox"), "that of the package comes first")

    def test_without_a_program_every_event_is_blocked(self) -> None:
        with mock.patch("hookbox._process.find_program", lambda: None), Hookbox() as client:
            decision = client.session("a").before_tool_call(LS).decision
            assert isinstance(decision, Block)
            self.assertEqual(decision.cause, "missing")
            self.assertEqual(decision.reason, "hookbox: the program hookbox is neither beside this Python nor on PATH")
