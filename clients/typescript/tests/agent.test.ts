// The agent of the README.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { type Answer, agent } from "../examples/agent.js";
import type { Message } from "../src/index.js";
import { Project } from "./project.js";

const PACKAGE = fileURLToPath(new URL("../..", import.meta.url));

const call = (command: string) => ({ id: "1", name: "bash", input: { command } });

/** Runs the agent with the answers of a model, and returns its end and the conversation. */
async function talk(project: Project, answers: Answer[], agrees = false): Promise<[string, string[]]> {
  let seen: readonly Message[] = [];
  const model = async (messages: readonly Message[]) => {
    seen = messages;
    return answers.shift() ?? { text: "Done.", calls: [] };
  };
  const end = await agent(project.client(), "a", "Clean up.", model, async () => agrees);
  return [end, seen.map((it) => it.content)];
}

test("the agent runs what the hooks let through", async (t) => {
  const project = new Project(t);
  const no = `case $(cat) in *sudo*) echo '{"blocked":true,"reason":"No root here."}' ;; esac`;
  project.hook("no-sudo.sh", "before_tool_call", no);
  const calls = [call("sudo touch root"), call("echo fine"), { ...call(""), name: "other" }, call("exit 3")];
  const [end, messages] = await talk(project, [{ text: "First.", calls }]);
  assert.equal(end, "Done.");
  assert.deepEqual(messages.slice(0, 5), [
    "Clean up.",
    "First.",
    "error: No root here.",
    "fine\n",
    "error: there is no tool other",
  ]);
  assert.ok(!existsSync(join(project.directory, "root")));
});

test("the agent asks its user, and goes on as hooks wish", async (t) => {
  const project = new Project(t)
    .hook("ask.sh", "before_tool_call", `echo '{"decision":"ask","reason":"Sure?"}'`)
    .hook("more.sh", "agent_stop", `[ -e again ] || echo '{"follow_up_messages":["Run the tests."]}'; : > again`);
  const answer = { text: "First.", calls: [call("echo yes")] };
  const [, messages] = await talk(project, [answer], true);
  assert.deepEqual(messages.slice(2, 5), ["yes\n", "Done.", "Run the tests."]);
  assert.equal((await talk(project, [answer]))[1][2], "error: Sure? (the user was asked, and said no)");
});

test("the agent does not send a message that hooks block", async (t) => {
  const project = new Project(t).hook("no.sh", "user_message_send", `echo '{"blocked":true,"reason":"Not this."}'`);
  assert.deepEqual(await talk(project, []), ["error: Not this.", []]);
});

test("the README has the agent", () => {
  const [readme, code] = ["README.md", "examples/agent.ts"].map((it) => readFileSync(join(PACKAGE, it), "utf8"));
  assert.ok(readme?.includes(`\`\`\`ts\n${code}\`\`\`\n`));
});
