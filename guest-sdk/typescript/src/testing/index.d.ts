/** Runs the cases of a hook in node 18 or later, without hookbox. It needs the packages `esbuild` and `smol-toml`. */

/** Runs the cases of a file, or of each `*.toml` in a directory, against the hook that a TypeScript file exports as `hook`.
 * It prints a line for each case that is skipped, and the numbers.
 *
 * A case is skipped if it has a key that needs the sandbox: `before`, `clock`, `environment`, `every`, `files`, `http`,
 * `expect.files`, `expect.fuel`, `expect.memory`, `expect.requests`, a cause of failure that only the host finds, or a grant
 * other than `store` and `conversation`. `hookbox test` runs it.
 *
 * It rejects if a case fails, with the differences as `hookbox test` shows them; if a file is wrong; or if no case runs,
 * which would prove nothing. */
export function runCases(hook: string, cases: string): Promise<void>;
