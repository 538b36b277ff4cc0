"""Asks hookbox about each command of standard input, through the client in Python."""

import json
import sys

from hookbox import Hookbox, ToolCall

found = []
with Hookbox() as hooks:
    for at, command in enumerate(json.load(sys.stdin)):
        decision = hooks.session(f"python-{at}").before_tool_call(ToolCall("bash", {"command": command})).decision
        keys = ("reason", "by", "cause", "rule")
        ruling = {key: getattr(decision, key) for key in keys if getattr(decision, key, None)}
        found.append({"action": type(decision).__name__.lower(), **ruling})
json.dump(found, sys.stdout)
