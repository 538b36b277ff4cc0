// Tests of the harness: `node --test tests/*.test.js`.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { runCases } from "hookbox-sdk/testing";

const HOOK = fileURLToPath(new URL("./tour.ts", import.meta.url));
const CASES = fileURLToPath(new URL("../../tests-data/cases", import.meta.url));

/**
 * Returns what a run prints, and its error.
 *
 * @param {string} path
 */
async function run(path) {
  const print = console.log;
  let output = "";
  console.log = (text) => {
    output += `${text}\n`;
  };
  try {
    await runCases(HOOK, path);
    return { output, error: "" };
  } catch (error) {
    return { output, error: error instanceof Error ? error.message : String(error) };
  } finally {
    console.log = print;
  }
}

/**
 * Returns the error of a case file with this text.
 *
 * @param {string} text
 */
async function runText(text) {
  const dir = mkdtempSync(join(tmpdir(), "hookbox-sdk-"));
  try {
    const path = join(dir, "tour.toml");
    writeFileSync(path, text);
    return (await run(path)).error.replaceAll(path, "tour.toml");
  } finally {
    rmSync(dir, { recursive: true });
  }
}

test("the cases of every SDK pass", async () => {
  const { output, error } = await run(CASES);
  assert.equal(error, "");
  assert.match(output, /a clock needs the sandbox: `clock` needs `hookbox test`/);
  assert.match(output, /\n20 passed, 0 failed, 5 skipped\n$/);
});

test("a difference is shown as hookbox shows it", async () => {
  for (const [text, lines] of /** @type {[string, string][]} */ ([
    [
      "command = 'remove x'\nexpect = { reason = 'y' }",
      "  verdict\n    - pass\n    + block\n  reason\n    - y\n    + Do not remove files.",
    ],
    [
      "command = 'list'\nexpect = { input = { command = 'list' } }",
      '  input\n      {\n    -   "command": "list"\n    +   "command": "list --all"\n      }',
    ],
    ["command = 'fail'\nexpect = { verdict = 'block' }", "  failure\n    + exit: asked to fail"],
    ["command = 'exit'\nexpect = { verdict = 'block' }", "  failure\n    + exit: process.exit does not exist"],
    [
      "command = 'count'\ngrants = ['store']\nexpect = { store = { calls = '2', more = '' } }",
      "  store.calls\n    - 2\n    + 1\n  store.more\n    - ",
    ],
    ["command = 'x'\nexpect = { log = \"\\u001b[2J\" }", "  log\n    - \\u{1b}[2J\n    + "],
    ["event = 'session_start'\nexpect = {}", "  hook\n    + the hook is for before_tool_call,"],
    ["command = 'publish'", '  expect\n    + {\n    +   "verdict": "ask",'],
  ])) {
    const shown = await runText(`[[case]]\nname = 'x'\n${text}`);
    assert.ok(shown.startsWith(`a case failed\n\ntour.toml, line 1: x\n${lines}`), shown);
    assert.ok(shown.endsWith("0 passed, 1 failed"), shown);
  }
});

test("a wrong case file is an error with its line", async () => {
  for (const [text, error] of /** @type {[string, string][]} */ ([
    ["\n[[case]]\nname = 'x'\ncomand = 'ls'", 'line 2: a case has no key "comand"'],
    ["[[case]]\nname = 'x'\ncommand = 'ls'\nexpect = { raeson = '' }", "line 1: an expected answer has no key"],
    ["[[case]]\nname = 'x'", "line 1: a case needs an event"],
    ["[[case]]\nname = 'x'\ncommand = ''\ndata = {}", "line 1: a case has a command or data"],
    ["[[case]]\nname = 'x'\ncommand = ''\ntimes = 0", "line 1: times is a number from 1 to 100"],
    ["[[case]]\nname = 'x'\ncommand = 1", "line 1: `command` has a wrong type: number"],
    ["[[case]]\nname = 'x'\ncommand = ''\n[[case]]\nname = 'x'\ncommand = ''", "line 4: a second case"],
    ["[[case]]\nname = 'x'\ncommand = ''\nexpect = { verdict = 'no' }", "line 1: `verdict` is one of"],
    [
      "[[case]]\nname = 'x'\nevent = 'agent_stop'\ndata = { usage = 5 }",
      ", line 1: x: data: usage: expected object, found 5",
    ],
    ["[[case", ""],
    ["", "has no cases"],
  ])) {
    const shown = await runText(text);
    assert.ok(shown.startsWith(error.startsWith(",") ? `tour.toml${error}` : `tour.toml: ${error}`), `${text}\n${shown}`);
  }
});

test("a run without cases proves nothing", async () => {
  assert.match(await runText("[[case]]\nname = 'x'\ncommand = ''\nhttp = []"), /^no case ran/);
  assert.match((await run(join(CASES, "nothing.toml"))).error, /nothing\.toml: ENOENT/);
});
