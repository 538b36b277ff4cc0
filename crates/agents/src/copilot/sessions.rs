//! The session files of Copilot CLI: `~/.copilot/session-state/**/*.jsonl`.

use hookbox_journal::session_files::{Format, Found, Lines, PastCall, text};
use serde_json::Value;

pub(super) static SESSIONS: Format = Format {
    name: "copilot",
    directories: |home, variable| {
        let copilot = variable("COPILOT_HOME").unwrap_or_else(|| home.join(".copilot"));
        vec![copilot.join("session-state"), copilot.join("history-session-state")]
    },
    has_line: |line| {
        let is_start = text(line, "/type").as_deref() == Some("session.start");
        line.get("data").is_some() && line.get("parentId").is_some() || is_start
    },
    lines: || Box::<Copilot>::default(),
};

/// Lines of Copilot CLI.
#[derive(Default)]
struct Copilot {
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
