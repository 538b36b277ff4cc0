// The adapter for the Vercel AI SDK, without the SDK. The tests in `adapters` have it.

import assert from "node:assert/strict";
import { test } from "node:test";

import { guard } from "../src/ai.js";
import { Project } from "./project.js";

const details = { toolCallId: "call-1", messages: [] };

/** A tool of the SDK. */
const shell = {
  description: "Runs a command.",
  execute: async (input: { command: string }, call: typeof details) => `${call.toolCallId}: ${input.command}`,
};

test("a tool of the Vercel AI SDK gets the input of hooks, and throws if it is blocked", async (t) => {
  const [no, other] = ['{"blocked":true,"reason":"No."}', '{"input":{"command":"ls -a"}}'];
  const script = `case $(cat) in *sudo*) echo '${no}' ;; *) echo '${other}' ;; esac`;
  const session = new Project(t).hook("guard.sh", "before_tool_call", script).client().session("a");
  const tools = guard(session).tools({ shell });
  assert.equal(tools.shell.description, "Runs a command.");
  assert.equal(await tools.shell.execute({ command: "ls" }, details), "call-1: ls -a");
  await assert.rejects(tools.shell.execute({ command: "sudo ls" }, details), { message: "No." });
});

test("warnings are for the user, and context is for the next step", async (t) => {
  const answer = `{"action":"injectContext","additionalContext":["Be quick."],"warnings":["It is late."]}`;
  const session = new Project(t).hook("note.sh", "before_tool_call", `echo '${answer}'`).client().session("a");
  const seen: string[] = [];
  const guarded = guard(session, { onWarning: (it) => void seen.push(it) });
  await guarded.tools({ shell }).shell.execute({ command: "ls" }, details);
  assert.ok(String(seen).includes("It is late."), String(seen));
  const messages = [{ role: "user", content: "Hi." }];
  const next = guarded.prepareStep({ messages });
  assert.deepEqual(next, { messages: [...messages, { role: "user", content: "Be quick." }] });
  assert.deepEqual(guarded.prepareStep({ messages }), {});
});

test("a tool that nobody runs here is refused", (t) => {
  const session = new Project(t).client().session("a");
  assert.throws(() => guard(session).tools({ away: {} }), /cannot guard the tool away/);
});
