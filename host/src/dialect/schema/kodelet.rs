//! kodelet's dialect.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Value, json};

use super::parts::{Failed, Message, Usage, of};
use super::{Shape, base_coat};
use crate::event::EventName;

/// Whose event it is.
#[derive(JsonSchema)]
#[schemars(rename = "invoked_by", rename_all = "snake_case", inline)]
enum InvokedBy {
    /// The agent that the user talks to.
    Main,
    /// An agent that another agent started.
    Subagent,
}

/// What every event has.
#[derive(JsonSchema)]
struct Base {
    /// The conversation.
    conv_id: String,
    /// The agent's working directory.
    cwd: String,
    /// The main agent or a subagent.
    invoked_by: InvokedBy,
    /// The recipe that the conversation runs.
    recipe_name: Option<String>,
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
                event: String,
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
    SessionStart "session_start" {
        /// Why: `startup`, `resume`, `rotate` …
        source: Option<String>,
    }
    /// A session ends.
    SessionEnd "session_end" {
        /// Why: `exit`, `rotate` …
        reason: Option<String>,
    }
    /// The user sends a message.
    UserMessageSend "user_message_send" {
        /// Its text.
        message: Option<String>,
    }
    /// A tool is about to run.
    BeforeToolCall "before_tool_call" {
        /// The tool's name.
        tool_name: Option<String>,
        /// What the agent has; a string where a model wrote no valid JSON.
        tool_input: Option<Value>,
        /// The call's id.
        tool_user_id: Option<String>,
    }
    /// A tool has run, or was blocked.
    AfterToolCall "after_tool_call" {
        /// The tool's name.
        tool_name: Option<String>,
        /// The input that the tool got.
        tool_input: Option<Value>,
        /// What the tool gave back.
        tool_output: Option<Value>,
        /// The call's id.
        tool_user_id: Option<String>,
    }
    /// Something failed.
    OnError "on_error" {
        /// What failed.
        source: Failed,
        /// The tool that failed.
        tool_name: Option<String>,
        /// Its input.
        tool_input: Option<Value>,
        /// The call's id.
        tool_user_id: Option<String>,
        /// The turn that failed, from 1.
        turn_number: Option<u64>,
        /// The hook that failed.
        hook: Option<String>,
        /// What it said.
        error: String,
        /// The class of the error.
        kind: Option<String>,
        /// Which try this was, from 1.
        attempt: Option<u32>,
    }
    /// The model has answered.
    AfterTurn "after_turn" {
        /// The turn, from 1.
        turn_number: Option<u64>,
        /// Whether the answer used tools.
        tools_used: Option<bool>,
        /// Tokens.
        usage: Option<Usage>,
        /// Whether the agent compacts by itself.
        auto_compact_enabled: Option<bool>,
        /// At which share of the window it does, from 0 to 1.
        auto_compact_threshold: Option<f64>,
    }
    /// A turn of the user is over.
    TurnEnd "turn_end" {
        /// What the agent said last.
        response: Option<String>,
        /// The turn, from 1.
        turn_number: Option<u64>,
    }
    /// The agent would stop.
    AgentStop "agent_stop" {
        /// The conversation.
        messages: Option<Vec<Value>>,
        /// Tokens.
        usage: Option<Usage>,
        /// The recipe that started the session.
        invoked_recipe: Option<String>,
        /// Whether the agent compacts by itself.
        auto_compact_enabled: Option<bool>,
        /// At which share of the window it does, from 0 to 1.
        auto_compact_threshold: Option<f64>,
    }
    /// The conversation is about to be compacted.
    PreCompact "pre_compact" {
        /// Why: `auto`, `manual` …
        trigger: Option<String>,
        /// Tokens.
        usage: Option<Usage>,
        /// The conversation.
        messages: Option<Vec<Value>>,
    }
    /// The conversation has been compacted.
    PostCompact "post_compact" {
        /// Why: `auto`, `manual` …
        trigger: Option<String>,
        /// What is left of it.
        summary: Option<String>,
        /// Tokens.
        usage: Option<Usage>,
    }
    /// The token budget has passed a threshold.
    OnBudgetExceeded "on_budget_exceeded" {
        /// Tokens.
        usage: Option<Usage>,
        /// The share of the window that was passed, from 0 to 1.
        threshold: Option<f64>,
    }
}

/// Nothing that kodelet's fields could say at this event has an effect.
#[derive(JsonSchema)]
#[schemars(rename = "nothing_fields")]
struct Nothing {}

/// Whether it must not happen.
#[derive(JsonSchema)]
#[schemars(rename = "gate_fields")]
struct Gate {
    /// It must not happen.
    blocked: Option<bool>,
    /// Why.
    reason: Option<String>,
}

