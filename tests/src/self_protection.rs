//! `builtin:self-protection`: the agent's tools do not change what guards the agent.

use hookbox::ToolCall;
use hookbox::builtin::SELF_PROTECTION;
use hookbox::session::ToolDecision;
use serde_json::{Value, json};

use crate::environment::{TestEnvironment, sample};

fn shell(line: &str) -> Value {
    json!({"tool_name": "bash", "tool_input": {"command": line}})
}

#[test]
fn a_tool_call_that_changes_a_guarded_file_is_blocked_and_a_read_is_not() {
    let env = TestEnvironment::new();
    env.directory("elsewhere/hooks").directory("repo/.git").directory("home/dot");
    env.symlink("repo/link", "../elsewhere").symlink("home/.hookbox", "dot");
    env.file("home/dot/hookbox.toml", "");
    env.symlink("repo/.kodelet", "../elsewhere");
    for (tool, input, blocked) in [
        ("Write", json!({"file_path": ".hookbox/hooks/x"}), true),
        ("Edit", json!({"file_path": "~/.hookbox/hookbox.toml"}), true),
        ("Write", json!({"file_path": "~/dot/hookbox.toml"}), true),
        ("Write", json!({"file_path": "link/hooks/x"}), true),
        ("write_file", json!({"path": "~/.claude/settings.json"}), true),
        ("delete_file", json!({"path": ".hookbox"}), true),
        ("apply_patch", json!({"input": "*** Begin Patch\n*** Add File: .codex/hooks.json\n"}), true),
        ("mcp__files__write_file", json!({"path": ".hookbox/hookbox.toml"}), true),
        // Input that is not JSON, and more paths than a fact holds.
        ("Write", json!("{\"file_path\": \".hookbox/hooks/x\", "), true),
        ("Write", json!("{\"file_path\": \"src/main.rs\", "), false),
        (
            "Write",
            json!({"paths": (0..400).map(|n| format!("f{n}")).chain([".hookbox/hooks/x".into()]).collect::<Vec<_>>()}),
            true,
        ),
        ("mcp__files__read_file", json!({"path": ".hookbox/hookbox.toml"}), false),
        ("Read", json!({"file_path": ".hookbox/hookbox.toml"}), false),
        ("Write", json!({"file_path": "src/hookbox.toml"}), false),
        ("Bash", json!({"command": "hookbox trust x"}), true),
        ("Bash", json!({"command": "hookbox allow abcdkmns --yes"}), true),
        ("Write", json!({"file_path": "~/.local/share/hookbox/allowances.json"}), true),
        ("Bash", json!({"command": "script -qc 'hookbox approve' /dev/null"}), true),
        ("Bash", json!({"command": "nc -lU ~/.local/share/hookbox/approve.sock"}), true),
        ("Write", json!({"file_path": "~/.local/share/hookbox/approve.sock"}), true),
        ("Bash", json!({"command": "rm ~/.cache/hookbox/x"}), true),
        ("Bash", json!({"command": "ls .hookbox"}), false),
        ("TodoWrite", json!({"todos": ["hookbox trust x"]}), false),
    ] {
        let verdict = env.event(&["before_tool_call"], &json!({"tool_name": tool, "tool_input": input}));
        assert_eq!(verdict["blocked"], blocked, "{tool} {input}: {verdict}");
    }
    let reason = env.event(&["before_tool_call"], &shell("hookbox trust x"))["reason"].clone();
    let reason = reason.as_str().unwrap();
    for words in ["`hookbox trust`", "ask the user"] {
        assert!(reason.contains(words), "{reason}");
    }
    // The model reads the reason, and is told no switch.
    for words in ["hookbox.toml", "enabled", "--no-hooks"] {
        assert!(!reason.contains(words), "{reason}");
    }
}

#[test]
fn it_is_listed_and_only_the_user_can_switch_it_off() {
    let env = TestEnvironment::new();
    let row = |env: &TestEnvironment| {
        let rows = env.list_all(&[]);
        let row = rows.iter().find(|row| row["name"] == SELF_PROTECTION).unwrap();
        assert_eq!((&row["kind"], &row["tier"]), (&json!("builtin"), &json!("built in")));
        (row["status"].clone(), row["priority"].clone())
    };
    let blocked = |env: &TestEnvironment, args: &[&str]| {
        env.event(&[&["before_tool_call"], args].concat(), &shell("hookbox trust x"))["blocked"].clone()
    };
    let off = format!("[hooks.\"{SELF_PROTECTION}\"]\nenabled = false\n");
    assert_eq!(row(&env), (json!("active"), json!(50)));

    env.file("repo/.hookbox/hookbox.toml", format!("{off}on_failure = \"block\"\n"));
    let output = env.hookbox(["list"]);
    assert!(output.stderr.contains("a repository has no say in a built-in hook"), "{output:#?}");
    assert_eq!((row(&env).0, blocked(&env, &[])), (json!("active"), json!(true)));

    env.file("home/.kodelet/hookbox.toml", off.replace("enabled = false", "priority = 7"));
    assert_eq!(row(&env), (json!("active"), json!(7)));
    env.file("home/.hookbox/hookbox.toml", &off);
    assert_eq!((row(&env).0, blocked(&env, &[])), (json!("disabled"), json!(false)));

    env.file("home/.hookbox/hookbox.toml", "");
    assert_eq!((blocked(&env, &[]), blocked(&env, &["--no-hooks"])), (json!(true), json!(false)));
}

