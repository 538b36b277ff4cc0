"""backtest_ray.py on a cluster of three nodes, against one process. HOOKBOX is the program, CALLS the number of calls."""

import collections
import json
import os
import pathlib
import subprocess
import tempfile
import threading
import time
import unittest

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

import ray
from ray.cluster_utils import Cluster

import backtest_ray

HOOKBOX = os.environ.get("HOOKBOX", "hookbox")
CALLS = int(os.environ.get("CALLS", "24000"))
TEAMS, FILES_OF_A_TEAM = ("blue", "green", "red"), 8

RULES = """
[[rule]]
command = "git push --force"
answer = "block"
reason = "A forced push overwrites the branch."

[[rule]]
command = "terraform apply"
answer = "ask"
reason = "Is this the right account?"
"""

# Tells its node and its file. The first run of a file waits, so that its node can be removed meanwhile.
PROGRAM = """#!/bin/sh
for file; do :; done
echo "$RAY_RAYLET_PID $file" >> '{log}'
[ "$(grep -cF " $file" '{log}')" -gt 1 ] || sleep 0.5
exec '{hookbox}' "$@"
"""


def line(number, command):
    content = [{"type": "tool_use", "id": f"toolu_{number}", "name": "Bash", "input": {"command": command}}]
    return json.dumps({
        "type": "assistant", "sessionId": "s", "cwd": "/srv", "timestamp": "2026-01-01T00:00:00Z",
        "message": {"content": content},
    })


def write_sessions(root):
    """Writes files of different lengths. Each team has another share of blocked calls."""
    number, files = 0, len(TEAMS) * FILES_OF_A_TEAM
    for at in range(files):
        team = at % len(TEAMS)
        file = root / TEAMS[team] / f"machine-{at}" / "2026-01-01.jsonl"
        file.parent.mkdir(parents=True)
        with open(file, "w") as out:
            for _ in range(CALLS * 2 * (at + 1) // (files * (files + 1))):
                number += 1
                blocked = number % (5 + team) == 0
                command = "git push --force" if blocked else "terraform apply" if number % 11 == 0 else f"make {number}"
                out.write(line(number, command) + "\n")
    return number


class BacktestOnRay(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
        cls.addClassCleanup(cls.cluster.shutdown)
        cls.nodes = [cls.cluster.add_node(num_cpus=1) for _ in range(2)]
        environment = {"PYTHONPATH": os.path.dirname(os.path.abspath(__file__))}
        ray.init(address=cls.cluster.address, runtime_env={"env_vars": environment})
        cls.addClassCleanup(ray.shutdown)

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.place = pathlib.Path(scratch.name)
        self.root = self.place / "sessions"
        self.root.mkdir()
        self.rules = self.place / "team.rules.toml"
        self.rules.write_text(RULES)

    def command(self, program=HOOKBOX):
        return [str(program), "backtest", "--json", "--hook", str(self.rules)]

    def one_process(self, directory):
        """Returns the result of one process over all files of a directory."""
        run = subprocess.run([*self.command(), str(directory)], capture_output=True, check=True)
        return json.loads(run.stdout)

    @staticmethod
    def calls(result, team=None):
        """Counts the calls of a result by guard, answer and reason; with a team, only its own."""
        calls = collections.Counter()
        for guard, tally in result["hooks"].items():
            for it in tally["commands"]:
                if team is None or it["team"] == team:
                    calls[guard, it["answer"], it["reason"]] += it["count"]
        return calls

    def refusal(self, program=HOOKBOX):
        with self.assertRaises(SystemExit) as caught:
            backtest_ray.backtest(str(self.root), self.command(program))
        return str(caught.exception)

    def test_a_node_that_is_removed_loses_no_call_and_counts_none_twice(self):
        written = write_sessions(self.root)
        log, program = self.place / "starts", self.place / "program"
        program.write_text(PROGRAM.format(log=log, hookbox=HOOKBOX))
        program.chmod(0o700)

        def starts():
            return [it.split(" ", 1) for it in log.read_text().splitlines()] if log.exists() else []

        def remove_a_node():
            node = self.nodes.pop()
            raylet = str(node.all_processes["raylet"][0].process.pid)
            while raylet not in (it[0] for it in starts()[6:]):
                time.sleep(0.01)
            self.cluster.remove_node(node, allow_graceful=False)

        remover = threading.Thread(target=remove_a_node)
        remover.start()
        result = backtest_ray.backtest(str(self.root), self.command(program))
        remover.join()

        started, files = starts(), len(TEAMS) * FILES_OF_A_TEAM
        self.assertEqual(len({file for _, file in started}), files)
        self.assertGreater(len(started), files, "the removed node had no task")
        self.assertEqual(sum(it["Alive"] for it in ray.nodes()), 2)

        self.assertEqual(sum(it["calls"] for it in result["sources"].values()), written)
        for team in TEAMS:
            expected = self.one_process(self.root / team)
            self.assertEqual({**expected["sources"]["claude"], "files_without_calls": 0}, result["sources"][team])
            self.assertEqual(self.calls(expected), self.calls(result, team))
        expected = self.one_process(self.root)
        self.assertEqual(self.calls(expected), self.calls(result))
        self.assertEqual(len(self.calls(result)), 2)
        self.assertEqual(expected.keys(), result.keys())
        for key in ("verdicts", "tools", "days", "problems", "agent_hooks"):
            self.assertEqual(expected[key], result[key])
        for guard, tally in expected["hooks"].items():
            self.assertEqual(tally.keys(), result["hooks"][guard].keys())
            for key in ("observes", "calls", "block", "ask", "modify", "failed", "other_calls"):
                self.assertEqual(tally[key], result["hooks"][guard][key])

    def test_a_file_that_cannot_be_read_is_named_and_nothing_is_counted(self):
        team = self.root / "red"
        team.mkdir()
        (team / "good.jsonl").write_text(line(1, "make") + "\n")
        (team / "packed.jsonl.gz").write_bytes(b"\x1f\x8b\x08\x00")
        (team / "empty.jsonl").touch()
        (team / "gone.jsonl").symlink_to(self.place / "nowhere")
        (team / "broken.jsonl").symlink_to("/proc/self/mem")
        told = self.refusal()
        for name in ("packed.jsonl.gz", "empty.jsonl", "gone.jsonl", "broken.jsonl"):
            self.assertIn(name, told)
        self.assertEqual(told.count("not a session file"), 2)
        self.assertNotIn("good.jsonl", told)

    def test_a_missing_program_hook_or_directory_is_told(self):
        self.assertIn(f"error: {self.root}: no counts: no files", self.refusal())
        (self.root / "good.jsonl").write_text(line(1, "make") + "\n")
        self.assertIn("No such file or directory: '/nowhere/hookbox'", self.refusal("/nowhere/hookbox"))
        self.rules.unlink()
        self.assertIn("team.rules.toml", self.refusal())
        self.root = self.place / "nowhere"
        with self.assertRaises(FileNotFoundError):
            backtest_ray.backtest(str(self.root), self.command())

    def test_the_reasons_of_similar_commands_are_one(self):
        reason = "`rm -rf {0}` removes {0}: these files can't be recovered. Look first: `ls {0}`"
        reasons = {backtest_ray.general(reason.format(it), f"rm -rf {it}") for it in ("~/a", "b/c", ".")}
        self.assertEqual(reasons, {"… removes …: these files can't be recovered. Look first: …"})


if __name__ == "__main__":
    unittest.main()
