//! The journal of hookbox itself.

use serde_json::Value;

use super::{Found, Lines, PastCall, text};
use crate::journal::has_own_hash;

/// Records of the journal.
#[derive(Default)]
pub(super) struct Journal;

impl Lines for Journal {
    fn is_own(&self, text: &[u8]) -> bool {
        has_own_hash(text)
    }

    fn line(&mut self, line: &Value, found: &mut Vec<Found>) {
        if text(line, "/event/event").as_deref() != Some("before_tool_call") {
            return;
        }
        let tool = text(line, "/event/tool_name").unwrap_or_default();
        // A command that was cut, or from which a secret was removed, is another command.
        let has = |key: &str| line.get(key).is_some();
        let is_other =
            |input: &Value| has("cut") || has("redacted") && input.to_string().contains("[REDACTED:");
        let input = line.pointer("/event/tool_input").filter(|it| !is_other(it)).cloned();
        found.push(Found::Call(PastCall {
            id: text(line, "/id"),
            judged: input.map(|input| vec![(tool.clone(), input)]),
            tool,
            is_script: false,
            directory: text(line, "/cwd"),
            session: text(line, "/conversation"),
            time: text(line, "/time"),
            mode: text(line, "/event/mode"),
        }));
    }
}
