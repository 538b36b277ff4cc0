// A project with hooks, and a client for it.

import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import type { TestContext } from "node:test";

import { Hookbox, type HookboxOptions } from "../src/index.js";

/** The program that is tested. */
export const PROGRAM = resolve(process.env.HOOKBOX_PROGRAM ?? "hookbox");

/** A directory for one test, and the environment of the program: an empty home directory. */
export class Project {
  readonly root = mkdtempSync(join(tmpdir(), "hookbox-client-"));
  readonly directory = join(this.root, "project");
  readonly env: NodeJS.ProcessEnv;

  readonly #clients: Hookbox[] = [];

  constructor(t: TestContext) {
    const isOurs = ([name]: [string, unknown]) => !/^(HOOKBOX|XDG)_/.test(name);
    const home = join(this.root, "home");
    this.env = { ...Object.fromEntries(Object.entries(process.env).filter(isOurs)), HOME: home };
    for (const it of [this.directory, home]) mkdirSync(it);
    t.after(async () => {
      await Promise.all(this.#clients.map((it) => it.close()));
      rmSync(this.root, { recursive: true, force: true });
    });
  }

  file(path: string, text: string, mode = 0o644): string {
    const file = join(this.directory, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    chmodSync(file, mode);
    return file;
  }

  /** Writes a hook that runs this script for an event. */
  hook(name: string, event: string, script: string): this {
    this.file(`.hookbox/hooks/${name}`, `#!/bin/sh\n[ "$1" = hook ] && echo ${event} && exit\n${script}\n`, 0o755);
    return this;
  }

  /** Returns a client that is closed after the test. */
  client(options: HookboxOptions = {}): Hookbox {
    const { directory: cwd, env } = this;
    const hookbox = new Hookbox({ program: PROGRAM, cwd, env, args: ["--trust", "all"], agent: "test", ...options });
    this.#clients.push(hookbox);
    return hookbox;
  }
}

/** Returns a shell script that stands in for the program, and runs `script` for a call with the id `$id`. */
export function fake(script: string): string {
  const about = '{"capabilities":{"experimental":{"hookbox":{"verdict_version":1}}}}';
  return `#!/bin/sh
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":{"structuredContent":%s}}\\n' "$id" "$1"; }
while read -r line; do
  id=$(printf '%s\\n' "$line" | sed -n 's/.*"id": *\\([0-9]*\\).*/\\1/p')
  case $line in
  *'"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":%s}\\n' "$id" '${about}' ;;
  *'"notifications/'*) echo "$line" >> "$0.notifications" ;;
  *) ${script} ;;
  esac
done
`;
}

/** The call that most tests make. */
export const CALL = { tool_name: "bash", tool_input: { command: "ls" } };

/** Kills the process of a client, and waits until the client knows it. */
export async function kill(hookbox: Hookbox): Promise<void> {
  const { pid } = hookbox;
  if (pid === undefined) throw new Error("the process does not run");
  process.kill(pid, "SIGKILL");
  while (hookbox.pid === pid) await new Promise((next) => setImmediate(next));
}
