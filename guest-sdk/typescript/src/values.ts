/** The values of events. */

import type { ToolCall } from "./events.ts";

/** A JSON value. */
export type JSONValue = null | boolean | number | string | JSONValue[] | { [key: string]: JSONValue };

/** A JSON value: a tool's input or output, the messages of a conversation. It stays in the host: a hook that reads
 * one field pays for that field only. */
export interface Document {
  /** Returns the value at a JSON Pointer (RFC 6901); undefined if there is no value, or null. */
  get(pointer: string): JSONValue | undefined;
  /** Returns the whole value. */
  value(): JSONValue;
  /** Returns the whole value as JSON text. */
  text(): string;
  /** Returns the length of the text, in bytes, without copying the value. */
  size(): number;
}

/** The source of an error: a tool call, a turn with its number if it is known, or another hook by its name. */
export type ErrorSource =
  | { type: "tool"; call: ToolCall }
  | { type: "turn"; number?: number }
  | { type: "hook"; name: string };
