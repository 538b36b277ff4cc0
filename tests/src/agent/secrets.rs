//! Secrets in what hooks say: the texts that the model reads, and those that the agent saves.

use hookbox_agent::Scripted;
use serde_json::json;

use super::{bash, saving};
use crate::environment::TestEnvironment;

#[tokio::test]
async fn the_model_and_the_saved_conversation_get_no_secret_of_a_hook_unless_the_user_wants_it() {
    let token = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
    for (settings, is_kept) in
        [("", false), ("redact_context = true\n", false), ("redact_context = false\n", true)]
    {
        let env = TestEnvironment::new();
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
        let asked = env.path("asked").display().to_string();
        env.native(
            "home/.hookbox/hooks/agent_stop",
            "agent_stop",
            &format!(
                "[ -e {asked} ] || echo '{{\"follow_up_messages\":[\"follow-up {token}\"]}}'; touch {asked}; cat >/dev/null"
            ),
        );
        let script = vec![bash("rm x"), bash("echo hi")];
        let manager = env.builder().build().await;
        let (mut agent, _, saved) = saving(&env, &manager, Scripted::new(script, 100_000));
        assert_eq!(agent.run("do it").await.unwrap(), "Done.");

        let [id] = saved.ids().try_into().unwrap();
        for messages in [&agent.conversation().messages, &saved.load(&id).messages] {
            let text = json!(messages).to_string();
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
