/** Values that last from one call to the next, in the hook's own bucket. The hook asks for the right `store`.
 * Every function throws if the right was not granted, or if the store does not work or is full. */
/// <reference path="./wasi.d.ts" />
import * as atomics from "wasi:keyvalue/atomics@0.2.0-draft";
import * as store from "wasi:keyvalue/store@0.2.0-draft";
import type { JSONValue } from "./values.ts";

/** Uses the hook's own bucket, which has no name. */
function inBucket<T>(use: (bucket: store.Bucket) => T): T {
  try {
    return use(store.open(""));
  } catch (thrown) {
    throw new Error(`state: ${reason(thrown)}`);
  }
}

function reason(thrown: unknown): string {
  const payload = (thrown as { payload?: unknown } | null)?.payload ?? thrown;
  const { tag, val, message } = (payload ?? {}) as { tag?: string; val?: string; message?: string };
  if (tag === "access-denied") return "the right `store` was not granted";
  if (tag === "no-such-store") return "there is no such store";
  return val ?? message ?? String(thrown);
}

/** Returns the value of a key; undefined if nothing was set. */
export const get = (key: string): Uint8Array | undefined => inBucket((bucket) => bucket.get(key) ?? undefined);

/** Sets the value of a key. */
export const set = (key: string, value: Uint8Array): void => inBucket((bucket) => bucket.set(key, value));

/** Removes a key and its value; a missing key is no error. */
export const remove = (key: string): void => inBucket((bucket) => bucket.delete(key));

/** Adds to the counter of a key, which starts at 0, and returns its new value. No other call comes between. */
export const increment = (key: string, delta = 1): number =>
  inBucket((bucket) => Number(atomics.increment(bucket, key, delta)));

/** Returns every key that has a value, in no particular order. */
export function keys(): string[] {
  return inBucket((bucket) => {
    let page = bucket.listKeys(undefined);
    const found = [...page.keys];
    while (page.cursor !== undefined && page.cursor !== null) {
      page = bucket.listKeys(Number(page.cursor));
      found.push(...page.keys);
    }
    return found;
  });
}

/** Returns the value of a key that `setJSON` has set; undefined if nothing was set. */
export function getJSON(key: string): JSONValue | undefined {
  const value = get(key);
  return value === undefined ? undefined : (JSON.parse(decode(value)) as JSONValue);
}

/** Sets the value of a key to JSON. */
export const setJSON = (key: string, value: JSONValue): void => set(key, encode(JSON.stringify(value)));

// QuickJS has neither TextEncoder nor TextDecoder.
function encode(text: string): Uint8Array {
  const bytes = unescape(encodeURIComponent(text));
  return Uint8Array.from(bytes, (letter) => letter.charCodeAt(0));
}

function decode(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return decodeURIComponent(escape(text));
}
