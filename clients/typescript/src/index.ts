// The client of hookbox: hooks for an agent in JavaScript or TypeScript.

export type * from "./events.js";
export { Hookbox } from "./hookbox.js";
export type { EventOptions, HookboxOptions, Notice } from "./hookbox.js";
export { Session } from "./session.js";
export type { SessionOptions, ToolOptions, ToolRun } from "./session.js";
export { EVENTS } from "./verdicts.js";
export type {
  AnyDecision,
  AnyVerdict,
  Ask,
  Block,
  Decided,
  ErrorDecision,
  ErrorVerdict,
  EventName,
  FailureCause,
  MessageDecision,
  OutputBlock,
  OutputDecision,
  Proceed,
  Ruling,
  Run,
  StepDecision,
  ToolDecision,
  Verdict,
} from "./verdicts.js";
