// What the shared cases cannot express: errors of the caller, signals, the end of processes, and whole tool calls.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, watch } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import type { Block, Hookbox, HookboxOptions, Notice, ToolCall, ToolDecision } from "../src/index.js";
import { EVENTS } from "../src/index.js";
import { CALL, PROGRAM, Project, fake, kill } from "./project.js";

const CLIENT = fileURLToPath(new URL("../src/index.js", import.meta.url));

async function blocked(hookbox: Hookbox, call: ToolCall = CALL): Promise<Block> {
  const { decision } = await hookbox.session("a").beforeToolCall(call);
  assert.equal(decision.action, "block");
  return decision as Block;
}

/** Waits until a file exists. */
async function written(file: string): Promise<void> {
  const watcher = watch(dirname(file));
  const changed = new Promise<void>((done) => watcher.on("change", () => existsSync(file) && done()));
  if (!existsSync(file)) await changed;
  watcher.close();
}

/** Waits until a process has ended. One without a parent may wait for init to notice its end. */
async function ended(pid: string): Promise<void> {
  const state = () => spawnSync("ps", ["-o", "stat=", "-p", pid], { encoding: "utf8" }).stdout.trim();
  while (!/^Z|^$/.test(state())) await new Promise((next) => setImmediate(next));
}

/** A client of a script that stands in for the program. */
function faked(project: Project, script: string, options: HookboxOptions = {}): Hookbox {
  return project.client({ program: project.file("program", fake(script), 0o755), ...options });
}

test("a closed client throws, and closing twice is no error", async (t) => {
  const hookbox = new Project(t).client();
  await hookbox.close();
  await hookbox.close();
  await assert.rejects(hookbox.session("a").beforeToolCall(CALL), /the client is closed/);
  await assert.rejects(hookbox.start(), /the client is closed/);
});

test("an event that is sent right before the client closes is blocked", async (t) => {
  const hookbox = new Project(t).client();
  const waiting = blocked(hookbox);
  await hookbox.close();
  assert.equal((await waiting).cause, "killed");
  assert.equal(hookbox.pid, undefined);
});

test("an unknown event throws", async (t) => {
  const session = new Project(t).client().session("a");
  await assert.rejects(session.event("before_toolcall" as "before_tool_call", CALL), TypeError);
});

test("closing blocks the events that wait, and ends the process and its children", async (t) => {
  const project = new Project(t);
  const mark = join(project.directory, "running");
  const hookbox = faked(project, `sleep 600 & echo $! > "${mark}.new"; mv "${mark}.new" "${mark}"`);
  const waiting = blocked(hookbox);
  await written(mark);
  await hookbox.close();
  const { cause, by, reason } = await waiting;
  assert.deepEqual([cause, by, reason], ["killed", "hookbox", "hookbox: the client was closed"]);
  await ended(readFileSync(mark, "utf8").trim());
});

test("closing ends the hooks that run", async (t) => {
  const project = new Project(t).hook("slow.sh", "before_tool_call", `echo $$ > new; mv new running; exec sleep 600`);
  const hookbox = project.client();
  const waiting = blocked(hookbox);
  const mark = join(project.directory, "running");
  await written(mark);
  await hookbox.close();
  assert.equal((await waiting).cause, "killed");
  await ended(readFileSync(mark, "utf8").trim());
});

test("a process that ignores the request to end is killed", async (t) => {
  const hookbox = faked(new Project(t), `trap "" TERM; answer '{"version":1}'; exec sleep 600`);
  await hookbox.session("a").turnEnd();
  const pid = hookbox.pid as number;
  await hookbox.close();
  assert.throws(() => process.kill(pid, 0), /ESRCH/);
});

test("input that JSON cannot express throws, and the process goes on", async (t) => {
  const hookbox = new Project(t).client();
  const cycle: Record<string, unknown> = {};
  cycle.cycle = cycle;
  for (const odd of [cycle, 1n, NaN, Infinity, () => 1, { a: [Symbol("x")] }]) {
    await assert.rejects(hookbox.session("a").beforeToolCall({ tool_name: "x", tool_input: odd }), TypeError);
  }
  assert.throws(() => new Project(t).client({ deadline: 0 }), /deadline: expected/);
  const { decision } = await hookbox.session("a").beforeToolCall(CALL);
  assert.equal(decision.action, "run");
});

