"""Hooks that play the script of a conformance vector."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

#: The event of each interception point.
EVENTS = {
    "agent_startup": "session_start",
    "input": "user_message_send",
    "pre_tool_call": "before_tool_call",
    "post_tool_call": "after_tool_call",
    "output": "agent_stop",
    "agent_shutdown": "session_end",
}

#: The place of each value of a context in the data of an event.
FIELDS = {
    "tool_call.name": "tool_name",
    "tool_call.args": "tool_input",
    "tool_result.value": "tool_output",
}

#: What only the metadata of a hook can say.
BESIDE = ("reason", "message", "warnings", "result_labels", "evidence")

HOOK = """#!{python} -IS
import json, sys

if sys.argv[1:] == ["hook"]:
    print({event!r})
    sys.exit()
if sys.argv[1:] != ["run"]:
    sys.exit(1)
event = json.load(sys.stdin)
with open({log!r}, "a") as log:
    log.write({event!r} + "\\n")


def found(path):
    value = event
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


for rule in {rules!r}:
    if any(found(path) != value for path, value in rule["match"]):
        continue
    if rule["fails"]:
        print(rule["fails"])
        sys.exit(rule["status"])
    answer = rule["answer"]
    if rule["change"]:
        [*names, last], value = rule["change"]
        place = event["tool_input"]
        for name in names:
            place = place[name]
        place[last] = value
        answer["modifiedInput"] = event["tool_input"]
    print(json.dumps(answer))
    break
"""


class NotCovered(Exception):
    """Why hookbox cannot play a script: the table of the mapping says so."""


def play(script: list[dict[str, Any]], project: Path) -> None:
    """Writes a hook for each event that plays the rules of a scripted interceptor."""
    hooks = project / ".hookbox/hooks"
    hooks.mkdir(parents=True)
    rules: dict[str, list[dict[str, Any]]] = {event: [] for event in EVENTS.values()}
    for rule in script:
        point = rule["at"]
        if point in EVENTS:
            rules[EVENTS[point]].append(_rule(point, rule))
        elif rule.get("fault") or rule["return"] != {"decision": "allow"}:
            raise NotCovered(f"{point} has no event")
    settings: list[str] = []
    for event, of_event in rules.items():
        hook = hooks / f"{event}.py"
        hook.write_text(HOOK.format(python=sys.executable, event=event, rules=of_event, log=str(project / "asked")))
        hook.chmod(0o755)
        settings.append(f'[hooks."{event}.py"]\non_failure = "block"\n')
    (project / ".hookbox/hookbox.toml").write_text("\n".join(settings))


def _rule(point: str, rule: dict[str, Any]) -> dict[str, Any]:
    match = [(_place(path), value) for path, value in (rule.get("match") or {}).items()]
    out: dict[str, Any] = {"match": match, "fails": "", "status": 0, "change": None, "answer": {}}
    fault = rule.get("fault")
    if fault == "raise":
        return {**out, "fails": "It breaks.", "status": 1}
    if fault == "malformed_verdict":
        return {**out, "fails": '{"blocked": "perhaps"}'}
    # A hook cannot touch the memory of the host: it just gives the reason that the vector looks for.
    verdict = {"decision": "allow", "reason": "ctk:mutated"} if fault == "mutate" else rule["return"]
    return {**out, **_answer(point, verdict)}


def _answer(point: str, verdict: dict[str, Any]) -> dict[str, Any]:
    beside = {key: verdict[key] for key in BESIDE if key in verdict}
    answer: dict[str, Any] = {"action": "passThrough", "metadata": {"agent_hooks": beside}}
    if verdict["decision"] == "allow":
        return {"answer": answer if beside else {}}
    if point in ("agent_startup", "agent_shutdown"):
        raise NotCovered(f"{EVENTS[point]} has no answer {verdict['decision']}")
    if verdict["decision"] == "transform":
        assert point == "pre_tool_call", point
        _, *names = verdict["transform"]["path"].split(".")
        if len(names) > 1:
            raise NotCovered("a change is a value, so it cannot have a path that is not there")
        answer["action"] = "modify"
        return {"answer": answer, "change": (names, verdict["transform"]["value"])}
    reason = verdict["reason"]
    if "approval" in verdict:
        assert point == "pre_tool_call", point
        return {"answer": {"decision": "ask", "reason": reason}}
    if point == "output":
        return {"answer": {"follow_up_messages": [reason]}}
    return {"answer": {"action": "block", "reason": reason}}


def _place(path: str) -> list[str]:
    for known, field in FIELDS.items():
        if path == known or path.startswith(f"{known}."):
            return [field, *path[len(known) :].split(".")[1:]]
    raise NotCovered(f"no event has {path}")
