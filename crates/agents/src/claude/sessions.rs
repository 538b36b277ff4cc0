//! The session files of Claude Code: `~/.claude/projects/**/*.jsonl`.

use hookbox_journal::session_files::{Format, Found, Lines, PastCall, PastHook, text};
use serde_json::Value;

pub(crate) static SESSIONS: Format = Format {
    name: "claude",
    directories: |home, variable| {
        vec![variable("CLAUDE_CONFIG_DIR").unwrap_or_else(|| home.join(".claude")).join("projects")]
    },
    has_line: |line| {
        let has = |key: &str| line.get(key).is_some();
        has("sessionId") && text(line, "/type").is_some_and(|it| !it.is_empty() && it != QODERS)
            || has("uuid") && has("message")
    },
    lines: || Box::<Claude>::default(),
};

/// The type of the first line of a file of Qoder, whose other lines are those of Claude Code.
const QODERS: &str = "workspace-directories";

/// The session files of Qoder: `~/.qoder/projects/**/*.jsonl`.
pub(crate) static QODER: Format = Format {
    name: "qoder",
    directories: |home, variable| {
        vec![variable("QODER_CONFIG_DIR").unwrap_or_else(|| home.join(".qoder")).join("projects")]
    },
    has_line: |line| text(line, "/type").as_deref() == Some(QODERS),
    lines: || Box::<Claude>::default(),
};

/// Lines of Claude Code. A line has one block of a message. Lines of the type `progress` repeat calls of subagents, and
/// are skipped.
#[derive(Default)]
struct Claude {
    mode: Option<String>,
}

impl Lines for Claude {
    fn line(&mut self, line: &Value, found: &mut Vec<Found>) {
        match line.get("type").and_then(Value::as_str) {
            Some("assistant") => self.message(line, found),
            Some("permission-mode") => self.mode = text(line, "/permissionMode"),
            Some("attachment") => found.extend(hook(line).map(Found::Hook)),
            _ => {}
        }
    }
}

impl Claude {
    fn message(&self, line: &Value, found: &mut Vec<Found>) {
        let blocks = line.pointer("/message/content").and_then(Value::as_array);
        for block in blocks.into_iter().flatten() {
            if block.get("type").and_then(Value::as_str) != Some("tool_use") {
                continue;
            }
            let tool = text(block, "/name").unwrap_or_default();
            let input = block.get("input").cloned();
            found.push(Found::Call(PastCall {
                id: text(block, "/id"),
                judged: input.map(|input| vec![(tool.clone(), input)]),
                tool,
                is_script: false,
                directory: text(line, "/cwd"),
                session: text(line, "/sessionId"),
                time: text(line, "/timestamp"),
                mode: self.mode.clone(),
            }));
        }
    }
}

/// Returns the run of a hook of which an attachment tells.
fn hook(line: &Value) -> Option<PastHook> {
    let attachment = line.get("attachment")?;
    let kind = attachment.get("type")?.as_str()?;
    if !kind.starts_with("hook_") {
        return None;
    }
    Some(PastHook {
        id: text(line, "/uuid"),
        time: text(line, "/timestamp"),
        name: text(attachment, "/hookName").or_else(|| text(attachment, "/hookEvent"))?,
        command: text(attachment, "/command").unwrap_or_default(),
        failed: kind != "hook_success",
        duration_ms: attachment.get("durationMs").and_then(Value::as_u64),
    })
}
