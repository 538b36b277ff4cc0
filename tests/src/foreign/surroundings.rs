//! The surroundings of another agent's command: its shell, its directory, its variables.

use hookbox_agents::Agent;
use serde_json::{Value, json};

use super::configurations::{configure, of_projects};
use super::{all_of, bash, problems, statuses, verdict};
use crate::environment::TestEnvironment;

/// Settings of Claude Code with these variables and a guard of this line.
fn claude(env: Value, line: &str) -> String {
    let group = json!([{"hooks": [{"type": "command", "command": line}]}]);
    json!({"env": env, "hooks": {"PreToolUse": group}}).to_string()
}

#[test]
fn a_line_runs_in_the_shell_of_its_agent() {
    // Elsewhere than in bash this guard passes without a word.
    let guard = "if [[ a == a* ]]; then echo no >&2; exit 2; fi";
    for agent in of_projects().filter(|agent| *agent != Agent::Claude) {
        let env = TestEnvironment::new();
        configure(&env, agent, guard);
        let found = verdict(&env, agent, "before_tool_call", &bash("ls"));
        assert_eq!((&found["blocked"], &found["reason"]), (&json!(true), &json!("no")), "{agent}: {found}");
    }
    let env = TestEnvironment::new();
    configure(&env, Agent::Claude, "echo \"$0 ${BASH_VERSION+bash}\" > \"$HOME/shell\"");
    verdict(&env, Agent::Claude, "before_tool_call", &bash("ls"));
    assert_eq!(env.read("home/shell").unwrap().split(' ').next(), Some("/bin/sh"));
    let hook = json!({"type": "command", "shell": "bash", "command": guard});
    env.file("repo/.claude/settings.json", json!({"hooks": {"PreToolUse": [{"hooks": [hook]}]}}).to_string());
    assert_eq!(verdict(&env, Agent::Claude, "before_tool_call", &bash("ls"))["blocked"], true);
}

#[test]
fn a_command_of_the_user_runs_where_its_agent_runs_it() {
    let env = TestEnvironment::new();
    let guard = "#!/bin/sh\npwd >&2\nexit 2\n";
    env.script("home/.cursor/hooks/guard.sh", guard);
    let cursor = json!({"version": 1, "hooks": {"preToolUse": [{"command": "./hooks/guard.sh"}]}});
    env.file("home/.cursor/hooks.json", cursor.to_string());
    let found = env.event(&["before_tool_call", "--from", "cursor"], &bash("ls"));
    let want = env.path("home/.cursor").display().to_string();
    assert_eq!((&found["blocked"], &found["reason"]), (&json!(true), &json!(want)), "{found}");

    for (file, directory) in [
        ("home/.copilot/hooks/a.json", "home/.copilot/hooks"),
        ("repo/.github/hooks/a.json", "repo/.github/hooks"),
    ] {
        let env = TestEnvironment::new();
        env.script(&format!("{directory}/guard.sh"), guard);
        let copilot =
            json!({"version": 1, "hooks": {"preToolUse": [{"bash": "\"$COPILOT_HOOK_DIR\"/guard.sh"}]}});
        env.file(file, copilot.to_string());
        let found = verdict(&env, Agent::Copilot, "before_tool_call", &bash("ls"));
        let want = env.path("repo").display().to_string();
        assert_eq!((&found["blocked"], &found["reason"]), (&json!(true), &json!(want)), "{file}: {found}");
    }
}

#[test]
fn the_variables_of_claude_codes_settings_reach_its_hooks() {
    let show = |name: &str| format!("echo \"$A $B $C $CLAUDE_PROJECT_DIR\" > \"$HOME/{name}\"");
    let env = TestEnvironment::new();
    env.file(
        "home/.claude/settings.json",
        claude(json!({"A": "u", "B": "u", "C": 1, "CLAUDE_PROJECT_DIR": "x"}), &show("users")),
    );
    env.file("repo/.claude/settings.json", claude(json!({"B": "p", "C": "p"}), &show("projects")));
    env.file("repo/.claude/settings.local.json", json!({"env": {"C": "l"}}).to_string());
    verdict(&env, Agent::Claude, "before_tool_call", &bash("ls"));
    let repo = env.path("repo").display().to_string();
    assert_eq!(env.read("home/projects"), Some(format!("u p l {repo}\n")));
    // A project does not reach the user's hooks.
    assert_eq!(env.read("home/users"), Some(format!("u u 1 {repo}\n")));

    // A hook that is to get only some variables gets no others from there.
    env.file(
        "home/.hookbox/hookbox.toml",
        "[hooks.\"~/.claude/settings.json#PreToolUse[0]\"]\nenv = [\"HOME\", \"B\"]\n",
    );
    verdict(&env, Agent::Claude, "before_tool_call", &bash("ls"));
    assert_eq!(env.read("home/users"), Some(format!(" u  {repo}\n")));
}

