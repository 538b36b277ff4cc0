//! A tool as a hook, and its result as an outcome.

use std::sync::Arc;

use async_trait::async_trait;
use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Map, Value};
use tokio::time::Instant;

use crate::dialect::{base_coat, kodelet};
use crate::event::{Event, EventName};
use crate::hook::{Budget, Cause, Descriptor, Hook, HookError};
use crate::mcp::server::Server;
use crate::native::{Verify, verified, with_log};
use crate::outcome::Outcome;
use hookbox_system::{limits, text};

/// A tool of an MCP server as a hook.
pub struct ToolHook {
    descriptor: Descriptor,
    server: Arc<Server>,
    tool: String,
    verify: Option<Verify>,
}

debug_by!(ToolHook, server, tool);

impl ToolHook {
    /// Makes a hook of the tool `tool` of this server. Starts nothing.
    pub fn new(descriptor: Descriptor, server: Arc<Server>, tool: String) -> Self {
        Self { descriptor, server, tool, verify: None }
    }

    /// Checks the hook before each call, also if the server runs already: its files may have changed since it
    /// was trusted.
    #[must_use]
    pub(crate) fn with_verify(mut self, verify: Option<Verify>) -> Self {
        self.verify = verify;
        self
    }
}

#[async_trait]
impl Hook for ToolHook {
    fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }

    /// Calls the tool with the event, within `budget.wall` (the start of the server included),
    /// `budget.output` and `budget.log`.
    async fn run(&self, event: &Event, budget: &Budget) -> Result<Outcome, HookError> {
        let deadline = Instant::now() + budget.wall;
        if let Some(verify) = &self.verify {
            verified(verify, budget.wall).await?;
        }
        let answered = self.server.call(event, &self.tool, arguments(event), budget, deadline).await?;
        with_log(outcome(&event.name(), answered.result, budget.output), answered.log)
    }
}

/// Encodes the event as the arguments of a call.
fn arguments(event: &Event) -> Map<String, Value> {
    match base_coat::encode(event).unwrap_or_else(|| kodelet::encode(event)) {
        Value::Object(object) => object,
        other => Map::from_iter([("event".to_owned(), other)]),
    }
}

/// Reads the result of a tool as the answer of a native hook: `structuredContent` if it is an object, else
/// the text. Without content there is no action.
///
/// # Errors
///
/// `exit` if the tool failed, `output_limit` for more than `limit` bytes, `malformed_output` for content that
/// is not text, and for text that is not an answer.
fn outcome(event: &EventName, result: CallToolResult, limit: usize) -> Result<Outcome, HookError> {
    if result.is_error == Some(true) {
        return Err(failed(&result));
    }
    let answer = match &result.structured_content {
        Some(Value::Object(object)) if !wraps(object, &result) => Value::Object(object.clone()).to_string(),
        _ => joined(&result)?,
    };
    if answer.len() > limit {
        return Err(HookError::output_limit(limit, answer.len()));
    }
    kodelet::outcome(event, answer.as_bytes())
}

/// Returns whether a server framework has wrapped the text of a tool without a schema: `{"result": "…"}`,
/// beside the same text as content.
fn wraps(object: &serde_json::Map<String, Value>, result: &CallToolResult) -> bool {
    let Some(Value::String(inner)) = object.get("result").filter(|_| object.len() == 1) else { return false };
    texts(result).any(|text| text == inner)
}

fn texts(result: &CallToolResult) -> impl Iterator<Item = &str> {
    result.content.iter().filter_map(|block| match block {
        ContentBlock::Text(text) => Some(text.text.as_str()),
        _ => None,
    })
}

fn joined(result: &CallToolResult) -> Result<String, HookError> {
    let other = result.content.iter().find_map(|block| match block {
        ContentBlock::Text(_) => None,
        ContentBlock::Image(_) => Some("an image"),
        ContentBlock::Audio(_) => Some("sound"),
        ContentBlock::Resource(_) => Some("a resource"),
        ContentBlock::ResourceLink(_) => Some("a link to a resource"),
        _ => Some("content of an unknown kind"),
    });
    match other {
        None => Ok(texts(result).collect::<Vec<_>>().join("\n")),
        Some(other) => {
            let message =
                format!("answered with {other}; expected text that is an answer, or structuredContent");
            Err(HookError::new(Cause::MalformedOutput, message))
        }
    }
}

/// Returns the failure of a result with `isError`.
fn failed(result: &CallToolResult) -> HookError {
    let said = texts(result).collect::<Vec<_>>().join(" ");
    let said = text::escape(said.trim(), limits::EXCERPT);
    let message = if said.is_empty() {
        "said that it failed".to_owned()
    } else {
        format!("said that it failed: {said}")
    };
    HookError::new(Cause::Exit, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Action;
    use serde_json::json;

    fn read(result: Value) -> Result<Outcome, Cause> {
        let result: CallToolResult = serde_json::from_value(result).unwrap();
        outcome(&EventName::BeforeToolCall, result, 200).map_err(|error| error.cause)
    }

    fn text(text: &str) -> Value {
        json!({"content": [{"type": "text", "text": text}]})
    }

    #[test]
    fn a_result_is_read_as_an_answer_is() {
        let block = r#"{"action":"block","reason":"r"}"#;
        let blocked = Ok(Action::Block("r".into()));
        for (result, want) in [
            (text(block), blocked.clone()),
            (text(r#"{"blocked":true,"reason":"r"}"#), blocked.clone()),
            (text(r#"{"decision":"block","reason":"r"}"#), blocked.clone()),
            (json!({"structuredContent": {"action": "block", "reason": "r"}}), blocked.clone()),
            (
                json!({"structuredContent": {"action": "block", "reason": "r"}, "content": [{"type": "text", "text": "prose"}]}),
                blocked.clone(),
            ),
            (
                json!({"structuredContent": {"result": block}, "content": [{"type": "text", "text": block}]}),
                blocked.clone(),
            ),
            (json!({"structuredContent": [1], "content": [{"type": "text", "text": block}]}), blocked),
            (
                json!({"content": [{"type": "text", "text": "{\"action\":"}, {"type": "text", "text": "\"passThrough\"}"}]}),
                Ok(Action::Pass),
            ),
            (json!({"content": []}), Ok(Action::Pass)),
            (text(" \n"), Ok(Action::Pass)),
            (text("noted"), Err(Cause::MalformedOutput)),
            (text("[]"), Err(Cause::MalformedOutput)),
            (
                text(&format!("{{\"action\":\"block\",\"reason\":{:?}}}", "x".repeat(200))),
                Err(Cause::OutputLimit),
            ),
            (
                json!({"content": [{"type": "image", "data": "AA==", "mimeType": "image/png"}]}),
                Err(Cause::MalformedOutput),
            ),
            (json!({"isError": true, "content": [{"type": "text", "text": block}]}), Err(Cause::Exit)),
        ] {
            assert_eq!(read(result.clone()).map(|outcome| outcome.action), want, "{result}");
        }
    }

    #[test]
    fn what_a_tool_says_of_its_failure_is_repeated_harmlessly() {
        let mut result: CallToolResult = serde_json::from_value(text("no\u{1b}[2Jdisk")).unwrap();
        result.is_error = Some(true);
        let error = outcome(&EventName::SessionStart, result, 100).unwrap_err();
        assert_eq!(error.to_string(), "exit: said that it failed: no\\u{1b}[2Jdisk");
    }
}
