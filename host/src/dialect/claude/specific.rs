//! The differences between the agents whose hooks answer as those of Claude Code do, and `hookSpecificOutput` in an answer.

use serde_json::Value;

use super::event::names;
use crate::dialect::reply::{Reply, malformed};
use crate::event::EventName;
use crate::hook::HookError;
use crate::outcome::Outcome;
use hookbox_system::text;

/// The differences between the agents whose hooks answer in this shape.
pub struct Style {
    /// The words of `decision` that let a thing pass; `block` and `deny` block everywhere.
    pub approving: &'static [&'static str],
    /// The values of `decision`, for messages.
    pub decisions: &'static str,
    /// The fields with which an answer changes the input of a tool.
    pub inputs: &'static [&'static str],
    /// The fields with which it changes the output.
    pub outputs: &'static [&'static str],
    /// True if a changed input counts only beside `permissionDecision: allow`.
    pub input_needs_allow: bool,
    /// True if the fields of `hookSpecificOutput` may be at the top as well.
    pub is_flat: bool,
    /// True if `permissionDecision: allow` spares the agent's user a question.
    pub allows: bool,
    /// True if `hookSpecificOutput` must name its event.
    pub names_event: bool,
    /// The meaning of text that is not an answer.
    pub text: Text,
}

/// The meaning of text that is not an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Text {
    /// Context for the model when a message is sent and when a session starts; ignored elsewhere.
    Context,
    /// Words for the user.
    Shown,
    /// Nothing.
    Nothing,
}

/// Claude Code's.
pub const CLAUDE: Style = Style {
    approving: &["approve"],
    decisions: "\"block\" or \"approve\"",
    inputs: &["updatedInput"],
    outputs: &["updatedToolOutput", "updatedMCPToolOutput"],
    input_needs_allow: false,
    is_flat: false,
    allows: true,
    names_event: true,
    text: Text::Context,
};

/// The keys that have an effect at some event.
pub(super) const KEYS: &str = "permissionDecision permissionDecisionReason updatedInput additionalContext updatedToolOutput \
    updatedMCPToolOutput decision tool_input modifiedArgs modifiedResult";

/// The fields of `hookSpecificOutput`.
#[derive(Default)]
pub(super) struct Specific {
    pub(super) decision: Option<String>,
    pub(super) reason: Option<String>,
    pub(super) input: Option<Value>,
    pub(super) output: Option<Value>,
    pub(super) context: Option<String>,
}

/// Reads `hookSpecificOutput`; `blocks` if the rest of the answer blocks.
pub(super) fn read(
    reply: &mut Reply,
    blocks: bool,
    outcome: &mut Outcome,
    style: &Style,
) -> Result<Specific, HookError> {
    let Some(mut inner) = reply.nested("hookSpecificOutput")? else { return Ok(Specific::default()) };
    let event = inner.event.clone();
    let name = inner.text("hookEventName")?;
    match &name {
        _ if !style.names_event => {}
        None => inner.warn("\"hookSpecificOutput\" does not say its \"hookEventName\""),
        Some(name) if names(&event).contains(&name.as_str()) => {}
        Some(name) => {
            let what = format!(
                "\"hookSpecificOutput.hookEventName\" must be {}, found \"{}\"",
                quoted(&names(&event)),
                text::escape(name, 40)
            );
            if !blocks {
                return Err(malformed(format!("answered wrongly: {what}")));
            }
            inner.warn(what);
        }
    }
    let specific = fields(&mut inner, style)?;
    inner.finish_into(outcome, KEYS);
    Ok(specific)
}

/// Reads the fields of one event.
pub(super) fn fields(inner: &mut Reply, style: &Style) -> Result<Specific, HookError> {
    let mut specific = Specific { context: inner.text("additionalContext")?, ..Specific::default() };
    match &inner.event.clone() {
        EventName::BeforeToolCall => {
            specific.decision = inner.read(|fields| {
                fields.read("permissionDecision", "\"allow\", \"deny\", \"ask\" or \"defer\"", |value| {
                    match value.as_str() {
                        Some(word @ ("allow" | "deny" | "ask" | "defer")) => Ok(word.to_owned()),
                        _ => Err(value),
                    }
                })
            })?;
            specific.reason = inner.text("permissionDecisionReason")?;
            for name in style.inputs {
                let input = inner.read(|fields| fields.object(name))?.map(Value::Object);
                specific.input = specific.input.or(input);
            }
        }
        EventName::AfterToolCall => {
            for name in style.outputs {
                let output = inner.any(name);
                specific.output = specific.output.or(output);
            }
        }
        EventName::Other(name) if name == "permission_request" => {
            let decision = inner.read(|fields| fields.object("decision"))?.unwrap_or_default();
            specific.reason = decision.get("message").and_then(Value::as_str).map(str::to_owned);
        }
        _ => {}
    }
    Ok(specific)
}

impl Specific {
    /// Fills absent fields from `other`; of two decisions the stricter one counts.
    pub(super) fn or(self, other: Self) -> Self {
        let rank = |decision: &Option<String>| match decision.as_deref() {
            Some("deny") => 3,
            Some("ask" | "defer") => 2,
            Some(_) => 1,
            None => 0,
        };
        let (first, second) =
            if rank(&other.decision) > rank(&self.decision) { (other, self) } else { (self, other) };
        Self {
            decision: first.decision.or(second.decision),
            reason: first.reason.or(second.reason),
            input: first.input.or(second.input),
            output: first.output.or(second.output),
            context: first.context.or(second.context),
        }
    }
}

fn quoted(names: &[&str]) -> String {
    if names.is_empty() {
        return "absent".to_owned();
    }
    names.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(" or ")
}
