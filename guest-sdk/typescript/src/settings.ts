/// <reference path="./wasi.d.ts" />
import { getAll } from "wasi:config/store@0.2.0-rc.1";
import type { JSONValue } from "./values.ts";

/** Settings with their defaults. */
export type Defaults = Record<string, JSONValue>;

/** The same type as a default: `string` for "a", and not the one text "a". */
export type Widened<T> = { [K in keyof T]: T[K] extends string ? string : T[K] extends number ? number : T[K] extends boolean ? boolean : T[K] };

/** Returns the hook's own settings, its table in `hookbox.toml`, over these defaults. A setting has the type of its
 * default. An unknown key or another type throws, because a misspelled setting of a guard must not be ignored. */
export function settings<T extends Defaults>(defaults: T): Widened<T> {
  const found: Record<string, JSONValue> = { ...defaults };
  for (const [key, text] of getAll()) {
    const usual = defaults[key];
    if (!Object.hasOwn(defaults, key) || usual === undefined) {
      throw new Error(`unknown setting \`${key}\`, expected one of: ${Object.keys(defaults).join(", ")}`);
    }
    const value = typeof usual === "string" ? text : parse(text);
    if (!fits(value, usual)) {
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

/** Returns true if a value has the type of a default. The items of a list have that of its first default. */
function fits(value: JSONValue, usual: JSONValue): boolean {
  if (!Array.isArray(usual) || !Array.isArray(value)) return typeOf(value) === typeOf(usual);
  const [first] = usual;
  return first === undefined || value.every((item) => fits(item, first));
}

/** Returns the type of a value, for a message. */
function typeOf(value: JSONValue): string {
  if (value === null) return "null";
  if (!Array.isArray(value)) return typeof value;
  const types = new Set(value.map(typeOf));
  return types.size === 0 ? "array" : `array of ${[...types].join(" and ")}`;
}

/** Returns the JSON Schema of settings with these defaults. */
export function schema(defaults: Defaults): JSONValue {
  const properties = Object.entries(defaults).map(([key, value]) => [key, { ...schemaOf(value), default: value }]);
  return { type: "object", additionalProperties: false, properties: Object.fromEntries(properties) };
}

function schemaOf(value: JSONValue): { [key: string]: JSONValue } {
  if (!Array.isArray(value)) return value === null ? {} : { type: typeof value };
  const [first] = value;
  return { type: "array", ...(first !== undefined && { items: schemaOf(first) }) };
}
