//! The hooks of Cursor, by its documentation, with its own names of events, tools and fields. Exit code 2 is
//! `deny`.

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::SPEC;
use crate::agent::tools;
use crate::agent_hooks::payload::{self, Payload};
use crate::dialect::borrowed;
use crate::dialect::claude::{self, Session};
use crate::dialect::hook_output::{self, HookOutput, excerpt};
use crate::dialect::reply::{Reply, malformed};
use crate::event::{ErrorSource, Event, EventData, EventName, ToolCall};
use crate::hook::HookError;
use crate::json;
use crate::outcome::{Action, Outcome};
use crate::spec::Ended;

/// The keys that have an effect at some event.
const KEYS: &str = "permission user_message userMessage agent_message agentMessage updated_input updated_mcp_tool_output \
    additional_context followup_message continue decision reason";

pub(super) fn encode(name: &str, event: &Event, session: &Session) -> Option<Value> {
    let context = &event.context;
    let mut it = Payload::new();
    it.put("conversation_id", context.conversation_id.as_str());
    it.put("generation_id", "");
    it.put("model", "");
    it.put("session_id", context.conversation_id.as_str());
    match &event.data {
        EventData::SessionStart { .. } => {
            it.put("is_background_agent", false);
            it.put("composer_mode", context.mode.as_deref().unwrap_or("agent"));
        }
        EventData::SessionEnd { reason } => {
            it.put("reason", payload::cause(reason.as_deref(), "other"));
            it.put("is_background_agent", false);
        }
        EventData::UserMessageSend { message } => {
            it.known("prompt", message.as_deref());
            it.put("attachments", json!([]));
        }
        EventData::BeforeToolCall(call) => before(&mut it, name, event, call),
        EventData::AfterToolCall(result) => {
            let output = result.output.value();
            let millis = result.duration_ms.unwrap_or_default();
            let (_, input) = tools::call(&SPEC, name, event, &result.call);
            match name {
                "afterShellExecution" => {
                    it.put("command", input.get("command").cloned().unwrap_or_default());
                    it.put("output", payload::text_of(output));
                }
                "afterFileEdit" => {
                    it.put("file_path", input.get("file_path").cloned().unwrap_or_default());
                    let old = input.get("old_string").cloned().unwrap_or_else(|| json!(""));
                    let new = input.get("new_string").or_else(|| input.get("content")).cloned();
                    it.put(
                        "edits",
                        json!([{"old_string": old, "new_string": new.unwrap_or_else(|| json!(""))}]),
                    );
                }
                "afterMCPExecution" => {
                    before(&mut it, name, event, &result.call);
                    it.put("result_json", as_text(output));
                }
                _ => {
                    before(&mut it, name, event, &result.call);
                    it.put("tool_output", as_text(output));
                }
            }
            it.put("duration", millis);
        }
        EventData::OnError(error) => {
            if let ErrorSource::Tool(call) = &error.source {
                before(&mut it, name, event, call);
            }
            let kind = error.kind.as_deref();
            it.put("error_message", error.message.as_str());
            it.put("failure_type", if kind == Some("interrupt") { "error" } else { kind.unwrap_or("error") });
            it.put("is_interrupt", kind == Some("interrupt"));
        }
        EventData::AgentStop(stop) => {
            it.put("status", "completed");
            it.put("loop_count", stop.follow_ups);
        }
        EventData::PreCompact { trigger, usage, .. } => {
            it.known("trigger", trigger.as_deref());
            if let Some(usage) = usage {
                it.put("context_tokens", usage.current_context_window);
                it.put("context_window_size", usage.max_context_window);
                it.known("context_usage_percent", usage.share().and_then(percent));
            }
        }
        EventData::Other { data, .. } => it.rest(data),
        _ => {}
    }
    it.put("hook_event_name", name);
    it.put("cursor_version", "");
    it.put("workspace_roots", json!([context.cwd]));
    it.put("user_email", Value::Null);
    it.put("transcript_path", session.transcript_path.clone());
    it.done()
}

/// Puts the call in the form of the event of this name.
fn before(it: &mut Payload, name: &str, event: &Event, call: &ToolCall) {
    let cwd = event.context.cwd.as_str();
    if name == "beforeShellExecution" {
        let (_, input) = tools::call(&SPEC, name, event, call);
        it.put("command", input.get("command").cloned().unwrap_or(input));
        it.put("cwd", cwd);
        return;
    }
    it.call(&SPEC, name, event, call, payload::TOOL);
    // The input of an MCP tool is JSON in a string.
    let is_mcp = it.0.get("tool_name").and_then(Value::as_str).is_some_and(|name| name.starts_with("MCP:"));
    if let Some(input) = it.0.get_mut("tool_input").filter(|input| is_mcp && !input.is_string()) {
        *input = Value::String(input.to_string());
    }
    it.known("tool_use_id", call.id.as_deref());
    it.put("cwd", cwd);
}

/// Returns a share in percent.
fn percent(share: f64) -> Option<u64> {
    format!("{:.0}", share * 100.0).parse().ok()
}

/// Returns text as it is, and other values as JSON.
fn as_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Returns true if the hook can block the event, so that Cursor reads an answer.
fn can_stop(event: &EventName) -> bool {
    matches!(event, EventName::BeforeToolCall | EventName::UserMessageSend)
}

