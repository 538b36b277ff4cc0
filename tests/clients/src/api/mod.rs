//! The model of a client: it answers with a shell line, and then that it is done. One file per
//! interface.

mod anthropic;
mod augment;
mod chat;
pub(crate) mod gemini;
mod responses;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

/// The last answer of the model.
pub(crate) const DONE: &str = "all done";

/// The parts of a client's request that decide the answer.
struct Asked<'a> {
    /// The tools that the client offers: name and JSON Schema of the input.
    tools: Vec<(&'a str, &'a Value)>,
    /// The number of results of tools in the conversation.
    results: usize,
}

/// The next step of the model.
enum Turn {
    Call { name: String, input: Value },
    Say(&'static str),
}

/// The shell lines that the model wants to be run, one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Wish {
    lines: Vec<String>,
    /// The time of the first request with this number of results.
    times: Arc<Mutex<BTreeMap<usize, Instant>>>,
}

impl Wish {
    pub(crate) fn new(lines: Vec<String>) -> Self {
        Self { lines, times: Arc::default() }
    }

    /// Returns the time of each call so far: from the answer with the call to the request with its result.
    pub(crate) fn call_times(&self) -> Vec<Duration> {
        let times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        times.values().zip(times.values().skip(1)).map(|(begin, end)| *end - *begin).collect()
    }
}

/// An answer: its type and its text.
pub(crate) struct Answer {
    pub(crate) kind: &'static str,
    pub(crate) text: String,
}

/// Returns the answer to a request; `None` if the path is not one of a model.
pub(crate) fn answer(path: &str, body: &Value, wish: &Wish) -> Option<Answer> {
    let streams = body.get("stream").and_then(Value::as_bool);
    match path.rsplit(['/', ':']).next().unwrap_or_default() {
        "responses" => Some(responses::answer(body, wish, streams != Some(false))),
        "completions" => Some(chat::answer(body, wish, streams == Some(true))),
        "generateContent" => Some(gemini::answer(body, wish, false)),
        "streamGenerateContent" => Some(gemini::answer(body, wish, true)),
        "countTokens" => Some(whole(&json!({"totalTokens": 10}))),
        "count_tokens" => Some(whole(&json!({"input_tokens": 10}))),
        "get-models" => Some(augment::models()),
        "chat-stream" => Some(augment::answer(body, wish)),
        // Qoder's login.
        "exchange" => Some(whole(&json!({"token": "test", "expires_at": "2099-01-01T00:00:00Z"}))),
        "userinfo" => Some(whole(&json!({"id": "u1", "name": "ada", "email": "ada@example.com"}))),
        "messages" => Some(anthropic::answer(body, wish, streams == Some(true))),
        "models" => Some(whole(&json!({
            "object": "list", "models": [], "data": [{"id": "mock-model", "object": "model"}],
        }))),
        _ => None,
    }
}

impl Asked<'_> {
    /// The next shell line, in the shell tool that the client offers, until each has a result.
    fn turn(&self, wish: &Wish) -> Turn {
        let tool = self.tools.iter().find(|(name, _)| SHELLS.contains(name));
        if tool.is_some() {
            let mut times = wish.times.lock().unwrap_or_else(PoisonError::into_inner);
            times.entry(self.results).or_insert_with(Instant::now);
        }
        match tool.zip(wish.lines.get(self.results)) {
            Some(((name, schema), line)) => {
                Turn::Call { name: (*name).to_owned(), input: input(schema, line) }
            }
            None => Turn::Say(DONE),
        }
    }
}

/// The shell tools of the clients.
const SHELLS: [&str; 11] = [
    "run_terminal_command",
    "launch-process",
    "Execute",
    "terminal",
    "run_commands",
    "exec_command",
    "shell_command",
    "run_shell_command",
    "shell",
    "Bash",
    "bash",
];

