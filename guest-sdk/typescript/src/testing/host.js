// The imports of a hook, for the case that runs. The bundle of a hook has a copy of this file, and so they meet in a global.

/** The name of the global. */
export const CURRENT = Symbol.for("hookbox.testing");

/**
 * @typedef {object} Host
 * @property {[string, string][]} settings
 * @property {Map<string, Uint8Array>} values
 * @property {boolean} hasStore
 * @property {boolean} wasDenied
 * @property {string} log
 * @property {import("../facts.ts").CallFacts} [facts]
 */

/** @returns {Host} */
function current() {
  const found = /** @type {any} */ (globalThis)[CURRENT];
  if (found === undefined) throw new Error("no case runs");
  return found;
}

export const getAll = () => current().settings;

export const readCall = () => current().facts ?? { lines: [], files: [] };

/**
 * @param {string} level
 * @param {string} _context
 * @param {string} message
 */
export function log(level, _context, message) {
  current().log += `${level}: ${message}\n`;
}

/** @param {string} _identifier */
export function open(_identifier) {
  const host = current();
  if (!host.hasStore) {
    host.wasDenied = true;
    throw Object.assign(new Error("access-denied"), { payload: { tag: "access-denied" } });
  }
  return new Bucket(host.values);
}

class Bucket {
  /** @param {Map<string, Uint8Array>} values */
  constructor(values) {
    this.values = values;
  }

  /** @param {string} key */
  get(key) {
    return this.values.get(key);
  }

  /**
   * @param {string} key
   * @param {Uint8Array} value
   */
  set(key, value) {
    this.values.set(key, value);
  }

  /** @param {string} key */
  delete(key) {
    this.values.delete(key);
  }

  listKeys() {
    return { keys: [...this.values.keys()], cursor: undefined };
  }
}

/**
 * @param {Bucket} bucket
 * @param {string} key
 * @param {number} delta
 */
export function increment(bucket, key, delta) {
  const before = bucket.values.get(key);
  const text = before === undefined ? "0" : new TextDecoder().decode(before);
  if (!/^\d+$/.test(text)) throw new Error(`the value of ${JSON.stringify(key)} is not a counter`);
  const count = Number(text) + delta;
  bucket.values.set(key, new TextEncoder().encode(String(count)));
  return count;
}
