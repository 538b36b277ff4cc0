//! Models: an OpenAI-compatible endpoint, or a script.

#![allow(
    clippy::indexing_slicing,
    reason = "serde_json: a key that is missing reads as null and is made by writing"
)]

use anyhow::Result;
use hookbox::Usage;
use serde_json::{Value, json};

/// One answer of a model.
#[derive(Clone, Debug)]
pub struct Reply {
    /// What it said.
    pub text: String,
    /// The tools it wants: id, name, and arguments as the model wrote them (JSON, or what should have been).
    pub calls: Vec<(String, String, String)>,
    /// The message as the endpoint wants it back.
    pub message: Value,
    /// Tokens.
    pub usage: Usage,
}

/// Something that answers a conversation.
#[allow(async_fn_in_trait, reason = "used generically, on one task")]
pub trait Model {
    /// The next answer.
    async fn next(&mut self, messages: &[Value], tools: &Value) -> Result<Reply>;
}

/// A model that reads its answers from a script; the usage grows with the conversation.
pub struct Scripted {
    replies: std::vec::IntoIter<Value>,
    window: u64,
}

impl Scripted {
    /// A model that gives these answers, each `{"text", "calls": [[name, input], …]}`, and whose context window
    /// holds so many tokens. After the last it has nothing more to say.
    pub fn new(replies: Vec<Value>, window: u64) -> Self {
        Self { replies: replies.into_iter(), window }
    }
}

impl Model for Scripted {
    async fn next(&mut self, messages: &[Value], tools: &Value) -> Result<Reply> {
        let tokens = json!(messages).to_string().len() as u64 / 4;
        let usage = Usage {
            input_tokens: tokens,
            output_tokens: messages.len() as u64,
            current_context_window: tokens,
            max_context_window: self.window,
            ..Usage::default()
        };
        // A question without tools is the one for a summary: no part of the script.
        if tools.as_array().is_some_and(Vec::is_empty) {
            let text = format!("Summary of {} messages: the work goes well.", messages.len());
            let message = json!({"role": "assistant", "content": text});
            return Ok(Reply { text, calls: Vec::new(), message, usage });
        }
        let reply = self.replies.next().unwrap_or_else(|| json!({"text": "Done."}));
        let text = reply["text"].as_str().unwrap_or_default().to_owned();
        let mut calls = Vec::new();
        for (number, call) in reply["calls"].as_array().into_iter().flatten().enumerate() {
            let id = format!("call-{}-{number}", messages.len());
            calls.push((id, call[0].as_str().unwrap_or_default().to_owned(), call[1].to_string()));
        }
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

#[cfg(feature = "openai")]
pub use openai::OpenAi;

#[cfg(feature = "openai")]
mod openai {
    use std::time::Duration;

    use anyhow::{Context as _, Result};
    use hookbox::Usage;
    use serde_json::{Value, json};

    use super::{Model, Reply};

    /// A chat endpoint in OpenAI's form.
    pub struct OpenAi {
        agent: ureq::Agent,
        url: String,
        key: Option<String>,
        model: String,
        window: u64,
    }

    impl OpenAi {
        /// The endpoint of `OPENAI_BASE_URL`, with `OPENAI_API_KEY`, `OPENAI_MODEL` (default `gpt-4o-mini`) and
        /// `OPENAI_CONTEXT_WINDOW` (default 128000); `None` where no URL is set.
        pub fn from_env() -> Option<Self> {
            let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
            let base = variable("OPENAI_BASE_URL")?;
            let agent: ureq::Agent =
                ureq::Agent::config_builder().timeout_global(Some(Duration::from_secs(120))).build().into();
            Some(Self {
                agent,
                url: format!("{}/chat/completions", base.trim_end_matches('/')),
                key: variable("OPENAI_API_KEY"),
                model: variable("OPENAI_MODEL").unwrap_or_else(|| "gpt-4o-mini".to_owned()),
                window: variable("OPENAI_CONTEXT_WINDOW").and_then(|n| n.parse().ok()).unwrap_or(128_000),
            })
        }
    }

    impl Model for OpenAi {
        async fn next(&mut self, messages: &[Value], tools: &Value) -> Result<Reply> {
            let mut body = json!({"model": self.model, "messages": messages});
            if tools.as_array().is_some_and(|tools| !tools.is_empty()) {
                body["tools"] = tools.clone();
            }
            let mut request = self.agent.post(&self.url);
            if let Some(key) = &self.key {
                request = request.header("Authorization", format!("Bearer {key}"));
            }
            let answer = tokio::task::spawn_blocking(move || {
                request.send_json(&body)?.body_mut().read_json::<Value>()
            });
            let answer = answer.await?.with_context(|| format!("no answer from {}", self.url))?;
            let message =
                answer.pointer("/choices/0/message").cloned().context("an answer without a message")?;
            let calls = message["tool_calls"].as_array().into_iter().flatten().map(|call| {
                let text = |pointer: &str| {
                    call.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
                };
                (text("/id"), text("/function/name"), text("/function/arguments"))
            });
            let count = |name: &str| answer["usage"][name].as_u64().unwrap_or_default();
            Ok(Reply {
                text: message["content"].as_str().unwrap_or_default().to_owned(),
                calls: calls.collect(),
                usage: Usage {
                    input_tokens: count("prompt_tokens"),
                    output_tokens: count("completion_tokens"),
                    current_context_window: count("total_tokens"),
                    max_context_window: self.window,
                    ..Usage::default()
                },
                message,
            })
        }
    }
}
