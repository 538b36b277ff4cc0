"""Asks hookbox about each command of standard input, through the interceptor of AGENT-HOOKS."""

import asyncio
import json
import sys

from hookbox import AsyncHookbox
from hookbox.agent_hooks import Interceptor


async def main() -> None:
    found = []
    async with AsyncHookbox() as hooks:
        interceptor = Interceptor(hooks)
        for at, command in enumerate(json.load(sys.stdin)):
            context = {
                "spec": "agent-hooks/0.1",
                "interception_point": "pre_tool_call",
                "session": {"id": f"interceptor-{at}"},
                "tool_call": {"id": f"call-{at}", "name": "bash", "args": {"command": command}},
            }
            verdict = await interceptor.intercept(context)
            if verdict["decision"] == "allow":
                found.append({"action": "run"})
                continue
            by, *rule = verdict["message"].split(": ")
            row = {"action": "ask" if "approval" in verdict else "block", "by": by, "cause": "decision"}
            found.append({**row, "reason": verdict["reason"], **({"rule": rule[0]} if rule else {})})
    json.dump(found, sys.stdout)


asyncio.run(main())
