"""The interceptor for AGENT-HOOKS under the emitter of the real SDK."""

from __future__ import annotations

import asyncio
import json
import unittest
from typing import Any

from hookbox import AsyncHookbox, Failure
from hookbox.agent_hooks import Interceptor, _change

from ..project import NO_SUDO, Project, hook
from ..test_cases import killed

try:
    import jsonschema
    from agent_hooks import (
        AgentContextBuilder,
        ApprovalOutcome,
        ApprovalResolution,
        CompositionConfig,
        EnforcementMode,
        InterceptionEmitter,
        InterceptionRecord,
        OnApproval,
        SynthesisPolicy,
        Verdict,
    )
    from agent_hooks.ctk._schemas import _load, per_point_registry, per_point_schema
except ImportError as error:
    raise unittest.SkipTest(f"tests/agent_hooks/requirements.txt is not installed: {error}") from None

#: Every composition of interceptors that a host can declare.
PROFILES = {
    "first_deny, stop": CompositionConfig.first_deny(),
    "first_deny, resume": CompositionConfig.first_deny(OnApproval.RESUME),
    "run_all": CompositionConfig.run_all(),
    "strictest": CompositionConfig.strictest(),
    "strictest, approval": CompositionConfig.strictest(SynthesisPolicy.APPROVAL),
    "unanimous": CompositionConfig.unanimous(),
    "unanimous, approval": CompositionConfig.unanimous(SynthesisPolicy.APPROVAL, SynthesisPolicy.APPROVAL),
}

HOOKS = {
    "1-no-sudo.sh": NO_SUDO,
    "2-ask.sh": hook(
        "before_tool_call", """case "$(cat)" in *publish*) echo '{"decision":"ask","reason":"Really?"}' ;; esac"""
    ),
    "3-change.sh": hook(
        "before_tool_call",
        """case "$(cat)" in *'"ls"'*) echo '{"input":{"command":"ls -l","opts":{"cwd":"/"}}}' ;; esac""",
    ),
    "4-warn.sh": hook(
        "before_tool_call",
        """case "$(cat)" in *late*) echo '{"action":"passThrough","warnings":["It is late."]}' ;; esac""",
    ),
}

#: What hookbox answers to a call of each line.
LINES = {"sudo ls": "deny", "npm publish": "approval", "ls": "transform", "echo late": "warning", "echo": "allow"}


class Checked:
    """An interceptor whose verdicts and contexts are checked against the schemas of the SDK."""

    def __init__(self, inner: Interceptor) -> None:
        self.inner = inner
        self.verdicts: list[dict[str, Any]] = []

    async def intercept(self, context: dict[str, Any]) -> dict[str, Any]:
        """Asks the interceptor."""
        schema = per_point_schema(context["interception_point"])
        jsonschema.Draft202012Validator(schema, registry=per_point_registry()).validate(context)
        verdict: dict[str, Any] = await self.inner.intercept(context)
        jsonschema.validate(verdict, _load("verdict.schema.json"))
        self.verdicts.append(verdict)
        return verdict


class Allow:
    """An interceptor that allows everything."""

    def intercept(self, context: dict[str, Any]) -> Verdict:
        """Allows."""
        return Verdict.allow()


class Approver:
    """A user who agrees to everything, or to nothing."""

    def __init__(self, agrees: bool) -> None:
        self.agrees = agrees
        self.asked: list[Any] = []

    def resolve(self, request: Any) -> ApprovalResolution:
        """Answers."""
        self.asked.append(request.verdict)
        outcome = ApprovalOutcome.APPROVE if self.agrees else ApprovalOutcome.REJECT
        verdict = Verdict.allow() if self.agrees else Verdict.deny(reason="rejected")
        return ApprovalResolution(outcome, request.context_identity, verdict)


