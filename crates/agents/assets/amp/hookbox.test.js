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

/** The events whose answer Amp awaits: it keeps one function of a plugin for each. */
const REQUESTS = ["tool.call", "tool.result", "agent.start", "agent.end"];

/** A place with a plugin, as it was installed for a program that keeps its input and then runs this script. */
async function place(t, script = "echo '{}'") {
  const dir = mkdtempSync(join(tmpdir(), "hookbox-amp-"));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  const program = join(dir, "stub");
  const say = (lines) => {
    writeFileSync(program, `#!/bin/sh\ncat >> '${dir}/inputs'\necho >> '${dir}/inputs'\necho "$@" >> '${dir}/args'\n${lines}\n`);
    chmodSync(program, 0o755);
  };
  say(script);
  const [told, asked, logged, cancelled] = [[], [], [], []];
  const ui = {
    notify: async (message) => void told.push(message),
    confirm: async ({ message }) => asked.push(message) > 0 && ui.answer,
    answer: true,
  };
  /** A host as the types of Amp's plugins describe it: an event goes to the plugin's functions. */
  const plugin = async (path = program, limit = 20_000, root = { fsPath: dir }) => {
    const file = join(dir, `plugin-${Math.random()}.mjs`);
    const text = TEXT.replace('program: "hookbox", home: ""', `program: ${JSON.stringify(path)}, home: ""`);
    writeFileSync(file, text.replace("LIMIT_MS = 20_000", `LIMIT_MS = ${limit}`));
    const { default: hookbox } = await import(file);
    const [on, disposers] = [{}, []];
    const system = { workspaceRoot: root, executor: { kind: "local" } };
    const logger = { log: (message) => logged.push(message) };
    const functions = { on: (name, it) => void (on[name] = it), onDispose: (it) => disposers.push(it) };
    hookbox({ system, logger, ...functions });
    const send = async (name, event = {}, id = "T-1", more = {}) => {
      const thread = { id, cancel: async () => void cancelled.push(id) };
      const answer = await on[name]({ thread: { id }, ...event }, { ui, logger, system, thread, ...more });
      assert.ok(REQUESTS.includes(name) || answer === undefined, name);
      // Only JSON reaches Amp.
      return answer === undefined ? undefined : JSON.parse(JSON.stringify(answer));
    };
    return Object.assign(send, { dispose: () => Promise.all(disposers.map((it) => it())), names: Object.keys(on) });
  };
  const read = (name) => (existsSync(join(dir, name)) ? readFileSync(join(dir, name), "utf8").trim().split("\n") : []);
  return { dir, ui, told, asked, logged, cancelled, say, plugin, seen: () => read("inputs").map((it) => JSON.parse(it)), args: () => read("args") };
}

const before = (input = { command: "ls" }, tool = "shell_command") => ({ tool, toolUseID: "tu_0", input });
const after = (output = "secret", more = {}) => ({ ...before(), status: "done", output, ...more });
const ended = (text, more = {}) => ({
  message: "hello",
  id: 0,
  status: "done",
  messages: [
    { role: "user", id: 0, content: [{ type: "text", text: "hello" }] },
    { role: "assistant", id: 1, content: [{ type: "thinking", thinking: "hm" }, { type: "text", text }] },
    { role: "info", id: 2, content: [{ type: "text", text: "note" }] },
  ],
  ...more,
});
/** A script that answers this at one event, and nothing at the others. */
const at = (event, answer) => `case "$4" in ${event}) cat <<'E'\n${JSON.stringify(answer)}\nE\n;; *) echo '{}' ;; esac`;

test("an event reaches the program as documented, and nothing is changed without an answer", async (t) => {
  const { seen, args, plugin, told, logged, dir } = await place(t);
  const send = await plugin();
  await send("session.start");
  await send("session.start");
  assert.deepEqual(await send("agent.start", { message: "hello", id: 0 }), {});
  assert.deepEqual(await send("tool.call", before()), { action: "allow" });
  assert.equal(await send("tool.result", after()), undefined);
  assert.equal(await send("agent.end", ended("done")), undefined);
  assert.equal(await send("agent.end", ended("", { status: "error" })), undefined);
  assert.equal(await send("agent.end", ended("", { status: "cancelled" })), undefined);
  await send.dispose();
  const base = { session_id: "T-1", cwd: dir };
  const tool = { tool_name: "shell_command", tool_input: { command: "ls" }, tool_use_id: "tu_0" };
  assert.deepEqual(seen(), [
    { hook_event_name: "session.start", ...base, source: "startup" },
    { hook_event_name: "agent.start", ...base, prompt: "hello" },
    { hook_event_name: "tool.call", ...base, ...tool },
    { hook_event_name: "tool.result", ...base, ...tool, tool_response: "secret" },
    { hook_event_name: "agent.end", ...base, prompt: "hello", last_assistant_message: "done", loop_count: 0 },
    { hook_event_name: "dispose", ...base, reason: "exit" },
  ]);
  assert.equal(args()[0], "bridge amp --event session.start");
  assert.deepEqual([told, logged], [[], []]);
  assert.deepEqual(send.names.toSorted(), [...REQUESTS, "session.start"].toSorted());
});

