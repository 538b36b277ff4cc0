//! The rules of a chain, each over native and component hooks alike.

mod failures;
mod folding;
mod hanging;
mod matrix;
mod shadow;
mod trust;

use hookbox::FunctionHook;
use hookbox::event::{AfterTurn, AgentStop, ErrorEvent, ErrorSource, EventData};
use hookbox::hook::Descriptor;
use hookbox::hook::Kind;
use hookbox::internal::tool_result;
use hookbox::report::HookReport;
use hookbox::session::Fired;
use hookbox::trust::TrustPolicy;
use hookbox::{Document, EventName, Outcome, Status, ToolCall};
use serde_json::{Value, json};

use crate::answers::{each, each_pair, user};
use crate::environment::TestEnvironment;

/// Sends this to the user's hooks and to what the repository brought; the repository is trusted.
async fn fire(env: &TestEnvironment, data: EventData) -> Fired {
    env.builder().trust(TrustPolicy::All).build().await.session("c").fire(data).await
}

fn before(input: Value) -> EventData {
    EventData::BeforeToolCall(ToolCall::new("bash", input))
}

fn after(output: Value) -> EventData {
    EventData::AfterToolCall(tool_result(ToolCall::new("bash", json!({"command": "ls"})), output))
}

/// Some data for any event.
fn data(event: &EventName) -> EventData {
    match event {
        EventName::SessionStart => EventData::SessionStart { source: None },
        EventName::SessionEnd => EventData::SessionEnd { reason: None },
        EventName::UserMessageSend => EventData::UserMessageSend { message: Some("hello".into()) },
        EventName::BeforeToolCall => before(json!({"command": "ls"})),
        EventName::AfterToolCall => after(json!("out")),
        EventName::OnError => EventData::OnError(ErrorEvent::new(ErrorSource::Turn(None), "it broke")),
        EventName::AfterTurn => EventData::AfterTurn(AfterTurn::default()),
        EventName::TurnEnd => EventData::TurnEnd { response: None, turn_number: None },
        EventName::AgentStop => EventData::AgentStop(AgentStop::default()),
        EventName::PreCompact => {
            EventData::PreCompact { trigger: None, usage: None, messages: Document::absent() }
        }
        EventName::PostCompact => EventData::PostCompact { trigger: None, summary: None, usage: None },
        EventName::OnBudgetExceeded => EventData::OnBudgetExceeded { usage: None, threshold: None },
        other => EventData::Other { name: other.to_string(), data: serde_json::Map::new() },
    }
}

/// The hooks of a report with how they fared.
fn statuses(fired: &Fired) -> Vec<(&str, Status)> {
    fired.report.hooks.iter().map(|hook| (hook.name.as_str(), hook.status)).collect()
}

fn report<'a>(fired: &'a Fired, name: &str) -> &'a HookReport {
    fired.report.hook(name).unwrap_or_else(|| panic!("{name} is not in {:#?}", fired.report))
}

fn reason(fired: &Fired) -> Option<&str> {
    fired.verdict.block.as_ref().map(|ruling| ruling.for_user())
}

/// Returns true if one warning has all of these words.
fn warned(fired: &Fired, words: &[&str]) -> bool {
    let warnings = &fired.verdict.warnings;
    warnings.iter().any(|warning| words.iter().all(|word| warning.text.contains(word)))
}

/// A hook from code that only observes.
fn observer(name: &str, event: EventName, outcome: &Outcome) -> FunctionHook {
    let mut descriptor = Descriptor::new(name, Kind::Code).on(event);
    descriptor.subscriptions[0].observe = true;
    let outcome = outcome.clone();
    FunctionHook::with(descriptor, move |_| std::future::ready(Ok(outcome.clone())))
}

const BEFORE: &EventName = &EventName::BeforeToolCall;

