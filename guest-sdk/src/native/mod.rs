//! The native form of a hook: an executable that speaks kodelet's hook protocol.
//!
//! ```no_run
//! # struct MyHook;
//! # impl hookbox_sdk::Hook for MyHook {
//! #     fn manifest() -> hookbox_sdk::Manifest { hookbox_sdk::Manifest::new("my-hook", "0.1.0", "Does nothing.") }
//! # }
//! fn main() -> std::process::ExitCode {
//!     hookbox_sdk::native::main::<MyHook>()
//! }
//! ```
//!
//! | call | does |
//! | --- | --- |
//! | `my-hook hook` | prints the name of its event |
//! | `my-hook run` | reads the event on standard input, prints the answer |
//!
//! Kodelet's protocol has one event per executable. If the manifest subscribes to several, `--event NAME`
//! after the command or the variable `HOOKBOX_EVENT` chooses the one that `hook` prints, in either spelling;
//! else it is the first. `run` uses the `event` of its input; if that is absent, it uses the same choice.
//!
//! The answer is in kodelet's fields if kodelet has them, else it is the envelope of the Base Coat
//! specification (context, warnings, a block after a tool call, a changed message or error). An answer
//! without effect prints nothing. Neither dialect has *ask*: a native hook blocks instead, with the same
//! reason. Parts that no dialect has beside an action (warnings of a follow-up, a mutation or a callback) go
//! to standard error.
//!
//! Settings come from the variable `HOOKBOX_SETTINGS`, a JSON object. A failure is a message on standard
//! error and exit code 1, and so is a wrong command line. There is no sandbox and no budget: the tools,
//! priority, answers, capabilities and failure policy of the manifest have no effect here.
//!
//! The services that a component gets by a right need hookbox. [`state`](crate::state), [`http`](crate::http) and
//! [`directory()`](crate::directory()) return an error here, and [`work_tree`](crate::work_tree) returns `None`. A hook that
//! passes the error on with `?` fails, so that its guard does not pass unseen. The standard library works as in any program.

pub(crate) mod payload;
mod reply;

use std::ffi::OsString;
use std::io::{Read as _, Write as _};
use std::process::ExitCode;

use serde_json::{Map, Value};

use crate::{Error, Event, Hook, Manifest, hook};

/// Runs a hook with the process's arguments, input and output; see the [module](self).
pub fn main<H: Hook>() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    let requested = std::env::var("HOOKBOX_EVENT").ok().filter(|name| !name.is_empty());
    let input = || {
        let mut bytes = Vec::new();
        std::io::stdin().lock().read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let printed = call::<H>(&args, requested, input).and_then(|output| {
        let mut stdout = std::io::stdout().lock();
        if !output.is_empty() {
            writeln!(stdout, "{output}")?;
        }
        Ok(stdout.flush()?)
    });
    match printed {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // The failure counts even if its message cannot be written.
            drop(writeln!(std::io::stderr(), "{}: {error}", H::manifest().name));
            ExitCode::FAILURE
        }
    }
}

/// Returns the output for the command line.
fn call<H: Hook>(
    args: &[OsString],
    requested: Option<String>,
    input: impl FnOnce() -> Result<Vec<u8>, Error>,
) -> Result<String, Error> {
    let manifest = H::manifest();
    let args: Vec<&str> = args.iter().map(|arg| arg.to_str().unwrap_or("\u{fffd}")).collect();
    let (command, requested) = match args.as_slice() {
        [command] => (*command, requested),
        [command, "--event", name] => (*command, Some((*name).to_owned())),
        _ => ("", None),
    };
    match command {
        "hook" => Ok(choose(&manifest, requested.as_deref())?.to_string()),
        "run" => {
            let payload: Map<String, Value> = serde_json::from_slice(&input()?)
                .map_err(|error| Error::from(error).within("standard input is not a JSON object"))?;
            let event = match payload.get("event").and_then(Value::as_str) {
                Some(name) => Event::named(name),
                None => choose(&manifest, requested.as_deref())?,
            };
            let (cx, data) = payload::read(&event, &payload)?;
            let answer = hook::dispatch::<H>(&cx, &data)?;
            let reply = reply::write(&event, answer);
            for note in reply.notes {
                crate::warn!("{note}");
            }
            Ok(reply.output)
        }
        _ => Err(Error::new("expected `hook` or `run`, and at most `--event NAME` after it")),
    }
}

