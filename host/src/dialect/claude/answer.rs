//! The answer of a hook of Claude Code as an outcome.

use serde_json::value::RawValue;

use super::specific::{self, CLAUDE, Specific, Style, Text};
use super::tool;
use crate::dialect::borrowed::{self, is_no};
use crate::dialect::hook_output::{self, HookOutput, excerpt};
use crate::dialect::reply::{Reply, malformed};
use crate::event::{Event, EventData, EventName};
use crate::hook::{Cause, HookError};
use crate::outcome::{Action, Outcome};
use hookbox_system::{json, text};

/// The text for the agent if a hook makes it go on without a reason.
const GO_ON: &str = "A hook asks you to go on, and does not say why.";

/// The keys at the top that have an effect at some event.
const KEYS: &str = "decision reason stopReason";

/// The meaning of a block at an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Block {
    /// The event must not happen; after a tool call the agent must change course.
    Stops,
    /// The agent must not stop: the reason is its next message.
    GoesOn,
    /// The model gets the reason.
    Tells,
    /// Only the user gets the reason.
    Warns,
}

fn block_at(event: &EventName) -> Block {
    match event {
        EventName::BeforeToolCall
        | EventName::AfterToolCall
        | EventName::UserMessageSend
        | EventName::PreCompact
        | EventName::OnBudgetExceeded => Block::Stops,
        EventName::AgentStop => Block::GoesOn,
        EventName::OnError => Block::Tells,
        EventName::Other(name) if name == "subagent_stop" => Block::GoesOn,
        EventName::Other(_) if event.allows().block => Block::Stops,
        _ => Block::Warns,
    }
}

/// Reads the answer to this event, like [`outcome`], and translates a changed input or output into the fields of the
/// agent's tool.
///
/// # Errors
///
/// Those of [`outcome`].
pub fn outcome_of(event: &Event, exit_code: i32, stdout: &[u8], stderr: &str) -> Result<Outcome, HookError> {
    let mut outcome = outcome(&event.name(), exit_code, stdout, stderr)?;
    match (&event.data, &mut outcome.action) {
        (EventData::BeforeToolCall(call), Action::Modify(value)) => {
            *value = tool::restore(call, &event.context.cwd, value.take());
        }
        (EventData::AfterToolCall(result), Action::Modify(value)) => {
            *value = tool::restore_response(result.output.value(), value.take());
        }
        _ => {}
    }
    Ok(outcome)
}

/// Reads the exit code and the output of a hook of Claude Code.
///
/// * One JSON object: `decision`, `reason`, `continue`, `stopReason`, `systemMessage`, `suppressOutput`,
///   `hookSpecificOutput`. A block counts also beside a wrong type, an unreadable field, or another field of the same
///   name.
/// * Other text: context at `user_message_send` and `session_start`, elsewhere ignored with a note. A block or a
///   question in a line of it counts, with a warning; an approval, a change or context there does not. Text that hides
///   another answer is a failure: a banner of a shell must not disarm a guard.
/// * No output: no action.
///
/// Exit code 2 is a block, with standard error as its reason, or the answer's if standard error is blank. At
/// `agent_stop` the agent goes on with it; at `on_error` the model gets it; if there is nothing to block the user is
/// warned. With any other code but 0 a block, a question and the context of an object count, with a warning.
///
/// A changed input is in Claude Code's fields; [`outcome_of`] translates it into the agent's.
///
/// # Errors
///
/// `exit` for another exit code without such an answer. If the answer does not block, `malformed_output` for an answer
/// that cannot be read, a wrong type, an unknown decision, or a `hookSpecificOutput` of another event.
pub fn outcome(event: &EventName, exit_code: i32, stdout: &[u8], stderr: &str) -> Result<Outcome, HookError> {
    by_answer(event, exit_code, stdout, stderr, || read(event, stdout, &CLAUDE))
}

/// Applies the rule of an agent that reads an answer at every exit code, as Claude Code 2.1 does.
///
/// # Errors
///
/// Those of [`by_exit_code`].
pub fn by_answer(
    event: &EventName,
    exit_code: i32,
    stdout: &[u8],
    stderr: &str,
    answer: impl FnOnce() -> Result<Outcome, HookError>,
) -> Result<Outcome, HookError> {
    let by_code = || by_exit_code(event, exit_code, stderr, || Ok(Outcome::pass()));
    match exit_code {
        0 => answer(),
        2 if !stderr.trim().is_empty() => by_code(),
        // A question would be less than the block that the code is.
        2 => match answer() {
            Ok(it) if hook_output::is_decided(&it) && !matches!(it.action, Action::Ask(_)) => Ok(it),
            _ => by_code(),
        },
        code => {
            let is_object = hook_output::trim(&String::from_utf8_lossy(stdout)).starts_with('{');
            let tells = |it: &Outcome| is_object && it.action == Action::Pass && !it.context.is_empty();
            match answer() {
                Ok(it) if hook_output::is_decided(&it) || tells(&it) => {
                    Ok(it.warn(failed(code, stderr).message))
                }
                _ => by_code(),
            }
        }
    }
}

