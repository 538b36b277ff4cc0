//! The session files of Codex: `~/.codex/sessions/**/rollout-*.jsonl`, in three generations:
//! items without a wrapper, items in `payload`, and scripts that make the calls.

use hookbox_journal::session_files::{Format, Found, Lines, PastCall, text};
use serde_json::{Value, json};

use super::script;

/// The types of items that an old file has without a wrapper.
const BARE: [&str; 4] = ["function_call", "function_call_output", "local_shell_call", "custom_tool_call"];

/// Returns true for a line of an old file.
fn is_bare(line: &Value) -> bool {
    let kind = line.get("type").and_then(Value::as_str);
    kind.is_some_and(|kind| BARE.contains(&kind))
        || line.get("record_type").is_some()
        || line.get("id").is_some() && line.get("timestamp").is_some() && line.get("instructions").is_some()
}

pub(super) static SESSIONS: Format = Format {
    name: "codex",
    directories: |home, variable| {
        let codex = variable("CODEX_HOME").unwrap_or_else(|| home.join(".codex"));
        vec![codex.join("sessions"), codex.join("archived_sessions")]
    },
    has_line: |line| line.get("payload").is_some() || is_bare(line),
    lines: || Box::<Codex>::default(),
};

/// Lines of Codex.
#[derive(Default)]
struct Codex {
    session: Option<String>,
    directory: Option<String>,
    mode: Option<String>,
}

impl Lines for Codex {
    fn line(&mut self, line: &Value, found: &mut Vec<Found>) {
        let item = line.get("payload").unwrap_or(line);
        match line.get("type").and_then(Value::as_str) {
            Some("session_meta") => {
                self.session = text(item, "/id");
                self.directory = text(item, "/cwd");
            }
            Some("turn_context") => {
                self.directory = text(item, "/cwd").or_else(|| self.directory.take());
                self.mode = text(item, "/approval_policy");
            }
            None if self.session.is_none() => self.session = text(item, "/id"),
            Some("response_item") => self.item(item, line, found),
            Some(kind) if BARE.contains(&kind) => self.item(item, line, found),
            _ => {}
        }
    }
}

impl Codex {
    fn item(&self, item: &Value, line: &Value, found: &mut Vec<Found>) {
        let tool = text(item, "/name").unwrap_or_default();
        let kind = item.get("type").and_then(Value::as_str);
        let (tool, judged) = match kind {
            Some("function_call") => {
                let input = text(item, "/arguments").and_then(|it| serde_json::from_str(&it).ok());
                (tool.clone(), input.map(|input| vec![(tool, input)]))
            }
            Some("custom_tool_call") if tool == "exec" => {
                let calls = text(item, "/input").and_then(|it| script::calls(&it));
                (tool, calls)
            }
            Some("custom_tool_call") => {
                (tool.clone(), text(item, "/input").map(|it| vec![(tool, it.into())]))
            }
            Some("local_shell_call") => {
                let command = item.pointer("/action/command").cloned();
                let workdir = item.pointer("/action/working_directory").cloned();
                let input = command.map(|command| json!({"command": command, "workdir": workdir}));
                ("shell".to_owned(), input.map(|input| vec![("shell".to_owned(), input)]))
            }
            _ => return,
        };
        let is_script = kind == Some("custom_tool_call") && tool == "exec";
        let workdir = judged.iter().flatten().find_map(|(_, input)| text(input, "/workdir"));
        found.push(Found::Call(PastCall {
            id: text(item, "/call_id").or_else(|| text(item, "/id")),
            tool,
            judged,
            is_script,
            directory: self.directory_of(workdir),
            session: self.session.clone(),
            time: text(line, "/timestamp"),
            mode: self.mode.clone(),
        }));
    }

    /// Returns the directory of a call that names one.
    fn directory_of(&self, workdir: Option<String>) -> Option<String> {
        match (workdir, &self.directory) {
            (Some(it), Some(base)) if !it.starts_with('/') => Some(format!("{base}/{it}")),
            (Some(it), _) => Some(it),
            (None, base) => base.clone(),
        }
    }
}
