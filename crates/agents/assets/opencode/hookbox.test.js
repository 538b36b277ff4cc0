// `node --test`, which `cargo test` runs, too. HOOKBOX_PROGRAM and HOOKBOX_GUARD are the real program and the sample
// component guardrail.wasm; without them the tests of the real program are left out, and say so.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after as afterAll, test } from "node:test";

/** The plugin as it is installed. */
const TEXT = ["./hookbox.js", "../program.js"].map((it) => readFileSync(new URL(it, import.meta.url), "utf8")).join("") + '\nconst AGENT = "opencode";\n';
const FILES = mkdtempSync(join(tmpdir(), "hookbox-opencode-"));
afterAll(() => rmSync(FILES, { recursive: true, force: true }));
writeFileSync(join(FILES, "plugin.mjs"), TEXT);
const { default: hookbox } = await import(join(FILES, "plugin.mjs"));

/** A place with a program that is told what to do: `script` is what it does after it has kept its input. */
function place(t, script = "echo '{}'") {
  const dir = mkdtempSync(join(tmpdir(), "hookbox-opencode-"));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  const program = join(dir, "stub");
  const told = [];
  const client = {
    app: { log: async ({ body }) => told.push(body.message) },
    tui: { showToast: async () => { throw new Error("there is no interface"); } },
    session: { get: async () => ({ data: {} }), promptAsync: async (it) => void client.prompts.push(it) },
    prompts: [],
  };
  const say = (lines) => {
    writeFileSync(program, `#!/bin/sh\ncat > '${dir}/input'\ncat '${dir}/input' >> '${dir}/inputs'\necho >> '${dir}/inputs'\n${lines}\n`);
    chmodSync(program, 0o755);
  };
  say(script);
  const seen = () =>
    existsSync(join(dir, "inputs")) ? readFileSync(join(dir, "inputs"), "utf8").trim().split("\n").map((it) => JSON.parse(it)) : [];
  const plugin = (options = {}) => hookbox({ client, directory: dir, worktree: dir }, { program, ...options });
  return { dir, program, client, told, say, seen, plugin };
}

const call = { tool: "bash", sessionID: "ses_1", callID: "call_0" };
const said = () => ({
  message: { id: "msg_1" },
  parts: [{ id: "prt_1", type: "text", text: "hello" }],
});
const result = () => ({ title: "t", output: "secret", metadata: { output: "secret", exit: 0 } });
/** A script that answers this at one event, and nothing at the others. */
const at = (event, answer) => `case "$4" in ${event}) cat <<'E'\n${JSON.stringify(answer)}\nE\n;; *) echo '{}' ;; esac`;

test("an event reaches the program as documented, and nothing is changed where it has nothing to say", async (t) => {
  const { seen, plugin, told, dir } = place(t);
  const hooks = await plugin();
  const args = { command: "ls" };
  const after = result();
  await hooks["tool.execute.before"](call, { args });
  await hooks["tool.execute.after"]({ ...call, args }, after);
  const base = { session_id: "ses_1", cwd: dir };
  const tool = { tool_name: "bash", tool_input: { command: "ls" }, tool_use_id: "call_0" };
  assert.deepEqual(seen(), [
    { hook_event_name: "session.created", ...base, source: "resume" },
    { hook_event_name: "tool.execute.before", ...base, ...tool },
    { hook_event_name: "tool.execute.after", ...base, ...tool, tool_response: "secret", exit_status: 0 },
  ]);
  assert.deepEqual([args, after, told], [{ command: "ls" }, result(), []]);
});

test("a block of a tool call is thrown with its reason", async (t) => {
  const { plugin } = place(t, at("tool.execute.before", { decision: "deny", reason: "not here" }));
  const hooks = await plugin();
  await assert.rejects(hooks["tool.execute.before"](call, { args: {} }), { message: "not here" });
});

test("a changed input is written into the very object that the tool gets", async (t) => {
  const { plugin } = place(t, at("tool.execute.before", { input: { command: "pwd", n: 1 } }));
  const args = { command: "ls", timeout: 5 };
  await (await plugin())["tool.execute.before"](call, { args });
  assert.deepEqual(args, { command: "pwd", n: 1 });
});