class Host:
    """A host with hookbox as its first interceptor, and another one."""

    def __init__(self, client: AsyncHookbox, *others: Any, **options: Any) -> None:
        self.checked = Checked(Interceptor(client))
        self.emitter = InterceptionEmitter(**{"timeout": 30.0, **options}).register(self.checked)
        for it in others:
            self.emitter.register(it)
        self.builder = AgentContextBuilder(agent_id="a", framework="tests", session_id="s")

    async def emit(self, context: dict[str, Any]) -> InterceptionRecord:
        """Emits a context, and returns the record."""
        return await self.emitter.emit_unchecked(context)

    async def call(self, command: str, **args: Any) -> tuple[InterceptionRecord, dict[str, Any]]:
        """Emits a tool call, and returns the record and the input that would run."""
        args = {"command": command, "opts": {"cwd": "/"}, **args}
        context = self.builder.pre_tool_call(call_id="1", name="bash", args=args)
        return await self.emit(context), context["tool_call"]["args"]

    async def result(self, value: Any, **more: Any) -> tuple[InterceptionRecord, Any]:
        """Emits the result of a tool, and returns the record and the value that the model would read."""
        context = self.builder.post_tool_call(call_id="1", name="bash", args={"command": "x"}, value=value, **more)
        return await self.emit(context), context["tool_result"]["value"]


class Case(unittest.TestCase):
    """A test with a project."""

    def host(self, hooks: dict[str, str], work: Any, *others: Any, files: Any = None, **options: Any) -> Any:
        """Runs a coroutine with a host whose project has these hooks."""
        project = Project(self, hooks, files)

        async def main() -> Any:
            async with project.async_client() as client:
                return await work(Host(client, *others, **options), client)

        return asyncio.run(main())


class Profiles(Case):
    """All compositions."""

    def test_each_answer_means_the_same_in_all_compositions(self) -> None:
        for agrees in (True, False, None):
            for name, composition in PROFILES.items():
                approver = None if agrees is None else Approver(agrees)

                async def work(host: Host, _: Any, name: str = name, agrees: bool | None = agrees) -> None:
                    for line, answer in LINES.items():
                        with self.subTest(profile=name, agrees=agrees, line=line):
                            record, args = await host.call(line)
                            self.check(name, agrees, answer, record, args)
                            jsonschema.Draft202012Validator(
                                _load("interception-record.schema.json"), registry=per_point_registry()
                            ).validate(record.to_wire())

                self.host(HOOKS, work, Allow(), composition=composition, resolver=approver)

    def check(
        self, profile: str, agrees: bool | None, answer: str, record: InterceptionRecord, args: dict[str, Any]
    ) -> None:
        """Checks the record of a call."""
        is_unanimous = profile.startswith("unanimous")
        # A host that asks about each disagreement asks about a block, too.
        proceeds = {
            "deny": profile == "unanimous, approval" and agrees is True,
            "approval": agrees is True and profile != "unanimous",
            "transform": not is_unanimous or profile == "unanimous, approval" and agrees is True,
        }
        self.assertIs(record.proceeds, proceeds.get(answer, True))
        if answer == "deny" and not is_unanimous:
            self.assertEqual(record.verdict.reason, "No root here.")
            self.assertEqual(record.verdict.message, "1-no-sudo.sh")
        if answer == "transform" and not is_unanimous:
            self.assertEqual(record.verdict.transform and record.verdict.transform.path, "$target.command")
            self.assertEqual(args, {"command": "ls -l", "opts": {"cwd": "/"}})
        else:
            self.assertNotIn("ls -l", str(args))
        if answer == "warning":
            self.assertEqual(len(record.verdict.warnings), 1)
            self.assertIn("It is late.", str(record.verdict.warnings[0].message))

    def test_nothing_is_enforced_in_a_host_that_only_evaluates(self) -> None:
        async def work(host: Host, _: Any) -> None:
            for line, answer in LINES.items():
                record, args = await host.call(line)
                self.assertTrue(record.proceeds)
                self.assertEqual(args["command"], line)
                decision = {"approval": "deny", "warning": "allow"}.get(answer, answer)
                self.assertEqual(record.verdict.decision.value, decision)

        self.host(HOOKS, work, mode=EnforcementMode.EVALUATE_ONLY)


