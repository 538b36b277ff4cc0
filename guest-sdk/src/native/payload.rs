//! Reads the agent's payload: kodelet's fields, and hookbox's further fields if they are present.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::event::EventData;
use crate::{
    AfterTurn, AgentStop, BudgetExceeded, Context, Document, Error, ErrorEvent, ErrorSource, Event,
    InvokedBy, PostCompact, PreCompact, SessionEnd, SessionStart, ToolCall, ToolResult, TurnEnd, UserMessage,
};

/// The context and the data of this event.
pub(crate) fn read(event: &Event, payload: &Map<String, Value>) -> Result<(Context, EventData), Error> {
    let fields = Fields(payload);
    let cx = context(&fields)?;
    let data = match event {
        Event::SessionStart => EventData::SessionStart(SessionStart { source: fields.get("source")? }),
        Event::SessionEnd => EventData::SessionEnd(SessionEnd { reason: fields.get("reason")? }),
        Event::UserMessageSend => {
            EventData::UserMessageSend(UserMessage { message: fields.get("message")?.unwrap_or_default() })
        }
        Event::BeforeToolCall => EventData::BeforeToolCall(tool_call(&fields, &cx)?),
        Event::AfterToolCall => EventData::AfterToolCall(tool_result(&fields, &cx)?),
        Event::OnError => EventData::OnError(ErrorEvent {
            source: if payload.contains_key("tool_name") {
                ErrorSource::Tool(tool_call(&fields, &cx)?)
            } else if let Some(name) = fields.get("hook")? {
                ErrorSource::Hook(name)
            } else {
                ErrorSource::Turn(fields.get("turn_number")?)
            },
            message: fields.get("error")?.unwrap_or_default(),
            kind: fields.get("kind")?,
            attempt: fields.get("attempt")?,
        }),
        Event::AfterTurn => EventData::AfterTurn(AfterTurn {
            turn_number: fields.get("turn_number")?,
            tools_used: fields.get("tools_used")?,
            usage: fields.get("usage")?,
            auto_compact_enabled: fields.get("auto_compact_enabled")?,
            auto_compact_threshold: fields.get("auto_compact_threshold")?,
            messages: fields.messages(),
        }),
        Event::TurnEnd => EventData::TurnEnd(TurnEnd {
            response: fields.get("response")?,
            turn_number: fields.get("turn_number")?,
        }),
        Event::AgentStop => EventData::AgentStop(AgentStop {
            messages: fields.messages(),
            usage: fields.get("usage")?,
            invoked_recipe: fields.get("invoked_recipe")?.filter(|name: &String| !name.is_empty()),
            auto_compact_enabled: fields.get("auto_compact_enabled")?,
            auto_compact_threshold: fields.get("auto_compact_threshold")?,
            follow_ups: fields.get("follow_ups")?.unwrap_or_default(),
        }),
        Event::PreCompact => EventData::PreCompact(PreCompact {
            trigger: fields.get("trigger")?,
            usage: fields.get("usage")?,
            messages: fields.messages(),
        }),
        Event::PostCompact => EventData::PostCompact(PostCompact {
            trigger: fields.get("trigger")?,
            summary: fields.get("summary")?,
            usage: fields.get("usage")?,
        }),
        Event::OnBudgetExceeded => EventData::OnBudgetExceeded(BudgetExceeded {
            usage: fields.get("usage")?,
            threshold: fields.get("threshold")?,
        }),
        Event::Other(name) => {
            EventData::Other { name: name.clone(), data: Document::from(Value::Object(payload.clone())) }
        }
    };
    Ok((cx, data))
}

fn context(fields: &Fields<'_>) -> Result<Context, Error> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    // kodelet gives no time; other agents give milliseconds.
    let given = fields.get::<Value>("timestamp")?.and_then(|timestamp| timestamp.as_u64());
    Ok(Context {
        conversation_id: fields.get("conv_id")?.unwrap_or_default(),
        cwd: match fields.get("cwd")? {
            Some(cwd) => cwd,
            None => std::env::current_dir()?.to_string_lossy().into_owned(),
        },
        invoked_by: match fields.get::<String>("invoked_by")?.as_deref() {
            Some("subagent") => InvokedBy::Subagent,
            _ => InvokedBy::Main,
        },
        recipe_name: fields.get("recipe_name")?.filter(|name: &String| !name.is_empty()),
        agent: fields.get("agent")?,
        repository: fields.get("repository")?.or_else(|| variable("HOOKBOX_REPOSITORY")),
        branch: fields.get("branch")?.or_else(|| variable("HOOKBOX_BRANCH")),
        mode: fields.get("mode")?,
        timestamp_ms: given.unwrap_or(u64::try_from(now.as_millis()).unwrap_or(u64::MAX)),
        budget: None,
    })
}

/// Returns a fact that hookbox passes in a variable, because kodelet's payload has no field for it.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn tool_call(fields: &Fields<'_>, cx: &Context) -> Result<ToolCall, Error> {
    let name = fields.get("tool_name")?.unwrap_or_default();
    let input = fields.0.get("tool_input").cloned().unwrap_or_default();
    Ok(ToolCall { id: fields.get("tool_user_id")?, ..ToolCall::derived(name, input, &cx.cwd) })
}

fn tool_result(fields: &Fields<'_>, cx: &Context) -> Result<ToolResult, Error> {
    let output = fields.0.get("tool_output").cloned().unwrap_or_default();
    Ok(ToolResult {
        call: tool_call(fields, cx)?,
        success: output.get("success").and_then(Value::as_bool),
        error: output.get("error").and_then(Value::as_str).map(str::to_owned),
        output: output.into(),
        duration_ms: fields.get("duration_ms")?,
        exit_status: fields.get("exit_status")?,
        cost_tokens: fields.get("cost_tokens")?,
    })
}

/// The fields of a payload.
struct Fields<'a>(&'a Map<String, Value>);

impl<'a> Fields<'a> {
    /// A field; null counts as absent.
    fn get<T: Deserialize<'a>>(&self, name: &str) -> Result<Option<T>, Error> {
        let value = self.0.get(name).filter(|value| !value.is_null());
        value.map(T::deserialize).transpose().map_err(|error| Error::from(error).within(name))
    }

    /// Returns the conversation; empty if it is not given.
    fn messages(&self) -> Document {
        self.0.get("messages").cloned().unwrap_or_else(|| Value::Array(Vec::new())).into()
    }
}
