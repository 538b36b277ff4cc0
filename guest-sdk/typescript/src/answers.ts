import type { Message } from "./events.ts";
import type { JSONValue } from "./values.ts";

/** The decision of a hook. */
export type Action =
  | { type: "pass" }
  | { type: "block"; reason: string }
  | { type: "ask"; reason: string }
  | { type: "allow"; reason: string }
  | { type: "modify"; value: JSONValue }
  | { type: "follow-up"; messages: string[] }
  | { type: "mutate"; messages: Message[] }
  | { type: "callback"; name: string; args: Record<string, string> };

/** The answer to one event. Only the answers that the hook declares have an effect, beside pass, block, ask and warn. */
export interface Answer {
  /** The decision. */
  action: Action;
  /** Text for the model's next step. */
  context?: string[];
  /** Notes for the user. */
  warnings?: string[];
  /** For reports; without effect. */
  metadata?: Record<string, JSONValue>;
}

/** What an answer may have beside its decision. */
export type More = Omit<Answer, "action">;

/** Lets the action go on. */
export const pass = (more: More = {}): Answer => ({ action: { type: "pass" }, ...more });

/** Stops the action, for this reason. */
export const block = (reason: string, more: More = {}): Answer => ({ action: { type: "block", reason }, ...more });

/** Lets the user decide, for this reason. An agent that cannot ask does not do it. */
export const ask = (reason: string, more: More = {}): Answer => ({ action: { type: "ask", reason }, ...more });

/** Lets the call run without a question of the agent's own, for this reason, which reports show. It has an effect only if
 * no other hook blocked, asked or failed. */
export const allow = (reason: string, more: More = {}): Answer => ({ action: { type: "allow", reason }, ...more });

/** Replaces the subject of the event: a tool's input before the call, its output after it, the user's message
 * (a string), the text of an error (a string). */
export const modify = (value: JSONValue, more: More = {}): Answer => ({ action: { type: "modify", value }, ...more });

/** Makes the agent go on, with these as messages of the user. Without messages there is no action. */
export const followUp = (messages: string[], more: More = {}): Answer =>
  messages.length === 0 ? pass(more) : { action: { type: "follow-up", messages }, ...more };

/** Replaces the conversation. */
export const mutate = (messages: Message[], more: More = {}): Answer => ({
  action: { type: "mutate", messages },
  ...more,
});

/** Runs a recipe, such as `compact`. */
export const callback = (name: string, args: Record<string, string> = {}, more: More = {}): Answer => ({
  action: { type: "callback", name, args },
  ...more,
});

/** Passes, with text for the model's next step. */
export const inject = (text: string): Answer => pass({ context: [text] });

/** Passes, with a note for the user. */
export const warn = (note: string): Answer => pass({ warnings: [note] });