test("a message is changed, added to or blocked, and its reason is shown", async (t) => {
  const { plugin, say, told } = place(t, at("chat.message", { message: "bye", context: "mind the gap" }));
  const hooks = await plugin();
  const changed = said();
  changed.parts.push({ id: "prt_2", type: "text", text: "more" }, { id: "prt_3", type: "file" });
  await hooks["chat.message"]({ sessionID: "ses_1" }, changed);
  assert.deepEqual(changed.parts.map((part) => part.text), ["bye", "", undefined, "mind the gap"]);
  const added = changed.parts.at(-1);
  assert.deepEqual([added.synthetic, added.messageID, added.id > "prt_3"], [true, "msg_1", true]);
  say(at("chat.message", { decision: "deny", reason: "not on a Friday" }));
  await assert.rejects(hooks["chat.message"]({ sessionID: "ses_1" }, said()), { message: "not on a Friday" });
  assert.deepEqual(told, ["message blocked: not on a Friday"]);
});

test("text for the model waits for the place where the model reads it next", async (t) => {
  const { plugin, say } = place(t, at("session.created", { context: "at the start" }));
  const hooks = await plugin();
  await hooks.event({ event: { type: "session.created", properties: { info: { id: "ses_1" } } } });
  const message = said();
  await hooks["chat.message"]({ sessionID: "ses_1" }, message);
  assert.equal(message.parts.at(-1).text, "at the start");
  say(at("tool.execute.before", { context: "before" }));
  const other = result();
  await hooks["tool.execute.before"](call, { args: {} });
  await hooks["tool.execute.after"]({ ...call, sessionID: "ses_2", args: {} }, other);
  assert.equal(other.output, "secret", "another session is not told");
  say(at("tool.execute.after", { context: "after" }));
  const own = result();
  await hooks["tool.execute.after"]({ ...call, args: {} }, own);
  assert.equal(own.output, "secret\n\nbefore\n\nafter");
  say(at("experimental.session.compacting", { context: "keep this" }));
  const summary = { context: [] };
  await hooks["experimental.session.compacting"]({ sessionID: "ses_1" }, summary);
  assert.deepEqual(summary, { context: ["keep this"] });
});

test("what a hook took out of an output stays out", async (t) => {
  for (const [answer, want] of [
    [{ output: "clean" }, "clean"],
    [{ output: { a: 1 } }, '{"a":1}'],
    [{ decision: "deny", reason: "stop" }, "stop"],
  ]) {
    const { plugin } = place(t, at("tool.execute.after", answer));
    const hooks = await plugin();
    const own = { ...result(), attachments: [{ url: "secret" }] };
    await hooks["tool.execute.after"]({ ...call, args: {} }, own);
    assert.deepEqual(own, { title: "t", output: want, metadata: { output: want, exit: 0 }, attachments: [] });
    const mcp = { content: [{ type: "text", text: "secret" }, { type: "image", data: "secret" }] };
    await hooks["tool.execute.after"]({ ...call, args: {} }, mcp);
    assert.deepEqual(mcp, { content: [{ type: "text", text: want }] });
  }
});

const FAILURES = {
  "echo oops": /not one JSON object: "oops/,
  "echo '{}{}'": /not one JSON object/,
  "echo '[]'": /not one JSON object/,
  ":": /not one JSON object/,
  "exit 1": /exit code 1/,
  "kill -9 $$": /SIGKILL/,
  "echo '{\"decision\": \"deny\"}'": /a malformed decision/,
  "echo '{\"decision\": \"allow\", \"reason\": \"\"}'": /a malformed decision/,
  "echo '{\"decision\": \"deny\", \"reason\": \"r\", \"input\": {}}'": /a malformed decision/,
  "echo '{\"input\": \"ls\"}'": /wrong field "input"/,
  "echo '{\"constructor\": 1}'": /wrong field "constructor"/,
  "echo '{\"allow\": true}'": /wrong field "allow"/,
  "head -c 20000000 /dev/zero": /more than 16777216 bytes/,
};

test("a program that fails blocks what can be blocked, and says why", async (t) => {
  for (const [script, why] of Object.entries(FAILURES)) {
    const { plugin, told } = place(t, script);
    const hooks = await plugin();
    const args = { command: "ls" };
    await assert.rejects(hooks["tool.execute.before"](call, { args }), (error) => why.test(error.message) && /hint: /.test(error.message), script);
    await assert.rejects(hooks["chat.message"]({ sessionID: "ses_1" }, said()), why);
    const after = result();
    await hooks["tool.execute.after"]({ ...call, args }, after);
    assert.match(after.output, why);
    assert.deepEqual(args, { command: "ls" });
    assert.match(told[0], why, "the start of the session cannot be blocked");
  }
});

