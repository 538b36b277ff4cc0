// What an event's hooks have decided. A value to go on with exists only inside a decision that lets the agent go on.

import type { Json, JsonObject, Message } from "./events.js";

/** The reason why an event has no verdict of hookbox. The client blocks for each of them. */
export type FailureCause = "missing" | "version" | "killed" | "deadline" | "malformed" | "busy" | "refused";

/** An event without a verdict. The client turns it into a block. */
export class Failure extends Error {
  constructor(
    readonly kind: FailureCause,
    message: string,
  ) {
    super(message);
  }
}

/** A hook's reason for a decision. */
export interface Ruling {
  readonly reason: string;
  /** The name of the hook, or `hookbox`. */
  readonly by: string;
  /** `decision`, the failure of the hook, or a {@link FailureCause} of this client. */
  readonly cause: string;
  readonly rule?: string;
  /** Shows the user how to allow the call: `hookbox allow CODE`. Not for the model. */
  readonly code?: string;
}

/** The tool call may run, with this input. */
export interface Run {
  readonly action: "run";
  readonly input: Json;
  /** The hook that allows the call. The agent need not ask its user a question of its own. */
  readonly allowed?: Ruling;
}

/** The user must decide. */
export interface Ask extends Ruling {
  readonly action: "ask";
  /** The input to show to the user. To run the tool, call {@link Ask.userAgreed}. */
  readonly proposed: Json;
  /** Returns the permission to run the tool. Call it only after the user agreed. */
  userAgreed(): Run;
}

/** The agent must not go on. */
export interface Block extends Ruling {
  readonly action: "block";
}

/** A tool has run, and the agent should stop or change course. */
export interface OutputBlock extends Block {
  /** The output that the model may read. It is absent if the hooks could not judge it. */
  readonly output?: Json;
}

/** The agent goes on, with a message if the event has one. */
export interface Proceed {
  readonly action: "proceed";
}

/** What every verdict has. */
export interface Verdict {
  /** Texts for the model's next step. */
  readonly context: readonly string[];
  /** Notes for the user, never for the model. */
  readonly warnings: readonly string[];
  /** True if a hook changed the value. */
  readonly modified: boolean;
  /** Messages with which the agent goes on instead of stopping. */
  readonly followUps: readonly string[];
  /** Messages that are not applied, because hooks made the agent go on too often in a row. */
  readonly droppedFollowUps: readonly string[];
  /** The hooks' own data, by hook. */
  readonly metadata: JsonObject;
  /** The messages that replace the conversation. */
  readonly messages?: readonly Message[];
  /** The recipe to run. */
  readonly callback?: { readonly name: string; readonly args: Readonly<Record<string, string>> };
}

/** A verdict with a decision. */
export interface Decided<D> extends Verdict {
  readonly decision: D;
}

/** The decision about a tool call. */
export type ToolDecision = Run | Ask | Block;

/** The decision about a message of the user, with the message to send. */
export type MessageDecision = (Proceed & { readonly message: string }) | Block;

/** The decision about the output of a tool, with the output for the model. */
export type OutputDecision = (Proceed & { readonly output: Json }) | OutputBlock;

/** The decision about a step of the agent without a value. */
export type StepDecision = Proceed | Block;

/** The decision about an error, with its text. */
export type ErrorDecision = Proceed & { readonly error: string };

/** The decision of any event. */
export type AnyDecision = ToolDecision | MessageDecision | OutputDecision | StepDecision | ErrorDecision;

/** The verdict about an error, with the text to go on with. */
export interface ErrorVerdict extends Verdict {
  readonly error: string;
}

/** The verdict of any event. */
export interface AnyVerdict extends Verdict {
  readonly decision?: AnyDecision;
}

/** The action that goes on, and the key of its value, for each event that has a decision. */
const DECIDING = {
  before_tool_call: ["run", "input"],
  after_tool_call: ["proceed", "output"],
  user_message_send: ["proceed", "message"],
  on_error: ["proceed", "error"],
  pre_compact: ["proceed", undefined],
  on_budget_exceeded: ["proceed", undefined],
} as const;

/** The events without a decision. */
const TELLING = ["session_start", "session_end", "after_turn", "turn_end", "agent_stop", "post_compact"] as const;

/** The name of an event. */
export type EventName = keyof typeof DECIDING | (typeof TELLING)[number];

/** The names of all events. */
export const EVENTS = [...Object.keys(DECIDING), ...TELLING] as EventName[];

