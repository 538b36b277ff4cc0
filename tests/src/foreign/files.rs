//! A guard of files that was written for Claude Code guards them under every agent, whatever the agent's tools are called
//! and however many files one call of them has.

use hookbox_agents::Agent;
use serde_json::{Value, json};

use super::{all_of, verdict};
use crate::environment::TestEnvironment;

/// The usual guard: it looks at `file_path`, and at nothing else.
const GUARD: &str = "#!/bin/sh\nread -r event\nprintf '%s\\n' \"$event\" >> \"$HOME/seen\"\n\
    case \"$event\" in *'\"file_path\":\"'*'.env\"'*) echo 'secrets stay' >&2; exit 2;; esac\n";

fn guarded(matcher: &str, event: &str) -> TestEnvironment {
    let env = TestEnvironment::new();
    env.script("repo/.claude/hooks/guard.sh", GUARD);
    let hook = json!({"type": "command", "command": "\"$CLAUDE_PROJECT_DIR\"/.claude/hooks/guard.sh"});
    let hooks = json!({event: [{"matcher": matcher, "hooks": [hook]}]});
    env.file("repo/.claude/settings.json", json!({"hooks": hooks}).to_string());
    env
}

fn patch(files: &[&str]) -> String {
    let parts: String = files.iter().map(|file| format!("*** Update File: {file}\n@@\n-a\n+b\n")).collect();
    format!("*** Begin Patch\n{parts}*** End Patch\n")
}

