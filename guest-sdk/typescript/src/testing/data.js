// Makes the context and the data of an event from the fields of a case.

/** @typedef {Record<string, any>} Fields */

/** The events with data of their own. */
const KNOWN = [
  ["session_start", "session_end", "user_message_send", "before_tool_call", "after_tool_call", "on_error", "after_turn"],
  ["turn_end", "agent_stop", "pre_compact", "post_compact", "on_budget_exceeded"],
].flat();

/** The events that have the conversation. */
const WITH_MESSAGES = ["after_turn", "agent_stop", "pre_compact"];

/** The fields of every event. */
const OF_CONTEXT = ["recipe_name", "agent", "repository", "branch", "mode", "budget"];

/**
 * Returns the context of an event.
 *
 * @param {Fields} data
 */
export function contextOf(data) {
  return {
    conversationId: data.conv_id ?? "",
    cwd: data.cwd ?? process.cwd(),
    invokedBy: data.invoked_by ?? "main",
    timestampMs: data.timestamp ?? Date.now(),
    ...named(Object.fromEntries(OF_CONTEXT.map((name) => [name, data[name]]))),
  };
}

/**
 * Returns an event as the hook gets it.
 *
 * @param {string} event
 * @param {Fields} data
 */
export function eventOf(event, data) {
  const { tool_output: output, messages = [], error, ...fields } = data;
  if (!KNOWN.includes(event)) return { event: "other", name: event, data: documentOf(data) };
  if (event === "before_tool_call") return { event, ...callOf(data) };
  if (event === "after_tool_call") {
    const known = { success: output?.success, error: error ?? output?.error };
    return { event, ...named({ ...known, ...fields }), call: callOf(data), output: documentOf(output) };
  }
  if (event === "on_error") return { event, ...named(fields), source: sourceOf(data), message: error ?? "" };
  if (event === "agent_stop") fields.follow_ups ??= 0;
  return { event, ...named(fields), ...(WITH_MESSAGES.includes(event) && { messages: documentOf(messages) }) };
}

/** @param {Fields} data */
function callOf(data) {
  const { tool_name: name = "", tool_input: input, tool_user_id: id, paths = [] } = data;
  const command = typeof input?.command === "string" ? input.command : undefined;
  const kind = data.tool_kind ?? (command === undefined ? "other" : "shell");
  return { ...named({ id, command }), name, kind, paths, input: documentOf(input) };
}

/** @param {Fields} data */
function sourceOf(data) {
  if ("tool_name" in data) return { type: "tool", call: callOf(data) };
  if ("hook" in data) return { type: "hook", name: data.hook };
  return { type: "turn", ...named({ number: data.turn_number }) };
}

/**
 * Returns the fields with the names that they have here; null counts as absent.
 *
 * @param {any} fields
 * @returns {any}
 */
function named(fields) {
  if (typeof fields !== "object" || Array.isArray(fields)) return fields;
  const given = Object.entries(fields).filter(([, value]) => value !== undefined && value !== null);
  const camel = (/** @type {string} */ name) => name.replace(/_(\w)/g, (_, letter) => letter.toUpperCase());
  return Object.fromEntries(given.map(([name, value]) => [camel(name), named(value)]));
}

/**
 * @param {any} value
 * @returns {import("../values.ts").Document}
 */
function documentOf(value = null) {
  const text = JSON.stringify(value);
  return {
    text: () => text,
    size: () => Buffer.byteLength(text),
    value: () => JSON.parse(text),
    get(pointer) {
      if (pointer !== "" && !pointer.startsWith("/")) return undefined;
      let found = JSON.parse(text);
      for (const part of pointer.split("/").slice(1)) {
        const key = part.replaceAll("~1", "/").replaceAll("~0", "~");
        if (typeof found !== "object" || found === null || !Object.hasOwn(found, key)) return undefined;
        if (Array.isArray(found) && !/^\d+$/.test(key)) return undefined;
        found = found[key];
      }
      return found ?? undefined;
    },
  };
}
