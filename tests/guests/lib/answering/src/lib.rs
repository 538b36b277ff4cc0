//! Answers what it is asked to, at every event: the JSON object at `/answer` of a tool's input, else of the
//! data of an event without a case, else in the setting `answer`; else it passes.
//!
//! One of `{"block": REASON}`, `{"ask": REASON}`, `{"modify": VALUE}`, `{"follow_up": [TEXT, …]}`,
//! `{"mutate": [{"role": …, "content": …}, …]}`, `{"callback": {"name": …, "args": {KEY: TEXT}}}`, `{"fail":
//! TEXT}` (an error), and beside any of them `"context": [TEXT, …]`, `"warnings": [TEXT, …]`, `"metadata":
//! {KEY: VALUE}`. `"only": [EVENT, …]` limits it to these events, `"log": TEXT` writes to the log,
//! `"misbehave"` is one of the deeds of [`misbehave`]. The setting `tell` is true for a hook that injects the text of
//! each tool's input instead.

use hookbox_sdk::prelude::*;

/// The manifest: every event, every answer but `allow`, the conversation.
pub fn manifest(name: &str) -> Manifest {
    Event::ALL
        .into_iter()
        .chain([Event::Other("notification".to_owned())])
        .fold(Manifest::new(name, env!("CARGO_PKG_VERSION"), env!("CARGO_PKG_DESCRIPTION")), Manifest::on)
        .answers(Give::ALL.into_iter().filter(|it| *it != Give::Allow))
        .capability(Capability::Conversation)
}

/// The answer that the setting `answer` asks for.
pub fn from_settings(event: &str) -> Result<Answer, Error> {
    let settings: std::collections::BTreeMap<String, Value> = settings()?;
    settings.get("answer").map_or_else(|| Ok(Answer::pass()), |wanted| answer(event, wanted))
}

/// The answer that a document asks for, else the setting.
pub fn from_document(event: &str, document: &Document) -> Result<Answer, Error> {
    let settings: std::collections::BTreeMap<String, Value> = settings()?;
    if settings.get("tell").is_some_and(|it| *it == true) {
        return Ok(Answer::pass().inject(document.text()));
    }
    match document.get::<Value>("/answer")? {
        Some(wanted) => answer(event, &wanted),
        None => from_settings(event),
    }
}

fn answer(event: &str, wanted: &Value) -> Result<Answer, Error> {
    let text = |name: &str| wanted.get(name).and_then(Value::as_str);
    if let Some(only) = wanted.get("only").and_then(Value::as_array)
        && !only.iter().any(|name| name == event)
    {
        return Ok(Answer::pass());
    }
    if let Some(note) = text("log") {
        hookbox_sdk::info!("{note}");
    }
    if let Some(deed) = text("misbehave") {
        misbehave(deed);
    }
    if let Some(message) = text("fail") {
        return Err(Error::new(message));
    }
    let mut answer = if let Some(reason) = text("block") {
        Answer::block(reason)
    } else if let Some(reason) = text("ask") {
        Answer::ask(reason)
    } else if let Some(value) = wanted.get("modify") {
        Answer::modify(value.clone())
    } else if wanted.get("follow_up").is_some() {
        Answer::follow_up(texts(wanted, "follow_up"))
    } else if let Some(messages) = wanted.get("mutate").and_then(Value::as_array) {
        let field = |message: &Value, name: &str| message[name].as_str().unwrap_or_default().to_owned();
        Answer::mutate(
            messages.iter().map(|m| Message { role: field(m, "role"), content: field(m, "content") }),
        )
    } else if let Some(callback) = wanted.get("callback") {
        let args = callback["args"].as_object().cloned().unwrap_or_default();
        args.iter()
            .fold(Answer::callback(callback["name"].as_str().unwrap_or_default()), |answer, (key, value)| {
                answer.arg(key, value.as_str().unwrap_or_default())
            })
    } else {
        Answer::pass()
    };
    answer.context = texts(wanted, "context");
    answer.warnings = texts(wanted, "warnings");
    if let Some(metadata) = wanted.get("metadata").and_then(Value::as_object) {
        answer.metadata = metadata.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
    }
    Ok(answer)
}

/// Does what no hook should.
fn misbehave(deed: &str) {
    match deed {
        "trap" => panic!("asked to panic"),
        "exit" => std::process::exit(1),
        "sleep" => std::thread::sleep(std::time::Duration::from_secs(60)),
        "loop" => loop {
            std::hint::black_box(());
        },
        "alloc" => loop {
            std::mem::forget(std::hint::black_box(vec![1_u8; 1 << 20]));
        },
        "print" => loop {
            println!("{}", "x".repeat(4000));
        },
        unknown => panic!("no such deed: {unknown}"),
    }
}

fn texts(wanted: &Value, name: &str) -> Vec<String> {
    let texts = wanted.get(name).and_then(Value::as_array).into_iter().flatten();
    texts.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The methods of every event, which answer what they are asked to.
#[macro_export]
macro_rules! every_event {
    () => {
        $crate::every_event! { settings:
            session_start: SessionStart, session_end: SessionEnd, user_message_send: UserMessage, on_error: ErrorEvent,
            after_turn: AfterTurn, turn_end: TurnEnd, agent_stop: AgentStop, pre_compact: PreCompact,
            post_compact: PostCompact, on_budget_exceeded: BudgetExceeded
        }
        fn before_tool_call(_cx: &Context, call: &ToolCall) -> Result<Answer, Error> {
            $crate::from_document("before_tool_call", &call.input)
        }
        fn after_tool_call(_cx: &Context, result: &ToolResult) -> Result<Answer, Error> {
            $crate::from_document("after_tool_call", &result.call.input)
        }
        fn other(_cx: &Context, name: &str, data: &Document) -> Result<Answer, Error> {
            $crate::from_document(name, data)
        }
    };
    (settings: $($method:ident: $event:ty),*) => {
        $(fn $method(_cx: &Context, _event: &$event) -> Result<Answer, Error> {
            $crate::from_settings(stringify!($method))
        })*
    };
}
