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
  const dir = mkdtempSync(join(tmpdir(), "hookbox-pi-"));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  const program = join(dir, "stub");
  const say = (lines) => {
    writeFileSync(program, `#!/bin/sh\ncat >> '${dir}/inputs'\necho >> '${dir}/inputs'\necho "$@" >> '${dir}/args'\n${lines}\n`);
    chmodSync(program, 0o755);
  };
  say(script);
  const [told, asked, sent] = [[], [], []];
  const ui = {
    notify: (message) => told.push(message),
    confirm: async (_, question) => asked.push(question) > 0 && ui.answer,
    answer: true,
  };
  const ctx = { hasUI: true, ui, cwd: dir, isIdle: () => true, sessionManager: { getSessionId: () => "s1" } };
  /** Pi: an event goes to the plugin's functions. */
  const plugin = async (path = program, limit = 20_000) => {
    const file = join(dir, `plugin-${Math.random()}.mjs`);
    const text = TEXT.replace('program: "hookbox", home: ""', `program: ${JSON.stringify(path)}, home: ""`);
    writeFileSync(file, text.replace("LIMIT_MS = 20_000", `LIMIT_MS = ${limit}`));
    const { default: hookbox } = await import(file);
    const on = {};
    hookbox({ on: (name, it) => (on[name] = it), sendUserMessage: (...it) => sent.push(it) });
    return (name, event = {}) => on[name]({ type: name, ...event }, ctx);
  };
  const read = (name) => (existsSync(join(dir, name)) ? readFileSync(join(dir, name), "utf8").trim().split("\n") : []);
  return { dir, ctx, told, asked, sent, say, plugin, seen: () => read("inputs").map((it) => JSON.parse(it)), args: () => read("args") };
}

const before = (input = { command: "ls" }, toolName = "bash") => ({ toolName, toolCallId: "call_0", input });
const after = (text = "secret", more = {}) => ({ ...before(), content: [{ type: "text", text }], details: { a: 1 }, isError: false, ...more });
const said = (text, more = {}) => ({ messages: [{ role: "user" }, { role: "assistant", content: [{ type: "text", text }], stopReason: "stop", ...more }] });
/** A script that answers this at one event, and nothing at the others. */
const at = (event, answer) => `case "$4" in ${event}) cat <<'E'\n${JSON.stringify(answer)}\nE\n;; *) echo '{}' ;; esac`;

test("an event reaches the program as documented, and nothing is changed without an answer", async (t) => {
  const { seen, args, plugin, told, dir } = await place(t);
  const send = await plugin();
  await send("session_start", { reason: "startup" });
  await send("session_start", { reason: "reload" });
  assert.equal(await send("input", { text: "hello", source: "interactive" }), undefined);
  assert.equal(await send("before_agent_start"), undefined);
  assert.equal(await send("user_bash", { command: "pwd" }), undefined);
  assert.equal(await send("tool_call", before()), undefined);
  assert.equal(await send("tool_result", after()), undefined);
  await send("turn_end");
  await send("agent_end", said("done"));
  await send("agent_end", said("", { stopReason: "error", errorMessage: "no" }));
  await send("agent_end", said("", { stopReason: "aborted" }));
  assert.equal(await send("session_before_compact"), undefined);
  await send("session_compact", { compactionEntry: { summary: "short" } });
  await send("session_shutdown", { reason: "reload" });
  await send("session_shutdown", { reason: "quit" });
  const base = { session_id: "s1", cwd: dir };
  const tool = { tool_name: "bash", tool_input: { command: "ls" }, tool_use_id: "call_0" };
  assert.deepEqual(seen(), [
    { hook_event_name: "session_start", ...base, source: "startup" },
    { hook_event_name: "input", ...base, prompt: "hello" },
    { hook_event_name: "user_bash", ...base, tool_name: "bash", tool_input: { command: "pwd" } },
    { hook_event_name: "tool_call", ...base, ...tool },
    { hook_event_name: "tool_result", ...base, ...tool, tool_response: "secret", exit_status: 0 },
    { hook_event_name: "turn_end", ...base },
    { hook_event_name: "agent_end", ...base, prompt: "hello", last_assistant_message: "done", loop_count: 0 },
    { hook_event_name: "agent_error", ...base, error: { name: "", message: "no" } },
    { hook_event_name: "session_before_compact", ...base },
    { hook_event_name: "session_compact", ...base, compact_summary: "short" },
    { hook_event_name: "session_shutdown", ...base, reason: "exit" },
  ]);
  assert.equal(args()[0], "bridge pi --event session_start");
  assert.deepEqual(told, []);
});

