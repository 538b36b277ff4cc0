// The data of each event, with the names of JSON. The page "Events" of the book describes each field.

/** A value of JSON. */
export type Json = null | boolean | number | string | Json[] | JsonObject;

/** An object of JSON. */
export interface JsonObject {
  [key: string]: Json;
}

/** A message of the conversation. */
export interface Message {
  role: "user" | "assistant";
  content: string;
}

/** The use of tokens. */
export interface Usage {
  input_tokens?: number;
  output_tokens?: number;
  current_context_window?: number;
  max_context_window?: number;
}

/** The fields that each event may have, besides its own. The session adds `conv_id` and `cwd`. */
export interface EventData {
  recipe_name?: string;
  agent?: string;
  repository?: string;
  branch?: string;
  mode?: string;
  timestamp?: number | string;
  budget?: { used_tokens: number; effective_limit: number };
}

/** The data of `session_start`. */
export interface SessionStart extends EventData {
  source?: string;
}

/** The data of `user_message_send`. */
export interface UserMessage extends EventData {
  message: string;
}

/** The data of `before_tool_call`. The input is anything that JSON can express. */
export interface ToolCall extends EventData {
  tool_name: string;
  tool_input: unknown;
  tool_user_id?: string;
}

/** The data of `after_tool_call`. The output is anything that JSON can express. */
export interface ToolResult extends ToolCall {
  tool_output: unknown;
  success?: boolean;
  error?: string;
  duration_ms?: number;
  cost_tokens?: number;
  exit_status?: number;
}

/** The data of `on_error`. An error of a tool has the fields of its call. */
export interface ErrorEvent extends EventData, Partial<Omit<ToolCall, keyof EventData>> {
  error: string;
  source: "tool" | "turn" | "hook";
  kind?: string;
  attempt?: number;
  turn_number?: number;
  hook?: string;
}

/** The data of `after_turn`. */
export interface AfterTurn extends EventData {
  turn_number?: number;
  tools_used?: boolean;
  usage?: Usage;
  auto_compact_enabled?: boolean;
  auto_compact_threshold?: number;
  messages?: Message[];
}

/** The data of `turn_end`. */
export interface TurnEnd extends EventData {
  response?: string;
  turn_number?: number;
}

/** The data of `agent_stop`. */
export interface AgentStop extends EventData {
  messages?: Message[];
  usage?: Usage;
  invoked_recipe?: string;
  auto_compact_enabled?: boolean;
  auto_compact_threshold?: number;
  follow_ups?: number;
}

/** The data of `pre_compact`. */
export interface PreCompact extends EventData {
  trigger?: string;
  usage?: Usage;
  messages?: Message[];
}

/** The data of `post_compact`. */
export interface PostCompact extends EventData {
  trigger?: string;
  usage?: Usage;
  summary?: string;
}

/** The data of `on_budget_exceeded`. */
export interface BudgetExceeded extends EventData {
  usage?: Usage;
  threshold?: number;
}

/** The data of `session_end`. */
export interface SessionEnd extends EventData {
  reason?: string;
}
