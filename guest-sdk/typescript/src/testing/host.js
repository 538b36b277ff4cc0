// The imports of a hook that a test calls. The bundle of each call has a copy of this file.

/** The surroundings of the call. */
export const given = {
  /** @type {[string, string][]} */
  settings: [],
  /** @type {string[]} */
  lines: [],
};

/** @type {Map<string, Uint8Array>} */
const values = new Map();

export const getAll = () => given.settings;

export const readCall = () => ({ lines: given.lines, files: [] });

/**
 * @param {string} level
 * @param {string} _context
 * @param {string} message
 */
export const log = (level, _context, message) => console.error(`${level}: ${message}`);

export const open = () => ({
  get: (/** @type {string} */ key) => values.get(key),
  set: (/** @type {string} */ key, /** @type {Uint8Array} */ value) => void values.set(key, value),
  delete: (/** @type {string} */ key) => void values.delete(key),
  listKeys: () => ({ keys: [...values.keys()], cursor: undefined }),
});

/**
 * @param {unknown} _bucket
 * @param {string} key
 * @param {number} delta
 */
export function increment(_bucket, key, delta) {
  const count = Number(new TextDecoder().decode(values.get(key)) || "0") + delta;
  values.set(key, new TextEncoder().encode(String(count)));
  return count;
}
