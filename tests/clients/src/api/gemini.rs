//! Gemini's generateContent.

use serde_json::{Map, Value, json};

use super::{Answer, Asked, DONE, Turn, Wish, list, stream, whole};

fn tool(it: &Value) -> Option<(&str, &Value)> {
    let schema = it.get("parametersJsonSchema").or_else(|| it.get("parameters"))?;
    Some((it.get("name")?.as_str()?, schema))
}

pub(super) fn answer(body: &Value, wish: &Wish, streams: bool) -> Answer {
    let asked = Asked {
        tools: list(body, "tools").flat_map(|it| list(it, "functionDeclarations")).filter_map(tool).collect(),
        results: list(body, "contents")
            .flat_map(|it| list(it, "parts"))
            .filter(|part| part.get("functionResponse").is_some())
            .count(),
    };
    let part = match (asked.turn(wish), wanted(body)) {
        (Turn::Call { name, input }, _) => {
            json!({"functionCall": {"name": name, "args": input, "id": format!("call_{}", asked.results)}})
        }
        (Turn::Say(_), Some(schema)) => json!({"text": filled(schema).to_string()}),
        (Turn::Say(text), None) => json!({"text": text}),
    };
    let answer = candidate(&part);
    if streams { stream(&[answer], false, "") } else { whole(&answer) }
}

fn candidate(part: &Value) -> Value {
    json!({
        "candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15},
        "modelVersion": "mock", "responseId": "r0",
    })
}

/// Returns the answers of the model in a file, one a line, for a client that reads them there: a call of its shell tool for
/// each line, and the end.
pub(crate) fn script(tool: &str, wish: &Wish) -> String {
    let call = |(at, line): (usize, &String)| {
        let input = json!({"command": line, "description": "run it"});
        json!({"functionCall": {"name": tool, "args": input, "id": format!("call_{at}")}})
    };
    let parts = wish.lines.iter().enumerate().map(call).chain([json!({"text": DONE})]);
    let answer = |part| json!({"method": "generateContentStream", "response": [candidate(&part)]});
    parts.map(|part| format!("{}\n", answer(part))).collect()
}

/// The schema that the answer has to follow: the client asks itself which model to take, and whose turn it is.
fn wanted(body: &Value) -> Option<&Value> {
    let config = body.get("generationConfig")?;
    config.get("responseJsonSchema").or_else(|| config.get("responseSchema"))
}

/// An object of that schema, one level deep.
fn filled(schema: &Value) -> Value {
    let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    let value = |property: &Value| {
        let kind = property.get("type").and_then(Value::as_str).unwrap_or_default().to_ascii_lowercase();
        match kind.as_str() {
            "boolean" => json!(true),
            "number" | "integer" => json!(1),
            _ => list(property, "enum").next().cloned().unwrap_or_else(|| json!(DONE)),
        }
    };
    properties.map(|(name, property)| (name.clone(), value(property))).collect::<Map<_, _>>().into()
}
