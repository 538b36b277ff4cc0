// Runs the cases of a hook in node. It is JavaScript because node 18 and 20 run no TypeScript; `index.d.ts` has its types.

import { existsSync, readdirSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

import { read } from "./case.js";
import { compare, linesOf } from "./compare.js";
import { play } from "./play.js";

/** The imports of the world `hook-plain`. */
const IMPORTS = [
  "hookbox:hook/facts@0.2.0",
  "wasi:config/store@0.2.0-rc.1",
  "wasi:keyvalue/atomics@0.2.0-draft",
  "wasi:keyvalue/store@0.2.0-draft",
  "wasi:logging/logging@0.1.0-draft",
];

/** The number of instances that were loaded. A module is loaded once for each address, so each has its own. */
let loaded = 0;

/**
 * @param {string} hook
 * @param {string} cases
 */
export async function runCases(hook, cases) {
  const load = await bundle(hook);
  let passed = 0;
  /** @type {string[]} */
  const skipped = [];
  /** @type {string[]} */
  const failed = [];
  for (const file of filesOf(cases)) {
    for (const it of await read(file)) {
      const place = `${file}, line ${it.line}: ${escape(it.name)}`;
      if (it.needsSandbox !== undefined) {
        skipped.push(`skipped: ${place}: \`${escape(it.needsSandbox)}\` needs \`hookbox test\``);
        continue;
      }
      const came = await play(load, it).catch((error) => {
        throw new Error(`${place}: ${error instanceof Error ? error.message : error}`);
      });
      const lines = [place];
      for (const difference of compare(it, came)) {
        lines.push(`  ${escape(difference.what)}`);
        for (const [sign, line] of linesOf(difference)) lines.push(`    ${sign} ${escape(line)}`);
      }
      if (lines.length > 1) failed.push(lines.join("\n"));
      else passed += 1;
    }
  }
  let numbers = `${passed} passed, ${failed.length} failed`;
  if (skipped.length > 0) numbers += `, ${skipped.length} skipped`;
  console.log([...skipped, numbers].join("\n"));
  if (failed.length > 0) throw new Error(["a case failed", ...failed, numbers].join("\n\n"));
  if (passed === 0) throw new Error(`no case ran: ${numbers}`);
}

/**
 * Returns a function that loads a fresh instance of the hook: in hookbox, no variable lasts from one call to the next.
 *
 * @param {string} hook
 * @returns {Promise<() => Promise<any>>}
 */
async function bundle(hook) {
  const { build } = await import("esbuild");
  const host = fileURLToPath(new URL("./host.js", import.meta.url));
  const { outputFiles } = await build({
    entryPoints: [resolve(hook)],
    bundle: true,
    format: "esm",
    write: false,
    sourcemap: "inline",
    logLevel: "silent",
    alias: Object.fromEntries(IMPORTS.map((name) => [name, host])),
  });
  const code = Buffer.from(outputFiles[0]?.contents ?? []).toString("base64");
  return async () => {
    loaded += 1;
    const found = await import(`data:text/javascript;base64,${code}#${loaded}`);
    if (typeof found.hook?.run !== "function") throw new Error(`${hook} does not export a \`hook\` of defineHook`);
    return found.hook;
  };
}

/** @param {string} path */
function filesOf(path) {
  if (!existsSync(path) || !statSync(path).isDirectory()) return [path];
  const found = readdirSync(path).filter((name) => name.endsWith(".toml") && statSync(join(path, name)).isFile());
  return found.sort().map((name) => join(path, name));
}

/**
 * Returns a text without control characters, which a terminal would obey.
 *
 * @param {string} text
 */
function escape(text) {
  return text.replace(/[\u0000-\u001f\u007f-\u009f]/g, (it) => `\\u{${it.charCodeAt(0).toString(16)}}`);
}