/// The text that the guard read.
fn seen(env: &TestEnvironment) -> Vec<Value> {
    let seen = env.read("home/seen").unwrap_or_default();
    seen.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_guard_of_a_file_blocks_every_call_that_has_this_file() {
    for (matcher, tool, input) in [
        ("Edit|Write|MultiEdit", "apply_patch", json!({"command": patch(&[".env"])})),
        ("Edit|Write|MultiEdit", "apply_patch", json!({"command": patch(&["a", "b", ".env"])})),
        ("Edit|Write|MultiEdit", "apply_patch", json!(patch(&["a", ".env"]))),
        ("Edit|Write|MultiEdit", "patch", json!({"patchText": patch(&["a", ".env"])})),
        ("Write", "apply_patch", json!({"command": patch(&[".env"])})),
        ("", "apply_patch", json!({"command": patch(&[".env"])})),
        ("Edit|Write|MultiEdit", "Write", json!({"path": ".env", "contents": "x"})),
        ("Edit|Write|MultiEdit", "edit", json!({"filePath": ".env", "oldString": "a", "newString": "b"})),
        ("Read", "Read", json!({"path": ".env"})),
        ("Read", "read_many_files", json!({"include": [".env"]})),
        ("Read", "read_many_files", json!({"paths": ["a", ".env"]})),
        ("Read", "read_many_files", json!({"include": ["**/*", ".env"]})),
        ("Read", "view", json!({"path": "a", "file": ".env"})),
    ] {
        let env = guarded(matcher, "PreToolUse");
        let data = json!({"tool_name": tool, "tool_input": input});
        let found = verdict(&env, Agent::Claude, "before_tool_call", &data);
        assert_eq!(found["reason"], "secrets stay", "{matcher} {data}: {found}");
        let text = data.to_string().replace(".env", "harmless");
        let found = verdict(&env, Agent::Claude, "before_tool_call", &serde_json::from_str(&text).unwrap());
        assert_eq!(found["blocked"], false, "{matcher} {text}: {found}");
    }
}

#[test]
fn the_bridge_of_an_agent_with_patches_asks_the_guard_for_each_file() {
    let env = guarded("Edit|Write|MultiEdit", "PreToolUse");
    for (agent, event) in
        [("codex", "PreToolUse"), ("copilot", "PreToolUse"), ("opencode", "tool.execute.before")]
    {
        let payload = json!({"hook_event_name": event, "session_id": "s", "sessionID": "s", "tool": "apply_patch",
            "callID": "c", "cwd": env.path("repo"), "directory": env.path("repo"), "tool_name": "apply_patch",
            "tool_input": {"command": patch(&["a", ".env"])}, "args": {"patchText": patch(&["a", ".env"])}});
        let args = ["bridge", agent, "--from", "claude", "--trust", "all"];
        let output = env.hookbox_with(args, payload.to_string());
        assert!(output.stdout.contains("secrets stay"), "{agent}: {output:#?}");
    }
    let repo = env.path("repo").to_string_lossy().into_owned();
    let shown = |it: &Value| (it["tool_name"].clone(), it["tool_input"].clone());
    let edit = |file: &str| {
        (
            json!("Edit"),
            json!({"file_path": format!("{repo}/{file}"), "old_string": "a\n", "new_string": "b\n"}),
        )
    };
    assert_eq!(seen(&env).iter().take(2).map(shown).collect::<Vec<_>>(), [edit("a"), edit(".env")]);
}

#[test]
fn a_hook_after_a_patch_is_run_for_each_file() {
    let env = guarded("Edit|Write", "PostToolUse");
    let data = json!({"tool_name": "apply_patch", "tool_input": {"command": patch(&["a", "b"])},
        "tool_output": {"success": true}});
    verdict(&env, Agent::Claude, "after_tool_call", &data);
    let files: Vec<_> = seen(&env).iter().map(|it| it["tool_input"]["file_path"].clone()).collect();
    assert_eq!(files, [json!(env.path("repo/a")), json!(env.path("repo/b"))]);
}

#[test]
fn what_a_guard_cannot_be_shown_or_cannot_change_is_a_failure_and_no_pass() {
    let many: Vec<String> = (0..40).map(|n| format!("f{n}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    for (matcher, tool, input, cause) in [
        ("Edit", "apply_patch", json!({"command": patch(&many)}), "incompatible"),
        ("Edit", "apply_patch", json!({"command": "--- a/.env\n+++ b/.env\n"}), "incompatible"),
        ("Read", "read_many_files", json!({"include": ["**/*"]}), "incompatible"),
    ] {
        let env = guarded(matcher, "PreToolUse");
        let data = json!({"tool_name": tool, "tool_input": input});
        let args = [&["run", "before_tool_call"][..], &all_of(Agent::Claude)].concat();
        let output = env.hookbox_with(args, data.to_string());
        assert!(output.stderr.contains(&format!("failed ({cause})")), "{tool}: {output:#?}");
        env.file(
            "repo/.hookbox/hookbox.toml",
            "[hooks.\".claude/settings.json#PreToolUse[0]\"]\non_failure = \"block\"\n",
        );
        let found = verdict(&env, Agent::Claude, "before_tool_call", &data);
        assert_eq!(found["blocked"], true, "{tool}: {found}");
    }
    let env = guarded("Edit", "PreToolUse");
    let answer =
        json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": {"file_path": "/b"}}});
    env.script("repo/.claude/hooks/guard.sh", &format!("#!/bin/sh\necho '{answer}'\n"));
    let data = json!({"tool_name": "apply_patch", "tool_input": {"command": patch(&["a"])}});
    let args = [&["run", "before_tool_call"][..], &all_of(Agent::Claude)].concat();
    let output = env.hookbox_with(args, data.to_string());
    assert!(output.stderr.contains("failed (malformed_output)"), "{output:#?}");
}

#[test]
fn what_a_hook_changes_of_a_cursor_write_comes_back_in_cursors_fields() {
    let env = guarded("Write", "PreToolUse");
    let answer = json!({"hookSpecificOutput": {"hookEventName": "PreToolUse",
        "updatedInput": {"file_path": "/b", "content": "new"}}});
    env.script("repo/.claude/hooks/guard.sh", &format!("#!/bin/sh\necho '{answer}'\n"));
    let data = json!({"tool_name": "Write", "tool_input": {"path": "a", "contents": "old"}});
    let found = verdict(&env, Agent::Claude, "before_tool_call", &data);
    assert_eq!(found["input"], json!({"path": "/b", "contents": "new"}));
}

#[test]
fn a_hook_that_a_link_out_of_the_project_leads_to_cannot_be_trusted() {
    let env = TestEnvironment::new();
    env.script("out2/n", "#!/bin/sh\ntouch \"$HOME/ran\"\n").directory("repo/.claude");
    env.symlink("repo/.claude/hooks", "../../out2");
    let hook = json!({"type": "command", "command": ".claude/hooks/n"});
    let hooks = json!({"PreToolUse": [{"hooks": [hook]}]});
    env.file("repo/.claude/settings.json", json!({"hooks": hooks}).to_string());
    let output = env.hookbox(["trust", "--from", "claude", ".claude/settings.json#PreToolUse[0]", "--yes"]);
    assert_eq!(output.code, Some(2), "{output:#?}");
    for word in ["the symlink", ".claude/hooks", "leads out of the repository"] {
        assert!(output.stderr.contains(word), "{word}: {output:#?}");
    }
    let data = json!({"tool_name": "bash", "tool_input": {"command": "ls"}});
    env.event(&["before_tool_call", "--from", "claude"], &data);
    assert_eq!(env.read("home/ran"), None);
}