test("a tool call is blocked, asked about and changed", async (t) => {
  const { plugin, say, ui, asked } = await place(t, at("tool.call", { decision: "deny", reason: "not here" }));
  const send = await plugin();
  assert.deepEqual(await send("tool.call", before()), { action: "reject-and-continue", message: "not here" });
  say(at("tool.call", { decision: "ask", reason: "sure?" }));
  assert.deepEqual(await send("tool.call", before()), { action: "allow" });
  for (const answer of [false, undefined, {}, "yes"]) {
    ui.answer = answer;
    const { action, message } = await send("tool.call", before());
    assert.deepEqual([action, message], ["reject-and-continue", "the user did not allow this: sure?"]);
  }
  assert.equal(asked.length, 5);
  // Without a user interface the functions of `ui` throw, at once or later.
  for (const confirm of [() => { throw new Error("none"); }, async () => { throw new Error("none"); }]) {
    ui.confirm = confirm;
    assert.match((await send("tool.call", before())).message, /^sure\? \(nobody is there to answer\)$/);
  }
  say(at("tool.call", { input: { command: "pwd" } }));
  assert.deepEqual(await send("tool.call", before()), { action: "modify", input: { command: "pwd" } });
});

test("an output is replaced by a hook's, or by its reason, and gets text for the model", async (t) => {
  const shell = { output: "secret", exitCode: 3, truncated: true };
  const image = [{ type: "image", mimeType: "image/png", data: "x" }];
  for (const [answer, output, want] of [
    [{ output: "clean" }, "secret", { status: "done", output: "clean" }],
    [{ output: { a: 1 } }, "secret", { status: "done", output: '{"a":1}' }],
    // Another field may have what a hook took out.
    [{ output: "clean" }, shell, { status: "done", output: { output: "clean", exitCode: 3 } }],
    [{ output: { output: "clean", exitCode: 3 } }, shell, { status: "done", output: { output: "clean", exitCode: 3 } }],
    [{ output: "clean" }, image, { status: "done", output: "clean" }],
    [{ decision: "deny", reason: "stop" }, shell, { status: "error", error: "stop", output: "stop" }],
    [{ context: "more" }, "text", { status: "done", output: "text\n\nmore" }],
    [{ context: "more" }, shell, { status: "done", output: { ...shell, output: "secret\n\nmore" } }],
    [{ context: "more" }, image, { status: "done", output: [...image, { type: "text", text: "more" }] }],
    [{ output: "clean", context: "more" }, "secret", { status: "done", output: "clean\n\nmore" }],
  ]) {
    const { plugin } = await place(t, at("tool.result", answer));
    assert.deepEqual(await (await plugin())("tool.result", after(output)), want, JSON.stringify([answer, output]));
  }
  const { plugin } = await place(t, at("tool.result", { output: "clean" }));
  const failed = after("", { status: "error", error: "no such file: secret", output: undefined });
  const want = { status: "error", output: "clean", error: "clean" };
  assert.deepEqual(await (await plugin())("tool.result", failed), want, "an error is replaced, too");
});

test("the exit status of a shell and a failure are told", async (t) => {
  const { plugin, seen } = await place(t);
  const send = await plugin();
  const last = () => (({ tool_response, exit_status }) => ({ tool_response, exit_status }))(seen().at(-1));
  await send("tool.result", after({ output: "oops", exitCode: 3 }));
  assert.deepEqual(last(), { tool_response: { output: "oops", exitCode: 3 }, exit_status: 3 });
  await send("tool.result", after("", { status: "error", error: "no such file", output: undefined }));
  assert.deepEqual(last(), { tool_response: { error: "no such file", isError: true }, exit_status: undefined });
  await send("tool.result", after(null, { status: "cancelled" }));
  assert.deepEqual(last(), { tool_response: "", exit_status: undefined });
});

test("text for the model waits for the next place in its own thread", async (t) => {
  const { plugin, say } = await place(t, at("session.start", { context: "one" }));
  const send = await plugin();
  // Amp does not wait for the start of a session.
  const started = send("session.start");
  const message = (content) => ({ message: { content, display: false } });
  assert.deepEqual(await send("agent.start", { message: "hello" }), message("one"));
  await started;
  say(at("tool.call", { context: "two" }));
  await send("tool.call", before());
  assert.equal(await send("tool.result", after({ rows: 3 })), undefined, "this output has no place for text");
  assert.deepEqual(await send("agent.start", { message: "other" }, "T-2"), {});
  assert.deepEqual(await send("agent.start", { message: "next" }), message("two"));
  assert.deepEqual(await send("agent.start", { message: "next" }), {});
});

