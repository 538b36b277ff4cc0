//! Plugins as they are published for Claude Code: their hooks.json names files anywhere in the plugin.

use serde_json::{Value, json};

use super::repository::{File, Repository};
use super::{done, fails, plugin};
use crate::environment::TestEnvironment;

/// A plugin of one of the shapes that are published.
struct Shape {
    name: &'static str,
    files: &'static [File<'static>],
    hooks: &'static [&'static str],
    /// An event, its payload, and a pointer into the verdict with the expected value.
    event: &'static str,
    payload: fn() -> Value,
    answer: (&'static str, fn() -> Value),
}

const MANIFEST: File<'static> = ("100644", ".claude-plugin/plugin.json", r#"{"name": "x"}"#);

/// The program of a session_start hook beside `hooks/`.
const SAYS: &str = "#!/bin/bash\ncat << 'EOF'\n{\"hookSpecificOutput\": {\"hookEventName\": \"SessionStart\", \
                    \"additionalContext\": \"explain\"}}\nEOF\n";
const SAYS_HOOKS: &str = r#"{"description": "x", "hooks": {"SessionStart": [{"hooks": [
    {"type": "command", "command": "${CLAUDE_PLUGIN_ROOT}/hooks-handlers/session-start.sh"}]}]}}"#;
const RULES_HOOKS: &str = r#"{"hooks": {
    "PreToolUse": [{"hooks": [
        {"type": "command", "command": "python3 ${CLAUDE_PLUGIN_ROOT}/hooks/pretooluse.py", "timeout": 10}]}],
    "Stop": [{"hooks": [
        {"type": "command", "command": "python3 ${CLAUDE_PLUGIN_ROOT}/hooks/stop.py", "timeout": 10}]}]}}"#;
const SECURITY_HOOKS: &str = r#"{"hooks": {"PostToolUse": [
    {"hooks": [{"type": "command", "command":
        "bash \"${CLAUDE_PLUGIN_ROOT}/hooks/run.sh\" \"${CLAUDE_PLUGIN_ROOT}/hooks/check.py\""}],
     "matcher": "Edit|Write"},
    {"hooks": [{"type": "command", "if": "Bash(git push:*)", "asyncRewake": true, "rewakeMessage": "x", "command":
        "bash \"${CLAUDE_PLUGIN_ROOT}/hooks/run.sh\" \"${CLAUDE_PLUGIN_ROOT}/hooks/check.py\""}],
     "matcher": "Bash"}]}}"#;

const SHAPES: [Shape; 4] = [
    Shape {
        name: "style",
        files: &[
            MANIFEST,
            ("100644", "README.md", "# Style\n"),
            ("100755", "hooks-handlers/session-start.sh", SAYS),
            ("100644", "hooks/hooks.json", SAYS_HOOKS),
        ],
        hooks: &["style/hooks.json#SessionStart[0]"],
        event: "session_start",
        payload: || json!({"source": "startup"}),
        answer: ("/additional_context", || json!(["explain"])),
    },
    Shape {
        name: "rules",
        files: &[
            MANIFEST,
            ("100644", ".gitignore", "*.pyc\n"),
            ("100644", "core/rules.py", "deny='no force'\n"),
            ("100755", "hooks/__init__.py", ""),
            ("100644", "hooks/hooks.json", RULES_HOOKS),
            (
                "100755",
                "hooks/pretooluse.py",
                ". \"$CLAUDE_PLUGIN_ROOT/core/rules.py\"\necho '{\"hookSpecificOutput\": {\"permissionDecision\": \
                 \"deny\", \"permissionDecisionReason\": \"'\"$deny\"'\"}}'\n",
            ),
            ("100755", "hooks/stop.py", "exit 0\n"),
            ("100644", "skills/rules/SKILL.md", "# Rules\n"),
        ],
        hooks: &["rules/hooks.json#PreToolUse[0]", "rules/hooks.json#Stop[0]"],
        event: "before_tool_call",
        payload: || json!({"tool_name": "bash", "tool_input": {"command": "git push --force"}}),
        answer: ("/blocked", || json!(true)),
    },
    Shape {
        name: "loop",
        files: &[
            MANIFEST,
            ("100644", "commands/loop.md", "# Loop\n"),
            (
                "100644",
                "hooks/hooks.json",
                r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "${CLAUDE_PLUGIN_ROOT}/hooks/stop.sh"}]}]}}"#,
            ),
            (
                "100755",
                "hooks/stop.sh",
                "#!/bin/bash\nset -euo pipefail\nIN=$(cat)\n[[ $IN == *Stop* ]]\n\
                 echo '{\"decision\": \"block\", \"reason\": \"once more\"}'\n",
            ),
            ("100755", "scripts/setup.sh", "#!/bin/bash\n"),
        ],
        hooks: &["loop/hooks.json#Stop[0]"],
        event: "agent_stop",
        payload: || json!({"messages": []}),
        answer: ("/follow_up_messages", || json!(["once more"])),
    },
    Shape {
        name: "security",
        files: &[
            MANIFEST,
            ("100644", "hooks/_base.py", "warn='careful'\n"),
            (
                "100644",
                "hooks/check.py",
                ". \"$CLAUDE_PLUGIN_ROOT/hooks/_base.py\"\necho '{\"hookSpecificOutput\": {\"hookEventName\": \
                 \"PostToolUse\", \"additionalContext\": \"'\"$warn\"'\"}}'\n",
            ),
            ("100755", "hooks/run.sh", "#!/bin/bash\nexec python3 \"$@\"\n"),
            ("100644", "hooks/hooks.json", SECURITY_HOOKS),
        ],
        hooks: &["security/hooks.json#PostToolUse[0]", "security/hooks.json#PostToolUse[1]"],
        event: "after_tool_call",
        payload: || {
            json!({"tool_name": "file_write", "tool_input": {"file_path": "a.py", "text": "x"},
                   "tool_output": {"success": true}})
        },
        answer: ("/additional_context", || json!(["careful"])),
    },
];

