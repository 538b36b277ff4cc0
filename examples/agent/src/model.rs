//! Models. This one reads its answers from a script; another one asks an endpoint.

use anyhow::{Result, bail};
use hookbox::Usage;
use serde_json::{Value, json};

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
    /// The next answer. A question for a summary has no tools.
    async fn next(&mut self, messages: &[Value], tools: &Value) -> Result<Reply>;
}

/// A model with scripted answers. If the script has no usage, it grows with the conversation.
pub struct Scripted {
    replies: std::vec::IntoIter<Value>,
    summaries: std::vec::IntoIter<Value>,
    window: u64,
}

impl Scripted {
    /// Makes a model with these answers and a context window of this size. After the last answer it has
    /// nothing more to say. An answer is one of
    ///
    /// * `{"text", "calls": [[name, input], …], "usage": {…}}`, where `usage` has any fields of [`Usage`];
    /// * `{"error"}`: the model fails, with this text.
    pub fn new(replies: Vec<Value>, window: u64) -> Self {
        Self { replies: replies.into_iter(), summaries: Vec::new().into_iter(), window }
    }

    /// Sets the answers to questions without tools, such as the one for a summary: they are not part of the
    /// script.
    #[must_use]
    pub fn summaries(mut self, summaries: Vec<Value>) -> Self {
        self.summaries = summaries.into_iter();
        self
    }
}

impl Model for Scripted {
    async fn next(&mut self, messages: &[Value], tools: &Value) -> Result<Reply> {
        let reply = if tools.as_array().is_some_and(Vec::is_empty) {
            let text = format!("Summary of {} messages: the work goes well.", messages.len());
            self.summaries.next().unwrap_or_else(|| json!({"text": text}))
        } else {
            self.replies.next().unwrap_or_else(|| json!({"text": "Done."}))
        };
        if let Some(error) = reply["error"].as_str() {
            bail!("{error}");
        }
        let text = reply["text"].as_str().unwrap_or_default().to_owned();
        let (mut calls, mut wire) = (Vec::new(), Vec::new());
        for call in reply["calls"].as_array().into_iter().flatten() {
            let (name, arguments) = (call[0].as_str().unwrap_or_default().to_owned(), call[1].to_string());
            let id = format!("call-{}-{}", messages.len(), calls.len());
            let function = json!({"name": name, "arguments": arguments});
            wire.push(json!({"id": id, "type": "function", "function": function}));
            calls.push((id, name, arguments));
        }
        let mut message = json!({"role": "assistant", "content": text});
        if !wire.is_empty() {
            message["tool_calls"] = wire.into();
        }
        let tokens = json!(messages).to_string().len() as u64 / 4;
        let count = |field: &str, grown: u64| reply["usage"][field].as_u64().unwrap_or(grown);
        let usage = Usage {
            input_tokens: count("input_tokens", tokens),
            output_tokens: count("output_tokens", text.len() as u64 / 4),
            current_context_window: count("current_context_window", tokens),
            max_context_window: count("max_context_window", self.window),
            ..Usage::default()
        };
        Ok(Reply { text, calls, message, usage })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_script_may_say_what_an_answer_cost_and_that_it_fails() {
        let mut model = Scripted::new(
            vec![
                json!({"text": "a", "usage": {"current_context_window": 900}}),
                json!({"error": "overloaded"}),
            ],
            1_000,
        );
        let tools = json!([{}]);
        let usage = model.next(&[], &tools).await.unwrap().usage;
        assert_eq!((usage.current_context_window, usage.max_context_window), (900, 1_000));
        assert_eq!(model.next(&[], &tools).await.unwrap_err().to_string(), "overloaded");
        assert_eq!(model.next(&[], &tools).await.unwrap().text, "Done.");
        let summary = model.summaries(vec![json!({"text": "short"})]).next(&[], &json!([])).await;
        assert_eq!(summary.unwrap().text, "short");
    }
}