#[tokio::test]
async fn hooks_run_by_who_brought_them_then_by_priority_then_by_name() {
    each(async |backend| {
        let env = TestEnvironment::new();
        let pass = json!({});
        let repo = backend.hook(&env, "repo/.hookbox", "z-repo", BEFORE, &pass, "priority = 90");
        let late = backend.hook(&env, "home/.hookbox", "a-late", BEFORE, &pass, "priority = 60");
        let early = backend.hook(&env, "home/.hookbox", "y-early", BEFORE, &pass, "priority = -5");
        let (b, c) = (user(&env, backend, "c", BEFORE, &pass), user(&env, backend, "b", BEFORE, &pass));
        let code = FunctionHook::with(
            Descriptor::new("code", Kind::Code).on(EventName::BeforeToolCall).priority(1),
            |_| async { Ok(Outcome::pass()) },
        );
        let manager = env.builder().trust(TrustPolicy::All).hook(code).build().await;
        let fired = manager.session("c").fire(data(BEFORE)).await;
        let want = [&repo, &early, &c, &b, &late, "code"].map(|name| (name, Status::Passed));
        assert_eq!(statuses(&fired), want);
        let entries = manager.entries();
        let listed: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!(listed, [&repo, &early, &c, &b, &late], "`list` has the order of the chain");
    })
    .await;
}

#[tokio::test]
async fn a_block_ends_the_chain_and_the_rest_is_skipped() {
    each_pair(async |first, second| {
        let env = TestEnvironment::new();
        let one = user(&env, first, "1", BEFORE, &json!({}));
        let two = user(&env, second, "2", BEFORE, &json!({"block": "two says no"}));
        let three = user(&env, first, "3", BEFORE, &json!({"block": "three says no"}));
        let fired = fire(&env, data(BEFORE)).await;
        assert_eq!(
            statuses(&fired),
            [(&*one, Status::Passed), (&two, Status::Blocked), (&three, Status::Skipped)]
        );
        let ruling = fired.verdict.block.as_ref().unwrap();
        assert_eq!((ruling.for_user(), ruling.by.as_str()), ("two says no", two.as_str()));
    })
    .await;
}

#[tokio::test]
async fn observers_run_after_a_block_and_are_not_acted_on() {
    for outcome in [
        Outcome::block("mine"),
        Outcome::modify(json!({"command": "mine"})),
        Outcome::inject("mine").warn("mine"),
    ] {
        each(async |backend| {
            let env = TestEnvironment::new();
            let guard = user(&env, backend, "guard", BEFORE, &json!({"block": "no"}));
            for blocked in [true, false] {
                let watch = observer("watch", EventName::BeforeToolCall, &outcome);
                let manager = env.builder().directories(blocked).hook(watch).build().await;
                let fired = manager.session("c").fire(data(BEFORE)).await;
                assert_eq!(report(&fired, "watch").status, Status::Observed);
                assert_eq!(fired.report.hook(&guard).is_some(), blocked);
                assert_eq!(reason(&fired), blocked.then_some("no"));
                assert_eq!(fired.event.tool_call().unwrap().input.value(), &json!({"command": "ls"}));
                assert!(fired.verdict.context.is_empty() && fired.verdict.warnings.is_empty());
            }
        })
        .await;
    }
}

#[tokio::test]
async fn every_event_yields_a_report_also_without_a_hook() {
    let env = TestEnvironment::new();
    let other = EventName::Other("notification".to_owned());
    for event in EventName::ALL.iter().chain([&other]) {
        let fired = fire(&env, data(event)).await;
        assert_eq!(&fired.report.event, event);
        assert_eq!((fired.report.hooks.len(), fired.verdict), (0, hookbox::Verdict::default()));
    }
    each(async |backend| {
        for event in EventName::ALL {
            let env = TestEnvironment::new();
            let name = user(&env, backend, "quiet", &event, &json!({}));
            let fired = fire(&env, data(&event)).await;
            assert_eq!(statuses(&fired), [(&*name, Status::Passed)], "{event}");
        }
    })
    .await;
}
