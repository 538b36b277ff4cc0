//! The session files of Pi: `~/.pi/agent/sessions/**/*.jsonl`.

use hookbox_journal::session_files::{Format, Found, Lines, PastCall, text};
use serde_json::{Value, json};

pub(super) static SESSIONS: Format = Format {
    name: "pi",
    directories: |home, variable| {
        let moved = variable("PI_CODING_AGENT_SESSION_DIR");
        let agent = || variable("PI_CODING_AGENT_DIR").unwrap_or_else(|| home.join(".pi/agent"));
        vec![moved.unwrap_or_else(|| agent().join("sessions"))]
    },
    has_line: |line| {
        let is_start = text(line, "/type").as_deref() == Some("session") && text(line, "/cwd").is_some();
        is_start || line.get("parentId").is_some() && line.pointer("/message/role").is_some()
    },
    lines: || Box::<Pi>::default(),
};

/// Lines of Pi.
#[derive(Default)]
struct Pi {
    session: Option<String>,
    directory: Option<String>,
}

impl Lines for Pi {
    fn line(&mut self, line: &Value, found: &mut Vec<Found>) {
        if text(line, "/type").as_deref() == Some("session") {
            (self.session, self.directory) = (text(line, "/id"), text(line, "/cwd"));
        }
        let call = |id: Option<String>, tool: String, input: Option<Value>| {
            Found::Call(PastCall {
                id,
                judged: input.map(|input| vec![(tool.clone(), input)]),
                tool,
                is_script: false,
                directory: self.directory.clone(),
                session: self.session.clone(),
                time: text(line, "/timestamp"),
                mode: None,
            })
        };
        // A command that the user typed.
        if text(line, "/message/role").as_deref() == Some("bashExecution") {
            let input = text(line, "/message/command").map(|command| json!({"command": command}));
            found.push(call(text(line, "/id"), "bash".to_owned(), input));
        }
        let parts = line.pointer("/message/content").and_then(Value::as_array).into_iter().flatten();
        for part in parts.filter(|part| text(part, "/type").as_deref() == Some("toolCall")) {
            let tool = text(part, "/name").unwrap_or_default();
            found.push(call(text(part, "/id"), tool, part.get("arguments").cloned()));
        }
    }
}
