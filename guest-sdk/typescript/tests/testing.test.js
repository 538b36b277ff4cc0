// Tests of the tests: `node --test tests/*.test.js`.

import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { answer } from "hookbox-sdk/testing";

const HOOK = fileURLToPath(new URL("./tour.ts", import.meta.url));

/** @param {string} command */
const line = (command) => ({ cwd: "/w", tool_name: "bash", tool_input: { command } });

test("a hook answers each event", async () => {
  const messages = [{ role: "user", content: "hello" }];
  for (const [event, data, want] of /** @type {[string, any, any][]} */ ([
    ["before_tool_call", line("remove x"), { action: { type: "block", reason: "Do not remove files." } }],
    ["before_tool_call", line("safe"), { action: { type: "allow", reason: "It only reads." } }],
    ["before_tool_call", line("facts"), { action: { type: "pass" }, context: ["runs facts"] }],
    ["before_tool_call", line("publish"), { action: { type: "ask", reason: "Are you sure?" } }],
    ["before_tool_call", line("list"), { action: { type: "modify", value: { command: "list --all" } } }],
    ["before_tool_call", line("count"), { action: { type: "pass" }, context: ["call 1"] }],
    ["before_tool_call", line("count"), { action: { type: "pass" }, context: ["call 1"] }],
    [
      "user_message_send",
      { cwd: "/w", message: "hello" },
      { action: { type: "modify", value: "hello in /w" }, warnings: ["greeted"] },
    ],
    ["agent_stop", { usage: { input_tokens: 5 } }, { action: { type: "follow-up", messages: ["go on"] } }],
    ["turn_end", { response: "done", turn_number: 1 }, { action: { type: "block", reason: "no" } }],
    ["pre_compact", { messages }, { action: { type: "pass" }, context: ["1 message"] }],
    ["session_start", {}, { action: { type: "pass" } }],
  ])) {
    assert.deepEqual(await answer(HOOK, event, data), want, event);
  }
});

test("settings and failures are those of the hook", async () => {
  const { action } = await answer(HOOK, "before_tool_call", line("remove x"), { reason: "Not on a Friday." });
  assert.deepEqual(action, { type: "block", reason: "Not on a Friday." });
  await assert.rejects(answer(HOOK, "before_tool_call", line("x"), { raeson: "x" }), /unknown setting `raeson`/);
  await assert.rejects(answer(HOOK, "before_tool_call", line("fail")), /asked to fail/);
});
