import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { Ask, Hookbox, Json, Message } from "hookbox";

export type Answer = { text: string; calls: { id: string; name: string; input: unknown }[] };
export type Model = (messages: readonly Message[]) => Promise<Answer>;
export type AskUser = (question: Ask) => Promise<boolean>;

const execute = promisify(execFile);
const tools: Record<string, (input: Json) => Promise<string>> = {
  bash: async (input) => (await execute("sh", ["-c", String((input as { command?: Json }).command)])).stdout,
};

/** Works on a task until the model calls no more tools and no hook wants the agent to go on. */
export async function agent(hookbox: Hookbox, id: string, task: string, model: Model, ask: AskUser): Promise<string> {
  const session = hookbox.session(id);
  let messages: Message[] = [];
  const say = (...texts: string[]) => messages.push({ role: "user", content: texts.join("\n") });

  const start = await session.sessionStart({ source: "startup" });
  const { decision, context } = await session.userMessageSend({ message: task });
  if (decision.action === "block") return `error: ${decision.reason}`;
  say(decision.message, ...start.context, ...context);
  for (let turn_number = 1; ; turn_number += 1) {
    const answer = await model(messages);
    messages.push({ role: "assistant", content: answer.text });
    for (const { id, name, input } of answer.calls) {
      const tool = tools[name] ?? (() => Promise.reject(new Error(`there is no tool ${name}`)));
      const run = await session.tool({ tool_name: name, tool_input: input, tool_user_id: id }, tool, { ask });
      for (const warning of run.warnings) console.warn(`warning: ${warning}`); // For the user, never for the model.
      if (run.block?.code) console.warn(`to let this call through once: hookbox allow ${run.block.code}`);
      say(run.text, ...run.context);
    }
    const turn = await session.afterTurn({ turn_number, tools_used: answer.calls.length > 0, messages });
    if (turn.messages) messages = [...turn.messages];
    if (turn.context.length > 0) say(...turn.context);
    if (answer.calls.length > 0) continue;
    await session.turnEnd({ response: answer.text, turn_number });
    const { followUps } = await session.agentStop({ messages });
    if (followUps.length === 0) return session.sessionEnd({ reason: "exit" }).then(() => answer.text);
    say(...followUps);
  }
}
