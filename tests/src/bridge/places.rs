//! The directories that are searched for hooks, and the messages about them.

use hookbox::EventName;
use hookbox_agents::Agent;
use serde_json::{Value, json};

use super::{BEFORE, args, blocked, call, first_call, needed, passed};
use crate::answers::Backend;
use crate::environment::{Output, TestEnvironment, program};

/// A repository with a guard, which the user trusts.
fn guarded() -> TestEnvironment {
    let env = TestEnvironment::new();
    env.directory("repo/.git").directory("repo/sub").directory("elsewhere");
    let block = json!({"block": "not in this repository"});
    Backend::Native.hook(&env, "repo/.hookbox", "guard", &EventName::BeforeToolCall, &block, "");
    env
}

/// Runs the bridge in one directory, for an agent that names another.
fn at(
    env: &TestEnvironment,
    agent: Agent,
    event: &str,
    cwd: &str,
    project: Option<&str>,
    more: &[&str],
) -> Output {
    let mut payload = first_call(env, agent, event, "ls");
    payload["cwd"] = json!(env.path(cwd));
    let mut command = env.command(program());
    command.args(args(agent, needed(agent, event), more)).current_dir(env.path(cwd));
    if let Some(project) = project {
        command.env(agent.project_variable().unwrap(), env.path(project));
    }
    env.run(&mut command, payload.to_string())
}

#[test]
fn a_model_that_changes_the_directory_does_not_escape_the_repositorys_guard() {
    let env = guarded();
    for (agent, event) in BEFORE.iter().copied() {
        let output = at(&env, agent, event, "repo/sub", None, &["--trust", "all"]);
        blocked(agent, event, &output, "below the repository");
        if agent.project_variable().is_none() {
            continue;
        }
        for cwd in ["elsewhere", "repo/sub", "repo"] {
            let output = at(&env, agent, event, cwd, Some("repo"), &["--trust", "all"]);
            let reason = blocked(agent, event, &output, cwd);
            assert!(reason.contains("not in this repository"), "{output:#?}");
        }
    }
}

#[test]
fn a_variable_that_names_no_directory_is_not_used_and_the_user_learns_of_it() {
    let env = guarded();
    for (agent, event) in BEFORE.iter().copied().filter(|(agent, _)| agent.project_variable().is_some()) {
        let output = at(&env, agent, event, "repo", Some("gone"), &["--trust", "all"]);
        blocked(agent, event, &output, "a directory that is gone");
        assert!(output.stderr.contains(agent.project_variable().unwrap()), "{output:#?}");
    }
}

#[test]
fn a_variable_of_another_agent_is_not_used() {
    let env = guarded();
    for (agent, event) in BEFORE.iter().copied().filter(|(agent, _)| *agent != Agent::Claude) {
        let payload = call(&env, agent, event, "ls").to_string();
        let mut command = env.command(program());
        command.args(args(agent, needed(agent, event), &["--trust", "all"]));
        command.env("CLAUDE_PROJECT_DIR", env.path("elsewhere"));
        blocked(agent, event, &env.run(&mut command, payload), "an agent in Claude Code");
    }
}

fn start(env: &TestEnvironment, cwd: &str, project: &str) -> Value {
    let payload = json!({"hook_event_name": "SessionStart", "session_id": "s", "source": "startup", "cwd": env.path(cwd)});
    let mut command = env.command(program());
    command.args(["bridge", "claude"]).env("CLAUDE_PROJECT_DIR", env.path(project));
    let output = env.run(&mut command, payload.to_string());
    serde_json::from_str(&output.stdout).unwrap_or_default()
}

#[test]
fn a_session_that_begins_outside_the_project_says_so() {
    let env = TestEnvironment::new();
    env.directory("repo/sub").directory("elsewhere").symlink("link", "repo");
    for (cwd, project, says) in [
        ("repo", "repo", false),
        ("repo/sub", "repo", false),
        ("link/sub", "repo", false),
        ("repo", "link", false),
        ("elsewhere", "repo", true),
    ] {
        let shown = start(&env, cwd, project)["systemMessage"].as_str().unwrap_or_default().to_owned();
        assert_eq!(shown.contains("CLAUDE_PROJECT_DIR"), says, "{cwd} {project}: {shown}");
    }
}

