//! Hooks in Claude Code's shape mean the same wherever they are, and what cannot run is said.

use serde_json::{Value, json};

use crate::environment::{Output, TestEnvironment, program};

/// A guard in Claude Code's words.
const DENY: &str = r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"NO"}}"#;

/// Hooks for some events, with a matcher, a condition, arguments and a timeout.
fn hooks() -> Value {
    let command = |line: &str| json!({"type": "command", "command": line, "timeout": 20});
    json!({
        "PreToolUse": [
            {"matcher": "^(?!Read$)", "hooks": [command(&format!("cat >/dev/null; echo '{DENY}'"))]},
            {"matcher": "Read", "hooks": [{"type": "command", "command": "sh", "args": ["-c", "cat >/dev/null"]}]},
        ],
        "ConfigChange": [{"hooks": [command("echo NO >&2; exit 2")]}],
        "UserPromptSubmit": [{"hooks": [command("cat >/dev/null; echo '{\"decision\":\"block\",\"reason\":\"NO\"}'")]}],
    })
}

fn payload(env: &TestEnvironment, event: &str, more: Value) -> String {
    let mut payload = json!({"hook_event_name": event, "session_id": "s", "cwd": env.path("repo")});
    payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    payload.to_string()
}

fn bridge(env: &TestEnvironment, agent: &str, from: Option<&str>, payload: &str) -> Output {
    let from = from.map(|from| ["--from", from]).into_iter().flatten();
    env.hookbox_with(["bridge", agent].into_iter().chain(from), payload)
}

/// Returns the words of a call of a tool with this line.
fn call(tool: &str, line: &str) -> Value {
    json!({"tool_name": tool, "tool_input": {"command": line}, "tool_use_id": "u"})
}

/// The ways in which hooks of this shape are found: the file, its text, and the source.
fn ways() -> [(&'static str, Value, Option<&'static str>); 5] {
    let whole = json!({"hooks": hooks()});
    let manifest = |hooks: Value| json!({"name": "a", "hooks": hooks});
    [
        ("home/.hookbox/hooks.json", whole.clone(), None),
        ("home/.hookbox/plugins/a@b/hooks/hooks.json", whole.clone(), None),
        ("home/.hookbox/plugins/a@b/.claude-plugin/plugin.json", manifest(hooks()), None),
        ("home/.hookbox/plugins/a@b/.claude-plugin/plugin.json", manifest(json!(["./more.json"])), None),
        ("home/.claude/settings.json", whole, Some("claude")),
    ]
}

#[test]
fn one_plugin_decides_the_same_in_every_way_of_loading() {
    let mut all = Vec::new();
    for (file, text, from) in ways() {
        let env = TestEnvironment::new();
        env.file(file, text.to_string());
        env.file("home/.hookbox/plugins/a@b/more.json", json!({"hooks": hooks()}).to_string());
        if from.is_some() {
            std::fs::remove_dir_all(env.path("home/.hookbox")).unwrap();
        }
        let answers = [
            ("PreToolUse", call("Bash", "ls"), true),
            ("PreToolUse", json!({"tool_name": "Read", "tool_input": {"file_path": "/x"}}), false),
            ("ConfigChange", json!({"source": "user_settings"}), true),
            ("UserPromptSubmit", json!({"prompt": "hi"}), true),
        ]
        .map(|(event, more, blocks)| {
            let output = bridge(&env, "claude", from, &payload(&env, event, more));
            let said = format!("{}{}", output.stdout, output.stderr);
            assert_eq!(said.contains("NO"), blocks, "{file} {event}: {output:#?}");
            (event, output.code, output.stdout.contains("deny"), output.stdout.contains("block"))
        });
        all.push(answers);
    }
    assert!(all.iter().all(|it| *it == all[0]), "{all:#?}");
}

