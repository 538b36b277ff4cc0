/** Tests of a hook in node 18 or later: its cases, and its answer to one event. */

import type { Answer } from "../answers.ts";
import type { JSONValue } from "../values.ts";

/** Runs the cases of a directory or of a file with `hookbox test`, for the component that is built. Each case is a test of
 * `node:test`; one that failed has its differences as `hookbox test` shows them.
 *
 * The program is the one that the variable `HOOKBOX` names, else `hookbox` of the `PATH`. If it does not start, if there are
 * no cases, if a case file is wrong, or if the component is older than its sources, the test around the cases fails for this
 * reason. */
export function runCases(cases: string): void;

/** Returns the answer of a hook to one event, in this process. The host's rules do not apply: the function is called
 * whatever the subscriptions are, and each answer comes back as it is. It needs the package `esbuild`.
 *
 * `hook` is the path of the file that exports it. `data` has the fields of the event, as in a case. The state is empty at
 * each call. hookbox finds the kind of a tool and its paths; here a call with a text `command` is one of a shell, and `data`
 * gives `tool_kind` and `paths` (a list of objects with `path` and `inside`) of another.
 *
 * It rejects if the hook throws, or if the file does not export a `hook`. */
export function answer(
  hook: string,
  event: string,
  data?: Record<string, JSONValue>,
  settings?: Record<string, JSONValue>,
): Promise<Answer>;
