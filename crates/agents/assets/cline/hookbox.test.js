// `node --test`, which `cargo test` runs, too. HOOKBOX_PROGRAM and HOOKBOX_GUARD are the real program and the sample
// component guardrail.wasm; without them the tests of the real program are skipped, with a message.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

/** The plugin as it is installed. */
const TEXT = ["./hookbox.js", "../program.js"].map((it) => readFileSync(new URL(it, import.meta.url), "utf8")).join("");

/** A place with a plugin, as it was installed for a program that keeps its input and then runs this script. */
async function place(t, script = "echo '{}'") {
  const dir = mkdtempSync(join(tmpdir(), "hookbox-cline-"));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  const program = join(dir, "stub");
  const say = (lines) => {
    writeFileSync(program, `#!/bin/sh\ncat >> '${dir}/inputs'\necho >> '${dir}/inputs'\necho "$@" >> '${dir}/args'\n${lines}\n`);
    chmodSync(program, 0o755);
  };
  say(script);
  const told = [];
  const plugin = async (path = program, limit = 60_000) => {
    const file = join(dir, `plugin-${Math.random()}.mjs`);
    const text = TEXT.replace('program: "hookbox", home: ""', `program: ${JSON.stringify(path)}, home: ""`);
    writeFileSync(file, text.replace("LIMIT_MS = 2700", `LIMIT_MS = ${limit}`));
    const { default: it } = await import(file);
    it.setup({}, { session: { sessionId: "s1" }, logger: { log: (message) => told.push(message) } });
    return it.hooks;
  };
  const read = (name) => (existsSync(join(dir, name)) ? readFileSync(join(dir, name), "utf8").trim().split("\n") : []);
  return { dir, told, say, plugin, seen: () => read("inputs").map((it) => JSON.parse(it)), args: () => read("args") };
}

const message = (text, more = {}) => ({ role: "user", content: [{ type: "text", text }], ...more });
const snapshot = (text = "hello") => ({
  conversationId: "c1",
  agentId: "a1",
  parentAgentId: null,
  messages: [
    message("before"),
    message(`<user_input mode="act">${text}</user_input>`),
    message("a hook's", { metadata: { displayRole: "system" } }),
  ],
});
const before = (more = {}) => ({
  snapshot: { ...snapshot(), ...more },
  toolCall: { toolCallId: "call_0", toolName: "run_commands" },
  input: { commands: ["ls"] },
});
const after = () => ({ ...before(), result: { output: [{ result: "secret", success: true }] }, durationMs: 5 });
/** A script that answers this at one event, and nothing at the others. */
const at = (event, answer) => `case "$4" in ${event}) cat <<'E'\n${JSON.stringify(answer)}\nE\n;; *) echo '{}' ;; esac`;

test("an event reaches the program as documented, and nothing is changed without an answer", async (t) => {
  const { seen, args, plugin, told } = await place(t);
  const hooks = await plugin();
  assert.equal(await hooks.beforeRun({ snapshot: snapshot() }), undefined);
  assert.equal(await hooks.beforeRun({ snapshot: snapshot("again") }), undefined);
  assert.deepEqual(await hooks.beforeTool(before({ parentAgentId: "a0" })), {});
  assert.deepEqual(await hooks.afterTool(after()), {});
  await hooks.afterRun({ snapshot: snapshot(), result: { status: "completed", outputText: "done" } });
  await hooks.afterRun({ snapshot: snapshot(), result: { status: "failed", error: { name: "E", message: "no" } } });
  await hooks.afterRun({ snapshot: snapshot(), result: { status: "aborted" } });
  const base = { session_id: "s1", cwd: process.cwd() };
  const tool = { tool_name: "run_commands", tool_input: { commands: ["ls"] }, tool_use_id: "call_0" };
  assert.deepEqual(seen(), [
    { hook_event_name: "setup", ...base, source: "startup" },
    { hook_event_name: "beforeRun", ...base, prompt: "hello" },
    { hook_event_name: "beforeRun", ...base, prompt: "again" },
    { hook_event_name: "beforeTool", ...base, agent_id: "a1", ...tool },
    { hook_event_name: "afterTool", ...base, ...tool, tool_response: [{ result: "secret", success: true }], duration_ms: 5 },
    { hook_event_name: "afterRun", ...base, prompt: "hello", last_assistant_message: "done" },
    { hook_event_name: "runFailed", ...base, error: { name: "E", message: "no" } },
  ]);
  assert.equal(args()[0], "bridge cline --event setup --deadline 2s");
  assert.deepEqual(told, []);
});

test("a tool call is blocked, asked about, changed and added to", async (t) => {
  for (const [answer, want] of [
    [{ decision: "deny", reason: "not here" }, { skip: true, reason: "not here" }],
    [{ decision: "ask", reason: "sure?" }, { policy: { autoApprove: false } }],
    [{ input: { commands: ["pwd"] }, context: "more" }, { input: { commands: ["pwd"] }, appendContext: "more" }],
  ]) {
    const { plugin } = await place(t, at("beforeTool", answer));
    assert.deepEqual(await (await plugin()).beforeTool(before()), want);
  }
});