#[test]
fn a_plugin_keeps_its_scripts_and_its_data_to_itself() {
    let env = TestEnvironment::new();
    // A program that finds it takes its agent for another one.
    let unset = "test -z \"$(printenv PLUGIN_ROOT)\" && ";
    let line = "\"${CLAUDE_PLUGIN_ROOT}/hooks/run\" && test -d \"$CLAUDE_PLUGIN_DATA\" && echo \"$CLAUDE_PLUGIN_DATA\" > data";
    let hooks = json!({"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": format!("{unset}{line}")}]}]}});
    env.file("home/.hookbox/plugins/a@b/hooks/hooks.json", hooks.to_string());
    env.script("home/.hookbox/plugins/a@b/hooks/run", "#!/bin/sh\ncat >/dev/null\necho \"$@\" >> started\n");
    // It is listed as the script of a command, and not started to name its event.
    assert_eq!(env.list(&[]).len(), 1);
    assert_eq!(env.read("repo/started"), None);
    let output = bridge(&env, "claude", None, &payload(&env, "SessionStart", json!({"source": "startup"})));
    assert_eq!(env.read("repo/started").as_deref(), Some("\n"), "{output:#?}");
    let data = env.read("repo/data").unwrap();
    assert!(data.trim().ends_with("plugin-data/a@b"), "{data}");
    // A file of one's own has no plugin around it.
    env.file("home/.hookbox/hooks.json", hooks.to_string());
    let listed = env.list(&[]);
    let own = listed.iter().find(|it| it["name"] == "hooks.json#SessionStart[0]").unwrap();
    assert_eq!(own["status"], "invalid", "{own}");
    assert!(own["problem"].as_str().unwrap().contains("is not a hook of a plugin"), "{own}");
}

#[test]
fn what_cannot_mean_what_its_writer_meant_is_a_problem_in_the_list() {
    let claude = |matcher: &str| {
        json!({"hooks": {"PreToolUse": [{"matcher": matcher, "hooks": [{"type": "command", "command": "true"}]}]}})
            .to_string()
    };
    let gemini = json!({"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": "true", "timeout": 30}]}]}});
    let codex = "[[hooks.PreToolUse]]\n[[hooks.PreToolUse.hooks]]\ntype = \"command\"\ncommand = \"python3 ~/gone.py\"\n";
    for (agent, file, text, words) in [
        (
            "claude",
            "home/.claude/settings.json",
            claude("Edit|Wirte"),
            "Claude Code has no tool Wirte (did you mean Write?)",
        ),
        (
            "claude",
            "home/.claude/settings.json",
            claude("Bash(git push*)"),
            "a rule for Bash belongs into \"if\"",
        ),
        ("claude", "home/.claude/settings.json", claude("mcp__github"), "write mcp__github__.*"),
        (
            "gemini",
            "home/.gemini/settings.json",
            gemini.to_string(),
            "is 30 ms, because Gemini CLI counts milliseconds",
        ),
        ("codex", "home/.codex/config.toml", codex.to_owned(), "gone.py"),
    ] {
        let env = TestEnvironment::new();
        env.file(file, text);
        let output = env.hookbox(["list", "--from", agent]);
        assert!(output.stderr.contains(words), "{words}: {output:#?}");
    }
    // Names of tools that hookbox does not know are not misspelt.
    for matcher in
        ["Skill", "Bash|MyOwnTool", "mcp__github__.*", "mcp__github__push", "mcp__memory__(read|write)"]
    {
        let env = TestEnvironment::new();
        env.file("home/.claude/settings.json", claude(matcher));
        assert_eq!(env.hookbox(["list", "--from", "claude"]).stderr, "", "{matcher}");
    }
}

