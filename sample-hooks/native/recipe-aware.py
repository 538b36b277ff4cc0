#!/usr/bin/env python3
"""Checks edits, but only while the recipe `code-review` runs: a review reads, it does not edit.

Enforcing for that recipe; everything else passes.
"""

import json
import sys

EDITING = {"file_edit", "file_write", "edit", "write", "apply_patch"}


def run(payload):
    if payload.get("recipe_name") != "code-review":
        return {"blocked": False}
    tool = str(payload.get("tool_name", ""))
    if tool.lower() in EDITING:
        return {"blocked": True, "reason": f"A code review does not change files: '{tool}' is not allowed"}
    return {"blocked": False}


def main(arguments):
    if arguments == ["hook"]:
        print("before_tool_call")
        return 0
    if arguments == ["run"]:
        print(json.dumps(run(json.load(sys.stdin))))
        return 0
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
