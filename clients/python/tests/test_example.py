"""The example."""

from __future__ import annotations

import os
import subprocess
import sys
import unittest
from pathlib import Path

from .project import NO_SUDO, Project, hook

PACKAGE = Path(__file__).resolve().parents[1]


class Example(unittest.TestCase):
    """``examples/agent.py``."""

    def run_agent(self, project: Project, message: str) -> str:
        """Runs the example in a project, with hookbox on PATH."""
        place = project.home / "bin"
        place.mkdir()
        os.symlink(project.program, place / "hookbox")
        env = {**os.environ, "PATH": f"{place}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(PACKAGE)}
        command = [sys.executable, str(PACKAGE / "examples" / "agent.py"), message, "--trust", "all"]
        done = subprocess.run(command, cwd=project.root, env=env, capture_output=True, text=True, check=True)
        return done.stdout

    def test_the_agent_obeys_its_hooks(self) -> None:
        stop = hook("agent_stop", """echo '{"follow_up_messages":["Run the tests."]}'""")
        project = Project(self, {"no-sudo.sh": NO_SUDO, "stop.sh": stop})
        self.assertEqual(
            self.run_agent(project, "Clean up.").splitlines(),
            [
                "user: Clean up.",
                "tool: error: No root here.",
                "tool: hello",
                "",
                "assistant: The cache is still there. Hello!",
                "user: Run the tests.",
            ],
        )

    def test_a_blocked_message_is_not_sent(self) -> None:
        project = Project(
            self, {"no.sh": hook("user_message_send", """echo '{"blocked":true,"reason":"Not today."}'""")}
        )
        self.assertEqual(self.run_agent(project, "Clean up."), "Not sent: Not today.\n")