#[test]
fn a_declared_hook_gets_what_the_agent_sent_and_its_words_reach_the_user() {
    let env = TestEnvironment::new();
    let hook = json!({"hooks": {
        "SessionStart": [{"hooks": [{"type": "command", "command": "cat > \"$HOME/start\"; echo 'noise'; echo '{\"continue\": true}'", "commandWindows": "x"}]}],
        "Stop": [{"hooks": [{"type": "command", "command": "echo '{\"decision\": \"block\", \"reason\": \"go on\", \"systemMessage\": \"task 2 of 3\"}'"}]}],
        "PreToolUse": [{"hooks": [{"type": "command", "command": "cat > \"$HOME/call\"; echo '{\"hookSpecificOutput\": {\"hookEventName\": \"PreToolUse\", \"permissionDecision\": \"deny\"}, \"systemMessage\": \"says no rm\"}'"}]}],
    }});
    env.file("home/.hookbox/hooks.json", hook.to_string());
    let sent = |event: &str, more: Value| {
        let mut payload = json!({
            "session_id": "s", "transcript_path": "/t.jsonl", "cwd": env.path("repo"), "hook_event_name": event,
        });
        payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        payload
    };
    let start = sent("SessionStart", json!({"source": "startup", "model": "opus"}));
    let output = env.hookbox_with(["bridge", "claude"], start.to_string());
    // Text before an answer is text: the model reads it, as it does in Claude Code.
    assert!(output.stdout.contains("noise\\n"), "{output:#?}");
    let seen: Value = serde_json::from_str(&env.read("home/start").unwrap()).unwrap();
    assert_eq!((&seen["transcript_path"], &seen["model"]), (&json!("/t.jsonl"), &json!("opus")), "{seen}");
    let call = sent(
        "PreToolUse",
        json!({
            "permission_mode": "acceptEdits", "tool_name": "Bash", "tool_input": {"command": "ls"}, "prompt_id": "p",
        }),
    );
    let output = env.hookbox_with(["bridge", "claude"], call.to_string());
    let answer: Value = serde_json::from_str(&output.stdout).unwrap();
    assert!(answer["systemMessage"].as_str().unwrap().contains("says no rm"), "{output:#?}");
    let reason = answer.pointer("/hookSpecificOutput/permissionDecisionReason").unwrap();
    assert!(!reason.as_str().unwrap().contains("says no rm"), "those words are for the user: {output:#?}");
    let seen: Value = serde_json::from_str(&env.read("home/call").unwrap()).unwrap();
    for field in ["transcript_path", "permission_mode", "prompt_id"] {
        assert_eq!(seen[field], call[field], "{field}: {seen}");
    }
    let output = env.hookbox_with(["bridge", "claude"], sent("Stop", json!({})).to_string());
    let answer: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(answer["decision"], "block", "{output:#?}");
    assert!(answer["systemMessage"].as_str().unwrap().contains("task 2 of 3"), "{output:#?}");
}

#[test]
fn a_source_that_is_no_plugin_says_what_it_is() {
    let market =
        json!({"name": "m", "plugins": [{"name": "alpha", "source": "./plugins/alpha"}]}).to_string();
    let project = json!({"version": 1, "hooks": {"preToolUse": [{"command": "./guard.sh"}]}}).to_string();
    for (file, text, words) in [
        (
            ".claude-plugin/marketplace.json",
            market,
            "is a marketplace, and not a plugin; its plugins are alpha (./plugins/alpha)",
        ),
        (".cursor/hooks.json", project, "is a project with hooks in .cursor/hooks.json, and not a plugin"),
        ("README.md", "# Nothing\n".to_owned(), "expected files in skills/"),
    ] {
        let env = TestEnvironment::new();
        env.file(&format!("source/{file}"), text);
        let output = env.hookbox(["plugin", "add", "../source", "--name", "a/b", "--yes"]);
        assert_eq!(output.code, Some(1), "{output:#?}");
        assert!(output.stderr.contains(words) && output.stderr.contains("hint: "), "{output:#?}");
    }
}

