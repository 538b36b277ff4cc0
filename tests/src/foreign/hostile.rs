//! Files of other agents that a hostile repository brings.

use hookbox_agents::{Agent, AgentHooks};
use serde_json::json;

use super::{all_of, bash, problems, statuses, verdict};
use crate::environment::TestEnvironment;

fn claude(env: &TestEnvironment) -> Vec<String> {
    problems(env, &all_of(Agent::Claude))
}

#[test]
fn a_file_that_leads_out_of_the_project_is_not_read() {
    let env = TestEnvironment::new();
    let hooks = json!({"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "exit 2"}]}]}});
    env.file("elsewhere/settings.json", hooks.to_string());
    env.symlink("repo/.claude/settings.json", "../../elsewhere/settings.json");
    env.symlink("repo/.codex", "../elsewhere");
    env.file("elsewhere/hooks.json", hooks.to_string());
    for agent in [Agent::Claude, Agent::Codex] {
        assert_eq!(statuses(&env, &all_of(agent)), Vec::<String>::new(), "{agent}");
        let said = problems(&env, &all_of(agent)).join("\n");
        assert!(said.contains("leads out of the repository"), "{agent}: {said}");
    }
}

#[test]
fn what_is_broken_huge_deep_or_no_file_is_one_problem() {
    for (content, want) in [
        ("{\"hooks\": ".to_owned(), "is not JSON"),
        ("[]".to_owned(), "expected an object such as {\"hooks\": {…}}"),
        (
            "{\"hooks\": []}".to_owned(),
            "hooks: expected an object with a list for each event, found an array",
        ),
        ("{\"hooks\": {\"PreToolUse\": 5}}".to_owned(), "PreToolUse: expected a list of hooks, found 5"),
        (
            format!("{{\"a\": {}{}}}", "[".repeat(50_000), "]".repeat(50_000)),
            "nested more than 32 levels deep",
        ),
        (format!("{{\"a\": \"{}\"}}", "x".repeat(5 << 20)), "bytes"),
    ] {
        let env = TestEnvironment::new();
        env.file("repo/.claude/settings.json", &content);
        let said = claude(&env).join("\n");
        assert!(said.contains("repo/.claude/settings.json: ") && said.contains(want), "{want}: {said}");
        assert_eq!(verdict(&env, Agent::Claude, "before_tool_call", &bash("ls"))["blocked"], false);
    }
    let env = TestEnvironment::new();
    env.directory("repo/.claude/settings.json");
    assert_eq!(claude(&env).len(), 1, "{:?}", claude(&env));
}

#[test]
fn a_repository_brings_only_so_many_hooks() {
    let env = TestEnvironment::new();
    let entry = json!({"type": "command", "bash": "true"});
    let file = json!({"version": 1, "hooks": {"preToolUse": vec![entry; 200]}}).to_string();
    for n in 0..5 {
        env.file(&format!("repo/.github/hooks/{n}.json"), &file);
    }
    assert_eq!(env.list(&["--from", "copilot"]).len(), 512);
    let said = problems(&env, &["--from", "copilot"]).join("\n");
    assert!(said.contains("has more than 512 hooks"), "{said}");
}

#[test]
fn names_and_words_of_a_repository_are_escaped() {
    let env = TestEnvironment::new();
    let settings = json!({"hooks": {"\u{1b}[31mStop": [{"hooks": [{"type": "command", "command": "\u{1b}[31mx", "\u{7}": 1}]}]}});
    env.file("repo/.claude/settings.json", settings.to_string());
    let output = env.hookbox(["list", "--from", "claude"]);
    assert!(!output.stdout.contains('\u{1b}') && !output.stderr.contains(['\u{1b}', '\u{7}']), "{output:#?}");
}

#[test]
fn a_hook_of_a_repository_shadows_none_of_the_users() {
    let env = TestEnvironment::new();
    let hooks = |line: &str| {
        json!({"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": line}]}]}}).to_string()
    };
    env.file("home/.claude/settings.json", hooks("echo mine >&2; exit 2"));
    env.file("repo/.claude/settings.json", hooks("true"));
    // A directory in the repository that is called like the user's.
    env.file("repo/~/.claude/settings.json", hooks("true"));
    assert_eq!(verdict(&env, Agent::Claude, "before_tool_call", &bash("ls"))["reason"], "mine");
}

#[test]
fn a_file_that_breaks_while_the_agent_works_stays_in_force_as_it_was() {
    let env = TestEnvironment::new();
    let hooks = json!({"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "echo no >&2; exit 2"}]}]}});
    env.file("home/.claude/settings.json", hooks.to_string());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let manager = env.builder().source(AgentHooks::new().agent(Agent::Claude)).build().await;
        env.file("home/.claude/settings.json", "{\"hooks\": ");
        let reload = manager.reload().await;
        assert_eq!(reload.kept.len(), 1, "{reload:?}");
        let call = hookbox::ToolCall::new("bash", json!({"command": "ls"}));
        let verdict = manager.session("s").before_tool_call(call).await;
        assert!(matches!(verdict.decision, hookbox::session::ToolDecision::Block(_)), "{verdict:?}");
    });
}
