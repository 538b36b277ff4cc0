// The adapter for the Vercel AI SDK, with the SDK and a model that answers by a script.

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";

import { generateText, stepCountIs, streamText, tool } from "ai";
import { MockLanguageModelV3, simulateReadableStream } from "ai/test";
import { guard } from "hookbox/ai";
import { z } from "zod";

import { KILL, project } from "./project.js";

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};
const finishReason = (unified: "stop" | "tool-calls") => ({ unified, raw: undefined });

/** A model that calls the shell once, and then says what it has read. */
function model(command: string): MockLanguageModelV3 {
  let turn = 0;
  return new MockLanguageModelV3({
    doGenerate: async () => {
      turn += 1;
      const input = JSON.stringify({ command });
      const call = { type: "tool-call", toolCallId: "1", toolName: "shell", input } as const;
      const end = { type: "text", text: "Done." } as const;
      const [content, reason] = turn === 1 ? ([call, "tool-calls"] as const) : ([end, "stop"] as const);
      return { content: [content], finishReason: finishReason(reason), usage, warnings: [] };
    },
  });
}

/** Returns a tool that keeps its inputs. */
function shell(before = async () => {}) {
  const inputs: unknown[] = [];
  const it = tool({
    inputSchema: z.object({ command: z.string() }),
    execute: async (input) => {
      await before();
      inputs.push(input.command);
      return `ran ${input.command}`;
    },
  });
  return { inputs, tools: { shell: it } };
}

interface Seen {
  inputs: unknown[];
  /** What the model reads as the result of its call. */
  read: unknown;
  /** The messages after the result. */
  after: unknown[];
}

type Options = Parameters<typeof guard>[1];

async function talk(t: TestContext, scripts: Record<string, string>, options?: Options): Promise<Seen> {
  const { session } = project(t, scripts);
  const { inputs, tools } = shell();
  const guarded = guard(session, options);
  const mock = model("ls");
  const { prepareStep } = guarded;
  const stopWhen = stepCountIs(3);
  await generateText({ model: mock, prompt: "List.", tools: guarded.tools(tools), stopWhen, prepareStep });
  const [, ...messages] = mock.doGenerateCalls[1]?.prompt ?? [];
  const result = messages.find((it) => it.role === "tool")?.content[0];
  assert.ok(result?.type === "tool-result");
  return { inputs, read: result.output, after: messages.slice(2) };
}

test("without hooks, the tool runs", async (t) => {
  const { inputs, read, after } = await talk(t, {});
  assert.deepEqual([inputs, read, after], [["ls"], { type: "text", value: "ran ls" }, []]);
});

test("a guard stops a tool call, and the model reads the reason", async (t) => {
  const { inputs, read } = await talk(t, { before_tool_call: `echo '{"blocked":true,"reason":"Not here."}'` });
  assert.deepEqual([inputs, read], [[], { type: "error-text", value: "Not here." }]);
});

test("the tool gets the input that a hook has changed", async (t) => {
  const { inputs, read } = await talk(t, { before_tool_call: `echo '{"input":{"command":"ls -a"}}'` });
  assert.deepEqual([inputs, read], [["ls -a"], { type: "text", value: "ran ls -a" }]);
});

test("the user is asked, and decides", async (t) => {
  const scripts = { before_tool_call: `echo '{"decision":"ask","reason":"Sure?"}'` };
  const asked: unknown[] = [];
  const agreed = await talk(t, scripts, { ask: async ({ reason, proposed }) => asked.push([reason, proposed]) > 0 });
  assert.deepEqual([agreed.inputs, asked], [["ls"], [["Sure?", { command: "ls" }]]]);
  for (const options of [{ ask: () => false }, {}]) {
    const { inputs, read } = await talk(t, scripts, options);
    assert.deepEqual([inputs, read], [[], { type: "error-text", value: "Sure?" }]);
  }
});

test("a hook changes the result, stops the agent, and adds context for the next step", async (t) => {
  const changed = await talk(t, { after_tool_call: `echo '{"output":"[hidden]"}'` });
  assert.deepEqual(changed.read, { type: "text", value: "[hidden]" });
  const stopped = await talk(t, { after_tool_call: `echo '{"action":"block","reason":"Enough."}'` });
  assert.deepEqual(stopped.read, { type: "error-text", value: "ran ls\nstop and change course: Enough." });
  const context = `echo '{"action":"injectContext","additionalContext":["Be quick."]}'`;
  const { after } = await talk(t, { before_tool_call: context });
  const content = [{ type: "text", text: "Be quick." }];
  assert.deepEqual(after, [{ role: "user", content, providerOptions: undefined }]);
});

test("a process that is killed under the agent fails closed", async (t) => {
  const value = "hookbox: the process ended before it answered";
  const before = await talk(t, { before_tool_call: KILL });
  assert.deepEqual([before.inputs, before.read], [[], { type: "error-text", value }]);
  const after = await talk(t, { after_tool_call: KILL });
  assert.deepEqual([after.inputs, after.read], [["ls"], { type: "error-text", value: `error: ${value}` }]);
});

test("an error of a tool stays an error", async (t) => {
  const { session } = project(t, { on_error: `echo '{"error":"See docs."}'` });
  const { tools } = shell(() => Promise.reject(new Error("broken")));
  const { content } = await generateText({ model: model("ls"), prompt: "List.", tools: guard(session).tools(tools) });
  const error = content.find((it) => it.type === "tool-error");
  assert.equal(String(error?.error), "Error: See docs.");
});

test("a value that a schema has made stays, and the last output of a stream counts", async (t) => {
  const { session } = project(t, {});
  const seen: unknown[] = [];
  const when = tool({
    inputSchema: z.object({ at: z.coerce.date() }),
    async *execute({ at }) {
      seen.push(at);
      yield "soon";
      yield "now";
    },
  });
  const { when: guarded } = guard(session).tools({ when });
  const at = new Date(0);
  assert.equal(await guarded.execute?.({ at }, { toolCallId: "1", messages: [] }), "now");
  assert.deepEqual(seen, [at]);
});

test("a tool that the SDK does not run is refused", (t) => {
  const { session } = project(t, {});
  const away = tool({ inputSchema: z.object({}) });
  assert.throws(() => guard(session).tools({ away }), /cannot guard the tool away: it has no execute/);
});

test("streamText is guarded, too", async (t) => {
  const { session } = project(t, { before_tool_call: `echo '{"blocked":true,"reason":"Not here."}'` });
  const { inputs, tools } = shell();
  const call = { type: "tool-call", toolCallId: "1", toolName: "shell", input: '{"command":"ls"}' } as const;
  const finish = { type: "finish", finishReason: finishReason("tool-calls"), usage } as const;
  const stream = simulateReadableStream({ chunks: [call, finish] });
  const streaming = new MockLanguageModelV3({ doStream: { stream } });
  const { content } = streamText({ model: streaming, prompt: "List.", tools: guard(session).tools(tools) });
  const error = (await content).find((it) => it.type === "tool-error");
  assert.deepEqual([inputs, String(error?.error)], [[], "Error: Not here."]);
});