#[test]
fn the_script_of_another_machine_or_of_a_container_is_not_missing() {
    for line in [
        "ssh host python3 /opt/x.py",
        "docker run --rm image bash /app/x.sh",
        "python3 -c 'import x' /no/x.py",
    ] {
        let env = TestEnvironment::new();
        env.script("bin/ssh", "#!/bin/sh\n").script("bin/docker", "#!/bin/sh\n");
        let hooks = json!({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": line}]}]}});
        env.file("home/.hookbox/hooks.json", hooks.to_string());
        assert_eq!(env.list(&[])[0]["status"], "active", "{line}");
    }
}

#[test]
fn a_missing_script_blocks_no_call_and_the_user_is_told_once() {
    let env = TestEnvironment::new();
    let hooks =
        json!({"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "python3 ~/gone.py"}]}]}});
    env.file("home/.hookbox/hooks.json", hooks.to_string());
    let event = payload(&env, "PreToolUse", call("Bash", "ls"));
    let first = bridge(&env, "claude", None, &event);
    assert_eq!(first.code, Some(0), "{first:#?}");
    let told: Value = serde_json::from_str(&first.stdout).unwrap();
    assert!(told["systemMessage"].as_str().unwrap().contains("gone.py"), "{told}");
    assert_eq!(told["hookSpecificOutput"]["permissionDecision"], Value::Null);
    assert_eq!(bridge(&env, "claude", None, &event).stdout, "");
}

#[test]
fn a_hook_that_says_so_goes_on_in_the_background() {
    let env = TestEnvironment::new();
    let line = |end: &str| {
        let line = format!(
            "cat >/dev/null; echo '{{\"async\":true}}'; while [ ! -e go ]; do sleep 0.05; done; {end}"
        );
        json!({"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": line}]}]}}).to_string()
    };
    env.file("home/.hookbox/hooks.json", line("mv go gone"));
    let output = bridge(&env, "claude", None, &payload(&env, "SessionStart", json!({"source": "startup"})));
    // It waits for a file that is made only now, so the answer did not wait for its end.
    assert_eq!((output.code, output.stdout.as_str()), (Some(0), ""), "{output:#?}");
    env.file("repo/go", "");
    while env.read("repo/gone").is_none() {
        std::thread::yield_now();
    }
}

#[test]
fn a_hook_of_cursor_lets_it_go_on_as_often_as_it_says() {
    let env = TestEnvironment::new();
    let stop = json!({"command": "cat >/dev/null; echo '{\"followup_message\":\"go on\"}'", "loop_limit": 2});
    env.file("home/.cursor/hooks.json", json!({"version": 1, "hooks": {"stop": [stop]}}).to_string());
    let rounds = (0..4).filter(|count| {
        let event = json!({
            "hook_event_name": "stop", "conversation_id": "c", "generation_id": "g", "model": "m",
            "cursor_version": "2.0", "workspace_roots": [env.path("repo")], "status": "completed",
            "loop_count": count,
        });
        bridge(&env, "cursor", Some("cursor"), &event.to_string()).stdout.contains("go on")
    });
    assert_eq!(rounds.count(), 2);
}

#[test]
fn a_shell_line_of_a_skill_is_judged_as_a_call() {
    let env = TestEnvironment::new();
    env.native(
        "home/.hookbox/hooks/guard",
        "before_tool_call",
        "if grep -q 'push --force'; then echo '{\"blocked\":true,\"reason\":\"NO\"}'; else echo '{}'; fi",
    );
    let line = |line: &str| {
        let mut more = call("Bash", line);
        more["command_name"] = json!("deploy");
        let output = bridge(&env, "claude", None, &payload(&env, "PreSkillShellCommand", more));
        serde_json::from_str::<Value>(&output.stdout).unwrap_or_default()
    };
    let denied = line("git push --force");
    assert_eq!(denied["hookSpecificOutput"]["hookEventName"], "PreSkillShellCommand", "{denied}");
    assert_eq!(denied["hookSpecificOutput"]["permissionDecision"], "deny", "{denied}");
    assert_eq!(line("echo hi"), Value::Null);
}

