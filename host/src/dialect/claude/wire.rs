//! The wire of a command hook that was written for Claude Code.

use serde_json::{Map, Value};

use super::{Matcher, Session, Split, encode, name, outcome_of, split};
use crate::dialect::Wire;
use crate::event::Event;
use crate::hook::HookError;
use crate::outcome::Outcome;
use hookbox_system::json;

/// The wire of a command hook that was written for Claude Code.
#[derive(Clone, Debug, Default)]
pub struct ClaudeWire {
    /// Claude Code's name of the event that the hook is for, where several of them are one event here; all of them if
    /// `None`.
    pub name: Option<String>,
    /// The tools, sources or reasons that the hook is for; all of them if `None`.
    pub matcher: Option<Matcher>,
}

/// Adds the fields that the agent sent and that an event does not have: of Claude Code all of them, of another agent the
/// file of the conversation.
fn fill(input: &mut Map<String, Value>, event: &Event) {
    let Some(sent) = event.context.payload.as_ref().and_then(|it| json::object(&it.json).ok()) else {
        return;
    };
    let is_claude = event.context.agent.as_deref() == Some("claude");
    for (name, raw) in sent {
        let is_own = match name.as_str() {
            "transcript_path" => true,
            "permission_mode" => is_claude && input.contains_key(&name),
            _ => is_claude && !input.contains_key(&name),
        };
        if is_own {
            input.insert(name, json::value(&raw));
        }
    }
}

impl Wire for ClaudeWire {
    fn is_for(&self, event: &Event) -> bool {
        let is_named = self.name.as_deref().is_none_or(|wanted| name(event) == Some(wanted));
        is_named && self.matcher.as_ref().is_none_or(|matcher| matcher.is_for(event))
    }

    fn split(&self, event: &Event) -> Split {
        split(event, |event| self.is_for(event))
    }

    fn encode(&self, event: &Event) -> Option<Value> {
        let mut input = encode(event, &Session::default())?;
        if let Value::Object(input) = &mut input {
            fill(input, event);
        }
        Some(input)
    }

    fn outcome(
        &self,
        event: &Event,
        exit_code: i32,
        stdout: &[u8],
        stderr: &str,
    ) -> Result<Outcome, HookError> {
        outcome_of(event, exit_code, stdout, stderr)
    }
}