/// Returns the requested event, if the hook subscribes to it; else its first one.
fn choose(manifest: &Manifest, requested: Option<&str>) -> Result<Event, Error> {
    let mut events = manifest.subscriptions.iter().map(|subscription| &subscription.event);
    let found = match requested.map(Event::named) {
        Some(event) => events.find(|known| **known == event),
        None => events.next(),
    };
    found.cloned().ok_or_else(|| match requested {
        Some(name) => Error::new(format!("does not subscribe to {name}")),
        None => Error::new("subscribes to no event"),
    })
}

/// The settings in `HOOKBOX_SETTINGS`, in the form in which a component gets them.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn settings() -> Result<Vec<(String, String)>, Error> {
    if let Some(settings) = crate::testing::surroundings::settings() {
        return Ok(settings);
    }
    match std::env::var("HOOKBOX_SETTINGS") {
        Ok(text) => parse_settings(&text),
        Err(std::env::VarError::NotPresent) => Ok(Vec::new()),
        Err(error) => Err(Error::from(error).within("HOOKBOX_SETTINGS")),
    }
}

#[cfg(not(target_arch = "wasm32"))]
fn parse_settings(text: &str) -> Result<Vec<(String, String)>, Error> {
    let settings = serde_json::from_str(text).map_err(Error::from);
    settings.map(pairs).map_err(|error| error.within("HOOKBOX_SETTINGS is not a JSON object"))
}

