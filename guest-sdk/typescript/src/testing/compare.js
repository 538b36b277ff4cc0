// Compares the answer that came with the one that must come, as `hookbox test` does.

import { isDeepStrictEqual } from "node:util";

import { textOf } from "./play.js";

/**
 * @typedef {object} Difference
 * @property {string} what the key of the expected answer, or `hook` if the case could not be judged
 * @property {any} expected
 * @property {any} came
 */

/**
 * Returns the lines with `-` for one that must come, `+` for one that came, else a space.
 *
 * @param {Difference} difference
 * @returns {[string, string][]}
 */
export function linesOf(difference) {
  const expected = split(difference.expected);
  const came = split(difference.came);
  const shorter = Math.min(expected.length, came.length);
  let start = 0;
  while (start < shorter && expected[start] === came[start]) start += 1;
  let end = 0;
  while (end < shorter - start && expected.at(-1 - end) === came.at(-1 - end)) end += 1;
  const signed = (/** @type {string} */ sign, /** @type {string[]} */ lines) =>
    lines.map((line) => /** @type {[string, string]} */ ([sign, line]));
  return [
    ...signed(" ", expected.slice(0, start)),
    ...signed("-", expected.slice(start, expected.length - end)),
    ...signed("+", came.slice(start, came.length - end)),
    ...signed(" ", expected.slice(expected.length - end)),
  ];
}

/** @param {any} value */
function split(value) {
  if (value === undefined) return [];
  const text = typeof value === "string" ? value : JSON.stringify(value, undefined, 2);
  return text.replace(/\n$/, "").split("\n");
}

/**
 * Returns the differences between the answer of a case and the one that came.
 *
 * @param {import("./case.js").Case} given
 * @param {import("./play.js").Came} came
 * @returns {Difference[]}
 */
export function compare(given, came) {
  if (came.unfit !== undefined) return [{ what: "hook", expected: undefined, came: came.unfit }];
  const { expect } = given;
  if (expect === undefined) return [{ what: "expect", expected: undefined, came: whole(came) }];
  /** @type {Difference[]} */
  const found = [];
  const add = (/** @type {string} */ what, /** @type {any} */ expected, /** @type {any} */ value, /** @type {boolean} */ isSame) => {
    if (!isSame) found.push({ what, expected, came: value });
  };
  const verdict = expect.verdict ?? "pass";
  add("verdict", verdict, came.verdict, verdict === came.verdict);
  for (const [key, text] of /** @type {const} */ ([["reason", came.reason], ["log", came.log]])) {
    if (key in expect) add(key, expect[key], text, text?.includes(expect[key]) ?? false);
  }
  for (const key of ["input", "output", "message", "error"]) {
    if (!(key in expect)) continue;
    const value = came.changed?.[0] === key ? came.changed[1] : undefined;
    const expected = JSON.parse(JSON.stringify(expect[key]));
    add(key, expected, value, matches(expected, value));
  }
  const isChanged = came.changed !== undefined;
  if ("changed" in expect) add("changed", expect.changed, isChanged, expect.changed === isChanged);
  for (const [key, texts] of /** @type {const} */ ([
    ["context", came.context],
    ["warnings", came.warnings],
    ["follow_ups", came.followUps],
  ])) {
    if (!(key in expect)) continue;
    /** @type {string[]} */
    const parts = expect[key];
    const isSame = parts.length === texts.length && parts.every((part, index) => texts[index]?.includes(part));
    add(key, parts, texts, isSame);
  }
  if ("callback" in expect) add("callback", expect.callback, came.callback, expect.callback === came.callback);
  const shown = came.failure && `${came.failure[0]}: ${came.failure[1]}`;
  add("failure", expect.failure, shown, expect.failure === came.failure?.[0]);
  for (const [key, value] of Object.entries(expect.store ?? {}).sort()) {
    if (partsOf(value) !== undefined) {
      add(`store.${key}`, value, came.store[key], matches(value, came.store[key]));
      continue;
    }
    const text = value === false ? undefined : textOf(value);
    add(`store.${key}`, text, came.store[key], text === came.store[key]);
  }
  return found;
}

/**
 * Returns the parts of a text, if the value is `{ contains = "…" }` or `{ contains = ["…", "…"] }`.
 *
 * @param {any} value
 * @returns {string[] | undefined}
 */
function partsOf(value) {
  if (typeof value !== "object" || value === null || Object.keys(value).join() !== "contains") return undefined;
  const parts = [value.contains].flat();
  return parts.length > 0 && parts.every((part) => typeof part === "string") ? parts : undefined;
}

/**
 * Returns true if a value is as it must be. Somewhere in the expected one, `{ contains = "…" }` may be for a text.
 *
 * @param {any} expected
 * @param {any} came
 * @returns {boolean}
 */
function matches(expected, came) {
  const parts = partsOf(expected);
  if (parts !== undefined) {
    return isDeepStrictEqual(came, expected) || parts.every((part) => contains(came, part));
  }
  const isTable = (/** @type {any} */ it) => typeof it === "object" && it !== null;
  if (!isTable(expected) || !isTable(came)) return isDeepStrictEqual(came, expected);
  const keys = Object.keys(expected);
  return (
    Array.isArray(expected) === Array.isArray(came) &&
    keys.length === Object.keys(came).length &&
    keys.every((key) => key in came && matches(expected[key], came[key]))
  );
}

/**
 * Returns true if a text in a value has this part.
 *
 * @param {any} value
 * @param {string} part
 * @returns {boolean}
 */
function contains(value, part) {
  if (typeof value === "string") return value.includes(part);
  return typeof value === "object" && value !== null && Object.values(value).some((it) => contains(it, part));
}

/**
 * Returns what came, for a case that does not have its answer yet.
 *
 * @param {import("./play.js").Came} came
 */
function whole(came) {
  const { verdict, reason, changed, context, warnings, followUps, callback, store, failure } = came;
  const values = Object.entries({
    verdict, reason, context, warnings, follow_ups: followUps, callback, store, failure: failure?.[0],
    ...(changed && { [changed[0]]: changed[1] }),
  });
  const isEmpty = (/** @type {any} */ it) => it === undefined || (typeof it === "object" && Object.keys(it ?? {}).length === 0);
  return Object.fromEntries(values.filter(([, value]) => !isEmpty(value)));
}
