// Reads case files.

import { readFile } from "node:fs/promises";

/** The largest case file, in bytes, as in `hookbox test`. */
const MAX_FILE = 1 << 20;

/** The largest number of times that a hook gets the event of a case. */
const MAX_TIMES = 100;

/** The causes of a failure that a run without the sandbox finds. */
const CAUSES = ["denied", "exit"];

/** The keys of a case, with the types of their values; "" for any. */
const CASE_KEYS = {
  name: "string",
  event: "string",
  command: "string",
  data: "table",
  times: "number",
  settings: "table",
  on_failure: "string",
  grants: "array",
  store: "table",
  expect: "table",
  before: "",
  clock: "",
  environment: "",
  every: "",
  files: "",
  http: "",
};

/** The keys of an expected answer, with the types of their values. */
const EXPECT_KEYS = {
  verdict: "string",
  reason: "string",
  input: "",
  output: "",
  message: "",
  error: "",
  changed: "boolean",
  context: "array",
  warnings: "array",
  follow_ups: "array",
  callback: "string",
  log: "string",
  store: "table",
  failure: "string",
  files: "",
  fuel: "",
  memory: "",
  requests: "",
};

/** @type {Record<string, string>} */
const BASE_COAT = {
  SessionStart: "session_start",
  SessionEnd: "session_end",
  PreToolUse: "before_tool_call",
  PostToolUse: "after_tool_call",
  OnError: "on_error",
  PreCompact: "pre_compact",
  PostCompact: "post_compact",
  OnBudgetExceeded: "on_budget_exceeded",
};

/**
 * @typedef {object} Case
 * @property {string} name
 * @property {number} line
 * @property {string | undefined} needsSandbox the key that only `hookbox test` can honor
 * @property {string} event
 * @property {Record<string, any>} data
 * @property {number} times
 * @property {Record<string, any>} settings
 * @property {string | undefined} onFailure
 * @property {string[]} grants
 * @property {Record<string, any>} store
 * @property {Record<string, any> | undefined} expect the answer that must come, if the file has it yet
 */

/**
 * Reads the cases of a file.
 *
 * @param {string} path
 * @returns {Promise<Case[]>}
 */
export async function read(path) {
  const { parse } = await import("smol-toml");
  try {
    const content = await readFile(path);
    if (content.length > MAX_FILE) throw new Error(`has more than ${MAX_FILE} bytes`);
    const text = new TextDecoder("utf-8", { fatal: true }).decode(content);
    const cases = casesOf(text, parse(text));
    if (cases.length === 0) throw new Error("has no cases");
    return cases;
  } catch (error) {
    throw new Error(`${path}: ${error instanceof Error ? error.message : error}`);
  }
}

/**
 * @param {string} text
 * @param {Record<string, any>} file
 */
function casesOf(text, file) {
  check(file, { hook: "string", case: "array" }, "a case file");
  const tables = file.case ?? [];
  /** @type {number[]} */
  const heads = [];
  text.split("\n").forEach((line, index) => {
    if (/^\s*\[\[\s*case\s*\]\]/.test(line)) heads.push(index + 1);
  });
  /** @type {Case[]} */
  const cases = [];
  for (const [index, table] of tables.entries()) {
    const line = (heads.length === tables.length ? heads[index] : undefined) ?? 1;
    try {
      const found = caseOf(table, line);
      if (cases.some((it) => it.name === found.name)) {
        throw new Error(`a second case has the name ${JSON.stringify(found.name)}`);
      }
      cases.push(found);
    } catch (error) {
      throw new Error(`line ${line}: ${error instanceof Error ? error.message : error}`);
    }
  }
  return cases;
}

/** @param {any} value */
function typeOf(value) {
  if (Array.isArray(value)) return "array";
  if (value instanceof Date) return "time";
  return typeof value === "object" ? "table" : typeof value;
}

/**
 * @param {any} table
 * @param {Record<string, string>} keys
 * @param {string} what
 */
function check(table, keys, what) {
  if (typeOf(table) !== "table") throw new Error(`${what} is a table`);
  for (const [key, value] of Object.entries(table)) {
    const type = Object.hasOwn(keys, key) ? keys[key] : undefined;
    if (type === undefined) {
      const known = Object.keys(keys).join(", ");
      throw new Error(`${what} has no key ${JSON.stringify(key)}, expected one of: ${known}`);
    }
    if (type !== "" && typeOf(value) !== type) throw new Error(`\`${key}\` has a wrong type: ${typeOf(value)}`);
  }
}

/**
 * @param {Record<string, any>} table
 * @param {string} key
 */
function texts(table, key) {
  const found = table[key] ?? [];
  for (const it of found) if (typeof it !== "string") throw new Error(`\`${key}\` is a list of texts`);
  return found;
}

/**
 * @param {Record<string, any>} table
 * @param {string} key
 * @param {string[]} choices
 */
function choice(table, key, choices) {
  const found = table[key];
  if (found !== undefined && !choices.includes(found)) throw new Error(`\`${key}\` is one of: ${choices.join(", ")}`);
  return found;
}

/**
 * @param {any} table
 * @param {number} line
 * @returns {Case}
 */
function caseOf(table, line) {
  check(table, CASE_KEYS, "a case");
  const { name, command, expect, times = 1, data } = table;
  if (expect !== undefined) {
    check(expect, EXPECT_KEYS, "an expected answer");
    for (const key of ["context", "warnings", "follow_ups"]) texts(expect, key);
    choice(expect, "verdict", ["pass", "block", "ask", "allow"]);
  }
  if (name === undefined) throw new Error("a case needs a name");
  if (table.event === undefined && command === undefined) {
    throw new Error("a case needs an event; add `command` or `event`");
  }
  if (command !== undefined && data !== undefined) throw new Error("a case has a command or data, not both");
  if (!Number.isInteger(times) || times < 1 || times > MAX_TIMES) {
    throw new Error(`times is a number from 1 to ${MAX_TIMES}`);
  }
  const event = table.event ?? "before_tool_call";
  const found = {
    name,
    line,
    needsSandbox: undefined,
    event: (Object.hasOwn(BASE_COAT, event) ? BASE_COAT[event] : undefined) ?? event,
    // The values of TOML, such as a time, as JSON has them.
    data: JSON.parse(JSON.stringify(command === undefined ? data ?? {} : toolCall(command))),
    times,
    settings: table.settings ?? {},
    onFailure: choice(table, "on_failure", ["pass", "block"]),
    grants: texts(table, "grants"),
    store: table.store ?? {},
    expect,
  };
  return { ...found, needsSandbox: needsSandbox(table, found) };
}

/** @param {string} command */
function toolCall(command) {
  return { tool_name: "bash", tool_input: { command } };
}

/**
 * Returns the first key that this harness cannot honor.
 *
 * @param {Record<string, any>} table
 * @param {Case} found
 */
function needsSandbox(table, found) {
  const expect = found.expect ?? {};
  const keys = ["before", "clock", "environment", "every", "files", "http"].filter((key) => key in table);
  for (const key of ["files", "fuel", "memory", "requests"]) if (key in expect) keys.push(`expect.${key}`);
  // The envelope of the Base Coat specification. `hook` is also a field of kodelet's `on_error`.
  if ("hook" in found.data && found.event !== "on_error") keys.push("data.hook");
  for (const it of found.grants) if (!["store", "conversation", "allow"].includes(it)) keys.push(`grants: ${it}`);
  if (expect.failure !== undefined && !CAUSES.includes(expect.failure)) {
    keys.push(`expect.failure: ${expect.failure}`);
  }
  return keys[0];
}
