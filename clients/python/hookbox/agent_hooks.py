"""hookbox for AGENT-HOOKS 0.1: the hooks as one interceptor, of Microsoft Agent Framework or any other host.

``create_agent_hooks_middleware([Interceptor(client)])``. It needs no SDK: the verdicts are the JSON of the contract.
What hookbox cannot say there, or the host cannot do, denies or is a warning: see ``AGENT_HOOKS.md``.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Awaitable, Callable
from typing import Any, cast

from . import Ask, AsyncHookbox, AsyncSession, Block, Failure, ToolCall, Verdict

Json = dict[str, Any]

#: The key of ``metadata`` with what only AGENT-HOOKS knows: ``reason``, ``message``, ``warnings``, ``evidence``,
#: ``result_labels``.
METADATA = "agent_hooks"

#: A name that a path can have.
_NAME = re.compile(r"[A-Za-z0-9_-]+")


class Interceptor:
    """Asks the hooks of a client at each interception point. A failure is an exception, for which the host denies.

    ``cwd`` is the agent's directory, which a context does not have. The deadline of the client should be shorter than
    the host's timeout, which is 5 s if the host sets none: then a late hook fails by its own policy.
    """

    def __init__(self, client: AsyncHookbox, *, cwd: str | os.PathLike[str] | None = None) -> None:
        self._client = client
        self._cwd = None if cwd is None else os.fspath(cwd)
        self._points: dict[str, Callable[[AsyncSession, Json], Awaitable[Json]]] = {
            "agent_startup": self._startup,
            "input": self._input,
            "pre_model_call": _allow,
            "post_model_call": _allow,
            "pre_tool_call": self._pre_tool_call,
            "post_tool_call": self._post_tool_call,
            "output": self._output,
            "agent_shutdown": self._shutdown,
        }

    # The protocol of the SDK has a method that is not async, and lets it return a coroutine.
    def intercept(self, context: Json, /) -> Any:
        """Returns a coroutine of the verdict, as JSON."""
        return self._intercept(context)

    async def _intercept(self, context: Json) -> Json:
        if not str(context["spec"]).startswith("agent-hooks/0."):
            raise self._failure("version", f"the host speaks {context['spec']!r:.40}, expected agent-hooks/0.1")
        point = self._points[context["interception_point"]]
        return await point(self._client.session(context["session"]["id"], self._cwd), context)

    async def _startup(self, session: AsyncSession, context: Json) -> Json:
        return self._noted(await session.session_start())

    async def _shutdown(self, session: AsyncSession, context: Json) -> Json:
        return self._noted(await session.session_end(context["summary"]["reason"]))

    async def _input(self, session: AsyncSession, context: Json) -> Json:
        content = context["input"]["content"]
        verdict = await session.user_message_send(_text(content))
        if isinstance(verdict.decision, Block):
            return self._deny(verdict, verdict.decision)
        changed = content
        if verdict.modified:
            changed = verdict.decision.value
            if not isinstance(content, str):
                try:
                    changed = json.loads(changed)
                except ValueError:
                    raise self._failure("malformed", "a hook changed a message of several parts to text") from None
        return self._permit(verdict, "$target.content", content, changed)

    async def _pre_tool_call(self, session: AsyncSession, context: Json) -> Json:
        call = _call(context)
        verdict = await session.before_tool_call(call)
        decision = verdict.decision
        if isinstance(decision, Ask):
            # Nobody who approves could say that the changed input runs.
            liftable = not verdict.modified or _equal(call.input, decision.input)
            lost = () if liftable else ("the call cannot be approved, because a hook changed its input",)
            return self._deny(verdict, decision, *lost, **({"approval": {}} if liftable else {}))
        if isinstance(decision, Block):
            return self._deny(verdict, decision)
        changed = decision.input if verdict.modified else call.input
        if not isinstance(changed, dict):
            raise self._failure("malformed", "a hook changed the input of a tool to something else than an object")
        return self._permit(verdict, "$target", call.input, changed)

    async def _post_tool_call(self, session: AsyncSession, context: Json) -> Json:
        result = context["tool_result"]
        value, took = result["value"], result.get("duration_ms")
        has_failed = result["is_error"] is True
        verdict = await session.after_tool_call(
            _call(context),
            value,
            success=not has_failed,
            error=_text(value) if has_failed else None,
            **({} if took is None else {"duration_ms": int(took)}),
        )
        if isinstance(verdict.decision, Block):
            return self._deny(verdict, verdict.decision)
        return self._permit(verdict, "$target", value, verdict.decision.value if verdict.modified else value)

    async def _output(self, session: AsyncSession, context: Json) -> Json:
        answer = {"role": "assistant", "content": _text(context["output"]["content"])}
        verdict = await session.agent_stop(messages=[answer])
        # A session applies eight follow-ups in a row. The hooks still do not want the answer to go out.
        reasons = verdict.follow_ups or verdict.dropped_follow_ups
        if verdict.messages is not None:
            reasons = [*reasons, "hookbox: a hook would change the conversation, which this host cannot do"]
        if reasons:
            return {"decision": "deny", **self._notes(verdict), "reason": _safe("\n".join(reasons))}
        return self._noted(verdict)

    def _noted(self, verdict: Verdict[None]) -> Json:
        """Returns the verdict of an event without a decision."""
        texts = verdict.warnings
        if len(texts) == 1 and texts[0].startswith("hookbox: ") and set(verdict.raw) == {"version", "warnings"}:
            # The client got no verdict. It has a warning for it, but not here.
            raise Failure("killed", texts[0])
        return {"decision": "allow", **self._notes(verdict)}

    def _permit(self, verdict: Verdict[Any], root: str, given: Any, changed: Any) -> Json:
        """Returns a verdict that lets the action proceed, with the smallest change."""
        transform = _change(root, given, changed)
        if transform is None:
            return {"decision": "allow", **self._notes(verdict)}
        return {"decision": "transform", "transform": transform, **self._notes(verdict)}

    def _deny(self, verdict: Verdict[Any], ruling: Ask | Block, *lost: str, **more: Any) -> Json:
        """Returns a verdict that denies. A failure of a hook is one of the interceptor, and no decision."""
        if ruling.cause != "decision":
            raise self._failure(ruling.cause, ruling.reason, is_known=ruling.by == "hookbox")
        notes = self._notes(verdict, *lost)
        # A host may show the model the reason only, and cuts the message.
        reason = _safe(ruling.reason or f"blocked by {ruling.by}")
        message = f"{ruling.by}: {ruling.rule}" if ruling.rule else ruling.by
        return {"decision": "deny", "message": message, **notes, "reason": reason, **more}

    def _notes(self, verdict: Verdict[Any], *lost: str) -> Json:
        """Returns what a verdict has beside its decision."""
        notes: Json = {}
        warnings: list[Any] = []
        labels: list[Any] = []
        for name, metadata in verdict.metadata.items():
            own: object = metadata.get(METADATA)
            if own is None:
                continue
            if not isinstance(own, dict):
                raise self._failure("malformed", f"{name}: {METADATA} in the metadata is not an object")
            fields = cast(Json, own)
            for key, found in (("warnings", warnings), ("result_labels", labels)):
                values: object = fields.get(key, [])
                if not isinstance(values, list):
                    raise self._failure("malformed", f"{name}: {key} in the metadata is not an array")
                found.extend(cast("list[object]", values))
            for key in ("reason", "message", "evidence"):
                if fields.get(key) is not None and notes.setdefault(key, fields[key]) is not fields[key]:
                    lost += (f"{name}: {key} of an earlier hook counts",)
        lost += tuple(f"the model did not get the text of a hook: {text}" for text in verdict.context)
        if verdict.callback is not None:
            lost += (f"the host did not run the recipe {verdict.callback.name}",)
        warnings += [{"message": text} for text in verdict.warnings]
        warnings += [{"reason": "hookbox:lost", "message": text} for text in lost]
        if warnings:
            notes["warnings"] = warnings
        if labels:
            notes["result_labels"] = labels
        return notes

    def _failure(self, cause: str, text: str, *, is_known: bool = False) -> Failure:
        """Returns a failure, and tells the user. The host tells only that the interceptor failed."""
        if not is_known:
            self._client._core.notice(text)  # pyright: ignore[reportPrivateUsage]
        return Failure(cause, text)


async def _allow(session: AsyncSession, context: Json) -> Json:
    """Answers a point that hookbox has no event for."""
    return {"decision": "allow"}


def _call(context: Json) -> ToolCall:
    call = context["tool_call"]
    return ToolCall(call["name"], call["args"], call["id"])


def _text(content: Any) -> str:
    """Returns content as a hook reads it: of several parts, all of them as JSON."""
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False, separators=(",", ":"))


def _safe(reason: str) -> str:
    """Returns a reason that is none of the host's own."""
    return f"hookbox: {reason}" if reason.startswith("host_error:") else reason


