"""Runs the cases of a hook in this process, without hookbox: Python 3.11 or later, with unittest, pytest or neither.

    from pathlib import Path
    from unittest import TestCase

    from hook import hook
    from hookbox_sdk.testing import run_cases

    class Cases(TestCase):
        def test_the_cases_pass(self) -> None:
            run_cases(hook, Path(__file__).parent / "cases")

The cases are those of `hookbox test`: files `cases/*.toml` with events, and the answers that must come. A debugger and a
coverage tool see the hook's code, and a run takes milliseconds.

A case is skipped if it has a key that needs the sandbox: `before`, `clock`, `environment`, `every`, `files`, `http`,
`expect.files`, `expect.fuel`, `expect.memory`, `expect.requests`, a cause of failure that only the host finds, or a grant
other than `store` and `conversation`. The output names it and the key. `hookbox test` runs it.

Two things differ from the sandbox: the facts of a tool call come from a smaller table, and variables of a module last from
one case to the next.
"""

from pathlib import Path

from ..hook import Hook
from .case import CASE_KEYS, EXPECT_KEYS, CaseError, read
from .compare import compare
from .play import play

__all__ = ["CASE_KEYS", "EXPECT_KEYS", "CaseError", "run_cases"]


def run_cases(hook: Hook, cases: str | Path) -> None:
    """Runs the cases of a file, or of each `*.toml` in a directory. It prints a line for each case that is skipped, and the
    numbers.

    Raises `AssertionError` if a case fails, with the differences as `hookbox test` shows them, or if no case runs, which
    would prove nothing. Raises `CaseError` if a file is wrong.
    """
    passed, skipped, failed = 0, list[str](), list[str]()
    path = Path(cases)
    files = sorted(it for it in path.glob("*.toml") if it.is_file()) if path.is_dir() else [path]
    for file in files:
        for case in read(file):
            place = f"{file}, line {case.line}: {escape(case.name)}"
            if case.needs_sandbox is not None:
                skipped.append(f"skipped: {place}: `{escape(case.needs_sandbox)}` needs `hookbox test`")
                continue
            try:
                came = play(hook, case)
            except CaseError as error:
                raise CaseError(f"{file}: {error}") from None
            lines = [place]
            for difference in compare(case, came):
                lines.append(f"  {escape(difference.what)}")
                lines += [f"    {sign} {escape(line)}" for sign, line in difference.lines()]
            if len(lines) > 1:
                failed.append("\n".join(lines))
            else:
                passed += 1
    numbers = f"{passed} passed, {len(failed)} failed"
    if skipped:
        numbers += f", {len(skipped)} skipped"
    print("\n".join([*skipped, numbers]))
    if failed:
        raise AssertionError("\n\n".join(["a case failed", *failed, numbers]))
    if not passed:
        raise AssertionError(f"no case ran: {numbers}")


def escape(text: str) -> str:
    """Returns a text without control characters, which a terminal would obey."""

    def is_control(letter: str) -> bool:
        return ord(letter) < 32 or 127 <= ord(letter) < 160

    return "".join("\\u{" + f"{ord(it):x}" + "}" if is_control(it) else it for it in text)
