//! The parts that the payloads of several agents share.

use serde_json::{Map, Value, json};

use crate::agent::tools;
use crate::dialect::claude;
use crate::event::{AgentStop, Event, EventData, ToolCall, ToolResult};
use crate::spec::{CommandHooks, Spec};

/// An object of which only the known parts are written.
pub(crate) struct Payload(pub(crate) Map<String, Value>);

impl Payload {
    pub(crate) fn new() -> Self {
        Self(Map::new())
    }

    /// Begins a payload of Gemini CLI or Qwen Code.
    pub(crate) fn begun(name: &str, event: &Event, session: &claude::Session) -> Self {
        let mut it = Self::new();
        it.put("session_id", event.context.conversation_id.as_str());
        it.put("transcript_path", session.transcript_path.as_deref().unwrap_or_default());
        it.put("cwd", event.context.cwd.as_str());
        it.put("hook_event_name", name);
        it.put("timestamp", time(event));
        it
    }

    /// Returns the object.
    pub(crate) fn done(self) -> Option<Value> {
        Some(Value::Object(self.0))
    }

    pub(crate) fn put(&mut self, name: &str, value: impl Into<Value>) {
        self.0.insert(name.to_owned(), value.into());
    }

    /// Puts a value, if it is known.
    pub(crate) fn known(&mut self, name: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.put(name, value);
        }
    }

    /// Puts the fields of an event that have these names in most agents; those of a tool's name and input are
    /// given.
    pub(crate) fn event(&mut self, spec: &Spec, own: &str, event: &Event, names: [&str; 2]) {
        match &event.data {
            EventData::SessionStart { source } => self.put("source", cause(source.as_deref(), "startup")),
            EventData::SessionEnd { reason } => self.put("reason", cause(reason.as_deref(), "other")),
            EventData::UserMessageSend { message } => self.known("prompt", message.as_deref()),
            EventData::AgentStop(stop) => self.put("stop_hook_active", stop.follow_ups > 0),
            EventData::PreCompact { trigger, .. } | EventData::PostCompact { trigger, .. } => {
                self.known("trigger", trigger.as_deref());
            }
            EventData::Other { data, .. } => self.rest(data),
            _ => event.tool_call().into_iter().for_each(|call| self.call(spec, own, event, call, names)),
        }
    }

    /// Puts the tool's name and input under these names.
    pub(crate) fn call(&mut self, spec: &Spec, own: &str, event: &Event, call: &ToolCall, names: [&str; 2]) {
        let (name, input) = tools::call(spec, own, event, call);
        let [of_name, of_input] = names;
        self.known(of_name, Some(name).filter(|name| !name.is_empty()));
        self.known(of_input, Some(input).filter(|input| !input.is_null()));
    }

    /// Puts the data of an event that hookbox passes on unchanged.
    pub(crate) fn rest(&mut self, data: &Map<String, Value>) {
        for (key, value) in data {
            self.0.entry(key.clone()).or_insert_with(|| value.clone());
        }
    }
}

/// The names of a tool's name and input in most agents.
pub(crate) const TOOL: [&str; 2] = ["tool_name", "tool_input"];

/// Returns the reason why a session starts or ends, in the agents' words; `usual` if it is not known.
pub(crate) fn cause<'a>(given: Option<&'a str>, usual: &'a str) -> &'a str {
    match given {
        Some("rotate") => "clear",
        Some(given) => given,
        None => usual,
    }
}

/// Returns the mode of the session if the agent has it, otherwise `default`.
pub(crate) fn mode(event: &Event, session: &claude::Session, modes: &[&str]) -> String {
    let mode = event.context.mode.clone().filter(|mode| modes.contains(&mode.as_str()));
    session.permission_mode.clone().or(mode).unwrap_or_else(|| "default".to_owned())
}

/// Returns the time of the event to the millisecond, as JavaScript writes it.
pub(crate) fn time(event: &Event) -> String {
    let ms = i64::try_from(event.context.timestamp_ms).unwrap_or_default();
    format!("{:.3}", jiff::Timestamp::from_millisecond(ms).unwrap_or_default())
}

/// Returns the last message of the model, and the last one of the user.
pub(crate) fn last_messages(stop: &AgentStop) -> (Option<String>, Option<String>) {
    let message_of_user = stop.messages.value().as_array().and_then(|messages| {
        let is_users = |it: &&Value| it.get("role").and_then(Value::as_str) == Some("user");
        Some(messages.iter().rev().find(is_users)?.get("content")?.as_str()?.to_owned())
    });
    (claude::last_said(&stop.messages), message_of_user)
}

/// Returns the output of a tool as text.
pub(crate) fn text_of(output: &Value) -> String {
    match output {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        Value::Array(parts) => {
            let texts: Vec<&str> = parts.iter().filter_map(|part| part.get("text")?.as_str()).collect();
            if texts.len() == parts.len() { texts.join("\n") } else { output.to_string() }
        }
        Value::Object(fields) => {
            let text = |name: &str| fields.get(name).and_then(Value::as_str);
            if let (Some(out), Some(error)) = (text("stdout"), text("stderr")) {
                return if error.is_empty() { out.to_owned() } else { format!("{out}\n{error}") };
            }
            for name in ["textResultForLlm", "text_result_for_llm", "returnDisplay", "output", "result"] {
                if let Some(text) = text(name) {
                    return text.to_owned();
                }
            }
            for name in ["llmContent", "content"] {
                if let Some(inner @ (Value::Array(_) | Value::String(_))) = fields.get(name) {
                    return text_of(inner);
                }
            }
            output.to_string()
        }
        other => other.to_string(),
    }
}

/// Returns the output of a tool in the shape of Gemini CLI and Qwen Code.
pub(crate) fn with_display(output: &Value) -> Value {
    if output.get("llmContent").is_some() {
        return output.clone();
    }
    let text = text_of(output);
    json!({"llmContent": text, "returnDisplay": text})
}

/// Returns the result of a tool in Copilot CLI's words.
pub(crate) fn kind_of_result(result: &ToolResult) -> &'static str {
    if result.success == Some(false) { "failure" } else { "success" }
}

/// Returns an output that a hook changed, in the shape of the original one: as text if only the hook's agent
/// has fields such as these.
pub(crate) fn restored(spec: &CommandHooks, original: &Value, changed: Value) -> Value {
    let has = |value: &Value, fields: &[&str]| fields.iter().any(|name| value.get(*name).is_some());
    match has(&changed, spec.output_text_fields) && !has(original, spec.output_fields) {
        true => Value::String(text_of(&changed)),
        false => changed,
    }
}
