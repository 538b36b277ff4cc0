// Asks a guard for agents that npm has about commands. It runs none of them.
//
// Arguments: the directory of `node_modules`, and the working directory of the commands.
// Input: a JSON text a line, the command. Output: the version and the day, then `true` a line if the guard denies.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

const [modules, cwd] = process.argv.slice(2);
const root = `${modules}/cc-safety-net`;
const { checkCommand } = await import(pathToFileURL(`${root}/dist/api.js`));
const { version } = JSON.parse(readFileSync(`${root}/package.json`, 'utf8'));
console.log(JSON.stringify({ version, date: new Date().toISOString().slice(0, 10) }));

// Every so many lines the real hook answers too: it takes a process each.
const EVERY = 50;

const hookDenies = command => {
  const event = { hook_event_name: 'PreToolUse', session_id: 'rates', cwd, tool_name: 'Bash', tool_input: { command } };
  const args = [`${root}/dist/bin/cc-safety-net.js`, 'hook', '--claude-code'];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd, input: JSON.stringify(event), encoding: 'utf8' });
  if (status !== 0) throw new Error(`the hook failed: ${stderr}`);
  return stdout.trim() !== '' && JSON.parse(stdout).hookSpecificOutput?.permissionDecision === 'deny';
};

let at = 0;
for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line);
  const denies = checkCommand({ command, cwd }).kind !== 'allow';
  if (at++ % EVERY === 0 && hookDenies(command) !== denies) {
    throw new Error(`the hook and the library do not agree about ${line}`);
  }
  console.log(denies);
}
