//! What the payloads of the agents have in common.

use serde_json::{Map, Value, json};

use crate::agent::Agent;
use crate::agent::tools as tool;
use crate::dialect::claude;
use crate::event::{AgentStop, Event, ToolCall, ToolResult};

/// An object of which only the known parts are written.
pub(crate) struct Payload(pub(crate) Map<String, Value>);

impl Payload {
    pub(crate) fn new() -> Self {
        Self(Map::new())
    }

    /// What every payload of Gemini CLI and Qwen Code begins with.
    pub(crate) fn begun(name: &str, event: &Event, session: &claude::Session) -> Self {
        let mut it = Self::new();
        it.put("session_id", event.context.conversation_id.as_str());
        it.put("transcript_path", session.transcript_path.as_deref().unwrap_or_default());
        it.put("cwd", event.context.cwd.as_str());
        it.put("hook_event_name", name);
        it.put("timestamp", time(event));
        it
    }

    pub(crate) fn put(&mut self, name: &str, value: impl Into<Value>) {
        self.0.insert(name.to_owned(), value.into());
    }

    /// A value that is left out where nobody knows it.
    pub(crate) fn known(&mut self, name: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.put(name, value);
        }
    }

    /// The tool's name and input under these names.
    pub(crate) fn call(&mut self, agent: Agent, own: &str, event: &Event, call: &ToolCall, names: [&str; 2]) {
        let (name, input) = tool::call(agent, own, event, call);
        let [of_name, of_input] = names;
        self.known(of_name, Some(name).filter(|name| !name.is_empty()));
        self.known(of_input, Some(input).filter(|input| !input.is_null()));
    }

    /// The data of an event that hookbox passes on as it stands.
    pub(crate) fn rest(&mut self, data: &Map<String, Value>) {
        for (key, value) in data {
            self.0.entry(key.clone()).or_insert_with(|| value.clone());
        }
    }
}

/// A mode that the agent has, else `default`.
pub(crate) fn mode(event: &Event, session: &claude::Session, modes: &[&str]) -> String {
    let mode = event.context.mode.clone().filter(|mode| modes.contains(&mode.as_str()));
    session.permission_mode.clone().or(mode).unwrap_or_else(|| "default".to_owned())
}

/// The time of the event, to the millisecond as JavaScript writes it.
pub(crate) fn time(event: &Event) -> String {
    let ms = i64::try_from(event.context.timestamp_ms).unwrap_or_default();
    format!("{:.3}", jiff::Timestamp::from_millisecond(ms).unwrap_or_default())
}

/// Why a session starts, in the words that the agents share.
pub(crate) fn source(source: Option<&str>) -> &str {
    match source {
        Some("rotate") => "clear",
        Some(source) => source,
        None => "startup",
    }
}

/// Why a session ends.
pub(crate) fn reason(reason: Option<&str>) -> &str {
    match reason {
        Some("rotate") => "clear",
        Some(reason) => reason,
        None => "other",
    }
}

/// The last words of the model, and the last ones of the user.
pub(crate) fn last_words(stop: &AgentStop) -> (Option<String>, Option<String>) {
    let asked = stop.messages.value().as_array().and_then(|messages| {
        let is_users = |it: &&Value| it.get("role").and_then(Value::as_str) == Some("user");
        Some(messages.iter().rev().find(is_users)?.get("content")?.as_str()?.to_owned())
    });
    (claude::last_said(&stop.messages), asked)
}

/// What a tool printed, as text.
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

/// The output of a tool in the shape of Gemini CLI and Qwen Code.
pub(crate) fn with_display(output: &Value) -> Value {
    if output.get("llmContent").is_some() {
        return output.clone();
    }
    let text = text_of(output);
    json!({"llmContent": text, "returnDisplay": text})
}

/// Whether the tool worked, in Copilot CLI's words.
pub(crate) fn kind_of_result(result: &ToolResult) -> &'static str {
    if result.success == Some(false) { "failure" } else { "success" }
}

/// An output that a hook of this agent changed, in the shape of the one that stood there.
pub(crate) fn restored(agent: Agent, original: &Value, changed: Value) -> Value {
    let (own, theirs) = match agent {
        Agent::Copilot => (
            ["resultType", "result_type"],
            changed.get("textResultForLlm").is_some() || changed.get("text_result_for_llm").is_some(),
        ),
        Agent::Gemini | Agent::Qwen => (["llmContent", "returnDisplay"], changed.get("llmContent").is_some()),
        _ => return changed,
    };
    let is_own = own.iter().any(|name| original.get(*name).is_some());
    if theirs && !is_own { Value::String(text_of(&changed)) } else { changed }
}
