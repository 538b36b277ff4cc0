//! The answer that came in a case.

use std::collections::BTreeMap;

use hookbox::hook::Cause;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The decision on an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The event goes on.
    #[default]
    Pass,
    /// The event is stopped.
    Block,
    /// The user decides.
    Ask,
    /// The event goes on without a question of the agent's own.
    Allow,
}

/// The failure of a hook.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// The hook's full name.
    pub hook: String,
    /// The cause.
    pub cause: Cause,
    /// The message, escaped.
    pub message: String,
}

/// The answer that came, with the effects of the hook.
///
/// The paths of the temporary directories are written as `$REPO` and `$HOME` in its texts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Came {
    /// The reason why the case cannot be judged: the hook is broken, or not for this event.
    pub unfit: Option<String>,
    /// The reason why the case was not run: the agent of its wire does not send such an event.
    #[serde(default)]
    pub skipped: Option<String>,
    /// The decision.
    pub verdict: Verdict,
    /// The reason of a block, a question or an allowed call.
    pub reason: Option<String>,
    /// The value that the hook changed, by its name: `input`, `output`, `message` or `error`.
    pub changed: Option<(String, Value)>,
    /// Text for the model.
    pub context: Vec<String>,
    /// Notes for the user.
    pub warnings: Vec<String>,
    /// Messages with which the agent goes on.
    pub follow_ups: Vec<String>,
    /// The recipe to run.
    pub callback: Option<String>,
    /// The text that the hooks wrote to standard error or the log.
    pub log: String,
    /// The requests of components: method, URL and body.
    #[serde(default)]
    pub requests: Vec<String>,
    /// The state after the event, as text.
    pub store: BTreeMap<String, String>,
    /// The files of the working directory that the hook wrote, and `None` for those that it removed.
    pub files: BTreeMap<String, Option<String>>,
    /// The fuel of the hook that used the most, if one is a component.
    pub fuel: Option<u64>,
    /// The memory of the hook that used the most, in bytes, if one is a component.
    pub memory: Option<u64>,
    /// The failures of hooks.
    pub failures: Vec<Failure>,
    /// Problems with the hook or its settings, for people.
    pub problems: Vec<String>,
}
