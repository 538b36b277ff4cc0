// The client: one process for all sessions, and a block for each event that it cannot answer.

import { setTimeout as sleep } from "node:timers/promises";

import { Connection, type Launch, encode, find } from "./connection.js";
import type { JsonObject } from "./events.js";
import { Session, type SessionOptions } from "./session.js";
import { type AnyVerdict, EVENTS, type EventName, Failure, failed, isObject, read } from "./verdicts.js";

/** The time that an event may take. */
const DEADLINE_MS = 60_000;

/** The time that an answer may be late before the process counts as hung. */
const LATE_MS = 1000;

/** The longest time of a timer in JavaScript. A longer one would end at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** The first wait before another process starts, and the longest. */
const [FIRST_WAIT_MS, LAST_WAIT_MS] = [100, 5000];

/** The error of JSON-RPC for a call beyond the limit of calls. */
const BUSY = -32_000;

/** The number of problems that are kept. */
const MAX_PROBLEMS = 100;

/** A note for the user. */
export interface Notice {
  /** The level of a log message, such as `info` or `warning`. */
  readonly level: string;
  readonly text: string;
}

/** The options of a {@link Hookbox}. */
export interface HookboxOptions {
  /** The directory in which hooks are found. Default: that of this process. */
  cwd?: string;
  /** The program. Default: the one that was installed with this package, else `hookbox` on PATH. */
  program?: string;
  /** The name of the agent, for hooks and logs. */
  agent?: string;
  /** The milliseconds that an event may take. Default: 60,000. */
  deadline?: number;
  /** More arguments of `hookbox mcp`. */
  args?: readonly string[];
  /** The environment of the process. Default: that of this process. */
  env?: NodeJS.ProcessEnv;
  /** Is called with each note for the user. An exception of it is ignored. */
  onNotice?: (notice: Notice) => void;
}

/** Options of one event. */
export interface EventOptions {
  /** Cancels the event and its hooks. The promise is rejected with the signal's reason. */
  signal?: AbortSignal | undefined;
}

/**
 * The hooks of an agent. It starts the process `hookbox mcp` at the first event, and again after it has ended.
 * An event that gets no verdict is blocked: nothing is thrown for it.
 */
export class Hookbox {
  readonly #launch: Launch;
  readonly #options: HookboxOptions;
  readonly #deadline: number;
  /** The end of the last event of each session that has one. */
  readonly #last = new Map<string, Promise<unknown>>();
  readonly #problems: string[] = [];
  #connection: Connection | undefined;
  /** The ends of the processes before it. */
  #gone: Promise<unknown> = Promise.resolve();
  /** The starts since the last verdict, with the one that gave it. */
  #starts = 0;
  #started = 0;
  #isClosed = false;

  constructor(options: HookboxOptions = {}) {
    const { cwd = process.cwd(), agent = "agent", args = [], env = process.env, deadline = DEADLINE_MS } = options;
    if (!Number.isSafeInteger(deadline) || deadline < 1) {
      throw new TypeError("deadline: expected milliseconds, 1 or more");
    }
    const onNotice = (level: string, text: string) => this.#note(level, text);
    this.#launch = { program: undefined, args: [...args], cwd, env, agent, onNotice };
    this.#options = options;
    this.#deadline = deadline;
  }

