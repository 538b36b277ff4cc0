//! Commands that change trust, grants, plugins or configuration of agents need a human; an agent is refused.

#[cfg(target_os = "linux")]
mod above;
mod beside;

use crate::environment::{Output, TestEnvironment};

/// Every command that needs a human.
const CHANGES: [&[&str]; 21] = [
    &["trust", "guard", "--yes"],
    &["trust", "guard", "--json", "--yes"],
    &["trust", "guard"],
    &["untrust", "guard"],
    &["grants", "add", "guard", "store", "--yes"],
    &["grants", "remove", "guard"],
    &["plugin", "add", "../tools", "--yes"],
    &["plugin", "add", "../tools", "--global", "--no-trust"],
    &["plugin", "update"],
    &["plugin", "remove", "org/tools"],
    &["guard", "add", "--all", "--yes"],
    &["guard", "remove", "git", "--yes"],
    &["guard", "preset", "relaxed", "--yes"],
    &["install", "claude"],
    &["install", "claude", "--project", "--json"],
    &["uninstall", "claude"],
    &["setup", "--agent", "claude", "--yes"],
    &["remove", "--all", "--yes"],
    &["allow"],
    &["allow", "abcdefgh", "--yes"],
    &["approve"],
];

/// Commands that change nothing.
const READS: [&[&str]; 9] = [
    &["list"],
    &["grants"],
    &["grants", "--json"],
    &["guard", "list"],
    &["plugin", "list"],
    &["plugin", "update", "--dry-run"],
    &["install", "claude", "--dry-run"],
    &["uninstall", "claude", "--dry-run"],
    &["completions", "bash"],
];

const TRUST_FILE: &str = "home/.local/share/hookbox/trust.json";

/// A repository with a hook that nobody trusts.
fn place() -> TestEnvironment {
    let env = TestEnvironment::new();
    env.directory("repo/.git").native("repo/.hookbox/hooks/guard", "before_tool_call", "true");
    env
}

/// Nothing was changed, and the error says what to do.
#[track_caller]
fn refused(env: &TestEnvironment, output: &Output, args: &[&str], sign: &str) {
    let words: Vec<&str> = args.iter().copied().filter(|word| *word != "--yes").collect();
    let hint = format!("open a terminal outside of the agent and run: hookbox {}", words.join(" "));
    assert_eq!((output.code, output.stdout.as_str()), (Some(1), ""), "{args:?}: {output:#?}");
    for part in ["this needs a human: ", sign, &hint] {
        assert!(output.stderr.contains(part), "{args:?}: {part}: {output:#?}");
    }
    for path in [TRUST_FILE, "home/.claude", "repo/.claude", "repo/.hookbox/plugins", "home/.hookbox"] {
        assert!(!env.path(path).exists(), "{args:?}: {path}");
    }
}

#[test]
fn where_an_agent_sets_its_variable_every_change_is_refused_and_every_look_works() {
    let env = place();
    let variables = [
        ("CLAUDECODE", "1", "Claude Code"),
        ("CLAUDE_CODE_ENTRYPOINT", "cli", "Claude Code"),
        ("CODEX_SANDBOX", "seatbelt", "Codex"),
        ("CODEX_THREAD_ID", "0199", "Codex"),
        ("GEMINI_CLI", "1", "Gemini CLI"),
        ("QWEN_CODE", "1", "Qwen Code"),
        ("COPILOT_CLI", "1", "Copilot CLI"),
        ("CURSOR_AGENT", "1", "Cursor"),
        ("OPENCODE", "1", "OpenCode"),
        ("PI_CODING_AGENT", "true", "Pi"),
        ("AI_AGENT", "mine@1", "an agent"),
    ];
    let run = |args: &[&str], name: &str, value: &str| {
        env.run(env.command(crate::environment::program()).args(args).env(name, value), "y\n")
    };
    for (name, value, agent) in variables {
        let sign = format!("{agent} runs this ({name} is set)");
        refused(&env, &run(CHANGES[0], name, value), CHANGES[0], &sign);
    }
    for args in CHANGES {
        refused(&env, &run(args, "CLAUDECODE", "1"), args, "CLAUDECODE");
    }
    for args in READS {
        let output = run(args, "CLAUDECODE", "1");
        assert_eq!(output.code, Some(0), "{args:?}: {output:#?}");
    }
    let output = run(&["doctor", "claude"], "CLAUDECODE", "1");
    assert!(!output.stderr.contains("human"), "{output:#?}");
    // Variables that people have in their own shells are not signs.
    for (name, value) in [("CLAUDECODE", ""), ("CODEX_HOME", "/x"), ("CURSOR_TRACE_ID", "1"), ("CI", "1")] {
        let output = run(CHANGES[0], name, value);
        assert_eq!(output.code, Some(0), "{name}: {output:#?}");
        assert_eq!(run(CHANGES[3], name, value).code, Some(0), "{name}");
    }
}
