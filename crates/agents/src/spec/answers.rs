//! The answers that an agent reads from a hook command.

use serde_json::{Map, Value};

use crate::agent::effect::Effect;
use crate::agent::event::AgentEvent;
use crate::agent::json::decision;
use crate::agent::output::{ChangedOutput, as_reason};
use crate::agent::plan::Plan;

/// The fields of an object.
type Fields = Map<String, Value>;

/// The answers that an agent reads from a hook command.
#[derive(Debug)]
pub(crate) struct Answers {
    /// Returns the fields of the answer that follows a plan without a message.
    pub(crate) write: fn(&AgentEvent, &Plan) -> Fields,
    /// Returns the fields of the answer with which the agent goes on with a message.
    pub(crate) follow_up: fn(&AgentEvent, &str) -> Fields,
    /// The output of a hook command that has nothing to answer.
    pub(crate) empty: &'static str,
    /// True if the agent shows its user a `systemMessage`.
    pub(crate) shows_warnings: bool,
    /// The place of a code that only the user may read, beside the block of a tool call.
    pub(crate) code: CodePlace,
    /// True if the agent shows its user the changed input with a question.
    pub(crate) asks_with_changed_input: bool,
    /// Returns true if the agent runs the tool with exactly the second input in place of the first.
    pub(crate) takes_input: fn(&Fields, &Fields) -> bool,
    /// Returns the form in which a changed output of a tool reaches the model: of the tool of this name, the
    /// output as it was, and as it is now.
    pub(crate) changed_output: fn(&str, &Value, &Value) -> ChangedOutput,
    /// True if the reason of a stop after a batch of calls takes the place of what failed calls said. Otherwise a stop
    /// ends the turn.
    pub(crate) stop_replaces_failed: bool,
    /// The longest text for the model, in characters; of a longer one the agent shows a part, or nothing.
    pub(crate) max_context: Option<usize>,
    /// True if exit code 2 blocks only with words on standard error.
    pub(crate) exit_2_needs_words: bool,
    /// True if every exit code but 0 blocks a tool call.
    pub(crate) failure_blocks: bool,
    /// Returns the effect of an answer before a tool call: of the whole answer, and of its
    /// `hookSpecificOutput` for this event. `None` if nothing in it is a block or a question.
    pub(crate) effect: fn(&AgentEvent, &Fields, Option<&Fields>) -> Option<Effect>,
}

/// The place where an agent shows its user a code, and its model does not read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CodePlace {
    /// None that is known.
    Nowhere,
    /// The field `systemMessage` of the answer.
    SystemMessage,
    /// A line of standard error.
    StandardError,
}

impl Answers {
    /// Answers of which nothing is known to differ from Claude Code's.
    pub(crate) const BASE: Self = Self {
        write: |_, _| Fields::new(),
        follow_up: |_, message| decision("block", message),
        empty: "",
        shows_warnings: true,
        code: CodePlace::Nowhere,
        asks_with_changed_input: false,
        takes_input: |_, _| true,
        changed_output: as_reason,
        stop_replaces_failed: false,
        max_context: None,
        exit_2_needs_words: false,
        failure_blocks: false,
        effect: |_, _, _| None,
    };
}