#[test]
fn shell_lines_of_a_skill_or_a_command_file_are_judged_when_they_are_written_and_used() {
    let env = TestEnvironment::new();
    let guard = json!({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [
        {"type": "command", "command": "grep -q 'push --force' && { echo no force >&2; exit 2; }; exit 0"}
    ]}]}});
    env.file("home/.hookbox/hooks.json", guard.to_string());
    let skill = |line: &str| format!("---\nname: s\n---\nState: !`{line}`\n");
    for (agent, tool, input, blocks) in [
        (
            "claude",
            "Write",
            json!({"file_path": ".claude/skills/s/SKILL.md", "content": skill("git push --force")}),
            true,
        ),
        (
            "claude",
            "Write",
            json!({"file_path": ".claude/skills/s/SKILL.md", "content": skill("git status")}),
            false,
        ),
        (
            "claude",
            "Write",
            json!({"file_path": "docs/push.md", "content": skill("git push --force")}),
            false,
        ),
        (
            "qwen",
            "write_file",
            json!({"file_path": ".qwen/commands/s.toml", "content": "prompt = \"!{git push --force}\""}),
            true,
        ),
    ] {
        let event = json!({
            "hook_event_name": "PreToolUse", "session_id": "s", "cwd": env.path("repo"), "tool_name": tool,
            "tool_input": input, "tool_use_id": "t",
        });
        let output = env.hookbox_with(["bridge", agent], event.to_string());
        assert_eq!(output.stdout.contains("no force"), blocks, "{input}: {output:#?}");
    }
    // Files that others brought are judged when they are used.
    env.file("repo/.claude/skills/deploy/SKILL.md", skill("git push --force"));
    env.file("repo/.claude/commands/look.md", skill("git status"));
    for (name, blocks) in [("deploy", true), ("look", false), ("unheard", false)] {
        let called =
            json!({"hook_event_name": "PreToolUse", "tool_name": "Skill", "tool_input": {"skill": name}});
        let typed = json!({
            "hook_event_name": "UserPromptExpansion", "expansion_type": "slash_command", "command_name": name,
            "command_args": "", "command_source": "project", "prompt": format!("/{name}"),
        });
        for mut event in [called, typed] {
            event["session_id"] = json!("s");
            event["cwd"] = json!(env.path("repo"));
            let output = env.hookbox_with(["bridge", "claude"], event.to_string());
            let said = output.stdout.clone() + &output.stderr;
            assert_eq!(said.contains("no force"), blocks, "{event}: {output:#?}");
        }
    }
}

#[test]
fn a_missing_or_changed_guard_of_hookbox_blocks_until_it_is_there_or_given_up() {
    let env = TestEnvironment::new();
    let guard = |args: &[&str]| {
        let output = env.hookbox(["guard"].iter().chain(args));
        assert_eq!(output.code, Some(0), "{output:#?}");
    };
    // Nothing is there yet, not even the directory of the inventory.
    guard(&["remove", "git", "--yes"]);
    guard(&["add", "git", "--yes"]);
    // A user who chose one of them is told which others there are.
    let install = env.run(env.command(program()).args(["install", "claude", "--no-journal", "--yes"]), "");
    assert!(install.stderr.contains("guards that you do not have: destructive"), "{install:#?}");
    let file = env.path("home/.hookbox/hooks/git.wasm");
    let whole = std::fs::read(&file).unwrap();
    let ls = json!({"tool_name": "bash", "tool_input": {"command": "ls"}});
    assert_eq!(env.event(&["before_tool_call"], &ls)["blocked"], false);
    std::fs::remove_file(&file).unwrap();
    let half = &whole[..whole.len() / 2];
    for (damage, words) in [(None, "somebody removed it"), (Some(half), "changed or damaged")] {
        if let Some(bytes) = damage {
            std::fs::write(&file, bytes).unwrap();
        }
        let verdict = env.event(&["before_tool_call"], &ls);
        assert_eq!(verdict["blocked"], true, "{words}: {verdict}");
        assert!(verdict["reason"].as_str().unwrap().contains(words), "{words}: {verdict}");
        let listed = env.hookbox(["list"]);
        assert!(listed.stderr.contains("hookbox guard add git --force"), "{words}: {listed:#?}");
        let row = env.list(&[]).into_iter().find(|it| it["name"] == "git.wasm").unwrap();
        assert_eq!(
            (&row["status"], &row["on_failure"]),
            (&json!("invalid"), &json!("block")),
            "{words}: {row}"
        );
    }
    guard(&["add", "git", "--force", "--yes"]);
    assert_eq!(env.event(&["before_tool_call"], &ls)["blocked"], false);
    // Its owner's policy counts, and a guard that was switched off or given up is not missing.
    env.file("home/.hookbox/hookbox.toml", "[hooks.\"git.wasm\"]\non_failure = \"pass\"\n");
    std::fs::remove_file(&file).unwrap();
    assert_eq!(env.event(&["before_tool_call"], &ls)["blocked"], false);
    // In shadow mode it stops nothing, and is reported.
    for policy in ["", "on_failure = \"block\"\n"] {
        let shadow = format!("[hooks.\"git.wasm\"]\nmode = \"observe\"\n{policy}");
        env.file("home/.hookbox/hookbox.toml", &shadow);
        assert_eq!(env.event(&["before_tool_call"], &ls)["blocked"], false, "{shadow}");
        let row = env.list(&[]).into_iter().find(|it| it["name"] == "git.wasm").unwrap();
        assert_eq!((&row["status"], &row["mode"]), (&json!("invalid"), &json!("observe")), "{row}");
    }
    env.file("home/.hookbox/hookbox.toml", "");
    std::fs::write(env.path("home/.hookbox/hooks/git.wasm.disable"), &whole).unwrap();
    assert_eq!(env.event(&["before_tool_call"], &ls)["blocked"], false);
    std::fs::remove_file(env.path("home/.hookbox/hooks/git.wasm.disable")).unwrap();
    assert_eq!(env.event(&["before_tool_call"], &ls)["blocked"], true);
    // It is missed together with its root, too.
    std::fs::remove_dir_all(env.path("home/.hookbox")).unwrap();
    assert_eq!(env.event(&["before_tool_call"], &ls)["blocked_by"], "git.wasm");
    guard(&["remove", "git", "--yes"]);
    assert_eq!(env.event(&["before_tool_call"], &ls)["blocked"], false);
}

