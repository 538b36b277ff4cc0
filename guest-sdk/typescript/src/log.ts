/** Notes for the report and the host's log. */
/// <reference path="./wasi.d.ts" />
import { log } from "wasi:logging/logging@0.1.0-draft";

/** Notes something for the hook's author. */
export const debug = (message: string): void => log("debug", "hook", message);

/** Notes an ordinary event. */
export const info = (message: string): void => log("info", "hook", message);

/** Notes an unwanted event. */
export const warn = (message: string): void => log("warn", "hook", message);

/** Notes a failure. */
export const error = (message: string): void => log("error", "hook", message);
