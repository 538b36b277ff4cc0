//! Outcomes, what hooks answer, and the fold that makes one verdict of them. Nothing here does I/O.

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::event::{Document, Event, EventData, EventName, Message};
use crate::text;

/// How much injected context one event may carry, in bytes. The oldest text is kept.
pub const MAX_CONTEXT: usize = 16 * 1024;

/// A recipe that the agent shall run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Callback {
    /// Its name, such as `compact` or `rotate`.
    pub name: String,
    /// Its arguments, in the order they were given.
    pub args: Vec<(String, String)>,
}

/// What a hook wants to happen.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Action {
    /// Nothing.
    #[default]
    Pass,
    /// Stop it, for this reason.
    Block(String),
    /// Let the user decide, for this reason.
    Ask(String),
    /// Replace what the event is about by this value.
    Modify(Value),
    /// Replace the conversation.
    Mutate(Vec<Message>),
    /// Run a recipe.
    Callback(Callback),
}

/// What one hook answers to one event.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// What is to happen.
    pub action: Action,
    /// Messages of the user with which the agent goes on; also beside `Mutate` and `Callback`.
    pub follow_ups: Vec<String>,
    /// Text for the model's next step.
    pub context: Vec<String>,
    /// Notes for the user.
    pub warnings: Vec<String>,
    /// For reports; without effect.
    pub metadata: Map<String, Value>,
    /// What the call cost and said beside its answer.
    pub spent: Spent,
}

impl Outcome {
    /// Nothing is to happen.
    pub fn pass() -> Self {
        Self::default()
    }

    /// Stop it.
    pub fn block(reason: impl Into<String>) -> Self {
        Action::Block(reason.into()).into()
    }

    /// Let the user decide.
    pub fn ask(reason: impl Into<String>) -> Self {
        Action::Ask(reason.into()).into()
    }

    /// Replace what the event is about.
    pub fn modify(value: impl Into<Value>) -> Self {
        Action::Modify(value.into()).into()
    }

    /// Go on with this message.
    pub fn follow_up(message: impl Into<String>) -> Self {
        Self { follow_ups: vec![message.into()], ..Self::default() }
    }

    /// Give the model this text.
    pub fn inject(text: impl Into<String>) -> Self {
        Self { context: vec![text.into()], ..Self::default() }
    }

    /// The same outcome with a note for the user.
    #[must_use]
    pub fn warn(mut self, note: impl Into<String>) -> Self {
        self.warnings.push(note.into());
        self
    }

    /// The rights that this outcome uses.
    pub fn uses(&self) -> Answers {
        Answers {
            modify: matches!(self.action, Action::Modify(_)),
            inject: !self.context.is_empty(),
            follow_up: !self.follow_ups.is_empty(),
            mutate: matches!(self.action, Action::Mutate(_)),
            callback: matches!(self.action, Action::Callback(_)),
        }
    }

    /// Takes out what `allowed` does not hold, and returns what was taken out.
    pub fn restrict(&mut self, allowed: Answers) -> Answers {
        let refused = self.uses().without(allowed);
        if refused.modify || refused.mutate || refused.callback {
            self.action = Action::Pass;
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

/// What a call cost, and what it said beside its answer. Fields that a kind of hook cannot measure are `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Fuel (wasm instructions, about).
    pub fuel: Option<u64>,
    /// The most memory it held at once, in bytes.
    pub memory_peak: Option<u64>,
    /// What it wrote to standard error or the log, cut at the budget's limit; not yet escaped.
    pub log: String,
}

/// The answers that a hook may give beside pass, block, ask and warnings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
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
}

impl Answers {
    /// Every answer.
    pub const ALL: Self = Self { modify: true, inject: true, follow_up: true, mutate: true, callback: true };

    /// No answer beside pass, block, ask and warnings.
    pub const NONE: Self =
        Self { modify: false, inject: false, follow_up: false, mutate: false, callback: false };

    /// The answers of `self` that `other` does not have.
    #[must_use]
    pub fn without(self, other: Self) -> Self {
        Self {
            modify: self.modify && !other.modify,
            inject: self.inject && !other.inject,
            follow_up: self.follow_up && !other.follow_up,
            mutate: self.mutate && !other.mutate,
            callback: self.callback && !other.callback,
        }
    }

    /// The answers that both have.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        self.without(self.without(other))
    }

    /// Their names, as `describe` and `inspect` write them.
    pub fn names(self) -> Vec<&'static str> {
        [
            (self.modify, "modify"),
            (self.inject, "inject"),
            (self.follow_up, "follow-up"),
            (self.mutate, "mutate"),
            (self.callback, "callback"),
        ]
        .into_iter()
        .filter_map(|(has, name)| has.then_some(name))
        .collect()
    }
}