pub(super) fn outcome(event: &Event, ended: Ended<'_>) -> Result<Outcome, HookError> {
    let event = &event.name();
    claude::by_exit_code(event, ended.exit_code, ended.stderr, || {
        printed(event, ended.stdout, ended.must_answer)
    })
}

fn printed(event: &EventName, stdout: &[u8], must_answer: bool) -> Result<Outcome, HookError> {
    let shown = String::from_utf8_lossy(stdout);
    let shown = hook_output::trim(&shown);
    if shown.is_empty() {
        return match must_answer && can_stop(event) {
            true => {
                Err(malformed("printed nothing: Cursor takes that for a failure, and \"failClosed\" is set"))
            }
            false => Ok(Outcome::pass()),
        };
    }
    if !shown.starts_with('{') && !can_stop(event) {
        let mut outcome = Outcome::pass();
        outcome
            .noticed
            .push(format!("printed text that is not an answer at {event}: ignored: {}", excerpt(stdout)));
        return Ok(outcome);
    }
    match hook_output::decision(shown, |it| object(event, it)) {
        Some(found) => Ok(found),
        None => object(event, stdout),
    }
}

/// Reads output that is one JSON object.
fn object(event: &EventName, stdout: &[u8]) -> Result<Outcome, HookError> {
    let is_other = |name: &str| can_stop(event) && !KEYS.split_ascii_whitespace().any(|it| it == name);
    let blocks = |name: &str, raw: &RawValue| {
        is_block(event, name, raw) || (is_other(name) && borrowed::blocks(name, raw))
    };
    let Some(mut printed) = HookOutput::object(stdout, blocks)? else {
        return Ok(Outcome::pass());
    };
    let borrowed = borrowed::take(&mut printed.object, is_other);
    let blocks = printed.blocks;
    if let Some(wrong) = printed.malformed.filter(|_| !blocks) {
        return Err(wrong);
    }
    let mut outcome = answer(Reply::new(event, printed.object, blocks), blocks)?;
    outcome.noticed.splice(0..0, printed.faults);
    if let Some(borrowed) = borrowed {
        borrowed.apply(event, &mut outcome);
    }
    Ok(outcome)
}

/// Returns true if this field of the answer alone blocks.
fn is_block(event: &EventName, name: &str, raw: &RawValue) -> bool {
    if !can_stop(event) {
        return false;
    }
    match name {
        "permission" | "decision" => borrowed::is_no(&json::value(raw)),
        "continue" => raw.get() == "false",
        _ => false,
    }
}

fn answer(mut reply: Reply, blocks: bool) -> Result<Outcome, HookError> {
    let event = reply.event.clone();
    let mut outcome = Outcome::pass();
    let permission = reply.read(|fields| {
        fields.read("permission", "\"allow\", \"deny\" or \"ask\"", |value| match value.as_str() {
            Some(word @ ("allow" | "deny" | "ask")) => Ok(word.to_owned()),
            _ => Err(value),
        })
    })?;
    reply.any("decision");
    let older = reply.text("reason")?;
    let goes_on = reply.read(|fields| fields.flag("continue"))?;
    // Cursor reads the names of its first versions as well.
    let (for_user, user) = (reply.text("user_message")?, reply.text("userMessage")?);
    let (for_agent, agent) = (reply.text("agent_message")?, reply.text("agentMessage")?);
    let user = for_user.or(user).filter(|text| !text.trim().is_empty());
    let agent = for_agent.or(agent).filter(|text| !text.trim().is_empty());
    let input = reply.read(|fields| fields.object("updated_input"))?.map(Value::Object);
    let output = reply.any("updated_mcp_tool_output");
    let context = reply.text("additional_context")?;
    let follow_up = reply.text("followup_message")?;
    outcome.context.extend(context.filter(|text| !text.trim().is_empty()));
    if blocks {
        let reason = agent.clone().or_else(|| user.clone()).or(older).unwrap_or_default();
        outcome.warnings.extend(user.filter(|user| *user != reason));
        outcome.action = Action::Block(reason);
        return Ok(reply.finish(outcome, KEYS));
    }
    match &event {
        EventName::BeforeToolCall if permission.as_deref() == Some("ask") => {
            outcome.action = Action::Ask(user.or(agent).unwrap_or_default());
            if input.is_some() {
                reply.warn("\"updated_input\" is not applied beside a question");
            }
        }
        EventName::BeforeToolCall => {
            outcome.action = match (input, permission.as_deref()) {
                (Some(input), _) => Action::Modify(input),
                (None, Some("allow")) => Action::Allow(user.or(agent).unwrap_or_default()),
                (None, _) => Action::Pass,
            };
        }
        EventName::AfterToolCall => outcome.action = output.map_or(Action::Pass, Action::Modify),
        EventName::AgentStop => {
            outcome.follow_ups.extend(follow_up.filter(|text| !text.trim().is_empty()));
        }
        _ => {
            outcome.warnings.extend(user);
            if goes_on == Some(false) {
                reply.warn(format!("\"continue\": false has no effect at {event}: not applied"));
            }
        }
    }
    Ok(reply.finish(outcome, KEYS))
}
