// The adapter for the Vercel AI SDK. It needs nothing of the package `ai`, whose tools are plain objects.

import type { Json } from "./events.js";
import type { Session, ToolOptions } from "./session.js";

/** The options of {@link guard}. */
export interface GuardOptions extends Pick<ToolOptions, "ask"> {
  /** Is called with each note for the user. Never give it to the model. */
  onWarning?: (warning: string) => void;
}

/** The part of a tool that runs it, as the SDK calls it. */
type Execute = (input: unknown, call: { toolCallId: string; abortSignal?: AbortSignal }) => unknown;

/** The hooks of a session for a call of `generateText`, `streamText` or an agent. */
export interface Guard {
  /** Returns tools that ask the hooks before and after they run. A call that is blocked is an error for the model. */
  tools<T extends Record<string, object>>(tools: T): T;
  /** Adds the hooks' texts to the messages of the next step. */
  prepareStep<M>(step: { messages: M[] }): { messages?: (M | { role: "user"; content: string })[] };
}

/** Guards the tools of the Vercel AI SDK with the hooks of a session. */
export function guard(session: Session, { ask, onWarning }: GuardOptions = {}): Guard {
  let context: string[] = [];
  const guarded = (name: string, execute: Execute): Execute => {
    return async (input, call) => {
      const { toolCallId: tool_user_id, abortSignal: signal } = call;
      let output: unknown;
      const run = await session.tool(
        { tool_name: name, tool_input: input, tool_user_id },
        async (allowed) => (output = await last(execute(unlessChanged(allowed, input), call))),
        { ask, signal },
      );
      context.push(...run.context);
      if (onWarning) run.warnings.forEach(onWarning);
      // The SDK tells the model of an exception.
      if (run.block) throw new Error(run.ran ? run.text : run.block.reason);
      if (run.error !== undefined) throw new Error(run.error);
      return unlessChanged(run.output ?? null, output);
    };
  };
  return {
    tools: (tools) => {
      const entries = Object.entries(tools).map(([name, tool]) => {
        const { execute } = tool as { execute?: Execute };
        if (!execute) throw new TypeError(`hookbox cannot guard the tool ${name}: it has no execute`);
        return [name, { ...tool, execute: guarded(name, execute) }];
      });
      return Object.fromEntries(entries) as typeof tools;
    },
    prepareStep: ({ messages }) => {
      if (context.length === 0) return {};
      const content = context.join("\n");
      context = [];
      return { messages: [...messages, { role: "user", content }] };
    },
  };
}

/** Returns the original of JSON that hooks have left as it was: a schema may have made a date of a text. */
function unlessChanged(json: Json, original: unknown): unknown {
  return JSON.stringify(json) === JSON.stringify(original ?? null) ? original : json;
}

/** Returns the output of a tool, or the last one if it has several. Hooks judge the last, so the others stay here. */
async function last(running: unknown): Promise<unknown> {
  let output = await running;
  if (typeof output === "object" && output !== null && Symbol.asyncIterator in output) {
    for await (const next of output as AsyncIterable<unknown>) output = next;
  }
  return output;
}
