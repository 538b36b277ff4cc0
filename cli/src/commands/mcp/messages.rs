//! The messages of JSON-RPC and MCP, and the tools.

use hookbox::EventName;
use hookbox::dialect::schema::Schema;
use serde_json::{Map, Value, json};

use super::verdict;

/// The versions of the protocol that this server speaks, newest first. It uses only parts that all of them
/// have; a server of 2025-03-26 would have to read batches.
const VERSIONS: [&str; 3] = ["2025-11-25", "2025-06-18", "2024-11-05"];

/// The error codes of JSON-RPC. [`BUSY`] and [`LATE`] are of the range for servers.
pub(super) const UNREADABLE: i64 = -32_700;
pub(super) const INVALID: i64 = -32_600;
pub(super) const NO_METHOD: i64 = -32_601;
pub(super) const WRONG_PARAMS: i64 = -32_602;
pub(super) const BROKEN: i64 = -32_603;
pub(super) const BUSY: i64 = -32_000;
pub(super) const LATE: i64 = -32_001;

/// The levels of a log message (RFC 5424), the least severe first.
pub(super) const LEVELS: [&str; 8] =
    ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

pub(super) fn success(id: &Value, result: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
}

pub(super) fn failure(id: &Value, code: i64, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}

/// Returns a message for the client's log.
pub(super) fn log(level: &str, text: &str) -> Value {
    let params = json!({ "level": level, "logger": "hookbox", "data": text });
    json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": params })
}

/// Returns the result of a tool that ran no hook. The agent must not go on.
pub(super) fn wrong(what: &str) -> Value {
    json!({ "content": [content(what)], "isError": true })
}

pub(super) fn content(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

/// Answers `initialize`. `about` describes this server's hooks and limits.
pub(super) fn initialized(params: &Map<String, Value>, about: Value) -> Value {
    let wanted = params.get("protocolVersion").and_then(Value::as_str);
    let version = VERSIONS.into_iter().find(|version| Some(*version) == wanted).unwrap_or(VERSIONS[0]);
    json!({
        "protocolVersion": version,
        "capabilities": { "tools": {}, "logging": {}, "experimental": { "hookbox": about } },
        "serverInfo": { "name": "hookbox", "version": env!("CARGO_PKG_VERSION") },
        "instructions": "Call before_tool_call with tool_name and tool_input before you run a tool. Run the tool only \
                         if the action of the decision is \"run\", and with the input of the decision. After an \
                         error, do not run it. Call after_tool_call when it has run.",
    })
}

/// Describes the tool of an event.
pub(super) fn tool(name: &EventName) -> Value {
    let mut input = input_schema(name);
    let description = input.shift_remove("description").unwrap_or_default();
    json!({
        "name": name.as_str(),
        "description": format!("Call this so that the user's hooks run: {}", description.as_str().unwrap_or_default()),
        "inputSchema": input,
        "outputSchema": verdict::schema(name),
    })
}

/// Returns the schema of an event's data, with its description.
fn input_schema(name: &EventName) -> Map<String, Value> {
    let document = Schema::named("kodelet-event").map(Schema::document).unwrap_or_default();
    let definition = |name: &str| document.get("$defs")?.get(name)?.as_object().cloned();
    let mut input = definition(name.as_str()).unwrap_or_default();
    let has_tool = input.get("properties").is_some_and(|it| it.get("tool_name").is_some());
    if let Some(required) = input.get_mut("required").and_then(Value::as_array_mut) {
        required.retain(|name| !FILLED.iter().any(|filled| name == filled));
        // Without them the event would go past every guard.
        required.extend((has_tool && name != &EventName::OnError).then(|| json!("tool_name")));
        let further = match name {
            EventName::BeforeToolCall => Some("tool_input"),
            EventName::UserMessageSend => Some("message"),
            _ => None,
        };
        let is_new = further.filter(|field| required.iter().all(|it| it != field));
        required.extend(is_new.map(Value::from));
    }
    if let Some(properties) = input.get_mut("properties").and_then(Value::as_object_mut) {
        properties.shift_remove("event");
        let number = json!({ "type": "number" });
        let further: &[(&str, Value)] = match name {
            EventName::AfterToolCall => &[
                ("success", json!({ "type": ["boolean", "null"] })),
                ("error", json!({ "type": ["string", "null"] })),
                ("duration_ms", number.clone()),
                ("exit_status", number.clone()),
                ("cost_tokens", number),
            ],
            EventName::AgentStop => &[("follow_ups", number)],
            EventName::AfterTurn => &[("messages", json!({ "type": "array" }))],
            _ => &[],
        };
        properties.extend(further.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())));
        if properties.contains_key("usage") {
            input.insert("$defs".to_owned(), json!({ "usage": definition("usage") }));
        }
    }
    input
}

/// The fields that hookbox fills in.
const FILLED: [&str; 4] = ["event", "conv_id", "cwd", "invoked_by"];
