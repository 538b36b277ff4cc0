use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

use super::*;
use crate::prelude::*;
use crate::state;

struct Guard;

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Settings {
    reason: String,
}

impl Hook for Guard {
    fn manifest() -> Manifest {
        Manifest::new("guard", "0.1.0", "Guards.").on_tools(Event::BeforeToolCall, ["kind:shell"])
    }

    fn before_tool_call(cx: &Context, call: &ToolCall) -> Result<Answer, Error> {
        let settings: Settings = settings()?;
        let count = state::increment("calls", 1)?;
        let command = call.command.as_deref().unwrap_or_default();
        Ok(Answer::block(format!("{}: {command} in {}, call {count}", settings.reason, cx.cwd)))
    }

    fn pre_compact(_cx: &Context, event: &PreCompact) -> Result<Answer, Error> {
        Ok(Answer::pass().inject(format!("{} messages", event.messages.parse::<Vec<Message>>()?.len())))
    }
}

#[test]
fn a_hook_answers_an_event_with_its_settings_and_an_empty_state() {
    let call = || json!({"cwd": "/w", "tool_name": "bash", "tool_input": {"command": "ls"}});
    let answer = |data, settings| super::answer::<Guard>("before_tool_call", data, settings);
    for _ in 0..2 {
        let came = answer(call(), json!({"reason": "no"})).unwrap();
        assert_eq!(came, Answer::block("no: ls in /w, call 1"));
    }
    let messages = json!({"messages": [{"role": "user", "content": "hello"}]});
    let came = super::answer::<Guard>("PreCompact", messages, json!({})).unwrap();
    assert_eq!(came, Answer::pass().inject("1 messages"));
    for (data, settings, words) in [
        (call(), json!({"raeson": "no"}), "raeson"),
        (json!([]), json!({}), "data: expected an object, found []"),
        (call(), json!(null), "settings: expected an object, found null"),
        (json!({"cwd": 5}), json!({}), "cwd: invalid type"),
    ] {
        let error = answer(data, settings).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}

/// A hook that does to its state as it is told.
struct Keeper;

impl Hook for Keeper {
    fn manifest() -> Manifest {
        Manifest::new("keeper", "0.1.0", "Keeps.").on(Event::UserMessageSend).capability(Capability::Store)
    }

    fn user_message_send(_cx: &Context, event: &UserMessage) -> Result<Answer, Error> {
        let mut told = Vec::new();
        for step in event.message.split(' ') {
            told.push(match step.split_once('=') {
                Some((key, value)) => state::set(key, value).map(|()| String::new())?,
                None if step == "keys" => state::keys()?.join(","),
                None if step.starts_with('+') => state::increment("n", step.parse()?)?.to_string(),
                None if step.starts_with('-') => state::delete(&step[1..]).map(|()| String::new())?,
                None => format!("{:?}", state::get(step)?),
            });
        }
        Ok(Answer::block(told.join(" ")))
    }
}

#[test]
fn the_state_of_a_test_is_a_bucket() {
    for (steps, told) in [
        ("a a=x keys a -a -a a", "None  a Some([120])   None"),
        ("+2 +0 n keys", "2 2 Some([50]) n"),
        ("n=text +1", "error: state: the value of \"n\" is not a counter"),
        ("+18446744073709551615 +1", "error: state: the counter \"n\" cannot go beyond 18446744073709551615"),
    ] {
        let answer = super::answer::<Keeper>("user_message_send", json!({"message": steps}), json!({}));
        let came = answer.unwrap_or_else(|error| Answer::block(format!("error: {error}")));
        assert_eq!(came, Answer::block(told), "{steps}");
    }
    assert!(state::get("a").is_err(), "a test leaves nothing behind");
}

#[test]
fn a_run_passes_only_if_each_case_of_the_built_component_passed() {
    let case = |name: &str, text: Option<&str>| json!({"name": name, "passed": text.is_none(), "text": text});
    for (stdout, stderr, words) in [
        (json!({"outdated": [], "cases": [case("a", None)]}).to_string(), "", None),
        (
            json!({"outdated": [], "cases": [case("a", Some("x.toml, line 1: a")), case("b", Some("b"))]})
                .to_string(),
            "",
            Some("x.toml, line 1: a\n\nb"),
        ),
        (
            json!({"outdated": ["a.wasm is older than src/lib.rs"], "cases": [case("a", None)]}).to_string(),
            "",
            Some("a.wasm is older than src/lib.rs"),
        ),
        (
            String::new(),
            "error: .: has no cases\nhint: write a case",
            Some("hookbox test failed (exit status: 2)\nerror: .: has no cases\nhint: write a case"),
        ),
        ("{}".to_owned(), "", Some("hookbox test failed (exit status: 2)\n")),
    ] {
        let status = ExitStatus::from_raw(2 << 8);
        let output = Output { status, stdout: stdout.into_bytes(), stderr: stderr.as_bytes().to_vec() };
        assert_eq!(judge(&output).err().map(|error| error.to_string()).as_deref(), words);
    }
}
