"""The adapter for LangChain, with a model in the process."""

from __future__ import annotations

import asyncio
import unittest
from collections.abc import Callable
from typing import Any

from hookbox import AsyncHookbox, Hookbox

from .adapters import HOOKS, READS, REFUSAL, Tool, arguments
from .project import Project, hook
from .test_cases import killed

try:
    from langchain.agents import create_agent
    from langchain.messages import AIMessage, HumanMessage, ToolMessage
    from langchain.tools import tool
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.types import Command, interrupt

    from hookbox.langchain import HookboxMiddleware, by_interrupt
except ImportError as error:
    raise unittest.SkipTest(f"tests/requirements.txt is not installed: {error}") from None

GO = {"messages": [HumanMessage("Go.")]}


class Model(GenericFakeChatModel):
    """A model that knows its answers."""

    def bind_tools(self, *_: Any, **__: Any) -> Any:
        """Takes any tools."""
        return self


def agent(
    client: Hookbox | AsyncHookbox, commands: list[str], bash: Callable[..., Any], ask: Any = None, **more: Any
) -> Any:
    """Makes an agent with hooks whose model calls bash with each line."""
    calls = [
        AIMessage("", tool_calls=[{"name": "bash", "args": arguments(it), "id": f"call-{number}"}])
        for number, it in enumerate(commands)
    ]
    bash.__doc__ = "Runs a line."
    model = Model(messages=iter([*calls, AIMessage("Done.")]))
    return create_agent(model, [tool("bash")(bash)], middleware=[HookboxMiddleware(client, ask)], **more)


def read(state: dict[str, Any]) -> list[str]:
    """Returns what the model read as results of calls."""
    return [it.content for it in state["messages"] if isinstance(it, ToolMessage)]


class LangChain(unittest.TestCase):
    """``hookbox.langchain``."""

    def setUp(self) -> None:
        self.tool = Tool()

    def bash(self) -> Callable[[str], str]:
        """Returns the function of a tool."""

        def bash(command: str) -> str:
            return self.tool(command)

        return bash

    def test_hooks_block_change_and_hide(self) -> None:
        async def main() -> list[str]:
            async with Project(self, HOOKS).async_client() as client:
                return read(await agent(client, list(READS), self.bash()).ainvoke(GO))

        self.assertEqual(asyncio.run(main()), list(READS.values()))
        with Project(self, HOOKS).client() as client:
            self.assertEqual(read(agent(client, list(READS), self.bash()).invoke(GO)), list(READS.values()))
        self.assertEqual(self.tool.ran, ["ls -l", "secret", "echo"] * 2)

    def test_a_question_goes_to_the_callback(self) -> None:
        with Project(self, HOOKS).client() as client:
            for ask, refusal in ((None, ""), (lambda _: False, REFUSAL)):
                state = agent(client, ["npm publish"], self.bash(), ask).invoke(GO)
                self.assertEqual(read(state), [f"error: Really?{refusal}"])
            self.assertEqual(self.tool.ran, [])
            state = agent(client, ["npm publish"], self.bash(), lambda _: True).invoke(GO)
            self.assertEqual(read(state), ["ran npm publish"])

    def test_a_question_is_an_interrupt(self) -> None:
        with Project(self, HOOKS).client() as client:
            for thread, answer in (("a", False), ("b", True)):
                config = {"configurable": {"thread_id": thread}}
                asks = agent(client, ["npm publish"], self.bash(), by_interrupt, checkpointer=InMemorySaver())
                state = asks.invoke(GO, config)
                self.assertEqual(state["__interrupt__"][0].value["question"], "Really?")
                self.assertEqual(self.tool.ran, [])
                state = asks.invoke(Command(resume=answer), config)
                self.assertEqual(read(state), ["ran npm publish" if answer else f"error: Really?{REFUSAL}"])

    def test_a_tool_that_interrupts_has_not_ended(self) -> None:
        project = Project(self, {"record.sh": hook("after_tool_call", "cat >> after; echo >> after")})

        def bash(command: str) -> str:
            return f"ran {interrupt(command)}"

        with project.client() as client:
            config = {"configurable": {"thread_id": "a"}}
            asks = agent(client, ["echo"], bash, checkpointer=InMemorySaver())
            self.assertEqual(asks.invoke(GO, config)["__interrupt__"][0].value, "echo")
            self.assertFalse((project.root / "after").exists())
            self.assertEqual(read(asks.invoke(Command(resume="it"), config)), ["ran it"])
        self.assertEqual(len((project.root / "after").read_text().splitlines()), 1)

    def test_without_hookbox_the_call_is_blocked(self) -> None:
        with Hookbox(program="/no/such/program") as client:
            [output] = read(agent(client, ["ls"], self.bash()).invoke(GO))
        self.assertIn("error: hookbox: ", output)
        self.assertEqual(self.tool.ran, [])

    def test_a_process_that_is_killed_while_the_tool_runs_hides_the_output(self) -> None:
        with Project(self, HOOKS).client() as client:

            def bash(command: str) -> str:
                client.wait(killed(client))
                client._core.program = "/no/such/program"
                return f"ran {command}"

            [output] = read(agent(client, ["echo"], bash).invoke(GO))
        self.assertIn("error: hookbox: ", output)
        self.assertNotIn("ran echo", output)

    def test_an_error_of_the_tool_stays_one(self) -> None:
        with Project(self, HOOKS).client() as client, self.assertRaisesRegex(OSError, "the disk is full"):
            agent(client, ["fail"], self.bash()).invoke(GO)

    def test_the_messages_of_a_command_are_judged(self) -> None:
        with Project(self, HOOKS).client() as client:

            def bash(command: str) -> Command[Any]:
                return Command(
                    update={"messages": [ToolMessage(f"ran {command}", tool_call_id=f"call-{next(number)}")]}
                )

            number = iter(range(9))
            bash.__annotations__ = {"command": str}
            self.assertEqual(read(agent(client, ["secret", "echo"], bash).invoke(GO)), ["hidden", "ran echo"])

    def test_the_other_kind_of_client_is_an_error(self) -> None:
        with self.assertRaisesRegex(TypeError, "ainvoke"):
            agent(AsyncHookbox(), ["ls"], self.bash()).invoke(GO)
        with self.assertRaisesRegex(TypeError, "call invoke"):
            asyncio.run(agent(Hookbox(), ["ls"], self.bash()).ainvoke(GO))
        self.assertEqual(self.tool.ran, [])
