/**
 * hookbox in Cline: calls `hookbox bridge cline` at the events of a session, and does what it answers.
 *
 * One file without dependencies, which Cline loads from `~/.cline/plugins/`. docs/src/agents.md describes the messages
 * between this file and the program. No environment variable changes anything here: the surroundings do not decide
 * about a guard.
 */

import { spawn } from "node:child_process";

/** The program, and the home directory of the installation. With another home directory the program blocks. */
const OPTIONS = { program: "hookbox", home: "" };

/** The time that the program gives itself, and the longest time for it. Cline ends the whole run after 3 s. */
const DEADLINE = "2s";
const LIMIT_MS = 2700;

/** The longest output and the longest warnings of the program, in bytes. */
const MAX_OUTPUT = 16 << 20;
const MAX_WARNINGS = 64 << 10;

/** The events at which a failure blocks. At the others it is a warning. */
const CAN_BLOCK = ["beforeRun", "beforeTool", "afterTool"];

/** @typedef {{ deny?: string, ask?: string, input?: object, output?: unknown, context?: string }} Answer */

/** The id of the session, if Cline names it, and its log. */
let session = { id: "", log: (/** @type {string} */ _) => {} };

/** The conversations whose beginning the hooks know. */
const begun = new Set();

export default {
  name: "hookbox",
  manifest: { capabilities: ["hooks"] },

  setup(/** @type {any} */ _api, /** @type {any} */ context) {
    const log = context?.logger?.log?.bind(context.logger);
    session = { id: context?.session?.sessionId ?? "", log: (message) => log?.(message) };
  },

  hooks: {
    /** A run begins with a message of the user. */
    async beforeRun(/** @type {any} */ { snapshot }) {
      const texts = [];
      const id = snapshot.conversationId ?? "";
      if (!begun.has(id)) {
        begun.add(id);
        texts.push((await ask("setup", snapshot, { source: "startup" })).context);
      }
      const answer = await ask("beforeRun", snapshot, { prompt: promptOf(snapshot) });
      // A thrown reason is shown to the user. One that is returned with `stop` is not.
      if (answer.deny !== undefined) throw new Error(answer.deny);
      texts.push(answer.context);
      const text = texts.filter((it) => it !== undefined).join("\n\n");
      return text === "" ? undefined : { appendContext: text };
    },

    async beforeTool(/** @type {any} */ { snapshot, toolCall, input }) {
      const answer = await ask("beforeTool", snapshot, { ...tool(toolCall, input) });
      const told = answer.context === undefined ? {} : { appendContext: answer.context };
      if (answer.deny !== undefined) return { skip: true, reason: answer.deny };
      // Cline asks its user, or without a terminal does not run the tool.
      if (answer.ask !== undefined) return { ...told, policy: { autoApprove: false } };
      return answer.input === undefined ? told : { ...told, input: answer.input };
    },

    async afterTool(/** @type {any} */ { snapshot, toolCall, input, result, durationMs }) {
      const data = { ...tool(toolCall, input), tool_response: result?.output, duration_ms: durationMs };
      const answer = await ask("afterTool", snapshot, data);
      const told = answer.context === undefined ? {} : { appendContext: answer.context };
      const output = answer.deny ?? answer.output;
      return output === undefined ? told : { ...told, result: { ...result, output } };
    },

    async afterRun(/** @type {any} */ { snapshot, result }) {
      if (result?.status === "completed") {
        await ask("afterRun", snapshot, { prompt: promptOf(snapshot), last_assistant_message: result.outputText });
      } else if (result?.status === "failed") {
        const { name, message } = result.error ?? {};
        await ask("runFailed", snapshot, { error: { name: name ?? "", message: message ?? "" } });
      }
    },
  },
};

/** The fields of a tool call. */
function tool(/** @type {any} */ call, /** @type {unknown} */ input) {
  return { tool_name: call.toolName, tool_input: input, tool_use_id: call.toolCallId };
}

/** What the user said last. */
function promptOf(/** @type {any} */ snapshot) {
  const isUsers = (/** @type {any} */ it) => it.role === "user" && it.metadata?.displayRole !== "system";
  const parts = snapshot.messages?.filter(isUsers).at(-1)?.content ?? [];
  const text = parts.filter((/** @type {any} */ it) => it.type === "text").map((/** @type {any} */ it) => it.text);
  return text.join("\n").replace(/^<user_input[^>]*>([^]*)<\/user_input>$/, "$1");
}

/**
 * Asks the hooks. A failure of the program blocks, if the event can be blocked.
 * @returns {Promise<Answer>}
 */
