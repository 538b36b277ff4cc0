"""The adapter for the Claude Agent SDK: its Claude Code, with a model on loopback."""

from __future__ import annotations

import asyncio
import json
import os
import threading
import unittest
import warnings
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from hookbox import AsyncHookbox

from .adapters import HOOKS, Tool, arguments
from .project import Project, hook
from .test_cases import killed

try:
    from claude_agent_sdk import (
        ClaudeAgentOptions,
        ClaudeSDKClient,
        PermissionResultAllow,
        PermissionResultDeny,
        create_sdk_mcp_server,
        tool,
    )

    from hookbox.claude_agent import hooks
except ImportError as error:
    raise unittest.SkipTest(f"tests/requirements.txt is not installed: {error}") from None

NAME = "mcp__test__bash"


class Model(BaseHTTPRequestHandler):
    """Calls the tool with each line, and then stops."""

    commands: list[str]
    read: list[str]

    def do_POST(self) -> None:
        """Answers a request with events."""
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        parts = [
            part
            for it in request.get("messages", [])
            if isinstance(it["content"], list)
            for part in it["content"]
            if part.get("type") == "tool_result"
        ]
        texts = [
            it["content"] if isinstance(it["content"], str) else "".join(part["text"] for part in it["content"])
            for it in parts
        ]
        block: dict[str, Any] = {"type": "text", "text": "Done."}
        if any(it["name"] == NAME for it in request.get("tools", [])):
            type(self).read = texts
            if len(texts) < len(self.commands):
                given = arguments(self.commands[len(texts)])
                block = {"type": "tool_use", "id": f"toolu_{len(texts)}", "name": NAME, "input": given}
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        start = {**block, "input": {}} if block["type"] == "tool_use" else {**block, "text": ""}
        delta = (
            {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            if block["type"] == "tool_use"
            else {"type": "text_delta", "text": block["text"]}
        )
        stop = {"stop_reason": "tool_use" if block["type"] == "tool_use" else "end_turn", "stop_sequence": None}
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "mock", "content": []}
        usage = {"input_tokens": 1, "output_tokens": 1}
        for event in (
            {"type": "message_start", "message": {**message, "stop_reason": None, "usage": usage}},
            {"type": "content_block_start", "index": 0, "content_block": start},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": stop, "usage": usage},
            {"type": "message_stop"},
        ):
            self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())

    def log_message(self, *_: Any) -> None:
        """Prints nothing."""


class ClaudeAgent(unittest.TestCase):
    """``hookbox.claude_agent``."""

    def setUp(self) -> None:
        self.tool = Tool()

    async def talk(
        self, client: AsyncHookbox, project: Project, commands: list[str], ask: bool | None = None, run: Any = None
    ) -> list[str]:
        """Sends a message to an agent whose model calls the tool, and returns what the model read."""

        @tool("bash", "Runs a line.", {"command": str})
        async def bash(given: dict[str, Any]) -> dict[str, Any]:
            if run is not None:
                await run()
            return {"content": [{"type": "text", "text": self.tool(given["command"])}]}

        async def may(*_: Any) -> Any:
            return PermissionResultAllow() if ask else PermissionResultDeny(message="The user says no.")

        # A hook's question goes to the callback, although a rule allows the tool.
        warnings.simplefilter("ignore", UserWarning)
        model = type("One", (Model,), {"commands": commands, "read": []})
        server = ThreadingHTTPServer(("127.0.0.1", 0), model)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        options = ClaudeAgentOptions(
            allowed_tools=[NAME],
            can_use_tool=None if ask is None else may,
            cwd=project.root,
            env={
                "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{server.server_port}",
                "ANTHROPIC_API_KEY": "none",
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
                "HOME": str(project.home),
                "CLAUDE_CONFIG_DIR": str(project.home / "claude"),
            },
            hooks=hooks(client),
            mcp_servers={"test": create_sdk_mcp_server("test", tools=[bash])},
            model="mock",
            setting_sources=[],
            tools=[],
        )
        try:
            async with ClaudeSDKClient(options) as agent:
                await agent.query("Go.")
                async for _ in agent.receive_response():
                    pass
        finally:
            server.shutdown()
            server.server_close()
        return model.read  # type: ignore[attr-defined]

    def run_agent(self, scripts: dict[str, str], commands: list[str], ask: bool | None = None) -> list[str]:
        """Runs an agent in a project with hooks."""

        async def main() -> list[str]:
            project = Project(self, scripts)
            async with project.async_client() as client:
                return await self.talk(client, project, commands, ask)

        return asyncio.run(main())

    def test_hooks_block_change_and_hide(self) -> None:
        [sudo, ls, secret, echo] = self.run_agent(HOOKS, ["sudo ls", "ls", "secret", "echo"])
        self.assertIn("No root here.", sudo)
        self.assertEqual((ls, secret, echo), ("ran ls -l", "hidden", "ran echo"))
        self.assertEqual(self.tool.ran, ["ls -l", "secret", "echo"])

    def test_a_question_goes_to_the_permission_of_the_user(self) -> None:
        for answer in (False, None):
            [output] = self.run_agent(HOOKS, ["npm publish"], answer)
            self.assertNotIn("ran", output)
        self.assertEqual(self.tool.ran, [])
        self.assertEqual(self.run_agent(HOOKS, ["npm publish"], True), ["ran npm publish"])

    def test_without_hookbox_the_message_is_blocked(self) -> None:
        async def main() -> list[str]:
            async with AsyncHookbox(program="/no/such/program") as client:
                return await self.talk(client, Project(self, HOOKS), ["ls"])

        self.assertEqual(asyncio.run(main()), [])
        self.assertEqual(self.tool.ran, [])

    def test_a_process_that_ends_blocks_the_call(self) -> None:
        async def main() -> list[str]:
            project = Project(self, {"once.sh": hook("user_message_send", "")})
            async with project.async_client() as client:

                async def run() -> None:
                    await killed(client)
                    client._core.program = "/no/such/program"

                return await self.talk(client, project, ["echo", "ls"], run=run)

        [echo, ls] = asyncio.run(main())
        self.assertNotIn("ran", echo, "no hook saw the output")
        self.assertIn("hookbox: ", ls)
        self.assertEqual(self.tool.ran, ["echo"])

    def test_a_blocked_message_reaches_no_model_and_a_follow_up_does(self) -> None:
        no = hook("user_message_send", """echo '{"blocked":true,"reason":"Not today."}'""")
        self.assertEqual(self.run_agent({"no.sh": no}, ["ls"]), [])
        self.assertEqual(self.tool.ran, [])
        more = hook("agent_stop", """[ -e more ] || echo '{"follow_up_messages":["Run the tests."]}'; : > more""")
        self.assertEqual(self.run_agent({"more.sh": more}, ["echo"]), ["ran echo"])

    def test_a_changed_output_has_the_form_of_the_old_one_or_stops_the_agent(self) -> None:
        from hookbox.claude_agent import _shaped

        shell = {"stdout": "a", "stderr": "b", "interrupted": False}
        for was, new, want in [
            ("a", "b", "b"),
            (shell, "b", {**shell, "stdout": "b", "stderr": ""}),
            (shell, {**shell, "stdout": ""}, {**shell, "stdout": ""}),
            ([{"type": "text", "text": "a"}], "b", [{"type": "text", "text": "b"}]),
            ({"file": "a"}, "b", None),
            ({"file": "a"}, {"other": "b"}, None),
            ("a", {"b": 1}, None),
            (7, "b", None),
        ]:
            self.assertEqual(_shaped(was, new), want, (was, new))


if os.name != "posix":
    del ClaudeAgent
