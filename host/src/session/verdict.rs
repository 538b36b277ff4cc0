//! The typed verdicts: for each event, what an agent has to know.

use std::mem::take;
use std::ops::Deref;

use serde_json::Value;

use super::PermittedCall;
use crate::chain::Fired;
use crate::event::{Document, EventData, Message, ToolCall};
use crate::outcome::{Callback, Ruling, Verdict, Warning};
use crate::report::Report;

/// The part that every verdict has.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Notes {
    /// Text for the model's next step, in run order.
    pub context: Vec<String>,
    /// Notes for the user, in run order. Never for the model.
    pub warnings: Vec<Warning>,
    /// The report, hook by hook.
    pub report: Report,
}

/// The decision whether the agent may go on. `T` is the value to go on with: the message to send, or nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "the agent must not go on after a block"]
pub enum Decision<T = ()> {
    /// The agent goes on with this value.
    Proceed(T),
    /// The agent must not go on.
    Block(Ruling),
}

impl<T> Decision<T> {
    /// Returns the ruling of a block.
    pub fn blocked(&self) -> Option<&Ruling> {
        match self {
            Self::Proceed(_) => None,
            Self::Block(ruling) => Some(ruling),
        }
    }

    fn new(verdict: &mut Verdict, value: T) -> Self {
        // No event of this type lets a hook ask. If one did, its question would stop the agent.
        verdict.block.take().or_else(|| verdict.ask.take()).map_or(Self::Proceed(value), Self::Block)
    }
}

/// The decision whether a tool may run, with the call to run: a hook may have changed its input.
#[derive(Clone, Debug, PartialEq)]
#[must_use = "the tool must not run after a block"]
pub enum ToolDecision {
    /// The tool may run with the input of this call.
    Run(PermittedCall),
    /// The user decides. An agent without a user to ask treats this as a block.
    Ask {
        /// The hook that asks, and why.
        ruling: Ruling,
        /// The call to run if the user agrees.
        call: PermittedCall,
    },
    /// The tool must not run.
    Block(Ruling),
}

impl ToolDecision {
    /// Returns the call if the tool may run without a question.
    pub fn permitted(&self) -> Option<&PermittedCall> {
        match self {
            Self::Run(call) => Some(call),
            Self::Ask { .. } | Self::Block(_) => None,
        }
    }

    /// Returns the ruling of a block; a question is none.
    pub fn blocked(&self) -> Option<&Ruling> {
        match self {
            Self::Run(_) | Self::Ask { .. } => None,
            Self::Block(ruling) => Some(ruling),
        }
    }
}

/// The output that the model gets, and whether the agent may go on. The tool has run either way.
#[derive(Clone, Debug, PartialEq)]
#[must_use = "the agent must stop or change course after a block"]
pub enum OutputDecision {
    /// The agent goes on with this output.
    Proceed(Document),
    /// The agent must stop or change course.
    Block {
        /// The hook that blocks, and why.
        ruling: Ruling,
        /// The output for the model: hooks may have redacted it.
        output: Document,
    },
}

impl OutputDecision {
    /// Returns the output as text for the model: a string, or the `output` or `error` of a kodelet
    /// `StructuredToolResult`, or else JSON.
    pub fn text(&self) -> String {
        let (Self::Proceed(output) | Self::Block { output, .. }) = self;
        let fields = [output.pointer("/output"), output.pointer("/error"), Some(output.value())];
        fields.into_iter().flatten().find_map(Value::as_str).unwrap_or(output.text()).to_owned()
    }

    /// Returns the ruling of a block.
    pub fn blocked(&self) -> Option<&Ruling> {
        match self {
            Self::Proceed(_) => None,
            Self::Block { ruling, .. } => Some(ruling),
        }
    }
}

/// A change of the conversation that hooks ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Replace it by these messages.
    Mutate(Vec<Message>),
    /// Run this recipe.
    Callback(Callback),
}