test("a tool call is blocked, asked about and changed", async (t) => {
  const { plugin, say, ctx, asked } = await place(t, at("tool_call", { decision: "deny", reason: "not here" }));
  const send = await plugin();
  assert.deepEqual(await send("tool_call", before()), { block: true, reason: "not here" });
  say(at("tool_call", { decision: "ask", reason: "sure?" }));
  assert.equal(await send("tool_call", before()), undefined);
  ctx.ui.answer = false;
  assert.match((await send("tool_call", before())).reason, /did not allow this: sure\?/);
  ctx.ui.confirm = async () => { throw new Error("closed"); };
  assert.equal((await send("tool_call", before())).block, true);
  ctx.hasUI = false;
  assert.deepEqual(await send("tool_call", before()), { block: true, reason: "sure? (nobody is there to answer)" });
  assert.deepEqual(asked, ["sure?", "sure?"]);
  say(at("tool_call", { input: { command: "pwd", n: 1 } }));
  const call = before({ command: "ls", timeout: 5 });
  const { input } = call;
  assert.equal(await send("tool_call", call), undefined);
  assert.deepEqual(input, { command: "pwd", n: 1 }, "the tool gets this very object");
});

test("a command that the user types is blocked, too", async (t) => {
  const { plugin, say, ctx } = await place(t, at("user_bash", { decision: "deny", reason: "not here" }));
  const send = await plugin();
  const blocked = { result: { output: "not here", exitCode: 1, cancelled: false, truncated: false } };
  assert.deepEqual(await send("user_bash", { command: "ls" }), blocked);
  say(at("user_bash", { decision: "ask", reason: "sure?" }));
  assert.equal(await send("user_bash", { command: "ls" }), undefined);
  ctx.ui.answer = false;
  assert.match((await send("user_bash", { command: "ls" })).result.output, /sure\?/);
});

test("hooks judge the path that Pi uses", async (t) => {
  const { plugin, seen } = await place(t);
  const send = await plugin();
  const paths = { "@~/.ssh/id_rsa": "~/.ssh/id_rsa", "@@a": "./@a", "a\u00a0b": "a b", "a@b": "a@b" };
  for (const [path, want] of Object.entries(paths)) {
    const call = before({ path }, "read");
    await send("tool_call", call);
    assert.equal(call.input.path, want);
    assert.equal(seen().at(-1).tool_input.path, want);
  }
  await send("tool_call", before({ path: "@a" }, "mine"));
  assert.equal(seen().at(-1).tool_input.path, "@a", "another tool reads it in its own way");
});

test("an output is replaced by a hook's, or by its reason, and gets text for the model", async (t) => {
  for (const [answer, want] of [
    [{ output: "clean" }, { content: [{ type: "text", text: "clean" }], details: {} }],
    [{ output: { a: 1 } }, { content: [{ type: "text", text: '{"a":1}' }], details: {} }],
    [{ decision: "deny", reason: "stop" }, { content: [{ type: "text", text: "stop" }], details: {}, isError: true }],
    [{ context: "more" }, { content: [{ type: "text", text: "secret" }, { type: "text", text: "more" }] }],
  ]) {
    const { plugin } = await place(t, at("tool_result", answer));
    assert.deepEqual(await (await plugin())("tool_result", after()), want);
  }
});

test("a tool that failed is told as one", async (t) => {
  const { plugin, seen } = await place(t);
  const send = await plugin();
  const last = () => (({ tool_response, exit_status }) => ({ tool_response, exit_status }))(seen().at(-1));
  await send("tool_result", after("oops\n\nCommand exited with code 3", { isError: true }));
  assert.deepEqual(last(), { tool_response: "oops\n\nCommand exited with code 3", exit_status: 3 });
  const content = [{ type: "text", text: "Command timed out after 5 seconds" }];
  await send("tool_result", after(content[0].text, { isError: true }));
  assert.deepEqual(last(), { tool_response: { content, isError: true }, exit_status: undefined });
  await send("tool_result", { ...after("text"), toolName: "read" });
  assert.deepEqual(last(), { tool_response: "text", exit_status: undefined });
  const image = [{ type: "image", data: "x", mimeType: "image/png" }];
  await send("tool_result", { ...after(), toolName: "read", content: image });
  assert.deepEqual(last(), { tool_response: { content: image, isError: false }, exit_status: undefined });
});

test("a message is changed or blocked, and the model gets the text of hooks with it", async (t) => {
  const { plugin, say, told, ctx } = await place(t, `case "$4" in session_start) echo '{"context": "one"}' ;; *) echo '{"message": "bye", "context": "two"}' ;; esac`);
  const send = await plugin();
  await send("session_start", { reason: "startup" });
  assert.deepEqual(await send("input", { text: "hello" }), { action: "transform", text: "bye" });
  const message = { customType: "hookbox", content: "one\n\ntwo", display: false };
  assert.deepEqual(await send("before_agent_start"), { message });
  assert.equal(await send("before_agent_start"), undefined);
  say(at("input", { decision: "deny", reason: "not on a Friday" }));
  assert.deepEqual(await send("input", { text: "hello" }), { action: "handled" });
  assert.deepEqual(told, ["hookbox: message blocked: not on a Friday"]);
  ctx.hasUI = false;
  const code = process.exitCode;
  await send("input", { text: "hello" });
  assert.equal(process.exitCode, 1, "nobody else tells that nothing was done");
  process.exitCode = code;
});

