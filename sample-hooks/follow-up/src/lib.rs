//! Asks the agent for one more round before it stops.

use std::path::{Component, Path};

use hookbox_sdk::prelude::*;

/// The hook.
pub struct FollowUp;

/// The user's settings.
#[derive(Debug, serde::Deserialize)]
#[serde(default)]
struct Settings {
    /// The follow-up messages; empty for none.
    messages: Vec<String>,
    /// Asks only when one of these files is in the working directory; empty for always.
    if_exists: Vec<String>,
}

impl Default for Settings {
    fn default() -> Self {
        let message = "Before you stop: run the tests, fix what fails, and summarise what you changed.";
        Self { messages: vec![message.to_owned()], if_exists: Vec::new() }
    }
}

impl Hook for FollowUp {
    fn manifest() -> Manifest {
        Manifest::new("follow-up", env!("CARGO_PKG_VERSION"), env!("CARGO_PKG_DESCRIPTION"))
            .on(Event::AgentStop)
            .answers([Give::FollowUp])
            .capability(Capability::Read("$REPO".to_owned()))
    }

    fn agent_stop(cx: &Context, event: &AgentStop) -> Result<Answer, Error> {
        // A subagent answers to its agent; and a hook that asks every time would never end.
        if cx.invoked_by != InvokedBy::Main || event.follow_ups > 0 {
            return Ok(Answer::pass());
        }
        let settings: Settings = settings()?;
        let messages = if settings.if_exists.is_empty() {
            settings.messages
        } else {
            still_here(Path::new(&cx.cwd), &settings.if_exists)?.into_iter().collect()
        };
        // In a native hook no agent gives the number of follow-ups; the conversation shows them, if it is
        // given.
        if asked(event, &messages)? {
            return Ok(Answer::pass());
        }
        Ok(Answer::follow_up(messages))
    }
}

/// Returns the message about the first of these files that is in the working directory.
fn still_here(cwd: &Path, names: &[String]) -> Result<Option<String>, Error> {
    // Without the right no file is there, which must not look like a clean directory.
    if !cwd.is_dir() {
        return Err(Error::new(format!("cannot read {} (was read:$REPO granted?)", cwd.display())));
    }
    for name in names {
        let inside = |part| matches!(part, Component::Normal(_) | Component::CurDir);
        if name.is_empty() || !Path::new(name).components().all(inside) {
            let expected = "setting `if_exists`: expected a path in the working directory";
            return Err(Error::new(format!("{expected}, found {name:?}")));
        }
        // A link counts, wherever it leads.
        if cwd.join(name).symlink_metadata().is_ok() {
            return Ok(Some(format!(
                "{name} is still here. If it is no longer needed, remove it before you stop."
            )));
        }
    }
    Ok(None)
}

/// Returns whether the user's last message is already one of these.
fn asked(event: &AgentStop, messages: &[String]) -> Result<bool, Error> {
    let conversation: Option<Vec<Value>> = event.messages.get("")?;
    let said = |message: &Value| message.get("role").and_then(Value::as_str) == Some("user");
    let last = conversation.iter().flatten().rev().find(|message| said(message));
    let text = last.and_then(|message| message.get("content")).and_then(Value::as_str);
    Ok(text.is_some_and(|text| messages.iter().any(|message| message == text)))
}

hookbox_sdk::export_hook!(FollowUp);

#[cfg(test)]
mod tests {
    use super::*;

    fn stop(follow_ups: u32, last: &str) -> AgentStop {
        let messages = json!([{"role": "user", "content": last}, {"role": "assistant", "content": "Done."}]);
        AgentStop { follow_ups, messages: messages.into(), ..AgentStop::default() }
    }

    #[test]
    fn the_main_agent_is_asked_once() {
        let [message] = Settings::default().messages.try_into().unwrap();
        let main = Context::default();
        let subagent = Context { invoked_by: InvokedBy::Subagent, ..Context::default() };
        for (cx, event, asks) in [
            (&main, stop(0, "Fix the bug."), true),
            (&main, AgentStop::default(), true),
            (&main, stop(1, "Fix the bug."), false),
            (&main, stop(0, &message), false),
            (&subagent, stop(0, "Fix the bug."), false),
        ] {
            let expected = if asks { Answer::follow_up([message.as_str()]) } else { Answer::pass() };
            assert_eq!(FollowUp::agent_stop(cx, &event).unwrap(), expected, "{cx:?} {event:?}");
        }
    }

    #[test]
    fn a_file_that_is_still_there_is_named() {
        let dir = std::env::temp_dir().join(format!("follow-up-{}", std::process::id()));
        std::fs::create_dir_all(dir.join("sub")).unwrap();
        std::fs::write(dir.join("sub/b.txt"), "").unwrap();
        let told = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            still_here(&dir, &names).map_err(|error| error.to_string())
        };
        assert_eq!(told(&["a.txt"]), Ok(None));
        let found = told(&["a.txt", "sub/b.txt"]).unwrap().unwrap();
        assert!(found.starts_with("sub/b.txt is still here."), "{found}");
        for wrong in ["", "../a.txt", "/etc/passwd", "sub/../../a"] {
            assert!(told(&[wrong]).unwrap_err().starts_with("setting `if_exists`"), "{wrong}");
        }
        std::fs::remove_dir_all(&dir).unwrap();
        assert!(told(&["a.txt"]).unwrap_err().ends_with("(was read:$REPO granted?)"));
    }
}