class Points(Case):
    """Each interception point."""

    def test_the_hooks_get_each_event_of_a_session(self) -> None:
        events = ["session_start", "user_message_send", "before_tool_call", "after_tool_call", "agent_stop"]
        hooks = {f"{it}.sh": hook(it, "cat >> events; echo >> events") for it in [*events, "session_end"]}
        project = Project(self, hooks)

        async def main() -> None:
            async with project.async_client() as client:
                host = Host(client)
                build = host.builder
                await host.emit(build.agent_startup(tools_registered=["bash"]))
                await host.emit(build.input(content="Hello."))
                await host.emit(build.pre_model_call(model_id="m", messages=[]))
                await host.emit(build.post_model_call(model_id="m", content=None, tool_calls=[], finish_reason="stop"))
                await host.call("echo")
                await host.result("No.", is_error=True)
                await host.emit(build.output(content="Done."))
                await host.emit(build.agent_shutdown(reason="completed"))
                self.assertEqual(host.checked.verdicts, [{"decision": "allow"}] * 8)

        asyncio.run(main())
        found = [json.loads(line) for line in (project.root / "events").read_text().splitlines() if line]
        self.assertEqual([it["event"] for it in found], [*events, "session_end"])
        self.assertEqual({it["conv_id"] for it in found}, {"s"})
        self.assertEqual(found[0]["source"], "startup")
        self.assertEqual(found[1]["message"], "Hello.")
        self.assertEqual(found[2]["tool_input"], {"command": "echo", "opts": {"cwd": "/"}})
        self.assertEqual((found[3]["tool_name"], found[3]["tool_output"]), ("bash", "No."))
        self.assertEqual(found[4]["messages"], [{"role": "assistant", "content": "Done."}])
        self.assertEqual(found[5]["reason"], "completed")

    def test_the_hooks_know_how_a_tool_ended(self) -> None:
        command = {"command": "cat >> ends; echo >> ends"}
        project = Project(self, {}, {".hookbox/hooks.json": json.dumps({"hooks": {"PostToolUse": [command]}})})

        async def main() -> None:
            async with project.async_client() as client:
                host = Host(client)
                await host.result("No.", is_error=True, duration_ms=12.7)
                await host.result("Yes.")

        asyncio.run(main())
        failed, done = [json.loads(it)["tool"] for it in (project.root / "ends").read_text().splitlines() if it]
        self.assertEqual((failed["success"], failed["durationMs"], failed["output"]), (False, 12, "No."))
        self.assertEqual((done["success"], done["output"]), (True, "Yes."))

    def test_a_message_can_be_blocked_and_changed(self) -> None:
        body = """case "$(cat)" in
*secret*) echo '{"blocked":true,"reason":"Not that."}' ;;
*parts*) echo '{"action":"modify","modifiedInput":"[{\\"role\\":\\"user\\",\\"content\\":\\"fewer\\"}]"}' ;;
*) echo '{"action":"modify","modifiedInput":"Changed."}' ;; esac"""

        async def work(host: Host, _: Any) -> None:
            async def send(content: Any) -> tuple[InterceptionRecord, Any]:
                context = host.builder.input(content=content)
                return await host.emit(context), context["input"]["content"]

            record, content = await send("a secret")
            self.assertEqual((record.verdict.decision.value, record.verdict.reason), ("deny", "Not that."))
            record, content = await send("Hello.")
            self.assertEqual((record.verdict.transform and record.verdict.transform.path), "$target.content")
            self.assertEqual(content, "Changed.")
            record, content = await send([{"role": "user", "content": "many parts"}])
            self.assertEqual(record.verdict.transform and record.verdict.transform.path, "$target.content[0].content")
            self.assertEqual(content, [{"role": "user", "content": "fewer"}])
            # What replaces several parts has to be JSON.
            record, content = await send([{"role": "user", "content": "Hello."}])
            self.assertEqual(record.verdict.reason, "host_error:interceptor_failed")

        self.host({"message.sh": hook("user_message_send", body)}, work)

    def test_an_output_can_be_changed_and_a_blocked_one_is_discarded(self) -> None:
        body = """case "$(cat)" in
*key*) echo '{"action":"modify","modifiedOutput":{"lines":["a","[hidden]"],"n":1}}' ;;
*poison*) echo '{"action":"block","reason":"Stop here."}' ;; esac"""

        async def work(host: Host, _: Any) -> None:
            record, value = await host.result({"lines": ["a", "key"], "n": 1})
            self.assertEqual(record.verdict.transform and record.verdict.transform.path, "$target.lines[1]")
            self.assertEqual(value, {"lines": ["a", "[hidden]"], "n": 1})
            record, value = await host.result("poison")
            self.assertEqual((record.verdict.decision.value, record.verdict.reason), ("deny", "Stop here."))
            for value in ("fine", None, 1.5, [], {"a": None}):
                record, after = await host.result(value)
                self.assertEqual((record.verdict.decision.value, after), ("allow", value))

        self.host({"output.sh": hook("after_tool_call", body)}, work)

    def test_an_agent_that_should_go_on_does_not_answer(self) -> None:
        body = """case "$(cat)" in
*untested*) echo '{"follow_up_messages":["Run the tests."]}' ;;
*long*) echo '{"result":"mutate","messages":[{"role":"user","content":"Go on."}]}' ;;
*full*) echo '{"result":"callback","callback":"compact"}' ;; esac"""

        async def work(host: Host, _: Any) -> None:
            async def answer(content: Any) -> InterceptionRecord:
                return await host.emit(host.builder.output(content=content))

            record = await answer("It is untested.")
            self.assertEqual((record.proceeds, record.verdict.reason), (False, "Run the tests."))
            record = await answer([{"role": "assistant", "content": "a long one"}])
            self.assertFalse(record.proceeds)
            self.assertIn("conversation", str(record.verdict.reason))
            record = await answer("My context is full.")
            self.assertTrue(record.proceeds)
            self.assertEqual(record.verdict.warnings[0].reason, "hookbox:lost")
            self.assertIn("compact", str(record.verdict.warnings[0].message))
            self.assertEqual((await answer("Done.")).verdict.warnings, ())

        self.host({"stop.sh": hook("agent_stop", body)}, work)

    def test_an_answer_stays_denied_however_often_it_is_given(self) -> None:
        async def work(host: Host, _: Any) -> None:
            for _number in range(12):
                self.assertFalse((await host.emit(host.builder.output(content="untested"))).proceeds)

        self.host({"stop.sh": hook("agent_stop", """echo '{"follow_up_messages":["Run the tests."]}'""")}, work)

    def test_text_for_the_model_is_a_warning(self) -> None:
        answer = """echo '{"action":"injectContext","additionalContext":["Use just."]}'"""

        async def work(host: Host, _: Any) -> None:
            record = await host.emit(host.builder.agent_startup(tools_registered=[]))
            self.assertTrue(record.proceeds)
            self.assertEqual([it.reason for it in record.verdict.warnings], ["hookbox:lost"])
            self.assertIn("Use just.", str(record.verdict.warnings[0].message))

        self.host({"start.sh": hook("session_start", answer)}, work)

    def test_a_question_about_a_changed_input_cannot_be_approved(self) -> None:
        hooks = {
            "1.sh": hook("before_tool_call", """echo '{"input":{"command":"safe"}}'"""),
            "2.sh": hook("before_tool_call", """echo '{"decision":"ask","reason":"Really?"}'"""),
        }
        approver = Approver(True)

        async def work(host: Host, _: Any) -> None:
            record, _args = await host.call("echo")
            self.assertEqual((record.proceeds, record.verdict.reason), (False, "Really?"))
            self.assertIsNone(record.verdict.approval)

        self.host(hooks, work, resolver=approver)
        self.assertEqual(approver.asked, [])

    def test_metadata_has_labels_evidence_and_warnings_with_an_identifier(self) -> None:
        def says(own: str) -> str:
            return hook("before_tool_call", f"""echo '{{"action":"passThrough","metadata":{{"agent_hooks":{own}}}}}'""")

        hooks = {
            "1.sh": says('{"result_labels":["a"],"reason":"first","evidence":{"artefact":"sha256:00"}}'),
            "2.sh": says(
                '{"result_labels":["b"],"reason":"second","warnings":[{"reason":"odd","message":"It is odd."}]}'
            ),
        }

        async def work(host: Host, _: Any) -> None:
            await host.call("echo")
            (verdict,) = host.checked.verdicts
            self.assertEqual(verdict["result_labels"], ["a", "b"])
            self.assertEqual((verdict["reason"], verdict["evidence"]), ("first", {"artefact": "sha256:00"}))
            self.assertEqual(verdict["warnings"][0], {"reason": "odd", "message": "It is odd."})
            self.assertEqual(verdict["warnings"][1]["reason"], "hookbox:lost")

        self.host(hooks, work)
        for wrong in ('"text"', '{"result_labels":"text"}', '{"warnings":{}}'):

            async def denied(host: Host, client: AsyncHookbox) -> None:
                self.assertEqual((await host.call("echo"))[0].verdict.reason, "host_error:interceptor_failed")
                self.assertTrue(any("metadata is not an" in it for it in client.problems), client.problems)

            self.host({"1.sh": says(wrong)}, denied)

    def test_a_hook_cannot_use_the_words_of_the_host(self) -> None:
        answer = """echo '{"blocked":true,"reason":"host_error:no_interceptor"}'"""

        async def work(host: Host, _: Any) -> None:
            record, _args = await host.call("echo")
            self.assertEqual(record.verdict.reason, "hookbox: host_error:no_interceptor")

        self.host({"1.sh": hook("before_tool_call", answer)}, work)


