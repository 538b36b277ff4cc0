//! Outcomes, the answers of hooks, and the fold that makes one verdict of them. Nothing here does I/O.

mod cause;
mod fold;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use self::cause::Cause;
pub use self::fold::{Author, Fold, MAX_CONTEXT};

use crate::capability::Denial;
use crate::event::{Document, Message};
use crate::inputs::Input;
use hookbox_system::{limits, text};

/// A recipe that the agent shall run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Callback {
    /// Its name, such as `compact` or `rotate`.
    pub name: String,
    /// Its arguments, in the order they were given.
    pub args: Vec<(String, String)>,
}

/// The action that a hook asks for.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Action {
    /// Nothing.
    #[default]
    Pass,
    /// Stop, for this reason.
    Block(String),
    /// Let the user decide, for this reason.
    Ask(String),
    /// The call needs no question of the agent's own, for this reason.
    Allow(String),
    /// Replace what the event is about by this value.
    Modify(Value),
    /// Replace the conversation.
    Mutate(Vec<Message>),
    /// Run a recipe.
    Callback(Callback),
}

/// The answer of one hook to one event.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Outcome {
    /// The action.
    pub action: Action,
    /// A recipe that the agent runs although the action is a block, at `on_budget_exceeded`: the block refuses
    /// large work, and the recipe makes room.
    pub callback: Option<Callback>,
    /// Messages of the user with which the agent goes on; also beside `Mutate` and `Callback`.
    pub follow_ups: Vec<String>,
    /// Text for the model's next step.
    pub context: Vec<String>,
    /// Notes for the user, in the hook's words.
    pub warnings: Vec<String>,
    /// Oddities of the answer, in the host's words: unknown keys, answers without effect.
    pub noticed: Vec<String>,
    /// For reports; without effect.
    pub metadata: Map<String, Value>,
    /// The cost of the call, and its log.
    pub spent: Spent,
    /// The value of `Modify` as the hook wrote it, if it has integers that 64 bits do not hold.
    #[doc(hidden)]
    pub exact: Option<Document>,
}

impl Outcome {
    /// Creates an outcome that asks for nothing.
    pub fn pass() -> Self {
        Self::default()
    }

    /// Creates a block with this reason.
    pub fn block(reason: impl Into<String>) -> Self {
        Action::Block(reason.into()).into()
    }

    /// Adds a recipe beside a block. For a recipe alone use [`Action::Callback`].
    #[must_use]
    pub fn and_callback(mut self, callback: Callback) -> Self {
        self.callback = Some(callback);
        self
    }

    /// Creates a question to the user, for this reason.
    pub fn ask(reason: impl Into<String>) -> Self {
        Action::Ask(reason.into()).into()
    }

    /// Creates an answer that the call needs no question of the agent's own, for this reason. It is never more than
    /// pass if another hook blocks, asks, fails or changes the call.
    pub fn allow(reason: impl Into<String>) -> Self {
        Action::Allow(reason.into()).into()
    }

    /// Creates a change: the value replaces the input, the output, the message or the error of the event.
    pub fn modify(value: impl Into<Value>) -> Self {
        Action::Modify(value.into()).into()
    }

    /// Creates an outcome that makes the agent go on with this message.
    pub fn follow_up(message: impl Into<String>) -> Self {
        Self { follow_ups: vec![message.into()], ..Self::default() }
    }

    /// Creates an outcome with this text for the model.
    pub fn inject(text: impl Into<String>) -> Self {
        Self { context: vec![text.into()], ..Self::default() }
    }

    /// Adds a note for the user.
    #[must_use]
    pub fn warn(mut self, note: impl Into<String>) -> Self {
        self.warnings.push(note.into());
        self
    }

    /// Returns the answers that this outcome uses.
    pub fn uses(&self) -> Answers {
        Answers {
            modify: matches!(self.action, Action::Modify(_)),
            inject: !self.context.is_empty(),
            follow_up: !self.follow_ups.is_empty(),
            mutate: matches!(self.action, Action::Mutate(_)),
            callback: matches!(self.action, Action::Callback(_)) || self.callback.is_some(),
            allow: matches!(self.action, Action::Allow(_)),
        }
    }

    /// Removes the answers that are not in `allowed`, and returns those that it removed.
    pub fn restrict(&mut self, allowed: Answers) -> Answers {
        let refused = self.uses().without(allowed);
        let is_refused = match self.action {
            Action::Modify(_) => refused.modify,
            Action::Mutate(_) => refused.mutate,
            Action::Callback(_) => refused.callback,
            Action::Allow(_) => refused.allow,
            Action::Pass | Action::Block(_) | Action::Ask(_) => false,
        };
        if is_refused {
            self.action = Action::Pass;
        }
        if refused.callback {
            self.callback = None;
        }
        if refused.inject {
            self.context.clear();
        }
        if refused.follow_up {
            self.follow_ups.clear();
        }
        refused
    }
}

