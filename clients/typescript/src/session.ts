// One conversation: a method for each event, and a whole tool call.

import type * as events from "./events.js";
import type { EventOptions, Hookbox } from "./hookbox.js";
import type * as verdicts from "./verdicts.js";

/** The options of a session. */
export interface SessionOptions {
  /** The working directory of the agent in this session. Default: that of the client. */
  cwd?: string;
  /** The session of which this is a subagent's. */
  parent?: string;
}

/** The options of a tool call. */
export interface ToolOptions extends EventOptions {
  /** Asks the user. Without it, a question of a hook is a block. */
  ask?: ((question: verdicts.Ask) => boolean | Promise<boolean>) | undefined;
}

/** The end of a tool call. */
export interface ToolRun {
  /** The text that the model reads as the result: the output, the error, or the reason of a block. */
  readonly text: string;
  /** The output that the model may read, if there is one. */
  readonly output?: events.Json;
  /** True if the tool ran. */
  readonly ran: boolean;
  /** The error of the tool, as hooks left it. */
  readonly error?: string;
  /** The ruling that kept the tool from running, or that stops the agent after it. */
  readonly block?: verdicts.Ruling;
  /** Texts for the model's next step. */
  readonly context: readonly string[];
  /** Notes for the user, never for the model. */
  readonly warnings: readonly string[];
}

/** The promise of a verdict with a decision. */
type Decided<D> = Promise<verdicts.Decided<D>>;

/** One conversation. Its events are answered in their order. */
export class Session {
  readonly #hookbox: Hookbox;
  readonly #options: SessionOptions;

  constructor(
    hookbox: Hookbox,
    /** The id of the conversation. */
    readonly id: string,
    options: SessionOptions,
  ) {
    this.#hookbox = hookbox;
    this.#options = options;
  }