class Changes(Case):
    """The smallest path of a change."""

    def test_the_path_is_the_longest_that_holds_the_change(self) -> None:
        cases: list[tuple[Any, Any, str | None, Any]] = [
            ({"a": 1, "b": 2}, {"a": 1, "b": 2}, None, None),
            ({"a": 1, "b": 2}, {"a": 1, "b": 3}, "$target.b", 3),
            ({"a": {"b": [1, {"c": "x"}]}}, {"a": {"b": [1, {"c": "y"}]}}, "$target.a.b[1].c", "y"),
            ({"a": {"b": 1, "c": 2}}, {"a": {"b": 3, "c": 4}}, "$target.a", {"b": 3, "c": 4}),
            ({"a": 1}, {"a": 1, "b": 2}, "$target", {"a": 1, "b": 2}),
            ({"a": 1, "b": 2}, {"a": 1}, "$target", {"a": 1}),
            ({"a": [1, 2]}, {"a": [1]}, "$target.a", [1]),
            ({"a": [1, 2]}, {"a": [3]}, "$target.a", [3]),
            ({"a": 1}, {"a": True}, "$target.a", True),
            ({"a": 1}, {"a": 1.0}, "$target.a", 1.0),
            ({"x": {"a b": 1}}, {"x": {"a b": 2}}, "$target.x", {"a b": 2}),
            ({"x": {"ä": 1}}, {"x": {"ä": 2}}, "$target.x", {"ä": 2}),
            ({"x": {"a": 1}}, {"x": {"a": None}}, "$target.x", {"a": None}),
            ("one", "two", "$target", "two"),
        ]
        for given, changed, path, value in cases:
            with self.subTest(given=given, changed=changed):
                expected = None if path is None else {"path": path, "value": value}
                found = _change("$target", given, changed)
                self.assertEqual(json.dumps(found), json.dumps(expected))

    def test_the_host_applies_each_change(self) -> None:
        changes = [{"command": "x", "opts": {"cwd": None}}, {"command": "x"}, {"a b": 1}, {}]
        for changed in changes:

            async def work(host: Host, _: Any, changed: dict[str, Any] = changed) -> None:
                record, args = await host.call("x")
                self.assertTrue(record.proceeds, record.verdict.reason)
                self.assertEqual(args, changed)

            answer = json.dumps({"input": changed})
            self.host({"1.sh": hook("before_tool_call", f"echo '{answer}'")}, work)

    def test_an_input_that_is_no_object_is_denied(self) -> None:
        async def work(host: Host, client: AsyncHookbox) -> None:
            record, _args = await host.call("x")
            self.assertEqual(record.verdict.reason, "host_error:interceptor_failed")

        self.host({"1.sh": hook("before_tool_call", """echo '{"input":"text"}'""")}, work)


