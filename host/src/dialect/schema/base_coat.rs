//! The Base Coat hook specification.

use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::Shape;
use super::parts::{Failed, Given, Object, of};
use crate::event::EventName;

/// The part of the context window that is spent.
#[derive(JsonSchema)]
#[schemars(rename = "budget", rename_all = "camelCase", deny_unknown_fields)]
struct Budget {
    /// Tokens in the context window now.
    used_tokens: u64,
    /// Tokens at which it is full.
    effective_limit: u64,
}

/// A tool call.
#[derive(JsonSchema)]
#[schemars(rename = "tool", deny_unknown_fields)]
struct Tool {
    /// The tool's name.
    name: Option<String>,
    /// Its input.
    input: Option<Value>,
}

/// A tool call that is over.
#[derive(JsonSchema)]
#[schemars(rename = "tool_after", rename_all = "camelCase", deny_unknown_fields)]
struct ToolAfter {
    /// The tool's name.
    name: Option<String>,
    /// Its input.
    input: Option<Value>,
    /// What it gave back.
    output: Option<Value>,
    /// Whether it worked.
    success: Option<bool>,
    /// How long it took, in milliseconds.
    duration_ms: Option<u64>,
    /// The exit status of a command.
    exit_status: Option<i32>,
    /// What it cost, in tokens.
    cost_tokens: Option<u64>,
}

/// What went wrong.
#[derive(JsonSchema)]
#[schemars(rename = "error", deny_unknown_fields)]
struct Error {
    /// What it said.
    message: String,
    /// The class of the error.
    kind: Option<String>,
    /// Which try this was, from 1.
    attempt: Option<u32>,
}

/// What every event has.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
struct Base {
    /// When it happened (RFC 3339).
    timestamp: String,
    /// The conversation.
    session_id: Option<String>,
    /// The agent's name.
    agent: Option<String>,
    /// The repository, such as `org/repo`.
    repository: Option<String>,
    /// The branch that is checked out.
    branch: Option<String>,
    /// The agent's mode, such as `plan`.
    mode: Option<String>,
    /// The token budget.
    budget: Option<Budget>,
}

macro_rules! events {
    ($($(#[$about:meta])* $name:ident $event:tt { $($(#[$field_about:meta])* $field:ident: $type:ty,)* })*) => {
        $(
            $(#[$about])*
            #[derive(JsonSchema)]
            #[schemars(rename = $event, deny_unknown_fields)]
            struct $name {
                /// The event's name.
                #[schemars(extend("const" = $event))]
                hook: String,
                #[schemars(flatten)]
                base: Base,
                $($(#[$field_about])* $field: $type,)*
            }
        )*

        /// One of every event.
        pub(super) fn events(generator: &mut SchemaGenerator) -> Shape {
            Shape::OneOf(vec![$(of::<$name>(generator)),*])
        }
    };
}

events! {
    /// A session begins.
    SessionStart "SessionStart" {
        /// Why: `startup`, `resume`, `rotate` …
        source: Option<String>,
    }
    /// A session ends.
    SessionEnd "SessionEnd" {
        /// Why: `exit`, `rotate` …
        reason: Option<String>,
    }
    /// A tool is about to run.
    PreToolUse "PreToolUse" {
        /// The call.
        tool: Tool,
    }
    /// A tool has run, or was blocked.
    PostToolUse "PostToolUse" {
        /// The call, and what came of it.
        tool: ToolAfter,
    }
    /// Something failed.
    OnError "OnError" {
        /// What failed.
        source: Failed,
        /// The tool call that failed.
        tool: Option<Tool>,
        /// What went wrong.
        error: Error,
    }
    /// The conversation is about to be compacted.
    PreCompact "PreCompact" {
        /// Why: `auto`, `manual` …
        trigger: Option<String>,
    }
    /// The conversation has been compacted.
    PostCompact "PostCompact" {
        /// Why: `auto`, `manual` …
        trigger: Option<String>,
        /// What is left of it.
        summary: Option<String>,
    }
    /// The token budget has passed a threshold.
    OnBudgetExceeded "OnBudgetExceeded" {
        /// The share of the window that was passed, from 0 to 1.
        threshold: Option<f64>,
    }
}

/// What is to happen.
#[derive(JsonSchema)]
#[schemars(rename = "action", rename_all = "camelCase", inline)]
enum Action {
    /// Nothing.
    PassThrough,
    /// The model gets text for its next step.
    InjectContext,
    /// It must not happen; after a tool call the agent must change course.
    Block,
    /// What the event is about is replaced.
    Modify,
}

/// Texts for the model.
#[derive(JsonSchema)]
#[schemars(untagged, inline)]
enum Texts {
    /// Several.
    Several(Vec<String>),
    /// One.
    One(String),
}

/// The response envelope.
#[derive(JsonSchema)]
#[schemars(rename = "response", rename_all = "camelCase")]
struct Response {
    /// What is to happen.
    action: Action,
    /// Accepted, without effect: order comes from the registration.
    priority: Option<f64>,
    /// Why, with `block`.
    reason: Option<String>,
    /// Text for the model's next step; counts beside any action.
    additional_context: Option<Texts>,
    /// Notes for the user; count beside any action.
    warnings: Option<Vec<String>>,
    /// With `modify`: before a tool call the tool's input, at a message its text.
    modified_input: Option<Value>,
    /// With `modify`: after a tool call the tool's output, at an error its text.
    modified_output: Option<Value>,
    /// For reports, without effect.
    metadata: Option<Object>,
}

/// What stands in the place of `modifiedInput` where that is a message.
#[derive(JsonSchema)]
#[schemars(inline)]
struct Text(String);

/// The response envelope at one event: what a `modify` needs depends on it.
pub(super) fn answer(event: &EventName, generator: &mut SchemaGenerator) -> Value {
    let response = of::<Response>(generator);
    let given = of::<Given>(generator);
    let field = |name: &str, schema: Value| {
        let properties = Map::from_iter([(name.to_owned(), schema)]);
        json!({ "properties": properties, "required": [name] })
    };
    let needs = match event {
        EventName::UserMessageSend => field("modifiedInput", of::<Text>(generator)),
        EventName::BeforeToolCall => field("modifiedInput", given),
        EventName::AfterToolCall | EventName::OnError => field("modifiedOutput", given),
        // Nothing can be modified there, which is reported; so either will do.
        _ => json!({ "anyOf": [field("modifiedInput", given.clone()), field("modifiedOutput", given)] }),
    };
    json!({
        "allOf": [
            response,
            {
                "if": { "properties": { "action": { "const": "modify" } }, "required": ["action"] },
                "then": needs,
            },
        ],
    })
}

/// The response envelope by event, under hookbox's names of the events.
pub(super) fn answers(generator: &mut SchemaGenerator) -> Shape {
    let mut all = Vec::new();
    for event in EventName::ALL {
        let schema = answer(&event, generator);
        let name = event.as_str().to_owned();
        all.push(json!({ "$ref": format!("#/$defs/{name}") }));
        generator.definitions_mut().insert(name, schema);
    }
    Shape::AnyOf(all)
}