/// An interpreter that writes its bytecode beside modules, as Python does.
fn with_python(env: &TestEnvironment) -> &TestEnvironment {
    let script = "#!/bin/sh\n[ -n \"$PYTHONDONTWRITEBYTECODE\" ] || \
                  { mkdir -p \"${1%/*}/__pycache__\" && echo x > \"${1%/*}/__pycache__/x.pyc\"; }\nexec /bin/sh \"$@\"\n";
    env.script("bin/python3", script)
}

#[test]
fn a_plugin_for_claude_code_is_installed_whole_and_its_hooks_run() {
    let env = TestEnvironment::new();
    with_python(&env);
    for Shape { name, files, hooks, event, payload, answer: (pointer, want) } in SHAPES {
        let repository = Repository::new(&env, &format!("git/acme/{name}"));
        repository.commit("main", files);
        let added = done(&env, &["add", &repository.url(), "--yes"]);
        assert!(added.stderr.contains("  others  .claude-plugin/"), "{added:#?}");
        assert!(!added.stderr.contains("warning: "), "{added:#?}");
        let top = format!("repo/.hookbox/plugins/acme@{name}");
        for (_, file, bytes) in files {
            assert_eq!(env.read(&format!("{top}/{file}")).as_deref(), Some(*bytes), "{name}: {file}");
        }
        let prefix = format!("acme/{name}/");
        let listed: Vec<Value> = env
            .list(&[])
            .into_iter()
            .filter(|it| it["name"].as_str().unwrap().starts_with(&prefix))
            .collect();
        let names: Vec<&str> = listed.iter().map(|it| it["name"].as_str().unwrap()).collect();
        let hooks: Vec<String> = hooks.iter().map(|hook| format!("acme/{hook}")).collect();
        assert_eq!(names, hooks, "no script is a hook of its own: {listed:#?}");
        // The second time: what a hook writes does not end its trust.
        for _ in 0..2 {
            let verdict = env.event(&[event], &payload());
            assert_eq!(verdict.pointer(pointer), Some(&want()), "{name}: {verdict:#}");
        }
        done(&env, &["remove", &format!("acme/{name}")]);
    }
}

#[test]
fn a_changed_module_ends_the_trust_in_the_script_that_loads_it() {
    let env = TestEnvironment::new();
    let Shape { name, files, event, payload, .. } = &SHAPES[1];
    let repository = Repository::new(with_python(&env), &format!("git/acme/{name}"));
    repository.commit("main", files);
    done(&env, &["add", &repository.url(), "--yes"]);
    assert_eq!(env.event(&[event], &payload())["blocked"], true);
    env.file(&format!("repo/.hookbox/plugins/acme@{name}/core/rules.py"), "touch \"$HOME/ran\"\n");
    let verdict = env.event(&[event], &payload());
    assert_eq!(verdict["blocked"], false, "{verdict:#}");
    assert_eq!(env.read("home/ran"), None);
    let hook = &env.list(&[])[0];
    assert_eq!((&hook["status"], &hook["trusted"]), (&json!("untrusted"), &json!(false)), "{hook:#}");
    let row = &done(&env, &["list", "--json"]).json()[0];
    assert_eq!(row["details"]["changed"], true, "{row:#}");
    assert_eq!(row["details"]["others"], json!([".claude-plugin/", ".gitignore", "core/"]), "{row:#}");
}

