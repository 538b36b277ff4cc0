//! Processes above the program that are agents: copies of a shell that are called like one.

use std::path::Path;

use super::{CHANGES, READS, TRUST_FILE, place, refused};
use crate::environment::{Output, TestEnvironment, program};

/// Runs a line in a shell that is this program, and no agent's variable is set.
fn under(env: &TestEnvironment, name: &str, line: &str) -> Output {
    env.copy(name, Path::new("/bin/bash"));
    // With a second command the shell stays above the first.
    let line = format!("{line}; exit $?");
    env.run(env.command(env.path(name)).args(["-c", &line]).env("HOOKBOX", program()), "y\ny\n")
}

#[test]
fn below_an_agents_program_every_change_is_refused_and_every_look_works() {
    let env = place();
    for (name, agent) in [
        ("bin/claude", "Claude Code"),
        ("bin/codex", "Codex"),
        ("bin/gemini", "Gemini CLI"),
        ("bin/qwen", "Qwen Code"),
        ("bin/copilot", "Copilot CLI"),
        ("bin/cursor-agent", "Cursor"),
        ("bin/opencode", "OpenCode"),
        ("bin/kodelet", "kodelet"),
    ] {
        let output = under(&env, name, "\"$HOOKBOX\" trust guard --yes");
        refused(&env, &output, CHANGES[0], &format!("{agent} runs this (process "));
    }
    for args in CHANGES {
        let output = under(&env, "bin/claude", &format!("\"$HOOKBOX\" {}", args.join(" ")));
        refused(&env, &output, args, "Claude Code runs this (process ");
    }
    for args in READS {
        let output = under(&env, "bin/claude", &format!("\"$HOOKBOX\" {}", args.join(" ")));
        assert_eq!(output.code, Some(0), "{args:?}: {output:#?}");
    }
    for name in ["bin/vim", "bin/claude-notes", "bin/cursor"] {
        let output = under(&env, name, "\"$HOOKBOX\" trust guard --yes && \"$HOOKBOX\" untrust guard");
        assert_eq!(output.code, Some(0), "{name}: {output:#?}");
    }
}

#[test]
fn an_agent_is_found_through_what_it_puts_between_and_no_terminal_of_its_own_helps() {
    let env = place();
    for line in [
        "env -i HOME=\"$HOME\" \"$HOOKBOX\" trust guard --yes",
        "setsid -w \"$HOOKBOX\" trust guard --yes",
        "timeout 60 bash -c 'true; \"$HOOKBOX\" trust guard --yes; exit $?'",
        "printf 'guard' | xargs -I{} \"$HOOKBOX\" trust {} --yes || exit 1",
    ] {
        let output = under(&env, "bin/claude", line);
        refused(&env, &output, CHANGES[0], "Claude Code runs this (process ");
    }
    // On a terminal that it made, all that is written is output.
    for line in [
        "script -qec \"$HOOKBOX trust guard --yes\" /dev/null",
        "script -qec \"$HOOKBOX trust guard\" /dev/null",
    ] {
        let output = under(&env, "bin/claude", line);
        assert_eq!(output.code, Some(1), "{output:#?}");
        assert!(output.stdout.contains("Claude Code runs this (process "), "{output:#?}");
        assert!(!env.path(TRUST_FILE).exists());
    }
}

#[test]
fn an_agent_that_is_a_script_is_known_by_its_package() {
    let env = place();
    let script = "modules/@openai/codex/bin/codex.js";
    env.file(script, "\"$HOOKBOX\" trust guard --yes\nexit $?\n").copy("bin/node", Path::new("/bin/bash"));
    let mut command = env.command(env.path("bin/node"));
    let output = env.run(command.arg(env.path(script)).env("HOOKBOX", program()), "");
    refused(&env, &output, CHANGES[0], "Codex runs this (process ");
}

/// So the tests of this repository run below an agent: with a home of their own, which is not the agent's.
#[test]
fn what_is_not_the_users_needs_no_human_below_an_agent() {
    let env = place();
    env.directory("real/.local/share/hookbox").directory("real/repo/.git");
    env.native("real/repo/.hookbox/hooks/guard", "before_tool_call", "true");
    env.symlink("linked/hookbox", env.path("real/.local/share/hookbox").to_str().unwrap());
    let root = env.path("");
    let root = root.to_str().unwrap();
    let own = format!("HOME={root}/home XDG_DATA_HOME={root}/home/.local/share");
    for (variables, args, is_refused) in [
        (own.clone(), format!("trust guard --yes --cwd {root}/repo"), false),
        (own.clone(), format!("untrust guard --cwd {root}/repo"), false),
        (own.clone(), format!("install claude --project --cwd {root}/repo"), false),
        (own.clone(), format!("install claude --cwd {root}/repo"), false),
        // The agent's own data, by its path or by a link.
        (format!("HOME={root}/home"), format!("trust guard --yes --cwd {root}/repo"), true),
        (
            format!("HOME={root}/home XDG_DATA_HOME={root}/linked"),
            format!("trust guard --yes --cwd {root}/repo"),
            true,
        ),
        // A repository of the agent's, and one that is nobody's temporary file.
        (own.clone(), format!("trust guard --yes --cwd {root}/real/repo"), true),
        (own.clone(), "install claude --project --cwd /usr".to_owned(), true),
        // The configuration of an agent elsewhere.
        (
            format!("{own} CLAUDE_CONFIG_DIR={root}/real/.claude"),
            format!("install claude --cwd {root}/repo"),
            true,
        ),
        (format!("{own} CLAUDE_CONFIG_DIR=/usr"), format!("install claude --cwd {root}/repo"), true),
        // A home that leads elsewhere once it exists.
        (
            format!("{own} XDG_DATA_HOME={root}/new/../real/.local/share"),
            format!("trust guard --yes --cwd {root}/repo"),
            true,
        ),
        // An agent's variable counts in any home.
        (format!("{own} CLAUDECODE=1"), format!("trust guard --yes --cwd {root}/repo"), true),
    ] {
        env.copy("bin/claude", Path::new("/bin/bash"));
        let line = format!("{variables} \"$HOOKBOX\" {args}; exit $?");
        let mut command = env.command(env.path("bin/claude"));
        command.current_dir(env.path("real")).args(["-c", &line]).env("HOOKBOX", program());
        command.env("HOME", env.path("real")).env("XDG_DATA_HOME", env.path("real/.local/share"));
        command.env_remove("XDG_CONFIG_HOME").env_remove("XDG_CACHE_HOME").env("TMPDIR", root);
        let output = env.run(&mut command, "");
        assert_eq!(output.code, Some(i32::from(is_refused)), "{line}: {output:#?}");
        assert_eq!(output.stderr.contains("this needs a human"), is_refused, "{line}: {output:#?}");
        assert!(!env.path("real/.local/share/hookbox/trust.json").exists(), "{line}");
        assert!(!env.path("real/.claude").exists(), "{line}");
    }
}