/** Returns the verdict for an event that hookbox has not judged. */
export function failed(name: EventName, failure: Failure): AnyVerdict {
  const reason = `hookbox: ${failure.message}`;
  const empty = { context: [], warnings: [], modified: false, followUps: [], droppedFollowUps: [], metadata: {} };
  if (name === "on_error" || !(name in DECIDING)) return { ...empty, warnings: [reason] };
  return { ...empty, decision: { action: "block", reason, by: "hookbox", cause: failure.kind } };
}

/** Reads the answer to a call. */
export function read(name: EventName, answer: JsonObject): AnyVerdict {
  const { error, result } = answer;
  if (isObject(error)) throw new Failure("refused", `the event was refused: ${text(error.message)}`);
  const verdict = isObject(result) ? result.structuredContent : undefined;
  if (!isObject(result) || result.isError === true || !isObject(verdict)) {
    const content = isObject(result) && Array.isArray(result.content) ? result.content[0] : undefined;
    throw malformed(isObject(content) ? text(content.text) : "the answer has no verdict");
  }
  if (verdict.version !== 1) throw new Failure("version", "the verdict has a version that this client does not know");
  const { messages, callback, modified = false, metadata = {} } = verdict;
  if (typeof modified !== "boolean" || !isObject(metadata)) throw malformed("the verdict is malformed");
  const decision = name in DECIDING ? decide(name as keyof typeof DECIDING, verdict.decision) : undefined;
  return {
    ...(decision && { decision }),
    context: texts(verdict.context),
    warnings: texts(verdict.warnings),
    modified,
    followUps: texts(verdict.follow_ups),
    droppedFollowUps: texts(verdict.dropped_follow_ups),
    metadata,
    ...(messages !== undefined && { messages: conversation(messages) }),
    ...(callback !== undefined && { callback: recipe(callback) }),
  };
}

function decide(name: keyof typeof DECIDING, decision: Json | undefined): AnyDecision {
  const [goOn, key] = DECIDING[name];
  if (!isObject(decision)) throw malformed("the verdict has no decision");
  const value = key && decision[key];
  const allowed = decision.allowed === undefined ? {} : { allowed: ruling(decision.allowed) };
  if (decision.action === "block" && name !== "on_error") {
    const output = name === "after_tool_call" && value !== undefined ? { output: value } : {};
    return { action: "block", ...ruling(decision), ...output };
  }
  if (key && value === undefined) throw malformed(`the decision has no ${key}`);
  const isText = name === "user_message_send" || name === "on_error";
  if (isText && typeof value !== "string") throw malformed(`the ${key} of the decision is not a text`);
  if (decision.action === "ask" && name === "before_tool_call") {
    const input = value as Json;
    const userAgreed = (): Run => ({ action: "run", input });
    return { action: "ask", ...ruling(decision), proposed: input, userAgreed };
  }
  if (decision.action !== goOn) throw malformed("the decision has an action that this client does not know");
  if (name === "before_tool_call") return { action: "run", input: value as Json, ...allowed };
  return { action: "proceed", ...(key && { [key]: value }) } as AnyDecision;
}

function ruling(it: Json): Ruling {
  if (!isObject(it)) throw malformed("the decision is malformed");
  const { reason, by, cause, rule, code } = it;
  if (typeof reason !== "string" || typeof by !== "string") throw malformed("the decision has no reason");
  return {
    reason,
    by,
    cause: typeof cause === "string" ? cause : "decision",
    ...(typeof rule === "string" && { rule }),
    ...(typeof code === "string" && { code }),
  };
}

function texts(list: Json = []): string[] {
  if (!Array.isArray(list) || !list.every((it) => typeof it === "string")) throw malformed("the verdict is malformed");
  return list;
}

function conversation(list: Json): Message[] {
  const isMessage = (it: Json) =>
    isObject(it) && (it.role === "user" || it.role === "assistant") && typeof it.content === "string";
  if (!Array.isArray(list) || !list.every(isMessage)) throw malformed("the messages of the verdict are malformed");
  return list as unknown as Message[];
}

function recipe(it: Json): { name: string; args: Record<string, string> } {
  const args = isObject(it) ? (it.args ?? {}) : undefined;
  const isRecipe = isObject(it) && typeof it.name === "string" && isObject(args);
  if (!isRecipe || !Object.values(args).every((arg) => typeof arg === "string")) {
    throw malformed("the callback of the verdict is malformed");
  }
  return { name: it.name as string, args: args as Record<string, string> };
}

function malformed(what: string): Failure {
  return new Failure("malformed", what);
}

function text(value: Json | undefined): string {
  return typeof value === "string" ? value : "it gives no reason";
}

/** Returns true for an object that is not an array. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
