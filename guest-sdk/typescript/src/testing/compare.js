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
    add(key, expected, value, isDeepStrictEqual(value, expected));
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
    const text = value === false ? undefined : textOf(value);
    add(`store.${key}`, text, came.store[key], text === came.store[key]);
  }
  return found;
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
