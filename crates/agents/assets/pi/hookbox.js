/**
 * hookbox in Pi: calls `hookbox bridge pi` at the events of a session, and does what it answers.
 *
 * One file without dependencies, which Pi loads from `~/.pi/agent/extensions/`. hookbox has the messages between this file
 * and the program in crates/agents/assets/README.md. No environment variable changes anything here: the surroundings do
 * not decide about a guard.
 */

import { spawn } from "node:child_process";

/** The program, and the home directory of the installation. With another home directory the program blocks. */
const OPTIONS = { program: "hookbox", home: "" };

/** The time of the program for an event, in milliseconds: more than it gives itself. */
const LIMIT_MS = 20_000;

/** The longest text for the model that waits for a place where the model reads it, in characters. */
const MAX_WAITING = 64 << 10;

/** The number of times in a row that hooks may make a session go on. */
const MAX_FOLLOW_UPS = 8;

/** The answers that this plugin follows. */
const FOLLOWS = { decisions: ["deny", "ask"], fields: ["input", "output", "message", "context", "follow_up"] };

/** The events at which a failure blocks. At the others it is a warning. */
const CAN_BLOCK = ["input", "user_bash", "tool_call", "tool_result"];

/** Pi's own tools with a `path`, which Pi reads without an `@` at its beginning. */
const PATH_TOOLS = ["read", "write", "edit", "grep", "find", "ls"];

/** Pi calls this once for each session. */
export default function hookbox(/** @type {any} */ pi) {
  /** Text for the model. */
  const waiting = /** @type {string[]} */ ([]);
  /** The calls of the program that run. */
  const working = new Set();
  let [prompt, followUps] = ["", 0];
  /** The message with which hooks make the agent go on, until it arrives. */
  let ours = /** @type {string | undefined} */ (undefined);
  /** True from a message to the end of the agent's work on it, of which Pi tells late. */
  let isBusy = false;

  /**
   * Asks the hooks. A failure of the program blocks, if the event can be blocked. This never fails: at most events Pi goes
   * on after an error.
   * @returns {Promise<Answer>}
   */
  const ask = async (/** @type {string} */ event, /** @type {any} */ ctx, /** @type {object} */ data = {}) => {
    const session = { session_id: ctx.sessionManager.getSessionId(), cwd: ctx.cwd };
    const of = { agent: "pi", ...OPTIONS, limit: LIMIT_MS, cwd: ctx.cwd, ...FOLLOWS };
    const asked = call(of, event, { hook_event_name: event, ...session, ...data });
    working.add(asked);
    const { answer, failure, warnings } = await asked;
    working.delete(asked);
    for (const warning of warnings) tell(ctx, warning);
    if (answer !== undefined) {
      const length = waiting.reduce((sum, it) => sum + it.length, 0);
      if (length + (answer.context?.length ?? 0) > MAX_WAITING) tell(ctx, "too much text of hooks waits for the model: left out");
      else if (answer.context) waiting.push(answer.context);
      return answer;
    }
    const what = `${failure}; hint: check that ${OPTIONS.program} can be started, or run hookbox uninstall pi`;
    if (CAN_BLOCK.includes(event)) return { deny: `blocked, as hookbox failed: ${what}` };
    tell(ctx, what);
    return {};
  };

  /** Returns the reason why a call must not run. */
  const refusal = async (/** @type {Answer} */ { deny, ask: question }, /** @type {any} */ ctx) => {
    if (question === undefined) return deny;
    if (!ctx.hasUI) return `${question} (nobody is there to answer)`;
    const isAllowed = await ctx.ui.confirm("hookbox", question).catch(() => false);
    return isAllowed === true ? undefined : `the user did not allow this: ${question}`;
  };

  pi.on("session_start", async (/** @type {any} */ { reason }, /** @type {any} */ ctx) => {
    // The session goes on after a reload.
    if (reason !== "reload") await ask("session_start", ctx, { source: reason === "new" ? "clear" : reason });
  });

  pi.on("session_shutdown", async (/** @type {any} */ { reason }, /** @type {any} */ ctx) => {
    const end = Date.now() + LIMIT_MS;
    while ((working.size > 0 || (isBusy && ctx.isIdle())) && Date.now() < end) {
      await Promise.allSettled([...working, new Promise((done) => setTimeout(done, 5))]);
    }
    if (reason !== "reload") await ask("session_shutdown", ctx, { reason: reason === "quit" ? "exit" : reason });
  });

  pi.on("input", async (/** @type {any} */ { text, source }, /** @type {any} */ ctx) => {
    if (source === "extension" && text === ours) {
      ours = undefined;
      return;
    }
    [prompt, followUps] = [text, 0];
    const { deny, message } = await ask("input", ctx, { prompt });
    if (deny !== undefined) {
      tell(ctx, `message blocked: ${deny}`);
      if (!ctx.hasUI) process.exitCode = 1;
      return { action: "handled" };
    }
    return message === undefined ? undefined : { action: "transform", text: message };
  });

  pi.on("before_agent_start", () => {
    isBusy = true;
    const content = waiting.splice(0).join("\n\n");
    return content === "" ? undefined : { message: { customType: "hookbox", content, display: false } };
  });

  // A command that the user types behind `!`. Pi would run it after an error.
  pi.on("user_bash", async (/** @type {any} */ { command }, /** @type {any} */ ctx) => {
    const answer = await ask("user_bash", ctx, { tool_name: "bash", tool_input: { command } });
    const output = await refusal(answer, ctx);
    return output === undefined ? undefined : { result: { output, exitCode: 1, cancelled: false, truncated: false } };
  });

  pi.on("tool_call", async (/** @type {any} */ event, /** @type {any} */ ctx) => {
    const { toolName, input } = event;
    // Hooks judge the path that Pi uses.
    if (PATH_TOOLS.includes(toolName) && isText(input.path)) input.path = plain(input.path);
    const answer = await ask("tool_call", ctx, tool(event));
    const reason = await refusal(answer, ctx);
    if (reason !== undefined) return { block: true, reason };
    if (answer.input === undefined) return;
    // The tool gets this very object.
    for (const name of Object.keys(input)) delete input[name];
    Object.assign(input, answer.input);
  });

  pi.on("tool_result", async (/** @type {any} */ event, /** @type {any} */ ctx) => {
    const { deny, output } = await ask("tool_result", ctx, { ...tool(event), ...result(event) });
    const context = waiting.splice(0).join("\n\n");
    const more = context === "" ? [] : [{ type: "text", text: context }];
    const now = deny ?? output;
    if (now === undefined) return more.length === 0 ? undefined : { content: [...event.content, ...more] };
    const content = [{ type: "text", text: isText(now) ? now : JSON.stringify(now) }, ...more];
    // The details are for the user's screen and the session's file, and may have what a hook took out.
    return { content, details: {}, ...(deny === undefined ? {} : { isError: true }) };
  });

  pi.on("turn_end", async (/** @type {any} */ _event, /** @type {any} */ ctx) => {
    await ask("turn_end", ctx);
  });

  pi.on("agent_end", async (/** @type {any} */ { messages }, /** @type {any} */ ctx) => {
    try {
      const last = messages.filter((/** @type {any} */ it) => it.role === "assistant").at(-1);
      if (last?.stopReason === "error") {
        await ask("agent_error", ctx, { error: { name: "", message: last.errorMessage ?? "" } });
      } else if (last?.stopReason !== "aborted") {
        await goOn(await ask("agent_end", ctx, { prompt, last_assistant_message: textOf(last?.content), loop_count: followUps }), ctx);
      }
    } finally {
      isBusy = false;
    }
  });

  const goOn = async (/** @type {Answer} */ { follow_up: text }, /** @type {any} */ ctx) => {
    if (text === undefined) return;
    if (!ctx.hasUI) return tell(ctx, "a hook makes the agent go on, which is over without an interface: left out");
    if (followUps >= MAX_FOLLOW_UPS) return tell(ctx, `hooks made the agent go on ${followUps} times in a row: it stops now`);
    followUps += 1;
    ours = text;
    pi.sendUserMessage(text, { deliverAs: "followUp" });
  };

  pi.on("session_before_compact", async (/** @type {any} */ _event, /** @type {any} */ ctx) => {
    const { deny } = await ask("session_before_compact", ctx);
    if (deny === undefined) return;
    tell(ctx, `compaction blocked: ${deny}`);
    return { cancel: true };
  });

  pi.on("session_compact", async (/** @type {any} */ { compactionEntry }, /** @type {any} */ ctx) => {
    await ask("session_compact", ctx, { compact_summary: compactionEntry?.summary });
  });
}