macro_rules! verdict {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq)]
        #[must_use]
        #[non_exhaustive]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $type,)*
            /// Context, warnings and the report.
            pub notes: Notes,
        }

        impl Deref for $name {
            type Target = Notes;

            fn deref(&self) -> &Notes {
                &self.notes
            }
        }

        impl From<Fired> for $name {
            fn from(Fired { event, mut verdict, report }: Fired) -> Self {
                Self::of(event.data, &mut verdict, report)
            }
        }
    };
}

verdict! {
    /// The verdict of an event at which hooks decide nothing.
    Noted {}
}

verdict! {
    /// The verdict of `user_message_send`.
    MessageVerdict {
        /// The decision, with the message to send.
        decision: Decision<String>,
    }
}

verdict! {
    /// The verdict of `before_tool_call`. The call to run is inside the decision that lets the tool run:
    ///
    /// ```
    /// # use hookbox::{ToolCall, manager::Manager, session::ToolDecision};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # let session = Manager::empty().session("c");
    /// let call = ToolCall::new("bash", serde_json::json!({"command": "ls"}));
    /// let verdict = session.before_tool_call(call).await;
    /// match verdict.decision {
    ///     ToolDecision::Run(call) => println!("run {}", call.input.text()),
    ///     ToolDecision::Ask { ruling, call } => println!("{}? {}", ruling.for_user(), call.input.text()),
    ///     ToolDecision::Block(ruling) => println!("the model reads: {}", ruling.for_model()),
    /// }
    /// # }
    /// ```
    ///
    /// So a block cannot be ignored by accident:
    ///
    /// ```compile_fail,E0609
    /// # use hookbox::{ToolCall, manager::Manager};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # let session = Manager::empty().session("c");
    /// let call = ToolCall::new("bash", serde_json::json!({"command": "ls"}));
    /// let verdict = session.before_tool_call(call).await;
    /// println!("run {}", verdict.input.text());
    /// # }
    /// ```
    ToolVerdict {
        /// The decision, with the call to run.
        decision: ToolDecision,
        /// The hook that says that the call needs no question of the agent's own, if no other hook objects.
        allowed: Option<Ruling>,
        /// True if a hook changed the input. False after a block.
        modified: bool,
    }
}

verdict! {
    /// The verdict of `after_tool_call`.
    OutputVerdict {
        /// The output for the model, and whether the agent may go on.
        decision: OutputDecision,
        /// True if a hook changed the output.
        modified: bool,
    }
}

verdict! {
    /// The verdict of `on_error`.
    ErrorVerdict {
        /// The error's text, which a hook may have changed.
        message: String,
    }
}

verdict! {
    /// The verdict of `after_turn`.
    TurnVerdict {
        /// The change of the conversation that hooks ask for.
        turn: Option<Turn>,
    }
}

verdict! {
    /// The verdict of `agent_stop`.
    StopVerdict {
        /// Messages of the user with which the agent goes on. It stops if there are none.
        follow_ups: Vec<String>,
        /// The name of the hook of each of them, in the same order, for the user.
        follow_ups_by: Vec<String>,
        /// Messages that are not applied, because hooks made the agent go on too often in a row.
        dropped_follow_ups: Vec<String>,
        /// The change of the conversation that comes first.
        turn: Option<Turn>,
    }
}

verdict! {
    /// The verdict of `pre_compact` and `on_budget_exceeded`.
    GateVerdict {
        /// The decision.
        decision: Decision,
        /// The recipe to run (`on_budget_exceeded` only).
        callback: Option<Callback>,
    }
}

/// A verdict of a typed method.
pub(super) trait TypedVerdict: From<Fired> {
    /// Makes it in place from the data of the event, as hooks left it, and takes its parts of the untyped verdict.
    fn of(data: EventData, verdict: &mut Verdict, report: Report) -> Self;
}

