//! Gives a hook the event of a case, and judges its answer as the host does.

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{self, AssertUnwindSafe};

use serde_json::{Map, Value};

use super::case::{Case, Verdict};
use super::surroundings::Entered;
use crate::event::EventData;
use crate::native::{pairs, payload};
use crate::{
    Action, Answer, Capability, Error, ErrorSource, Event, Give, Hook, Manifest, OnFailure, ToolCall,
    ToolKind, hook, state,
};

/// The working directory that a hook sees. It does not exist, so that a case depends on no file of its author.
const WORK: &str = "/hookbox-case/repo";

/// The answer that came.
#[derive(Debug, Default)]
pub(super) struct Came {
    /// The reason why the case cannot be judged.
    pub(super) unfit: Option<String>,
    pub(super) verdict: Verdict,
    pub(super) reason: Option<String>,
    /// The value that the hook changed, by its name in a case.
    pub(super) changed: Option<(&'static str, Value)>,
    pub(super) context: Vec<String>,
    pub(super) warnings: Vec<String>,
    pub(super) follow_ups: Vec<String>,
    pub(super) callback: Option<String>,
    pub(super) log: String,
    pub(super) store: BTreeMap<String, String>,
    /// The cause of the hook's failure, and its message.
    pub(super) failure: Option<(&'static str, String)>,
}

/// Runs one case. An error is a fault of its surroundings.
pub(super) fn play<H: Hook>(case: &Case) -> Result<Came, Error> {
    let manifest = H::manifest();
    if let Some(unfit) = unfit(case, &manifest) {
        return Ok(Came { unfit: Some(unfit), ..Came::default() });
    }
    let entered = Entered::new(pairs(case.settings.clone()))?;
    for (key, value) in &case.store {
        match value {
            Value::Bool(false) => {}
            Value::String(text) => state::set(key, text)?,
            other => state::set(key, other.to_string())?,
        }
    }
    let (cx, data) = payload::read(&case.event, &given(case))?;
    let mut came = Came::default();
    if !is_wanted(&manifest, &case.event, &data) {
        return Ok(came);
    }
    entered.allow_store(case.grants.iter().any(|grant| grant == "store"));
    let is_observer = manifest.subscriptions.iter().any(|it| it.event == case.event && it.observe);
    for _ in 0..case.times {
        let run = panic::catch_unwind(AssertUnwindSafe(|| hook::dispatch::<H>(&cx, &data)));
        came = Came::default();
        let mut denied = Vec::new();
        denied.extend(is_withheld(case, &manifest).then_some("conversation"));
        denied.extend(entered.take_denied().then_some("store"));
        let cause = |cause| if denied.is_empty() { cause } else { "denied" };
        match run {
            Ok(Ok(answer)) => {
                if !denied.is_empty() {
                    came.failure = Some(("denied", String::new()));
                }
                if !is_observer {
                    take(&mut came, &manifest, case, answer);
                }
            }
            Ok(Err(error)) => fail(&mut came, &manifest, case, cause("exit"), error.to_string()),
            Err(panic) => fail(&mut came, &manifest, case, cause("trap"), message(&*panic)),
        }
        for right in denied {
            came.warnings
                .push(format!("{} was denied {right}; allow it with `hookbox grants add`", manifest.name));
        }
    }
    came.log = entered.log();
    entered.allow_store(true);
    for key in state::keys()? {
        let value = state::get(&key)?.unwrap_or_default();
        came.store.insert(key, neutral(&String::from_utf8_lossy(&value)));
    }
    Ok(came)
}

/// Returns the reason why a case says nothing about the hook.
fn unfit(case: &Case, manifest: &Manifest) -> Option<String> {
    let events: Vec<&str> = manifest.subscriptions.iter().map(|it| it.event.as_str()).collect();
    if !events.contains(&case.event.as_str()) {
        return Some(format!("the hook is for {}, not for {}", events.join(", "), case.event));
    }
    let is_asked = |grant: &str| match grant {
        "store" => manifest.capabilities.contains(&Capability::Store),
        "allow" => manifest.answers.contains(&Give::Allow),
        _ => manifest.capabilities.contains(&Capability::Conversation),
    };
    let grant = case.grants.iter().find(|grant| !is_asked(grant))?;
    Some(format!("the case grants {grant}, and the hook does not ask for it"))
}

/// Returns the data of the event with its surroundings, and without what the hook may not see.
fn given(case: &Case) -> Map<String, Value> {
    let mut data = case.data.clone();
    data.entry("cwd").or_insert_with(|| WORK.into());
    data.entry("conv_id").or_insert_with(|| "case".into());
    if !case.grants.iter().any(|grant| grant == "conversation") {
        data.remove("messages");
        if case.event == Event::PostCompact {
            data.remove("summary");
        }
    }
    data
}

/// Returns true if the hook asks for the conversation, and the event has it, and the case does not grant it.
fn is_withheld(case: &Case, manifest: &Manifest) -> bool {
    let field = if case.event == Event::PostCompact { "summary" } else { "messages" };
    let has_it =
        matches!(case.event, Event::AfterTurn | Event::AgentStop | Event::PreCompact | Event::PostCompact)
            && case.data.get(field).is_some_and(|value| !value.is_null());
    let is_granted = case.grants.iter().any(|grant| grant == "conversation");
    has_it && !is_granted && manifest.capabilities.contains(&Capability::Conversation)
}

/// Returns true if a subscription is for the event and its tool.
fn is_wanted(manifest: &Manifest, event: &Event, data: &EventData) -> bool {
    let call = match data {
        EventData::BeforeToolCall(call) => Some(call),
        EventData::AfterToolCall(result) => Some(&result.call),
        EventData::OnError(error) => match &error.source {
            ErrorSource::Tool(call) => Some(call),
            _ => None,
        },
        _ => None,
    };
    let is_for = |tools: &[String], call: &ToolCall| {
        tools.iter().any(|it| *it == call.name || it.strip_prefix("kind:") == Some(kind(call.kind)))
    };
    let mut subscriptions = manifest.subscriptions.iter().filter(|it| it.event == *event);
    subscriptions.any(|it| it.tools.is_empty() || call.is_none_or(|call| is_for(&it.tools, call)))
}

fn kind(kind: ToolKind) -> &'static str {
    match kind {
        ToolKind::Shell => "shell",
        ToolKind::Read => "read",
        ToolKind::Write => "write",
        ToolKind::Edit => "edit",
        ToolKind::Search => "search",
        ToolKind::Fetch => "fetch",
        ToolKind::Mcp => "mcp",
        ToolKind::Agent => "agent",
        ToolKind::Other => "other",
    }
}

/// Returns the answers that an event allows, beside passing and warning.
fn allowed(event: &Event) -> &'static [&'static str] {
    match event {
        Event::SessionStart | Event::PostCompact => &["inject"],
        Event::SessionEnd | Event::TurnEnd => &[],
        Event::UserMessageSend | Event::AfterToolCall => &["block", "modify", "inject"],
        Event::BeforeToolCall => &["block", "ask", "modify", "inject", "allow"],
        Event::OnError => &["modify", "inject"],
        Event::AfterTurn => &["inject", "mutate", "callback"],
        Event::AgentStop => &["follow-up", "mutate", "callback"],
        Event::PreCompact => &["block", "inject"],
        Event::OnBudgetExceeded => &["block", "inject", "callback"],
        // The agent decides.
        Event::Other(_) => &["block", "inject"],
    }
}

