//! Reads the fields of a payload. Most agents use the same names; of two names, the second is Copilot CLI's
//! or Cursor's.

use hookbox::internal::tool_result;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::event::{AgentEvent, EventKind, is_after_tool, is_of_subagent};
use crate::dialect::claude::Session;
use crate::dialect::fields::{Fields, PayloadError};
use crate::event::{
    AbsentTokens, AfterTurn, AgentStop, Context, Document, ErrorEvent, ErrorSource, EventData, InvokedBy,
    ToolCall, ToolKind, ToolResult, Usage,
};
use crate::json;
use crate::spec::Spec;

/// A payload that is being read.
pub(super) struct Reader {
    pub(super) spec: &'static Spec,
    pub(super) own: &'static AgentEvent,
    pub(super) fields: Fields,
    /// The first directory of the project.
    pub(super) root: Option<PathBuf>,
    /// True if the agent reports that a hook has already made it go on.
    pub(super) goes_on: Option<bool>,
    pub(super) notes: Vec<String>,
}

impl Reader {
    pub(super) fn new(spec: &'static Spec, own: &'static AgentEvent, fields: Fields) -> Self {
        Self { spec, own, fields, root: None, goes_on: None, notes: Vec::new() }
    }

    pub(super) fn context(&mut self, context: &mut Context) -> Result<Session, PayloadError> {
        // Each is taken out, so that the data of an event that is passed on does not repeat it.
        for id in ["conversation_id", "conversationId", "sessionId", "session_id"] {
            if let Some(id) = self.fields.text(id)? {
                context.conversation_id = id;
            }
        }
        let roots = self.unneeded(|fields| fields.texts("workspace_roots"));
        let roots =
            roots.or_else(|| self.unneeded(|fields| fields.texts("workspacePaths"))).unwrap_or_default();
        let root = roots.into_iter().find(|root| root.starts_with('/'));
        self.root = root.as_ref().map(PathBuf::from);
        let cwd = self.text(&["cwd", "working_dir"])?.filter(|cwd| !cwd.is_empty());
        if let Some(cwd) = cwd.or(root) {
            context.cwd = cwd;
        }
        if let Some(at) = self.unneeded(Fields::timestamp) {
            context.timestamp_ms = at;
        }
        let mode = self.unneeded_text(&["permission_mode", "composer_mode"]);
        context.mode = mode.clone().or(context.mode.take());
        // Agents name the subagent in which a tool runs.
        let subagent =
            self.unneeded_text(&["agent_id", "agentId", "parent_session_id"]).filter(|id| !id.is_empty());
        if subagent.is_some() || is_of_subagent(self.own.name) {
            context.invoked_by = InvokedBy::Subagent;
        }
        Ok(Session {
            transcript_path: self.unneeded_text(&["transcript_path", "transcriptPath"]),
            permission_mode: mode,
        })
    }

    pub(super) fn data(&mut self, context: &mut Context) -> Result<EventData, PayloadError> {
        Ok(match self.own.event {
            EventKind::SessionStart => EventData::SessionStart { source: self.text(&["source"])? },
            EventKind::SessionEnd => EventData::SessionEnd { reason: self.text(&["reason"])? },
            EventKind::UserMessageSend => EventData::UserMessageSend { message: self.message()? },
            EventKind::BeforeToolCall => EventData::BeforeToolCall(self.call()?),
            EventKind::AfterToolCall => EventData::AfterToolCall(self.result()?),
            EventKind::OnError => EventData::OnError(self.error()?),
            EventKind::AfterTurn => EventData::AfterTurn(AfterTurn {
                // The model had called tools if a batch of them is over.
                tools_used: (self.own.name == "PostToolBatch").then_some(true),
                ..AfterTurn::default()
            }),
            EventKind::AgentStop => EventData::AgentStop(AgentStop {
                messages: self.last_messages()?,
                usage: self.usage("input_tokens", "context_limit"),
                invoked_recipe: context.recipe_name.clone(),
                follow_ups: self.follow_ups(),
                ..AgentStop::default()
            }),
            EventKind::PreCompact => EventData::PreCompact {
                trigger: self.text(&["trigger"])?,
                usage: self.usage("context_tokens", "context_window_size"),
                messages: Document::absent(),
            },
            EventKind::PostCompact => EventData::PostCompact {
                trigger: self.text(&["trigger"])?,
                summary: self.text(&["compact_summary", "summary"])?,
                usage: None,
            },
            EventKind::PermissionRequest | EventKind::Notification | EventKind::Other(_) => {
                let fields = std::mem::replace(&mut self.fields, Fields::new(serde_json::Map::new()));
                EventData::Other { name: self.own.event.as_str().to_owned(), data: fields.rest() }
            }
        })
    }

