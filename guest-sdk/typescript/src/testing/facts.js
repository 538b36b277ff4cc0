// The facts of a tool call, worked out without the host: the same words, from a smaller table.

import { realpathSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";

/**
 * Tools by the names that agents give them, in lower case.
 *
 * @type {Record<string, string>}
 */
const KINDS = {
  shell: "bash shell sh powershell run_shell_command execute_command exec_command local_shell",
  read: "read read_file file_read view view_image read_many_files notebookread",
  write: "write write_file file_write create",
  edit: "edit file_edit multiedit replace str_replace apply_patch notebookedit edit_file",
  search: "grep grep_tool glob glob_tool ls list_directory search_file_content grep_search",
  fetch: "webfetch web_fetch fetch websearch web_search google_web_search",
  agent: "task agent subagent spawn_agent",
};

/** The fields in which tools name a file or a directory. */
const PATH_FIELDS = ["file_path", "path", "filename", "absolute_path", "notebook_path", "dir_path"];

/**
 * Returns the kind of a tool.
 *
 * @param {string} name
 */
export function kindOf(name) {
  const lower = name.toLowerCase();
  if (lower.startsWith("mcp_")) return "mcp";
  const found = Object.entries(KINDS).find(([, names]) => names.split(" ").includes(lower));
  return found === undefined ? "other" : found[0];
}

/**
 * Returns the shell line of a shell tool; a list of words becomes one.
 *
 * @param {string} kind
 * @param {any} input
 * @returns {string | undefined}
 */
export function commandOf(kind, input) {
  if (kind !== "shell") return undefined;
  const found = input?.command ?? input?.cmd ?? input?.script;
  if (typeof found === "string") return found;
  if (!Array.isArray(found) || found.some((it) => typeof it !== "string")) return undefined;
  const [shell, flag, line] = found;
  // `["bash", "-lc", LINE]` is how some agents write a line.
  if (found.length === 3 && shell.endsWith("sh") && /^-.*c$/.test(flag)) return line;
  return found.join(" ");
}

/**
 * Returns the paths of a file tool.
 *
 * @param {string} kind
 * @param {any} input
 * @param {string} cwd
 */
export function pathsOf(kind, input, cwd) {
  if (!["read", "write", "edit", "search"].includes(kind)) return [];
  const here = real(resolve(cwd));
  const named = PATH_FIELDS.map((name) => input?.[name]).filter((it) => typeof it === "string" && it !== "");
  return named.map((it) => {
    const path = real(resolve(cwd, it));
    return { path, inside: !/^\.\.(\/|$)/.test(relative(here, path)) };
  });
}

/**
 * Returns the line of a shell tool, and the paths of a file tool.
 *
 * @param {any} call
 * @returns {import("../facts.ts").CallFacts}
 */
export function factsOf({ kind, command, paths }) {
  const usage = kind === "write" || kind === "edit" ? "writes" : "reads";
  const files = paths.map((/** @type {any} */ found) => ({ path: found.path, usage, isPattern: false }));
  return { lines: command === undefined ? [] : [command], files };
}

/**
 * Follows symlinks as far as a path exists.
 *
 * @param {string} path
 * @returns {string}
 */
function real(path) {
  try {
    return realpathSync(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(real(parent), relative(parent, path));
  }
}
