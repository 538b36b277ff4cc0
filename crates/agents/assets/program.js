
// This part is in the plugin of every agent: it runs the program for an event, and reads the answer.

/** The longest output and the longest warnings of the program, in bytes. */
const MAX_OUTPUT = 16 << 20;
const MAX_WARNINGS = 64 << 10;

/** @typedef {{ deny?: string, ask?: string, input?: object, output?: unknown, message?: string, context?: string, follow_up?: string }} Answer */

/**
 * A call of the program. `decisions` and `fields` are those that the plugin follows; any other is a failure.
 * @typedef {object} Call
 * @property {string} agent
 * @property {string} program
 * @property {string} home
 * @property {string} [deadline]
 * @property {number} limit The time for the program, in milliseconds.
 * @property {string} [cwd]
 * @property {string[]} decisions
 * @property {string[]} fields
 */

/**
 * Runs the program for one event. This never fails: `failure` is the reason why there is no answer.
 * @param {Call} of
 * @param {string} event
 * @param {object} payload
 * @returns {Promise<{ answer?: Answer, failure?: string, warnings: string[] }>}
 */
function call(of, event, payload) {
  const { agent, program, home, deadline, limit, cwd } = of;
  return new Promise((resolve) => {
    const out = /** @type {Buffer[]} */ ([]);
    const err = /** @type {Buffer[]} */ ([]);
    let [size, noted] = [0, 0];
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let timer;
    let child;
    const failed = (/** @type {string} */ failure, /** @type {string[]} */ warnings = []) => {
      clearTimeout(timer);
      kill(child);
      resolve({ failure, warnings });
    };
    try {
      const options = [...(home === "" ? [] : ["--home", home]), ...(deadline ? ["--deadline", deadline] : [])];
      const args = ["bridge", agent, "--event", event, ...options];
      // A group of its own, so that what it started ends with it.
      child = spawn(program, args, { cwd, detached: true, stdio: ["pipe", "pipe", "pipe"] });
    } catch (error) {
      return failed(`${program} cannot be started: ${said(error)}`);
    }
    timer = setTimeout(() => failed(`${program} did not answer within ${limit} ms`), limit);
    child.on("error", (error) => failed(`${program} cannot be started: ${said(error)}`));
    child.stdout.on("data", (/** @type {Buffer} */ part) => {
      size += part.length;
      if (size > MAX_OUTPUT) failed(`${program} printed more than ${MAX_OUTPUT} bytes`);
      else out.push(part);
    });
    child.stderr.on("data", (/** @type {Buffer} */ part) => {
      noted += part.length;
      if (noted <= MAX_WARNINGS) err.push(part);
    });
    child.on("close", (code, signal) => {
      clearTimeout(timer);
      const notes = Buffer.concat(err).toString();
      const lines = notes.split("\n").filter((line) => line.trim() !== "");
      const warnings = lines.map((line) => line.replace(/^hookbox: /, ""));
      if (code === 2) return resolve({ answer: { deny: notes.trim() || "blocked by hookbox" }, warnings: [] });
      if (code !== 0) return failed(`${program} ended with ${signal ?? `exit code ${code}`}`, warnings);
      const read = answerOf(of, Buffer.concat(out).toString());
      if (typeof read === "string") failed(`${program} answered ${read}`, warnings);
      else resolve({ answer: read, warnings });
    });
    // A program that ended without reading reports that by its exit code.
    child.stdin.on("error", () => {});
    child.stdin.end(JSON.stringify(payload));
  });
}

/** The types of the fields of an answer. */
const IS = {
  input: isObject,
  output: (/** @type {unknown} */ it) => it !== null,
  message: isText,
  context: isText,
  follow_up: isText,
};

/**
 * Reads an answer: exactly one JSON object with fields of the right types, else a description of what was found.
 * @param {Call} of
 * @param {string} text
 * @returns {Answer | string}
 */
function answerOf({ decisions, fields }, text) {
  let read;
  try {
    read = JSON.parse(text);
  } catch {
    return `what is not one JSON object: ${JSON.stringify(text.slice(0, 100))}`;
  }
  if (!isObject(read)) return "what is not one JSON object";
  const { decision, reason, ...rest } = read;
  if (decision !== undefined) {
    const isRight = decisions.includes(decision) && isText(reason) && Object.keys(rest).length === 0;
    return isRight ? { [decision]: reason } : `a malformed decision: ${JSON.stringify(read).slice(0, 100)}`;
  }
  const odd = Object.entries(read).find(([name, value]) => !(fields.includes(name) && IS[name](value)));
  return odd === undefined ? read : `an unknown or wrong field ${JSON.stringify(odd[0])}`;
}

/** @returns {it is Record<string, unknown>} */
function isObject(/** @type {unknown} */ it) {
  return typeof it === "object" && it !== null && !Array.isArray(it);
}

function isText(/** @type {unknown} */ it) {
  return typeof it === "string";
}

/** Ends the program and what it started. */
function kill(/** @type {import("node:child_process").ChildProcess | undefined} */ child) {
  if (child?.pid === undefined || child.exitCode !== null) return;
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {
    child.kill("SIGKILL");
  }
}

function said(/** @type {unknown} */ error) {
  return error instanceof Error ? error.message : String(error);
}