    /// Reads the user's message: text, or parts of which some have text.
    fn message(&mut self) -> Result<Option<String>, PayloadError> {
        match self.any(&["prompt", "message", "user_prompt"]) {
            Some(Value::Array(parts)) => {
                let texts: Vec<&str> = parts.iter().filter_map(|part| part.get("text")?.as_str()).collect();
                Ok(Some(texts.join("\n")))
            }
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(message)) => Ok(Some(message)),
            Some(other) => Err(self.fields.error("prompt", "a string", &other)),
        }
    }

    fn call(&mut self) -> Result<ToolCall, PayloadError> {
        // Antigravity has both in an object.
        let (name, input) = match self.fields.any("toolCall") {
            Some(Value::Object(call)) => {
                let mut call = Fields::new(call);
                (call.text("name")?, call.any("args"))
            }
            _ => (self.text(&["tool_name", "toolName"])?, self.any(&["tool_input", "toolArgs", "toolInput"])),
        };
        let Some(name) = name else {
            return Err(self.fields.error("tool_name", "a string", &Value::Null));
        };
        let mut call =
            ToolCall::new(name, input.map_or_else(Document::absent, |input| Document::new(as_object(input))));
        call.id = self.unneeded_text(&["tool_use_id", "toolUseId", "tool_call_id"]);
        Ok(call)
    }

    fn result(&mut self) -> Result<ToolResult, PayloadError> {
        let call = self.call()?;
        let output = self.any(&["tool_response", "tool_result", "toolResult"]);
        // Cursor writes the output as JSON in a string.
        let output = output.or_else(|| self.any(&["tool_output"]).filter(|it| !it.is_null()).map(as_object));
        // Mistral Vibe has only a text of a call that failed.
        let output = output.or_else(|| self.any(&["tool_output_text"])).unwrap_or_default();
        let duration_ms = self.unneeded(|fields| fields.whole("duration_ms"));
        let duration_ms = duration_ms.or_else(|| self.unneeded(|fields| fields.whole("duration")));
        let exit_status =
            output.get("exitCode").and_then(Value::as_i64).and_then(|code| i32::try_from(code).ok());
        let own_status = self.unneeded(|fields| fields.whole::<i32>("exit_status"));
        let is_shell = hookbox_calls::kind_of(&call.name) == ToolKind::Shell;
        let told = || (self.spec.tools.exit_status)(&output).filter(|_| is_shell);
        let exit_status = exit_status.or(own_status).or_else(told);
        let success = (self.spec.tool_success)(&output, exit_status);
        // Auggie repeats the output of a call that failed, and Antigravity sends only an error.
        let error = self.unneeded_text(&["tool_error", "error"]);
        let has_failed = error.is_some_and(|it| !it.is_empty());
        let mut result = tool_result(call, output);
        result.success = if has_failed { Some(false) } else { success.or(result.success) };
        result.duration_ms = duration_ms;
        result.exit_status = exit_status;
        Ok(result)
    }

    fn error(&mut self) -> Result<ErrorEvent, PayloadError> {
        let is_of_tool = is_after_tool(self.own.name);
        let source = if is_of_tool { ErrorSource::Tool(self.call()?) } else { ErrorSource::Turn(None) };
        let interrupted = self.unneeded(|fields| fields.flag("is_interrupt")) == Some(true);
        let mut kind = self
            .unneeded_text(&["failure_type", "error_type"])
            .or(interrupted.then(|| "interrupt".to_owned()));
        let details = self.text(&["error_details", "error_message"])?;
        let message = match (self.fields.any("error"), details) {
            // The class of the error, and its message.
            (Some(Value::String(class)), Some(details)) => {
                kind = kind.or(Some(class));
                details
            }
            (Some(Value::String(message)), None) => message,
            (Some(Value::Object(error)), details) => {
                let mut error = Fields::new(error);
                kind = kind.or(error.text("name").ok().flatten()).or(error.text("code").ok().flatten());
                error.text("message").ok().flatten().or(details).unwrap_or_default()
            }
            (Some(other), _) => return Err(self.fields.error("error", "a string or an object", &other)),
            (None, details) => details.unwrap_or_default(),
        };
        let mut error = ErrorEvent::new(source, message);
        error.kind = kind;
        Ok(error)
    }

    fn last_messages(&mut self) -> Result<Document, PayloadError> {
        let prompt = self.text(&["prompt"])?;
        let answer =
            self.text(&["last_assistant_message", "lastAssistantMessage", "prompt_response", "response"])?;
        let message = |role: &str, text: String| json!({"role": role, "content": text});
        let prompt = prompt.filter(|_| answer.is_some()).map(|text| message("user", text));
        let messages: Vec<Value> =
            prompt.into_iter().chain(answer.map(|text| message("assistant", text))).collect();
        Ok(if messages.is_empty() { Document::absent() } else { Document::new(messages.into()) })
    }

    fn follow_ups(&mut self) -> u32 {
        let count = self.unneeded(|fields| fields.whole("loop_count"));
        self.goes_on = self.unneeded(|fields| fields.flag("stop_hook_active"));
        count.unwrap_or_else(|| u32::from(self.goes_on == Some(true)))
    }

    /// Returns the tokens in the window and its size, if the payload has both.
    fn usage(&mut self, used: &str, window: &str) -> Option<Usage> {
        let used = self.unneeded(|fields| fields.whole(used));
        let window = self.unneeded(|fields| fields.whole(window));
        used.zip(window).map(|(current_context_window, max_context_window)| Usage {
            current_context_window,
            max_context_window,
            absent: AbsentTokens { input_tokens: true, output_tokens: true, ..AbsentTokens::default() },
            ..Usage::default()
        })
    }

    /// Returns the text of the first of these fields that the payload has.
    fn text(&mut self, names: &[&str]) -> Result<Option<String>, PayloadError> {
        names.iter().find_map(|name| self.fields.text(name).transpose()).transpose()
    }

    fn any(&mut self, names: &[&str]) -> Option<Value> {
        names.iter().find_map(|name| self.fields.any(name))
    }

    fn unneeded_text(&mut self, names: &[&str]) -> Option<String> {
        names.iter().find_map(|name| self.unneeded(|fields| fields.text(name)))
    }

    /// Reads a field that the event does not need. A value of another type becomes a note.
    fn unneeded<T>(
        &mut self,
        read: impl FnOnce(&mut Fields) -> Result<Option<T>, PayloadError>,
    ) -> Option<T> {
        read(&mut self.fields).unwrap_or_else(|error| {
            self.notes.push(format!("{error}: not used"));
            None
        })
    }
}

/// Parses an object that an agent wrote as text. Any other value stays as it is.
fn as_object(value: Value) -> Value {
    match &value {
        Value::String(text) => Some(json::from_model(text)).filter(Value::is_object).unwrap_or(value),
        _ => value,
    }
}