async function ask(/** @type {string} */ event, /** @type {any} */ snapshot, /** @type {object} */ data) {
  const agent = snapshot.parentAgentId ? { agent_id: snapshot.agentId } : {};
  const id = session.id || snapshot.conversationId;
  const payload = { hook_event_name: event, session_id: id, cwd: process.cwd(), ...agent, ...data };
  const { answer, failure, warnings } = await call(event, payload);
  for (const warning of warnings) warn(warning);
  if (answer !== undefined) return answer;
  const what = `${failure}; hint: check that ${OPTIONS.program} can be started, or run hookbox uninstall cline`;
  if (CAN_BLOCK.includes(event)) return { deny: `blocked, as hookbox failed: ${what}` };
  warn(what);
  return {};
}

/**
 * Runs the program for one event. This never fails: `failure` is the reason why there is no answer.
 * @returns {Promise<{ answer?: Answer, failure?: string, warnings: string[] }>}
 */
function call(/** @type {string} */ event, /** @type {object} */ payload) {
  const { program, home } = OPTIONS;
  return new Promise((resolve) => {
    const out = /** @type {Buffer[]} */ ([]);
    const err = /** @type {Buffer[]} */ ([]);
    let [size, noted] = [0, 0];
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let timer;
    let child;
    const failed = (/** @type {string} */ failure, /** @type {string[]} */ warnings = []) => {
      clearTimeout(timer);
      kill(child);
      resolve({ failure, warnings });
    };
    try {
      const place = home === "" ? [] : ["--home", home];
      const args = ["bridge", "cline", "--event", event, ...place, "--deadline", DEADLINE];
      // A group of its own, so that what it started ends with it.
      child = spawn(program, args, { detached: true, stdio: ["pipe", "pipe", "pipe"] });
    } catch (error) {
      return failed(`${program} cannot be started: ${error}`);
    }
    timer = setTimeout(() => failed(`${program} did not answer within ${LIMIT_MS} ms`), LIMIT_MS);
    child.on("error", (error) => failed(`${program} cannot be started: ${error.message}`));
    child.stdout.on("data", (/** @type {Buffer} */ part) => {
      size += part.length;
      if (size > MAX_OUTPUT) failed(`${program} printed more than ${MAX_OUTPUT} bytes`);
      else out.push(part);
    });
    child.stderr.on("data", (/** @type {Buffer} */ part) => {
      noted += part.length;
      if (noted <= MAX_WARNINGS) err.push(part);
    });
    child.on("close", (code, signal) => {
      clearTimeout(timer);
      const notes = Buffer.concat(err).toString();
      const lines = notes.split("\n").filter((line) => line.trim() !== "");
      const warnings = lines.map((line) => line.replace(/^hookbox: /, ""));
      if (code === 2) return resolve({ answer: { deny: notes.trim() || "blocked by hookbox" }, warnings: [] });
      if (code !== 0) return failed(`${program} ended with ${signal ?? `exit code ${code}`}`, warnings);
      const read = answerOf(Buffer.concat(out).toString());
      if (typeof read === "string") failed(`${program} answered ${read}`, warnings);
      else resolve({ answer: read, warnings });
    });
    // A program that ended without reading reports that by its exit code.
    child.stdin.on("error", () => {});
    child.stdin.end(JSON.stringify(payload));
  });
}

/**
 * Reads an answer: exactly one JSON object with fields of the right types, else a description of what was found.
 * @returns {Answer | string}
 */
function answerOf(/** @type {string} */ text) {
  const isObject = (/** @type {unknown} */ it) => typeof it === "object" && it !== null && !Array.isArray(it);
  let read;
  try {
    read = JSON.parse(text);
  } catch {
    return `what is not one JSON object: ${JSON.stringify(text.slice(0, 100))}`;
  }
  if (!isObject(read)) return "what is not one JSON object";
  const { decision, reason, ...rest } = read;
  if (decision !== undefined) {
    const isRight = ["deny", "ask"].includes(decision) && typeof reason === "string" && Object.keys(rest).length === 0;
    return isRight ? { [decision]: reason } : `a malformed decision: ${JSON.stringify(read).slice(0, 100)}`;
  }
  const is = {
    input: isObject,
    output: (/** @type {unknown} */ it) => it !== null,
    context: (/** @type {unknown} */ it) => typeof it === "string",
  };
  const odd = Object.entries(read).find(([name, value]) => !(Object.hasOwn(is, name) && is[name](value)));
  return odd === undefined ? read : `an unknown or wrong field ${JSON.stringify(odd[0])}`;
}

/** Writes to Cline's log, and never fails. */
function warn(/** @type {string} */ message) {
  try {
    session.log(`hookbox: ${message}`);
  } catch {
    // A log that is closed is not a reason to block.
  }
}

/** Ends the program and what it started. */
function kill(/** @type {import("node:child_process").ChildProcess | undefined} */ child) {
  if (child?.pid === undefined || child.exitCode !== null) return;
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {
    child.kill("SIGKILL");
  }
}