test("hooks make the agent go on, eight times in a row", async (t) => {
  const { plugin, sent, seen, told, ctx } = await place(t, at("agent_end", { follow_up: "run the tests" }));
  const send = await plugin();
  await send("input", { text: "hello", source: "interactive" });
  for (let turn = 0; turn < 9; turn += 1) {
    await send("agent_end", said("done"));
    if (turn < 8) await send("input", { text: "run the tests", source: "extension" });
  }
  assert.deepEqual([sent.length, sent[0]], [8, ["run the tests", { deliverAs: "followUp" }]]);
  assert.equal(seen().filter((it) => it.hook_event_name === "input").length, 1, "its own message is not a message of the user");
  assert.equal(seen().at(-1).loop_count, 8);
  assert.match(told[0], /8 times in a row/);
  ctx.hasUI = false;
  await send("input", { text: "hello", source: "interactive" });
  await send("agent_end", said("done"));
  assert.equal(sent.length, 8, "without an interface Pi ends");
});

test("a compaction is blocked", async (t) => {
  const { plugin, told } = await place(t, at("session_before_compact", { decision: "deny", reason: "not yet" }));
  assert.deepEqual(await (await plugin())("session_before_compact"), { cancel: true });
  assert.deepEqual(told, ["hookbox: compaction blocked: not yet"]);
});

test("the end of a session waits for the events before it", async (t) => {
  const { plugin, seen } = await place(t, `[ "$4" = turn_end ] && sleep 0.2; echo '{}'`);
  const send = await plugin();
  await send("before_agent_start");
  // Pi tells of the end of the agent's work behind other events, and meanwhile ends the session.
  const queue = send("turn_end").then(() => send("agent_end", said("done")));
  await Promise.all([send("session_shutdown", { reason: "quit" }), queue]);
  assert.deepEqual(seen().map((it) => it.hook_event_name), ["turn_end", "agent_end", "session_shutdown"]);
});

test("a program that fails blocks what can be blocked, and gives the reason", async (t) => {
  for (const [script, why] of Object.entries({
    "echo oops": /not one JSON object: "oops/,
    ":": /not one JSON object/,
    "exit 1": /exit code 1/,
    "kill -9 $$": /SIGKILL/,
    "echo '{\"decision\": \"deny\"}'": /malformed decision/,
    "echo '{\"input\": \"ls\"}'": /wrong field "input"/,
    "sleep 600": /did not answer within 1000 ms/,
    "echo 'nobody knows' >&2; exit 2": /^nobody knows$/,
  })) {
    const { plugin, told } = await place(t, script);
    const send = await (script === "sleep 600" ? plugin(undefined, 1000) : plugin());
    const [call, output, typed] = await Promise.all([
      send("tool_call", before()),
      send("tool_result", after()),
      send("user_bash", { command: "ls" }),
    ]);
    assert.match(call.reason, why, script);
    assert.match(output.content[0].text, why);
    assert.match(typed.result.output, why);
    assert.deepEqual(await send("input", { text: "hello" }), { action: "handled" });
    assert.match(told.at(-1).replace("hookbox: message blocked: ", ""), why);
  }
});

test("a program that does not exist blocks", async (t) => {
  const { plugin, dir } = await place(t);
  const send = await plugin(join(dir, "missing"));
  assert.match((await send("tool_call", before())).reason, /cannot be started: .*ENOENT.*hint: /);
});

test("each line on standard error is a warning", async (t) => {
  const { plugin, told } = await place(t, "printf 'hookbox: one\\nhookbox: two\\n' >&2; echo '{}'");
  await (await plugin())("tool_call", before());
  assert.deepEqual(told, ["hookbox: one", "hookbox: two"]);
});

const skip = process.env.HOOKBOX_PROGRAM && process.env.HOOKBOX_GUARD ? false : "HOOKBOX_PROGRAM and HOOKBOX_GUARD are not set";

test("the real program blocks what the guard blocks, and lets the rest run", { skip }, async (t) => {
  const { dir, plugin, told } = await place(t);
  mkdirSync(join(dir, "home/.hookbox/hooks"), { recursive: true });
  copyFileSync(process.env.HOOKBOX_GUARD, join(dir, "home/.hookbox/hooks/guardrail.wasm"));
  const program = join(dir, "hookbox");
  writeFileSync(program, `#!/bin/sh\nHOME='${dir}/home' exec '${process.env.HOOKBOX_PROGRAM}' "$@"\n`);
  chmodSync(program, 0o755);
  // Compiles the guard: an event does not wait for that on a slow machine.
  execFileSync(program, ["cache", "warm"]);
  const send = await plugin(program, 60_000);
  assert.equal(await send("tool_call", before()), undefined);
  const blocked = await send("tool_call", before({ command: "rm -rf /" }));
  assert.ok(blocked.block && blocked.reason.startsWith("Security policy: 'rm -rf' is not allowed"), blocked.reason);
  assert.match(told.join("\n"), /run in your own terminal: hookbox allow [a-z]{8}$/);
  const typed = await send("user_bash", { command: "rm -rf /" });
  assert.match(typed.result.output, /^Security policy/);
  assert.equal(await send("tool_result", after()), undefined);
});
