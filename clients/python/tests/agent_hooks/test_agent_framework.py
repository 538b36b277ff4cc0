"""The interceptor inside Microsoft Agent Framework, with a mock model on loopback."""

from __future__ import annotations

import asyncio
import json
import subprocess
import threading
import unittest
import warnings
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from hookbox import AsyncHookbox
from hookbox.agent_hooks import Interceptor

from ..adapters import HOOKS, READS
from ..project import PROGRAM, Project, hook
from ..test_cases import killed

try:
    from agent_framework import Agent, create_agent_hooks_middleware, tool
    from agent_framework.openai import OpenAIChatCompletionClient
    from agent_hooks import InterceptionBlocked

    from .test_interceptor import Approver
except ImportError as error:
    raise unittest.SkipTest(f"tests/agent_hooks/requirements.txt is not installed: {error}") from None


class Model:
    """A model on loopback that calls bash with each line, and then reports what it read."""

    def __init__(self, test: unittest.TestCase, *commands: str) -> None:
        self.commands = commands
        self.requests: list[dict[str, Any]] = []
        model = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                """Answers a request for a completion."""
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                model.requests.append(request)
                message, finish = model.answer(request["messages"])
                whole = {"id": "1", "object": "chat.completion", "created": 1, "model": "mock"}
                choice = {"index": 0, "finish_reason": finish}
                if request.get("stream"):
                    for at, it in enumerate(message.get("tool_calls", [])):
                        it["index"] = at
                    whole |= {"object": "chat.completion.chunk", "choices": [{**choice, "delta": message}]}
                    body, kind = f"data: {json.dumps(whole)}\n\ndata: [DONE]\n\n".encode(), "text/event-stream"
                else:
                    whole["choices"] = [{**choice, "message": message}]
                    body, kind = json.dumps(whole).encode(), "application/json"
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                """Says nothing."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        test.addCleanup(lambda: (server.shutdown(), thread.join(), server.server_close()))
        self.url = f"http://127.0.0.1:{server.server_port}/v1"

    def read(self, messages: list[dict[str, Any]]) -> list[str]:
        """Returns the results of tools that the model has read."""
        return [str(it["content"]) for it in messages if it["role"] == "tool"]

    def answer(self, messages: list[dict[str, Any]]) -> tuple[dict[str, Any], str]:
        """Returns the next message of the model."""
        read = self.read(messages)
        if len(read) == len(self.commands):
            return {"role": "assistant", "content": "\n".join(read) or "Hello."}, "stop"
        arguments = json.dumps({"command": self.commands[len(read)]})
        call = {"id": f"call-{len(read)}", "type": "function", "function": {"name": "bash", "arguments": arguments}}
        return {"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls"


class AgentFramework(unittest.TestCase):
    """``create_agent_hooks_middleware([Interceptor(client)])``."""

    def setUp(self) -> None:
        warnings.filterwarnings("ignore", category=UserWarning)
        self.ran: list[str] = []
        self.records: list[Any] = []
        self.before_result: Callable[[], Any] | None = None

    def agent(self, client: AsyncHookbox, model: Model, **more: Any) -> Agent:
        """Makes an agent with hooks."""

        @tool(name="bash", approval_mode="never_require")
        async def bash(command: str) -> str:
            """Runs a command."""
            self.ran.append(command)
            if self.before_result is not None:
                await self.before_result()
            return f"ran {command}"

        middleware = create_agent_hooks_middleware(
            {"hookbox": Interceptor(client)}, record_sink=self.records.append, timeout=30.0, **more
        )
        chat = OpenAIChatCompletionClient("mock", api_key="none", base_url=model.url)
        return Agent(client=chat, tools=[bash], middleware=[middleware])

    def run_agent(self, project: Project, *commands: str, message: str = "Go.", **more: Any) -> tuple[str, Model]:
        """Runs an agent, and returns its answer and its model."""
        model = Model(self, *commands)

        async def main() -> str:
            async with project.async_client() as client:
                return (await self.agent(client, model, **more).run(message)).text

        return asyncio.run(main()), model

    def test_hooks_block_change_and_hide(self) -> None:
        _, model = self.run_agent(Project(self, HOOKS), *READS)
        read = model.read(model.requests[-1]["messages"])
        for found, expected in zip(read, READS.values(), strict=True):
            self.assertIn(expected.removeprefix("error: "), found)
        self.assertEqual(self.ran, ["ls -l", "secret", "echo"])
        self.assertNotIn("ran secret", str(model.requests))

    def test_a_component_stops_a_tool_call(self) -> None:
        project = Project(self, {})
        assert PROGRAM is not None
        added = subprocess.run(
            [PROGRAM, "guard", "add", "destructive", "--yes"], check=False, capture_output=True, text=True
        )
        self.assertEqual(added.returncode, 0, added.stderr)
        self.assertTrue((project.home / ".hookbox/hooks/destructive.wasm").exists())
        _, model = self.run_agent(project, "rm -rf ~/", "ls")
        read = model.read(model.requests[-1]["messages"])
        self.assertIn("home directory", read[0])
        self.assertIn("destructive.wasm: remove", read[0])
        self.assertIn("ran ls", read[1])
        self.assertEqual(self.ran, ["ls"])
        (record,) = [it for it in self.records if not it.proceeds]
        self.assertEqual((record.interception_point.value, record.verdicts[0].name), ("pre_tool_call", "hookbox"))

    def test_a_question_is_asked(self) -> None:
        for agrees, ran in ((True, ["npm publish"]), (False, [])):
            self.ran.clear()
            approver = Approver(agrees)
            _, model = self.run_agent(Project(self, HOOKS), "npm publish", resolver=approver)
            self.assertEqual(self.ran, ran)
            self.assertEqual([it.reason for it in approver.asked], ["Really?"])
            self.assertIn("ran npm publish" if agrees else "rejected", model.read(model.requests[-1]["messages"])[0])

    def test_a_message_and_an_answer_can_be_blocked(self) -> None:
        hooks = {
            "1.sh": hook(
                "user_message_send", """case "$(cat)" in *bad*) echo '{"blocked":true,"reason":"No."}' ;; esac"""
            ),
            "2.sh": hook(
                "agent_stop", """case "$(cat)" in *Hello*) echo '{"follow_up_messages":["Run the tests."]}' ;; esac"""
            ),
        }
        with self.assertRaisesRegex(InterceptionBlocked, r"input blocked: deny \(No\.\)"):
            self.run_agent(Project(self, hooks), message="a bad one")
        with self.assertRaisesRegex(InterceptionBlocked, r"output blocked: deny \(Run the tests\.\)"):
            self.run_agent(Project(self, hooks))
        self.assertIn("ran echo", self.run_agent(Project(self, hooks), "echo")[0])

    def test_a_stream_is_guarded(self) -> None:
        model = Model(self, "sudo ls", "ls")

        async def main() -> str:
            async with Project(self, HOOKS).async_client() as client:
                return "".join([it.text async for it in self.agent(client, model).run("Go.", stream=True)])

        answer = asyncio.run(main())
        self.assertIn("No root here.", answer)
        self.assertEqual(self.ran, ["ls -l"])

    def test_calls_at_the_same_time_are_guarded(self) -> None:
        class Together(Model):
            def answer(self, messages: list[dict[str, Any]]) -> tuple[dict[str, Any], str]:
                if self.read(messages):
                    return {"role": "assistant", "content": "Done."}, "stop"
                one = {"role": "assistant", "content": None, "tool_calls": []}
                for at, command in enumerate(self.commands):
                    function = {"name": "bash", "arguments": json.dumps({"command": command})}
                    one["tool_calls"].append({"id": f"call-{at}", "type": "function", "function": function})
                return one, "tool_calls"

        model = Together(self, *["sudo ls", "ls", "echo"] * 4)

        async def main() -> None:
            async with Project(self, HOOKS).async_client() as client:
                await self.agent(client, model).run("Go.")

        asyncio.run(main())
        self.assertEqual(sorted(self.ran), ["echo"] * 4 + ["ls -l"] * 4)

    def test_without_the_program_the_agent_does_not_start(self) -> None:
        model = Model(self, "echo")

        async def main() -> None:
            async with Project(self, HOOKS).async_client(program="/no/such/program") as client:
                await self.agent(client, model).run("Go.")

        with self.assertRaisesRegex(InterceptionBlocked, "agent_startup blocked: deny .host_error:interceptor_failed"):
            asyncio.run(main())
        self.assertEqual((self.ran, model.requests), ([], []))

    def test_a_process_that_is_killed_while_the_tool_runs_hides_the_output(self) -> None:
        model = Model(self, "echo")

        async def main() -> None:
            async with Project(self, HOOKS).async_client() as client:

                async def end() -> None:
                    await killed(client)
                    client._core.program = "/no/such/program"

                self.before_result = end
                await self.agent(client, model).run("Go.")

        with self.assertRaisesRegex(InterceptionBlocked, "post_tool_call blocked: deny .host_error:interceptor_failed"):
            asyncio.run(main())
        self.assertEqual(self.ran, ["echo"])
        self.assertNotIn("ran echo", str(model.requests))

    def test_a_process_that_is_killed_while_it_is_asked_keeps_the_tool_from_running(self) -> None:
        project = Project(self, {"hang.sh": hook("before_tool_call", ": > began; sleep 60")})
        model = Model(self, "echo")

        async def main() -> None:
            async with project.async_client() as client:
                running = asyncio.ensure_future(self.agent(client, model).run("Go."))
                while not (project.root / "began").exists() and not running.done():
                    await asyncio.sleep(0.01)
                await killed(client)
                await running

        with self.assertRaisesRegex(InterceptionBlocked, "pre_tool_call blocked: deny .host_error:interceptor_failed"):
            asyncio.run(main())
        self.assertEqual(self.ran, [])


if __name__ == "__main__":
    unittest.main()