class Failures(Case):
    """What fails, denies."""

    def contexts(self, build: AgentContextBuilder) -> list[dict[str, Any]]:
        """Returns a context of each point that has an event."""
        return [
            build.agent_startup(tools_registered=[]),
            build.input(content="Hello."),
            build.pre_tool_call(call_id="1", name="bash", args={}),
            build.post_tool_call(call_id="1", name="bash", args={}, value="x"),
            build.output(content="Done."),
            build.agent_shutdown(reason="completed"),
        ]

    def test_without_the_program_each_point_is_denied(self) -> None:
        async def work(host: Host, client: AsyncHookbox) -> None:
            client._core.program = "/no/such/program"
            for context in self.contexts(host.builder):
                record = await host.emit(context)
                self.assertEqual(record.verdict.reason, "host_error:interceptor_failed", context)

        self.host({}, work)

    def test_a_process_that_is_killed_denies_each_point_and_then_starts_again(self) -> None:
        events = [
            "session_start",
            "user_message_send",
            "before_tool_call",
            "after_tool_call",
            "agent_stop",
            "session_end",
        ]

        async def main(number: int, project: Project) -> None:
            async with project.async_client() as client:
                host = Host(client)
                waiting = asyncio.ensure_future(host.emit(self.contexts(host.builder)[number]))
                while not (project.root / "began").exists():
                    await asyncio.sleep(0.01)
                await killed(client)
                self.assertEqual((await waiting).verdict.reason, "host_error:interceptor_failed")
                (project.root / ".hookbox/hooks/hang.sh").unlink()
                self.assertTrue((await host.call("echo"))[0].proceeds)

        for number, event in enumerate(events):
            with self.subTest(event=event):
                asyncio.run(main(number, Project(self, {"hang.sh": hook(event, ": > began; sleep 60")})))

    def test_a_guard_that_fails_is_no_decision(self) -> None:
        files = {".hookbox/hookbox.toml": '[hooks."broken.sh"]\non_failure = "block"\n'}

        async def work(host: Host, client: AsyncHookbox) -> None:
            record, _args = await host.call("echo")
            self.assertEqual(record.verdict.reason, "host_error:interceptor_failed")
            self.assertTrue(any("broken.sh" in it for it in client.problems), client.problems)

        self.host({"broken.sh": hook("before_tool_call", "exit 3")}, work, files=files)

    def test_another_hook_that_fails_is_a_warning(self) -> None:
        async def work(host: Host, _: Any) -> None:
            record, _args = await host.call("echo")
            self.assertTrue(record.proceeds)
            self.assertIn("broken.sh", str(record.verdict.warnings[0].message))

        self.host({"broken.sh": hook("before_tool_call", "exit 3")}, work)

    def test_a_late_hook_is_denied_by_the_host(self) -> None:
        async def work(host: Host, client: AsyncHookbox) -> None:
            await client.start()
            record, _args = await host.call("echo")
            self.assertEqual(record.verdict.reason, "host_error:interceptor_timeout")

        self.host({"late.sh": hook("before_tool_call", "sleep 60")}, work, timeout=0.5)

    def test_a_hook_that_is_late_for_the_client_fails_by_its_own_policy(self) -> None:
        settings = '[hooks."late.sh"]\non_failure = "block"\n'
        for files, reason in (({}, None), ({".hookbox/hookbox.toml": settings}, "host_error:interceptor_failed")):
            project = Project(self, {"late.sh": hook("before_tool_call", "sleep 60")}, files)

            async def main(project: Project) -> InterceptionRecord:
                async with project.async_client(deadline=1.0) as client:
                    await client.start()
                    return (await Host(client).call("echo"))[0]

            record = asyncio.run(main(project))
            self.assertEqual(record.verdict.reason, reason)
            self.assertEqual(len(record.verdict.warnings), 0 if reason else 1)

    def test_a_host_of_another_contract_is_denied(self) -> None:
        async def work(host: Host, _: Any) -> None:
            for change in ({"spec": "agent-hooks/9.0"}, {"spec": "agent-hooks/1.0"}):
                context = {**host.builder.pre_tool_call(call_id="1", name="bash", args={}), **change}
                with self.assertRaisesRegex(Failure, "the host speaks"):
                    await host.checked.inner.intercept(context)
            with self.assertRaises(KeyError):
                await host.checked.inner.intercept({**host.builder.input(content=""), "interception_point": "later"})

        self.host({}, work)


if __name__ == "__main__":
    unittest.main()
