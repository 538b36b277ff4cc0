// Tests of a hook. It is JavaScript because node 18 and 20 run no TypeScript; `index.d.ts` has its types.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { basename, resolve } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { contextOf, eventOf } from "./data.js";

/** @param {string} cases */
export function runCases(cases) {
  test(`the cases of ${cases}`, async (t) => {
    const results = resultsOf(cases);
    for (const it of results.cases) {
      await t.test(`${basename(it.file)}: ${it.name}`, () => {
        if (!it.passed) assert.fail(it.text);
      });
    }
    if (results.outdated.length > 0) assert.fail(results.outdated.join("\n"));
  });
}

/**
 * @typedef {object} Case
 * @property {string} name
 * @property {string} file
 * @property {boolean} passed
 * @property {string} text the differences of a case that failed
 */

/**
 * Returns the output of `hookbox test --json`.
 *
 * @param {string} cases
 * @returns {Record<"outdated", string[]> & Record<"cases", Case[]>}
 */
function resultsOf(cases) {
  const program = process.env.HOOKBOX || "hookbox";
  const ended = spawnSync(program, ["test", "--json", "--", cases], { encoding: "utf8", maxBuffer: Infinity });
  if (ended.error) {
    const getIt = "install hookbox (https://github.com/hookbox/hookbox), or name the program in the variable HOOKBOX";
    assert.fail(`cannot start ${program}: ${ended.error.message}\nhint: ${getIt}`);
  }
  try {
    return JSON.parse(ended.stdout);
  } catch {
    assert.fail(`hookbox test failed (exit code ${ended.status})\n${ended.stderr}`);
  }
}

/** The imports of the world `hook-plain`. */
const IMPORTS = [
  "hookbox:hook/facts@0.2.0",
  "wasi:config/store@0.2.0-rc.1",
  "wasi:keyvalue/atomics@0.2.0-draft",
  "wasi:keyvalue/store@0.2.0-draft",
  "wasi:logging/logging@0.1.0-draft",
];

/** The number of instances that were loaded. A module is loaded once for each address, so each call has its own. */
let loaded = 0;

/**
 * @param {string} hook
 * @param {string} event
 * @param {Record<string, any>} data
 * @param {Record<string, any>} settings
 */
export async function answer(hook, event, data = {}, settings = {}) {
  const { build } = await import("esbuild");
  const host = fileURLToPath(new URL("./host.js", import.meta.url));
  const files = [resolve(hook), host].map((file) => `export * from ${JSON.stringify(file)};`);
  const { outputFiles } = await build({
    stdin: { contents: files.join("\n"), resolveDir: process.cwd() },
    bundle: true,
    format: "esm",
    write: false,
    sourcemap: "inline",
    logLevel: "silent",
    alias: Object.fromEntries(IMPORTS.map((name) => [name, host])),
  });
  const code = Buffer.from(outputFiles[0]?.contents ?? []).toString("base64");
  loaded += 1;
  const found = await import(`data:text/javascript;base64,${code}#${loaded}`);
  if (typeof found.hook?.answer !== "function") throw new Error(`${hook} does not export a \`hook\` of defineHook`);
  const given = eventOf(event, data);
  const line = data.tool_input?.command;
  found.given.lines = typeof line === "string" ? [line] : [];
  found.given.settings = Object.entries(settings).map(([key, value]) => [
    key,
    typeof value === "string" ? value : JSON.stringify(value),
  ]);
  return found.hook.answer(given, contextOf(data));
}
