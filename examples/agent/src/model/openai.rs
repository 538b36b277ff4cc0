//! A chat endpoint in OpenAI's form.

use std::time::Duration;

use anyhow::{Context as _, Error, Result, bail};
use hookbox::Usage;
use hookbox::escape;
use serde_json::{Value, json};

use super::{Model, Reply};

/// The longest time for one answer.
const TIMEOUT: Duration = Duration::from_secs(120);

/// The model where none is named.
const MODEL: &str = "gpt-4o-mini";

/// The context window, in tokens.
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
    /// Makes the endpoint below this URL, such as `https://api.openai.com/v1`, without a key, and with the
    /// default model and window of [`OpenAi::from_env`].
    pub fn new(base: &str) -> Self {
        let agent = ureq::Agent::config_builder().timeout_global(Some(TIMEOUT)).build().into();
        let url = format!("{}/chat/completions", base.trim_end_matches('/'));
        Self { agent, url, key: None, model: MODEL.to_owned(), window: WINDOW }
    }

    /// Sets the key.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Sets the model, and the size of its window in tokens.
    #[must_use]
    pub fn model(mut self, model: impl Into<String>, window: u64) -> Self {
        (self.model, self.window) = (model.into(), window);
        self
    }

    /// Makes the endpoint of `OPENAI_BASE_URL`, with `OPENAI_API_KEY`, `OPENAI_MODEL` (default `gpt-4o-mini`)
    /// and `OPENAI_CONTEXT_WINDOW` (default 128000); `None` if the URL is not set.
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
        read(&answer, self.window)
    }

    fn pause(&self, error: &Error, attempt: u32) -> Option<Duration> {
        match error.downcast_ref::<ureq::Error>() {
            // The endpoint would refuse it again, unless it is only busy.
            Some(ureq::Error::StatusCode(status @ 400..500)) if ![408, 429].contains(status) => None,
            _ => Some(Duration::from_millis(500) * 2_u32.saturating_pow(attempt.saturating_sub(1))),
        }
    }
}

/// Reads an answer. An answer that is not a message is an error here: the endpoint would not accept a
/// conversation with it.
fn read(answer: &Value, window: u64) -> Result<Reply> {
    let found = answer.pointer("/choices/0/message").unwrap_or(&Value::Null);
    let mut message = expect(found.as_object().cloned(), "an object as message", found)?;
    let role = message.entry("role").or_insert_with(|| json!("assistant"));
    expect((role == "assistant").then_some(()), "\"assistant\" as the message's role", role)?;
    let text = text(message.get("content").unwrap_or(&Value::Null))?;
    let calls = calls(message.get("tool_calls").unwrap_or(&Value::Null))?;
    // Hooks see messages that are text; every endpoint takes that as well.
    if message.get("content").is_some_and(Value::is_array) {
        message.insert("content".to_owned(), json!(text));
    }
    let prompt = answer.pointer("/usage/prompt_tokens").and_then(Value::as_u64).unwrap_or_default();
    let completion = answer.pointer("/usage/completion_tokens").and_then(Value::as_u64).unwrap_or_default();
    let total = answer.pointer("/usage/total_tokens").and_then(Value::as_u64);
    Ok(Reply {
        text,
        calls,
        usage: Usage {
            input_tokens: prompt,
            output_tokens: completion,
            // Not every endpoint adds up.
            current_context_window: total.unwrap_or_else(|| prompt.saturating_add(completion)),
            max_context_window: window,
            ..Usage::default()
        },
        message: Value::Object(message),
    })
}

/// The text of a content: itself, or that of its parts.
fn text(content: &Value) -> Result<String> {
    match content {
        Value::Null => Ok(String::new()),
        Value::String(text) => Ok(text.clone()),
        Value::Array(parts) => Ok(parts.iter().filter_map(|part| part["text"].as_str()).collect()),
        other => bail!("expected text or an array of parts as content, found {}", shown(other)),
    }
}