#[tokio::test]
async fn an_embedder_has_it_unless_it_says_otherwise() {
    let env = TestEnvironment::new();
    let call = || ToolCall::new("bash", json!({"command": "rm -rf .hookbox"}));
    for (guard, directories) in [(true, true), (true, false), (false, true), (false, false)] {
        let manager =
            env.builder().builtins(true).self_protection(guard).directories(directories).build().await;
        let verdict = manager.session("c").before_tool_call(call()).await;
        assert_eq!(matches!(verdict.decision, ToolDecision::Block(_)), guard, "{directories}");
        assert_eq!(manager.hook(SELF_PROTECTION).is_some(), guard);
    }
}

#[test]
fn inside_a_hook_it_judges_as_anywhere_else() {
    let env = TestEnvironment::new().variable("HOOKBOX_DEPTH", "1");
    for (line, blocked) in [("ls", false), ("hookbox trust x", true)] {
        assert_eq!(env.event(&["before_tool_call"], &shell(line))["blocked"], blocked, "{line}");
    }
}

#[test]
fn a_line_is_judged_in_every_shape_in_which_an_agent_runs_it() {
    let env = TestEnvironment::new();
    env.copy("home/.hookbox/hooks/guardrail.wasm", &sample("guardrail"));
    for (line, args) in
        [("rm -rf build", json!(["-rf", "build"])), ("hookbox trust x --yes", json!(["trust", "x", "--yes"]))]
    {
        let program = line.split(' ').next().unwrap();
        let (split, whole) = (json!({"command": program, "args": args}), json!({"command": line}));
        for (agent, tool, input) in [
            ("cline", "run_commands", json!({"commands": [split]})),
            ("cline", "run_commands", json!({"commands": whole})),
            ("cline", "run_commands", json!([split])),
            ("cline", "run_commands", split.clone()),
            ("cline", "run_commands", json!(["ls", line])),
            ("cline", "run_commands", json!({"commands": ["cat <<X", line]})),
            ("cline", "run_commands", json!({"commands": ["echo '", line, "'"]})),
            ("claude", "Bash", json!({"cmd": "cat <<X", "command": line})),
            ("claude", "Bash", json!({"script": ": '", "command": line, "shell_command": "'"})),
            ("claude", "Bash", json!({"script": "echo \\", "command": line})),
            ("claude", "Bash", json!({"command": {"x": line}})),
            ("claude", "Bash", json!([[line]])),
        ] {
            let event = json!({"session_id": "s", "hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": input});
            let name = if agent == "cline" { "beforeTool" } else { "PreToolUse" };
            let output = env.hookbox_with(["bridge", agent, "--event", name], event.to_string());
            let is_blocked = output.stdout.contains("deny")
                || output.stdout.contains("\"cancel\":true")
                || output.code == Some(2);
            assert!(is_blocked, "{agent} {input}: {output:#?}");
        }
    }
}

#[test]
fn a_program_that_waits_for_commands_is_blocked_only_where_the_model_could_type_into_it() {
    let env = TestEnvironment::new();
    for (agent, tool, line, blocked) in [
        ("codex", "Bash", "bash -i", true),
        ("codex", "Bash", "cd src && exec python3", true),
        ("codex", "Bash", "ssh build.example.com", true),
        ("codex", "Bash", "cat | sh", true),
        ("codex", "Bash", "bash scripts/x.sh", false),
        ("codex", "Bash", "python3 - <<'E'\nprint(1)\nE", false),
        ("codex", "apply_patch", "bash", false),
        ("claude", "Bash", "bash -i", false),
        ("qwen", "run_shell_command", "python3", false),
    ] {
        let call = json!({
            "hook_event_name": "PreToolUse", "session_id": "s", "cwd": env.path("repo"), "tool_name": tool,
            "tool_input": {"command": line},
        });
        let output = env.hookbox_with(["bridge", agent], call.to_string());
        assert_eq!(output.stdout.contains("deny"), blocked, "{agent} {line}: {output:#?}");
        assert_eq!(output.stdout.contains("write_stdin"), blocked, "{agent} {line}: {output:#?}");
    }
}