test("an output is replaced by a hook's, or by its reason", async (t) => {
  for (const [answer, want] of [
    [{ output: "clean", context: "more" }, { result: { output: "clean" }, appendContext: "more" }],
    [{ decision: "deny", reason: "stop" }, { result: { output: "stop" } }],
  ]) {
    const { plugin } = await place(t, at("afterTool", answer));
    assert.deepEqual(await (await plugin()).afterTool(after()), want);
  }
});

test("a message is added to, or blocked by an error that shows the reason", async (t) => {
  const { plugin, say } = await place(t, `case "$4" in setup) echo '{"context": "one"}' ;; *) echo '{"context": "two"}' ;; esac`);
  const hooks = await plugin();
  assert.deepEqual(await hooks.beforeRun({ snapshot: snapshot() }), { appendContext: "one\n\ntwo" });
  say(at("beforeRun", { decision: "deny", reason: "not on a Friday" }));
  await assert.rejects(hooks.beforeRun({ snapshot: snapshot() }), { message: "not on a Friday" });
});

test("a program that fails blocks what can be blocked, and gives the reason", async (t) => {
  for (const [script, why] of Object.entries({
    "echo oops": /not one JSON object: "oops/,
    "echo '{}{}'": /not one JSON object/,
    "echo '[]'": /not one JSON object/,
    ":": /not one JSON object/,
    "exit 1": /exit code 1/,
    "kill -9 $$": /SIGKILL/,
    "echo '{\"decision\": \"deny\"}'": /malformed decision/,
    "echo '{\"decision\": \"skip\", \"reason\": \"r\"}'": /malformed decision/,
    "echo '{\"decision\": \"deny\", \"reason\": \"r\", \"input\": {}}'": /malformed decision/,
    "echo '{\"input\": \"ls\"}'": /wrong field "input"/,
    "echo '{\"constructor\": 1}'": /wrong field "constructor"/,
    "head -c 20000000 /dev/zero": /more than 16777216 bytes/,
    "sleep 600": /did not answer within 2700 ms/,
    "echo 'nobody knows' >&2; exit 2": /^nobody knows$/,
  })) {
    const { plugin, told } = await place(t, script);
    const hooks = await (script === "sleep 600" ? plugin(undefined, 2700) : plugin());
    const [blocked, replaced] = await Promise.all([hooks.beforeTool(before()), hooks.afterTool(after())]);
    assert.equal(blocked.skip, true, script);
    assert.match(blocked.reason, why);
    assert.match(replaced.result.output, why);
    await assert.rejects(hooks.beforeRun({ snapshot: snapshot() }), (error) => why.test(error.message), script);
    await hooks.afterRun({ snapshot: snapshot(), result: { status: "completed" } });
    if (!script.includes("exit 2")) assert.match(told[0], why, "the start of the session cannot be blocked");
  }
});

test("a program that does not exist blocks", async (t) => {
  const { plugin, dir } = await place(t);
  const hooks = await plugin(join(dir, "missing"));
  assert.match((await hooks.beforeTool(before())).reason, /cannot be started: .*ENOENT.*hint: /);
});

test("each line on standard error is a warning", async (t) => {
  const { plugin, told } = await place(t, "printf 'hookbox: one\\nhookbox: two\\n' >&2; echo '{}'");
  await (await plugin()).beforeTool(before());
  assert.deepEqual(told, ["hookbox: one", "hookbox: two"]);
});

const skip = process.env.HOOKBOX_PROGRAM && process.env.HOOKBOX_GUARD ? false : "HOOKBOX_PROGRAM and HOOKBOX_GUARD are not set";

test("the real program blocks what the guard blocks, and lets the rest run", { skip }, async (t) => {
  const { dir, plugin } = await place(t);
  mkdirSync(join(dir, "home/.hookbox/hooks"), { recursive: true });
  copyFileSync(process.env.HOOKBOX_GUARD, join(dir, "home/.hookbox/hooks/guardrail.wasm"));
  const program = join(dir, "hookbox");
  // A busy machine takes longer than Cline would wait, and an event does not wait for the compiler.
  const args = "$(echo \"$@\" | sed 's/--deadline 2s/--deadline 60s/')";
  writeFileSync(program, `#!/bin/sh\nHOME='${dir}/home' exec '${process.env.HOOKBOX_PROGRAM}' ${args}\n`);
  chmodSync(program, 0o755);
  execFileSync(program, ["cache", "warm"]);
  const hooks = await plugin(program, 60_000);
  const call = (...commands) => hooks.beforeTool({ ...before(), input: { commands } });
  assert.deepEqual(await call("ls"), {});
  const blocked = await call("ls", "rm -rf /");
  assert.ok(blocked.skip && blocked.reason.startsWith("Security policy: 'rm -rf' is not allowed"), blocked.reason);
});