test("a message is blocked by the end of its turn, and the user reads the reason", async (t) => {
  const { plugin, told, cancelled } = await place(t, at("agent.start", { decision: "deny", reason: "not on a Friday" }));
  const send = await plugin();
  assert.deepEqual(await send("agent.start", { message: "hello" }), {});
  assert.deepEqual([cancelled, told], [["T-1"], ["hookbox: message blocked: not on a Friday"]]);
  assert.deepEqual(await send("agent.start", { message: "hello" }, "T-2", { thread: { id: "T-2" } }), {});
  assert.match(told[1], /which this version of Amp cannot do: not on a Friday/);
});

test("hooks make the agent go on, eight times in a row", async (t) => {
  const { plugin, seen, told } = await place(t, at("agent.end", { follow_up: "run the tests" }));
  const send = await plugin();
  await send("agent.start", { message: "hello" });
  for (let turn = 0; turn < 9; turn += 1) {
    const answer = await send("agent.end", ended("done"));
    const want = { action: "continue", userMessage: "run the tests", maxContinuations: 8 };
    assert.deepEqual(answer, turn < 8 ? want : undefined);
    if (turn < 8) await send("agent.start", { message: "run the tests" });
  }
  assert.equal(seen().filter((it) => it.hook_event_name === "agent.start").length, 1, "its own message is not a message of the user");
  assert.equal(seen().at(-1).loop_count, 8);
  assert.match(told[0], /8 times in a row/);
});

test("without the root of a workspace the plugin uses its own directory", async (t) => {
  const { plugin, seen } = await place(t);
  await (await plugin(undefined, undefined, null))("tool.call", before());
  assert.equal(seen()[0].cwd, process.cwd());
});

test("a program that fails blocks what can be blocked, and gives the reason", async (t) => {
  for (const [script, why] of Object.entries({
    "echo oops": /not one JSON object: "oops/,
    ":": /not one JSON object/,
    "exit 1": /exit code 1/,
    "kill -9 $$": /SIGKILL/,
    "echo '{\"decision\": \"deny\"}'": /malformed decision/,
    "echo '{\"input\": \"ls\"}'": /wrong field "input"/,
    "echo '{\"message\": \"bye\"}'": /wrong field "message"/,
    "sleep 600": /did not answer within 1000 ms/,
    "echo 'nobody knows' >&2; exit 2": /^nobody knows$/,
  })) {
    const { plugin, told, cancelled } = await place(t, script);
    const send = await (script === "sleep 600" ? plugin(undefined, 1000) : plugin());
    const [called, output, said] = await Promise.all([
      send("tool.call", before()),
      send("tool.result", after()),
      send("agent.start", { message: "hello" }),
    ]);
    assert.equal(called.action, "reject-and-continue");
    assert.match(called.message, why, script);
    assert.match(output.output, why);
    assert.deepEqual([said, cancelled], [{}, ["T-1"]]);
    assert.match(told.at(-1).replace("hookbox: message blocked: ", ""), why);
  }
});

test("a program that does not exist blocks", async (t) => {
  const { plugin, dir } = await place(t);
  const send = await plugin(join(dir, "missing"));
  assert.match((await send("tool.call", before())).message, /cannot be started: .*ENOENT.*hint: /);
});

test("each line on standard error is a warning, in the log without a user interface", async (t) => {
  const { plugin, told, logged, ui } = await place(t, "printf 'hookbox: one\\nhookbox: two\\n' >&2; echo '{}'");
  const send = await plugin();
  await send("tool.call", before());
  assert.deepEqual(told, ["hookbox: one", "hookbox: two"]);
  for (const notify of [() => { throw new Error("none"); }, async () => { throw new Error("none"); }]) {
    ui.notify = notify;
    assert.deepEqual(await send("tool.call", before()), { action: "allow" });
    assert.deepEqual(logged.splice(0), ["hookbox: one", "hookbox: two"]);
  }
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
  for (const [tool, field] of [["shell_command", "command"], ["Bash", "cmd"], ["async_shell_command", "command"]]) {
    assert.deepEqual(await send("tool.call", before({ [field]: "ls" }, tool)), { action: "allow" });
    const { action, message } = await send("tool.call", before({ [field]: "rm -rf /" }, tool));
    assert.equal(action, "reject-and-continue", tool);
    assert.ok(message.startsWith("Security policy: 'rm -rf' is not allowed"), message);
  }
  assert.match(told.join("\n"), /run in your own terminal: hookbox allow [a-z]{8}/);
  assert.equal(await send("tool.result", after()), undefined);
});
