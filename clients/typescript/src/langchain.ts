// The adapter for agents of LangChain.js. It needs nothing of the package `langchain` but the classes that it is given.

import type { GuardOptions } from "./ai.js";
import type { Session } from "./session.js";

export type { GuardOptions } from "./ai.js";

/** The classes of the package `langchain` that the adapter makes messages of. */
export interface Classes<T, H> {
  ToolMessage: new (fields: { content: string; tool_call_id: string; name: string; status: "success" | "error" }) => T;
  HumanMessage: new (content: string) => H;
}

/** The part of a request that the adapter reads. */
export interface Request {
  toolCall: { name: string; args: Record<string, unknown>; id?: string };
  runtime?: { signal?: AbortSignal };
}

/** The functions of a middleware. */
export interface Guard<T, H> {
  /** Asks the hooks before and after a tool runs. */
  wrapToolCall<R extends Request, M>(request: R, handler: (request: R) => M | Promise<M>): Promise<M | T>;
  /** Adds the hooks' texts to the conversation. */
  beforeModel(): { messages: H[] } | undefined;
}

/** Guards the tools of an agent with the hooks of a session: `createMiddleware({ name: "hookbox", ...guard(…) })`. */
export function guard<T, H>(session: Session, classes: Classes<T, H>, options: GuardOptions = {}): Guard<T, H> {
  const { ask, onWarning } = options;
  let context: string[] = [];
  return {
    wrapToolCall: async (request, handler) => {
      const { name, args, id = "" } = request.toolCall;
      const call = { tool_name: name, tool_input: args, tool_user_id: id };
      let result: Awaited<ReturnType<typeof handler>> | undefined;
      let signaled: unknown;
      const work = async (input: unknown) => {
        try {
          const args = input as Record<string, unknown>;
          result = await handler({ ...request, toolCall: { ...request.toolCall, args } });
        } catch (error) {
          // The graph is interrupted, and the tool runs again later.
          if ((error as { is_bubble_up?: unknown } | undefined)?.is_bubble_up === true) signaled = error;
          throw error;
        }
        const { content, status } = result as { content?: unknown; status?: string };
        if (status === "error") throw new Error(String(content));
        return content ?? result;
      };
      const run = await session.tool(call, work, { ask, signal: request.runtime?.signal });
      context.push(...run.context);
      if (onWarning) run.warnings.forEach(onWarning);
      if (signaled !== undefined) throw signaled;
      const judged = (result as { content?: unknown } | undefined)?.content ?? result;
      const isSame = JSON.stringify(run.output) === JSON.stringify(judged);
      const failed = run.block !== undefined || run.error !== undefined;
      if (result !== undefined && isSame && !failed) return result;
      // The status tells the model of an error.
      const content = run.block && !run.ran ? run.block.reason : (!run.block && run.error) || run.text;
      return new classes.ToolMessage({ content, tool_call_id: id, name, status: failed ? "error" : "success" });
    },
    beforeModel: () => {
      if (context.length === 0) return undefined;
      const message = new classes.HumanMessage(context.join("\n"));
      context = [];
      return { messages: [message] };
    },
  };
}
