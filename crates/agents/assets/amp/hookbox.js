/**
 * hookbox in Amp: calls `hookbox bridge amp` at the events of a thread, and does what it answers.
 *
 * One file without dependencies, which Amp loads from `~/.config/amp/plugins/` as `hookbox.ts`. hookbox has the messages
 * between this file and the program in crates/agents/assets/README.md. No environment variable changes anything here: the
 * surroundings do not decide about a guard.
 */

import { spawn } from "node:child_process";

/** The program, and the home directory of the installation. With another home directory the program blocks. */
const OPTIONS = { program: "hookbox", home: "" };

/** The time of the program for an event, in milliseconds: more than it gives itself. */
const LIMIT_MS = 20_000;

/** The longest text for the model that waits for a place where the model reads it, in characters. */
const MAX_WAITING = 64 << 10;

/** The number of times in a row that hooks may make a thread go on. Amp's own limit without this one is 5. */
const MAX_FOLLOW_UPS = 8;

/** The answers that this plugin follows. */
const FOLLOWS = { decisions: ["deny", "ask"], fields: ["input", "output", "context", "follow_up"] };

/** The events at which a failure blocks. At the others it is a warning. */
const CAN_BLOCK = ["agent.start", "tool.call", "tool.result"];

/** Amp calls this once. Its one process serves several threads. */
export default function hookbox(/** @type {any} */ amp) {
  /** The threads that had an event, by their ids. */
  const threads = new Map();
  // The directory of this process is that of the plugin.
  const cwd = amp.system?.workspaceRoot?.fsPath ?? process.cwd();

  /** Returns the state of a thread: text for the model, the last message, and the message with which hooks make it go on. */
  const state = (/** @type {string} */ id) => {
    if (!threads.has(id)) threads.set(id, { waiting: [], prompt: "", followUps: 0, ours: undefined, started: undefined });
    return threads.get(id);
  };

  /** Tells the user, and never fails. */
  const tell = (/** @type {any} */ ctx, /** @type {string} */ message) => {
    const log = () => amp.logger.log(`hookbox: ${message}`);
    if (ctx === undefined) return log();
    // Without a user interface this throws, or fails later.
    (async () => ctx.ui.notify(`hookbox: ${message}`))().catch(log);
  };

  /**
   * Asks the hooks. A failure of the program blocks, if the event can be blocked. This never fails.
   * @returns {Promise<Answer>}
   */
  const ask = async (/** @type {string} */ event, /** @type {string} */ id, /** @type {any} */ ctx, /** @type {object} */ data = {}) => {
    const of = { agent: "amp", ...OPTIONS, limit: LIMIT_MS, cwd, ...FOLLOWS };
    const { answer, failure, warnings } = await call(of, event, { hook_event_name: event, session_id: id, cwd, ...data });
    for (const warning of warnings) tell(ctx, warning);
    if (answer !== undefined) {
      const { waiting } = state(id);
      const length = waiting.reduce((/** @type {number} */ sum, /** @type {string} */ it) => sum + it.length, 0);
      if (length + (answer.context?.length ?? 0) > MAX_WAITING) tell(ctx, "too much text of hooks waits for the model: left out");
      else if (answer.context) waiting.push(answer.context);
      return answer;
    }
    const what = `${failure}; hint: check that ${OPTIONS.program} can be started, or run hookbox uninstall amp`;
    if (CAN_BLOCK.includes(event)) return { deny: `blocked, as hookbox failed: ${what}` };
    tell(ctx, what);
    return {};
  };

  /** Returns the reason why a call must not run. */
  const refusal = async (/** @type {Answer} */ { deny, ask: question }, /** @type {any} */ ctx) => {
    if (question === undefined) return deny;
    const options = { title: "hookbox", message: question, confirmButtonText: "Allow" };
    try {
      const isAllowed = await ctx.ui.confirm(options);
      return isAllowed === true ? undefined : `the user did not allow this: ${question}`;
    } catch {
      return `${question} (nobody is there to answer)`;
    }
  };

  /** Ends the turn of a message that must not reach the model. */
  const refuse = async (/** @type {string} */ reason, /** @type {any} */ ctx) => {
    try {
      // Within agent.start this keeps the turn from its beginning.
      await ctx.thread.cancel();
      tell(ctx, `message blocked: ${reason}`);
    } catch {
      tell(ctx, `a message should be blocked, which this version of Amp cannot do: ${reason}`);
    }
  };

  // Amp sends this for each thread that the user opens, also if it was open before.
  amp.on("session.start", (/** @type {any} */ { thread }, /** @type {any} */ ctx) => {
    const it = state(thread.id);
    it.started ??= ask("session.start", thread.id, ctx, { source: "startup" });
    return it.started.then(() => {});
  });

  amp.on("agent.start", async (/** @type {any} */ { thread, message }, /** @type {any} */ ctx) => {
    const it = state(thread.id);
    await it.started;
    if (message === it.ours) {
      it.ours = undefined;
    } else {
      [it.prompt, it.followUps] = [message, 0];
      const { deny } = await ask("agent.start", thread.id, ctx, { prompt: message });
      if (deny !== undefined) await refuse(deny, ctx);
    }
    const content = it.waiting.splice(0).join("\n\n");
    return content === "" ? {} : { message: { content, display: false } };
  });

  amp.on("tool.call", async (/** @type {any} */ event, /** @type {any} */ ctx) => {
    const answer = await ask("tool.call", event.thread.id, ctx, tool(event));
    const message = await refusal(answer, ctx);
    if (message !== undefined) return { action: "reject-and-continue", message };
    return answer.input === undefined ? { action: "allow" } : { action: "modify", input: answer.input };
  });

  amp.on("tool.result", async (/** @type {any} */ event, /** @type {any} */ ctx) => {
    const { deny, output } = await ask("tool.result", event.thread.id, ctx, { ...tool(event), ...result(event) });
    // Both fields have the reason: the model may read either.
    if (deny !== undefined) return { status: "error", error: deny, output: deny };
    const { waiting } = state(event.thread.id);
    const context = waiting.join("\n\n");
    const now = output === undefined ? event.output : like(event.output, output);
    const told = context === "" ? undefined : withText(now, context);
    if (told !== undefined) waiting.length = 0;
    if (output === undefined && told === undefined) return undefined;
    const error = event.error === undefined || output === undefined ? {} : { error: textOf(output) };
    return { status: event.status, output: told ?? now, ...error };
  });

  amp.on("agent.end", async (/** @type {any} */ { thread, status, messages }, /** @type {any} */ ctx) => {
    if (status !== "done") return undefined;
    const it = state(thread.id);
    const last = messages.filter((/** @type {any} */ one) => one.role === "assistant").at(-1);
    const data = { prompt: it.prompt, last_assistant_message: partsOf(last?.content), loop_count: it.followUps };
    const { follow_up: text } = await ask("agent.end", thread.id, ctx, data);
    if (text === undefined) return undefined;
    if (it.followUps >= MAX_FOLLOW_UPS) {
      tell(ctx, `hooks made the agent go on ${it.followUps} times in a row: it stops now`);
      return undefined;
    }
    it.followUps += 1;
    it.ours = text;
    return { action: "continue", userMessage: text, maxContinuations: MAX_FOLLOW_UPS };
  });

  // Amp waits 3 s for this, at its end or when it loads its plugins again.
  amp.onDispose?.(() => Promise.all([...threads.keys()].map((id) => ask("dispose", id, undefined, { reason: "exit" }))));
}

