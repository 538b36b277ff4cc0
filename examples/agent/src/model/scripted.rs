//! A model that reads its answers from a script.

use anyhow::{Result, bail};
use hookbox::Usage;
use serde_json::{Value, json};

use super::{Model, Reply};

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

    fn scripted(&mut self, messages: &[Value], tools: &Value) -> Value {
        if tools.as_array().is_some_and(Vec::is_empty) {
            let text = format!("Summary of {} messages: the work goes well.", messages.len());
            return self.summaries.next().unwrap_or_else(|| json!({"text": text}));
        }
        self.replies.next().unwrap_or_else(|| json!({"text": "Done."}))
    }
}

impl Model for Scripted {
    async fn next(&mut self, messages: &[Value], tools: &Value) -> Result<Reply> {
        let reply = self.scripted(messages, tools);
        if let Some(error) = reply["error"].as_str() {
            bail!("{error}");
        }
        let text = reply["text"].as_str().unwrap_or_default().to_owned();
        let mut calls = Vec::new();
        for (number, call) in reply["calls"].as_array().into_iter().flatten().enumerate() {
            let id = format!("call-{}-{number}", messages.len());
            calls.push((id, call[0].as_str().unwrap_or_default().to_owned(), call[1].to_string()));
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
        Ok(Reply { message: message(&text, &calls), text, calls, usage })
    }
}

fn message(text: &str, calls: &[(String, String, String)]) -> Value {
    let mut message = json!({"role": "assistant", "content": text});
    if !calls.is_empty() {
        message["tool_calls"] = calls
            .iter()
            .map(|(id, name, arguments)| {
                json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
            })
            .collect();
    }
    message
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
