//! The signs by which a process knows that an agent runs it: variables that the agents set for their commands, and the
//! programs that they are.

/// A variable that an agent sets for the commands that it runs, and the agent.
///
/// Not here is what people have in their own shells as well: `CODEX_HOME`, `CLAUDE_CONFIG_DIR` and keys are settings;
/// `CURSOR_TRACE_ID` and `CLAUDE_CODE_SSE_PORT` are in each terminal of an editor; `AGENT` is a word of many programs.
const VARIABLES: [(&str, &str); 15] = [
    // Its documentation of variables: "set to 1 in shell environments that Claude Code spawns".
    ("CLAUDECODE", "Claude Code"),
    // The same page, since 2.1.172; commands, hooks and status lines have it.
    ("CLAUDE_CODE_CHILD_SESSION", "Claude Code"),
    // It sets this for itself, and what it starts inherits it.
    ("CLAUDE_CODE_ENTRYPOINT", "Claude Code"),
    // openai/codex: codex-rs/core/src/spawn.rs.
    ("CODEX_SANDBOX", "Codex"),
    ("CODEX_SANDBOX_NETWORK_DISABLED", "Codex"),
    // openai/codex: codex-rs/protocol/src/shell_environment.rs.
    ("CODEX_THREAD_ID", "Codex"),
    // openai/codex: the environment of its unified exec, codex-rs/core/src/unified_exec/process_manager.rs.
    ("CODEX_CI", "Codex"),
    // google-gemini/gemini-cli: docs/tools/shell.md.
    ("GEMINI_CLI", "Gemini CLI"),
    // QwenLM/qwen-code: packages/core/src/services/shellExecutionService.ts.
    ("QWEN_CODE", "Qwen Code"),
    // Seen by others in what Copilot CLI 1.0 starts; its own documentation has neither.
    ("COPILOT_CLI", "Copilot CLI"),
    ("COPILOT_AGENT_SESSION_ID", "Copilot CLI"),
    // Cursor's documentation of the terminal of its agent.
    ("CURSOR_AGENT", "Cursor"),
    // anomalyco/opencode: packages/opencode/src/index.ts.
    ("OPENCODE", "OpenCode"),
    // The same file, in later versions.
    ("OPENCODE_PID", "OpenCode"),
    // A convention for all agents: @vercel/detect-agent.
    ("AI_AGENT", "an agent"),
];

/// The name of an agent's program, the npm packages or directories that it is a script of, and the agent.
const PROGRAMS: [(&[&str], &[&str], &str); 8] = [
    (&["claude"], &["@anthropic-ai/claude-code"], "Claude Code"),
    (
        &["codex", "codex-x86_64-unknown-linux-musl", "codex-aarch64-unknown-linux-musl"],
        &["@openai/codex"],
        "Codex",
    ),
    (&["gemini"], &["@google/gemini-cli"], "Gemini CLI"),
    (&["qwen"], &["@qwen-code/qwen-code"], "Qwen Code"),
    (&["copilot"], &["@github/copilot"], "Copilot CLI"),
    // The editor itself is none: people have terminals in it.
    (&["cursor-agent"], &["cursor-agent"], "Cursor"),
    (&["opencode"], &["opencode-ai"], "OpenCode"),
    (&["kodelet"], &[], "kodelet"),
];

/// Programs that run a script; the agents that are one are JavaScript.
const INTERPRETERS: [&str; 4] = ["node", "nodejs", "bun", "deno"];

/// The first variable that only an agent sets, and the agent. `is_set` asks for one that is set and not empty.
pub(crate) fn variable(is_set: impl Fn(&str) -> bool) -> Option<(&'static str, &'static str)> {
    VARIABLES.into_iter().find(|(name, _)| is_set(name))
}

/// The agent that a process is: by its program's path, by what the system calls it, and by its arguments.
pub(crate) fn program(path: &str, name: &str, arguments: &[&str]) -> Option<&'static str> {
    let called = arguments.first().copied().unwrap_or_default();
    let names = [path.trim_end_matches(" (deleted)"), name, called].map(file_name);
    if let Some((.., agent)) = PROGRAMS.iter().find(|(own, ..)| names.iter().any(|it| own.contains(it))) {
        return Some(agent);
    }
    if !names.iter().any(|it| INTERPRETERS.contains(it)) {
        return None;
    }
    let script = arguments.iter().skip(1).find(|it| !it.starts_with('-'))?;
    let stem = file_name(script);
    let stem = [".js", ".mjs", ".cjs"].iter().find_map(|it| stem.strip_suffix(it)).unwrap_or(stem);
    let is_script = |names: &[&str], packages: &[&str]| {
        names.contains(&stem) || packages.iter().any(|it| script.contains(&format!("/{it}/")))
    };
    PROGRAMS.iter().find(|(names, packages, _)| is_script(names, packages)).map(|(.., agent)| *agent)
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_agent_is_known_by_its_variables_and_no_setting_of_a_user_is_one() {
        for (name, agent) in VARIABLES {
            assert_eq!(variable(|it| it == name), Some((name, agent)));
        }
        for name in ["CODEX_HOME", "CLAUDE_CONFIG_DIR", "CURSOR_TRACE_ID", "AGENT", "GEMINI_API_KEY", ""] {
            assert_eq!(variable(|it| it == name), None, "{name}");
        }
    }

    #[test]
    fn a_process_is_an_agent_by_its_program_or_by_its_script() {
        let modules = "/usr/lib/node_modules";
        for (path, name, arguments, want) in [
            ("/home/u/.local/share/claude/versions/2.1.300", "claude", "claude -c", Some("Claude Code")),
            ("/usr/bin/node", "claude", "claude", Some("Claude Code")),
            ("/opt/codex/codex (deleted)", "codex", "codex exec", Some("Codex")),
            ("/opt/codex-x86_64-unknown-linux-musl", "codex-x86_64-un", "", Some("Codex")),
            ("/usr/bin/node", "MainThread", "node /usr/local/bin/gemini -p x", Some("Gemini CLI")),
            (
                "/usr/bin/node",
                "node",
                "node --no-warnings MODULES/@qwen-code/qwen-code/cli.js",
                Some("Qwen Code"),
            ),
            ("/usr/bin/node", "node", "node MODULES/@github/copilot/index.js", Some("Copilot CLI")),
            ("/home/u/x/node", "node", "/home/u/.local/bin/cursor-agent --x", Some("Cursor")),
            ("", "opencode", "", Some("OpenCode")),
            ("/usr/bin/kodelet", "kodelet", "kodelet run", Some("kodelet")),
            ("/bin/bash", "kodelet", "/bin/bash /usr/bin/kodelet", Some("kodelet")),
            ("/usr/share/cursor/cursor", "cursor", "/usr/share/cursor/cursor .", None),
            ("/usr/bin/vim", "vim", "vim MODULES/@openai/codex/codex.js", None),
            ("/usr/bin/node", "node", "node server.js claude", None),
            ("/bin/bash", "bash", "bash", None),
            ("", "", "", None),
        ] {
            let arguments = arguments.replace("MODULES", modules);
            let arguments: Vec<&str> = arguments.split(' ').collect();
            assert_eq!(program(path, name, &arguments), want, "{path} {name} {arguments:?}");
        }
    }
}