#[test]
fn an_event_without_its_tool_or_with_a_misspelt_field_is_an_error_and_passes_no_guard() {
    let env = TestEnvironment::new();
    for (event, data, words) in [
        (
            "before_tool_call",
            json!({"tool_name": "bash", "input": {"command": "ls"}}),
            "did you mean tool_input?",
        ),
        (
            "before_tool_call",
            json!({"tool_name": "bash", "toolInput": {"command": "ls"}}),
            "did you mean tool_input?",
        ),
        (
            "before_tool_call",
            json!({"tool": "bash", "tool_input": {"command": "ls"}}),
            "did you mean tool_name?",
        ),
        ("before_tool_call", json!({"tool_name": "bash"}), "tool_input: expected it"),
        ("before_tool_call", json!({}), "tool_name: expected it"),
        ("user_message_send", json!({}), "message: expected it"),
        ("after_tool_call", json!({"tool_output": "x"}), "tool_name: expected it"),
        ("user_message_send", json!({"mesage": "hi"}), "did you mean message?"),
    ] {
        let output = env.hookbox_with(["run", event], data.to_string());
        assert_eq!((output.code, output.stdout.as_str()), (Some(2), ""), "{data}: {output:#?}");
        assert!(output.stderr.contains(words), "{data}: {output:#?}");
    }
    // The names of Claude Code are known, and a field is not its own misspelling.
    for (event, name) in [("Stop", "agent_stop"), ("UserPromptSubmit", "user_message_send")] {
        let report = env.event(&[event, "--report"], &json!({"message": "hi"}));
        assert_eq!(report["event"], name);
    }
    let output = env.hookbox_with(["run", "pre_compact"], json!({"message": "x"}).to_string());
    assert!(output.stderr.contains("has no field \"message\": ignored"), "{output:#?}");
    let odd = json!({"tool_name": "bash", "tool_input": {"command": "ls"}, "colour": 5});
    let verdict = env.event(&["before_tool_call"], &odd);
    assert!(
        verdict["warnings"][0].as_str().unwrap().contains("has no field \"colour\": ignored"),
        "{verdict}"
    );
}
