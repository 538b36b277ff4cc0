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

/// Makes a typed verdict: its fields, each with its value from the data of the event and the untyped verdict.
macro_rules! verdict {
    ($(#[$doc:meta])* $name:ident($data:ident, $verdict:ident) {
        $($(#[$field_doc:meta])* $field:ident: $type:ty = $value:expr,)*
    }) => {
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

        impl TypedVerdict for $name {
            fn of($data: EventData, $verdict: &mut Verdict, report: Report) -> Self {
                Self { $($field: $value,)* notes: notes($verdict, report) }
            }
        }
    };
}

verdict! {
    /// The verdict of an event at which hooks decide nothing.
    Noted(_data, verdict) {}
}

verdict! {
    /// The verdict of `user_message_send`.
    MessageVerdict(data, verdict) {
        /// The decision, with the message to send.
        decision: Decision<String> = Decision::new(verdict, match data {
            EventData::UserMessageSend { message } => message.unwrap_or_default(),
            _ => String::new(),
        }),
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
    ToolVerdict(data, verdict) {
        /// The decision, with the call to run.
        decision: ToolDecision = {
            let call = PermittedCall::new(match data {
                EventData::BeforeToolCall(call) => call,
                _ => ToolCall::new("", Document::absent()),
            });
            match (verdict.block.take(), verdict.ask.take()) {
                (Some(ruling), _) => ToolDecision::Block(ruling),
                (None, Some(ruling)) => ToolDecision::Ask { ruling, call },
                (None, None) => ToolDecision::Run(call),
            }
        },
        /// The hook that says that the call needs no question of the agent's own, if no other hook objects.
        allowed: Option<Ruling> = verdict.allowed.take(),
        /// True if a hook changed the input. False after a block.
        modified: bool = verdict.modified,
    }
}

verdict! {
    /// The verdict of `after_tool_call`.
    OutputVerdict(data, verdict) {
        /// The output for the model, and whether the agent may go on.
        decision: OutputDecision = {
            let output = match data {
                EventData::AfterToolCall(result) => result.output,
                _ => Document::absent(),
            };
            match verdict.block.take().or_else(|| verdict.ask.take()) {
                Some(ruling) => OutputDecision::Block { ruling, output },
                None => OutputDecision::Proceed(output),
            }
        },
        /// True if a hook changed the output.
        modified: bool = verdict.modified,
    }
}

verdict! {
    /// The verdict of `on_error`.
    ErrorVerdict(data, verdict) {
        /// The error's text, which a hook may have changed.
        message: String = match data {
            EventData::OnError(error) => error.message,
            _ => String::new(),
        },
    }
}

verdict! {
    /// The verdict of `after_turn`.
    TurnVerdict(_data, verdict) {
        /// The change of the conversation that hooks ask for.
        turn: Option<Turn> = turn(verdict),
    }
}

verdict! {
    /// The verdict of `agent_stop`.
    StopVerdict(_data, verdict) {
        /// Messages of the user with which the agent goes on. It stops if there are none.
        follow_ups: Vec<String> = take(&mut verdict.follow_ups),
        /// The name of the hook of each of them, in the same order, for the user.
        follow_ups_by: Vec<String> = take(&mut verdict.follow_ups_by),
        /// Messages that are not applied, because hooks made the agent go on too often in a row.
        dropped_follow_ups: Vec<String> = take(&mut verdict.dropped_follow_ups),
        /// The change of the conversation that comes first.
        turn: Option<Turn> = turn(verdict),
    }
}

verdict! {
    /// The verdict of `pre_compact` and `on_budget_exceeded`.
    GateVerdict(_data, verdict) {
        /// The decision.
        decision: Decision = Decision::new(verdict, ()),
        /// The recipe to run (`on_budget_exceeded` only).
        callback: Option<Callback> = verdict.callback.take(),
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
