//! Messages of a conversation, as hooks read and write them.

use serde::{Deserialize, Serialize};

named! {
    /// The author of a message.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    pub enum Role {
        /// The user.
        User = "user",
        /// The agent's model.
        Assistant = "assistant",
    }
}

impl Role {
    /// The names of all roles, for messages.
    pub(crate) const NAMES: &'static str = "\"user\" or \"assistant\"";

    /// Returns the role of this name; `None` for any other text.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::User, Self::Assistant].into_iter().find(|role| role.as_str() == name)
    }
}

/// One message of a conversation, as `mutate` writes it. It has only text: an agent writes a tool call and its
/// result as text, so that no result can lose its call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Message {
    /// The author.
    pub role: Role,
    /// The text.
    pub content: String,
}

impl Message {
    /// Creates a message of this role.
    pub fn new(role: Role, content: impl Into<String>) -> Self {
        Self { role, content: content.into() }
    }

    /// Creates a message of the user.
    pub fn user(content: impl Into<String>) -> Self {
        Self::new(Role::User, content)
    }
}
