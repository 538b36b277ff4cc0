//! The reference agent: how an agent embeds hookbox.
//!
//! It is a real agent with real tools. Read `run.rs` first: it sends each event in its place, and obeys each
//! verdict on the next lines; that is all an agent has to do. The other files are one idea each.

#![allow(
    clippy::indexing_slicing,
    reason = "serde_json: a key that is missing reads as null and is made by writing"
)]

mod call;
mod conversation;
mod model;
mod recipe;
mod rotation;
mod run;
mod saved;
mod subagent;
mod tools;

use hookbox::manager::Manager;
use hookbox::session::Session;
use hookbox::{Document, InvokedBy, Report};

pub use conversation::Conversation;
pub use hookbox::session::Checkout;
#[cfg(feature = "openai")]
pub use model::OpenAi;
pub use model::{Model, Reply, Scripted};
pub use recipe::{Builtin, Recipe, Recipes, Steps};
pub use run::{MAX_ATTEMPTS, MAX_TURNS, MessageBlocked};
pub use saved::{Conversations, Saved, SavedError, SavedErrorKind, default_directory};
pub use subagent::MAX_DEPTH;
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
}

/// An agent: a model, tools, hooks, and the conversation that it is in.
pub struct Agent<M> {
    model: M,
    tools: Tools,
    manager: Manager,
    recipes: Recipes,
    saved: Option<Conversations>,
    watch: Box<dyn FnMut(Step<'_>)>,
    thread: Thread,
}

impl<M: Model> Agent<M> {
    /// Makes an agent with these hooks that works in the directory of `tools` and reports its steps to
    /// `watch`. It begins a new conversation, and saves none.
    pub fn new(model: M, tools: Tools, manager: Manager, watch: impl FnMut(Step<'_>) + 'static) -> Self {
        let conversation = Conversation::new();
        let session = manager.session(&conversation.id).cwd(tools.path().to_string_lossy()).agent(NAME);
        let thread = Thread::new(session, conversation);
        let recipes = Recipes::default();
        Self { model, tools, manager, recipes, saved: None, watch: Box::new(watch), thread }
    }

    /// Returns the hooks, for all its conversations.
    pub fn manager(&self) -> &Manager {
        &self.manager
    }

    /// Sets the recipes (default: the built-in ones).
    #[must_use]
    pub fn recipes(mut self, recipes: Recipes) -> Self {
        self.recipes = recipes;
        self
    }

    /// Saves the conversations here.
    #[must_use]
    pub fn save_in(mut self, conversations: Conversations) -> Self {
        self.saved = Some(conversations);
        self
    }

    /// Sets the repository and the branch.
    #[must_use]
    pub fn checkout(mut self, checkout: Checkout) -> Self {
        if let Some(repository) = checkout.repository {
            let session = self.thread.session.clone();
            self.thread.session = session.repository(repository, checkout.branch);
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
        let context = self.thread.outside().context();
        if context.invoked_by == InvokedBy::Subagent {
            return self.thread.outside().subagent(id);
        }
        let mut session = self.manager.session(id).cwd(context.cwd.clone()).agent(NAME);
        if let Some(repository) = &context.repository {
            session = session.repository(repository, context.branch.clone());
        }
        if let Some(recipe) = &context.recipe_name {
            session = session.recipe(recipe);
        }
        session
    }

    /// Saves a conversation with messages. A failure to save does not stop the work; the conversation of a
    /// sub-agent belongs to the call that started it.
    fn save(&mut self) {
        self.thread.tell();
        let is_own = self.thread.depth == 0 && self.thread.conversation.is_begun();
        let Some(conversations) = self.saved.as_ref().filter(|_| is_own) else { return };
        if let Err(error) = conversations.save(&self.thread.conversation) {
            (self.watch)(Step::Warning(&format!("the conversation is not saved: {error}")));
        }
    }

    /// Reports what the agent does because of a hook.
    fn because(&mut self, what: impl Into<String>) {
        (self.watch)(Step::Because(what.into()));
    }
}
