//! Sessions that the bridge has open where the program works.

use hookbox_agents::Agent;
use serde_json::{Value, json};

use super::{CHANGES, READS, TRUST_FILE, place, refused};
use crate::environment::TestEnvironment;

/// Lets the bridge see an event of this session in a directory.
fn event(env: &TestEnvironment, agent: Agent, name: &str, session: &str, directory: &str) {
    let directory = env.path(directory);
    let mut payload = match name {
        "SessionEnd" | "sessionEnd" => json!({}),
        _ => agent.shell_call(agent.event(name).unwrap(), "ls", &directory, session),
    };
    for (key, value) in [("hook_event_name", name), ("session_id", session), ("conversation_id", session)] {
        payload[key] = Value::from(value);
    }
    payload["cwd"] = json!(directory);
    let output = env.hookbox_with(["bridge", agent.as_str()], payload.to_string());
    assert_eq!(output.code, Some(0), "{agent} {name}: {output:#?}");
}

#[test]
fn while_a_session_is_open_here_every_change_needs_a_terminal() {
    let env = place();
    env.directory("other/.git").native("other/.hookbox/hooks/guard", "before_tool_call", "true");
    let other = env.path("other");
    let elsewhere = ["trust", "guard", "--yes", "--cwd", other.to_str().unwrap()];
    for (agent, call, end) in [
        (Agent::Claude, "PreToolUse", "SessionEnd"),
        (Agent::Gemini, "BeforeTool", "SessionEnd"),
        (Agent::Cursor, "preToolUse", "sessionEnd"),
    ] {
        event(&env, agent, call, "one", "repo/.git");
        event(&env, agent, call, "two", "repo");
        for args in CHANGES {
            let sign = format!("{} has a session open in {}", agent.title(), env.path("repo").display());
            refused(&env, &env.hookbox(args), args, &sign);
        }
        for args in READS {
            assert_eq!(env.hookbox(args).code, Some(0), "{args:?}");
        }
        event(&env, agent, end, "one", "repo");
        refused(&env, &env.hookbox(CHANGES[0]), CHANGES[0], "has a session open");
        // Another repository is none of its business.
        let output = env.hookbox(elsewhere);
        assert_eq!(output.code, Some(0), "{output:#?}");
        std::fs::remove_file(env.path(TRUST_FILE)).unwrap();
        event(&env, agent, end, "two", "repo");
        assert_eq!(env.hookbox(CHANGES[0]).code, Some(0), "{agent}");
        assert_eq!(env.hookbox(CHANGES[3]).code, Some(0), "{agent}");
        std::fs::remove_file(env.path(TRUST_FILE)).unwrap();
    }
}

#[cfg(target_os = "linux")]
#[test]
fn beside_a_session_somebody_answers_on_a_terminal() {
    let env = place();
    event(&env, Agent::Cursor, "preToolUse", "one", "repo");
    for (args, typed, code) in [
        (&["trust", "guard"][..], "n\n", 1),
        (&["trust", "guard", "--yes"], "n\n", 1),
        (&["trust", "guard", "--yes"], "y\n", 0),
        (&["untrust", "guard"], "n\n", 1),
        (&["untrust", "guard"], "y\n", 0),
        // A command that asks by itself asks once.
        (&["trust", "guard"], "y\n", 0),
    ] {
        let before = env.read(TRUST_FILE);
        let output = env.run(&mut env.on_a_terminal(args), typed);
        assert_eq!(output.code, Some(code), "{args:?} {typed}: {output:#?}");
        assert!(!output.stderr.contains("error:"), "{args:?} {typed}: {output:#?}");
        assert_eq!(env.read(TRUST_FILE) == before, code != 0, "{args:?} {typed}: {output:#?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_session_ends_with_the_process_of_its_agent() {
    use std::io::Write as _;
    use std::process::Stdio;

    let env = place();
    env.copy("bin/claude", std::path::Path::new("/bin/bash"));
    let event = Agent::Claude.event("PreToolUse").unwrap();
    let payload = Agent::Claude.shell_call(event, "ls", &env.path("repo"), "one").to_string();
    env.file("payload", payload).directory("other/.git");
    // Anybody can write an event: the session neither ends nor moves while its process lives.
    for (name, directory) in [("SessionEnd", "repo"), ("SessionStart", "other")] {
        let forged = json!({"hook_event_name": name, "session_id": "one", "cwd": env.path(directory)});
        env.file(name, forged.to_string());
    }
    let line = "for event in payload SessionEnd SessionStart; do \"$HOOKBOX\" bridge claude < ../$event; done; \
                echo done >&2; read";
    let mut command = env.command(env.path("bin/claude"));
    command.args(["-c", line]).env("HOOKBOX", crate::environment::program()).stdin(Stdio::piped());
    let mut agent = command.spawn().unwrap();
    let mut said = std::io::BufReader::new(agent.stderr.take().unwrap());
    let mut text = String::new();
    while !text.ends_with("done\n") {
        assert_ne!(std::io::BufRead::read_line(&mut said, &mut text).unwrap(), 0, "{text}");
    }
    refused(&env, &env.hookbox(CHANGES[0]), CHANGES[0], "Claude Code has a session open in ");
    agent.stdin.take().unwrap().write_all(b"\n").unwrap();
    agent.wait().unwrap();
    let output = env.hookbox(CHANGES[0]);
    assert_eq!(output.code, Some(0), "{output:#?}");
}

#[test]
fn the_doctor_opens_no_session() {
    let env = place();
    assert_eq!(env.hookbox(["install", "claude"]).code, Some(0));
    let output = env.hookbox(["doctor", "claude"]);
    assert!(output.stdout.contains("is blocked"), "{output:#?}");
    assert_eq!(env.hookbox(CHANGES[0]).code, Some(0));
}