impl From<Action> for Outcome {
    fn from(action: Action) -> Self {
        Self { action, ..Self::default() }
    }
}

/// The cost of a call, and its log. Fields that a kind of hook cannot measure are `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Fuel (wasm instructions, about).
    pub fuel: Option<u64>,
    /// The most memory it held at once, in bytes.
    pub memory_peak: Option<u64>,
    /// The text that it wrote to standard error or the log, cut at the budget's limit, not yet escaped.
    pub log: String,
    /// The rights that it made use of without having them.
    pub denied: Vec<Denial>,
    /// The inputs of a component from outside, if they are recorded.
    pub inputs: Option<Vec<Input>>,
}

/// The answers that a hook may give beside pass, block, ask and warnings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answers {
    /// Change what the event is about.
    pub modify: bool,
    /// Give the model text.
    pub inject: bool,
    /// Make the agent go on.
    pub follow_up: bool,
    /// Replace the conversation.
    pub mutate: bool,
    /// Run a recipe.
    pub callback: bool,
    /// Spare the user a question of the agent's own about a tool call.
    #[serde(default)]
    pub allow: bool,
}

impl Answers {
    /// Every answer.
    pub const ALL: Self =
        Self { modify: true, inject: true, follow_up: true, mutate: true, callback: true, allow: true };

    /// Every answer but `allow`, which a hook has to declare and its user to grant.
    pub const USUAL: Self = Self { allow: false, ..Self::ALL };

    /// No answer beside pass, block, ask and warnings.
    pub const NONE: Self =
        Self { modify: false, inject: false, follow_up: false, mutate: false, callback: false, allow: false };

    /// Returns the answers of `self` that `other` does not have.
    #[must_use]
    pub fn without(self, other: Self) -> Self {
        Self {
            modify: self.modify && !other.modify,
            inject: self.inject && !other.inject,
            follow_up: self.follow_up && !other.follow_up,
            mutate: self.mutate && !other.mutate,
            callback: self.callback && !other.callback,
            allow: self.allow && !other.allow,
        }
    }

    /// Returns the answers that both have.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        self.without(self.without(other))
    }

    /// Returns their names, as `describe` and `inspect` write them.
    pub fn names(self) -> Vec<&'static str> {
        [
            (self.modify, "modify"),
            (self.inject, "inject"),
            (self.follow_up, "follow-up"),
            (self.mutate, "mutate"),
            (self.callback, "callback"),
            (self.allow, "allow"),
        ]
        .into_iter()
        .filter_map(|(has, name)| has.then_some(name))
        .collect()
    }
}

/// A block, a question or a permission, with the hook that it is from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ruling {
    /// The hook's name, for the user. The name of a hook that the user does not trust is
    /// [escaped](hookbox_system::text::plain_name).
    pub by: String,
    /// The hook's name for the model. It is a phrase of the host's if the user does not trust the hook.
    pub known_as: String,
    /// True if the user trusts the hook. The model reads no word of any other, not even its name.
    pub trusted: bool,
    /// The code with which the user can allow the call that is blocked: `hookbox allow CODE`. It is for the user's eyes, and
    /// no other field has it. The model must not read it.
    pub code: Option<String>,
    /// The failure that the block stands for; `None` for a decision of the hook.
    pub cause: Option<Cause>,
    reason: String,
}

impl Ruling {
    /// Creates the ruling of a hook that the user trusts.
    pub fn trusted(by: impl Into<String>, reason: impl Into<String>) -> Self {
        let by = by.into();
        Self { known_as: by.clone(), by, trusted: true, code: None, cause: None, reason: reason.into() }
    }

    /// Creates the ruling of a hook that the user does not trust. The model knows it as `known_as`.
    pub fn untrusted(by: impl Into<String>, known_as: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { known_as: known_as.into(), trusted: false, ..Self::trusted(by, reason) }
    }

    /// Returns the reason in the hook's words, for the user's eyes. If the user does not trust the hook, it
    /// is escaped and cut, and must not reach the model.
    pub fn for_user(&self) -> &str {
        &self.reason
    }

    /// Returns the text for the model: the reason, or words of the host if the user does not trust the hook.
    pub fn for_model(&self) -> String {
        if self.trusted { self.reason.clone() } else { format!("blocked by {}", self.known_as) }
    }

    /// Like [`Ruling::for_model`], but never blank: it names the hook if there is no reason.
    pub fn needed_for_model(&self) -> String {
        let reason = self.for_model();
        if reason.trim().is_empty() { format!("blocked by {}", self.known_as) } else { reason }
    }