#[test]
fn what_a_project_sets_is_a_part_of_what_the_user_trusts() {
    let name = ".claude/settings.json#PreToolUse[0]";
    let env = TestEnvironment::new();
    let status = |want: &str| {
        assert_eq!(statuses(&env, &["--from", "claude"]), [format!("{name} {want}")]);
    };
    let trust = || {
        let output = env.hookbox(["trust", "--from", "claude", name, "--yes"]);
        assert_eq!(output.code, Some(0), "{output:#?}");
    };
    env.file("repo/lib.sh", "exit 2\n");
    env.file("repo/.claude/settings.json", claude(json!({"LIB": "lib.sh"}), ". \"./$LIB\""));
    trust();
    status("active");
    env.file("repo/.claude/settings.json", claude(json!({"LIB": "other.sh"}), ". \"./$LIB\""));
    status("untrusted");
    trust();
    env.file("repo/.claude/settings.local.json", json!({"env": {"LIB": "third.sh"}}).to_string());
    status("untrusted");
    env.file("repo/.claude/settings.local.json", "{}");
    env.file("repo/.claude/settings.json", claude(json!({"LIB": "lib.sh"}), ". \"./$LIB\""));
    trust();
    // A file that a variable names belongs to it.
    env.file("repo/lib.sh", "exit 0\n");
    status("untrusted");
}

#[test]
fn a_variable_that_leads_to_other_code_is_left_out_and_that_is_said() {
    let line = "echo \"[$LD_PRELOAD] [$BASH_ENV] [$HOOKBOX_DEPTH] [$FINE]\" > \"$HOME/saw\"";
    let variables = json!({"LD_PRELOAD": "/x", "BASH_ENV": "/x", "HOOKBOX_DEPTH": "0", "FINE": "yes"});
    let said = |env: &TestEnvironment, agent| problems(env, &all_of(agent)).join("\n");
    let copilot = json!({"version": 1, "hooks": {"preToolUse": [{"bash": line, "env": variables}]}});
    for (agent, file, content) in [
        (Agent::Claude, "repo/.claude/settings.json", claude(variables.clone(), line)),
        (Agent::Copilot, "repo/.github/hooks/a.json", copilot.to_string()),
    ] {
        let env = TestEnvironment::new();
        env.file(file, content);
        verdict(&env, agent, "before_tool_call", &bash("ls"));
        assert_eq!(env.read("home/saw").as_deref(), Some("[] [] [1] [yes]\n"), "{agent}");
        let said = said(&env, agent);
        for name in ["LD_PRELOAD", "BASH_ENV"] {
            let want = format!(
                "env: {name} leads programs to code that you did not trust, so a project cannot set it; it is left out"
            );
            assert!(said.contains(&want), "{agent}: {said}");
        }
        assert!(
            said.contains("env: HOOKBOX_DEPTH is set by hookbox alone; it is left out"),
            "{agent}: {said}"
        );
    }
    // The user may; what hookbox sets stays its own.
    let env = TestEnvironment::new();
    env.file("home/.claude/settings.json", claude(json!({"BASH_ENV": "/x", "HOOKBOX_DEPTH": "0"}), line));
    verdict(&env, Agent::Claude, "before_tool_call", &bash("ls"));
    assert_eq!(env.read("home/saw").as_deref(), Some("[] [/x] [1] []\n"));
}

#[test]
fn a_line_that_needs_claude_codes_file_of_variables_is_told_that_there_is_none() {
    let env = TestEnvironment::new();
    let hook = json!({"type": "command", "command": "echo 'export A=1' >> \"$CLAUDE_ENV_FILE\""});
    env.file(
        "repo/.claude/settings.json",
        json!({"hooks": {"SessionStart": [{"hooks": [hook]}]}}).to_string(),
    );
    let said = problems(&env, &all_of(Agent::Claude)).join("\n");
    assert!(said.contains("names CLAUDE_ENV_FILE, which hookbox does not set"), "{said}");
}