test("input of a hostile model is no exception", async (t) => {
  const hookbox = new Project(t).client();
  const deep = JSON.parse("[".repeat(100_000) + "]".repeat(100_000)) as unknown;
  assert.equal((await blocked(hookbox, { tool_name: "x", tool_input: deep })).cause, "refused");
  const odd = JSON.parse('{"__proto__": {"a": 1}, "half": "\\ud800", "line": "\\u2028\\n\\u0000"}') as unknown;
  const { decision } = await hookbox.session("a").beforeToolCall({ tool_name: "x", tool_input: odd });
  assert.ok(decision.action === "run");
  assert.deepEqual(Object.keys(decision.input as object), ["__proto__", "half", "line"]);
});

test("only a question that the user agreed to gives a permission", async (t) => {
  const project = new Project(t).hook("ask.sh", "before_tool_call", `echo '{"decision":"ask","reason":"Sure?"}'`);
  const { decision } = await project.client().session("a").beforeToolCall(CALL);
  assert.ok(decision.action === "ask");
  assert.ok(!("input" in decision));
  assert.deepEqual(decision.proposed, { command: "ls" });
  assert.deepEqual(decision.userAgreed(), { action: "run", input: { command: "ls" } });
});

/** The compiler knows the decisions, too. */
export function typed(decision: ToolDecision): unknown {
  if (decision.action === "run") return decision.input;
  // @ts-expect-error A question and a block have no input.
  return decision.input;
}

test("a client is closed at the end of its block", async (t) => {
  const hookbox = new Project(t).client();
  await hookbox.start();
  await hookbox[Symbol.asyncDispose]();
  assert.equal(hookbox.pid, undefined);
});

test("a tool gets the input of a hook, and the model the output of another", async (t) => {
  const project = new Project(t)
    .hook("input.sh", "before_tool_call", `echo '{"input":{"command":"ls -a"}}'`)
    .hook("output.sh", "after_tool_call", `echo '{"output":"[hidden]"}'`);
  const run = await project.client().session("a").tool(CALL, (input) => `ran ${JSON.stringify(input)}`);
  assert.deepEqual(run, { text: "[hidden]", output: "[hidden]", ran: true, context: [], warnings: [] });
  const seen: unknown[] = [];
  await project.client().session("a").tool(CALL, (input) => void seen.push(input));
  assert.deepEqual(seen, [{ command: "ls -a" }]);
});

test("a blocked tool does not run, and hooks hear of it", async (t) => {
  const project = new Project(t)
    .hook("no.sh", "before_tool_call", `echo '{"blocked":true,"reason":"No."}'`)
    .hook("after.sh", "after_tool_call", `cat > after.json`);
  const run = await project.client().session("a").tool(CALL, () => assert.fail("the tool ran"));
  assert.deepEqual([run.text, run.ran, run.output, run.block?.by], ["error: No.", false, undefined, "no.sh"]);
  const after = readFileSync(join(project.directory, "after.json"), "utf8");
  assert.match(after, /"success":false/);
});

test("a question is a block unless the user agrees", async (t) => {
  const project = new Project(t).hook("ask.sh", "before_tool_call", `echo '{"decision":"ask","reason":"Sure?"}'`);
  const session = project.client().session("a");
  for (const [ask, text] of [
    [undefined, "error: Sure?"],
    [() => false, "error: Sure? (the user was asked, and said no)"],
    [() => Promise.resolve(true), "ran"],
    [() => "yes" as unknown as boolean, "error: Sure? (the user was asked, and said no)"],
  ] as const) {
    assert.equal((await session.tool(CALL, () => "ran", { ask })).text, text);
  }
});

test("an exception of a tool is an error that hooks may change", async (t) => {
  const project = new Project(t).hook("docs.sh", "on_error", `echo '{"error":"See docs."}'`);
  const session = project.client().session("a");
  const run = await session.tool(CALL, () => Promise.reject(new Error("broken")));
  assert.deepEqual([run.text, run.error, run.ran], ["error: See docs.", "See docs.", true]);
});

