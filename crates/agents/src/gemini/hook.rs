//! The hooks of Gemini CLI, with its own names of events and tools, and Claude Code's shape of an answer with
//! `tool_input`, which is put over the input. It reads an answer whatever the exit code is.

use super::SPEC;
use crate::agent_hooks::payload::{self, Payload};
use serde_json::Value;

use crate::dialect::claude::{self, Session, Style, Text};
use crate::event::{Event, EventData};
use crate::gemini_family::{self, answer_in, printed};
use crate::hook::HookError;
use crate::outcome::{Action, Outcome};
use crate::spec::Ended;

const STYLE: Style =
    Style { inputs: &["tool_input"], names_event: false, text: Text::Shown, ..gemini_family::STYLE };

pub(super) fn encode(name: &str, event: &Event, session: &Session) -> Option<Value> {
    let mut it = Payload::begun(name, event, session);
    it.event(&SPEC, name, event, payload::TOOL);
    match &event.data {
        EventData::AfterToolCall(result) => {
            it.put("tool_response", payload::with_display(result.output.value()));
        }
        EventData::AgentStop(stop) => {
            let (answer, prompt) = payload::last_messages(stop);
            it.put("prompt", prompt.unwrap_or_default());
            it.put("prompt_response", answer.unwrap_or_default());
        }
        _ => {}
    }
    it.done()
}

pub(super) fn outcome(event: &Event, ended: Ended<'_>) -> Result<Outcome, HookError> {
    let event = &event.name();
    if ended.exit_code == 0 {
        return printed(event, ended, &STYLE);
    }
    // It reads an answer whatever the code is, and on standard error if there is nothing on standard output.
    let is_silent = ended.stdout.trim_ascii().is_empty();
    let said = if is_silent { ended.stderr.as_bytes() } else { ended.stdout };
    let has_effect = |it: &Outcome| matches!(it.action, Action::Block(_)) || !it.follow_ups.is_empty();
    if let Some(answer) = answer_in(said, event, &STYLE).filter(has_effect) {
        return Ok(answer);
    }
    let words = String::from_utf8_lossy(said);
    let words = words.trim();
    match ended.exit_code {
        2 => Ok(claude::blocked(event, words.to_owned())),
        // Every code but 1 blocks, if the hook printed any words.
        code if code != 1 && !words.is_empty() && !words.starts_with('{') => {
            Ok(claude::blocked(event, words.to_owned()))
        }
        code => Err(claude::failed(code, ended.stderr)),
    }
}