  /** The last problems: of hooks and settings, and of the process. */
  get problems(): readonly string[] {
    return [...this.#problems];
  }

  /** The id of the running process. */
  get pid(): number | undefined {
    return this.#connection?.pid;
  }

  /** Starts the process, so that the first event need not wait for it. A failure is one of the {@link problems}. */
  async start(): Promise<void> {
    this.#assertOpen();
    await this.#guarded((ready) => ready()).catch((error: unknown) => this.#failure(error));
  }

  /** Opens a session with its first event. Events of a session are answered in their order. */
  session(id: string, options: SessionOptions = {}): Session {
    return new Session(this, id, options);
  }

  /** Sends an event with its data, and `_meta` of the call. A {@link Session} has a method for each event. */
  async event(name: EventName, data: object, meta: object = {}, options: EventOptions = {}): Promise<AnyVerdict> {
    this.#assertOpen();
    if (!EVENTS.includes(name)) throw new TypeError(`expected the name of an event, found ${name}`);
    const session = isObject(data) && typeof data.conv_id === "string" ? data.conv_id : "";
    const _meta = { "hookbox/deadline_ms": this.#deadline, ...meta };
    // An event waits for the one before it. Its deadline begins then.
    const before = this.#last.get(session);
    const verdict = (async () => {
      try {
        // What the caller changes while the event waits does not count.
        const params = encode({ name, arguments: data, _meta });
        const verdict = read(name, await this.#call(params, options.signal, before));
        this.#starts = 1;
        return verdict;
      } catch (error) {
        return failed(name, this.#failure(error));
      }
    })();
    const end = Promise.allSettled([before, verdict]);
    this.#last.set(session, end);
    void end.then(() => this.#last.get(session) === end && this.#last.delete(session));
    return verdict;
  }

  /** Ends the process. The events that wait are blocked, and later ones throw. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#connection?.end(new Failure("killed", "the client was closed"));
    await Promise.all([this.#gone, this.#connection?.gone]);
  }

  /** Closes the client at the end of `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** Calls a tool, again while the process is busy. */
  #call(params: string, signal?: AbortSignal, before?: Promise<unknown>): Promise<JsonObject> {
    const work = async (ready: () => Promise<Connection>, sent: (cancel: () => void) => void) => {
      const until = performance.now() + this.#deadline;
      for (let pause = 10; ; pause = Math.min(2 * pause, 500)) {
        const connection = await ready();
        const { id, answer } = connection.request("tools/call", params);
        sent(() => connection.cancel(id));
        const message = await answer;
        if (!isObject(message.error) || message.error.code !== BUSY) return message;
        if (performance.now() + pause > until) throw new Failure("busy", "it had too many calls until the deadline");
        await sleep(pause);
      }
    };
    return this.#guarded(work, signal, before);
  }

  /** Does work with a process after other work, until the signal or the deadline. Late work ends the process. */
  async #guarded<T>(
    work: (ready: () => Promise<Connection>, sent: (cancel: () => void) => void) => Promise<T>,
    signal?: AbortSignal,
    before?: Promise<unknown>,
  ): Promise<T> {
    signal?.throwIfAborted();
    let connection: Connection | undefined;
    let cancel: (() => void) | undefined;
    let isOver = false;
    let stop!: (error: unknown) => void;
    const stopped = new Promise<never>((_, reject) => (stop = reject));
    let timer: NodeJS.Timeout | undefined;
    const late = () => {
      stop(new Failure("deadline", `there was no answer within ${this.#deadline} ms`));
      connection?.end(new Failure("killed", "the process was killed, because another event had no answer in time"));
    };
    const abort = () => {
      stop((signal as AbortSignal).reason);
      cancel?.();
    };
    signal?.addEventListener("abort", abort, { once: true });
    const ready = async () => {
      // Nobody reads what follows work that is over.
      if (isOver) return stopped;
      connection = this.#connect();
      await connection.ready;
      return isOver ? stopped : connection;
    };
    const begun = async () => {
      await before;
      if (!isOver) timer = setTimeout(late, Math.min(this.#deadline + LATE_MS, MAX_TIMER_MS));
      return work(ready, (it) => (cancel = it));
    };
    try {
      return await Promise.race([begun(), stopped]);
    } finally {
      isOver = true;
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
    }
  }

  /** Returns the process, or starts one. Throws a {@link Failure} if it is too early for another one. */
  #connect(): Connection {
    if (this.#isClosed) throw new Failure("killed", "the client was closed");
    const before = this.#connection;
    if (before && !before.ended) return before;
    const wait = this.#starts < 2 ? 0 : Math.min(FIRST_WAIT_MS * 2 ** (this.#starts - 2), LAST_WAIT_MS);
    if (before?.ended && performance.now() < this.#started + wait) throw before.ended;
    this.#gone = Promise.all([this.#gone, before?.gone]);
    this.#starts += 1;
    this.#started = performance.now();
    this.#connection = new Connection({ ...this.#launch, program: find(this.#options.program, this.#launch.env) });
    return this.#connection;
  }

  /** Notes a failure. Throws any other error. */
  #failure(error: unknown): Failure {
    if (!(error instanceof Failure)) throw error;
    this.#note("error", error.message);
    return error;
  }

  #note(level: string, text: string): void {
    if (!["debug", "info", "notice"].includes(level)) this.#problems.push(text);
    if (this.#problems.length > MAX_PROBLEMS) this.#problems.shift();
    try {
      this.#options.onNotice?.({ level, text });
    } catch {
      // The event is more important than the note.
    }
  }

  #assertOpen(): void {
    if (this.#isClosed) throw new Error("hookbox: the client is closed");
  }
}
