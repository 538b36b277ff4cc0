//! Gemini CLI.

use serde_json::Value;

use super::{Found, Lines, PastCall, text};

/// Lines of Gemini CLI. A line `$set` may repeat earlier messages; their calls have the same ids.
#[derive(Default)]
pub(super) struct Gemini {
    session: Option<String>,
}

impl Lines for Gemini {
    fn line(&mut self, line: &Value, found: &mut Vec<Found>) {
        if let Some(session) = text(line, "/sessionId") {
            self.session = Some(session);
        }
        self.message(line, found);
        let set = line.pointer("/$set/messages").and_then(Value::as_array);
        set.into_iter().flatten().for_each(|message| self.message(message, found));
    }
}

impl Gemini {
    fn message(&self, message: &Value, found: &mut Vec<Found>) {
        let calls = message.get("toolCalls").and_then(Value::as_array);
        for call in calls.into_iter().flatten() {
            let tool = text(call, "/name").unwrap_or_default();
            let input = call.get("args").cloned();
            found.push(Found::Call(PastCall {
                id: text(call, "/id"),
                judged: input.map(|input| vec![(tool.clone(), input)]),
                tool,
                is_script: false,
                directory: None,
                session: self.session.clone(),
                time: text(call, "/timestamp").or_else(|| text(message, "/timestamp")),
                mode: None,
            }));
        }
    }
}