#[test]
fn what_is_wrong_with_the_hooks_is_shown_once_in_a_session_at_whichever_event_comes_first() {
    let env = TestEnvironment::new();
    env.directory("repo/.git");
    env.native("repo/.hookbox/hooks/unknown", "before_tool_call", "echo '{}'");
    env.file("home/.hookbox/hookbox.toml", "[hooks.lost]\npriority = 5\n");
    let mut heard = Vec::new();
    for (agent, event) in BEFORE.iter().copied() {
        let payload = call(&env, agent, event, "ls").to_string();
        let output = env.hookbox_with(args(agent, needed(agent, event), &[]), payload);
        let answer = passed(agent, event, &output, "problems");
        let answered = answer["systemMessage"].as_str().unwrap_or_default();
        let Some(start) = agent.names_of(hookbox_agents::agent::EventKind::SessionStart).next() else {
            continue;
        };
        let payload = match agent {
            Agent::Copilot => json!({"sessionId": "s", "source": "startup"}),
            _ => json!({"hook_event_name": start, "session_id": "s", "source": "startup"}),
        };
        let started = env.hookbox_with(args(agent, Some(start), &[]), payload.to_string());
        let shown = serde_json::from_str::<Value>(&started.stdout).unwrap_or_default();
        let shown = shown["systemMessage"].as_str().unwrap_or_default();
        for part in ["a hook does not run, because you have not trusted it", "lost"] {
            // A session hears of an untrusted hook and of a broken file once.
            let is_heard = heard.contains(&agent);
            assert_eq!(output.stderr.contains(part), !is_heard, "{part}: {output:#?}");
            assert!(started.stderr.contains(part), "{part}: {started:#?}");
            let is_shown = agent.shows_warnings();
            assert_eq!(shown.contains(part), is_shown, "{agent} {part}: {started:#?}");
            assert_eq!(answered.contains(part), is_shown && !is_heard, "{agent} {part}: {output:#?}");
        }
        heard.push(agent);
    }
}

#[test]
fn a_crowd_of_problems_is_no_wall_of_text() {
    let env = TestEnvironment::new();
    env.directory("repo/.git");
    let lost: String = (0..40).map(|number| format!("[hooks.lost{number:02}]\npriority = 5\n")).collect();
    env.file("home/.hookbox/hookbox.toml", lost);
    let shown = start(&env, "repo", "repo")["systemMessage"].as_str().unwrap().to_owned();
    assert!(shown.lines().count() <= 9 && shown.contains("and 32 more"), "{shown}");
}

#[test]
fn a_hook_gets_the_repository_and_branch_of_the_project_and_not_of_the_models_directory() {
    let env = TestEnvironment::new();
    let remote = "[remote \"origin\"]\n\turl = git@host.example:org/name.git\n";
    env.file("repo/.git/HEAD", "ref: refs/heads/fix/7-x\n").file("repo/.git/config", remote);
    env.file("elsewhere/.git/HEAD", "ref: refs/heads/other\n");
    env.native(
        "home/.hookbox/hooks/native",
        "before_tool_call",
        "echo \"${HOOKBOX_REPOSITORY-none} ${HOOKBOX_BRANCH-none}\" > \"$HOME/native\"; echo '{}'",
    );
    let declared = json!({"version": 1, "hooks": {"PreToolUse": [{"command": "cat > \"$HOME/declared\""}]}});
    env.file("home/.hookbox/hooks.json", declared.to_string());
    let seen = |what: &str| {
        let native = env.read("home/native").unwrap_or_else(|| panic!("{what}"));
        let declared: Value = serde_json::from_str(&env.read("home/declared").unwrap()).unwrap();
        let text = |key: &str| declared[key].as_str().unwrap_or("none").to_owned();
        assert_eq!(native.trim(), format!("{} {}", text("repository"), text("branch")), "{what}");
        native.trim().to_owned()
    };
    for (agent, event) in BEFORE.iter().copied() {
        passed(agent, event, &at(&env, agent, event, "repo", None, &[]), "in the repository");
        assert_eq!(seen("in the repository"), "org/name fix/7-x", "{agent}");
        if agent.project_variable().is_some() {
            passed(agent, event, &at(&env, agent, event, "elsewhere", Some("repo"), &[]), "after cd");
            assert_eq!(seen("after cd"), "org/name fix/7-x", "{agent}");
        }
    }
    let plain = env.path("elsewhere");
    let (agent, event) = BEFORE[0];
    passed(agent, event, &at(&env, agent, event, "elsewhere", None, &[]), "without a remote");
    assert_eq!(seen("without a remote"), format!("{} other", plain.display()));
    passed(agent, event, &at(&env, agent, event, "home", None, &[]), "without a repository");
    assert_eq!(seen("without a repository"), "none none");
}

#[test]
fn the_first_root_of_a_workspace_is_the_project_if_the_agent_sets_no_variable() {
    let env = guarded();
    let mut payload = call(&env, Agent::Cursor, "preToolUse", "ls");
    payload["cwd"] = json!(env.path("elsewhere"));
    payload["workspace_roots"] = json!([env.path("repo"), env.path("elsewhere")]);
    let output = env.hookbox_with(args(Agent::Cursor, None, &["--trust", "all"]), payload.to_string());
    blocked(Agent::Cursor, "preToolUse", &output, "a guard of the first root");
}
