//! A chat endpoint in OpenAI's form.

use std::time::Duration;

use anyhow::{Context as _, Error, Result};
use hookbox::Usage;
use serde_json::{Value, json};

use super::{Model, Reply};

/// How long one answer may take.
const TIMEOUT: Duration = Duration::from_secs(120);

/// The model where none is named.
const MODEL: &str = "gpt-4o-mini";

/// Its context window, in tokens.
const WINDOW: u64 = 128_000;

/// A chat endpoint in OpenAI's form.
pub struct OpenAi {
    agent: ureq::Agent,
    url: String,
    key: Option<String>,
    model: String,
    window: u64,
}

impl OpenAi {
    /// The endpoint below this URL, such as `https://api.openai.com/v1`; without a key, and with a model and a window
    /// as [`OpenAi::from_env`] has them.
    pub fn new(base: &str) -> Self {
        let agent = ureq::Agent::config_builder().timeout_global(Some(TIMEOUT)).build().into();
        let url = format!("{}/chat/completions", base.trim_end_matches('/'));
        Self { agent, url, key: None, model: MODEL.to_owned(), window: WINDOW }
    }

    /// The same endpoint, asked with this key.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// The same endpoint, asked for this model, whose window holds so many tokens.
    #[must_use]
    pub fn model(mut self, model: impl Into<String>, window: u64) -> Self {
        (self.model, self.window) = (model.into(), window);
        self
    }

    /// The endpoint of `OPENAI_BASE_URL`, with `OPENAI_API_KEY`, `OPENAI_MODEL` (default `gpt-4o-mini`) and
    /// `OPENAI_CONTEXT_WINDOW` (default 128000); `None` where no URL is set.
    pub fn from_env() -> Option<Self> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let window = variable("OPENAI_CONTEXT_WINDOW").and_then(|n| n.parse().ok()).unwrap_or(WINDOW);
        let model = variable("OPENAI_MODEL").unwrap_or_else(|| MODEL.to_owned());
        let endpoint = Self::new(&variable("OPENAI_BASE_URL")?).model(model, window);
        Some(match variable("OPENAI_API_KEY") {
            Some(key) => endpoint.key(key),
            None => endpoint,
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
        let answer =
            tokio::task::spawn_blocking(move || request.send_json(&body)?.body_mut().read_json::<Value>());
        let answer = answer.await?.with_context(|| format!("no answer from {}", self.url))?;
        let message = answer.pointer("/choices/0/message").cloned().context("an answer without a message")?;
        let calls = message["tool_calls"].as_array().into_iter().flatten().map(|call| {
            let text =
                |pointer: &str| call.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
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

    fn pause(&self, error: &Error, attempt: u32) -> Option<Duration> {
        match error.downcast_ref::<ureq::Error>() {
            // What the endpoint refuses it refuses again, unless it is only busy.
            Some(ureq::Error::StatusCode(status @ 400..500)) if ![408, 429].contains(status) => None,
            _ => Some(Duration::from_millis(500) * 2_u32.saturating_pow(attempt.saturating_sub(1))),
        }
    }
}