/// Takes the parts of an answer that the manifest declares and the event allows.
fn take(came: &mut Came, manifest: &Manifest, case: &Case, answer: Answer) {
    let Answer { action, context, warnings, .. } = answer;
    came.warnings = warnings.iter().map(|text| neutral(text)).collect();
    let (name, given) = match &action {
        Action::Pass => ("pass", None),
        Action::Block(_) => ("block", None),
        Action::Ask(_) => ("ask", None),
        Action::Modify(_) => ("modify", Some(Give::Modify)),
        Action::FollowUp(_) => ("follow-up", Some(Give::FollowUp)),
        Action::Mutate(_) => ("mutate", Some(Give::Mutate)),
        Action::Callback(_) => ("callback", Some(Give::Callback)),
        Action::Allow(_) => ("allow", Some(Give::Allow)),
    };
    let mut undeclared = Vec::new();
    let mut is_free = |came: &mut Came, name: &'static str, given: Option<Give>| {
        if given.is_some_and(|given| !manifest.answers.contains(&given)) {
            undeclared.push(name);
            return false;
        }
        let is_allowed = name == "pass" || allowed(&case.event).contains(&name);
        if !is_allowed {
            came.warnings.push(format!("{} cannot {name} at {}: not applied", manifest.name, case.event));
        }
        is_allowed
    };
    if !context.is_empty() && is_free(came, "inject", Some(Give::Inject)) {
        came.context = context.iter().map(|text| neutral(text)).collect();
    }
    if is_free(came, name, given) {
        match action {
            Action::Block(reason) => (came.verdict, came.reason) = (Verdict::Block, Some(neutral(&reason))),
            Action::Ask(reason) => (came.verdict, came.reason) = (Verdict::Ask, Some(neutral(&reason))),
            Action::Modify(value) => {
                came.changed = subject(&case.event).map(|name| (name, neutral_value(value)));
            }
            Action::FollowUp(messages) => {
                came.follow_ups = messages.iter().map(|text| neutral(text)).collect()
            }
            Action::Callback(callback) => came.callback = Some(callback.name),
            Action::Allow(reason) if case.grants.iter().any(|grant| grant == "allow") => {
                (came.verdict, came.reason) = (Verdict::Allow, Some(neutral(&reason)));
            }
            Action::Allow(_) => {
                came.failure = Some(("denied", String::new()));
                let name = &manifest.name;
                came.warnings.push(format!("{name} was denied allow; allow it with `hookbox grants add`"));
            }
            Action::Mutate(_) | Action::Pass => {}
        }
    }
    if !undeclared.is_empty() {
        let message =
            format!("gave answers that it does not declare ({}): not applied", undeclared.join(", "));
        fail(came, manifest, case, "denied", message);
    }
}

