//! The conversation, and the thread of work that it belongs to.

use std::sync::atomic::{AtomicU32, Ordering};

use hookbox::event::AbsentTokens;
use hookbox::session::Session;
use hookbox::{Document, Message, Role, Usage};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The system prompt.
const PROMPT: &str = "You are a coding agent. Use the tools; stop when the task is done.";

/// The beginning of a tool call in the conversation that hooks see, as kodelet writes it.
const CALL: &str = "Using tool: ";

/// The beginning of a tool's result there.
const RESULT: &str = "Tool result:\n";

/// A conversation, in the form of the endpoint, and its usage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Conversation {
    /// The id: letters, digits, `-`, `_` and `.`, because a file is named after it.
    pub id: String,
    /// The messages, the system prompt first.
    pub messages: Vec<Value>,
    /// The tokens: sent and produced in total, and those in the window now.
    #[serde(with = "SavedUsage")]
    pub usage: Usage,
}

/// The tokens in a file. All of them are known.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Usage", deny_unknown_fields)]
struct SavedUsage {
    #[serde(default)]
    input_tokens: u64,
    #[serde(default)]
    output_tokens: u64,
    #[serde(default)]
    current_context_window: u64,
    #[serde(default)]
    max_context_window: u64,
    #[serde(skip)]
    absent: AbsentTokens,
}

impl Conversation {
    /// Makes an empty conversation.
    pub fn new() -> Self {
        let messages = vec![json!({"role": "system", "content": PROMPT})];
        Self { id: new_id(), messages, usage: Usage::default() }
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
        let mut fresh = Self { id: new_id(), ..self.clone() };
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

    /// The conversation as hooks see it: what the user and the model wrote, with tool calls and their results
    /// as text. A hook that replaces the conversation by a part of it thus leaves no result without its call.
    /// The system prompt and the text of hooks are left out.
    pub(crate) fn document(&self) -> Document {
        let messages = self.messages.iter().flat_map(|message| {
            let text = message["content"].as_str().filter(|text| !text.is_empty());
            let said = |role: Role, text: &str| json!(Message::new(role, text));
            let (said, calls) = match message["role"].as_str() {
                Some("user") => (text.map(|text| said(Role::User, text)), &Value::Null),
                Some("tool") => {
                    let result = format!("{RESULT}{}", text.unwrap_or_default());
                    (Some(said(Role::User, &result)), &Value::Null)
                }
                Some("assistant") => (text.map(|text| said(Role::Assistant, text)), &message["tool_calls"]),
                _ => (None, &Value::Null),
            };
            let calls = calls.as_array().into_iter().flatten().map(|call| {
                let function = &call["function"];
                let name = function["name"].as_str().unwrap_or_default();
                let input = function["arguments"].as_str().unwrap_or_default();
                json!(Message::new(Role::Assistant, format!("{CALL}{name} with input: {input}")))
            });
            said.into_iter().chain(calls)
        });
        Document::new(messages.collect())
    }

    /// Returns whether it has any message.
    pub(crate) fn is_begun(&self) -> bool {
        self.messages.iter().any(|message| message["role"] != "system")
    }

    /// Returns the user's first message.
    pub fn title(&self) -> Option<&str> {
        let first = self.messages.iter().find(|message| message["role"] == "user")?;
        first["content"].as_str()?.lines().find(|line| !line.trim().is_empty())
    }

    fn bytes(&self) -> u128 {
        self.messages.iter().map(|message| message.to_string().len() as u128).sum()
    }
}

impl Default for Conversation {
    fn default() -> Self {
        Self::new()
    }
}

/// An id that no other conversation of this user has: the second, the process, and a count.
fn new_id() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let now = jiff::Timestamp::now().strftime("%Y%m%d-%H%M%S").to_string();
    format!("{now}-{}-{count}", std::process::id())
}

/// A conversation at work: its session, and what hooks want the model to know next.
pub(crate) struct Thread {
    /// The session that gets its events.
    pub(crate) session: Session,
    /// The sessions around the recipes that callbacks run, the outermost first.
    pub(crate) outer: Vec<Session>,
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
        Self { session, outer: Vec::new(), conversation, notes: Vec::new(), resumed: false, depth: 0 }
    }

    /// Gives the model what hooks want it to know.
    pub(crate) fn tell(&mut self) {
        for text in std::mem::take(&mut self.notes) {
            self.conversation.push("system", &text);
        }
    }

    /// Marks the events that follow with a recipe, until [`Thread::leave_recipe`].
    pub(crate) fn enter_recipe(&mut self, name: &str) {
        let inside = self.outside().clone().recipe(name);
        self.outer.push(std::mem::replace(&mut self.session, inside));
    }

    /// Restores the session before the recipe.
    pub(crate) fn leave_recipe(&mut self) {
        if let Some(session) = self.outer.pop() {
            self.session = session;
        }
    }

    /// Restores the session before every recipe of a callback.
    pub(crate) fn leave_recipes(&mut self) {
        self.session = self.outside().clone();
        self.outer.clear();
    }

    /// The session without the recipe of a callback.
    pub(crate) fn outside(&self) -> &Session {
        self.outer.first().unwrap_or(&self.session)
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
