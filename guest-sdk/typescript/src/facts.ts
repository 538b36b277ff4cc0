/** The lines that a tool call may run, and the files that it uses, whatever its tool is. */
/// <reference path="./wasi.d.ts" />
import * as facts from "hookbox:hook/facts@0.2.0";

/** A file that a call uses. */
export interface File {
  /** The path: absolute and without `..` if the directory of the call is known, else as it is written. */
  path: string;
  /** The use. */
  usage: "reads" | "writes" | "removes" | "moves";
  /** True if the path is a pattern for names of files. */
  isPattern: boolean;
  /** The text that goes into the file, or a part of it, if the call has it. */
  text?: string;
}

/** The effect of a call, as far as its text shows it. */
export interface CallFacts {
  /** The command lines that it may run. A tool that is not known, or one of an MCP server, may run code, or remove and
   * show files: its lines have the same effect. */
  lines: string[];
  /** The files that it uses, by its input and its lines. */
  files: File[];
}

/** Returns the facts of the call that the event is about; none for another event. */
export function readCall(): CallFacts {
  const { lines, files } = facts.readCall();
  return { lines, files: files.map(({ text, ...file }) => ({ ...file, ...(text != null && { text }) })) };
}