/// What is to become of a call.
#[derive(JsonSchema)]
#[schemars(rename = "before_tool_call_fields")]
struct BeforeToolCallFields {
    #[schemars(flatten)]
    gate: Gate,
    /// Replaces the tool's input.
    input: Option<Value>,
}

/// What is to become of a tool's output.
#[derive(JsonSchema)]
#[schemars(rename = "after_tool_call_fields")]
struct AfterToolCallFields {
    /// Replaces the tool's output.
    output: Option<Value>,
}

/// What is to become of an error.
#[derive(JsonSchema)]
#[schemars(rename = "on_error_fields")]
struct OnErrorFields {
    /// Replaces the error's text.
    error: Option<String>,
}

/// A recipe that the agent shall run.
#[derive(JsonSchema)]
struct Recipe {
    /// With `"result": "callback"`: the recipe.
    callback: Option<String>,
    /// Its arguments.
    callback_args: Option<std::collections::BTreeMap<String, String>>,
}

/// What is to become of the conversation.
#[derive(JsonSchema)]
#[schemars(rename = "after_turn_fields", transform = needs_what_it_says)]
struct AfterTurnFields {
    /// What is to be done.
    #[schemars(extend("enum" = ["mutate", "callback", "", null]))]
    result: Option<String>,
    /// With `"result": "mutate"`: the new conversation.
    messages: Option<Vec<Message>>,
    #[schemars(flatten)]
    recipe: Recipe,
}

/// Whether the agent goes on, and with which conversation.
#[derive(JsonSchema)]
#[schemars(rename = "agent_stop_fields", transform = needs_what_it_says)]
struct AgentStopFields {
    /// Messages of the user with which the agent goes on.
    follow_up_messages: Option<Vec<String>>,
    /// What is to be done.
    #[schemars(extend("enum" = ["continue", "mutate", "callback", "", null]))]
    result: Option<String>,
    /// With `"result": "mutate"`: the new conversation.
    messages: Option<Vec<Message>>,
    #[schemars(flatten)]
    recipe: Recipe,
}

/// Whether work goes on with so many tokens spent.
#[derive(JsonSchema)]
#[schemars(rename = "on_budget_exceeded_fields", transform = needs_what_it_says)]
struct OnBudgetExceededFields {
    #[schemars(flatten)]
    gate: Gate,
    /// What is to be done.
    #[schemars(extend("enum" = ["callback", "", null]))]
    result: Option<String>,
    #[schemars(flatten)]
    recipe: Recipe,
}

/// A `mutate` needs messages, a `callback` a name.
fn needs_what_it_says(schema: &mut Schema) {
    let says =
        |result: &str| json!({ "properties": { "result": { "const": result } }, "required": ["result"] });
    schema.insert(
        "allOf".to_owned(),
        json!([
            {
                "if": says("mutate"),
                "then": { "properties": { "messages": { "type": "array", "minItems": 1 } }, "required": ["messages"] },
            },
            {
                "if": says("callback"),
                "then": { "properties": { "callback": { "type": "string", "minLength": 1 } }, "required": ["callback"] },
            },
        ]),
    );
}

/// What a native hook may print at each event. An object with an `action` is a response envelope.
pub(super) fn answers(generator: &mut SchemaGenerator) -> Shape {
    let mut all = Vec::new();
    for event in EventName::ALL {
        let schema = match answer_fields(&event, generator) {
            // What is printed at turn_end is ignored.
            None => json!({}),
            Some(fields) => {
                let envelope = base_coat::answer(&event, generator);
                json!({ "if": { "type": "object", "required": ["action"] }, "then": envelope, "else": fields })
            }
        };
        let name = event.as_str().to_owned();
        let reference = json!({ "$ref": format!("#/$defs/{name}") });
        generator.definitions_mut().insert(name, schema);
        all.push(reference);
    }
    Shape::AnyOf(all)
}

fn answer_fields(event: &EventName, generator: &mut SchemaGenerator) -> Option<Value> {
    Some(match event {
        EventName::TurnEnd => return None,
        EventName::UserMessageSend | EventName::PreCompact => of::<Gate>(generator),
        EventName::BeforeToolCall => of::<BeforeToolCallFields>(generator),
        EventName::AfterToolCall => of::<AfterToolCallFields>(generator),
        EventName::OnError => of::<OnErrorFields>(generator),
        EventName::AfterTurn => of::<AfterTurnFields>(generator),
        EventName::AgentStop => of::<AgentStopFields>(generator),
        EventName::OnBudgetExceeded => of::<OnBudgetExceededFields>(generator),
        EventName::SessionStart | EventName::SessionEnd | EventName::PostCompact | EventName::Other(_) => {
            of::<Nothing>(generator)
        }
    })
}