/// Applies the rule that the other agents share: an answer with exit code 0, a block with the reason on standard
/// error with 2, and else a failure.
///
/// # Errors
///
/// Those of the answer; `exit` for any other exit code.
pub fn by_exit_code(
    event: &EventName,
    exit_code: i32,
    stderr: &str,
    answer: impl FnOnce() -> Result<Outcome, HookError>,
) -> Result<Outcome, HookError> {
    match exit_code {
        0 => answer(),
        2 => Ok(blocked(event, stderr.trim().to_owned())),
        code => Err(failed(code, stderr)),
    }
}

/// The failure of a hook that ended with this status.
pub fn failed(code: i32, stderr: &str) -> HookError {
    let mut message = format!("ended with status {code}");
    let last = text::last_lines(stderr);
    if !last.is_empty() {
        message.push_str(&format!(": {last}"));
    }
    HookError::new(Cause::Exit, message)
}

/// Returns the outcome of a block with this reason at this event.
pub fn blocked(event: &EventName, reason: String) -> Outcome {
    match block_at(event) {
        Block::Stops => Outcome::block(reason),
        Block::GoesOn if reason.is_empty() => Outcome::follow_up(GO_ON),
        Block::GoesOn => Outcome::follow_up(reason),
        Block::Tells if !reason.is_empty() => Outcome::inject(reason),
        Block::Warns if !reason.is_empty() => Outcome::pass().warn(reason),
        Block::Tells | Block::Warns => {
            let mut outcome = Outcome::pass();
            outcome.noticed.push(format!("there is nothing to block at {event}: not applied"));
            outcome
        }
    }
}

/// Reads the output of a hook.
///
/// # Errors
///
/// `malformed_output`, as for [`outcome`].
pub fn read(event: &EventName, stdout: &[u8], style: &Style) -> Result<Outcome, HookError> {
    let text = String::from_utf8_lossy(stdout);
    let text = hook_output::trim(&text);
    if let Some(found) = hook_output::decision(text, |it| object(event, it, style)) {
        return Ok(found);
    }
    match text.starts_with('{') {
        true => object(event, stdout, style),
        false => plain(event, text, stdout, style),
    }
}

/// Reads output that is one JSON object.
fn object(event: &EventName, stdout: &[u8], style: &Style) -> Result<Outcome, HookError> {
    let blocks = |name: &str, raw: &RawValue| {
        is_block(event, name, raw, style) || (is_other(event, name, style) && borrowed::blocks(name, raw))
    };
    let Some(mut printed) = HookOutput::object(stdout, blocks)? else {
        return Ok(Outcome::pass());
    };
    let borrowed = borrowed::take(&mut printed.object, |name| is_other(event, name, style));
    let blocks = printed.blocks;
    if let Some(wrong) = printed.malformed.filter(|_| !blocks) {
        return Err(wrong);
    }
    let mut outcome = answer(Reply::new(event, printed.object, blocks), blocks, style)?;
    outcome.noticed.splice(0..0, printed.faults);
    if let Some(borrowed) = borrowed {
        borrowed.apply(event, &mut outcome);
    }
    Ok(outcome)
}

/// Returns true if this style does not have the field, at an event where a block stops something. Another
/// agent's word in the field counts then.
fn is_other(event: &EventName, name: &str, style: &Style) -> bool {
    let is_own = matches!(name, "decision" | "continue" | "hookSpecificOutput" | "stopReason")
        || (style.is_flat
            && matches!(name, "permissionDecision" | "permissionDecisionReason" | "behavior" | "message"));
    block_at(event) == Block::Stops && !is_own
}

/// Reads output that is not JSON.
fn plain(event: &EventName, shown: &str, stdout: &[u8], style: &Style) -> Result<Outcome, HookError> {
    if shown.is_empty() {
        return Ok(Outcome::pass());
    }
    let keys = [
        "\"decision\"",
        "\"hookSpecificOutput\"",
        "\"permissionDecision\"",
        "\"permission\"",
        "\"continue\"",
    ];
    let is_context = matches!(event, EventName::UserMessageSend | EventName::SessionStart);
    let is_hidden = shown.contains('{') && keys.iter().any(|key| shown.contains(key));
    // At these events Claude Code gives the model the text as it is. A word of a block in it is not passed over.
    let may_block = ["\"block\"", "\"deny\"", "false"].iter().any(|word| shown.contains(word));
    if is_hidden && (may_block || !is_context || style.text != Text::Context) {
        return Err(malformed(format!(
            "printed an answer with text before it, which hides it: {}",
            excerpt(stdout)
        )));
    }
    match style.text {
        Text::Context if is_context => return Ok(Outcome::inject(shown)),
        Text::Shown => return Ok(Outcome::pass().warn(shown)),
        Text::Context | Text::Nothing => {}
    }
    let mut outcome = Outcome::pass();
    outcome
        .noticed
        .push(format!("printed text that is not an answer at {event}: ignored: {}", excerpt(stdout)));
    Ok(outcome)
}

