//! The typed verdicts: for each event, what an agent has to know.

use std::ops::Deref;

use crate::chain::Fired;
use crate::event::{Document, EventData, Message};
use crate::outcome::{Callback, Ruling, Verdict, Warning};
use crate::report::Report;

/// What comes with every verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct Notes {
    /// Text for the model's next step, in run order.
    pub context: Vec<String>,
    /// Notes for the user, in run order.
    pub warnings: Vec<Warning>,
    /// What each hook did.
    pub report: Report,
}

/// Whether the agent may go on.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Decision {
    /// It may.
    Proceed,
    /// The user is to decide. An agent without a user to ask treats it as a block.
    Ask(Ruling),
    /// It must not.
    Block(Ruling),
}

impl Decision {
    /// The block, if it is one.
    pub fn blocked(&self) -> Option<&Ruling> {
        match self {
            Self::Block(ruling) => Some(ruling),
            _ => None,
        }
    }
}

/// What hooks want to become of the conversation.
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
    };
}

verdict! {
    /// The verdict of an event that nothing but notes can come of.
    Noted {}
}

verdict! {
    /// The verdict of `user_message_send`.
    MessageVerdict {
        /// Whether the message may be sent.
        decision: Decision,
        /// The message to send, when it may be sent.
        message: String,
    }
}

verdict! {
    /// The verdict of `before_tool_call`.
    ToolVerdict {
        /// Whether the tool may run.
        decision: Decision,
        /// The input to run it with, when it may run.
        input: Document,
        /// Whether that input is another than the agent's.
        modified: bool,
    }
}

verdict! {
    /// The verdict of `after_tool_call`.
    OutputVerdict {
        /// A block means that the agent must stop or change course; the tool has run.
        decision: Decision,
        /// The output to go on with.
        output: Document,
        /// Whether that output is another than the tool's.
        modified: bool,
    }
}

verdict! {
    /// The verdict of `on_error`.
    ErrorVerdict {
        /// The error's text to go on with.
        message: String,
    }
}

verdict! {
    /// The verdict of `after_turn`.
    TurnVerdict {
        /// What is to become of the conversation.
        turn: Option<Turn>,
    }
}

verdict! {
    /// The verdict of `agent_stop`.
    StopVerdict {
        /// Messages of the user with which the agent goes on; none: it stops.
        follow_ups: Vec<String>,
        /// What is to become of the conversation first.
        turn: Option<Turn>,
    }
}

verdict! {
    /// The verdict of `pre_compact` and `on_budget_exceeded`.
    GateVerdict {
        /// Whether the agent may go on.
        decision: Decision,
        /// The recipe to run (`on_budget_exceeded` only).
        callback: Option<Callback>,
    }
}

fn decision(verdict: &mut Verdict) -> Decision {
    match (verdict.block.take(), verdict.ask.take()) {
        (Some(ruling), _) => Decision::Block(ruling),
        (None, Some(ruling)) => Decision::Ask(ruling),
        (None, None) => Decision::Proceed,
    }
}

fn turn(verdict: &mut Verdict) -> Option<Turn> {
    let mutate = verdict.mutate.take().map(Turn::Mutate);
    mutate.or_else(|| verdict.callback.take().map(Turn::Callback))
}

fn notes(verdict: Verdict, report: Report) -> Notes {
    Notes { context: verdict.context, warnings: verdict.warnings, report }
}

impl From<Fired> for Noted {
    fn from(fired: Fired) -> Self {
        Self { notes: notes(fired.verdict, fired.report) }
    }
}

impl From<Fired> for MessageVerdict {
    fn from(mut fired: Fired) -> Self {
        let message = match fired.event.data {
            EventData::UserMessageSend { message } => message.unwrap_or_default(),
            _ => String::new(),
        };
        Self { decision: decision(&mut fired.verdict), message, notes: notes(fired.verdict, fired.report) }
    }
}

impl From<Fired> for ToolVerdict {
    fn from(mut fired: Fired) -> Self {
        let input = match fired.event.data {
            EventData::BeforeToolCall(call) => call.input,
            _ => Document::absent(),
        };
        let modified = fired.verdict.modified;
        Self {
            decision: decision(&mut fired.verdict),
            input,
            modified,
            notes: notes(fired.verdict, fired.report),
        }
    }
}

impl From<Fired> for OutputVerdict {
    fn from(mut fired: Fired) -> Self {
        let output = match fired.event.data {
            EventData::AfterToolCall(result) => result.output,
            _ => Document::absent(),
        };
        let modified = fired.verdict.modified;
        Self {
            decision: decision(&mut fired.verdict),
            output,
            modified,
            notes: notes(fired.verdict, fired.report),
        }
    }
}

impl From<Fired> for ErrorVerdict {
    fn from(fired: Fired) -> Self {
        let message = match fired.event.data {
            EventData::OnError(error) => error.message,
            _ => String::new(),
        };
        Self { message, notes: notes(fired.verdict, fired.report) }
    }
}

impl From<Fired> for TurnVerdict {
    fn from(mut fired: Fired) -> Self {
        Self { turn: turn(&mut fired.verdict), notes: notes(fired.verdict, fired.report) }
    }
}

impl From<Fired> for StopVerdict {
    fn from(mut fired: Fired) -> Self {
        let follow_ups = std::mem::take(&mut fired.verdict.follow_ups);
        Self { follow_ups, turn: turn(&mut fired.verdict), notes: notes(fired.verdict, fired.report) }
    }
}

impl From<Fired> for GateVerdict {
    fn from(mut fired: Fired) -> Self {
        let callback = fired.verdict.callback.take();
        Self { decision: decision(&mut fired.verdict), callback, notes: notes(fired.verdict, fired.report) }
    }
}
