//! Hooks with the answers that a test wants, in either back end: a shell script, or the component `answers`.

use std::fmt::Write as _;

use hookbox::EventName;
use serde_json::{Value, json};

use crate::environment::{TestEnvironment, guest};

/// The back end of a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Backend {
    Native,
    Component,
}

use Backend::{Component, Native};

/// Runs the body of a test once for each back end.
pub(crate) async fn each(body: impl AsyncFn(Backend)) {
    for backend in [Native, Component] {
        eprintln!("back end: {backend:?}");
        body(backend).await;
    }
}

/// Runs the body of a test once for each pair of back ends.
pub(crate) async fn each_pair(body: impl AsyncFn(Backend, Backend)) {
    for (first, second) in
        [(Native, Native), (Component, Component), (Native, Component), (Component, Native)]
    {
        eprintln!("back ends: {first:?}, {second:?}");
        body(first, second).await;
    }
}

impl Backend {
    /// The name of a hook's file.
    pub(crate) fn name(self, stem: &str) -> String {
        match self {
            Native => stem.to_owned(),
            Component => format!("{stem}.wasm"),
        }
    }

    /// Puts a hook into `ROOT/hooks/` that gives this answer at this event, in the words of the component
    /// `answers`; returns its full name. `settings` are lines of its table in hookbox.toml.
    pub(crate) fn hook(
        self,
        env: &TestEnvironment,
        root: &str,
        stem: &str,
        event: &EventName,
        answer: &Value,
        settings: &str,
    ) -> String {
        let name = self.name(stem);
        let path = format!("{root}/hooks/{name}");
        let mut table = format!("[hooks.\"{name}\"]\n{settings}\n");
        match self {
            Native => {
                env.native(&path, event.as_str(), &native(event, answer));
            }
            Component => {
                env.copy(&path, &guest("answers"));
                let mut answer = answer.clone();
                answer["only"] = json!([event.as_str()]);
                // A string of JSON is a string of TOML.
                writeln!(table, "settings = {{ answer = {} }}", json!(answer.to_string())).unwrap();
            }
        }
        let file = format!("{root}/hookbox.toml");
        let before = env.read(&file).unwrap_or_default();
        env.file(&file, format!("{before}\n{table}"));
        name
    }
}

/// A hook of the user's, with this priority.
pub(crate) fn user(
    env: &TestEnvironment,
    backend: Backend,
    stem: &str,
    event: &EventName,
    answer: &Value,
) -> String {
    backend.hook(env, "home/.hookbox", stem, event, answer, "")
}

/// The lines of bash that give this answer.
fn native(event: &EventName, answer: &Value) -> String {
    if let Some(message) = answer.get("fail").and_then(Value::as_str) {
        return format!("echo '{message}' >&2; exit 3");
    }
    let printed = printed(event, answer).to_string();
    assert!(!printed.contains('\''), "{printed}");
    format!("cat > /dev/null; printf '%s' '{printed}'")
}

/// The answer in kodelet's JSON, or in a Base Coat envelope where kodelet has no words for it.
fn printed(event: &EventName, answer: &Value) -> Value {
    assert!(answer.get("ask").is_none(), "no native hook can ask");
    let mut out = json!({});
    for name in ["follow_up", "mutate", "callback"] {
        let Some(value) = answer.get(name) else { continue };
        match name {
            "follow_up" => out["follow_up_messages"] = value.clone(),
            "mutate" => out = json!({"result": "mutate", "messages": value}),
            _ => {
                out = json!({"result": "callback", "callback": value["name"]});
                if let Some(args) = value.get("args") {
                    out["callback_args"] = args.clone();
                }
            }
        }
        return out;
    }
    let beside = answer.get("context").is_some() || answer.get("warnings").is_some();
    let envelope = beside
        || matches!(
            (event, answer.get("block").is_some(), answer.get("modify").is_some()),
            (EventName::AfterToolCall, true, _) | (EventName::UserMessageSend | EventName::OnError, _, true)
        );
    if let Some(reason) = answer.get("block") {
        out = if envelope {
            json!({"action": "block", "reason": reason})
        } else {
            json!({"blocked": true, "reason": reason})
        };
    } else if let Some(value) = answer.get("modify") {
        let after = matches!(event, EventName::AfterToolCall | EventName::OnError);
        let (kodelet, base_coat) =
            if after { ("output", "modifiedOutput") } else { ("input", "modifiedInput") };
        out = if envelope { json!({"action": "modify", base_coat: value}) } else { json!({kodelet: value}) };
    } else if envelope {
        out = json!({"action": "injectContext"});
    }
    for (name, key) in [("context", "additionalContext"), ("warnings", "warnings")] {
        if let Some(texts) = answer.get(name) {
            out[key] = texts.clone();
        }
    }
    out
}