/// The input of a shell tool: the line, and what its schema asks for besides.
fn input(schema: &Value, line: &str) -> Value {
    let property = |name: &str| schema.pointer(&format!("/properties/{name}"));
    let fields = ["cmd", "commands", "command"];
    let field = fields.into_iter().find(|it| property(it).is_some()).unwrap_or("command");
    let is_list = property(field).and_then(|it| it.get("type")).is_some_and(|kind| kind == "array");
    let mut input = Map::new();
    let words = if field == "commands" { json!([line]) } else { json!(["bash", "-lc", line]) };
    input.insert(field.to_owned(), if is_list { words } else { json!(line) });
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    for name in required.filter_map(Value::as_str).filter(|name| *name != field) {
        let kind = property(name).and_then(|it| it.get("type")).and_then(Value::as_str).unwrap_or_default();
        let value = match kind.to_ascii_lowercase().as_str() {
            // Auggie waits for the end of the line only if it is told to.
            "boolean" => json!(name == "wait"),
            "number" | "integer" => json!(10_000),
            _ if name == "cwd" => json!("."),
            // One of the words that the schema lists, if it does.
            _ => property(name)
                .and_then(|it| it.pointer("/enum/0"))
                .cloned()
                .unwrap_or_else(|| json!("run it")),
        };
        input.insert(name.to_owned(), value);
    }
    input.into()
}

fn whole(value: &Value) -> Answer {
    Answer { kind: "application/json", text: value.to_string() }
}

/// Server-sent events, with their type as their name where `named`.
fn stream(events: &[Value], named: bool, end: &str) -> Answer {
    let event = |event: &Value| match event.get("type").and_then(Value::as_str).filter(|_| named) {
        Some(name) => format!("event: {name}\ndata: {event}\n\n"),
        None => format!("data: {event}\n\n"),
    };
    let text = events.iter().map(event).collect::<String>() + end;
    Answer { kind: "text/event-stream", text }
}

/// The array under a name, or nothing.
fn list<'a>(value: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    value.get(name).and_then(Value::as_array).into_iter().flatten()
}

/// Returns whether one of the texts in a JSON value contains this.
pub(crate) fn holds(value: &Value, text: &str) -> bool {
    match value {
        Value::String(it) => it.contains(text),
        Value::Array(all) => all.iter().any(|it| holds(it, text)),
        Value::Object(all) => all.values().any(|it| holds(it, text)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_interface_calls_the_shell_tool_once_and_then_says_that_it_is_done() {
        let schema = json!({"type": "object", "properties": {"command": {"type": "string"}, "description": {"type": "string"}}, "required": ["command", "description"]});
        for (path, first, then) in [
            (
                "/v1/responses",
                json!({"tools": [{"type": "namespace", "name": "n", "tools": [{"type": "function", "name": "bash", "parameters": schema}]}], "input": []}),
                json!({"tools": [], "input": [{"type": "function_call_output", "output": "hi"}]}),
            ),
            (
                "/v1/chat/completions",
                json!({"stream": true, "tools": [{"type": "function", "function": {"name": "bash", "parameters": schema}}], "messages": []}),
                json!({"messages": [{"role": "tool", "content": "hi"}]}),
            ),
            (
                "/v1beta/models/m:streamGenerateContent",
                json!({"tools": [{"functionDeclarations": [{"name": "bash", "parametersJsonSchema": schema}]}], "contents": []}),
                json!({"contents": [{"parts": [{"functionResponse": {}}]}]}),
            ),
            (
                "/v1/messages",
                json!({"stream": true, "tools": [{"name": "bash", "input_schema": schema}], "messages": []}),
                json!({"messages": [{"role": "user", "content": [{"type": "tool_result"}]}]}),
            ),
        ] {
            let wish = Wish::new(vec!["echo hi".to_owned()]);
            let called = answer(path, &first, &wish).unwrap().text;
            assert!(called.contains("echo hi") && called.contains("run it"), "{path} {called}");
            let mut then = then;
            then["tools"] = first["tools"].clone();
            let said = answer(path, &then, &wish).unwrap().text;
            assert!(said.contains(DONE) && !said.contains("echo hi"), "{path} {said}");
            let again = answer(path, &then, &Wish::new(vec!["echo hi".to_owned(); 2])).unwrap().text;
            assert!(again.contains("echo hi") && again.contains("_1\""), "{path} {again}");
        }
        assert!(answer("/elsewhere", &Value::Null, &Wish::new(Vec::new())).is_none());
    }
}
