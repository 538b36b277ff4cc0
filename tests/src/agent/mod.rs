//! The reference agent: which events it sends, when, and what it does with the verdicts.

mod demo;
mod events;
mod flow;
mod guards;
mod recipes;
mod rotation;
mod secrets;
mod subagents;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use hookbox::event::{ErrorSource, EventData};
use hookbox::manager::{Builder, Manager};
use hookbox::{Callback, Event, EventName, InvokedBy, Outcome};
use hookbox_agent::{Agent, Conversation, Scripted, Step, Tools};
use serde_json::{Value, json};

use crate::environment::TestEnvironment;

/// The events that the hooks of a test have seen, in order.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Vec<Event>>>);

impl Seen {
    fn events(&self) -> Vec<Event> {
        self.0.lock().unwrap().clone()
    }

    /// Each event in a few words.
    fn words(&self) -> Vec<String> {
        self.events().iter().map(words).collect()
    }
}

/// An event: its name, what tells it from others of its name, its recipe in brackets, and whose it is.
fn words(event: &Event) -> String {
    let detail = match &event.data {
        EventData::SessionStart { source: text } | EventData::SessionEnd { reason: text } => text.clone(),
        EventData::PreCompact { trigger, .. } | EventData::PostCompact { trigger, .. } => trigger.clone(),
        EventData::TurnEnd { turn_number, .. } => turn_number.map(|turn| turn.to_string()),
        EventData::AfterTurn(turn) => turn.turn_number.map(|turn| turn.to_string()),
        EventData::AfterToolCall(result) => result.success.map(|worked| worked.to_string()),
        EventData::OnBudgetExceeded { threshold, .. } => threshold.map(|share| share.to_string()),
        EventData::OnError(error) => {
            let source = if matches!(error.source, ErrorSource::Tool(_)) { "tool" } else { "turn" };
            Some(error.attempt.map_or_else(|| source.to_owned(), |attempt| format!("{source} {attempt}")))
        }
        _ => None,
    };
    let recipe = event.context.recipe_name.as_ref().map(|recipe| format!("[{recipe}]"));
    let sub = (event.context.invoked_by == InvokedBy::Subagent).then(|| "(sub)".to_owned());
    let parts = [Some(event.name().to_string()), detail, recipe, sub];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// A builder whose hooks see every event and answer what `answer` says.
fn hooks(
    env: &TestEnvironment,
    answer: impl Fn(&Event) -> Outcome + Send + Sync + 'static,
) -> (Builder, Seen) {
    let (seen, answer) = (Seen::default(), Arc::new(answer));
    let mut builder = env.builder();
    for name in EventName::ALL {
        let (seen, answer) = (seen.clone(), Arc::clone(&answer));
        builder = builder.on(format!("see-{name}"), name, move |event| {
            let outcome = answer(&event);
            seen.0.lock().unwrap().push(event);
            async { Ok(outcome) }
        });
    }
    (builder, seen)
}

/// The agent's report of its actions, and its warnings.
type Told = Rc<RefCell<Vec<String>>>;

/// The conversations that an agent offered to save, by their ids, as JSON.
#[derive(Clone, Default)]
struct Saved(Rc<RefCell<BTreeMap<String, Value>>>);

impl Saved {
    fn load(&self, id: &str) -> Conversation {
        serde_json::from_value(self.0.borrow()[id].clone()).unwrap()
    }

    fn ids(&self) -> Vec<String> {
        self.0.borrow().keys().cloned().collect()
    }
}

/// An agent in `repo/`, and what it offers to save.
fn saving(env: &TestEnvironment, manager: &Manager, model: Scripted) -> (Agent<Scripted>, Told, Saved) {
    let (told, saved) = (Told::default(), Saved::default());
    let (tell, save) = (Rc::clone(&told), saved.clone());
    let watch = move |step: Step<'_>| match step {
        Step::Because(what) => tell.borrow_mut().push(what),
        Step::Warning(what) => tell.borrow_mut().push(what.to_owned()),
        Step::Conversation(it) => drop(save.0.borrow_mut().insert(it.id.clone(), json!(it))),
        _ => {}
    };
    (Agent::new(model, Tools::new(&env.path("repo")).unwrap(), manager.clone(), watch), told, saved)
}

/// An agent in `repo/`.
fn agent(env: &TestEnvironment, manager: &Manager, model: Scripted) -> (Agent<Scripted>, Told) {
    let (agent, told, _) = saving(env, manager, model);
    (agent, told)
}

fn bash(command: &str) -> Value {
    json!({"text": "I try.", "calls": [["bash", {"command": command}]]})
}

fn callback(name: &str, args: &[(&str, &str)]) -> Outcome {
    let args = args.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    hookbox::Action::Callback(Callback { name: name.to_owned(), args }).into()
}

fn contents(messages: &[Value]) -> Vec<&str> {
    messages.iter().map(|message| message["content"].as_str().unwrap_or_default()).collect()
}
