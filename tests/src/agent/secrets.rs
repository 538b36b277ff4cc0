//! Secrets in what hooks say: the texts that the model reads, and those that the agent saves.

use serde_json::json;

use super::program::agent_program;
use crate::embedding::{endpoint, quit};
use crate::environment::TestEnvironment;

#[test]
fn the_model_and_the_saved_conversation_get_no_secret_of_a_hook_unless_the_user_wants_it() {
    let token = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
    let call = |id: &str, command: &str| {
        let arguments = json!({ "command": command }).to_string();
        json!({"id": id, "type": "function", "function": {"name": "bash", "arguments": arguments}})
    };
    let calls = json!({"role": "assistant", "content": null, "tool_calls": [call("1", "rm x"), call("2", "echo hi")]});
    let done = json!({"role": "assistant", "content": "Done."});
    for (settings, is_kept) in
        [("", false), ("redact_context = true\n", false), ("redact_context = false\n", true)]
    {
        let answers = [&calls, &done].map(|message| json!({"choices": [{"message": message}]}));
        let (address, requests) = endpoint(answers.to_vec());
        let env = TestEnvironment::new().variable("OPENAI_BASE_URL", &format!("http://{address}/v1"));
        env.file("home/.hookbox/hookbox.toml", settings);
        let say = |event: &str, answer: serde_json::Value, only: &str| {
            let body = format!("case \"$(cat)\" in *'{only}'*) echo '{answer}';; esac");
            env.native(&format!("home/.hookbox/hooks/{event}"), event, &body);
        };
        say(
            "session_start",
            json!({"action": "injectContext", "additionalContext": [format!("context {token}")]}),
            "session_start",
        );
        say("before_tool_call", json!({"blocked": true, "reason": format!("reason {token}")}), "rm x");
        say(
            "after_tool_call",
            json!({"output": {"success": true, "output": format!("output {token}")}}),
            "echo hi",
        );
        env.native(
            "home/.hookbox/hooks/agent_stop",
            "agent_stop",
            &format!(
                "[ -e asked ] || echo '{{\"follow_up_messages\":[\"follow-up {token}\"]}}'; touch asked; cat >/dev/null"
            ),
        );
        let output = env.run(env.command(agent_program()).args(["run", "do it"]), "");
        assert_eq!((output.code, output.stdout.trim_end()), (Some(0), "Done."), "{output:#?}");

        let sent = quit(address, requests).last().unwrap().1.to_string();
        let directory = env.path("home/.local/share/hookbox-agent/conversations");
        let saved = std::fs::read_dir(directory).unwrap().next().unwrap().unwrap().path();
        let saved = std::fs::read_to_string(saved).unwrap();
        for text in [&sent, &saved] {
            assert_eq!(text.contains(&token), is_kept, "{settings}: {text}");
            let word = if is_kept { token.as_str() } else { "[REDACTED:github]" };
            for place in ["context", "reason", "output", "follow-up"] {
                assert!(text.contains(&format!("{place} {word}")), "{settings}{place}: {text}");
            }
        }
    }
}

#[test]
fn a_repository_cannot_let_secrets_through() {
    let env = TestEnvironment::new();
    env.file("repo/.hookbox/hookbox.toml", "redact_context = false\n");
    let listed = env.hookbox(["list"]);
    assert!(
        listed.stderr.contains("line 1: redact_context is for the user's own file to say"),
        "{listed:#?}"
    );
    let token = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
    let answer = json!({"action": "injectContext", "additionalContext": [token]});
    env.native("home/.hookbox/hooks/says", "session_start", &format!("echo '{answer}'"));
    let verdict = env.event(&["session_start"], &json!({}));
    assert_eq!(verdict["additional_context"], json!(["[REDACTED:github]"]));
}