def _change(path: str, given: Any, changed: Any) -> Json | None:
    """Returns the change of one place that makes one value of the other, at the longest path that there is."""
    if _equal(given, changed):
        return None
    inner: Json | None = None
    if isinstance(given, dict) and isinstance(changed, dict):
        old, new = cast(Json, given), cast(Json, changed)
        keys = [key for key in old if key not in new or not _equal(old[key], new[key])]
        if old.keys() == new.keys() and len(keys) == 1 and _NAME.fullmatch(keys[0]):
            inner = _change(f"{path}.{keys[0]}", old[keys[0]], new[keys[0]])
    elif isinstance(given, list) and isinstance(changed, list):
        olds, news = cast("list[object]", given), cast("list[object]", changed)
        places = [at for at, pair in enumerate(zip(olds, news)) if not _equal(*pair)]
        if len(olds) == len(news) and len(places) == 1:
            inner = _change(f"{path}[{places[0]}]", olds[places[0]], news[places[0]])
    # The SDK refuses a change to null, so that one is a change of what is around it.
    return inner if inner is not None and inner["value"] is not None else {"path": path, "value": changed}


def _equal(one: Any, other: Any) -> bool:
    """Tells whether two values are the same JSON. For Python, ``1`` is also ``True``."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict) and isinstance(other, dict):
        old, new = cast(Json, one), cast(Json, other)
        return old.keys() == new.keys() and all(_equal(it, new[key]) for key, it in old.items())
    if isinstance(one, list) and isinstance(other, list):
        olds, news = cast("list[object]", one), cast("list[object]", other)
        return len(olds) == len(news) and all(map(_equal, olds, news))
    return bool(one == other)
