//! The session files of Gemini CLI: `~/.gemini/tmp/*/chats/*.jsonl`.

use hookbox_journal::session_files::{Format, Found, Lines, PastCall, text};
use serde_json::Value;

pub(super) static SESSIONS: Format = Format {
    name: "gemini",
    directories: |home, _| vec![home.join(".gemini/tmp")],
    has_line: |line| {
        let has = |key: &str| line.get(key).is_some();
        has("projectHash") || has("$set") || text(line, "/type").as_deref() == Some("gemini")
    },
    lines: || Box::<Gemini>::default(),
};

/// Lines of Gemini CLI. A line `$set` may repeat earlier messages; their calls have the same ids.
#[derive(Default)]
struct Gemini {
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
