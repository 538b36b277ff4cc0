/** Blocks a forced push, and suggests --force-with-lease. */

import { block, defineHook, pass, shell } from "hookbox-sdk";

const REASON = "A forced push can remove the commits of others. Use `git push --force-with-lease` instead.";

export const hook = defineHook({
  name: "no-force-push",
  version: "0.1.0",
  description: "Blocks a forced push, and suggests --force-with-lease.",
  // Late, so that it judges what other hooks have made of the call.
  on: [{ event: "before_tool_call", tools: ["kind:shell"], priority: 90 }],
  onFailure: "block",
  run(event) {
    const line = event.event === "before_tool_call" ? event.command : undefined;
    return shell.commands(line ?? "").some(forces) ? block(REASON) : pass();
  },
});

/** Returns true for `git push` with `--force`, `-f` or `+branch`, unless it is a dry run. */
function forces(words: string[]): boolean {
  if (shell.program(words) !== "git") return false;
  let rest = words.slice(1);
  while (rest[0]?.startsWith("-")) {
    const hasValue = ["-C", "-c", "--config-env", "--git-dir", "--work-tree", "--namespace"].includes(rest[0]);
    rest = rest.slice(hasValue ? 2 : 1);
  }
  if (rest[0] !== "push") return false;
  const end = rest.indexOf("--");
  const options = end < 0 ? rest : rest.slice(0, end);
  const letters = options.filter((word) => /^-[^-]/.test(word)).join("");
  const forced = options.includes("--force") || letters.includes("f") || rest.some((word) => word.startsWith("+"));
  // A letter `n` among others may be the value of `-o`.
  return forced && !options.includes("--dry-run") && !options.includes("-n");
}
