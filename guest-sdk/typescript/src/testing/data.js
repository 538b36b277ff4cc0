// Makes the context and the data of an event from kodelet's fields, as the bindings of a component give them.

import { commandOf, kindOf, pathsOf } from "./facts.js";

/** @typedef {Record<string, any>} Fields */

/**
 * @typedef {object} Wire
 * @property {string} tag
 * @property {any} val
 */

/**
 * The fields of each event, with the names that they have in a case.
 *
 * @type {Record<string, [string, string, string][]>}
 */
const FIELDS = {
  session_start: [["source", "source", "string"]],
  session_end: [["reason", "reason", "string"]],
  user_message_send: [["message", "message", "string"]],
  before_tool_call: [],
  after_tool_call: [
    ["durationMs", "duration_ms", "number"],
    ["exitStatus", "exit_status", "number"],
    ["costTokens", "cost_tokens", "number"],
  ],
  on_error: [
    ["message", "error", "string"],
    ["kind", "kind", "string"],
    ["attempt", "attempt", "number"],
  ],
  after_turn: [
    ["turnNumber", "turn_number", "number"],
    ["toolsUsed", "tools_used", "boolean"],
    ["autoCompactEnabled", "auto_compact_enabled", "boolean"],
    ["autoCompactThreshold", "auto_compact_threshold", "number"],
  ],
  turn_end: [
    ["response", "response", "string"],
    ["turnNumber", "turn_number", "number"],
  ],
  agent_stop: [
    ["invokedRecipe", "invoked_recipe", "string"],
    ["autoCompactEnabled", "auto_compact_enabled", "boolean"],
    ["autoCompactThreshold", "auto_compact_threshold", "number"],
    ["followUps", "follow_ups", "number"],
  ],
  pre_compact: [["trigger", "trigger", "string"]],
  post_compact: [
    ["trigger", "trigger", "string"],
    ["summary", "summary", "string"],
  ],
  on_budget_exceeded: [["threshold", "threshold", "number"]],
};

/** The events that have the conversation, and those that have tokens. */
const WITH_MESSAGES = ["after_turn", "agent_stop", "pre_compact"];
const WITH_USAGE = [...WITH_MESSAGES, "post_compact", "on_budget_exceeded"];

/**
 * Returns a field; null counts as absent.
 *
 * @param {Fields} fields
 * @param {string} name
 * @param {string} type
 */
function get(fields, name, type) {
  const value = fields[name] ?? undefined;
  if (value !== undefined && typeof value !== type) {
    throw new Error(`data: ${name}: expected ${type}, found ${JSON.stringify(value)}`);
  }
  return value;
}

/**
 * Returns the context of an event.
 *
 * @param {Fields} fields
 */
export function contextOf(fields) {
  const text = (/** @type {string} */ name) => get(fields, name, "string");
  return {
    conversationId: text("conv_id") ?? "",
    cwd: text("cwd") ?? "",
    invokedBy: fields.invoked_by === "subagent" ? "subagent" : "main",
    recipeName: text("recipe_name") || undefined,
    agent: text("agent"),
    repository: text("repository"),
    branch: text("branch"),
    mode: text("mode"),
    timestampMs: get(fields, "timestamp", "number") ?? Date.now(),
    budget: undefined,
  };
}

/**
 * Returns a tool call with its facts.
 *
 * @param {Fields} fields
 */
export function callOf(fields) {
  const name = get(fields, "tool_name", "string") ?? "";
  const input = fields.tool_input ?? null;
  const kind = kindOf(name);
  return {
    id: get(fields, "tool_user_id", "string"),
    name,
    kind,
    command: commandOf(kind, input),
    paths: pathsOf(kind, input, fields.cwd ?? "/"),
    input: documentOf(input),
  };
}

/**
 * Returns the event as the bindings give it.
 *
 * @param {string} event
 * @param {Fields} fields
 * @returns {Wire}
 */
export function eventOf(event, fields) {
  const tag = event.replaceAll("_", "-");
  const known = FIELDS[event];
  if (known === undefined) return { tag: "other", val: { name: event, data: documentOf(fields) } };
  /** @type {Record<string, any>} */
  const val = {};
  for (const [name, field, type] of known) val[name] = get(fields, field, type);
  if (event === "user_message_send" || event === "on_error") val.message ??= "";
  if (event === "agent_stop") val.followUps ??= 0;
  if (WITH_USAGE.includes(event)) val.usage = usageOf(fields);
  if (WITH_MESSAGES.includes(event)) val.messages = documentOf(fields.messages ?? []);
  if (event === "before_tool_call") return { tag, val: callOf(fields) };
  if (event === "after_tool_call") {
    const output = fields.tool_output ?? null;
    val.call = callOf(fields);
    val.output = documentOf(output);
    val.success = typeof output?.success === "boolean" ? output.success : undefined;
    val.error = typeof output?.error === "string" ? output.error : undefined;
  }
  if (event === "on_error") val.source = sourceOf(fields);
  return { tag, val };
}

/** @param {Fields} fields */
function sourceOf(fields) {
  if ("tool_name" in fields) return { tag: "tool", val: callOf(fields) };
  const hook = get(fields, "hook", "string");
  if (hook !== undefined) return { tag: "hook", val: hook };
  return { tag: "turn", val: get(fields, "turn_number", "number") };
}

/** @param {Fields} fields */
function usageOf(fields) {
  const usage = get(fields, "usage", "object");
  const number = (/** @type {string} */ name) => get(usage, name, "number") ?? 0;
  return usage && {
    inputTokens: number("input_tokens"),
    outputTokens: number("output_tokens"),
    currentContextWindow: number("current_context_window"),
    maxContextWindow: number("max_context_window"),
  };
}

/**
 * Returns a JSON value as a resource of the host.
 *
 * @param {any} value
 */
function documentOf(value) {
  const text = JSON.stringify(value);
  return {
    text: () => text,
    size: () => Buffer.byteLength(text),
    /** @param {string} pointer */
    get(pointer) {
      if (pointer !== "" && !pointer.startsWith("/")) return undefined;
      let found = value;
      for (const part of pointer.split("/").slice(1)) {
        const key = part.replaceAll("~1", "/").replaceAll("~0", "~");
        if (typeof found !== "object" || found === null || !Object.hasOwn(found, key)) return undefined;
        if (Array.isArray(found) && !/^\d+$/.test(key)) return undefined;
        found = found[key];
      }
      return JSON.stringify(found);
    },
  };
}
