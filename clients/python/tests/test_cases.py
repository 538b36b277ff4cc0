"""The cases that the clients of each language run, with both kinds of client."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from hookbox import Ask, AsyncHookbox, Block, Hookbox, Proceed, Run
from hookbox._verdicts import SUBJECTS, typed

from .project import Project

CASES = Path(__file__).resolve().parents[2] / "cases"


def repeated(value: Any) -> Any:
    """Returns a value with its repeated texts."""
    if isinstance(value, dict):
        if list(value) == ["$repeat"]:
            return value["$repeat"][0] * value["$repeat"][1]
        return {key: repeated(it) for key, it in value.items()}
    return [repeated(it) for it in value] if isinstance(value, list) else value


def shown(event: str, raw: dict[str, Any]) -> dict[str, Any]:
    """Returns what a case can expect of a verdict, read from its typed form."""
    verdict = typed(event, raw)
    found: dict[str, Any] = {"action": None, "value": None, "reason": None, "by": None, "cause": None}
    decision = verdict.decision
    if isinstance(decision, Run):
        found |= {"action": "run", "value": decision.input}
    elif isinstance(decision, Proceed):
        found |= {"action": "proceed", "value": decision.value}
    elif isinstance(decision, Ask):
        found |= {"action": "ask", "value": decision.user_agreed().input}
    elif isinstance(decision, Block):
        found |= {"action": "block", "value": decision.output}
    if isinstance(decision, (Ask, Block)):
        found |= {"reason": decision.reason, "by": decision.by, "cause": decision.cause}
    callback = verdict.callback and {"name": verdict.callback.name, "args": verdict.callback.args}
    return {
        **found,
        "modified": verdict.modified,
        "context": verdict.context,
        "warnings": len(verdict.warnings),
        "follow_ups": verdict.follow_ups,
        "dropped_follow_ups": verdict.dropped_follow_ups,
        "messages": verdict.messages,
        "callback": callback,
        "metadata": verdict.metadata,
    }


class Cases(unittest.TestCase):
    """Runs each file of ``clients/cases``."""

    maxDiff = 2000

    def compare(self, step: dict[str, Any], raw: dict[str, Any]) -> None:
        """Compares a verdict with the expected one."""
        expected = repeated(step["expect"])
        found = shown(step["event"], raw)
        part = expected.pop("reason_contains", "")
        self.assertIn(part, found["reason"] or "", raw)
        self.assertEqual({key: found[key] for key in expected}, expected, str(raw)[:500])
        self.assertEqual("decision" in raw, step["event"] in SUBJECTS)

    def options(self, case: dict[str, Any]) -> dict[str, Any]:
        """Returns the options of a case for a client."""
        deadline = case.get("options", {}).get("deadline_ms")
        return {} if deadline is None else {"deadline": deadline / 1000}

    def blocking(self, project: Project, case: dict[str, Any]) -> None:
        """Runs the steps with a client that blocks, and those at the same time in threads."""
        sessions: dict[str, Any] = {}

        def send(step: dict[str, Any]) -> dict[str, Any]:
            return sessions[step["session"]].event(step["event"], repeated(step["data"]))

        with project.client(**self.options(case)) as client, ThreadPoolExecutor(32) as threads:
            for step in case["steps"]:
                if "kill" in step:
                    client.wait(killed(client))
                    continue
                steps = step.get("together", [step])
                for one in steps:
                    sessions.setdefault(one["session"], client.session(one["session"], parent=one.get("parent")))
                for one, raw in zip(steps, threads.map(send, steps), strict=True):
                    self.compare(one, raw)

    async def awaited(self, project: Project, case: dict[str, Any]) -> None:
        """Runs the steps with a client for asyncio."""
        sessions: dict[str, Any] = {}
        async with project.async_client(**self.options(case)) as client:
            for step in case["steps"]:
                if "kill" in step:
                    await killed(client)
                    continue
                steps = step.get("together", [step])
                for one in steps:
                    sessions.setdefault(one["session"], client.session(one["session"], parent=one.get("parent")))
                calls = [sessions[one["session"]].event(one["event"], repeated(one["data"])) for one in steps]
                for one, raw in zip(steps, await asyncio.gather(*calls), strict=True):
                    self.compare(one, raw)


async def killed(client: Hookbox | AsyncHookbox) -> None:
    """Kills the process of a client, and waits until the client has noticed."""
    process = client._core.process
    assert process is not None
    os.kill(process.child.pid, signal.SIGKILL)
    await process.ended.wait()


def add(path: Path) -> None:
    """Adds the two tests of a case."""
    case = json.loads(path.read_text(encoding="utf-8"))

    def project(test: Cases) -> Project:
        return Project(test, case.get("hooks", {}), case.get("files"), case.get("program"))

    def blocking(test: Cases) -> None:
        test.blocking(project(test), case)

    def awaited(test: Cases) -> None:
        asyncio.run(test.awaited(project(test), case))

    for kind, function in (("blocking", blocking), ("asyncio", awaited)):
        function.__doc__ = case["name"]
        setattr(Cases, f"test_{path.stem.replace('-', '_')}_{kind}", function)


for file in sorted(CASES.glob("*.json")):
    add(file)
