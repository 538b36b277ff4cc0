import type { Action, Answer } from "./answers.ts";
import type { Context, Event, ToolCall, Usage } from "./events.ts";
import { type Defaults, schema, settings, type Widened } from "./settings.ts";
import type { Document, JSONValue } from "./values.ts";

/** The name of an event: one of this package, or one of some agents, such as `notification`. */
export type EventName = Exclude<Event["event"], "other"> | (string & {});

/** An event that the hook wants to see. */
export interface Subscription {
  event: EventName;
  /** Only for these tools: names as agents spell them, or kinds such as `kind:shell`. */
  tools?: string[];
  /** The order among the hooks of this event: lower first, 50 by default. */
  priority?: number;
  /** True to run also after another hook has blocked; the answer then has no effect. */
  observe?: boolean;
}

/** A hook: its manifest, and its function. */
export interface Definition<S extends Defaults = Record<string, never>> {
  /** The name, for people; the file's name identifies the hook. */
  name: string;
  version: string;
  /** One sentence. */
  description: string;
  /** The events that it wants to see. */
  on: Subscription[];
  /** The answers that it may give beside pass, block, ask and warn. */
  answers?: ("modify" | "inject" | "follow-up" | "mutate" | "callback" | "allow")[];
  /** The rights that it asks for, as `hookbox grants` writes them: `store`, `conversation`. */
  asksFor?: string[];
  /** The policy for its failure; the user's settings go before it. */
  onFailure?: "pass" | "block";
  /** The settings with their defaults. hookbox checks the user's settings before an event, and `run` gets them. */
  settings?: S;
  /** Answers one event; undefined passes. Every call has a fresh instance: no variable lasts from one call to the
   * next. What is thrown is a failure of the hook, never a decision. */
  run(event: Event, context: Context, settings: Widened<S>): Answer | undefined;
}

/** Makes the exports of the component: `export const hook = defineHook({ … })`. */
export function defineHook<S extends Defaults = Record<string, never>>(definition: Definition<S>) {
  const defaults = definition.settings;
  const answer = (event: Event, context: Context): Answer => {
    const given = defaults ? settings(defaults) : ({} as Widened<S>);
    return definition.run(event, context, given) ?? { action: { type: "pass" } };
  };
  return {
    /** Answers one event. A test calls it; see `hookbox-sdk/testing`. */
    answer,
    /** `hookbox build` puts it into the component. */
    settingsSchema: defaults && schema(defaults),
    describe() {
      const answers: Record<string, boolean> = {};
      for (const answer of definition.answers ?? []) {
        answers[answer === "follow-up" ? "followUp" : answer] = true;
      }
      return {
        name: definition.name,
        version: definition.version,
        description: definition.description,
        subscriptions: definition.on.map(({ event, tools = [], priority, observe = false }) => ({
          event,
          tools,
          priority,
          observe,
        })),
        answers,
        capabilities: (definition.asksFor ?? []).map(capability),
        onFailure: definition.onFailure,
      };
    },
    run(context: Wire, event: { tag: string; val: Wire }) {
      const { action, context: texts = [], warnings = [], metadata = {} } = answer(toEvent(event), toContext(context));
      return {
        action: fromAction(action),
        context: texts,
        warnings,
        metadata: Object.entries(metadata).map(([key, value]) => [key, JSON.stringify(value)]),
      };
    },
  };
}

/** A record as the component's bindings give it. */
// biome-ignore lint/suspicious/noExplicitAny: the bindings have no types of their own
type Wire = any;

function capability(right: string) {
  const colon = right.indexOf(":");
  return colon < 0 ? { tag: right } : { tag: right.slice(0, colon), val: right.slice(colon + 1) };
}

function toContext(cx: Wire): Context {
  const { budget, ...rest } = cx;
  return {
    ...given(rest),
    timestampMs: Number(cx.timestampMs),
    ...(budget && {
      budget: { usedTokens: Number(budget.usedTokens), effectiveLimit: Number(budget.effectiveLimit) },
    }),
  } as Context;
}

/** Copies a record without its absent values, with numbers instead of 64-bit integers. */
function given(record: Wire): Record<string, unknown> {
  const found: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(record)) {
    if (value === undefined || value === null) continue;
    if (key === "usage") found.usage = toUsage(value);
    else if (key === "messages" || key === "input" || key === "output" || key === "data") {
      found[key] = toDocument(value);
    } else if (key === "call") found.call = toCall(value);
    else found[key] = typeof value === "bigint" ? Number(value) : value;
  }
  return found;
}

function toUsage(usage: Wire): Usage {
  return given(usage) as unknown as Usage;
}

function toCall(call: Wire): ToolCall {
  return given(call) as unknown as ToolCall;
}

function toDocument(remote: Wire): Document {
  return {
    get(pointer) {
      const text = remote.get(pointer) as string | null | undefined;
      return text === undefined || text === null || text === "null" ? undefined : (JSON.parse(text) as JSONValue);
    },
    value: () => JSON.parse(remote.text()) as JSONValue,
    text: () => remote.text() as string,
    size: () => Number(remote.size()),
  };
}

function toEvent({ tag, val }: { tag: string; val: Wire }): Event {
  const event = { event: tag.replaceAll("-", "_"), ...given(val) };
  if (tag !== "on-error") return event as Event;
  const { tag: type, val: source } = val.source;
  const number = source === undefined || source === null ? {} : { number: Number(source) };
  const known: Record<string, () => object> = {
    tool: () => ({ call: toCall(source) }),
    turn: () => number,
    hook: () => ({ name: source }),
  };
  return { ...event, source: { type, ...known[type]?.() } } as Event;
}

function fromAction(action: Action) {
  switch (action.type) {
    case "pass":
      return { tag: "pass" };
    case "block":
    case "ask":
    case "allow":
      return { tag: action.type, val: action.reason };
    case "modify":
      return { tag: "modify", val: JSON.stringify(action.value) };
    case "follow-up":
    case "mutate":
      return { tag: action.type, val: action.messages };
    case "callback":
      return { tag: "callback", val: { name: action.name, args: Object.entries(action.args) } };
  }
}