test("a hook stops the agent after a tool, which keeps its output", async (t) => {
  const project = new Project(t).hook("stop.sh", "after_tool_call", `echo '{"action":"block","reason":"Enough."}'`);
  const run = await project.client().session("a").tool(CALL, () => ({ output: "done", success: true }));
  assert.equal(run.text, "done\nstop and change course: Enough.");
  assert.equal(run.block?.reason, "Enough.");
});

test("the model reads no output that the hooks could not judge", async (t) => {
  const run = '{"version":1,"decision":{"action":"run","input":1}}';
  const hookbox = faked(new Project(t), `case $line in *before_tool*) answer '${run}' ;; *) exit ;; esac`);
  const lost = await hookbox.session("a").tool(CALL, () => "secret");
  const text = "error: hookbox: the process ended before it answered";
  assert.deepEqual([lost.text, lost.ran, lost.output], [text, true, undefined]);
});

test("a process that dies while a tool runs does not matter", async (t) => {
  const hookbox = new Project(t).client();
  const run = await hookbox.session("a").tool(CALL, () => kill(hookbox).then(() => "output"));
  assert.deepEqual([run.text, run.block], ["output", undefined]);
});

test("what the caller changes while an event waits does not count", async (t) => {
  const session = new Project(t).client().session("a");
  const call = { tool_name: "x", tool_input: ["first"] };
  const [, waiting] = [session.turnEnd(), session.beforeToolCall(call)];
  call.tool_input[0] = "second";
  const { decision } = await waiting;
  assert.ok(decision.action === "run");
  assert.deepEqual(decision.input, ["first"]);
});

test("a signal cancels an event, and the session goes on", async (t) => {
  const project = new Project(t);
  const mark = join(project.directory, "mark");
  const hookbox = faked(project, `case $line in *slow*) : > "${mark}" ;; *) answer '{"version":1}' ;; esac`);
  const session = hookbox.session("a");
  const canceler = new AbortController();
  const slow = session.turnEnd({ response: "slow" }, { signal: canceler.signal });
  const queued = session.turnEnd({}, { signal: canceler.signal });
  const last = session.turnEnd();
  await written(mark);
  canceler.abort(new Error("enough"));
  await Promise.all([slow, queued].map((it) => assert.rejects(it, /enough/)));
  assert.deepEqual((await last).warnings, []);
  await assert.rejects(session.turnEnd({}, { signal: canceler.signal }), /enough/);
  const notifications = readFileSync(join(project.directory, "program.notifications"), "utf8");
  assert.match(notifications, /"notifications\/cancelled","params":\{"requestId":2\}/);
});

test("an event that waits for the one before it can be canceled", async (t) => {
  const project = new Project(t);
  const go = join(project.directory, "go");
  const hookbox = faked(project, `while ! [ -e "${go}" ]; do sleep 0.01; done; answer '{"version":1}'`);
  const session = hookbox.session("a");
  const first = session.turnEnd();
  const canceler = new AbortController();
  const second = session.turnEnd({}, { signal: canceler.signal });
  const third = session.turnEnd();
  canceler.abort(new Error("enough"));
  await assert.rejects(second, /enough/);
  project.file("go", "");
  assert.deepEqual([(await first).warnings, (await third).warnings], [[], []]);
});

test("the process of a late answer is killed, and other events learn why", async (t) => {
  const hookbox = faked(new Project(t), ":", { deadline: 1 });
  await hookbox.start();
  const [first, second] = await Promise.all([blocked(hookbox), hookbox.session("b").turnEnd()]);
  assert.equal(first.cause, "deadline");
  assert.match(String(second.warnings), /^hookbox: (the process was killed|there was no answer)/);
  assert.equal(hookbox.pid, undefined);
});

