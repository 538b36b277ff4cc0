//! Models: an OpenAI-compatible endpoint, or a script.

#[cfg(feature = "openai")]
mod openai;
mod scripted;

use std::time::Duration;

use anyhow::{Error, Result};
use hookbox::Usage;
use serde_json::Value;

#[cfg(feature = "openai")]
pub use openai::OpenAi;
pub use scripted::Scripted;

/// One answer of a model.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The text.
    pub text: String,
    /// The tools it wants: id, name, and arguments as the model wrote them (JSON, or what should have been).
    pub calls: Vec<(String, String, String)>,
    /// The message as the endpoint wants it back.
    pub message: Value,
    /// Tokens of this question and answer, and of the window after it.
    pub usage: Usage,
}

/// Something that answers a conversation.
#[allow(async_fn_in_trait, reason = "used generically, on one task")]
pub trait Model {
    /// The next answer.
    async fn next(&mut self, messages: &[Value], tools: &Value) -> Result<Reply>;

    /// Returns the pause before a failed question is asked again, after so many attempts (from 1); `None` if
    /// another attempt would fail as well. By default there is no pause.
    fn pause(&self, _error: &Error, _attempt: u32) -> Option<Duration> {
        Some(Duration::ZERO)
    }
}
