"""The adapter for Pydantic AI, with a model in the process."""

from __future__ import annotations

import asyncio
import unittest
from collections.abc import Callable
from typing import Any

from hookbox import Ask, AsyncHookbox

from .adapters import HOOKS, READS, REFUSAL, Tool, arguments
from .project import Project, hook
from .test_cases import killed

try:
    from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, ModelRetry
    from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
    from pydantic_ai.models.function import FunctionModel

    from hookbox.pydantic_ai import HookboxCapability
except ImportError as error:
    raise unittest.SkipTest(f"tests/requirements.txt is not installed: {error}") from None


def model(*commands: str) -> FunctionModel:
    """Returns a model that calls bash with each line, and then reports what it read."""

    def answer(messages: list[Any], _: Any) -> ModelResponse:
        results = [part for it in messages if isinstance(it, ModelRequest) for part in it.parts]
        read = [str(it.content) for it in results if isinstance(it, ToolReturnPart)]
        if len(read) < len(commands):
            number = len(read)
            return ModelResponse([ToolCallPart("bash", arguments(commands[number]), f"call-{number}")])
        return ModelResponse([TextPart("\n".join(read))])

    return FunctionModel(answer)


class PydanticAI(unittest.TestCase):
    """``hookbox.pydantic_ai``."""

    def setUp(self) -> None:
        self.tool = Tool()

    def agent(
        self, client: AsyncHookbox, commands: list[str], ask: Callable[[Ask], Any] | None = None, **more: Any
    ) -> Agent[Any, Any]:
        """Makes an agent with hooks."""

        def bash(command: str) -> str:
            return self.tool(command)

        capability = HookboxCapability(client.session("a"), ask)
        return Agent(model(*commands), tools=[bash], capabilities=[capability], **more)

    def test_hooks_block_change_and_hide(self) -> None:
        async def main() -> str:
            async with Project(self, HOOKS).async_client() as client:
                return (await self.agent(client, list(READS)).run("Go.")).output

        self.assertEqual(asyncio.run(main()).splitlines(), list(READS.values()))
        self.assertEqual(self.tool.ran, ["ls -l", "secret", "echo"])

    def test_a_question_goes_to_the_callback(self) -> None:
        async def main(answer: bool) -> str:
            async with Project(self, HOOKS).async_client() as client:
                return (await self.agent(client, ["npm publish"], lambda _: answer).run("Go.")).output

        self.assertEqual(asyncio.run(main(False)), f"error: Really?{REFUSAL}")
        self.assertEqual(self.tool.ran, [])
        self.assertEqual(asyncio.run(main(True)), "ran npm publish")

    def test_a_question_defers_the_call_until_it_is_approved(self) -> None:
        async def main(approved: bool) -> tuple[Any, str]:
            async with Project(self, HOOKS).async_client() as client:
                agent = self.agent(client, ["npm publish"], output_type=[str, DeferredToolRequests])
                first = await agent.run("Go.")
                self.assertEqual(self.tool.ran, [])
                results = DeferredToolResults(approvals={"call-0": approved})
                second = await agent.run(message_history=first.all_messages(), deferred_tool_results=results)
                return first.output, second.output

        asked, output = asyncio.run(main(False))
        self.assertEqual(asked.metadata["call-0"]["reason"], "Really?")
        self.assertNotIn("ran", output)
        self.assertEqual(self.tool.ran, [])
        self.assertEqual(asyncio.run(main(True))[1], "ran npm publish")

    def test_a_killed_process_blocks_and_an_error_of_the_tool_stays_one(self) -> None:
        async def main() -> str:
            async with Project(self, HOOKS).async_client(program="/no/such/program") as client:
                return (await self.agent(client, ["ls"]).run("Go.")).output

        self.assertIn("hookbox: ", asyncio.run(main()))
        self.assertEqual(self.tool.ran, [])

        async def fails() -> None:
            async with Project(self, HOOKS).async_client() as client:
                await self.agent(client, ["fail"]).run("Go.")

        with self.assertRaisesRegex(OSError, "the disk is full"):
            asyncio.run(fails())

    def test_a_process_that_is_killed_while_the_tool_runs_hides_the_output(self) -> None:
        async def main() -> str:
            async with Project(self, HOOKS).async_client() as client:

                async def bash(command: str) -> str:
                    await killed(client)
                    client._core.program = "/no/such/program"
                    return f"ran {command}"

                agent = Agent(model("echo"), tools=[bash], capabilities=[HookboxCapability(client.session("a"))])
                return (await agent.run("Go.")).output

        output = asyncio.run(main())
        self.assertIn("error: hookbox: ", output)
        self.assertNotIn("ran echo", output)

    def test_the_hooks_are_told_of_a_retry(self) -> None:
        record = hook("after_tool_call", "cat >> after")
        project = Project(self, {"record.sh": record})

        async def main() -> str:
            async with project.async_client() as client:

                def bash(command: str) -> str:
                    raise ModelRetry("Ask again.")

                agent = Agent(model("echo"), tools=[bash], capabilities=[HookboxCapability(client.session("a"))])
                return str((await agent.run("Go.")).all_messages())

        self.assertIn("Ask again.", asyncio.run(main()))
        self.assertIn("Ask again.", (project.root / "after").read_text())
