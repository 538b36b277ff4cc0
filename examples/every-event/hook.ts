import { ask, block, callback, defineHook, followUp, inject, log, modify, pass, warn } from "hookbox-sdk";

export const hook = defineHook({
  name: "every-event",
  version: "0.1.0",
  description: "Answers every event.",
  on: [
    { event: "session_start" }, { event: "session_end" }, { event: "user_message_send" },
    { event: "before_tool_call", tools: ["kind:shell"] }, { event: "after_tool_call" }, { event: "on_error" },
    { event: "after_turn" }, { event: "turn_end" }, { event: "agent_stop" },
    { event: "pre_compact" }, { event: "post_compact" }, { event: "on_budget_exceeded" },
  ],
  answers: ["inject", "modify", "follow-up", "callback"],
  run(event, cx) {
    switch (event.event) {
      case "session_start":
        return inject("Use `just test`.");
      case "session_end":
        log.info(`${cx.conversationId} ended: ${event.reason}`);
        return pass();
      case "user_message_send":
        return event.message.includes("PRIVATE KEY") ? block("The message has a private key.") : pass();
      case "before_tool_call":
        return event.command?.startsWith("npm publish") ? ask("This publishes a package.") : pass();
      case "after_tool_call":
        return event.success === false ? inject("Read the error first.") : pass();
      case "on_error":
        return modify(`${event.message} (see docs/errors.md)`);
      case "after_turn": {
        const { currentContextWindow: used, maxContextWindow: all } = event.usage ?? { currentContextWindow: 0, maxContextWindow: 1 };
        return used / all > 0.8 ? callback("compact") : pass();
      }
      case "turn_end":
        return event.response?.endsWith("?") ? warn("The agent asks.") : pass();
      case "agent_stop":
        return event.followUps === 0 ? followUp(["Run the tests."]) : pass();
      case "pre_compact":
        return inject("Keep the open questions.");
      case "post_compact":
        return inject("Read TODO.md again.");
      case "on_budget_exceeded":
        return block("The budget is spent.");
      case "other":
        return pass();
    }
  },
});
