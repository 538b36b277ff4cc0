//! What several schemas share.

use std::borrow::Cow;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

/// A value of any type but null, which counts as absent.
pub(super) struct Given;

impl JsonSchema for Given {
    fn schema_name() -> Cow<'static, str> {
        "given".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "not": { "type": "null" } })
    }
}

/// An object with whatever fields.
pub(super) struct Object;

impl JsonSchema for Object {
    fn schema_name() -> Cow<'static, str> {
        "object".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object" })
    }
}

/// A value that is always there, and null where there is none.
pub(super) struct OrNull<T>(PhantomData<T>);

impl<T: JsonSchema> JsonSchema for OrNull<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("{}_or_null", T::schema_name()).into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        <Option<T>>::json_schema(generator)
    }
}

/// A message of a conversation.
#[derive(JsonSchema)]
#[schemars(rename = "message")]
pub(super) struct Message {
    /// `user`, `assistant`, or what else the agent uses.
    role: String,
    /// The text.
    content: String,
}

/// Tokens of a conversation (kodelet's `UsageInfo`).
#[derive(JsonSchema)]
#[schemars(rename = "usage")]
pub(super) struct Usage {
    /// Tokens sent to the model so far.
    input_tokens: Option<u64>,
    /// Tokens that the model produced so far.
    output_tokens: Option<u64>,
    /// Tokens in the context window now.
    current_context_window: Option<u64>,
    /// Tokens that the context window can hold.
    max_context_window: Option<u64>,
}

/// What failed.
#[derive(JsonSchema)]
#[schemars(rename = "failed", rename_all = "snake_case", inline)]
pub(super) enum Failed {
    /// A tool call.
    Tool,
    /// A turn.
    Turn,
    /// Another hook.
    Hook,
}

/// A reference to the definition of a type.
pub(super) fn of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Value {
    generator.subschema_for::<T>().to_value()
}

/// Takes out what says nothing: formats that nobody checks; and null, where what is not known is absent.
pub(super) fn tidy(schema: &mut Value, never_null: bool) {
    match schema {
        Value::Object(object) => {
            if object.get("format").is_some_and(|format| format.as_str().is_some_and(is_width)) {
                object.shift_remove("format");
            }
            if never_null {
                without_null(object);
            }
            object.values_mut().for_each(|value| tidy(value, never_null));
        }
        Value::Array(items) => items.iter_mut().for_each(|value| tidy(value, never_null)),
        _ => {}
    }
}

fn is_width(format: &str) -> bool {
    matches!(format, "uint8" | "uint32" | "uint64" | "int32" | "int64" | "double")
}

fn without_null(object: &mut serde_json::Map<String, Value>) {
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|name| name != "null");
        if let [one] = types.as_slice() {
            let one = one.clone();
            object.insert("type".to_owned(), one);
        }
    }
    let null = json!({"type": "null"});
    if let Some(Value::Array(all)) = object.get_mut("anyOf")
        && all.contains(&null)
    {
        all.retain(|one| *one != null);
        if let [Value::Object(one)] = all.as_slice() {
            let one = one.clone();
            object.shift_remove("anyOf");
            object.extend(one);
        }
    }
}
