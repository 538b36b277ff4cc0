//! The conversation, and the thread of work that it belongs to.

use std::sync::atomic::{AtomicU32, Ordering};

use hookbox::session::Session;
use hookbox::{Document, Message, Role, Usage};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The system prompt.
const PROMPT: &str = "You are a coding agent. Use the tools; stop when the task is done.";

/// A conversation, in the form of the endpoint, and its usage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Conversation {
    /// The id: a file may be named after it.
    pub id: String,
    /// The messages, the system prompt first.
    pub messages: Vec<Value>,
    /// The tokens: sent and produced in total, and those in the window now. The model counts anew after a resume.
    #[serde(skip)]
    pub usage: Usage,
}

impl Conversation {
    /// Makes an empty conversation.
    pub(crate) fn new() -> Self {
        // The second, the process and a count: no other conversation of this user has the id.
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let now = jiff::Timestamp::now().strftime("%Y%m%d-%H%M%S").to_string();
        let id = format!("{now}-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        Self { id, messages: vec![json!({"role": "system", "content": PROMPT})], usage: Usage::default() }
    }

    /// Adds a message.
    pub(crate) fn push(&mut self, role: &str, text: &str) {
        self.messages.push(json!({"role": role, "content": text}));
    }

    /// Keeps the system prompt and goes on with these messages.
    pub(crate) fn replace(&mut self, messages: &[Message]) {
        let before = self.bytes();
        self.messages.truncate(1);
        self.messages.extend(messages.iter().map(|message| json!(message)));
        // The model will count anew with its next answer; until then the share that is left is the best
        // guess.
        let tokens = u128::from(self.usage.current_context_window) * self.bytes() / before.max(1);
        self.usage.current_context_window = u64::try_from(tokens).unwrap_or(u64::MAX);
    }

    /// Makes the fresh conversation that continues this one, with `handoff` as its only memory of it.
    pub(crate) fn hand_over(&self, handoff: &str) -> Self {
        let mut fresh = Self { id: Self::new().id, ..self.clone() };
        fresh.replace(&[Message::user(handoff)]);
        (fresh.usage.input_tokens, fresh.usage.output_tokens) = (0, 0);
        fresh
    }

    /// Counts the usage of an answer.
    pub(crate) fn spend(&mut self, answer: Usage) {
        let so_far = self.usage;
        self.usage = Usage {
            input_tokens: so_far.input_tokens.saturating_add(answer.input_tokens),
            output_tokens: so_far.output_tokens.saturating_add(answer.output_tokens),
            ..answer
        };
    }

    /// Returns the usage for hooks; none before the model has answered.
    pub(crate) fn known_usage(&self) -> Option<Usage> {
        (self.usage != Usage::default()).then_some(self.usage)
    }

    /// The conversation as hooks see it, in kodelet's words: what the user and the model wrote, with tool calls and their
    /// results as text. A hook that replaces the conversation by a part of it thus leaves no result without its call.
    /// The system prompt and the text of hooks are left out.
    pub(crate) fn document(&self) -> Document {
        let mut seen = Vec::new();
        for message in &self.messages {
            let text = message["content"].as_str().unwrap_or_default();
            match message["role"].as_str() {
                Some("tool") => seen.push(Message::user(format!("Tool result:\n{text}"))),
                Some("user") if !text.is_empty() => seen.push(Message::user(text)),
                Some("assistant") if !text.is_empty() => seen.push(Message::new(Role::Assistant, text)),
                _ => {}
            }
            for call in message["tool_calls"].as_array().into_iter().flatten() {
                let field = |name: &str| call["function"][name].as_str().unwrap_or_default();
                let using = format!("Using tool: {} with input: {}", field("name"), field("arguments"));
                seen.push(Message::new(Role::Assistant, using));
            }
        }
        Document::new(json!(seen))
    }

    /// Returns whether it has any message.
    pub(crate) fn is_begun(&self) -> bool {
        self.messages.iter().any(|message| message["role"] != "system")
    }

    fn bytes(&self) -> u128 {
        self.messages.iter().map(|message| message.to_string().len() as u128).sum()
    }
}

/// A conversation at work: its session, and what hooks want the model to know next.
pub(crate) struct Thread {
    /// The session that gets its events.
    pub(crate) session: Session,
    /// The session without the recipe of a callback.
    pub(crate) outside: Session,
    pub(crate) conversation: Conversation,
    /// Text of hooks that the model has not yet been given.
    pub(crate) notes: Vec<String>,
    /// True if it was saved before and continues now.
    pub(crate) resumed: bool,
    /// The number of agents above this one.
    pub(crate) depth: u32,
}

impl Thread {
    pub(crate) fn new(session: Session, conversation: Conversation) -> Self {
        let outside = session.clone();
        Self { session, outside, conversation, notes: Vec::new(), resumed: false, depth: 0 }
    }

    /// Gives the model what hooks want it to know.
    pub(crate) fn tell(&mut self) {
        for text in std::mem::take(&mut self.notes) {
            self.conversation.push("system", &text);
        }
    }

    /// Marks the events that follow with a recipe, and returns the session before it.
    pub(crate) fn enter_recipe(&mut self, name: &str) -> Session {
        let inside = self.outside.clone().recipe(name);
        std::mem::replace(&mut self.session, inside)
    }

    /// Restores the session before every recipe of a callback.
    pub(crate) fn leave_recipes(&mut self) {
        self.session = self.outside.clone();
    }
}
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_conversation_has_an_id_of_its_own() {
        assert_ne!(Conversation::new().id, Conversation::new().id);
    }

    #[test]
    fn hooks_read_tool_calls_and_results_as_text_of_the_user_and_the_assistant() {
        let call =
            |id: &str| json!({"id": id, "function": {"name": "bash", "arguments": "{\"command\":\"ls\"}"}});
        let mut conversation = Conversation::new();
        conversation.messages.extend([
            json!({"role": "user", "content": "list it"}),
            json!({"role": "assistant", "content": "I try.", "tool_calls": [call("1"), call("2")]}),
            json!({"role": "tool", "tool_call_id": "1", "content": "a.rs"}),
            json!({"role": "tool", "tool_call_id": "2", "content": ""}),
            json!({"role": "system", "content": "the text of a hook"}),
            json!({"role": "assistant", "content": null, "tool_calls": [call("3")]}),
        ]);
        let using =
            json!({"role": "assistant", "content": "Using tool: bash with input: {\"command\":\"ls\"}"});
        let want = json!([
            {"role": "user", "content": "list it"},
            {"role": "assistant", "content": "I try."},
            using,
            using,
            {"role": "user", "content": "Tool result:\na.rs"},
            {"role": "user", "content": "Tool result:\n"},
            using,
        ]);
        assert_eq!(conversation.document().value(), &want);
    }

    #[test]
    fn tokens_add_up_and_a_shorter_conversation_fills_less_of_the_window() {
        let mut conversation = Conversation::new();
        conversation.push("user", &"x".repeat(10_000));
        let answer = |input, current| Usage {
            input_tokens: input,
            output_tokens: 1,
            current_context_window: current,
            max_context_window: 1_000,
            ..Usage::default()
        };
        conversation.spend(answer(10, 400));
        conversation.spend(answer(u64::MAX, 800));
        assert_eq!((conversation.usage.input_tokens, conversation.usage.output_tokens), (u64::MAX, 2));
        assert_eq!(conversation.usage.current_context_window, 800);
        conversation.replace(&[Message::user("short")]);
        assert!(conversation.usage.current_context_window < 100, "{:?}", conversation.usage);
        assert_eq!(conversation.messages.len(), 2);
    }
}