/** The fields of a tool call. */
function tool(/** @type {any} */ { tool, toolUseID, input }) {
  return { tool_name: tool, tool_input: input, tool_use_id: toolUseID };
}

/** The fields of an output, with the exit status of a shell. A failed tool has an object. */
function result(/** @type {any} */ { status, output, error }) {
  const isPlain = status === "done" || error === undefined;
  const code = isObject(output) && Number.isInteger(output.exitCode) ? { exit_status: output.exitCode } : {};
  return { tool_response: isPlain ? (output ?? "") : { error, output, isError: true }, ...code };
}

/** A new output in the form of the old one: a shell's output is beside its exit status. */
function like(/** @type {any} */ old, /** @type {unknown} */ output) {
  if (!isObject(old) || !isText(old.output)) return isText(output) ? output : JSON.stringify(output);
  return { output: textOf(output), ...(old.exitCode === undefined ? {} : { exitCode: old.exitCode }) };
}

/** The text of an output of hooks. */
function textOf(/** @type {any} */ output) {
  const it = isObject(output) && isText(output.output) ? output.output : output;
  return isText(it) ? it : JSON.stringify(it);
}

/** An output with more text for the model; `undefined` for a form that has no place for text. */
function withText(/** @type {any} */ output, /** @type {string} */ more) {
  if (isText(output)) return `${output}\n\n${more}`;
  if (Array.isArray(output)) return [...output, { type: "text", text: more }];
  return isObject(output) && isText(output.output) ? { ...output, output: `${output.output}\n\n${more}` } : undefined;
}

/** The text of the parts of a message. */
function partsOf(/** @type {any} */ content) {
  const parts = (Array.isArray(content) ? content : []).filter((it) => it.type === "text");
  return parts.map((it) => it.text).join("\n");
}
