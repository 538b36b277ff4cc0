/**
 * hookbox in OpenCode and Kilo: calls `hookbox bridge` at the events of a session, and does what it answers.
 *
 * One file without dependencies. OpenCode loads it from `~/.config/opencode/plugins/`, or by a line of `opencode.json`,
 * which can have options (see {@link Options}):
 *
 *     "plugin": [["file:///path/to/hookbox.js", { "program": "/path/to/hookbox" }]]
 *
 * hookbox has the messages between this file and the program in crates/agents/assets/README.md. No environment variable changes anything
 * here: what a guard does is not for the surroundings to decide.
 */

import { spawn } from "node:child_process";
import { isMainThread } from "node:worker_threads";

/**
 * @typedef {object} Options
 * @property {string} [program] The program: a path, or a name on PATH (default: `hookbox`).
 * @property {string} [home] The home directory that is meant: where the program finds another one it blocks (default: any).
 * @property {"block" | "pass"} [on_failure] What becomes of a message, a tool call or an output where the program cannot
 *   be started, says nothing in time, or answers with something that is not an answer (default: `block`). What a hook that fails means is
 *   for hookbox to say, which knows the hook's own `on_failure`.
 * @property {number} [timeout_ms] How long the program may take for one event, in milliseconds (default: 20 000, more
 *   than the program gives itself).
 */

const DEFAULTS = { program: "hookbox", home: "", on_failure: "block", timeout_ms: 20_000 };

/** The answers that this plugin follows. */
const FOLLOWS = { decisions: ["deny"], fields: ["input", "output", "message", "context", "follow_up"] };

/** The most text for the model that waits for a place where the model reads it, in characters. */
const MAX_WAITING = 64 << 10;

/** How often in a row hooks may make a session go on. The program counts, too. */
const MAX_FOLLOW_UPS = 8;

/** How many sessions are remembered. Of one that is forgotten the next event is as of one that was resumed. */
const MAX_SESSIONS = 500;

/** What is heard of OpenCode's bus. */
const HEARD = ["session.created", "session.deleted", "session.error", "session.idle", "session.compacted", "message.updated"];

/** Where a failure can block. Elsewhere it is a warning. */
const CAN_BLOCK = ["chat.message", "tool.execute.before", "tool.execute.after"];

/**
 * What is known of a session.
 * @typedef {object} Session
 * @property {string} id
 * @property {string} [parent] The session whose agent started it.
 * @property {Promise<void>} [begun] Settled when the hooks know that it began.
 * @property {string[]} waiting Text for the model.
 * @property {string} [prompt] What the user said last.
 * @property {string} [words] What the model said last.
 * @property {number} followUps
 * @property {string} [ours] The message with which hooks make it go on, until it arrives.
 * @property {Set<string>} answers The model's answers that hooks know.
 */

/**
 * The plugin.
 * @param {import("@opencode-ai/plugin").PluginInput} input
 * @param {Options} [given]
 */
