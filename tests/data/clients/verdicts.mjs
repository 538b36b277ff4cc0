// Asks hookbox about each command of standard input, through the client in TypeScript.
import { readFileSync } from "node:fs";

const { Hookbox } = await import(process.argv[2]);
const hooks = new Hookbox();
const found = [];
for (const [at, command] of JSON.parse(readFileSync(0, "utf8")).entries()) {
  const session = hooks.session(`typescript-${at}`);
  const { decision } = await session.beforeToolCall({ tool_name: "bash", tool_input: { command } });
  const keys = ["action", "reason", "by", "cause", "rule"].filter((key) => decision[key]);
  found.push(Object.fromEntries(keys.map((key) => [key, decision[key]])));
}
await hooks.close();
process.stdout.write(JSON.stringify(found));
