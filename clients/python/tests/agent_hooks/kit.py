"""The conformance kit of AGENT-HOOKS with hookbox in the place of each scripted interceptor.

``HOOKBOX_PROGRAM=hookbox python3 -m tests.agent_hooks.kit [--table] [--harness FILE]`` prints the counts, and exits with
1 if a vector fails that the mapping covers. The harness of Agent Framework is in no package: FILE is
``conformance/claims/maf/harness.py`` of the repository of AGENT-HOOKS.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import runpy
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from agent_hooks import InterceptionEmitter
from agent_hooks.ctk import load_vectors, run_vector, runner
from agent_hooks.ctk.reference import ReferenceHarness

from hookbox import AsyncHookbox
from hookbox.agent_hooks import Interceptor

from .plays import NotCovered, play

#: The vectors that the mapping does not cover: no more, and no fewer.
NOT_COVERED = {f"AH-CTK-{it}" for it in ("022", "074", "102", "111", "113")}


@dataclass
class Outcome:
    """What became of a vector under a host."""

    vector: str
    #: ``passed``, ``failed``, ``not covered`` (by the mapping), or ``skipped`` (the host has no such thing).
    status: str
    detail: str
    #: How many events the hooks got.
    events: int


class Stage:
    """Makes an interceptor for each script of a vector, each with hooks of its own."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.clients: list[AsyncHookbox] = []

    def interceptor(self, rules: list[dict[str, Any]]) -> Interceptor:
        """Makes the interceptor that plays a script."""
        project = self.place / f"interceptor-{len(self.clients)}"
        play(rules, project)
        program = os.environ.get("HOOKBOX_PROGRAM")
        client = AsyncHookbox(cwd=project, program=program, agent="kit", args=["--trust", "all"])
        self.clients.append(client)
        return Interceptor(client)

    async def close(self) -> int:
        """Ends the processes, and returns how many events the hooks got."""
        for client in self.clients:
            await client.close()
        return sum(len(log.read_text().splitlines()) for log in self.place.glob("*/asked"))


async def run(host: Callable[[], Any], vector: dict[str, Any]) -> Outcome:
    """Runs a vector under a host."""
    harness = host()
    with tempfile.TemporaryDirectory() as place:
        try:
            scripts = vector.get("interceptor_scripts")
            for number, script in enumerate([vector["interceptor_script"]] if scripts is None else scripts):
                play(script, Path(place, "tried", str(number)))
        except NotCovered as reason:
            return Outcome(vector["id"], "not covered", str(reason), 0)
        stage = Stage(Path(place))
        with mock.patch.object(runner, "ScriptedInterceptor", stage.interceptor):
            result = await run_vector(harness, vector)
        events = await stage.close()
    status = {"pass": "passed", "fail": "failed", "skip": "skipped"}[result.status]
    return Outcome(vector["id"], status, result.detail or "; ".join(result.failures), events)


def without_clock(value: Any) -> Any:
    """Returns a vector without its timeouts: no vector exceeds one, and a busy machine starts hooks late."""
    if isinstance(value, list):
        return [without_clock(it) for it in value]
    if not isinstance(value, dict):
        return value
    return {name: None if name.endswith("_ms") else without_clock(it) for name, it in value.items()}


async def run_all(host: Callable[[], Any]) -> list[Outcome]:
    """Runs all vectors under a host."""
    with mock.patch.dict(InterceptionEmitter.__init__.__kwdefaults__, timeout=None):
        return [await run(host, without_clock(vector)) for vector in load_vectors()]


def counts(outcomes: list[Outcome]) -> str:
    """Returns the counts of a host as a line."""
    found = Counter(it.status for it in outcomes)
    asked = sum(1 for it in outcomes if it.status == "passed" and it.events)
    parts = [f"{found[status]} {status}" for status in ("passed", "failed", "not covered", "skipped")]
    events = sum(it.events for it in outcomes)
    return f"{len(outcomes)} vectors: {', '.join(parts)}; hooks got {events} events in {asked} of those that passed"


def main() -> int:
    """Runs the kit under each host."""
    warnings.filterwarnings("ignore", category=UserWarning)
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--table", action="store_true", help="print each vector")
    arguments.add_argument("--harness", metavar="FILE", help="the harness of Agent Framework")
    given = arguments.parse_args()
    hosts: dict[str, Callable[[], Any]] = {"reference host": ReferenceHarness}
    if given.harness is not None:
        hosts["Agent Framework"] = runpy.run_path(given.harness)["AgentFrameworkHarness"]
    # No hook of the user may take part.
    with tempfile.TemporaryDirectory() as home, mock.patch.dict(os.environ, {"HOME": home}):
        results = {name: asyncio.run(run_all(host)) for name, host in hosts.items()}
    if given.table:
        print(f"| vector | title | {' | '.join(results)} |\n| --- | --- {'| --- ' * len(results)}|")
        titles = {it["id"]: it["title"] for it in load_vectors()}
        for row in zip(*results.values()):
            cells = [it.status if it.status == "passed" else f"{it.status}: {it.detail}" for it in row]
            print(f"| {row[0].vector} | {titles[row[0].vector]} | {' | '.join(cells)} |")
        print()
    for name, outcomes in results.items():
        print(f"{name}: {counts(outcomes)}")
        for it in outcomes:
            if it.status == "failed":
                print(f"  {it.vector}: {it.detail}")
    return 0 if all(map(is_right, results.values())) else 1


def is_right(outcomes: list[Outcome]) -> bool:
    """Tells whether each vector that the mapping covers and the host has passed, and the hooks were asked."""
    not_covered = {it.vector for it in outcomes if it.status == "not covered"}
    is_failed = any(it.status == "failed" for it in outcomes)
    return not is_failed and not_covered == NOT_COVERED and any(it.events for it in outcomes)


if __name__ == "__main__":
    sys.exit(main())