    /// Returns the reason why a call is allowed. It is never blank: it names the hook if there is no reason.
    pub fn needed_for_allow(&self) -> String {
        if self.reason.trim().is_empty() { format!("allowed by {}", self.by) } else { self.reason.clone() }
    }
}

/// A note for the user, with the hook that it is from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Warning {
    /// The hook that it is about or from; `None` for the chain itself.
    pub hook: Option<String>,
    /// The note.
    pub text: String,
}

impl Warning {
    /// Creates a note of the chain or the host itself.
    pub fn new(text: impl Into<String>) -> Self {
        Self { hook: None, text: text.into() }
    }

    /// Returns the note with the name of its hook, unless it begins with that, or with "skipped" and that.
    pub fn shown(&self) -> Cow<'_, str> {
        let Some(name) = self.hook.as_deref().map(|name| text::escape(name, limits::EXCERPT)) else {
            return Cow::Borrowed(&self.text);
        };
        if self.text.strip_prefix("skipped ").unwrap_or(&self.text).starts_with(&name) {
            return Cow::Borrowed(&self.text);
        }
        Cow::Owned(format!("{name}: {}", self.text))
    }
}

/// One change that one hook made, with the value before.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Change {
    /// The name of the value: `input`, `output`, `message`, `error`, `messages`, `callback`, `context`,
    /// `follow_up_messages`.
    pub what: &'static str,
    /// The value before; null if there was none.
    pub before: Value,
    /// The value after.
    pub after: Value,
}

/// The decision of all hooks of one event.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Verdict {
    /// The action must not happen (or, after a tool call, the agent must change course).
    pub block: Option<Ruling>,
    /// The user is to decide. Never together with `block`.
    pub ask: Option<Ruling>,
    /// The agent need not ask a question of its own about the call. Never together with `block` or `ask`.
    pub allowed: Option<Ruling>,
    /// True if a hook changed the value that the event is about. The event has the new value.
    pub modified: bool,
    /// Text for the model's next step, in run order.
    pub context: Vec<String>,
    /// Notes for the user, in run order.
    pub warnings: Vec<Warning>,
    /// Messages with which the agent goes on, in run order.
    pub follow_ups: Vec<String>,
    /// The name of the hook of each of them, in the same order, escaped.
    pub follow_ups_by: Vec<String>,
    /// Messages that are not applied, because hooks made the agent go on too often in a row.
    pub dropped_follow_ups: Vec<String>,
    /// The new conversation.
    pub mutate: Option<Vec<Message>>,
    /// The recipe to run.
    pub callback: Option<Callback>,
}

impl Verdict {
    /// Creates the verdict of a block.
    pub fn blocked(ruling: Ruling) -> Self {
        Self { block: Some(ruling), ..Self::default() }
    }

    /// Drops the follow-ups, because hooks made the agent go on too often in a row. The user gets this note.
    pub fn drop_follow_ups(&mut self, note: String) {
        self.dropped_follow_ups = std::mem::take(&mut self.follow_ups);
        self.follow_ups_by.clear();
        self.warnings.push(Warning { hook: None, text: note });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_shown_with_the_name_of_its_hook_once() {
        for (hook, text, want) in [
            (Some("guard"), "careful", "guard: careful"),
            (Some("guard"), "guard failed (exit)", "guard failed (exit)"),
            (Some("guard"), "skipped guard: not trusted", "skipped guard: not trusted"),
            (Some("guard"), "skipped lint: not trusted", "guard: skipped lint: not trusted"),
            (None, "hooks made the agent go on", "hooks made the agent go on"),
        ] {
            let warning = Warning { hook: hook.map(str::to_owned), text: text.to_owned() };
            assert_eq!(warning.shown(), want);
        }
    }

    #[test]
    fn an_answer_without_the_right_to_it_is_taken_out_and_a_block_stays() {
        let mut outcome = Outcome::block("no");
        outcome.context.push("text".into());
        assert_eq!(outcome.restrict(Answers::NONE).names(), ["inject"]);
        assert_eq!(outcome, Outcome::block("no"));
        let rotate = Callback { name: "rotate".into(), args: Vec::new() };
        let mut outcome = Outcome::block("no").and_callback(rotate);
        assert_eq!(outcome.restrict(Answers::NONE).names(), ["callback"]);
        assert_eq!(outcome, Outcome::block("no"));
        let mut outcome = Outcome::modify(1);
        assert_eq!(outcome.restrict(Answers::NONE).names(), ["modify"]);
        assert_eq!(outcome, Outcome::pass());
    }
}
