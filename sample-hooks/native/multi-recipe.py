#!/usr/bin/env python3
"""Does one thing for the recipe `code-review`, another for `deploy`, and nothing without a recipe.

Advisory: what turn_end answers is not acted on. The notes go to standard error; put your own channels there.
"""

import json
import sys


def post_summary(payload):
    response = str(payload.get("response") or "")
    print(f"review summary: {response[:200]}", file=sys.stderr)


def notify_ops(payload):
    print(f"deploy: turn {payload.get('turn_number', '?')} is over", file=sys.stderr)


ACTIONS = {"code-review": post_summary, "deploy": notify_ops}


def main(arguments):
    if arguments == ["hook"]:
        print("turn_end")
        return 0
    if arguments == ["run"]:
        payload = json.load(sys.stdin)
        action = ACTIONS.get(payload.get("recipe_name") or "")
        if action is not None:
            action(payload)
        print(json.dumps({"success": True}))
        return 0
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
