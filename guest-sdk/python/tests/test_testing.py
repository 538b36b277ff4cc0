"""Tests of the tests: `python3 -m unittest discover tests` in this package's directory."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import TestCase, TestResult, defaultTestLoader
from unittest.mock import patch

from hookbox_sdk import allow, ask, block, follow_up, inject, modify
from hookbox_sdk.settings import SettingsError
from hookbox_sdk.testing import answer, run_cases
from tour import hook


def line(command: str) -> dict[str, Any]:
    """Returns the data of a call of a shell."""
    return {"cwd": "/w", "tool_name": "bash", "tool_input": {"command": command}}


class Answers(TestCase):
    """The answers of one hook to each event."""

    def test_a_hook_answers_each_event(self) -> None:
        messages = {"messages": [{"role": "user", "content": "hello"}]}
        for event, data, want in [
            ("before_tool_call", line("remove x"), block("Do not remove files.")),
            ("before_tool_call", line("safe"), allow("It only reads.")),
            ("before_tool_call", line("facts"), inject("runs facts")),
            ("before_tool_call", line("publish"), ask("Are you sure?")),
            ("before_tool_call", line("list"), modify({"command": "list --all"})),
            ("before_tool_call", line("count"), inject("call 1")),
            ("before_tool_call", line("count"), inject("call 1")),
            ("user_message_send", {"cwd": "/w", "message": "hello"}, modify("hello in /w").warn("greeted")),
            ("agent_stop", {"usage": {"input_tokens": 5}}, follow_up(["go on"])),
            ("turn_end", {"response": "done", "turn_number": 1}, block("no")),
            ("pre_compact", messages, inject("1 message")),
        ]:
            with self.subTest(data):
                self.assertEqual(answer(hook, event, data), want)

    def test_settings_and_failures_are_those_of_the_hook(self) -> None:
        friday = answer(hook, "before_tool_call", line("remove x"), {"reason": "Not on a Friday."})
        self.assertEqual(friday, block("Not on a Friday."))
        self.assertRaises(SettingsError, answer, hook, "before_tool_call", line("x"), {"raeson": "x"})
        self.assertRaises(SystemExit, answer, hook, "before_tool_call", line("stop the program"))
        self.assertRaises(KeyError, answer, hook, "session_start")


class Cases(TestCase):
    """Runs of a program that prints what a test needs."""

    def failures(self, program: str) -> list[str]:
        """Returns the names of the tests that a run of the program gives, each with the text of its failure."""
        with TemporaryDirectory() as dir:
            path = Path(dir) / "hookbox"
            path.write_text(program)
            path.chmod(0o700)
            with patch.dict(os.environ, {"HOOKBOX": str(path)}):
                suite = defaultTestLoader.loadTestsFromTestCase(run_cases("cases"))
        result = TestResult()
        suite.run(result)
        names = [test.id().rsplit(".", 1)[1] for test, _ in result.failures]
        return [f"{result.testsRun} run", *names, *(text for _, text in result.failures)]

    def test_each_case_is_a_test(self) -> None:
        case = '{"name": "%s", "file": "cases/a.toml", "line": %d, "passed": %s, "text": %s}'
        cases = [case % ("a b", 1, "true", "null"), case % ("a.b", 5, "false", '"a.toml, line 5: a.b"')]
        results = '#!/bin/sh\n[ "$*" = "test --json -- cases" ] || exit 2\necho \'{"outdated": [%s], "cases": [%s]}\'\n'
        run = self.failures(results % ("", ",".join(cases)))
        self.assertEqual(run[:2], ["2 run", "test_a_a_b_line_5"])
        self.assertIn("a.toml, line 5: a.b", run[2])
        run = self.failures(results % ('"guard.wasm is older than hook.py"', cases[0]))
        self.assertEqual(run[0], "2 run")
        self.assertIn("guard.wasm is older than hook.py", run[2])

    def test_a_run_without_results_is_a_failure(self) -> None:
        run = self.failures("#!/bin/sh\necho 'error: has no cases' >&2\nexit 2\n")
        self.assertIn("hookbox test failed (exit code 2)\nerror: has no cases", run[2])
        run = self.failures("#!/no/such/program\n")
        self.assertIn("cannot start ", run[2])
        self.assertIn("hint: install hookbox (https://github.com/hookbox/hookbox), or name the program", run[2])