  /** Returns the session of a subagent: the same hooks, and a conversation of its own. */
  subagent(id: string, options: Omit<SessionOptions, "parent"> = {}): Session {
    return new Session(this.#hookbox, id, { ...this.#options, ...options, parent: this.id });
  }

  /** Sends any event, and returns its verdict. */
  event(name: verdicts.EventName, data: object = {}, options?: EventOptions): Promise<verdicts.AnyVerdict> {
    const { cwd, parent } = this.#options;
    const all = { ...data, conv_id: this.id, ...(cwd !== undefined && { cwd }) };
    return this.#hookbox.event(name, all, parent === undefined ? {} : { "hookbox/parent": parent }, options);
  }

  /** A session begins. */
  sessionStart(data: events.SessionStart = {}, options?: EventOptions): Promise<verdicts.Verdict> {
    return this.event("session_start", data, options);
  }

  /** The user sends a message. Send the message of the decision to the model. */
  userMessageSend(data: events.UserMessage, options?: EventOptions): Decided<verdicts.MessageDecision> {
    return this.#decided("user_message_send", data, options);
  }

  /** A tool is about to run. Run it with the input of the decision. */
  beforeToolCall(data: events.ToolCall, options?: EventOptions): Decided<verdicts.ToolDecision> {
    return this.#decided("before_tool_call", data, options);
  }

  /** A tool has run, or was blocked. Give the model the output of the decision. */
  afterToolCall(data: events.ToolResult, options?: EventOptions): Decided<verdicts.OutputDecision> {
    return this.#decided("after_tool_call", data, options);
  }

  /** Something failed. Go on with the error of the verdict. */
  async onError(data: events.ErrorEvent, options?: EventOptions): Promise<verdicts.ErrorVerdict> {
    const { decision, ...verdict } = await this.event("on_error", data, options);
    return { ...verdict, error: (decision as verdicts.ErrorDecision | undefined)?.error ?? data.error };
  }

  /** The model has answered. */
  afterTurn(data: events.AfterTurn = {}, options?: EventOptions): Promise<verdicts.Verdict> {
    return this.event("after_turn", data, options);
  }

  /** The turn of the user is over. */
  turnEnd(data: events.TurnEnd = {}, options?: EventOptions): Promise<verdicts.Verdict> {
    return this.event("turn_end", data, options);
  }

  /** The agent would stop. If there are follow-ups, it goes on with them. */
  agentStop(data: events.AgentStop = {}, options?: EventOptions): Promise<verdicts.Verdict> {
    return this.event("agent_stop", data, options);
  }

  /** The conversation is about to be compacted. */
  preCompact(data: events.PreCompact = {}, options?: EventOptions): Decided<verdicts.StepDecision> {
    return this.#decided("pre_compact", data, options);
  }

  /** The conversation has been compacted. */
  postCompact(data: events.PostCompact = {}, options?: EventOptions): Promise<verdicts.Verdict> {
    return this.event("post_compact", data, options);
  }

  /** The token budget has passed a threshold. */
  onBudgetExceeded(data: events.BudgetExceeded = {}, options?: EventOptions): Decided<verdicts.StepDecision> {
    return this.#decided("on_budget_exceeded", data, options);
  }

  /** The session ends. */
  sessionEnd(data: events.SessionEnd = {}, options?: EventOptions): Promise<verdicts.Verdict> {
    return this.event("session_end", data, options);
  }

  /**
   * Makes a tool call: asks the hooks, runs the tool with the input that they left, and lets them judge the result.
   * `run` returns the output as JSON. An exception of it is an error of the tool.
   */
  async tool(call: events.ToolCall, run: (input: events.Json) => unknown, options: ToolOptions = {}): Promise<ToolRun> {
    const [context, warnings]: [string[], string[]] = [[], []];
    const note = (verdict: verdicts.Verdict) => {
      context.push(...verdict.context);
      warnings.push(...verdict.warnings);
    };
    const before = await this.beforeToolCall(call, options);
    note(before);
    let { decision } = before;
    // The text alone may read like a question to the model.
    let refusal = "";
    if (decision.action === "ask" && options.ask) {
      if ((await options.ask(decision)) === true) decision = decision.userAgreed();
      else refusal = " (the user was asked, and said no)";
    }
    if (decision.action !== "run") {
      const error = decision.reason + refusal;
      const tool_output = { toolName: call.tool_name, success: false, error, timestamp: new Date().toISOString() };
      note(await this.afterToolCall({ ...call, tool_output, success: false, error }, options));
      return { text: `error: ${error}`, ran: false, block: decision, context, warnings };
    }
    const allowed = { ...call, tool_input: decision.input };
    const started = performance.now();
    const result = await attempt(() => run(allowed.tool_input));
    const duration_ms = Math.round(performance.now() - started);
    const after = await this.afterToolCall({ ...allowed, ...result, duration_ms }, options);
    note(after);
    const { output } = after.decision;
    const end = { ran: true, context, warnings, ...(output !== undefined && { output }) };
    let text = output === undefined ? "" : textOf(output);
    if (result.success === false) {
      const error = await this.onError({ ...allowed, error: text || result.error, source: "tool" }, options);
      note(error);
      text = `error: ${error.error}`;
      Object.assign(end, { error: error.error });
    }
    if (after.decision.action === "proceed") return { ...end, text };
    const { reason } = after.decision;
    // Without an output, the hooks have not judged it: the model reads nothing of it.
    const stop = output === undefined ? `error: ${reason}` : `${text}\nstop and change course: ${reason}`;
    return { ...end, text: stop, block: after.decision };
  }

  /** Sends an event that has a decision, also if it fails. */
  #decided<D>(name: verdicts.EventName, data: object, options?: EventOptions): Decided<D> {
    return this.event(name, data, options) as Decided<D>;
  }
}

type Attempt = { tool_output: unknown; success?: undefined } | { tool_output: string; success: false; error: string };

async function attempt(run: () => unknown): Promise<Attempt> {
  try {
    return { tool_output: (await run()) ?? null };
  } catch (thrown) {
    const error = thrown instanceof Error ? thrown.message : String(thrown);
    return { tool_output: error, success: false, error };
  }
}

/** Returns an output as text for the model: a string, the `output` or `error` of a structured result, or JSON. */
function textOf(output: events.Json): string {
  const fields = typeof output === "object" && output !== null && !Array.isArray(output) ? output : {};
  const text = [fields.output, fields.error, output].find((it) => typeof it === "string");
  return typeof text === "string" ? text : JSON.stringify(output);
}