test("a process that ends again and again starts less and less often", async (t) => {
  const project = new Project(t);
  const starts = () => readFileSync(join(project.directory, "starts"), "utf8").length;
  const program = project.file("program", "#!/bin/sh\nprintf x >> starts\n", 0o755);
  const hookbox = project.client({ program });
  for (let n = 0; n < 50; n += 1) assert.equal((await blocked(hookbox)).cause, "killed");
  // The first two starts wait for nothing. Each later one waits twice as long.
  assert.ok(starts() >= 2 && starts() < 20, `${starts()} starts`);
});

test("an answer resets the wait before the next start", async (t) => {
  const hookbox = new Project(t).client();
  for (let n = 0; n < 4; n += 1) {
    assert.equal((await hookbox.session("a").beforeToolCall(CALL)).decision.action, "run");
    await kill(hookbox);
  }
});

test("a client tells of problems and notices", async (t) => {
  const notices: Notice[] = [];
  const notice = '{"method":"notifications/message","params":{"level":"warning","data":"hooks changed"}}';
  const options = { onNotice: (it: Notice) => void notices.push(it) };
  const hookbox = faked(new Project(t), `echo '${notice}'; answer '{"version":1}'`, options);
  await hookbox.session("a").turnEnd();
  assert.deepEqual(notices, [{ level: "warning", text: "hooks changed" }]);
  assert.deepEqual(hookbox.problems, ["hooks changed"]);
  const throwing = new Project(t).client({ program: "no-such-program", onNotice: () => assert.fail("a bug") });
  await throwing.start();
  assert.match(String(throwing.problems), /neither beside this package nor on PATH/);
});

test("each event has its answer", async (t) => {
  const hookbox = new Project(t).client();
  const data = { tool_name: "x", tool_input: 1, tool_output: 2, message: "m", error: "e", source: "tool" };
  const deciding: string[] = [];
  for (const name of EVENTS) {
    const { decision, warnings } = await hookbox.event(name, { ...data, conv_id: "a" });
    if (decision) deciding.push(name);
    assert.ok(!String(warnings).startsWith("hookbox:"), String(warnings));
  }
  const gates = ["on_budget_exceeded", "on_error", "pre_compact", "user_message_send"];
  assert.deepEqual(deciding.sort(), ["after_tool_call", "before_tool_call", ...gates]);
  const session = hookbox.session("b", { cwd: "/" });
  await Promise.all([
    session.sessionStart({ source: "startup" }),
    session.userMessageSend({ message: "Hi." }),
    session.afterTurn({ turn_number: 1 }),
    session.agentStop(),
    session.preCompact({ trigger: "auto" }),
    session.postCompact({ summary: "s" }),
    session.onBudgetExceeded({ threshold: 0.8 }),
    session.sessionEnd({ reason: "exit" }),
  ]);
  assert.deepEqual(hookbox.problems, []);
});

test("an event that is larger than a pipe, and a large answer, arrive", async (t) => {
  const text = "é\u2028".repeat(1_000_000);
  const call = { tool_name: "x", tool_input: { text } };
  const { decision } = await new Project(t).client().session("a").beforeToolCall(call);
  assert.ok(decision.action === "run");
  assert.deepEqual(decision.input, { text });
});

test("an agent that forgets its client ends", (t) => {
  const { directory } = new Project(t);
  const code = `
    import { Hookbox } from ${JSON.stringify(CLIENT)};
    const hookbox = new Hookbox({ program: ${JSON.stringify(PROGRAM)}, cwd: ${JSON.stringify(directory)} });
    console.log((await hookbox.session("a").beforeToolCall(${JSON.stringify(CALL)})).decision.action, hookbox.pid);`;
  const { stdout, status } = spawnSync(process.execPath, ["--input-type=module", "--eval", code], { encoding: "utf8" });
  assert.match(stdout, /^run \d+\n$/);
  assert.equal(status, 0);
});

test("a program of a relative directory on PATH is not started", async (t) => {
  const project = new Project(t);
  project.file("hookbox", "#!/bin/sh\n: > started\n", 0o755);
  const hookbox = project.client({ program: "hookbox", env: { ...project.env, PATH: ".:" } });
  assert.equal((await blocked(hookbox)).cause, "missing");
  assert.ok(!existsSync(join(project.directory, "started")));
});
