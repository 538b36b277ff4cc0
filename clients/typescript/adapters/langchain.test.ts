// The adapter for LangChain.js, with its agent and a model that answers by a script.

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";

import { Command, MemorySaver, interrupt } from "@langchain/langgraph";
import { FakeToolCallingModel, HumanMessage, ToolMessage, createAgent, createMiddleware, tool } from "langchain";
import { type GuardOptions, guard } from "hookbox/langchain";
import { z } from "zod";

import { KILL, project } from "./project.js";

interface Seen {
  inputs: unknown[];
  /** The kinds and texts of the messages after the call. */
  read: unknown[];
}

type Work = (command: string) => unknown;

type Scripts = Record<string, string>;

async function talk(t: TestContext, scripts: Scripts, options?: GuardOptions, work?: Work): Promise<Seen> {
  const { session } = project(t, scripts);
  const inputs: unknown[] = [];
  const run = async ({ command }: { command: string }) => {
    inputs.push(command);
    return work ? await work(command) : `ran ${command}`;
  };
  const shell = tool(run, { name: "shell", description: "Runs a command.", schema: z.object({ command: z.string() }) });
  const call = { name: "shell", args: { command: "ls" }, id: "call-1", type: "tool_call" } as const;
  const model = new FakeToolCallingModel({ toolCalls: [[call], []] });
  const hookbox = createMiddleware({ name: "hookbox", ...guard(session, { ToolMessage, HumanMessage }, options) });
  const agent = createAgent({ model, tools: [shell], middleware: [hookbox] });
  const { messages } = await agent.invoke({ messages: [{ role: "user", content: "List." }] });
  const shown = messages.slice(2, -1).map((it) => [ToolMessage.isInstance(it) ? it.status : it.type, it.content]);
  return { inputs, read: shown };
}

test("without hooks, the tool runs", async (t) => {
  const { inputs, read } = await talk(t, {});
  assert.deepEqual([inputs, read], [["ls"], [["success", "ran ls"]]]);
});

test("a guard stops a tool call, and the model reads the reason", async (t) => {
  const { inputs, read } = await talk(t, { before_tool_call: `echo '{"blocked":true,"reason":"Not here."}'` });
  assert.deepEqual([inputs, read], [[], [["error", "Not here."]]]);
});

test("the tool gets the input that a hook has changed", async (t) => {
  const { inputs, read } = await talk(t, { before_tool_call: `echo '{"input":{"command":"ls -a"}}'` });
  assert.deepEqual([inputs, read], [["ls -a"], [["success", "ran ls -a"]]]);
});

test("the user is asked, and decides", async (t) => {
  const scripts = { before_tool_call: `echo '{"decision":"ask","reason":"Sure?"}'` };
  assert.deepEqual((await talk(t, scripts, { ask: async () => true })).inputs, ["ls"]);
  for (const options of [{ ask: () => false }, {}]) {
    assert.deepEqual(await talk(t, scripts, options), { inputs: [], read: [["error", "Sure?"]] });
  }
});

test("a hook changes the result, stops the agent, and adds context", async (t) => {
  const changed = await talk(t, { after_tool_call: `echo '{"output":"[hidden]"}'` });
  assert.deepEqual(changed.read, [["success", "[hidden]"]]);
  const stopped = await talk(t, { after_tool_call: `echo '{"action":"block","reason":"Enough."}'` });
  assert.deepEqual(stopped.read, [["error", "ran ls\nstop and change course: Enough."]]);
  const context = `echo '{"action":"injectContext","additionalContext":["Be quick."]}'`;
  const { read } = await talk(t, { before_tool_call: context });
  assert.deepEqual(read, [["success", "ran ls"], ["human", "Be quick."]]);
});

test("a process that is killed under the agent fails closed", async (t) => {
  const reason = "hookbox: the process ended before it answered";
  const before = await talk(t, { before_tool_call: KILL });
  assert.deepEqual(before, { inputs: [], read: [["error", reason]] });
  const after = await talk(t, { after_tool_call: KILL });
  assert.deepEqual(after, { inputs: ["ls"], read: [["error", `error: ${reason}`]] });
});

test("an error of a tool is an error that hooks may change", async (t) => {
  const fail = () => Promise.reject(new Error("broken"));
  const { read } = await talk(t, { on_error: `echo '{"error":"See docs."}'` }, {}, fail);
  assert.deepEqual(read, [["error", "See docs."]]);
});

test("an interrupt of the graph is not an error of the tool", async (t) => {
  const { session } = project(t, {});
  const about = { name: "shell", description: "Asks.", schema: z.object({}) };
  const shell = tool(() => `answer: ${String(interrupt("Which one?"))}`, about);
  const call = { name: "shell", args: {}, id: "call-1", type: "tool_call" } as const;
  const model = new FakeToolCallingModel({ toolCalls: [[call], []] });
  const hookbox = createMiddleware({ name: "hookbox", ...guard(session, { ToolMessage, HumanMessage }) });
  const agent = createAgent({ model, tools: [shell], middleware: [hookbox], checkpointer: new MemorySaver() });
  const thread = { configurable: { thread_id: "1" } };
  await agent.invoke({ messages: [{ role: "user", content: "Ask." }] }, thread);
  const { messages } = await agent.invoke(new Command({ resume: "this" }), thread);
  assert.equal(messages.find((it) => ToolMessage.isInstance(it))?.content, "answer: this");
});
