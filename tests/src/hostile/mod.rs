//! Attacks on the host, each through the public API: their end, their bound, and that the host is unharmed.
//!
//! [`crate::limits`] has the attacks of Rust components; these need other bytes. The components come from
//! `tests/guests/wat` and `tests/guests/forge`.

mod components;
mod crowd;
mod memory;
mod native;
mod random;

use std::sync::Arc;

use hookbox::ComponentHook;
use hookbox::event::EventData;
use hookbox::hook::Settings;
use hookbox::session::Fired;
use hookbox::{Budget, Context, Descriptor, Event, EventName, Hook, HookError, Kind, Outcome, ToolCall};
use serde_json::json;

use crate::environment::{TestEnvironment, guest, runtime, sample};

/// An event that the sample guardrail blocks.
fn sudo() -> EventData {
    EventData::BeforeToolCall(ToolCall::new("bash", json!({"command": "sudo ls"})))
}

fn event() -> Event {
    Event { context: Arc::new(Context::new("c", "/")), data: sudo() }
}

/// A component of the tests as a hook of the agent's own.
async fn hook(name: &str) -> Arc<ComponentHook> {
    let bytes = std::fs::read(guest(name)).unwrap();
    let component = runtime().load(bytes).await.unwrap_or_else(|error| panic!("{name}: {error}"));
    let descriptor = Descriptor::new(name, Kind::Component).on(EventName::BeforeToolCall);
    Arc::new(ComponentHook::new(component, descriptor, Settings::new()))
}

async fn run(hook: &Arc<ComponentHook>) -> Result<Outcome, HookError> {
    run_with(hook, &Budget::for_kind(Kind::Component)).await
}

async fn run_with(hook: &ComponentHook, budget: &Budget) -> Result<Outcome, HookError> {
    hook.run(&event(), budget).await
}

/// The sample guardrail, the user's, beside a hook that runs before it with these lines of settings.
fn guard(env: &TestEnvironment, hostile: &str, settings: &str) {
    env.copy("home/.hookbox/hooks/guardrail.wasm", &sample("guardrail"));
    env.file("home/.hookbox/hookbox.toml", format!("[hooks.\"{hostile}\"]\npriority = 1\n{settings}\n"));
}

/// The guard answered, and rightly.
#[track_caller]
fn guarded(fired: &Fired, what: &str) {
    let block = fired.verdict.block.as_ref().map(|ruling| (ruling.by.as_str(), ruling.for_user()));
    let want = Some(("guardrail.wasm", "Security policy: 'sudo' is not allowed"));
    assert_eq!(block, want, "{what}: {:#?}", fired.report);
}
