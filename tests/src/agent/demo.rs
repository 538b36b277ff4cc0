//! `hookbox-agent demo`.

use std::ffi::OsStr;

use serde_json::{Value, json};

use super::program::agent_program;
use crate::embedding::{endpoint, quit};
use crate::environment::{Output, TestEnvironment, sample};

fn demo<A: AsRef<OsStr>>(env: &TestEnvironment, args: impl IntoIterator<Item = A>) -> Output {
    env.run(env.command(agent_program()).arg("demo").args(args), "")
}

#[test]
fn the_demo_shows_every_hook_at_work() {
    let env = TestEnvironment::new();
    let hooks = sample("guardrail").parent().unwrap().to_owned();
    let output = demo(&env, ["--hooks".as_ref(), hooks.as_os_str()]);
    assert_eq!(output.code, Some(0), "{output:#?}");
    let (listed, account) = output.stdout.split_once("session_start").unwrap();
    let listed: Vec<&str> = listed
        .lines()
        .filter(|line| line.starts_with("  "))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    for sample in ["guardrail", "redactor", "turn-logger", "compact-threshold", "follow-up"] {
        assert!(listed.contains(&&*format!("{sample}.wasm")), "{sample}: {}", output.stdout);
    }
    assert!(listed.contains(&"no-deploys") && listed.contains(&"from-the-repository"), "{listed:?}");
    for hook in &listed {
        assert!(account.contains(hook), "{hook} is not at work: {account}");
    }
    for what in ["blocked", "echo would deploy", "the model sees another output", "untrusted", "fuel"] {
        assert!(account.contains(what), "{what}: {account}");
    }
    assert_eq!(env.read("home/i-ran"), None, "what the repository brought did not run");
    let left: Vec<_> = std::fs::read_dir(env.path("tmp")).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
    assert!(!env.path("home/.kodelet").exists(), "nothing is written to the real home");
}

#[test]
fn a_demo_without_its_hooks_says_how_to_build_them() {
    let env = TestEnvironment::new();
    let output = demo(&env, ["--hooks", "/no/such"]);
    assert_eq!(output.code, Some(1), "{output:#?}");
    assert!(output.stderr.contains("error: ") && output.stderr.contains("hint: "), "{output:#?}");
}

#[test]
fn the_demo_works_with_a_model_behind_an_endpoint() {
    let usage = json!({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15});
    let message = |message: Value| json!({"choices": [{"message": message}], "usage": usage});
    let wants = |id: &str, arguments: &str| {
        let function = json!({"name": "bash", "arguments": arguments});
        message(json!({
            "role": "assistant", "content": null, "tool_calls": [{"id": id, "type": "function", "function": function}],
        }))
    };
    let done = message(json!({"role": "assistant", "content": "Done."}));
    let answers = vec![
        wants("1", r#"{"command":"sudo reboot"}"#),
        wants("2", "{\"command\": sudo"),
        done.clone(),
        // The hooks of the demo ask for one more round.
        wants("3", r#"{"command":"rm -f foo.txt"}"#),
        done,
    ];
    let (address, served) = endpoint(answers);
    let env = TestEnvironment::new()
        .variable("OPENAI_BASE_URL", &format!("http://{address}/v1/"))
        .variable("OPENAI_API_KEY", "key-of-the-test")
        .variable("OPENAI_MODEL", "model-of-the-test");
    let hooks = sample("guardrail").parent().unwrap().to_owned();
    let output = demo(&env, ["--hooks".as_ref(), hooks.as_os_str()]);
    let requests = quit(address, served);
    assert_eq!(output.code, Some(0), "{output:#?}");
    let (head, body) = &requests[0];
    assert!(head.starts_with("POST /v1/chat/completions HTTP/1.1"), "{head}");
    assert!(head.to_ascii_lowercase().contains("authorization: bearer key-of-the-test"), "{head}");
    assert_eq!(body["model"], "model-of-the-test");
    assert!(body["tools"].as_array().is_some_and(|tools| !tools.is_empty()));
    let answered = |request: usize, id: &str| {
        let messages = requests[request].1["messages"].as_array().unwrap();
        let of = messages.iter().find(|message| message["tool_call_id"] == id).unwrap();
        of["content"].as_str().unwrap().to_owned()
    };
    assert_eq!(answered(1, "1"), "error: Security policy: 'sudo' is not allowed");
    assert!(answered(2, "2").starts_with("error: "), "what is not JSON is judged, and no tool runs it");
    let last = requests[3].1["messages"].as_array().unwrap();
    assert!(
        last.iter()
            .any(|message| message["role"] == "user" && message["content"].to_string().contains("notes.md"))
    );
}

#[test]
fn the_demo_of_the_rotation_accounts_for_each_step_and_each_anchor() {
    let env = TestEnvironment::new();
    let hooks = sample("guardrail").parent().unwrap().to_owned();
    let output = demo(&env, ["--flow".as_ref(), "rotation".as_ref(), "--hooks".as_ref(), hooks.as_os_str()]);
    assert_eq!(output.code, Some(0), "{output:#?}");
    let account = output.stdout.split_once("section 8:").unwrap().1;
    let bad = |line: &str| ["missing", "lost"].iter().any(|it| line.trim_start().starts_with(it));
    assert!(!account.lines().any(bad), "{account}");
    for anchor in ["issue 145", "branch feat/145-hooks-framework", "blocker", "next step"] {
        assert!(account.contains(&format!("{anchor}: intact")), "{anchor}: {account}");
    }
    let left: Vec<_> = std::fs::read_dir(env.path("tmp")).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
    assert!(!env.path("home/.local/share/hookbox").exists(), "the real home's trust is not touched");
}

#[test]
fn the_demo_of_the_guards_blocks_and_lets_the_user_allow_a_command_once() {
    let env = TestEnvironment::new();
    let git = hookbox_guards::Guard::named("git").unwrap();
    env.file("guards/git.wasm", git.component);
    let (hooks, flow) = (env.path("guards"), ["--flow", "guards", "--hooks"].map(std::ffi::OsString::from));
    let output = demo(&env, flow.iter().map(AsRef::as_ref).chain([hooks.as_os_str()]));
    assert_eq!(output.code, Some(0), "{output:#?}");
    let (session, account) = output.stdout.split_once("\nThe guard:").unwrap();
    assert_eq!(account.lines().filter(|it| it.trim_start().starts_with("ok ")).count(), 5, "{account}");
    assert!(session.contains("Safer: git stash push --include-untracked"), "{session}");
    assert!(session.contains("The user runs `hookbox allow "), "{session}");
    assert!(!env.path("home/.local/share/hookbox").exists(), "the real home's allowances are not touched");
}
