/** The data of every event. A value that the agent did not give is absent, never an invented default. */

// Written by `cargo xtask tables`. Change wit/types.wit instead.

import type { Document, ErrorSource } from "./values.ts";

/** The cause of an event. */
export type InvokedBy = "main" | "subagent";

/** The tokens that a conversation has used, and the room that is left. */
export interface Usage {
  /** Tokens sent to the model so far. */
  inputTokens: number;
  /** Tokens that the model produced so far. */
  outputTokens: number;
  /** Tokens that the context window holds now. */
  currentContextWindow: number;
  /** Tokens that it can hold. */
  maxContextWindow: number;
}

/** The used part of the context window, for guards of a budget. */
export interface TokenBudget {
  /** Tokens in the context window now. */
  usedTokens: number;
  /** Tokens at which it is full. */
  effectiveLimit: number;
}

/** The context of an event. It comes with every event. */
export interface Context {
  /** The conversation. */
  conversationId: string;
  /** The agent's working directory, absolute. A component cannot open it unless that was granted. */
  cwd: string;
  /** The main agent or a subagent. */
  invokedBy: InvokedBy;
  /** The recipe that the conversation runs, if any. */
  recipeName?: string;
  /** The agent's name, such as `backend-dev`. */
  agent?: string;
  /** The repository, such as `org/repo`. */
  repository?: string;
  /** The branch that is checked out. */
  branch?: string;
  /** The agent's mode, such as `plan` or `auto`. */
  mode?: string;
  /** The time, in milliseconds since 1970. */
  timestampMs: number;
  /** The token budget, if the agent gives it. */
  budget?: TokenBudget;
}

/** One message of a conversation. */
export interface Message {
  /** `user`, `assistant`, or what else the agent uses. */
  role: string;
  /** The text. */
  content: string;
}

/** The kind of a tool, independent of the agent's name for it. */
export type ToolKind = "shell" | "read" | "write" | "edit" | "search" | "fetch" | "mcp" | "agent" | "other";

/** A path that a file tool names, resolved by the host. */
export interface ResolvedPath {
  /** Absolute, without `.` and `..`, with symlinks followed as far as they exist. */
  path: string;
  /** True if it is in the working directory. */
  inside: boolean;
}

/** A tool call. `kind`, `command` and `paths` are facts that hookbox derives, so that a guard need not handle
 * every agent's spelling. `name` and `input` come from the agent, unchanged. */
export interface ToolCall {
  /** The call's id, if the agent gave one. */
  id?: string;
  /** The tool's name as the agent spells it; empty if it was not given. */
  name: string;
  /** The kind of the tool. */
  kind: ToolKind;
  /** The shell line of a shell tool. */
  command?: string;
  /** The paths of a file tool; empty for a shell line. */
  paths: ResolvedPath[];
  /** The input. Input that is not JSON is a JSON string. */
  input: Document;
}

/** A tool is about to run. The hook may block, ask, modify the input, inject and allow. */
export interface BeforeToolCall extends ToolCall {
  event: "before_tool_call";
}

/** A tool has run, or was blocked. The hook may block, modify the output and inject. */
export interface AfterToolCall {
  event: "after_tool_call";
  /** The call, with the input that the tool really got. */
  call: ToolCall;
  /** The output of the tool. */
  output: Document;
  /** True if the tool succeeded. */
  success?: boolean;
  /** The error. */
  error?: string;
  /** The duration, in milliseconds. */
  durationMs?: number;
  /** The exit status of a command. */
  exitStatus?: number;
  /** The cost, in tokens. */
  costTokens?: number;
}

/** A session begins. The hook may inject. */
export interface SessionStart {
  event: "session_start";
  /** The reason: `startup`, `resume`, `rotate` … */
  source?: string;
}

/** A session ends. */
export interface SessionEnd {
  event: "session_end";
  /** The reason: `exit`, `rotate` … */
  reason?: string;
}

/** The user sends a message. The hook may block, modify and inject. */
export interface UserMessageSend {
  event: "user_message_send";
  /** The text. */
  message: string;
}

/** A tool, a turn or a hook failed. The hook may modify the error's text and inject. */
export interface OnError {
  event: "on_error";
  /** The source. */
  source: ErrorSource;
  /** The message. */
  message: string;
  /** The class of the error, if the agent has one. */
  kind?: string;
  /** The number of the attempt, from 1. */
  attempt?: number;
}

/** The model has answered, with or without tool calls. The hook may inject, mutate and call back. */
export interface AfterTurn {
  event: "after_turn";
  /** The turn, from 1. */
  turnNumber?: number;
  /** True if the answer used tools. */
  toolsUsed?: boolean;
  /** Tokens. */
  usage?: Usage;
  /** True if the agent compacts by itself. */
  autoCompactEnabled?: boolean;
  /** The share of the window at which it compacts, from 0 to 1. */
  autoCompactThreshold?: number;
  /** The conversation, an array of messages; empty without the right `conversation`. */
  messages: Document;
}

/** A turn of the user is over. */
export interface TurnEnd {
  event: "turn_end";
  /** The last response of the agent. */
  response?: string;
  /** The turn, from 1. */
  turnNumber?: number;
}

/** The agent would stop, because it has no more tool calls to make. The hook may follow up, mutate and call back. */
export interface AgentStop {
  event: "agent_stop";
  /** The conversation, an array of messages; empty without the right `conversation`. */
  messages: Document;
  /** Tokens. */
  usage?: Usage;
  /** The recipe that started the session. */
  invokedRecipe?: string;
  /** True if the agent compacts by itself. */
  autoCompactEnabled?: boolean;
  /** The share of the window at which it compacts, from 0 to 1. */
  autoCompactThreshold?: number;
  /** The number of times in a row that hooks have already made this agent go on. */
  followUps: number;
}

/** The conversation is about to be compacted. The hook may block and inject. */
export interface PreCompact {
  event: "pre_compact";
  /** The reason: `auto`, `manual` … */
  trigger?: string;
  /** Tokens. */
  usage?: Usage;
  /** The conversation, an array of messages; empty without the right `conversation`. */
  messages: Document;
}

/** The conversation has been compacted. The hook may inject. */
export interface PostCompact {
  event: "post_compact";
  /** The reason: `auto`, `manual` … */
  trigger?: string;
  /** The summary that replaces it; absent without the right `conversation`. */
  summary?: string;
  /** Tokens. */
  usage?: Usage;
}

/** The token budget has passed a threshold. The hook may block, inject and call back. */
export interface OnBudgetExceeded {
  event: "on_budget_exceeded";
  /** Tokens. */
  usage?: Usage;
  /** The threshold that was passed, as a share of the window from 0 to 1. */
  threshold?: number;
}

/** An event of some agents, such as `notification`. */
export interface OtherEvent {
  event: "other";
  /** The name, in snake case. */
  name: string;
  /** The data, an object. */
  data: Document;
}

/** Every event; `event` tells them apart. */
export type Event =
  | SessionStart
  | SessionEnd
  | UserMessageSend
  | BeforeToolCall
  | AfterToolCall
  | OnError
  | AfterTurn
  | TurnEnd
  | AgentStop
  | PreCompact
  | PostCompact
  | OnBudgetExceeded
  | OtherEvent;