/// Returns whether this field of the answer alone blocks, or makes the agent go on.
fn is_block(event: &EventName, name: &str, raw: &RawValue, style: &Style) -> bool {
    let at = block_at(event);
    match name {
        "decision" => matches!(at, Block::Stops | Block::GoesOn) && is_no(&json::value(raw)),
        "continue" => at == Block::Stops && raw.get() == "false",
        "permissionDecision" if style.is_flat => {
            *event == EventName::BeforeToolCall && json::value(raw) == "deny"
        }
        "behavior" if style.is_flat => at == Block::Stops && json::value(raw) == "deny",
        "hookSpecificOutput" if at == Block::Stops => {
            let Ok(members) = json::object(raw.get().as_bytes()) else { return false };
            members.iter().any(|(name, raw)| match name.as_str() {
                "permissionDecision" => *event == EventName::BeforeToolCall && json::value(raw) == "deny",
                // The answer to a PermissionRequest.
                "decision" => json::value(raw).get("behavior").is_some_and(|it| it == "deny"),
                _ => false,
            })
        }
        _ => false,
    }
}

fn answer(mut reply: Reply, blocks: bool, style: &Style) -> Result<Outcome, HookError> {
    let event = reply.event.clone();
    let at = block_at(&event);
    let mut outcome = Outcome::pass();
    reply.read(|fields| fields.flag("suppressOutput"))?;
    outcome.warnings.extend(reply.text("systemMessage")?);
    let goes_on = reply.read(|fields| fields.flag("continue"))?;
    let stop_reason = reply.text("stopReason")?;
    let decision = reply.read(|fields| {
        fields.read("decision", style.decisions, |value| match value.as_str() {
            Some(word) if style.approving.contains(&word) => Ok(word.to_owned()),
            _ if is_no(&value) => Ok("block".to_owned()),
            _ => Err(value),
        })
    })?;
    let question = decision.as_deref() == Some("ask") && event == EventName::BeforeToolCall;
    let decision = decision.as_deref() == Some("block");
    let reason = reply.text("reason")?;
    let mut flat = if style.is_flat { specific::fields(&mut reply, style)? } else { Specific::default() };
    if style.is_flat && matches!(&event, EventName::Other(name) if name == "permission_request") {
        reply.any("behavior");
        flat.reason = reply.text("message")?;
    }
    let specific = flat.or(specific::read(&mut reply, blocks, &mut outcome, style)?);
    if specific.input.is_some() && style.input_needs_allow && !blocks {
        let decided = specific.decision.as_deref();
        if !matches!(decided, Some("allow" | "ask" | "defer")) {
            let what = "\"updatedInput\" comes without \"permissionDecision\": \"allow\"";
            return Err(malformed(format!("answered wrongly: {what}")));
        }
    }
    outcome.context.extend(specific.context.filter(|text| !text.trim().is_empty()));
    let stops = goes_on == Some(false);
    match at {
        Block::Stops if blocks => {
            let said = if stops { stop_reason.or(reason) } else { reason };
            outcome.action = Action::Block(specific.reason.or(said).unwrap_or_default());
            if specific.output.is_some() {
                reply.warn("\"hookSpecificOutput.updatedToolOutput\" is not applied beside a block");
            }
        }
        Block::Stops => {
            outcome.action = match specific.decision.as_deref() {
                decision if question || matches!(decision, Some("ask" | "defer")) => {
                    Action::Ask(specific.reason.or(reason).unwrap_or_default())
                }
                decision => match specific.input.clone().or(specific.output) {
                    Some(changed) => Action::Modify(changed),
                    None if style.allows && decision == Some("allow") => {
                        Action::Allow(specific.reason.or(reason).unwrap_or_default())
                    }
                    None => Action::Pass,
                },
            };
            if matches!(outcome.action, Action::Ask(_)) && specific.input.is_some() {
                reply.warn("\"hookSpecificOutput.updatedInput\" is not applied beside a question");
            }
        }
        Block::GoesOn if stops => {}
        Block::GoesOn if decision => {
            outcome.follow_ups = blocked(&event, reason.unwrap_or_default().trim().to_owned()).follow_ups;
        }
        Block::GoesOn => {}
        Block::Tells | Block::Warns => {
            if stops {
                reply.warn(format!("\"continue\": false has no effect at {event}: not applied"));
            }
            if decision {
                let told = blocked(&event, reason.unwrap_or_default());
                outcome.context.extend(told.context);
                outcome.warnings.extend(told.warnings);
                outcome.noticed.extend(told.noticed);
            }
        }
    }
    let elsewhere = format!("{KEYS} {}", if style.is_flat { specific::KEYS } else { "" });
    Ok(reply.finish(outcome, &elsewhere))
}

#[cfg(test)]
mod tests;
