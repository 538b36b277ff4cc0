/** Write an agent hook in TypeScript: a component that hookbox runs in a sandbox. */

export * from "./answers.ts";
export type * from "./events.ts";
export * as facts from "./facts.ts";
export { defineHook } from "./hook.ts";
export type { Definition, EventName, Subscription } from "./hook.ts";
export * as log from "./log.ts";
export { settings } from "./settings.ts";
export * as shell from "./shell.ts";
export * as state from "./state.ts";
export type * from "./values.ts";
