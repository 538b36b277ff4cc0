// A project with hooks for the tests of the adapters.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";

import { Hookbox, type Session } from "hookbox";

/** Returns a client and a session of a project whose hooks run these scripts, by their events. */
export function project(t: TestContext, scripts: Record<string, string>): { session: Session } {
  const directory = mkdtempSync(join(tmpdir(), "hookbox-adapter-"));
  const hooks = join(directory, ".hookbox/hooks");
  mkdirSync(hooks, { recursive: true });
  for (const [event, script] of Object.entries(scripts)) {
    const text = `#!/bin/sh\n[ "$1" = hook ] && echo ${event} && exit\n${script}\n`;
    writeFileSync(join(hooks, `${event}.sh`), text, { mode: 0o755 });
  }
  const program = process.env.HOOKBOX_PROGRAM;
  const env = { ...process.env, HOME: directory };
  const hookbox = new Hookbox({ cwd: directory, env, args: ["--trust", "all"], ...(program && { program }) });
  t.after(async () => {
    await hookbox.close();
    rmSync(directory, { recursive: true, force: true });
  });
  return { session: hookbox.session("a") };
}

/** The script of a hook that kills hookbox under the agent. */
export const KILL = "kill -9 $PPID";
