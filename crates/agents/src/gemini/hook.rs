//! Hooks of Gemini CLI: its own names of events and tools, and Claude Code's shape of an answer with `tool_input`, which
//! is put over the input. It looks at what was printed whatever the exit code is.

use serde_json::{Map, Value};

use crate::agent::Agent;
use crate::agent_hooks::payload::{self, Payload};
use crate::dialect::claude::{self, Session, Style, Text};
use crate::event::{Event, EventData, EventName};
use crate::hook::HookError;
use crate::outcome::{Action, Outcome};

const STYLE: Style =
    Style { inputs: &["tool_input"], names_event: false, text: Text::Shown, ..crate::qwen::hook::STYLE };

pub(crate) fn encode(name: &str, event: &Event, session: &Session) -> Map<String, Value> {
    let mut it = Payload::begun(name, event, session);
    match &event.data {
        EventData::SessionStart { source } => it.put("source", payload::source(source.as_deref())),
        EventData::SessionEnd { reason } => it.put("reason", payload::reason(reason.as_deref())),
        EventData::UserMessageSend { message } => it.known("prompt", message.as_deref()),
        EventData::BeforeToolCall(call) => {
            it.call(Agent::Gemini, name, event, call, ["tool_name", "tool_input"]);
        }
        EventData::AfterToolCall(result) => {
            it.call(Agent::Gemini, name, event, &result.call, ["tool_name", "tool_input"]);
            it.put("tool_response", payload::with_display(result.output.value()));
        }
        EventData::AgentStop(stop) => {
            let (said, asked) = payload::last_words(stop);
            it.put("prompt", asked.unwrap_or_default());
            it.put("prompt_response", said.unwrap_or_default());
            it.put("stop_hook_active", stop.follow_ups > 0);
        }
        EventData::PreCompact { trigger, .. } => it.known("trigger", trigger.as_deref()),
        EventData::Other { data, .. } => it.rest(data),
        _ => {}
    }
    it.0
}

pub(crate) fn outcome(
    event: &EventName,
    exit_code: i32,
    stdout: &[u8],
    stderr: &str,
) -> Result<Outcome, HookError> {
    if exit_code == 0 {
        return printed(event, stdout, stderr, &STYLE);
    }
    // It reads an answer there whatever the code is.
    let said = answer_in(stdout, event, &STYLE);
    if let Some(said) =
        said.filter(|said| matches!(said.action, Action::Block(_)) || !said.follow_ups.is_empty())
    {
        return Ok(said);
    }
    let words = String::from_utf8_lossy(stdout);
    let words = if words.trim().is_empty() { stderr.trim() } else { words.trim() };
    match exit_code {
        2 => Ok(claude::blocked(event, words.to_owned())),
        // Every code but 1 says no, where anything is said at all.
        code if code != 1 && !words.is_empty() && !words.starts_with('{') => {
            Ok(claude::blocked(event, words.to_owned()))
        }
        code => Err(claude::failed(code, stderr)),
    }
}

/// What was printed by a hook that ended with status 0. Where there is nothing on standard output, an answer may stand on
/// standard error; and one may be written as a JSON text.
pub(crate) fn printed(
    event: &EventName,
    stdout: &[u8],
    stderr: &str,
    style: &Style,
) -> Result<Outcome, HookError> {
    let inner =
        serde_json::from_slice::<String>(stdout.trim_ascii()).ok().filter(|it| it.trim().starts_with('{'));
    if let Some(inner) = inner {
        return claude::read(event, inner.as_bytes(), style);
    }
    if stdout.trim_ascii().is_empty()
        && let Some(said) = answer_in(stderr.as_bytes(), event, style)
    {
        return Ok(said);
    }
    claude::read(event, stdout, style)
}

/// The answer that stands there, if one does.
pub(crate) fn answer_in(printed: &[u8], event: &EventName, style: &Style) -> Option<Outcome> {
    let printed = printed.trim_ascii();
    if !printed.starts_with(b"{") {
        return None;
    }
    claude::read(event, printed, style).ok()
}
