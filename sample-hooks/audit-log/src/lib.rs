//! Writes one JSON line for every tool call.

mod time;

use hookbox_sdk::prelude::*;

/// The hook.
pub struct AuditLog;

/// The longest line, in bytes, with its end: a component writes it at once, so that lines of several writers
/// do not mix.
const LINE: usize = 4096;

/// The user's settings.
#[derive(Debug, serde::Deserialize)]
#[serde(default)]
struct Settings {
    /// The name of the file.
    file: String,
}

impl Default for Settings {
    fn default() -> Self {
        Self { file: "audit.jsonl".to_owned() }
    }
}

impl Hook for AuditLog {
    fn manifest() -> Manifest {
        Manifest::new("audit-log", env!("CARGO_PKG_VERSION"), env!("CARGO_PKG_DESCRIPTION"))
            .on(Event::AfterToolCall)
            .observe()
            .capability(log_file::right())
    }

    fn after_tool_call(cx: &Context, result: &ToolResult) -> Result<Answer, Error> {
        let settings: Settings = settings()?;
        log_file::append(&settings.file, &line(cx, result))?;
        Ok(Answer::pass())
    }
}

/// Formats one call as a line of JSON. A value that the agent did not give is null; a command that is too
/// long is cut and marked.
fn line(cx: &Context, result: &ToolResult) -> String {
    let call = &result.call;
    let entry = |room: usize| {
        let cut = |text: &str| text.get(..text.floor_char_boundary(room)).unwrap_or_default().to_owned();
        let long = [Some(&cx.conversation_id), Some(&cx.cwd), Some(&call.name), call.command.as_ref()]
            .into_iter()
            .flatten()
            .any(|text| text.len() > room);
        let mut entry = json!({
            "time": time::rfc3339(cx.timestamp_ms),
            "conversation": cut(&cx.conversation_id),
            "cwd": cut(&cx.cwd),
            "tool": cut(&call.name),
            "kind": call.kind.as_str(),
            "command": call.command.as_deref().map(cut),
            "success": result.success,
            "duration_ms": result.duration_ms,
        });
        if let (true, Some(fields)) = (long, entry.as_object_mut()) {
            fields.insert("cut".to_owned(), true.into());
        }
        entry.to_string()
    };
    // In JSON a character may be six times as long, and four texts share the line.
    let rooms = [LINE, LINE / 2, LINE / 4, LINE / 8];
    rooms.into_iter().map(entry).find(|line| line.len() < LINE).unwrap_or_else(|| entry(LINE / 32))
}

hookbox_sdk::export_hook!(AuditLog);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_is_known() {
        let cx = Context {
            conversation_id: "c".into(),
            cwd: "/w".into(),
            timestamp_ms: 1_745_779_351_007,
            ..Context::default()
        };
        let call = ToolCall::new("bash", json!({"command": "ls\n\"x\""}));
        let result =
            ToolResult { success: Some(true), duration_ms: Some(12), ..ToolResult::new(call, json!({})) };
        let expected = concat!(
            r#"{"time":"2025-04-27T18:42:31.007Z","conversation":"c","cwd":"/w","tool":"bash","kind":"shell","#,
            r#""command":"ls\n\"x\"","success":true,"duration_ms":12}"#,
        );
        assert_eq!(line(&cx, &result), expected);
        let entry: Value = serde_json(&line(&Context::default(), &ToolResult::default()));
        assert_eq!(
            (&entry["command"], &entry["success"], &entry["kind"]),
            (&Value::Null, &Value::Null, &json!("other"))
        );
    }

    fn serde_json(line: &str) -> Value {
        line.trim_end().parse().unwrap()
    }

    #[test]
    fn a_line_is_never_longer_than_what_is_written_at_once() {
        for piece in ["a", "ä", "\u{1}", "\u{1F600}", "\""] {
            let text = piece.repeat(10_000);
            let cx = Context { conversation_id: text.clone(), cwd: text.clone(), ..Context::default() };
            for cx in [&cx, &Context::default()] {
                let call = ToolCall::new("bash", json!({"command": text}));
                let line = line(cx, &ToolResult::new(call, json!({})));
                assert!(line.len() < LINE, "{}", line.len());
                let entry = serde_json(&line);
                assert_eq!(entry["cut"], true);
                assert!(text.starts_with(entry["command"].as_str().unwrap()) && entry["command"] != "");
            }
        }
    }
}