/// Returns the tool calls of a message.
fn calls(calls: &Value) -> Result<Vec<(String, String, String)>> {
    if calls.is_null() {
        return Ok(Vec::new());
    }
    let calls = expect(calls.as_array(), "an array as tool_calls", calls)?;
    let field = |call: &Value, pointer: &str, expected: &str| {
        let found = call.pointer(pointer).unwrap_or(&Value::Null);
        expect(found.as_str().map(str::to_owned), expected, found)
    };
    let call = |call: &Value| {
        expect(call.as_object(), "an object as tool call", call)?;
        let id = field(call, "/id", "a string as the id of a tool call")?;
        let name = field(call, "/function/name", "a string as the name of a tool")?;
        // Arguments that are wrong are for the tool to refuse, so that the model reads why.
        let arguments = call.pointer("/function/arguments").and_then(Value::as_str).unwrap_or_default();
        Ok((id, name, arguments.to_owned()))
    };
    calls.iter().map(call).collect()
}

fn expect<T>(value: Option<T>, expected: &str, found: &Value) -> Result<T> {
    value.with_context(|| format!("expected {expected}, found {}", shown(found)))
}

fn shown(value: &Value) -> String {
    match value {
        Value::Array(_) => "an array".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        scalar => escape(&scalar.to_string(), 100),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(message: Value) -> Value {
        json!({"choices": [{"message": message}]})
    }

    #[test]
    fn a_content_is_text_or_parts_of_which_the_text_counts() {
        for (content, want) in [
            (json!("plain"), "plain"),
            (json!(null), ""),
            (
                json!([{"type": "text", "text": "a"}, {"type": "image"}, "x", {"type": "text", "text": "b"}]),
                "ab",
            ),
            (json!([]), ""),
        ] {
            let reply = read(&answer(json!({"role": "assistant", "content": content})), 1).unwrap();
            assert_eq!(reply.text, want);
            let saved = if content.is_null() { json!(null) } else { json!(want) };
            assert_eq!(reply.message, json!({"role": "assistant", "content": saved}));
        }
    }

    #[test]
    fn an_answer_that_is_no_message_is_an_error_that_says_what_was_found() {
        let call = |call: Value| json!({"role": "assistant", "tool_calls": [call]});
        for (message, want) in [
            (json!("str"), "an object as message, found \"str\""),
            (json!(null), "an object as message, found null"),
            (json!({"role": null}), "\"assistant\" as the message's role, found null"),
            (json!({"role": "user", "content": "x"}), "role, found \"user\""),
            (json!({"role": "assistant", "content": 5}), "as content, found 5"),
            (json!({"role": "assistant", "tool_calls": {}}), "an array as tool_calls, found an object"),
            (call(json!("x")), "an object as tool call, found \"x\""),
            (call(json!({"id": 5, "function": {"name": "bash"}})), "the id of a tool call, found 5"),
            (call(json!({"id": "c", "function": {"name": ["bash"]}})), "the name of a tool, found an array"),
            (call(json!({"id": "c"})), "the name of a tool, found null"),
        ] {
            let error = read(&answer(message.clone()), 1).unwrap_err().to_string();
            assert!(error.contains(want), "{message}: {error}");
        }
        assert!(read(&json!({"choices": []}), 1).is_err());
        let unsaid = read(&answer(json!({"content": "x"})), 1).unwrap();
        assert_eq!(unsaid.message["role"], "assistant", "a saved message has a role");
    }

    #[test]
    fn an_endpoint_that_gives_no_total_is_added_up() {
        for (usage, want) in [
            (json!({"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 9}), 9),
            (json!({"prompt_tokens": 5, "completion_tokens": 2}), 7),
            (json!({"prompt_tokens": u64::MAX, "completion_tokens": 2}), u64::MAX),
            (json!(null), 0),
        ] {
            let mut answer = answer(json!({"role": "assistant", "content": "x"}));
            answer["usage"] = usage;
            assert_eq!(read(&answer, 1).unwrap().usage.current_context_window, want);
        }
    }
}