fn turn(verdict: &mut Verdict) -> Option<Turn> {
    let mutate = verdict.mutate.take().map(Turn::Mutate);
    mutate.or_else(|| verdict.callback.take().map(Turn::Callback))
}

fn notes(verdict: &mut Verdict, report: Report) -> Notes {
    Notes { context: take(&mut verdict.context), warnings: take(&mut verdict.warnings), report }
}

impl TypedVerdict for Noted {
    fn of(_: EventData, verdict: &mut Verdict, report: Report) -> Self {
        Self { notes: notes(verdict, report) }
    }
}

impl TypedVerdict for MessageVerdict {
    fn of(data: EventData, verdict: &mut Verdict, report: Report) -> Self {
        let message = match data {
            EventData::UserMessageSend { message } => message.unwrap_or_default(),
            _ => String::new(),
        };
        Self { decision: Decision::new(verdict, message), notes: notes(verdict, report) }
    }
}

impl TypedVerdict for ToolVerdict {
    fn of(data: EventData, verdict: &mut Verdict, report: Report) -> Self {
        let call = match data {
            EventData::BeforeToolCall(call) => call,
            _ => ToolCall::new("", Document::absent()),
        };
        let call = PermittedCall::new(call);
        let decision = match (verdict.block.take(), verdict.ask.take()) {
            (Some(ruling), _) => ToolDecision::Block(ruling),
            (None, Some(ruling)) => ToolDecision::Ask { ruling, call },
            (None, None) => ToolDecision::Run(call),
        };
        let allowed = verdict.allowed.take();
        Self { decision, allowed, modified: verdict.modified, notes: notes(verdict, report) }
    }
}

impl TypedVerdict for OutputVerdict {
    fn of(data: EventData, verdict: &mut Verdict, report: Report) -> Self {
        let output = match data {
            EventData::AfterToolCall(result) => result.output,
            _ => Document::absent(),
        };
        let decision = match verdict.block.take().or_else(|| verdict.ask.take()) {
            Some(ruling) => OutputDecision::Block { ruling, output },
            None => OutputDecision::Proceed(output),
        };
        Self { decision, modified: verdict.modified, notes: notes(verdict, report) }
    }
}

impl TypedVerdict for ErrorVerdict {
    fn of(data: EventData, verdict: &mut Verdict, report: Report) -> Self {
        let message = match data {
            EventData::OnError(error) => error.message,
            _ => String::new(),
        };
        Self { message, notes: notes(verdict, report) }
    }
}

impl TypedVerdict for TurnVerdict {
    fn of(_: EventData, verdict: &mut Verdict, report: Report) -> Self {
        Self { turn: turn(verdict), notes: notes(verdict, report) }
    }
}

impl TypedVerdict for StopVerdict {
    fn of(_: EventData, verdict: &mut Verdict, report: Report) -> Self {
        Self {
            follow_ups: take(&mut verdict.follow_ups),
            follow_ups_by: take(&mut verdict.follow_ups_by),
            dropped_follow_ups: take(&mut verdict.dropped_follow_ups),
            turn: turn(verdict),
            notes: notes(verdict, report),
        }
    }
}

impl TypedVerdict for GateVerdict {
    fn of(_: EventData, verdict: &mut Verdict, report: Report) -> Self {
        let callback = verdict.callback.take();
        Self { decision: Decision::new(verdict, ()), callback, notes: notes(verdict, report) }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_output_that_a_hook_replaced_by_another_value_still_reaches_the_model() {
        for (output, want) in [
            (json!({"success": true, "output": "fine"}), "fine"),
            (json!({"success": false, "error": "broken"}), "broken"),
            (json!("plain"), "plain"),
            (json!({"summary": "short"}), r#"{"summary":"short"}"#),
            (json!(null), "null"),
        ] {
            assert_eq!(OutputDecision::Proceed(output.into()).text(), want);
        }
    }
}
