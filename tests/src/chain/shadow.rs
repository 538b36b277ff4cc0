//! Hooks in shadow mode: they run in their place, the report has what they would have done, and nothing is acted on.

use hookbox::dialect::kodelet;
use hookbox::hook::OnFailure;
use hookbox::{Cause, Event, Mode, Verdict};

use super::*;
use crate::answers::Backend;

const SETTINGS: &str = "mode = \"observe\"\non_failure = \"block\"";

#[tokio::test]
async fn nothing_of_a_hook_in_shadow_mode_is_acted_on_and_its_report_has_all_of_it() {
    let (stop, message) = (&EventName::AgentStop, &EventName::UserMessageSend);
    for (event, answer, would, reason, change) in [
        (BEFORE, json!({}), None, None, None),
        (BEFORE, json!({"block": "no"}), Some(Status::Blocked), Some("no"), None),
        (BEFORE, json!({"modify": {"command": "id"}}), Some(Status::Changed), None, Some("input")),
        (
            BEFORE,
            json!({"context": ["mine"], "warnings": ["mine"]}),
            Some(Status::Changed),
            None,
            Some("context"),
        ),
        (BEFORE, json!({"warnings": ["mine"]}), None, None, None),
        (message, json!({"modify": "bye"}), Some(Status::Changed), None, Some("message")),
        (stop, json!({"follow_up": ["go on"]}), Some(Status::Changed), None, Some("follow_up_messages")),
        (stop, json!({"callback": {"name": "rotate"}}), Some(Status::Changed), None, Some("callback")),
    ] {
        each(async |backend| {
            let env = TestEnvironment::new();
            let shadow = backend.hook(&env, "home/.hookbox", "1", event, &answer, SETTINGS);
            let last = user(&env, backend, "2", event, &json!({}));
            let fired = fire(&env, data(event)).await;
            assert_eq!(statuses(&fired), [(&*shadow, Status::Observed), (&last, Status::Passed)], "{answer}");
            let found = report(&fired, &shadow);
            assert_eq!(
                (found.would, found.message.as_deref(), found.cause),
                (would, reason, None),
                "{answer}"
            );
            let changes: Vec<&str> = found.changes.iter().map(|it| it.what).collect();
            assert_eq!(changes, change.into_iter().collect::<Vec<_>>(), "{answer}");
            assert_eq!(fired.verdict, Verdict::default(), "{answer}");
            let asked = Event { data: data(event), ..fired.event.clone() };
            assert_eq!(kodelet::encode(&fired.event), kodelet::encode(&asked), "{answer}");
        })
        .await;
    }
}

#[tokio::test]
async fn a_component_in_shadow_mode_asks_nobody() {
    let env = TestEnvironment::new();
    let shadow =
        Backend::Component.hook(&env, "home/.hookbox", "1", BEFORE, &json!({"ask": "may it?"}), SETTINGS);
    let fired = fire(&env, data(BEFORE)).await;
    assert_eq!((report(&fired, &shadow).would, fired.verdict.ask.is_some()), (Some(Status::Asked), false));
}

#[tokio::test]
async fn a_failure_in_shadow_mode_is_told_and_decides_nothing() {
    each(async |backend| {
        let env = TestEnvironment::new();
        let shadow = backend.hook(&env, "home/.hookbox", "1", BEFORE, &json!({"fail": "broken"}), SETTINGS);
        let yes = FunctionHook::with(
            Descriptor::new("yes", Kind::Code).on(EventName::BeforeToolCall).allows(),
            |_| async { Ok(Outcome::from(hookbox::Action::Allow("fine".to_owned()))) },
        );
        let manager = env.builder().hook(yes).build().await;
        assert_eq!(manager.on_failure(Some(BEFORE)), OnFailure::Pass);
        let fired = manager.session("c").fire(data(BEFORE)).await;
        let found = report(&fired, &shadow);
        assert_eq!((found.status, found.cause, found.would), (Status::Failed, Some(Cause::Exit), None));
        assert!(warned(&fired, &[&shadow, "failed"]), "{:#?}", fired.verdict);
        // It might have objected, and would not have been heard.
        assert_eq!(fired.verdict.allowed.as_ref().map(|it| it.for_user()), Some("fine"));
        assert_eq!(reason(&fired), None);
    })
    .await;
}

#[tokio::test]
async fn a_hook_in_shadow_mode_is_asked_after_a_block_as_well() {
    each_pair(async |first, second| {
        let env = TestEnvironment::new();
        let guard = user(&env, first, "1", BEFORE, &json!({"block": "first"}));
        let shadow = second.hook(&env, "home/.hookbox", "2", BEFORE, &json!({"block": "second"}), SETTINGS);
        let fired = fire(&env, data(BEFORE)).await;
        assert_eq!(statuses(&fired), [(&*guard, Status::Blocked), (&shadow, Status::Observed)]);
        let found = report(&fired, &shadow);
        assert_eq!((found.would, found.message.as_deref()), (Some(Status::Blocked), Some("second")));
        assert_eq!(reason(&fired), Some("first"));
    })
    .await;
}

#[tokio::test]
async fn a_hook_of_the_agents_own_has_a_shadow_mode() {
    let mut descriptor = Descriptor::new("code", Kind::Code).on(EventName::BeforeToolCall);
    (descriptor.mode, descriptor.on_failure) = (Mode::Observe, OnFailure::Block);
    let hook = FunctionHook::with(descriptor, |_| async { Ok(Outcome::block("no")) });
    let env = TestEnvironment::new();
    let manager = env.builder().hook(hook).build().await;
    assert_eq!(manager.on_failure(Some(BEFORE)), OnFailure::Pass);
    let fired = manager.session("c").fire(data(BEFORE)).await;
    assert_eq!((report(&fired, "code").would, reason(&fired)), (Some(Status::Blocked), None));
}
