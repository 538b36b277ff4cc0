/// <reference path="./wasi.d.ts" />
import { getAll } from "wasi:config/store@0.2.0-rc.1";
import type { JSONValue } from "./events.ts";

/** The same type as a default: `string` for "a", and not the one text "a". */
type Widened<T> = { [K in keyof T]: T[K] extends string ? string : T[K] extends number ? number : T[K] extends boolean ? boolean : T[K] };

/** Returns the hook's own settings, its table in `hookbox.toml`, over these defaults. A setting has the type of its
 * default. An unknown key or another type throws, because a misspelled setting of a guard must not be ignored. */
export function settings<T extends Record<string, JSONValue>>(defaults: T): Widened<T> {
  const found: Record<string, JSONValue> = { ...defaults };
  for (const [key, text] of getAll()) {
    const usual = defaults[key];
    if (!Object.hasOwn(defaults, key) || usual === undefined) {
      throw new Error(`unknown setting \`${key}\`, expected one of: ${Object.keys(defaults).join(", ")}`);
    }
    const value = typeof usual === "string" ? text : parse(text);
    if (typeOf(value) !== typeOf(usual)) {
      throw new Error(`setting \`${key}\`: expected ${typeOf(usual)}, found ${typeOf(value)}`);
    }
    found[key] = value;
  }
  return found as Widened<T>;
}

/** Reads a setting that is not a string: JSON text. */
function parse(text: string): JSONValue {
  try {
    return JSON.parse(text) as JSONValue;
  } catch {
    return text;
  }
}

/** Returns the type of a value; that of an array includes its first element. */
function typeOf(value: JSONValue): string {
  if (value === null) return "null";
  if (!Array.isArray(value)) return typeof value;
  const types = new Set(value.map(typeOf));
  return types.size === 0 ? "array" : `array of ${[...types].join(" and ")}`;
}
