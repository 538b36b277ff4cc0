// Gives a hook the event of a case, and judges its answer as the host does.

import { contextOf, eventOf } from "./data.js";
import { factsOf } from "./facts.js";
import { CURRENT } from "./host.js";

/** The working directory that a hook sees. It does not exist, so that a case depends on no file of its author. */
const WORK = "/hookbox-case/repo";

/**
 * The answers that each event allows, beside passing and warning.
 *
 * @type {Record<string, string[]>}
 */
const ALLOWED = {
  session_start: ["inject"],
  session_end: [],
  user_message_send: ["block", "modify", "inject"],
  before_tool_call: ["block", "ask", "modify", "inject", "allow"],
  after_tool_call: ["block", "modify", "inject"],
  on_error: ["modify", "inject"],
  after_turn: ["inject", "mutate", "callback"],
  turn_end: [],
  agent_stop: ["follow-up", "mutate", "callback"],
  pre_compact: ["block", "inject"],
  post_compact: ["inject"],
  on_budget_exceeded: ["block", "inject", "callback"],
};

/**
 * The names of the values that events are about.
 *
 * @type {Record<string, string>}
 */
const SUBJECTS = {
  before_tool_call: "input",
  after_tool_call: "output",
  user_message_send: "message",
  on_error: "error",
};

/** @typedef {import("./case.js").Case} Case */
/** @typedef {import("./host.js").Host} Host */

/**
 * @typedef {object} Came
 * @property {string} [unfit] the reason why the case cannot be judged
 * @property {string} verdict
 * @property {string} [reason]
 * @property {[string, any]} [changed] the value that the hook changed, with its name in a case
 * @property {string[]} context
 * @property {string[]} warnings
 * @property {string[]} followUps
 * @property {string} [callback]
 * @property {string} log
 * @property {Record<string, string>} store
 * @property {[string, string]} [failure] the cause of the hook's failure, and its message
 */

/** @returns {Came} */
const nothing = () => ({ verdict: "pass", context: [], warnings: [], followUps: [], log: "", store: {} });

/**
 * Runs one case.
 *
 * @param {() => Promise<any>} load
 * @param {Case} given
 * @returns {Promise<Came>}
 */
export async function play(load, given) {
  /** @type {Host} */
  const host = { settings: pairs(given.settings), values: new Map(), hasStore: given.grants.includes("store"), wasDenied: false, log: "" };
  for (const [key, value] of Object.entries(given.store)) {
    if (value !== false) host.values.set(key, new TextEncoder().encode(textOf(value)));
  }
  const global = /** @type {any} */ (globalThis);
  const exit = process.exit;
  global[CURRENT] = host;
  // Otherwise the end of the program would be the success of the run.
  process.exit = () => {
    throw new Error("process.exit does not exist in a component");
  };
  try {
    let came = nothing();
    for (let time = 0; time < given.times; time += 1) {
      const hook = await load();
      const manifest = hook.describe();
      const unfit = unfitOf(manifest, given);
      if (unfit !== undefined) return { ...nothing(), unfit };
      host.wasDenied = false;
      came = call(hook, manifest, given, host);
    }
    came.log = host.log;
    for (const [key, value] of host.values) came.store[key] = neutral(new TextDecoder().decode(value));
    return came;
  } finally {
    process.exit = exit;
    delete global[CURRENT];
  }
}

/** @param {Record<string, any>} settings */
function pairs(settings) {
  return Object.entries(settings).map(([key, value]) => /** @type {[string, string]} */ ([key, textOf(value)]));
}

