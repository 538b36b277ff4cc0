//! A payload such as an agent writes itself, to try what its hook command does with it.

use std::path::Path;

use serde_json::{Value, json};

use super::{Agent, AgentEvent};

impl Agent {
    /// The agent's name of its shell tool in the payloads of this event.
    pub fn shell_tool(self, event: &AgentEvent) -> &'static str {
        match self {
            Self::Claude | Self::Codex => "Bash",
            Self::Gemini | Self::Qwen => "run_shell_command",
            Self::Copilot if event.name == "preToolUse" => "bash",
            Self::OpenCode => "bash",
            Self::Copilot => "Bash",
            Self::Cursor => "Shell",
        }
    }

    /// What the agent writes to its hook command before its shell tool runs this line: every field that the real ones
    /// were seen to write, with made-up ids. `event` is one of its names of `before_tool_call`.
    pub fn shell_call(self, event: &AgentEvent, line: &str, directory: &Path, session: &str) -> Value {
        let cwd = directory.to_string_lossy();
        let transcript = format!("/nonexistent/{session}.jsonl");
        let tool = self.shell_tool(event);
        let input = json!({"command": line, "description": "run a command"});
        let when = "2026-01-01T00:00:00.000Z";
        let mut payload = json!({
            "session_id": session,
            "transcript_path": transcript,
            "cwd": cwd,
            "hook_event_name": event.name,
            "tool_name": tool,
            "tool_input": input,
        });
        let more = match self {
            Self::Claude => json!({
                "prompt_id": session, "permission_mode": "default", "tool_use_id": "toolu_000",
            }),
            Self::Codex => json!({
                "turn_id": session, "model": "none", "permission_mode": "default", "tool_input": {"command": line},
                "tool_use_id": "call_0",
            }),
            Self::Gemini => json!({
                "timestamp": when,
                "tool_input": {"command": line, "description": "run a command", "is_background": false},
            }),
            Self::Qwen => json!({
                "timestamp": when, "permission_mode": "default", "prompt_id": session, "tool_use_id": "toolu_000",
                "tool_call_id": "call_0",
                "tool_input": {"command": line, "description": "run a command", "is_background": false},
            }),
            Self::Copilot if event.name == "preToolUse" => {
                return json!({
                    "sessionId": session, "timestamp": 1_767_225_600_000_u64, "cwd": cwd, "toolName": tool,
                    "toolArgs": input,
                });
            }
            Self::Copilot => {
                return json!({
                    "hook_event_name": event.name, "session_id": session, "timestamp": when, "cwd": cwd,
                    "tool_name": tool, "tool_input": input,
                });
            }
            Self::Cursor => json!({
                "conversation_id": session, "generation_id": session, "model": "none",
                "tool_input": {"command": line, "cwd": cwd}, "tool_use_id": "call_0", "cursor_version": "0",
                "workspace_roots": [cwd], "user_email": "nobody@localhost",
            }),
            Self::OpenCode => {
                return json!({
                    "hook_event_name": event.name, "session_id": session, "cwd": cwd, "tool_name": tool,
                    "tool_input": {"command": line}, "tool_use_id": "call_0",
                });
            }
        };
        if let (Value::Object(payload), Value::Object(more)) = (&mut payload, more) {
            payload.extend(more);
        }
        payload
    }
}