#[test]
fn a_plugin_in_the_home_that_writes_beside_itself_stays_trusted() {
    // In a repository the lock file and the directory are those of whoever may change it.
    for (location, stays) in [(&["--global"][..], true), (&[], false)] {
        let env = TestEnvironment::new();
        let add = [&["add", "../source", "--name", "a/b", "--yes"], location].concat();
        env.file(
            "source/hooks/hooks.json",
            json!({"hooks": {"PreToolUse": [{"hooks": [
                {"type": "command", "command": "bash \"${CLAUDE_PLUGIN_ROOT}/guard.sh\""}
            ]}]}})
            .to_string(),
        );
        env.script(
            "source/guard.sh",
            "#!/bin/bash\ncd \"$CLAUDE_PLUGIN_ROOT\"\nmkdir -p state\ndate >> hook.log\ndate > state/last.json\n\
             echo no >&2\nexit 2\n",
        );
        let output = done(&env, &add);
        assert!(output.stderr.contains("trust covers the installed files"), "{output:#?}");
        let call = json!({"tool_name": "bash", "tool_input": {"command": "ls"}});
        for blocks in [true, stays] {
            assert_eq!(env.event(&["before_tool_call"], &call)["blocked"], blocks, "{location:?}");
        }
        let shown = done(&env, &["show", "a/b"]);
        assert_eq!(shown.stdout.contains("added     hook.log state/\n"), stays, "{shown:#?}");
        let details = &done(&env, &["list", "--json"]).json()[0]["details"];
        assert_eq!(
            (&details["changed"], &details["trusted"]),
            (&json!(!stays), &json!(stays)),
            "{details:#}"
        );
        // A repository's lock file is not asked which files count.
        let lock = env.read(if stays { "home/.hookbox/plugins.lock" } else { "repo/.hookbox/plugins.lock" });
        assert_eq!(lock.unwrap().contains("files = "), stays);
    }
}