/// Returns settings in the form in which a component gets them.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn pairs(settings: Map<String, Value>) -> Vec<(String, String)> {
    let pair = |(key, value)| match value {
        Value::String(text) => (key, text),
        other => (key, other.to_string()),
    };
    settings.into_iter().map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    struct Guard;

    impl Hook for Guard {
        fn manifest() -> Manifest {
            Manifest::new("guard", "0.1.0", "A guard.").on(Event::BeforeToolCall).on(Event::AgentStop)
        }

        fn before_tool_call(cx: &Context, call: &ToolCall) -> Result<Answer, Error> {
            match call.command.as_deref() {
                Some("fail") => Err(Error::new("asked to fail")),
                Some(line) => Ok(Answer::block(format!("{line} in {}", cx.cwd))),
                None => Ok(Answer::pass()),
            }
        }

        fn agent_stop(_cx: &Context, event: &AgentStop) -> Result<Answer, Error> {
            Ok(Answer::follow_up(event.messages.parse::<Vec<Message>>()?.into_iter().map(|m| m.content)))
        }
    }

    fn run(args: &[&str], requested: Option<&str>, input: &str) -> Result<String, String> {
        let args: Vec<OsString> = args.iter().map(OsString::from).collect();
        call::<Guard>(&args, requested.map(str::to_owned), || Ok(input.as_bytes().to_vec()))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn hook_prints_the_event_that_was_chosen_or_the_first() {
        assert_eq!(run(&["hook"], None, "").unwrap(), "before_tool_call");
        assert_eq!(run(&["hook"], Some("agent_stop"), "").unwrap(), "agent_stop");
        assert_eq!(
            run(&["hook", "--event", "PreToolUse"], Some("agent_stop"), "").unwrap(),
            "before_tool_call"
        );
        assert_eq!(run(&["hook"], Some("turn_end"), "").unwrap_err(), "does not subscribe to turn_end");
    }

    #[test]
    fn run_answers_the_event_that_it_reads() {
        let stop = r#"{"event":"agent_stop","messages":[{"role":"user","content":"on"}],"usage":null}"#;
        for (input, output) in [
            (
                r#"{"cwd":"/w","tool_name":"bash","tool_input":{"command":"ls"}}"#,
                r#"{"blocked":true,"reason":"ls in /w"}"#,
            ),
            (r#"{"event":"before_tool_call","tool_name":"bash","tool_input":5}"#, ""),
            (r#"{"event":"PreToolUse"}"#, ""),
            (r#"{"event":"turn_end"}"#, ""),
            (r#"{"event":"never_heard_of"}"#, ""),
            (stop, r#"{"follow_up_messages":["on"]}"#),
            (r#"{"event":"agent_stop"}"#, ""),
        ] {
            assert_eq!(run(&["run"], None, input).unwrap(), output, "{input}");
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        let failing = r#"{"tool_name":"bash","tool_input":{"command":"fail"}}"#;
        for (args, input, part) in [
            (&[][..], "", "expected `hook` or `run`"),
            (&["walk"], "", "expected `hook` or `run`"),
            (&["hook", "more"], "", "expected `hook` or `run`"),
            (&["run"], "", "standard input is not a JSON object: EOF"),
            (&["run"], "[]", "standard input is not a JSON object: invalid type"),
            (&["run"], r#"{"event":"agent_stop","usage":5}"#, "usage: invalid type: integer `5`"),
            (&["run"], failing, "asked to fail"),
        ] {
            let message = run(args, None, input).unwrap_err();
            assert!(message.starts_with(part), "{message}");
        }
    }

    #[test]
    fn settings_are_a_json_object_whose_texts_stay_as_they_are() {
        let pairs = parse_settings(r#"{"a":"text","b":0.5,"c":["x"]}"#).unwrap();
        let expected = [("a", "text"), ("b", "0.5"), ("c", "[\"x\"]")];
        assert_eq!(pairs, expected.map(|(key, text)| (key.to_owned(), text.to_owned())));
        let error = parse_settings("[]").unwrap_err().to_string();
        assert!(error.starts_with("HOOKBOX_SETTINGS is not a JSON object: "), "{error}");
    }

    /// A hook whose event names the service that it needs.
    struct Served;

    impl Hook for Served {
        fn manifest() -> Manifest {
            Manifest::new("served", "0.1.0", "Needs services.").on(Event::UserMessageSend)
        }

        fn user_message_send(_cx: &Context, event: &UserMessage) -> Result<Answer, Error> {
            match event.message.as_str() {
                "get" => drop(crate::state::get("key")?),
                "set" => crate::state::set("key", "value")?,
                "delete" => crate::state::delete("key")?,
                "increment" => drop(crate::state::increment("key", 1)?),
                "keys" => drop(crate::state::keys()?),
                "load" => crate::state::load::<()>("key", 1)?,
                "http" => drop(crate::http::Request::get("https://example.com/secret").send()?),
                directory => drop(crate::directory(directory)?),
            }
            Ok(Answer::pass())
        }
    }

    #[test]
    fn a_hook_that_needs_a_service_fails_and_says_that_it_needs_hookbox() {
        for (service, place) in [
            ("get", "state: "),
            ("set", "state: "),
            ("delete", "state: "),
            ("increment", "state: "),
            ("keys", "state: "),
            ("load", "state: "),
            ("http", "https://example.com: "),
            ("$DATA", "$DATA: "),
            ("$HOME/notes", "$HOME/notes: "),
            ("/var/log/agent", "/var/log/agent: "),
        ] {
            let event = json!({"event": "user_message_send", "message": service}).to_string();
            let error = call::<Served>(&["run".into()], None, || Ok(event.into_bytes())).unwrap_err();
            assert_eq!(error.to_string(), format!("{place}needs hookbox: run the hook as a component"));
        }
    }
}
