/** A hook that uses each part of the SDK. `tests-data/cases/tour.toml` has its cases. */

import { allow, ask, block, defineHook, facts, followUp, inject, log, modify, pass, settings, state } from "hookbox-sdk";
import type { Answer, BeforeToolCall } from "hookbox-sdk";

export const hook = defineHook({
  name: "tour",
  version: "0.1.0",
  description: "Uses each part of the SDK.",
  on: [
    { event: "before_tool_call", tools: ["kind:shell"] },
    { event: "user_message_send" },
    { event: "agent_stop" },
    { event: "turn_end" },
    { event: "pre_compact" },
  ],
  answers: ["modify", "inject", "allow"],
  asksFor: ["store", "conversation"],
  onFailure: "block",
  run(event, context) {
    switch (event.event) {
      case "before_tool_call":
        return before(event);
      case "user_message_send":
        return modify(`${event.message} in ${context.cwd}`, { warnings: ["greeted"] });
      case "agent_stop":
        return followUp(["go on"]);
      case "turn_end":
        return block("no");
      case "pre_compact": {
        const messages = event.messages.value();
        const count = Array.isArray(messages) ? messages.length : 0;
        return inject(`${count} message${count === 1 ? "" : "s"}`);
      }
      default:
        return pass();
    }
  },
});

/** Variables do not last from one call to the next. */
let calls = 0;

function before(call: BeforeToolCall): Answer {
  calls += 1;
  if (calls > 1) throw new Error("a variable lasts");
  const own = settings({ reason: "Do not remove files." });
  switch (call.command) {
    case "remove x":
      return block(own.reason);
    case "safe":
      return allow("It only reads.");
    case "facts":
      return inject(`runs ${facts.readCall().lines.join()}`);
    case "publish":
      return ask("Are you sure?");
    case "list":
      return modify({ command: "list --all" });
    case "count": {
      const count = state.increment("calls");
      log.info("counted");
      return inject(`call ${count}`);
    }
    case "fail":
      throw new Error("asked to fail");
    default:
      return pass();
  }
}