/// A block or a question, and whose it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ruling {
    /// Why, in the hook's words. For the user: text of an untrusted hook stands here too, escaped and cut.
    pub reason: String,
    /// The hook's name.
    pub by: String,
    /// Whether the user trusts that hook; what another says never reaches the model.
    pub trusted: bool,
}

impl Ruling {
    /// What the model may read: the reason, or only the hook's name where the user does not trust it.
    pub fn for_model(&self) -> String {
        if self.trusted { self.reason.clone() } else { format!("blocked by {}", self.by) }
    }
}

/// A note for the user, and whose it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The hook that it is about or from; `None` for the chain itself.
    pub hook: Option<String>,
    /// The note.
    pub text: String,
}

/// One change that one hook made, with what stood there before.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// What it changed: `input`, `output`, `message`, `error`, `messages`, `callback`, `context`, `follow_up_messages`.
    pub what: &'static str,
    /// What stood there before; null where nothing did.
    pub before: Value,
    /// What stands there now.
    pub after: Value,
}

/// What the hooks of one event decided together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    /// It must not happen (or, after a tool call, the agent must change course).
    pub block: Option<Ruling>,
    /// The user is to decide. Never together with `block`.
    pub ask: Option<Ruling>,
    /// Whether what the event is about was changed; the new value stands in the event.
    pub modified: bool,
    /// Text for the model's next step, in run order.
    pub context: Vec<String>,
    /// Notes for the user, in run order.
    pub warnings: Vec<Warning>,
    /// Messages with which the agent goes on, in run order.
    pub follow_ups: Vec<String>,
    /// The new conversation.
    pub mutate: Option<Vec<Message>>,
    /// The recipe to run.
    pub callback: Option<Callback>,
}

/// Who gave an outcome, as far as the fold has to know.
#[derive(Clone, Copy, Debug)]
pub struct Author<'a> {
    /// The hook's name.
    pub name: &'a str,
    /// Whether the user trusts it.
    pub trusted: bool,
}

/// How much of an untrusted hook's text the user is shown, in bytes.
const UNTRUSTED_TEXT: usize = 512;

/// Folds outcomes, one after another, into a verdict, and changes the event as they ask.
#[derive(Debug, Default)]
pub struct Fold {
    verdict: Verdict,
    /// Hooks that changed what the event is about.
    changed_by: Vec<String>,
    /// The hook whose `mutate` or `callback` holds.
    turned_by: Option<String>,
}

impl Fold {
    /// An empty fold.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether a hook has blocked: the chain is at its end.
    pub fn is_blocked(&self) -> bool {
        self.verdict.block.is_some()
    }

    /// Adds a note for the user.
    pub fn warn(&mut self, hook: Option<&str>, text: impl Into<String>) {
        self.verdict.warnings.push(Warning { hook: hook.map(str::to_owned), text: text.into() });
    }

    /// Blocks for a reason of the host's own, such as a failed guard.
    pub fn block(&mut self, name: &str, reason: String) {
        self.verdict.block.get_or_insert(Ruling { reason, by: name.to_owned(), trusted: true });
    }

    /// Applies what one hook answered. What the event does not allow is not applied, and is a warning.
    pub fn apply(&mut self, event: &mut Event, author: Author<'_>, outcome: Outcome) -> Vec<Change> {
        let mut changes = Vec::new();
        let allows = event.name().allows();
        for note in outcome.warnings {
            let note = if author.trusted {
                note
            } else {
                format!("{} (not trusted) says: {}", author.name, text::escape(&note, UNTRUSTED_TEXT))
            };
            self.warn(Some(author.name), note);
        }
        if !outcome.context.is_empty() {
            if allows.inject {
                self.inject(author, outcome.context, &mut changes);
            } else {
                self.not_allowed(author, event, "inject context into");
            }
        }
        if !outcome.follow_ups.is_empty() {
            if allows.follow_up {
                changes.push(Change {
                    what: "follow_up_messages",
                    before: json!(self.verdict.follow_ups),
                    after: json!(outcome.follow_ups),
                });
                self.verdict.follow_ups.extend(outcome.follow_ups);
            } else {
                self.not_allowed(author, event, "follow up on");
            }
        }
        self.act(event, author, outcome.action, &mut changes);
        changes
    }