/** @param {any} value */
export function textOf(value) {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/**
 * Returns the reason why a case says nothing about the hook.
 *
 * @param {any} manifest
 * @param {Case} given
 */
function unfitOf(manifest, given) {
  const events = manifest.subscriptions.map((/** @type {any} */ it) => it.event);
  if (!events.includes(given.event)) return `the hook is for ${events.join(", ")}, not for ${given.event}`;
  const asked = [...manifest.capabilities.map((/** @type {any} */ it) => it.tag), ...Object.keys(manifest.answers)];
  const missing = given.grants.find((grant) => !asked.includes(grant));
  return missing && `the case grants ${missing}, and the hook does not ask for it`;
}

/**
 * Returns true if the hook asks for the conversation, and the event has it, and the case does not grant it.
 *
 * @param {any} manifest
 * @param {Case} given
 */
function isWithheld(manifest, given) {
  const field = given.event === "post_compact" ? "summary" : "messages";
  const hasIt = ["after_turn", "agent_stop", "pre_compact", "post_compact"].includes(given.event);
  const isAsked = manifest.capabilities.some((/** @type {any} */ it) => it.tag === "conversation");
  return hasIt && (given.data[field] ?? null) !== null && isAsked && !given.grants.includes("conversation");
}

/**
 * @param {any} hook
 * @param {any} manifest
 * @param {Case} given
 * @param {Host} host
 */
function call(hook, manifest, given, host) {
  /** @type {Record<string, any>} */
  const fields = { cwd: WORK, conv_id: "case", ...given.data };
  if (!given.grants.includes("conversation")) {
    delete fields.messages;
    if (given.event === "post_compact") delete fields.summary;
  }
  const context = contextOf(fields);
  const event = eventOf(given.event, fields);
  const tool = event.val.call ?? (event.tag === "before-tool-call" ? event.val : undefined) ??
    (event.val.source?.tag === "tool" ? event.val.source.val : undefined);
  const subscriptions = manifest.subscriptions.filter((/** @type {any} */ it) => it.event === given.event);
  host.facts = tool && factsOf(tool);
  const came = nothing();
  const isFor = (/** @type {string[]} */ tools) =>
    tools.length === 0 || tool === undefined || tools.includes(tool.name) || tools.includes(`kind:${tool.kind}`);
  if (!subscriptions.some((/** @type {any} */ it) => isFor(it.tools))) return came;
  const rights = isWithheld(manifest, given) ? ["conversation"] : [];
  const denied = () => (host.wasDenied ? [...rights, "store"] : rights);
  try {
    const response = hook.run(context, event);
    if (denied().length > 0) came.failure = ["denied", ""];
    if (!subscriptions.some((/** @type {any} */ it) => it.observe)) take(came, manifest, given, response);
  } catch (error) {
    const cause = denied().length > 0 ? "denied" : "exit";
    fail(came, manifest, given, cause, error instanceof Error ? error.message : String(error));
  }
  for (const right of denied()) {
    came.warnings.push(`${manifest.name} was denied ${right}; allow it with \`hookbox grants add\``);
  }
  return came;
}

/**
 * Takes the parts of an answer that the manifest declares and the event allows.
 *
 * @param {Came} came
 * @param {any} manifest
 * @param {Case} given
 * @param {any} response
 */
function take(came, manifest, given, response) {
  const { action, context, warnings } = response;
  came.warnings = warnings.map(neutral);
  /** @type {string[]} */
  const undeclared = [];
  const isFree = (/** @type {string} */ name) => {
    const key = name === "follow-up" ? "followUp" : name;
    if (!["pass", "block", "ask"].includes(name) && manifest.answers[key] !== true) {
      undeclared.push(name);
      return false;
    }
    // The agent decides about events that have no name here.
    const isAllowed = name === "pass" || (ALLOWED[given.event] ?? ["block", "inject"]).includes(name);
    if (!isAllowed) came.warnings.push(`${manifest.name} cannot ${name} at ${given.event}: not applied`);
    return isAllowed;
  };
  if (context.length > 0 && isFree("inject")) came.context = context.map(neutral);
  if (isFree(action.tag)) {
    const subject = SUBJECTS[given.event];
    if (action.tag === "allow" && !given.grants.includes("allow")) {
      came.failure = ["denied", ""];
      came.warnings.push(`${manifest.name} was denied allow; allow it with \`hookbox grants add\``);
    } else if (action.tag === "block" || action.tag === "ask" || action.tag === "allow") {
      came.verdict = action.tag;
      came.reason = neutral(action.val);
    } else if (action.tag === "modify" && subject !== undefined) {
      came.changed = [subject, JSON.parse(neutral(action.val))];
    } else if (action.tag === "follow-up") came.followUps = action.val.map(neutral);
    else if (action.tag === "callback") came.callback = action.val.name;
  }
  if (undeclared.length > 0) {
    const message = `gave answers that it does not declare (${undeclared.join(", ")}): not applied`;
    fail(came, manifest, given, "denied", message);
  }
}

/**
 * Notes a failure: a block if the policy is to block, and a warning.
 *
 * @param {Came} came
 * @param {any} manifest
 * @param {Case} given
 * @param {string} cause
 * @param {string} message
 */
function fail(came, manifest, given, cause, message) {
  const text = neutral(`${manifest.name} failed (${cause}): ${message}`);
  const blocks = (given.onFailure ?? manifest.onFailure) === "block";
  if (blocks && (ALLOWED[given.event] ?? ["block"]).includes("block")) {
    came.verdict = "block";
    came.reason = text;
  }
  came.warnings.push(text);
  came.failure = [cause, neutral(message)];
}

/**
 * Returns a text without the path of the working directory.
 *
 * @param {string} text
 */
function neutral(text) {
  return text.replaceAll(WORK, "$REPO");
}
