//! The job of `answers` for tool calls, over version 0.1.0 of the interface and without the SDK: the answer at
//! `/answer` of the tool's input, as `answers` describes it.

use serde_json::Value;

mod bindings {
    #![allow(missing_docs, reason = "generated")]

    wit_bindgen::generate!({ path: "../../../wit", world: "hook-plain", generate_all });
}

use bindings::exports::hookbox::hook::hook::Guest;
use bindings::hookbox::hook::types::{
    Action, Answers, Callback, Capability, Context, Document, Event, Manifest, Message, Response,
    Subscription,
};

struct Frozen;

impl Guest for Frozen {
    fn describe() -> Manifest {
        let subscription = |event: &str| Subscription {
            event: event.to_owned(),
            tools: Vec::new(),
            priority: None,
            observe: false,
        };
        Manifest {
            name: "answers".to_owned(),
            version: "0.1.0".to_owned(),
            description: "Answers what it is asked to.".to_owned(),
            subscriptions: ["before_tool_call", "after_tool_call", "notification"].map(subscription).to_vec(),
            answers: Answers::all(),
            capabilities: vec![Capability::Conversation],
            on_failure: None,
        }
    }

    fn run(_context: Context, event: Event) -> Result<Response, String> {
        let document: Document = match event {
            Event::BeforeToolCall(call) => call.input,
            Event::AfterToolCall(result) => result.call.input,
            Event::Other(event) => event.data,
            _ => return Ok(pass()),
        };
        let Some(wanted) = document.get("/answer") else { return Ok(pass()) };
        let wanted: Value = serde_json::from_str(&wanted).map_err(|error| error.to_string())?;
        if let Some(message) = wanted["fail"].as_str() {
            return Err(message.to_owned());
        }
        let texts = |name: &str| -> Vec<String> {
            wanted[name]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect()
        };
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let action = if wanted["block"].is_string() {
            Action::Block(text(&wanted["block"]))
        } else if wanted["ask"].is_string() {
            Action::Ask(text(&wanted["ask"]))
        } else if !wanted["modify"].is_null() {
            Action::Modify(wanted["modify"].to_string())
        } else if wanted["follow_up"].is_array() {
            Action::FollowUp(texts("follow_up"))
        } else if let Some(messages) = wanted["mutate"].as_array() {
            let message = |it: &Value| Message { role: text(&it["role"]), content: text(&it["content"]) };
            Action::Mutate(messages.iter().map(message).collect())
        } else if wanted["callback"].is_object() {
            let args = wanted["callback"]["args"].as_object().into_iter().flatten();
            Action::Callback(Callback {
                name: text(&wanted["callback"]["name"]),
                args: args.map(|(key, value)| (key.clone(), text(value))).collect(),
            })
        } else {
            Action::Pass
        };
        let metadata = wanted["metadata"].as_object().into_iter().flatten();
        Ok(Response {
            action,
            context: texts("context"),
            warnings: texts("warnings"),
            metadata: metadata.map(|(key, value)| (key.clone(), value.to_string())).collect(),
        })
    }
}

fn pass() -> Response {
    Response { action: Action::Pass, context: Vec::new(), warnings: Vec::new(), metadata: Vec::new() }
}

bindings::export!(Frozen with_types_in bindings);