export default async function hookbox({ client, directory }, given) {
  const options = settled(given);
  /** @type {Map<string, Session>} */
  const sessions = new Map();
  /** @type {Set<Promise<unknown>>} */
  const working = new Set();

  /** Tells the user, and never fails. */
  const warn = (/** @type {string} */ message) => {
    const quiet = (/** @type {() => unknown} */ tell) => Promise.resolve().then(tell).catch(() => {});
    quiet(() => client.app.log({ body: { service: "hookbox", level: "warn", message } }));
    quiet(() => client.tui.showToast({ body: { title: "hookbox", message, variant: "warning" } }));
    // The interface draws in the main thread and loads plugins in another: there this would write across its screen.
    if (isMainThread) console.error(`hookbox: ${message}`);
  };

  const session = (/** @type {string} */ id) => {
    let known = sessions.get(id);
    if (known === undefined) {
      known = { id, waiting: [], followUps: 0, answers: new Set() };
      sessions.set(id, known);
      const oldest = sessions.keys().next().value;
      if (sessions.size > MAX_SESSIONS && oldest !== undefined) sessions.delete(oldest);
    }
    return known;
  };

  /**
   * Asks the hooks. A failure of the program is an answer, too: by the policy, where the event can be blocked.
   * @param {string} event
   * @param {Session} of
   * @param {object} data
   * @returns {Promise<Answer>}
   */
  const ask = async (event, of, data = {}) => {
    const agent = of.parent === undefined ? {} : { agent_id: "subagent" };
    const payload = { hook_event_name: event, session_id: of.id, cwd: directory, ...agent, ...data };
    const { program, home, timeout_ms: limit } = options;
    const asked = call({ agent: AGENT, program, home, limit, cwd: directory, ...FOLLOWS }, event, payload);
    working.add(asked);
    const { answer, failure, warnings } = await asked.finally(() => working.delete(asked));
    for (const warning of warnings) warn(warning);
    if (answer !== undefined) {
      if (answer.context) wait(of, answer.context);
      return answer;
    }
    const hint = `hint: check that ${options.program} can be started; without hookbox, take this plugin out of OpenCode's configuration`;
    const what = `${failure}; ${hint}`;
    if (options.on_failure === "block" && CAN_BLOCK.includes(event)) return { deny: `blocked, as hookbox failed: ${what}` };
    warn(what);
    return {};
  };

  /** Text that reaches the model with the next message, output or summary. */
  const wait = (/** @type {Session} */ of, /** @type {string} */ text) => {
    const length = of.waiting.reduce((sum, it) => sum + it.length, text.length);
    if (length > MAX_WAITING) warn("text of hooks for the model is left out: too much of it waits");
    else of.waiting.push(text);
  };

  /** Makes sure that the hooks know of the session, once. */
  const begin = (/** @type {Session} */ of, /** @type {string} */ source) => {
    of.begun ??= ask("session.created", of, { source }).then(() => {});
    return of.begun;
  };

  /** A session that was there before this plugin was, or whose event is late. */
  const resume = async (/** @type {Session} */ of) => {
    if (of.begun === undefined) {
      const found = await Promise.resolve()
        .then(() => client.session.get({ path: { id: of.id } }))
        .catch(() => undefined);
      of.parent ??= found?.data?.parentID;
    }
    await begin(of, "resume");
  };

  const idle = async (/** @type {Session} */ of) => {
    const count = of.followUps;
    const data = { prompt: of.prompt, last_assistant_message: of.words, loop_count: count };
    const { follow_up: text } = await ask("session.idle", of, data);
    if (text === undefined) return;
    if (of.parent !== undefined) return warn("a hook makes a subagent go on, whose answer was already taken: left out");
    if (count >= MAX_FOLLOW_UPS) return warn(`hooks made the agent go on ${count} times in a row: it stops now`);
    of.followUps = count + 1;
    of.ours = text;
    await client.session.promptAsync({ path: { id: of.id }, body: { parts: [{ type: "text", text }] } });
  };

  return {
    "chat.message": async ({ sessionID }, { message, parts }) => {
      const of = session(sessionID);
      await resume(of);
      const own = parts.filter((part) => part.type === "text" && !part.synthetic);
      const prompt = own.map((part) => part.text).join("\n");
      if (of.ours !== undefined && of.ours === prompt) {
        of.ours = undefined;
      } else {
        of.prompt = prompt;
        of.followUps = 0;
        const answer = await ask("chat.message", of, { prompt });
        if (answer.deny !== undefined) {
          // OpenCode shows the user that something went wrong, and not what.
          warn(`message blocked: ${answer.deny}`);
          throw new Error(answer.deny);
        }
        if (answer.message !== undefined) {
          own.forEach((part, at) => (part.text = at === 0 ? answer.message : ""));
          if (own.length === 0) warn("a hook changed a message that has no text: left out");
        }
      }
      const text = taken(of);
      const last = parts.at(-1);
      if (text !== "" && last !== undefined) {
        // Parts are read in the order of their ids.
        const place = { id: `${last.id}h`, messageID: message.id, sessionID };
        parts.push({ ...place, type: "text", text, synthetic: true });
      }
    },

    "tool.execute.before": async ({ tool, sessionID, callID }, output) => {
      const of = session(sessionID);
      await resume(of);
      const data = { tool_name: tool, tool_input: output.args, tool_use_id: callID };
      const { deny, input } = await ask("tool.execute.before", of, data);
      if (deny !== undefined) throw new Error(deny);
      if (input === undefined) return;
      // The tool gets this very object.
      for (const name of Object.keys(output.args)) delete output.args[name];
      Object.assign(output.args, input);
    },

    "tool.execute.after": async ({ tool, sessionID, callID, args }, result) => {
      // A tool of the user's own may give nothing.
      if (result === undefined || result === null) return;
      const of = session(sessionID);
      const status = result.metadata?.exit;
      const data = {
        tool_name: tool,
        tool_input: args,
        tool_use_id: callID,
        tool_response: Array.isArray(result.content) ? { content: result.content } : result.output,
        ...(Number.isInteger(status) ? { exit_status: status } : {}),
      };
      const answer = await ask("tool.execute.after", of, data);
      if (answer.deny !== undefined) replace(result, answer.deny);
      else if (answer.output !== undefined) replace(result, answer.output);
      const text = taken(of);
      if (text !== "") append(result, text);
    },

    "experimental.text.complete": async ({ sessionID }, { text }) => {
      session(sessionID).words = text;
    },

    "experimental.session.compacting": async ({ sessionID }, output) => {
      const of = session(sessionID);
      await ask("experimental.session.compacting", of);
      const text = taken(of);
      if (text !== "") output.context.push(text);
    },

    event: async ({ event }) => {
      const data = /** @type {any} */ (event.properties ?? {});
      const id = data.sessionID ?? data.info?.sessionID ?? data.info?.id;
      if (typeof id !== "string" || !HEARD.includes(event.type)) return;
      try {
        await heard(event.type, session(id), data);
      } catch (error) {
        warn(`the event ${event.type} is lost: ${error}`);
      }
    },

    dispose: async () => {
      await Promise.allSettled(working);
      const main = [...sessions.values()].filter((of) => of.begun !== undefined && of.parent === undefined);
      await Promise.allSettled(main.map((of) => ask("dispose", of, { reason: "exit" })));
    },
  };

  /** An event of OpenCode's bus. */
  async function heard(/** @type {string} */ type, /** @type {Session} */ of, /** @type {any} */ data) {
    switch (type) {
      case "session.created":
        of.parent ??= data.info?.parentID;
        return begin(of, "startup");
      case "session.deleted":
        sessions.delete(of.id);
        return void (await ask("session.deleted", of, { reason: "deleted" }));
      case "session.error": {
        const { name, data: more } = data.error ?? {};
        return void (await ask("session.error", of, { error: { name: name ?? "", message: more?.message ?? "" } }));
      }
      case "message.updated": {
        const { role, id, time } = data.info ?? {};
        if (role !== "assistant" || !time?.completed || of.answers.has(id)) return;
        of.answers.add(id);
        return void (await ask("message.updated", of));
      }
      case "session.idle":
        return idle(of);
      case "session.compacted":
        return void (await ask("session.compacted", of));
    }
  }
}