test("a program that fails is a warning where the options say so", async (t) => {
  for (const [script, why] of Object.entries(FAILURES)) {
    const { plugin, told } = place(t, script);
    const hooks = await plugin({ on_failure: "pass" });
    const after = result();
    await hooks["tool.execute.before"](call, { args: {} });
    await hooks["chat.message"]({ sessionID: "ses_1" }, said());
    await hooks["tool.execute.after"]({ ...call, args: {} }, after);
    assert.equal(after.output, "secret");
    assert.equal(told.filter((it) => why.test(it)).length, 4, script);
  }
});

test("a program that does not exist, or does not answer in time, blocks", async (t) => {
  const { plugin, dir } = place(t, "sleep 600 & echo $! > child; mv child started; wait");
  const missing = await plugin({ program: join(dir, "missing") });
  await assert.rejects(missing["tool.execute.before"](call, { args: {} }), /cannot be started: .*ENOENT/);
  const hanging = await plugin({ timeout_ms: 500 });
  await assert.rejects(hanging["tool.execute.before"](call, { args: {} }), /did not answer within 500 ms/);
  // What it started has ended with it: at once, or in a moment.
  const state = () => {
    try {
      return readFileSync(`/proc/${readFileSync(join(dir, "started"), "utf8").trim()}/stat`, "utf8");
    } catch {
      return "";
    }
  };
  while (!["", ") Z "].some((it) => state() === it || (it !== "" && state().includes(it)))) await new Promise((done) => setImmediate(done));
});

test("exit code 2 blocks with the text on standard error", async (t) => {
  const { plugin } = place(t, "echo 'nobody knows' >&2; exit 2");
  await assert.rejects((await plugin())["tool.execute.before"](call, { args: {} }), { message: "nobody knows" });
});

test("each line on standard error is a warning for the user", async (t) => {
  const { plugin, told } = place(t, at("tool.execute.before", {}) + "\n[ $4 = session.created ] || printf 'hookbox: one\\nhookbox: two\\n' >&2");
  await (await plugin())["tool.execute.before"](call, { args: {} });
  assert.deepEqual(told, ["one", "two"]);
});

test("hooks make a session go on, eight times in a row and no subagent", async (t) => {
  const { plugin, client, seen, told } = place(t, at("session.idle", { follow_up: "run the tests" }));
  const hooks = await plugin();
  const idle = { event: { type: "session.idle", properties: { sessionID: "ses_1" } } };
  await hooks["chat.message"]({ sessionID: "ses_1" }, said());
  await hooks["experimental.text.complete"]({ sessionID: "ses_1" }, { text: "done" });
  for (let turn = 0; turn < 9; turn += 1) {
    await hooks.event(idle);
    const message = said();
    message.parts[0].text = "run the tests";
    if (turn < 8) await hooks["chat.message"]({ sessionID: "ses_1" }, message);
  }
  assert.equal(client.prompts.length, 8);
  assert.deepEqual(client.prompts[0], { path: { id: "ses_1" }, body: { parts: [{ type: "text", text: "run the tests" }] } });
  assert.equal(seen().filter((it) => it.hook_event_name === "chat.message").length, 1, "its own message is not a message of the user");
  const idles = seen().filter((it) => it.hook_event_name === "session.idle");
  assert.deepEqual([idles[0].prompt, idles[0].last_assistant_message, idles[8].loop_count], ["hello", "done", 8]);
  assert.match(told[0], /8 times in a row/);
  await hooks.event({ event: { type: "session.created", properties: { info: { id: "ses_2", parentID: "ses_1" } } } });
  await hooks.event({ event: { type: "session.idle", properties: { sessionID: "ses_2" } } });
  assert.equal(client.prompts.length, 8);
  assert.equal(seen().at(-1).agent_id, "subagent");
});