/// Returns the name of the value that an event is about.
fn subject(event: &Event) -> Option<&'static str> {
    match event {
        Event::BeforeToolCall => Some("input"),
        Event::AfterToolCall => Some("output"),
        Event::UserMessageSend => Some("message"),
        Event::OnError => Some("error"),
        _ => None,
    }
}

/// Notes a failure: a block if the policy is to block, and a warning.
fn fail(came: &mut Came, manifest: &Manifest, case: &Case, cause: &'static str, message: String) {
    let text = neutral(&format!("{} failed ({cause}): {message}", manifest.name));
    let blocks = case.on_failure.or(manifest.on_failure) == Some(OnFailure::Block);
    if blocks && allowed(&case.event).contains(&"block") {
        (came.verdict, came.reason) = (Verdict::Block, Some(text.clone()));
    }
    came.warnings.push(text);
    came.failure = Some((cause, neutral(&message)));
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
}

/// Returns a text without the path of the working directory.
fn neutral(text: &str) -> String {
    text.replace(WORK, "$REPO")
}

fn neutral_value(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(neutral(&text)),
        Value::Array(values) => values.into_iter().map(neutral_value).collect(),
        Value::Object(fields) => {
            fields.into_iter().map(|(key, value)| (key, neutral_value(value))).collect::<Map<_, _>>().into()
        }
        other => other,
    }
}
