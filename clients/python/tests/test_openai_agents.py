"""The adapter for the OpenAI Agents SDK, with a model in the process."""

from __future__ import annotations

import asyncio
import json
import unittest
from typing import Any

from hookbox import AsyncHookbox

from .adapters import HOOKS, READS, REFUSAL, Tool, arguments
from .project import Project
from .test_cases import killed

try:
    from agents import Agent, RunConfig, Runner, RunState, WebSearchTool, function_tool
    from agents.testing import ScriptedModel, assistant_message, function_call

    from hookbox.openai_agents import Approval, guarded
except ImportError as error:
    raise unittest.SkipTest(f"tests/requirements.txt is not installed: {error}") from None

#: Nothing leaves the machine.
CONFIG = RunConfig(tracing_disabled=True)


def model(*commands: str) -> ScriptedModel:
    """Returns a model that calls bash with each line, and then stops."""
    calls = [
        [function_call("bash", json.dumps(arguments(it)), call_id=f"call-{number}")]
        for number, it in enumerate(commands)
    ]
    return ScriptedModel([*calls, [assistant_message("Done.")]])


def read(result: Any) -> list[str]:
    """Returns what the model read as results of calls."""
    return [it["output"] for it in result.to_input_list() if it.get("type") == "function_call_output"]


class OpenAIAgents(unittest.TestCase):
    """``hookbox.openai_agents``."""

    def setUp(self) -> None:
        self.tool = Tool()

    def agent(self, client: AsyncHookbox, commands: list[str], ask: Approval | None = None) -> Agent[Any]:
        """Makes an agent with hooks."""

        @function_tool(failure_error_function=None)
        def bash(command: str) -> str:
            return self.tool(command)

        return Agent("agent", model=model(*commands), tools=guarded([bash], client.session("a"), ask))

    def test_hooks_block_change_and_hide(self) -> None:
        async def main() -> list[str]:
            async with Project(self, HOOKS).async_client() as client:
                return read(await Runner.run(self.agent(client, list(READS)), "Go.", run_config=CONFIG))

        self.assertEqual(asyncio.run(main()), list(READS.values()))
        self.assertEqual(self.tool.ran, ["ls -l", "secret", "echo"])

    def test_a_question_goes_to_the_callback(self) -> None:
        async def main(answer: bool) -> list[str]:
            async with Project(self, HOOKS).async_client() as client:
                agent = self.agent(client, ["npm publish"], lambda _: answer)
                return read(await Runner.run(agent, "Go.", run_config=CONFIG))

        self.assertEqual(asyncio.run(main(False)), [f"error: Really?{REFUSAL}"])
        self.assertEqual(self.tool.ran, [])
        self.assertEqual(asyncio.run(main(True)), ["ran npm publish"])

    def test_a_question_is_an_interruption_that_the_user_approves_or_rejects(self) -> None:
        async def main(approves: bool, in_another_process: bool) -> list[str]:
            async with Project(self, HOOKS).async_client() as client:
                agent = self.agent(client, ["npm publish"])
                first = await Runner.run(agent, "Go.", run_config=CONFIG)
                self.assertEqual([it.name for it in first.interruptions], ["bash"])
                self.assertEqual(self.tool.ran, [])
                state = first.to_state()
                if in_another_process:
                    agent = self.agent(client, [])
                    state = await RunState.from_json(agent, state.to_json())
                [question] = state.get_interruptions()
                state.approve(question) if approves else state.reject(question)
                return read(await Runner.run(agent, state, run_config=CONFIG))

        for elsewhere in (False, True):
            self.tool.ran.clear()
            self.assertNotIn("ran", asyncio.run(main(False, elsewhere))[0])
            self.assertEqual(self.tool.ran, [])
            self.assertEqual(asyncio.run(main(True, elsewhere)), ["ran npm publish"])

    def test_without_hookbox_the_call_is_blocked(self) -> None:
        async def main() -> list[str]:
            async with AsyncHookbox(program="/no/such/program") as client:
                return read(await Runner.run(self.agent(client, ["ls"]), "Go.", run_config=CONFIG))

        self.assertIn("error: hookbox: ", asyncio.run(main())[0])
        self.assertEqual(self.tool.ran, [])

    def test_a_process_that_is_killed_while_the_tool_runs_hides_the_output(self) -> None:
        async def main() -> list[str]:
            async with Project(self, HOOKS).async_client() as client:

                @function_tool
                async def bash(command: str) -> str:
                    await killed(client)
                    client._core.program = "/no/such/program"
                    return f"ran {command}"

                agent = Agent("agent", model=model("echo"), tools=guarded([bash], client.session("a")))
                return read(await Runner.run(agent, "Go.", run_config=CONFIG))

        [output] = asyncio.run(main())
        self.assertIn("error: hookbox: ", output)
        self.assertNotIn("ran echo", output)

    def test_an_error_of_the_tool_stays_one(self) -> None:
        async def main() -> None:
            async with Project(self, HOOKS).async_client() as client:
                await Runner.run(self.agent(client, ["fail"]), "Go.", run_config=CONFIG)

        with self.assertRaisesRegex(Exception, "the disk is full"):
            asyncio.run(main())

    def test_a_tool_that_runs_elsewhere_is_an_error(self) -> None:
        with self.assertRaisesRegex(TypeError, "WebSearchTool"):
            guarded([WebSearchTool()], AsyncHookbox().session("a"))