#[test]
fn a_command_whose_file_is_not_in_the_plugin_refuses_the_plugin() {
    let env = TestEnvironment::new();
    let claude = |line: &str| {
        let hook = json!({"type": "command", "command": line});
        json!({"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "true"}, hook]}]}})
    };
    let own = |command: Value| json!({"hooks": {"PreToolUse": [{"command": command, "name": "guard"}]}});
    for (at, (hooks, hook, file)) in [
        (claude("${CLAUDE_PLUGIN_ROOT}/scripts/gone.sh"), "hooks.json#PreToolUse[1]", "scripts/gone.sh"),
        (claude("bash \"${CLAUDE_PLUGIN_ROOT}/gone\" x"), "hooks.json#PreToolUse[1]", "gone"),
        (claude("python3 \"${CLAUDE_PLUGIN_ROOT}\"/gone.py"), "hooks.json#PreToolUse[1]", "gone.py"),
        (claude("${CLAUDE_PLUGIN_ROOT}/../a@b/hooks/x"), "hooks.json#PreToolUse[1]", "../a@b/hooks/x"),
        (claude("${CLAUDE_PLUGIN_ROOT}/hooks"), "hooks.json#PreToolUse[1]", "hooks"),
        (claude("${CLAUDE_PLUGIN_ROOT}/e\u{1b}vil"), "hooks.json#PreToolUse[1]", "e\\u{1b}vil"),
        (own(json!("hooks/gone.sh --now")), "guard", "hooks/gone.sh"),
        (own(json!(["python3", "hooks/gone.py"])), "guard", "hooks/gone.py"),
    ]
    .into_iter()
    .enumerate()
    {
        let dir = format!("x/p{at}");
        env.file(&format!("{dir}/hooks/hooks.json"), hooks.to_string())
            .file(&format!("{dir}/recipes/r.md"), "r");
        let words = [format!("its hook {hook} runs {file}, which is not a file of the plugin"), dir.clone()];
        fails(
            &env,
            &["add", &format!("../{dir}")],
            1,
            &[&words[0], &words[1], "nothing of the plugin was installed"],
        );
        assert!(!env.path("repo/.hookbox").exists(), "{hooks}");
    }
    // An update is refused, too, and the old plugin stays.
    let hooks = |line: &str| claude(line).to_string();
    env.file("x/p/hooks/hooks.json", hooks("${CLAUDE_PLUGIN_ROOT}/run")).script("x/p/run", "#!/bin/sh\n");
    done(&env, &["add", "../x/p", "--yes"]);
    env.file("x/p/hooks/hooks.json", hooks("${CLAUDE_PLUGIN_ROOT}/walk"));
    fails(&env, &["update", "--yes"], 1, &["runs walk, which is not a file of the plugin"]);
    assert!(env.read("repo/.hookbox/plugins/x@p/hooks/hooks.json").unwrap().contains("/run"));
}

#[test]
fn a_guard_of_a_plugin_that_cannot_start_blocks_as_its_policy_says() {
    let call = json!({"tool_name": "bash", "tool_input": {"command": "ls"}});
    for (line, mode, shebang, why) in [
        // Without an execute bit, and with no interpreter: the shell reports both.
        ("\\\"${CLAUDE_PLUGIN_ROOT}/guard\\\"", 0o644, "#!/bin/sh", "failed (spawn): ended with status 126"),
        (
            "${CLAUDE_PLUGIN_ROOT}/guard",
            0o755,
            "#!/no/such/interpreter",
            "failed (not_found): ended with status 127",
        ),
        ("A=1 no-such-program ${CLAUDE_PLUGIN_ROOT}/guard", 0o755, "#!/bin/sh", "failed (not_found)"),
        ("no-such-program ${CLAUDE_PLUGIN_ROOT}/guard", 0o755, "#!/bin/sh", "failed (not_found)"),
    ] {
        for policy in ["block", "pass"] {
            let env = TestEnvironment::new();
            let hook = format!(r#"{{"type": "command", "command": "{line}", "on_failure": "{policy}"}}"#);
            env.file(
                "x/p/hooks/hooks.json",
                format!(r#"{{"hooks": {{"PreToolUse": [{{"hooks": [{hook}]}}]}}}}"#),
            )
            .script("x/p/guard", &format!("{shebang}\nexit 0\n"))
            .mode("x/p/guard", mode);
            let added = done(&env, &["add", "../x/p", "--yes"]);
            let warned = "guard: has no execute bit, so hooks.json#PreToolUse[0] cannot start it";
            assert_eq!(added.stderr.contains(warned), mode == 0o644, "{added:#?}");
            let verdict = env.event(&["before_tool_call"], &call);
            assert_eq!(verdict["blocked"], policy == "block", "{line}: {verdict:#}");
            let reason = verdict["reason"].as_str().unwrap_or_default();
            assert!(policy == "pass" || reason.contains(why), "{line}: {verdict:#}");
        }
    }
}

#[test]
fn a_lock_file_from_before_other_files_were_installed_stays_valid() {
    let env = TestEnvironment::new();
    let repository = Repository::new(&env, "git/org/tools");
    repository.commit("main", &super::repository::PLUGIN);
    done(&env, &["add", &repository.url(), "--yes"]);
    let (installed, lock_file) = ("repo/.hookbox/plugins/org@tools", "repo/.hookbox/plugins.lock");
    let tree = |env: &TestEnvironment| {
        let lock = env.read(lock_file).unwrap();
        lock.lines().find_map(|line| line.strip_prefix("tree = ")).unwrap().trim_matches('"').to_owned()
    };
    // As it was installed and locked.
    let whole = tree(&env);
    std::fs::remove_file(env.path(format!("{installed}/README.md"))).unwrap();
    let reduced = hookbox_plugins::digest(&env.path(installed), None).unwrap().to_string();
    let lock = env.read(lock_file).unwrap().replace(&whole, &reduced);
    let lines = lock.lines().filter(|line| !line.starts_with("files = ")).collect::<Vec<_>>();
    env.file(lock_file, lines.join("\n"));

    let row = &done(&env, &["list", "--json"]).json()[0];
    assert_eq!((&row["details"]["changed"], &row["details"]["tree"]), (&json!(false), &json!(reduced)));
    assert!(done(&env, &["add"]).stderr.contains("org/tools is installed"));
    std::fs::remove_dir_all(env.path(installed)).unwrap();
    done(&env, &["add", "--yes"]);
    assert_eq!((env.read(&format!("{installed}/README.md")), tree(&env)), (None, reduced));

    // An update brings the other files.
    let shown = done(&env, &["update", "--dry-run"]);
    assert!(shown.stdout.contains("  + file README.md\n"), "{shown:#?}");
    done(&env, &["update", "--yes"]);
    assert_eq!(tree(&env), whole);
    std::fs::remove_dir_all(env.path(installed)).unwrap();
    done(&env, &["add", "--yes"]);
    assert!(env.read(&format!("{installed}/README.md")).is_some());
    let row = &done(&env, &["list", "--json"]).json()[0];
    assert_eq!(row["details"]["changed"], false);
    assert_eq!(plugin(&env, &["update"]).stdout, "org/tools is up to date\n");
}
