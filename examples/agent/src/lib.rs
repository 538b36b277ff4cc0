//! The reference agent: how an agent embeds hookbox.
//!
//! It is a real agent with real tools. Read `run.rs` first: it sends each event in its place, and obeys each
//! verdict on the next lines; that is all an agent has to do. The other files are one idea each.

#![allow(clippy::indexing_slicing, reason = "serde_json: a missing key reads as null")]

mod call;
mod compact;
mod conversation;
mod model;
mod run;
mod tools;

use std::collections::BTreeMap;

use hookbox::manager::Manager;
use hookbox::session::Session;
use hookbox::{Document, InvokedBy, Report};

pub use call::MAX_DEPTH;
pub use conversation::Conversation;
pub use hookbox::session::Checkout;
pub use model::{Model, Reply, Scripted};
pub use run::{MAX_TURNS, MessageBlocked};
pub use tools::{Ran, Tools};

use conversation::Thread;

/// The agent's name in every event.
const NAME: &str = "reference-agent";

/// A step of the agent, for its observer.
#[derive(Debug)]
pub enum Step<'a> {
    /// The text of the model.
    Said(&'a str),
    /// The model wants to call a tool, with this input.
    Wants(&'a str, &'a Document),
    /// A tool has run and gave this back.
    Ran(&'a str, &'a str),
    /// An event was sent to the hooks.
    Event(&'a Report),
    /// A note for the user, of a hook or of the agent itself.
    Warning(&'a str),
    /// The code with which the user lets a blocked call through, in a terminal of their own. The model never reads it.
    Code(&'a str),
    /// A change of the agent's behaviour because of a hook.
    Because(String),
    /// The conversation is whole, with nothing open: the moment to save it.
    Conversation(&'a Conversation),
}

/// An agent: a model, tools, hooks, and the conversation that it is in.
pub struct Agent<M> {
    model: M,
    tools: Tools,
    manager: Manager,
    recipes: BTreeMap<String, String>,
    watch: Box<dyn FnMut(Step<'_>)>,
    thread: Thread,
}

impl<M: Model> Agent<M> {
    /// Makes an agent with these hooks that works in the directory of `tools` and reports its steps to
    /// `watch`. It begins a new conversation.
    pub fn new(model: M, tools: Tools, manager: Manager, watch: impl FnMut(Step<'_>) + 'static) -> Self {
        let conversation = Conversation::new();
        let session = manager.session(&conversation.id).cwd(tools.path().to_string_lossy()).agent(NAME);
        let thread = Thread::new(session, conversation);
        Self { model, tools, manager, recipes: BTreeMap::new(), watch: Box::new(watch), thread }
    }

    /// Sets the recipes: messages to the model by name, with `{name}` for an argument. `compact` and `rotate` are built in.
    #[must_use]
    pub fn recipes(mut self, recipes: BTreeMap<String, String>) -> Self {
        self.recipes = recipes;
        self
    }

    /// Sets the repository and the branch.
    #[must_use]
    pub fn checkout(mut self, checkout: Checkout) -> Self {
        if let Some(repository) = checkout.repository {
            let session = self.thread.session.clone().repository(repository, checkout.branch);
            self.thread = Thread { outside: session.clone(), session, ..self.thread };
        }
        self
    }

    /// Continues a saved conversation.
    #[must_use]
    pub fn resume(mut self, conversation: Conversation) -> Self {
        let session = self.fresh_session(&conversation.id);
        self.thread = Thread { resumed: true, ..Thread::new(session, conversation) };
        self
    }

    /// The conversation that it is in.
    pub fn conversation(&self) -> &Conversation {
        &self.thread.conversation
    }

    /// Makes a session for another conversation of the same agent in the same place; nothing of the old one
    /// counts in it.
    fn fresh_session(&self, id: &str) -> Session {
        let context = self.thread.outside.context();
        if context.invoked_by == InvokedBy::Subagent {
            return self.thread.outside.subagent(id);
        }
        let mut session = self.manager.session(id).cwd(context.cwd.clone()).agent(NAME);
        if let Some(repository) = &context.repository {
            session = session.repository(repository, context.branch.clone());
        }
        match &context.recipe_name {
            Some(recipe) => session.recipe(recipe),
            None => session,
        }
    }

    /// Offers a conversation with messages to be saved. That of a sub-agent belongs to the call that started it.
    fn offer(&mut self) {
        self.thread.tell();
        if self.thread.depth == 0 && self.thread.conversation.is_begun() {
            (self.watch)(Step::Conversation(&self.thread.conversation));
        }
    }

    /// Reports what the agent does because of a hook.
    fn because(&mut self, what: impl Into<String>) {
        (self.watch)(Step::Because(what.into()));
    }

    fn warn(&mut self, what: &str) {
        (self.watch)(Step::Warning(what));
    }
}
