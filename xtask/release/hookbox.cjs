#!/usr/bin/env node
// Starts the program of this system. An agent that is set up does not: its entries name the program itself.
"use strict";

const { spawn } = require("node:child_process");
const os = require("node:os");

const name = `@hookbox/${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${name}/hookbox`);
} catch {
  console.error(`error: there is no program for this system: the package ${name} is not installed`);
  console.error("hint: install without --omit=optional, or build it: cargo install hookbox-cli");
  process.exit(1);
}

const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
// The terminal sends these to the program, too, which decides.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => child.kill(signal));
}
child.on("error", (error) => {
  console.error(`error: ${program} does not start: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => process.exit(signal ? 128 + os.constants.signals[signal] : code));
