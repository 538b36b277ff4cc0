//! The cases of the clients with the library: an agent in Rust gets the verdicts that the clients give.

use std::fs;
use std::time::Duration;

use hookbox::dialect::Dialect;
use hookbox::event::EventData;
use hookbox::manager::Manager;
use hookbox::session::{Fired, Session};
use hookbox::trust::TrustPolicy;
use hookbox::{Context, EventName};
use serde_json::{Map, Value, json};

use crate::environment::{TestEnvironment, repository};

/// Returns a value with its repeated texts.
fn repeated(value: &Value) -> Value {
    match value {
        Value::Object(fields) => match fields.get("$repeat") {
            Some(repeat) => {
                let count = usize::try_from(repeat[1].as_u64().unwrap()).unwrap();
                json!(repeat[0].as_str().unwrap().repeat(count))
            }
            None => fields.iter().map(|(name, value)| (name.clone(), repeated(value))).collect(),
        },
        Value::Array(values) => values.iter().map(repeated).collect(),
        other => other.clone(),
    }
}

/// Returns the part of a verdict that a case can expect.
fn shown(fired: &Fired) -> Map<String, Value> {
    let Fired { event, verdict, report, .. } = fired;
    let name = event.name();
    let value = match &event.data {
        EventData::BeforeToolCall(call) => call.input.value().clone(),
        EventData::AfterToolCall(result) => result.output.value().clone(),
        EventData::UserMessageSend { message } => json!(message),
        EventData::OnError(error) => json!(error.message),
        _ => Value::Null,
    };
    let (action, ruling) = match (&verdict.block, &verdict.ask) {
        (Some(block), _) => ("block", Some(block)),
        (None, Some(ask)) => ("ask", Some(ask)),
        (None, None) if name == EventName::BeforeToolCall => ("run", None),
        (None, None) if name.allows().block || name == EventName::OnError => ("proceed", None),
        (None, None) => ("", None),
    };
    let has_value = action != "block" || name == EventName::AfterToolCall;
    let metadata: Map<String, Value> = report
        .hooks
        .iter()
        .filter(|it| !it.metadata.is_empty())
        .map(|it| (it.name.clone(), Value::Object(it.metadata.clone())))
        .collect();
    let shown = json!({
        "action": Some(action).filter(|it| !it.is_empty()),
        "value": Some(value).filter(|_| has_value),
        "reason": ruling.map(|it| it.needed_for_model()),
        "by": ruling.map(|it| &it.by),
        "cause": ruling.map(|it| it.cause.map_or("decision", |cause| cause.as_str())),
        "modified": verdict.modified,
        "context": verdict.context,
        "warnings": verdict.warnings.len(),
        "follow_ups": verdict.follow_ups,
        "dropped_follow_ups": verdict.dropped_follow_ups,
        "messages": verdict.mutate,
        "callback": verdict.callback.as_ref().map(|it| json!({"name": it.name, "args": it.args.iter().cloned().collect::<std::collections::BTreeMap<_, _>>()})),
        "metadata": metadata,
    });
    shown.as_object().unwrap().clone()
}

/// Sends the event of a step, and returns the differences to what it expects.
async fn differences(session: Session, step: &Value) -> Vec<String> {
    let name: EventName = step["event"].as_str().unwrap().parse().unwrap();
    let mut data = repeated(&step["data"]).as_object().unwrap().clone();
    data.insert("conv_id".to_owned(), step["session"].clone());
    if !step["parent"].is_null() {
        data.insert("invoked_by".to_owned(), json!("subagent"));
    }
    let context = Context::new("", std::env::temp_dir().to_str().unwrap());
    let event = Dialect::of(&name, &data).decode(&name, data, &context).unwrap().event;
    let found = shown(&session.fire_event(event).await);
    let expected = repeated(&step["expect"]);
    let expected = expected.as_object().unwrap();
    let is_other = |(key, value): &(&String, &Value)| match key.as_str() {
        "reason_contains" => !found["reason"].as_str().unwrap_or_default().contains(value.as_str().unwrap()),
        _ => found[*key] != **value,
    };
    expected
        .iter()
        .filter(is_other)
        .map(|(key, value)| format!("{step}: {key}: {value}, found {found:?}"))
        .collect()
}

async fn run(case: &Value, env: &TestEnvironment) -> Vec<String> {
    for (name, text) in case["hooks"].as_object().into_iter().flatten() {
        env.script(&format!("repo/.hookbox/hooks/{name}"), text.as_str().unwrap());
    }
    for (path, text) in case["files"].as_object().into_iter().flatten() {
        env.file(&format!("repo/{path}"), text.as_str().unwrap());
    }
    let manager: Manager = env.builder().trust(TrustPolicy::All).build().await;
    let mut sessions = std::collections::HashMap::<String, Session>::new();
    let mut found = Vec::new();
    for step in case["steps"].as_array().unwrap() {
        let steps = step["together"].as_array().map_or_else(|| vec![step], |steps| steps.iter().collect());
        let mut running = Vec::new();
        for step in steps {
            let id = step["session"].as_str().unwrap().to_owned();
            let parent = step["parent"].as_str().map(|it| sessions[it].clone());
            let new = || parent.map_or_else(|| manager.session(&id), |it| it.subagent(&id));
            let session = sessions.entry(id.clone()).or_insert_with(new).clone();
            let deadline = case["options"]["deadline_ms"].as_u64().map(Duration::from_millis);
            let session = deadline.into_iter().fold(session, Session::within);
            let step = step.clone();
            running.push(tokio::spawn(async move { differences(session, &step).await }));
        }
        for step in running {
            found.extend(step.await.unwrap());
        }
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn the_library_gives_the_verdicts_that_its_clients_give() {
    let mut count = 0;
    let cases = super::files(&repository().join("clients/cases"), ".json").into_iter().map(|file| {
        let text = fs::read_to_string(file).unwrap();
        serde_json::from_str::<Value>(&text).unwrap()
    });
    // Cases about the process of a client are for clients only.
    let is_of_clients = |case: &Value| {
        let kills = case["steps"].as_array().unwrap().iter().any(|it| !it["kill"].is_null());
        kills || !case["program"].is_null() || case["client"] == true
    };
    for case in cases.filter(|it| !is_of_clients(it)) {
        let found = run(&case, &TestEnvironment::new()).await;
        assert!(found.is_empty(), "{}: {found:#?}", case["name"]);
        count += 1;
    }
    assert!(count > 20, "{count} cases");
}