/** The fields of a tool call. */
function tool(/** @type {any} */ { toolName, toolCallId, input }) {
  return { tool_name: toolName, tool_input: input, tool_use_id: toolCallId };
}

/** The fields of an output: text, or an object for images and for a tool that failed; and the exit status of a shell. */
function result(/** @type {any} */ { toolName, content, isError }) {
  const text = textOf(content);
  const status = toolName !== "bash" ? undefined : isError ? /Command exited with code (\d+)$/.exec(text)?.[1] : "0";
  if (status !== undefined) return { tool_response: text, exit_status: Number(status) };
  const isPlain = !isError && content.every((/** @type {any} */ it) => it.type === "text");
  return { tool_response: isPlain ? text : { content, isError: isError === true } };
}

/** The text of the parts of a message. */
function textOf(/** @type {any} */ content) {
  const parts = (Array.isArray(content) ? content : []).filter((it) => it.type === "text");
  return parts.map((it) => it.text).join("\n");
}

/** The path that Pi makes of this one, written so that Pi makes the same of it. */
function plain(/** @type {string} */ path) {
  const it = path.replace(/^@/, "").replace(/[\u00A0\u2000-\u200A\u202F\u205F\u3000]/g, " ");
  return it.startsWith("@") ? `./${it}` : it;
}

/** Tells the user, and never fails. */
function tell(/** @type {any} */ ctx, /** @type {string} */ message) {
  try {
    if (ctx.hasUI) ctx.ui.notify(`hookbox: ${message}`, "warning");
    else console.error(`hookbox: ${message}`);
  } catch {
    // A session that is over is not a reason to block.
  }
}