    fn act(&mut self, event: &mut Event, author: Author<'_>, action: Action, changes: &mut Vec<Change>) {
        let allows = event.name().allows();
        match action {
            Action::Pass => {}
            Action::Block(reason) if allows.block => {
                self.verdict.block.get_or_insert(ruling(author, reason));
            }
            Action::Block(_) => self.not_allowed(author, event, "block"),
            Action::Ask(reason) if allows.ask => {
                self.verdict.ask.get_or_insert(ruling(author, reason));
            }
            Action::Ask(_) => self.not_allowed(author, event, "ask at"),
            Action::Modify(value) if allows.modify => self.modify(event, author, value, changes),
            Action::Modify(_) => self.not_allowed(author, event, "modify"),
            Action::Mutate(messages) if allows.mutate => {
                if self.may_turn(author, "replace the conversation") {
                    changes.push(Change { what: "messages", before: Value::Null, after: json!(messages) });
                    self.verdict.mutate = Some(messages);
                }
            }
            Action::Mutate(_) => self.not_allowed(author, event, "replace the conversation at"),
            Action::Callback(callback) if allows.callback => {
                if self.verdict.callback.as_ref() != Some(&callback) && self.may_turn(author, "run a recipe")
                {
                    changes.push(Change { what: "callback", before: Value::Null, after: json!(callback) });
                    self.verdict.callback = Some(callback);
                }
            }
            Action::Callback(_) => self.not_allowed(author, event, "run a recipe at"),
        }
    }

    /// The verdict.
    pub fn finish(self, event: &Event) -> Verdict {
        let mut verdict = self.verdict;
        if let [_, _, ..] = self.changed_by.as_slice() {
            let names = self.changed_by.join(", ");
            let text =
                format!("several hooks changed the same value, each what the one before left: {names}");
            verdict.warnings.push(Warning { hook: None, text });
        }
        if verdict.block.is_some() {
            verdict.ask = None;
            // What was blocked does not happen, so a new input has no use. A tool that has run stays run: its
            // output must stay redacted.
            verdict.modified &= event.name() == EventName::AfterToolCall;
        }
        verdict
    }

    fn inject(&mut self, author: Author<'_>, texts: Vec<String>, changes: &mut Vec<Change>) {
        let held: usize = self.verdict.context.iter().map(String::len).sum();
        let mut room = MAX_CONTEXT.saturating_sub(held);
        let mut cut = 0;
        let mut added = Vec::new();
        for text in texts {
            let kept = text::prefix(&text, room);
            cut += text.len() - kept.len();
            room -= kept.len();
            if !kept.is_empty() {
                added.push(kept.to_owned());
            }
        }
        if cut > 0 {
            let note = format!(
                "{cut} bytes of context from {} were left out: an event carries {MAX_CONTEXT} at most",
                author.name
            );
            self.warn(Some(author.name), note);
        }
        changes.push(Change { what: "context", before: json!(self.verdict.context), after: json!(added) });
        self.verdict.context.extend(added);
    }

    fn modify(&mut self, event: &mut Event, author: Author<'_>, value: Value, changes: &mut Vec<Change>) {
        let (what, before) = match &mut event.data {
            EventData::BeforeToolCall(call) => {
                ("input", std::mem::replace(&mut call.input, Document::new(value.clone())).value().clone())
            }
            EventData::AfterToolCall(result) => (
                "output",
                std::mem::replace(&mut result.output, Document::new(value.clone())).value().clone(),
            ),
            EventData::UserMessageSend { message } => {
                ("message", json!(message.replace(into_text(value.clone()))))
            }
            EventData::OnError(error) => {
                ("error", json!(std::mem::replace(&mut error.message, into_text(value.clone()))))
            }
            _ => return,
        };
        self.verdict.modified = true;
        self.changed_by.push(author.name.to_owned());
        changes.push(Change { what, before, after: value });
    }

    /// Whether this hook is the first to turn the conversation; a later one is a conflict.
    fn may_turn(&mut self, author: Author<'_>, what: &str) -> bool {
        if let Some(first) = &self.turned_by {
            let text =
                format!("{} wants to {what}, but {first} came first: not applied (conflict)", author.name);
            self.warn(Some(author.name), text);
            return false;
        }
        self.turned_by = Some(author.name.to_owned());
        true
    }

    fn not_allowed(&mut self, author: Author<'_>, event: &Event, what: &str) {
        let text = format!("{} cannot {what} {}: not applied", author.name, event.name());
        self.warn(Some(author.name), text);
    }
}

fn ruling(author: Author<'_>, reason: String) -> Ruling {
    let reason = if author.trusted { reason } else { text::escape(&reason, UNTRUSTED_TEXT) };
    Ruling { reason, by: author.name.to_owned(), trusted: author.trusted }
}

/// A changed message or error: a JSON string stands for its text, anything else for its JSON.
fn into_text(value: Value) -> String {
    match value {
        Value::String(text) => text,
        other => other.to_string(),
    }
}