/**
 * The options with their defaults. Anything else is an error, and OpenCode says so: a guard that is set up wrongly
 * must not look as if it were there.
 * @param {Options} [given]
 */
function settled(given) {
  for (const [name, value] of Object.entries(given ?? {})) {
    const isRight =
      (name === "program" && typeof value === "string" && value !== "") ||
      (name === "home" && typeof value === "string") ||
      (name === "on_failure" && (value === "block" || value === "pass")) ||
      (name === "timeout_ms" && Number.isInteger(value) && value > 0);
    if (!isRight) throw new Error(`hookbox: expected program, home, on_failure ("block" or "pass") or timeout_ms, found ${name}: ${JSON.stringify(value)}`);
  }
  return { ...DEFAULTS, ...given };
}

/** The text that waits for the model; it does not wait any more. */
function taken(/** @type {Session} */ of) {
  return of.waiting.splice(0).join("\n\n");
}

/** Puts another output in the place of a tool's. */
function replace(/** @type {any} */ result, /** @type {unknown} */ output) {
  const text = isText(output) ? output : JSON.stringify(output);
  if (Array.isArray(result.content)) result.content = [{ type: "text", text }];
  else result.output = text;
  // The same once more, for the user's screen; and files, which no hook examined.
  if (typeof result.metadata?.output === "string") result.metadata.output = text;
  if (result.attachments !== undefined) result.attachments = [];
}

/** Adds text for the model to an output. */
function append(/** @type {any} */ result, /** @type {string} */ text) {
  if (Array.isArray(result.content)) result.content.push({ type: "text", text });
  else result.output = `${result.output ?? ""}\n\n${text}`;
}