/// The lines of a file of `tests/data/self-protection`; of those that begin with `? ` it is known that they get past.
fn lines(file: &str, env: &TestEnvironment) -> Vec<(bool, String)> {
    let at = |path: &str| env.path(path).to_string_lossy().into_owned();
    let line = |line: &str| {
        let (is_known, line) = line.strip_prefix("? ").map_or((false, line), |line| (true, line));
        (is_known, line.replace("@HOME@", &at("home")).replace("@REPO@", &at("shop")).replace('⏎', "\n"))
    };
    file.lines().filter(|it| !it.is_empty() && !it.starts_with("# ")).map(line).collect()
}

#[tokio::test]
async fn nearly_every_line_that_changes_what_guards_is_stopped_and_no_everyday_line() {
    let env = TestEnvironment::new();
    env.directory("shop/.git").directory("home/.local/share/hookbox");
    env.mode("home/.local/share/hookbox", 0o700);
    for file in [
        "home/.hookbox/hookbox.toml",
        "home/.claude/settings.json",
        "home/.codex/config.toml",
        "home/.config/opencode/opencode.json",
        "shop/.hookbox/hookbox.toml",
        "shop/.hookbox/hooks.json",
        "shop/.claude/settings.json",
        "shop/.github/hooks/x.json",
        "shop/bin/g.sh",
    ] {
        env.file(file, "{}");
    }
    env.file("shop/.hookbox/hookbox.toml", "")
        .file("home/.hookbox/hookbox.toml", "")
        .file("home/.codex/config.toml", "");
    env.file("home/.local/share/hookbox/trust.json", r#"{"version": 1, "records": []}"#);
    env.file("home/.hookbox/hooks.json", r#"{"hooks": {"after_turn": [{"command": "sh bin/g.sh"}]}}"#);
    let builder = env.builder().builtins(true).self_protection(true).protect(hookbox_agents::protection());
    let builder = builder.cwd(env.path("shop"));
    let manager = builder.build().await;
    let session = manager.session("c").cwd(env.path("shop").to_string_lossy());
    let mut wrong = Vec::new();
    let (mut stopped, mut known, mut passed) = (0, 0, 0);
    for (file, is_change) in [
        (include_str!("../data/self-protection/changes.txt"), true),
        (include_str!("../data/self-protection/innocent.txt"), false),
    ] {
        for (is_known, line) in lines(file, &env) {
            let verdict = session.before_tool_call(ToolCall::new("bash", json!({"command": line}))).await;
            match (matches!(verdict.decision, ToolDecision::Block(_)), is_change) {
                (true, true) => stopped += 1,
                (false, true) if is_known => known += 1,
                (false, false) => passed += 1,
                (_, is_change) => wrong.push((is_change, line)),
            }
        }
    }
    println!(
        "{stopped} changes stopped, {known} known to get past; {passed} everyday lines passed; wrong: {wrong:#?}"
    );
    let missed = known + wrong.iter().filter(|(is_change, _)| *is_change).count();
    assert!(stopped >= 300 && passed >= 300, "{stopped} {passed}");
    assert!(missed * 50 <= stopped + missed, "{missed} of {} get past: {wrong:#?}", stopped + missed);
    assert!(wrong.iter().all(|(is_change, _)| *is_change), "{wrong:#?}");
}

#[test]
fn a_tool_works_where_its_fields_say_and_a_tool_of_a_server_is_known_by_its_texts() {
    let env = TestEnvironment::new();
    env.directory("repo/.git").file("repo/.hookbox/hookbox.toml", "").file("repo/bin/g.sh", "");
    env.file("home/.hookbox/hooks.json", r#"{"hooks": {"after_turn": [{"command": "sh bin/g.sh"}]}}"#);
    for (tool, input, blocked) in [
        ("run_shell_command", json!({"command": "rm hookbox.toml", "directory": ".hookbox"}), true),
        ("run_shell_command", json!({"command": "rm hookbox.toml", "dir_path": "./.hookbox"}), true),
        ("run_shell_command", json!({"command": "cat hookbox.toml", "dir_path": ".hookbox"}), false),
        ("run_shell_command", json!({"command": "rm hookbox.toml", "directory": "src"}), false),
        ("exec_command", json!({"cmd": "rm -rf hooks", "workdir": "~/.hookbox"}), true),
        ("shell", json!({"command": ["bash", "-lc", "echo > settings.json"], "workdir": ".claude"}), true),
        ("Bash", json!({"command": "rm settings.json", "cwd": ".claude"}), true),
        ("write_file", json!({"file_path": "opencode.json", "dir_path": "~/.config/opencode"}), true),
        ("mcp__files__move_file", json!({"source": ".hookbox", "destination": "/tmp/x"}), true),
        ("move_file", json!({"source": "~/.hookbox", "destination": "/tmp/x"}), true),
        ("move_file", json!({"file_path": "/tmp/x", "target": "~/.hookbox/hooks/git.wasm"}), true),
        ("move_file", json!({"source": "a.txt", "destination": "b.txt"}), false),
        ("Edit", json!({"path": "a.txt", "edits": [{"uri": "~/.hookbox/hookbox.toml"}]}), true),
        ("Bash", json!("{\"command\": \"rm -rf ~/.hookbox\"}"), true),
        ("Bash", json!("{\"command\": \"ls\"}"), false),
        ("mcp__files__move_file", json!({"source": "a.txt", "destination": "."}), false),
        ("mcp__files__copy_file", json!({"from": "a", "to": ".hookbox/hooks/x"}), true),
        ("mcp_files_append_file", json!({"file": "~/.hookbox/hookbox.toml", "text": "x"}), true),
        ("mcp__files__delete_directory", json!({"path": "~"}), true),
        ("mcp__files__create_directory", json!({"path": "src"}), false),
        ("mcp__files__edit_file", json!({"edits": [{"where": {"p": "~/.claude/settings.json"}}]}), true),
        ("mcp__files__sync", json!({"uri": "file:///x/.hookbox/hooks/y"}), true),
        ("mcp__files__read_file", json!({"path": ".hookbox/hookbox.toml"}), false),
        ("mcp__files__list_directory", json!({"path": ".hookbox"}), false),
        ("mcp__files__search_files", json!({"path": "~/.hookbox", "pattern": "*"}), false),
        ("mcp__files__read_and_delete", json!({"path": ".hookbox/hookbox.toml"}), true),
        ("mcp__term__run", json!({"line": "hookbox trust x --yes"}), true),
        ("mcp__term__execute_command", json!({"program": "hookbox", "args": ["trust", "x"]}), true),
        ("mcp__term__run", json!({"line": "cargo test -p hookbox trust"}), false),
        ("mcp__term__exec", json!({"argv": ["rm", "-rf", "hooks"], "cwd": ".hookbox"}), true),
        ("mcp__hub__create_issue", json!({"title": "hookbox trust", "body": "see .hookbox/hooks"}), false),
        ("rename_path", json!({"old": ".hookbox", "new": "x"}), true),
        ("copyFile", json!({"a": "x", "b": ".claude/settings.json"}), true),
        ("TodoWrite", json!({"todos": [{"content": "run hookbox trust x"}]}), false),
        // A script that a hook of the user runs.
        ("Write", json!({"file_path": "bin/g.sh"}), true),
        ("Bash", json!({"command": "echo > bin/g.sh"}), true),
        ("Bash", json!({"command": "rm -rf bin"}), true),
        ("Write", json!({"file_path": "bin/other.sh"}), false),
    ] {
        let verdict = env.event(&["before_tool_call"], &json!({"tool_name": tool, "tool_input": input}));
        assert_eq!(verdict["blocked"], blocked, "{tool} {input}: {verdict}");
    }
}

#[test]
fn every_command_of_the_program_is_one_that_reads_or_one_for_the_user() {
    // A new command has to be added to the table of `builtin:self-protection`, or here.
    let reads = [
        "backtest",
        "build",
        "cache",
        "completions",
        "compose",
        "doctor",
        "exec",
        "explain",
        "help",
        "inspect",
        "list",
        "log",
        "man",
        "new",
        "replay",
        "report",
        "schema",
        "test",
    ];
    // These have subcommands that read.
    let some = ["grants", "guard", "plugin"];
    let env = TestEnvironment::new();
    let help = env.hookbox(["--help"]).stdout;
    let commands = help.lines().take_while(|line| *line != "Options:").filter_map(|line| {
        let name = line.strip_prefix("  ")?.split(' ').next()?;
        (!name.is_empty() && name.chars().all(|it| it.is_ascii_lowercase())).then_some(name)
    });
    let commands: Vec<&str> = commands.collect();
    assert!(commands.len() > 25, "{commands:?}");
    for name in commands.into_iter().filter(|name| !some.contains(name)) {
        let verdict = env.event(&["before_tool_call"], &shell(&format!("hookbox {name}")));
        assert_eq!(verdict["blocked"] == true, !reads.contains(&name), "{name}: {verdict}");
    }
}
