// One process `hookbox mcp`: its lines, its answers, and its end.

import { type ChildProcessByStdio, spawn } from "node:child_process";
import { constants } from "node:buffer";
import { accessSync, constants as modes, statSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, isAbsolute, join, resolve } from "node:path";
import type { Socket } from "node:net";
import type { Readable, Writable } from "node:stream";

import type { Json, JsonObject } from "./events.js";
import { Failure, isObject } from "./verdicts.js";

/** The version of this package. */
const VERSION = "0.1.0";

/** The time in which the process may end by itself, and with it its hooks. */
const GRACE_MS = 2000;

/** The time in which the last answers of an ended process arrive. Another process may keep its output open. */
const DRAIN_MS = 500;

/** What a process is started with. */
export interface Launch {
  program: string | undefined;
  args: readonly string[];
  cwd: string;
  env: NodeJS.ProcessEnv;
  agent: string;
  onNotice: (level: string, text: string) => void;
}

interface Waiting {
  resolve: (answer: JsonObject) => void;
  reject: (failure: Failure) => void;
}

/** A running process, or one that has ended. */
export class Connection {
  /** Is fulfilled when the process can take events, and is rejected with a {@link Failure}. */
  readonly ready: Promise<void>;
  /** The reason why it takes no events any more. */
  ended: Failure | undefined;
  /** Is fulfilled when the process has ended. */
  gone: Promise<void> = Promise.resolve();
  readonly #launch: Launch;
  readonly #waiting = new Map<number, Waiting>();
  readonly #decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  #child: ChildProcessByStdio<Writable, Readable, null> | undefined;
  #exited: Promise<void> = Promise.resolve();
  #count = 0;
  #limit = Infinity;
  #parts: Buffer[] = [];
  #size = 0;

  constructor(launch: Launch) {
    this.#launch = launch;
    this.#start();
    this.ready = this.#initialize();
    this.ready.catch(() => {});
  }

  /** The id of the process, while it takes events. */
  get pid(): number | undefined {
    return this.ended ? undefined : this.#child?.pid;
  }

