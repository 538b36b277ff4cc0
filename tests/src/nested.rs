//! Repositories that lie one in another: what is made within one takes nothing away from it.

use hookbox::EventName;
use hookbox_agents::Agent;
use serde_json::{Value, json};

use crate::answers::Backend;
use crate::environment::TestEnvironment;

/// A repository below the home directory with a guard of each kind, which the user trusts, and a directory in it.
fn guarded(backend: Backend) -> TestEnvironment {
    let env = TestEnvironment::new();
    env.directory("home/p/.git").directory("home/p/sub/deep");
    let blocks = json!({"block": "not in here"});
    backend.hook(&env, "home/p/.hookbox", "guard", &EventName::BeforeToolCall, &blocks, "");
    let name = if matches!(backend, Backend::Component) { "guard.wasm" } else { "guard" };
    let trusted = env.hookbox(["trust", "--cwd", env.path("home/p").to_str().unwrap(), name, "--yes"]);
    assert_eq!(trusted.code, Some(0), "{trusted:#?}");
    env
}

fn run(env: &TestEnvironment, cwd: &str) -> Value {
    let call = json!({"tool_name": "bash", "tool_input": {"command": "ls"}});
    env.event(&["before_tool_call", "--cwd", env.path(cwd).to_str().unwrap()], &call)
}

/// Makes a directory a repository of its own.
type Mark = fn(&TestEnvironment, &str);

const MARKS: [(&str, Mark); 5] = [
    (".hookbox", |env, at| {
        env.directory(&format!("{at}/.hookbox"));
    }),
    (".kodelet", |env, at| {
        env.directory(&format!("{at}/.kodelet/hooks"));
    }),
    (".git", |env, at| {
        env.directory(&format!("{at}/.git"));
    }),
    ("a file .git", |env, at| {
        env.file(&format!("{at}/.git"), "gitdir: elsewhere\n");
    }),
    ("a dangling link", |env, at| {
        env.symlink(&format!("{at}/.hookbox"), "nowhere");
    }),
];

#[test]
fn a_repository_within_another_takes_no_guard_away() {
    for backend in [Backend::Native, Backend::Component] {
        for (what, mark) in MARKS {
            let env = guarded(backend);
            assert_eq!(run(&env, "home/p/sub/deep")["reason"], "not in here", "{what}: before");
            mark(&env, "home/p/sub");
            mark(&env, "home/p/sub/deep");
            for cwd in ["home/p", "home/p/sub", "home/p/sub/deep"] {
                assert_eq!(run(&env, cwd)["reason"], "not in here", "{what} in {cwd}");
            }
            let payload = json!({
                "hook_event_name": "PreToolUse", "session_id": "s", "cwd": env.path("home/p/sub/deep"),
                "tool_name": "Bash", "tool_input": {"command": "ls"},
            });
            let output = env.hookbox_with(["bridge", Agent::Claude.as_str()], payload.to_string());
            assert!(output.stdout.contains("not in here"), "{what}: {output:#?}");
        }
    }
}

#[test]
fn a_hook_within_a_repository_shadows_nothing_of_it() {
    let env = guarded(Backend::Native);
    let passes = json!({});
    for root in ["home/p/sub/.hookbox", "home/p/sub/.kodelet"] {
        Backend::Native.hook(&env, root, "guard", &EventName::BeforeToolCall, &passes, "");
    }
    for trust in ["recorded", "all"] {
        let call = json!({"tool_name": "bash", "tool_input": {"command": "ls"}});
        let args = ["before_tool_call", "--trust", trust, "--cwd", env.path("home/p/sub").to_str().unwrap()]
            .map(str::to_owned);
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        assert_eq!(env.event(&args, &call)["reason"], "not in here", "{trust}");
    }
    let rows = env.list(&["--cwd", env.path("home/p/sub").to_str().unwrap()]);
    let row = |path: &str| rows.iter().find(|row| row["path"] == env.path(path).to_str().unwrap()).unwrap();
    assert_eq!(row("home/p/.hookbox/hooks/guard")["status"], "active");
    assert_eq!(row("home/p/sub/.hookbox/hooks/guard")["status"], "untrusted");
    // A name that two of them have is no name for one, and the hint of what does not run names the file.
    let cwd = env.path("home/p/sub");
    let output = env.hookbox(["trust", "--cwd", cwd.to_str().unwrap(), "guard", "--yes"]);
    assert!(output.code == Some(2) && output.stderr.contains("p/.hookbox/hooks/guard"), "{output:#?}");
}

