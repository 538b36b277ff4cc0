"""Tests of the harness: `python3 -m unittest discover tests` in this package's directory."""

from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import TestCase

from hookbox_sdk.testing import CaseError, run_cases
from tour import hook

CASES = Path(__file__).parent.parent.parent / "tests-data" / "cases"


def run(path: Path) -> tuple[str, str]:
    """Returns what a run prints, and its error."""
    output, error = StringIO(), ""
    with redirect_stdout(output):
        try:
            run_cases(hook, path)
        except (AssertionError, CaseError) as raised:
            error = str(raised)
    return output.getvalue(), error


def run_text(text: str) -> str:
    """Returns the error of a case file with this text."""
    with TemporaryDirectory() as dir:
        path = Path(dir) / "tour.toml"
        path.write_text(text)
        return run(path)[1].replace(str(path), "tour.toml")


class Harness(TestCase):
    """Tests of the harness."""

    def test_the_cases_of_every_sdk_pass(self) -> None:
        output, error = run(CASES)
        self.assertEqual(error, "")
        self.assertIn("a clock needs the sandbox: `clock` needs `hookbox test`", output)
        self.assertTrue(output.endswith("\n21 passed, 0 failed, 4 skipped\n"), output)

    def test_a_difference_is_shown_as_hookbox_shows_it(self) -> None:
        for case, lines in [
            (
                "command = 'remove x'\nexpect = { reason = 'y' }",
                "  verdict\n    - pass\n    + block\n  reason\n    - y\n    + Do not remove files.",
            ),
            (
                "command = 'list'\nexpect = { input = { command = 'list' } }",
                '  input\n      {\n    -   "command": "list"\n    +   "command": "list --all"\n      }',
            ),
            ("command = 'fail'\nexpect = { verdict = 'block' }", "  failure\n    + exit: ValueError: asked to fail"),
            ("command = 'stop the program'\nexpect = { verdict = 'block' }", "  failure\n    + trap: SystemExit: None"),
            (
                "command = 'count'\ngrants = ['store']\nexpect = { store = { calls = '2', more = '' } }",
                "  store.calls\n    - 2\n    + 1\n  store.more\n    - ",
            ),
            ("command = 'x'\nexpect = { log = \"\\u001b[2J\" }", "  log\n    - \\u{1b}[2J\n    + "),
            ("event = 'session_start'\nexpect = {}", "  hook\n    + the hook is for before_tool_call,"),
            ("command = 'publish'", '  expect\n    + {\n    +   "verdict": "ask",'),
        ]:
            with self.subTest(case):
                shown = run_text(f"[[case]]\nname = 'x'\n{case}")
                self.assertTrue(shown.startswith(f"a case failed\n\ntour.toml, line 1: x\n{lines}"), shown)
                self.assertTrue(shown.endswith("0 passed, 1 failed"), shown)

    def test_a_wrong_case_file_is_an_error_with_its_line(self) -> None:
        for text, error in [
            ("\n[[case]]\nname = 'x'\ncomand = 'ls'", 'line 2: a case has no key "comand"'),
            ("[[case]]\nname = 'x'\ncommand = 'ls'\nexpect = { raeson = '' }", "line 1: an expected answer has no key"),
            ("[[case]]\nname = 'x'", "line 1: a case needs an event"),
            ("[[case]]\nname = 'x'\ncommand = ''\ndata = {}", "line 1: a case has a command or data"),
            ("[[case]]\nname = 'x'\ncommand = ''\ntimes = 0", "line 1: times is a number from 1 to 100"),
            ("[[case]]\nname = 'x'\ncommand = 1", "line 1: `command` has a wrong type: int"),
            ("[[case]]\nname = 'x'\ncommand = ''\ntimes = true", "line 1: `times` has a wrong type: bool"),
            ("[[case]]\nname = 'x'\ncommand = ''\n[[case]]\nname = 'x'\ncommand = ''", "line 4: a second case"),
            ("[[case]]\nname = 'x'\ncommand = ''\nexpect = { verdict = 'no' }", "line 1: `verdict` is one of"),
            ("[[case]]\nname = 'x'\nevent = 'agent_stop'\ndata = { usage = 5 }", "line 1: data: usage: expected a table"),
            ("[[case", ""),
            ("", "has no cases"),
        ]:
            with self.subTest(text):
                shown = run_text(text)
                self.assertTrue(shown.startswith(f"tour.toml: {error}"), shown)

    def test_a_run_without_cases_proves_nothing(self) -> None:
        self.assertIn("no case ran", run_text("[[case]]\nname = 'x'\ncommand = ''\nhttp = []"))
        with TemporaryDirectory() as dir:
            self.assertIn("no case ran", run(Path(dir))[1])
            self.assertIn("nothing.toml", run(Path(dir) / "nothing.toml")[1])
