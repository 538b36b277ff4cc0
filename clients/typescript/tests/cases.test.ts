// The cases that every client passes.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";

import type { AnyVerdict, EventName, Hookbox, Json, JsonObject } from "../src/index.js";
import { Project, kill } from "./project.js";

interface Step {
  session: string;
  event: EventName;
  data: JsonObject;
  parent?: string;
  expect: JsonObject;
  together?: Step[];
  kill?: true;
}

interface Case {
  name: string;
  hooks?: Record<string, string>;
  files?: Record<string, string>;
  program?: string;
  options?: { deadline_ms?: number };
  steps: Step[];
}

const CASES = process.env.HOOKBOX_CASES ?? fileURLToPath(new URL("../../../cases", import.meta.url));

for (const file of readdirSync(CASES).filter((name) => name.endsWith(".json"))) {
  const it = JSON.parse(readFileSync(join(CASES, file), "utf8")) as Case;
  test(`${file}: ${it.name}`, (t) => run(t, it));
}

async function run(t: TestContext, it: Case): Promise<void> {
  const project = new Project(t);
  for (const [name, text] of Object.entries(it.hooks ?? {})) project.file(`.hookbox/hooks/${name}`, text, 0o755);
  for (const [path, text] of Object.entries(it.files ?? {})) project.file(path, text);
  const deadline = it.options?.deadline_ms;
  const hookbox = project.client({
    ...(it.program !== undefined && { program: project.file("program", it.program, 0o755) }),
    ...(deadline !== undefined && { deadline }),
  });
  for (const step of it.steps) {
    if (step.kill) await kill(hookbox);
    else await Promise.all((step.together ?? [step]).map((one) => send(hookbox, one)));
  }
}

async function send(hookbox: Hookbox, step: Step): Promise<void> {
  const session = hookbox.session(step.session, step.parent === undefined ? {} : { parent: step.parent });
  const found = seen(await session.event(step.event, repeated(step.data) as JsonObject));
  const { reason_contains: part, ...expected } = repeated(step.expect) as JsonObject;
  if (typeof part === "string") assert.ok(String(found.reason).includes(part), `reason: ${String(found.reason)}`);
  const compared = Object.fromEntries(Object.keys(expected).map((key) => [key, found[key]]));
  assert.deepEqual(compared, expected);
}

/** Returns a verdict with the keys of `expect`. */
function seen(verdict: AnyVerdict): Record<string, unknown> {
  const { decision, followUps, droppedFollowUps, warnings, messages = null, callback = null, ...more } = verdict;
  const fields: Record<string, unknown> = { ...decision };
  const value = fields.input ?? fields.proposed ?? fields.output ?? fields.message ?? fields.error ?? null;
  const { action = null, reason = null, by = null, cause = null } = fields;
  const of = { action, reason, by, cause, value };
  return { ...of, ...more, follow_ups: followUps, dropped_follow_ups: droppedFollowUps, warnings: warnings.length, messages, callback };
}

/** Returns a value in which each `{"$repeat": [TEXT, N]}` is that text. */
function repeated(value: Json): Json {
  if (Array.isArray(value)) return value.map(repeated);
  if (typeof value !== "object" || value === null) return value;
  const { $repeat: repeat } = value;
  if (Array.isArray(repeat)) return String(repeat[0]).repeat(Number(repeat[1]));
  return Object.fromEntries(Object.entries(value).map(([key, it]) => [key, repeated(it)]));
}
