//! Copilot CLI.

use serde_json::Value;

use super::{Found, Lines, PastCall, text};

/// Lines of Copilot CLI.
#[derive(Default)]
pub(super) struct Copilot {
    session: Option<String>,
    directory: Option<String>,
}

impl Lines for Copilot {
    fn line(&mut self, line: &Value, found: &mut Vec<Found>) {
        if let Some(directory) = text(line, "/data/context/cwd") {
            self.directory = Some(directory);
        }
        match line.get("type").and_then(Value::as_str) {
            Some("session.start") => self.session = text(line, "/data/sessionId"),
            Some("tool.execution_start") => {
                let tool = text(line, "/data/toolName").unwrap_or_default();
                let input = line.pointer("/data/arguments").cloned();
                found.push(Found::Call(PastCall {
                    id: text(line, "/data/toolCallId"),
                    judged: input.map(|input| vec![(tool.clone(), input)]),
                    tool,
                    is_script: false,
                    directory: self.directory.clone(),
                    session: self.session.clone(),
                    time: text(line, "/timestamp"),
                    mode: None,
                }));
            }
            _ => {}
        }
    }
}
