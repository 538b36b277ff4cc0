//! The hooks of Copilot CLI, in two styles. A camelCase name of the event in its configuration gives
//! camelCase fields and its own names of tools, a PascalCase one snake_case fields and Claude Code's names.
//! The fields of a tool's input are its own in both. At `preToolUse` every exit code but 0 blocks.

use serde_json::{Value, json};

use super::SPEC;
use crate::agent::event::is_pascal;
use crate::agent_hooks::payload::{self, Payload};
use crate::dialect::claude::{self, Session, Style, Text};
use crate::event::{ErrorSource, Event, EventData, EventName};
use crate::hook::HookError;
use crate::outcome::{Action, Outcome};
use crate::spec::Ended;

const STYLE: Style = Style {
    approving: &["approve", "allow"],
    decisions: "\"block\", \"deny\", \"allow\" or \"approve\"",
    inputs: &["modifiedArgs", "updatedInput"],
    outputs: &["modifiedResult"],
    is_flat: true,
    names_event: false,
    text: Text::Nothing,
    ..claude::CLAUDE
};

pub(super) fn encode(name: &str, event: &Event, session: &Session) -> Option<Value> {
    let context = &event.context;
    let pascal = is_pascal(name);
    let key = |camel: &'static str, snake: &'static str| if pascal { snake } else { camel };
    let mut it = Payload::new();
    // The payload of a question for a permission is the same in both styles.
    if let EventData::Other { data, .. } = &event.data {
        let mut letters = name.chars();
        let first = letters.next().map(|first| first.to_ascii_lowercase());
        it.put("hookName", first.into_iter().chain(letters).collect::<String>());
        it.put("sessionId", context.conversation_id.as_str());
        it.put("timestamp", context.timestamp_ms);
        it.put("cwd", context.cwd.as_str());
        it.rest(data);
        return it.done();
    }
    if pascal {
        it.put("hook_event_name", name);
        it.put("session_id", context.conversation_id.as_str());
        it.put("timestamp", payload::time(event));
    } else {
        it.put("sessionId", context.conversation_id.as_str());
        it.put("timestamp", context.timestamp_ms);
    }
    it.put("cwd", context.cwd.as_str());
    let names = [key("toolName", "tool_name"), key("toolArgs", "tool_input")];
    it.event(&SPEC, name, event, names);
    match &event.data {
        EventData::SessionStart { source } => {
            let source = payload::cause(source.as_deref(), "new");
            it.put("source", if source == "startup" { "new" } else { source });
            it.put(key("initialPrompt", "initial_prompt"), "");
        }
        EventData::AfterToolCall(result) => {
            let output = result.output.value();
            let kind = output.get("resultType").or_else(|| output.get("result_type"));
            let kind = kind.and_then(Value::as_str).unwrap_or_else(|| payload::kind_of_result(result));
            let text = payload::text_of(output);
            it.put(
                key("toolResult", "tool_result"),
                json!({
                    key("resultType", "result_type"): kind,
                    key("textResultForLlm", "text_result_for_llm"): text,
                }),
            );
        }
        EventData::OnError(error) => {
            if let ErrorSource::Tool(_) = &error.source {
                it.put("error", error.message.as_str());
            } else {
                let kind = error.kind.as_deref().unwrap_or("Error");
                it.put("error", json!({"message": error.message, "name": kind}));
            }
        }
        EventData::AgentStop(_) => {
            let transcript = session.transcript_path.as_deref().unwrap_or_default();
            it.put(key("transcriptPath", "transcript_path"), transcript);
            it.put(key("stopReason", "stop_reason"), "end_turn");
        }
        EventData::PreCompact { .. } => {
            it.put(key("customInstructions", "custom_instructions"), "");
        }
        _ => {}
    }
    it.done()
}

pub(super) fn outcome(event: &Event, ended: Ended<'_>) -> Result<Outcome, HookError> {
    let event = &event.name();
    let answer = || claude::read(event, ended.stdout, &STYLE);
    if ended.exit_code != 0 && *event == EventName::BeforeToolCall {
        // It reads the reason of an answer as well.
        if let Ok(answer) = answer()
            && matches!(answer.action, Action::Block(_))
            && ended.stderr.trim().is_empty()
        {
            return Ok(answer);
        }
        let reason = match ended.stderr.trim() {
            "" => format!("the hook ended with status {}", ended.exit_code),
            words => words.to_owned(),
        };
        return Ok(claude::blocked(event, reason));
    }
    claude::by_exit_code(event, ended.exit_code, ended.stderr, answer)
}