test("the events of the bus reach the hooks once, and others do not", async (t) => {
  const { plugin, seen } = place(t);
  const hooks = await plugin();
  const send = (type, properties) => hooks.event({ event: { type, properties } });
  const answer = { sessionID: "ses_1", id: "msg_2", role: "assistant", time: { completed: 1 } };
  await send("session.created", { info: { id: "ses_1" } });
  await send("session.created", { info: { id: "ses_1" } });
  await send("message.updated", { info: { ...answer, time: {} } });
  await send("message.updated", { info: answer });
  await send("message.updated", { info: answer });
  await send("message.part.updated", { sessionID: "ses_1" });
  await send("session.error", { sessionID: "ses_1", error: { name: "APIError", data: { message: "no" } } });
  await send("session.error", { error: { name: "APIError" } });
  await send("session.compacted", { sessionID: "ses_1" });
  await hooks.dispose();
  assert.deepEqual(
    seen().map((it) => it.hook_event_name),
    ["session.created", "message.updated", "session.error", "session.compacted", "dispose"],
  );
  assert.deepEqual(seen()[2].error, { name: "APIError", message: "no" });
  await send("session.deleted", { info: { id: "ses_1" } });
  await hooks.dispose();
  assert.equal(seen().at(-1).hook_event_name, "session.deleted");
});

test("options that are none are an error", async (t) => {
  const { plugin } = place(t);
  for (const odd of [{ program: "" }, { on_failure: "ignore" }, { timeout_ms: 0 }, { timeout_ms: "5s" }, { home: 5 }, { fail: 1 }]) {
    await assert.rejects(plugin(odd), /hookbox: expected program, home, on_failure .* found /);
  }
});

/** The real program in a home of its own, with the sample guard and a hook that babbles. */
async function real(t, settings) {
  const { dir, client, told } = place(t);
  const hooks = join(dir, "home/.hookbox/hooks");
  mkdirSync(hooks, { recursive: true });
  mkdirSync(join(dir, "repo/.git"), { recursive: true });
  copyFileSync(process.env.HOOKBOX_GUARD, join(hooks, "guardrail.wasm"));
  writeFileSync(join(dir, "home/.hookbox/hookbox.toml"), settings);
  if (settings !== "") {
    writeFileSync(join(hooks, "babbles"), "#!/bin/sh\n[ \"$1\" = hook ] && echo before_tool_call || echo oops\n");
    chmodSync(join(hooks, "babbles"), 0o755);
  }
  const program = join(dir, "hookbox");
  writeFileSync(program, `#!/bin/sh\nHOME='${dir}/home' exec '${process.env.HOOKBOX_PROGRAM}' "$@"\n`);
  chmodSync(program, 0o755);
  // Compiles the guard: an event does not wait for that on a slow machine.
  execFileSync(program, ["cache", "warm"]);
  return { told, hooks: await hookbox({ client, directory: join(dir, "repo") }, { program }) };
}

const skip = process.env.HOOKBOX_PROGRAM && process.env.HOOKBOX_GUARD ? false : "HOOKBOX_PROGRAM and HOOKBOX_GUARD are not set";

test("the real program blocks what the guard blocks, and lets the rest run", { skip }, async (t) => {
  const { hooks, told } = await real(t, "");
  await hooks["tool.execute.before"](call, { args: { command: "ls" } });
  await assert.rejects(hooks["tool.execute.before"](call, { args: { command: "rm -rf /" } }), {
    message: /^Security policy: 'rm -rf' is not allowed/,
  });
  await hooks["chat.message"]({ sessionID: "ses_1" }, said());
  const after = result();
  await hooks["tool.execute.after"]({ ...call, args: {} }, after);
  assert.deepEqual(after, result());
  assert.equal(told.length, 1);
  assert.match(told[0], /^to let this call through once, run in your own terminal: hookbox allow [a-z]{8}$/);
});

test("the real program blocks or warns where a hook fails, as the hook's policy says", { skip }, async (t) => {
  const failed = /babbles failed \(malformed_output\)/;
  const blocks = await real(t, '[hooks.babbles]\non_failure = "block"\n');
  await assert.rejects(blocks.hooks["tool.execute.before"](call, { args: { command: "ls" } }), failed);
  const passes = await real(t, '[hooks.babbles]\non_failure = "pass"\n');
  await passes.hooks["tool.execute.before"](call, { args: { command: "ls" } });
  assert.match(passes.told.join("\n"), failed);
});
