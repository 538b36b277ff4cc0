//! The verdict of an event as `structuredContent`: typed, and versioned.

use hookbox::outcome::Ruling;
use hookbox::session::Fired;
use hookbox::{EventName, Report};
use serde_json::{Map, Value, json};

/// The version of this form. A new key does not change it.
pub(super) const VERSION: u32 = 1;

/// Returns the verdict. The value to go on with is inside the decision, so that nobody goes on with it after a block.
pub(super) fn of(fired: &Fired) -> Value {
    let Fired { event, verdict, report, .. } = fired;
    let name = event.name();
    let mut out = Map::from_iter([("version".to_owned(), json!(VERSION))]);
    let mut put = |name: &str, value: Value| drop(out.insert(name.to_owned(), value));
    if decides(&name) {
        let (action, ruling, is_needed) = match (&verdict.block, &verdict.ask) {
            // A tool that has run has an output, also after a block.
            (Some(block), _) => ("block", Some(block), name == EventName::AfterToolCall),
            (None, Some(ask)) => ("ask", Some(ask), true),
            (None, None) => (proceed(&name), None, true),
        };
        let mut decision = ruling.map(|it| why(it, action, report)).unwrap_or_default();
        decision.insert("action".to_owned(), json!(action));
        let value = is_needed.then(|| event.data.changeable()).flatten();
        decision.extend(value.map(|(name, value)| (name.to_owned(), value)));
        if let Some(allowed) = &verdict.allowed {
            decision.insert("allowed".to_owned(), Value::Object(why(allowed, "allow", report)));
        }
        put("decision", Value::Object(decision));
        put("modified", json!(verdict.modified));
    }
    if let Some(messages) = &verdict.mutate {
        put("messages", json!(messages));
    }
    if let Some(callback) = &verdict.callback {
        let args: Map<String, Value> =
            callback.args.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
        put("callback", json!({ "name": callback.name, "args": args }));
    }
    for (name, texts) in [
        ("follow_ups", &verdict.follow_ups),
        ("dropped_follow_ups", &verdict.dropped_follow_ups),
        ("context", &verdict.context),
    ] {
        if !texts.is_empty() {
            put(name, json!(texts));
        }
    }
    if !verdict.warnings.is_empty() {
        put("warnings", verdict.warnings.iter().map(|it| json!(it.text)).collect());
    }
    let metadata = report.hooks.iter().filter(|it| it.trusted && !it.metadata.is_empty());
    let metadata: Map<String, Value> =
        metadata.map(|it| (it.name.clone(), Value::Object(it.metadata.clone()))).collect();
    if !metadata.is_empty() {
        put("metadata", Value::Object(metadata));
    }
    Value::Object(out)
}

/// Returns true if the verdicts of an event have a decision.
fn decides(name: &EventName) -> bool {
    name.allows().block || *name == EventName::OnError
}

/// The action of an event that goes on.
fn proceed(name: &EventName) -> &'static str {
    if *name == EventName::BeforeToolCall { "run" } else { "proceed" }
}

/// Describes a ruling. A question is for the user, everything else but the code for the model.
fn why(ruling: &Ruling, action: &str, report: &Report) -> Map<String, Value> {
    let reason = if action == "block" { ruling.needed_for_model() } else { ruling.for_user().to_owned() };
    let cause = ruling.cause.map_or("decision", |cause| cause.as_str());
    let rule = rule(ruling, action, report);
    let fields = [
        ("reason", Some(reason.as_str())),
        ("by", Some(&ruling.by)),
        ("cause", Some(cause)),
        ("rule", rule),
        ("code", ruling.code.as_deref()),
    ];
    fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), json!(value?)))).collect()
}

/// Returns the rule that a hook names in its metadata: as `rule`, or as the one of its `rules` that gives this answer.
fn rule<'a>(ruling: &Ruling, action: &str, report: &'a Report) -> Option<&'a str> {
    let hook = report.hooks.iter().find(|it| it.trusted && it.name == ruling.by)?;
    let of_file = || {
        let rules = hook.metadata.get("rules")?.as_array()?;
        rules.iter().find(|it| it.get("answer").and_then(Value::as_str) == Some(action))?.get("name")
    };
    hook.metadata.get("rule").or_else(of_file)?.as_str().filter(|_| ruling.cause.is_none())
}

/// Returns the JSON Schema of the verdicts of an event.
pub(super) fn schema(name: &EventName) -> Value {
    let (text, texts) =
        (json!({ "type": "string" }), json!({ "type": "array", "items": { "type": "string" } }));
    let ruling = json!({ "reason": text, "by": text, "cause": text, "rule": text, "code": text });
    let allows = name.allows();
    let mut actions = vec![proceed(name)];
    actions.extend(allows.ask.then_some("ask"));
    actions.extend(allows.block.then_some("block"));
    let mut decision = ruling.clone();
    if let Some(decision) = decision.as_object_mut() {
        decision.insert("action".to_owned(), json!({ "enum": actions }));
        decision.insert("allowed".to_owned(), json!({ "type": "object", "properties": ruling }));
        decision.extend(name.changeable().map(|name| (name.to_owned(), json!({}))));
    }
    json!({
        "type": "object",
        "properties": {
            "version": { "const": VERSION },
            "decision": { "type": "object", "properties": decision, "required": ["action"] },
            "modified": { "type": "boolean" },
            "messages": { "type": "array" },
            "callback": { "type": "object" },
            "follow_ups": texts,
            "dropped_follow_ups": texts,
            "context": texts,
            "warnings": texts,
            "metadata": { "type": "object" },
        },
        "required": if decides(name) { vec!["version", "decision"] } else { vec!["version"] },
    })
}