#[test]
fn what_lies_around_a_repository_can_be_trusted_from_within_and_holds_there() {
    let env = TestEnvironment::new();
    env.directory("home/p/.git").directory("home/p/sub/.git");
    let blocks = json!({"block": "not in here"});
    Backend::Native.hook(&env, "home/p/.hookbox", "guard", &EventName::BeforeToolCall, &blocks, "");
    assert_eq!(run(&env, "home/p/sub")["blocked"], false);
    let within = env.path("home/p/sub");
    let trusted = env.hookbox(["trust", "--cwd", within.to_str().unwrap(), "guard", "--yes"]);
    assert_eq!(trusted.code, Some(0), "{trusted:#?}");
    for cwd in ["home/p", "home/p/sub"] {
        assert_eq!(run(&env, cwd)["reason"], "not in here", "{cwd}");
    }
}

#[test]
fn a_guard_that_is_gone_blocks_within_its_repository_too() {
    let env = TestEnvironment::new();
    env.directory("home/p/sub/.git");
    env.file("home/p/.hookbox/hookbox.toml", "[hooks.guard]\non_failure = \"block\"\n");
    for cwd in ["home/p", "home/p/sub"] {
        let verdict = run(&env, cwd);
        assert_eq!((&verdict["blocked"], &verdict["blocked_by"]), (&json!(true), &json!("guard")), "{cwd}");
    }
}

#[test]
fn a_working_directory_that_is_gone_takes_no_guard_of_its_repository_away() {
    let env = guarded(Backend::Native);
    let gone = env.path("home/p/gone/deeper");
    for agent in Agent::with_commands() {
        let event = agent.names_of(hookbox_agents::agent::EventKind::BeforeToolCall).next().unwrap();
        let payload = agent.shell_call(agent.event(event).unwrap(), "ls", &gone, "s");
        let output = env.hookbox_with(["bridge", agent.as_str(), "--event", event], payload.to_string());
        assert!(output.stdout.contains("not in here"), "{agent}: {output:#?}");
    }
    // Nobody knows where a process works whose directory is gone, if the agent does not say it either.
    let nowhere = "mkdir ../home/p/gone && cd ../home/p/gone && rmdir ../gone && exec \"$0\" \"$@\"";
    let call = r#"{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"Bash","tool_input":{"command":"ls"}}"#;
    let program = crate::environment::program();
    let run = |args: &[&str], input: &str| {
        env.run(env.command("sh").args(["-c", nowhere]).arg(&program).args(args), input)
    };
    let output = run(&["bridge", "claude"], call);
    assert!(output.stdout.contains("the working directory is gone"), "{output:#?}");
    let output = run(&["run", "before_tool_call"], r#"{"tool_name":"bash","tool_input":{"command":"ls"}}"#);
    assert!(output.stderr.contains("the working directory is gone"), "{output:#?}");
}

#[test]
fn a_full_repository_within_another_uses_up_nothing_of_it() {
    let env = guarded(Backend::Native);
    for number in 0..600 {
        env.file(&format!("home/p/sub/.hookbox/plugins/a@{number}/hooks/x.wasm"), "no component");
    }
    env.file("home/p/sub/.hookbox/hooks.json", " ".repeat(5 << 20));
    assert_eq!(run(&env, "home/p/sub")["reason"], "not in here");
}

#[test]
fn too_many_repositories_around_a_directory_are_said_and_block_an_agent() {
    let env = guarded(Backend::Native);
    let deep = format!("home/p{}", "/x".repeat(12));
    let mut at = "home/p".to_owned();
    for _ in 0..12 {
        at.push_str("/x");
        env.directory(&format!("{at}/.git"));
    }
    // The outermost one has its say.
    assert_eq!(run(&env, &deep)["reason"], "not in here");
    let cwd = env.path(&deep);
    let event =
        json!({"hook_event_name": "UserPromptSubmit", "session_id": "s", "cwd": cwd, "prompt": "hello"});
    let output = env.hookbox_with(["bridge", "claude"], event.to_string());
    assert!(output.stdout.contains("more than 8 repositories"), "{output:#?}");
}
