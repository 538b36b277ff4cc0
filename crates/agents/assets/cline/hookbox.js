/**
 * hookbox in Cline: calls `hookbox bridge cline` at the events of a session, and does what it answers.
 *
 * One file without dependencies, which Cline loads from `~/.cline/plugins/`. hookbox has the messages between this file
 * and the program in crates/agents/assets/README.md. No environment variable changes anything here: the surroundings do
 * not decide about a guard.
 */

import { spawn } from "node:child_process";

/** The program, and the home directory of the installation. With another home directory the program blocks. */
const OPTIONS = { program: "hookbox", home: "" };

/** The time that the program gives itself, and the longest time for it. Cline ends the whole run after 3 s. */
const DEADLINE = "2s";
const LIMIT_MS = 2700;

/** The events at which a failure blocks. At the others it is a warning. */
const CAN_BLOCK = ["beforeRun", "beforeTool", "afterTool"];

/** The answers that this plugin follows. */
const FOLLOWS = { decisions: ["deny", "ask"], fields: ["input", "output", "context"] };

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
  const of = { agent: "cline", ...OPTIONS, deadline: DEADLINE, limit: LIMIT_MS, ...FOLLOWS };
  const { answer, failure, warnings } = await call(of, event, payload);
  for (const warning of warnings) warn(warning);
  if (answer !== undefined) return answer;
  const what = `${failure}; hint: check that ${OPTIONS.program} can be started, or run hookbox uninstall cline`;
  if (CAN_BLOCK.includes(event)) return { deny: `blocked, as hookbox failed: ${what}` };
  warn(what);
  return {};
}

/** Writes to Cline's log, and never fails. */
function warn(/** @type {string} */ message) {
  try {
    session.log(`hookbox: ${message}`);
  } catch {
    // A log that is closed is not a reason to block.
  }
}
