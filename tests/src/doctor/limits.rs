//! Files and commands that would keep an examination from ending.

use std::process::Command;

use hookbox_agents::Agent;
use serde_json::json;

use super::{configure, doctor, entry, fails, place};
use crate::environment::{TestEnvironment, program};
use crate::mcp::{lives, wait_until};

fn pipe(env: &TestEnvironment, path: &str) {
    let path = env.path(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn a_pipe_in_the_place_of_a_file_is_not_waited_for() {
    for (agent, path, fails_there) in [
        (Agent::Claude, "repo/.claude/settings.json", true),
        (Agent::Copilot, "repo/.claude/settings.json", false),
        (Agent::Copilot, "repo/.github/hooks/x.json", true),
        (Agent::Codex, "repo/.codex/config.toml", true),
        (Agent::Gemini, "repo/.gemini/settings.json", true),
        (Agent::OpenCode, "repo/.opencode/plugins/hookbox.js", true),
    ] {
        let env = if agent == Agent::OpenCode { super::guarded(agent) } else { place(agent) };
        pipe(&env, path);
        if fails_there {
            fails(&env, agent, "configuration", "not a regular file");
        } else {
            let output = doctor(&env, &[agent.as_str()]);
            assert_eq!(output.code, Some(0), "{agent} {path}: {output:#?}");
        }
    }
}

#[test]
fn an_examination_that_is_asked_to_end_leaves_no_command_behind() {
    let env = place(Agent::Qwen);
    let real = program();
    env.script(
        "home/wrap/hookbox",
        &format!(
            "#!/bin/bash\n[ \"$1\" = --version ] && exec {} --version\necho $$ > ~/pid\nexec sleep 1000\n",
            real.display()
        ),
    );
    let mut command = entry(Agent::Qwen, "~/wrap/hookbox bridge AGENT");
    command["timeout"] = json!(900);
    configure(&env, Agent::Qwen, &command);
    let mut doctor = env.command(&real).args(["doctor", "qwen"]).spawn().unwrap();
    let pid = || env.read("home/pid").filter(|it| it.ends_with('\n'));
    wait_until("the command runs", || pid().is_some());
    assert!(Command::new("kill").args(["-TERM", &doctor.id().to_string()]).status().unwrap().success());
    assert_eq!(doctor.wait().unwrap().code(), Some(143));
    wait_until("the command has ended", || !lives(pid().unwrap().trim()));
}
