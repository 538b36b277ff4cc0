//! Asks the agent for one more round before it stops.

use hookbox_sdk::prelude::*;

/// The hook.
pub struct FollowUp;

/// What the user can set.
#[derive(Debug, serde::Deserialize)]
#[serde(default)]
struct Settings {
    /// What the agent is asked; empty for nothing.
    messages: Vec<String>,
}

impl Default for Settings {
    fn default() -> Self {
        let message = "Before you stop: run the tests, fix what fails, and summarise what you changed.";
        Self { messages: vec![message.to_owned()] }
    }
}

impl Hook for FollowUp {
    fn manifest() -> Manifest {
        Manifest::new("follow-up", env!("CARGO_PKG_VERSION"), env!("CARGO_PKG_DESCRIPTION"))
            .on(Event::AgentStop)
            .answers([Give::FollowUp])
    }

    fn agent_stop(cx: &Context, event: &AgentStop) -> Result<Answer, Error> {
        // A subagent answers to its agent; and whoever asks every time is never done.
        if cx.invoked_by != InvokedBy::Main || event.follow_ups > 0 {
            return Ok(Answer::pass());
        }
        let settings: Settings = settings()?;
        // Natively no agent says how often hooks have asked; the conversation does, where it is given.
        if asked(event, &settings.messages)? {
            return Ok(Answer::pass());
        }
        Ok(Answer::follow_up(settings.messages))
    }
}

/// Whether the user's last message is already one of these.
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
}
