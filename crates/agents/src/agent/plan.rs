//! The part of a verdict that an agent gets.

use serde_json::Value;

/// The decision about the event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Decision {
    /// It may happen.
    #[default]
    Pass,
    /// It must not happen. The reason is never blank.
    Block(String),
    /// The user decides.
    Ask(String),
    /// The agent has to stop altogether: otherwise it would go on with text that a hook took out.
    Stop(String),
}

/// The answer to an agent. The agent honours each part of it at this event.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Plan {
    pub(crate) decision: Decision,
    /// The reason why the agent need not ask its user about a tool call that passes.
    pub(crate) allowed: Option<String>,
    /// The new input or output.
    pub(crate) changed: Option<Value>,
    /// Text for the model.
    pub(crate) context: Option<String>,
    /// The message with which the agent goes on.
    pub(crate) follow_up: Option<String>,
    pub(crate) warnings: Vec<String>,
    /// Those of the trusted hook that blocks or asks.
    pub(crate) said: Vec<String>,
    /// The code with which the user can allow a blocked tool call.
    pub(crate) code: Option<String>,
}