  #start(): void {
    const { program, args, cwd, env } = this.#launch;
    if (program === undefined) {
      return this.end(new Failure("missing", "the program hookbox is neither beside this package nor on PATH"));
    }
    const missing = (error: Error) => this.end(new Failure("missing", `${program} does not start: ${error.message}`));
    try {
      // A group of its own: it ends with all of its processes, and not at Ctrl-C, which the agent decides about.
      const child = spawn(program, ["mcp", ...args], { cwd, env, detached: true, stdio: ["pipe", "pipe", "inherit"] });
      this.#child = child;
      this.#exited = new Promise((ended) => child.once("exit", () => ended()).once("error", () => ended()));
      child.on("error", missing);
      child.on("exit", () => this.#lost(child));
      child.stdin.on("error", () => {}); // The process has ended, or the deadline ends it.
      child.stdout.on("data", (chunk: Buffer) => this.#take(chunk));
      child.stdout.on("end", () => this.#closed()).on("error", () => this.#closed());
      // An idle process does not keep the agent alive. A call that waits has a timer, which does.
      for (const it of [child, child.stdin as Socket, child.stdout as Socket]) it.unref();
    } catch (error) {
      missing(error as Error);
    }
  }

  async #initialize(): Promise<void> {
    const clientInfo = { name: this.#launch.agent, version: VERSION };
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
    const answer = await this.request("initialize", encode(params)).answer;
    const about = at(answer, "result", "capabilities", "experimental", "hookbox");
    let failure: Failure | undefined;
    if (isObject(answer.error)) failure = new Failure("refused", "the program refuses the connection");
    else if (at(about, "verdict_version") !== 1) {
      failure = new Failure("version", "the program has verdicts of a version that this client does not know");
    }
    if (failure) {
      this.end(failure);
      throw failure;
    }
    const limit = at(about, "limits", "message_bytes");
    if (typeof limit === "number") this.#limit = limit;
    this.#write('"method":"notifications/initialized"');
  }

  /** Sends a request with parameters as JSON. Throws a {@link Failure} if it cannot be sent. */
  request(method: string, params: string): { id: number; answer: Promise<JsonObject> } {
    if (this.ended) throw this.ended;
    const id = ++this.#count;
    this.#write(`"id":${id},"method":"${method}","params":${params}`);
    return { id, answer: new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject })) };
  }

  /** Ends the hooks of a call, which gets no answer. */
  cancel(id: number): void {
    if (this.#waiting.delete(id)) {
      this.#write(`"method":"notifications/cancelled","params":{"requestId":${id}}`);
    }
  }

  /** Ends the process. The calls that wait get this failure. */
  end(failure: Failure): void {
    if (this.ended) return;
    this.ended = failure;
    for (const { reject } of this.#waiting.values()) reject(failure);
    this.#waiting.clear();
    this.gone = this.#terminate();
  }

  async #terminate(): Promise<void> {
    const child = this.#child;
    if (!child?.pid) return;
    child.ref();
    child.stdin.destroy();
    const { pid } = child;
    signal(pid, "SIGTERM");
    const timer = setTimeout(() => signal(pid, "SIGKILL"), GRACE_MS);
    await this.#exited;
    clearTimeout(timer);
    // What it has left in its group.
    signal(pid, "SIGKILL");
    child.stdout.destroy();
  }

  /** Waits for the last lines of a process that has ended. */
  #lost(child: ChildProcessByStdio<Writable, Readable, null>): void {
    const timer = setTimeout(() => this.#closed(), DRAIN_MS);
    if (child.stdout.closed) this.#closed();
    else child.stdout.once("close", () => this.#closed());
    child.stdout.once("close", () => clearTimeout(timer));
    if (this.#waiting.size === 0) timer.unref();
  }

  #closed(): void {
    this.end(new Failure("killed", "the process ended before it answered"));
  }

  #write(fields: string): void {
    const line = `{"jsonrpc":"2.0",${fields}}\n`;
    if (Buffer.byteLength(line) > this.#limit) throw new Failure("refused", "the event is larger than hookbox reads");
    this.#child?.stdin.write(line);
  }

  #take(chunk: Buffer): void {
    let rest = chunk;
    for (let end = rest.indexOf(10); end >= 0 && !this.ended; end = rest.indexOf(10)) {
      const line = Buffer.concat([...this.#parts, rest.subarray(0, end)]);
      [this.#parts, this.#size, rest] = [[], 0, rest.subarray(end + 1)];
      this.#receive(line);
    }
    this.#parts.push(rest);
    this.#size += rest.length;
    if (this.#size > constants.MAX_STRING_LENGTH) this.#nonsense();
  }

  #receive(line: Buffer): void {
    let message: unknown;
    try {
      const text = this.#decoder.decode(line);
      if (text.trim() === "") return;
      message = JSON.parse(text);
    } catch {
      return this.#nonsense();
    }
    if (!isObject(message)) return this.#nonsense();
    const { id, method, params, error } = message;
    if (typeof method === "string") {
      if (method !== "notifications/message") return;
      return this.#launch.onNotice(String(at(params, "level")), String(at(params, "data")));
    }
    // A message that hookbox could not read has no id. Some call would wait in vain.
    if (id === null && error !== undefined) return this.#nonsense();
    const waiting = typeof id === "number" ? this.#waiting.get(id) : undefined;
    this.#waiting.delete(id as number);
    waiting?.resolve(message);
  }

  #nonsense(): void {
    this.end(new Failure("malformed", "the process wrote a line that is not an answer"));
  }
}

/** Sends a signal to a group of processes. Windows has none: there it goes to the process. */
function signal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(process.platform === "win32" ? pid : -pid, signal);
  } catch {
    // They have ended.
  }
}

/** Writes JSON in one line. What JSON cannot express is an error of the program, and not one of the model. */
export function encode(value: unknown): string {
  try {
    return JSON.stringify(value, (key, it: unknown) => {
      const isJson = typeof it !== "number" || Number.isFinite(it);
      if (!isJson || ["function", "symbol", "bigint"].includes(typeof it)) throw new TypeError(`JSON cannot express ${key}: ${String(it)}`);
      return it;
    });
  } catch (error) {
    // Too deep or too long: a model can write such a value.
    if (error instanceof RangeError) throw new Failure("refused", "the event is too deep or too long for JSON");
    throw error;
  }
}

/** Finds the program: beside this package, or on PATH. Relative directories of PATH could be the repository's. */
export function find(program: string | undefined, env: NodeJS.ProcessEnv): string | undefined {
  if (program?.includes("/")) return resolve(program);
  if (program === undefined) {
    try {
      return createRequire(import.meta.url).resolve(`@hookbox/${process.platform}-${process.arch}/hookbox`);
    } catch {
      // It is not installed.
    }
  }
  const directories = (env.PATH ?? "").split(delimiter).filter((it) => isAbsolute(it));
  return directories.map((it) => join(it, program ?? "hookbox")).find(isProgram);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, modes.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

function at(value: Json | undefined, ...path: string[]): Json | undefined {
  return path.reduce((it: Json | undefined, key) => (isObject(it) ? it[key] : undefined), value);
}
