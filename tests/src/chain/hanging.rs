//! Several hooks that hang, one after another.

use hookbox::Status;
use hookbox::hook::Cause;
use serde_json::json;

use super::failures::{DEADLINE, sleep, sleeper};
use super::{BEFORE, reason, report};
use crate::answers::{each, user};
use crate::environment::TestEnvironment;

#[tokio::test]
async fn several_hooks_that_hang_block_nothing_unless_one_of_them_asked_for_it() {
    each(async |backend| {
        for asking in [None, Some("3")] {
            let env = TestEnvironment::new();
            let mut settings = String::new();
            let stems = ["1", "2", "3", "4"];
            let slow = stems.map(|stem| {
                let name = sleeper(&env, backend, "home/.hookbox", stem);
                let policy = if asking == Some(stem) { "block" } else { "pass" };
                settings.push_str(&format!(
                    "[hooks.\"{name}\"]\ntimeout = \"100ms\"\non_failure = \"{policy}\"\n"
                ));
                name
            });
            env.file("home/.hookbox/hookbox.toml", settings);
            let last = user(&env, backend, "5", BEFORE, &json!({"context": ["still here"]}));
            let fired = env.builder().build().await.session("c").fire(sleep()).await;
            let asked_by = asking.and_then(|stem| slow.iter().find(|name| name.starts_with(stem)));
            let mut over = false;
            for (name, stem) in slow.iter().zip(stems) {
                let want = match (over, asking == Some(stem)) {
                    (true, _) => (Status::Skipped, None),
                    (false, true) => (Status::Blocked, Some(Cause::Timeout)),
                    (false, false) => (Status::Failed, Some(Cause::Timeout)),
                };
                over |= asking == Some(stem);
                let found = report(&fired, name);
                assert_eq!((found.status, found.cause), want, "{name}: {:#?}", fired.report);
            }
            let by = fired.verdict.block.as_ref().map(|ruling| ruling.by.as_str());
            assert_eq!(by, asked_by.map(String::as_str), "{:#?}", fired.report);
            let ran = report(&fired, &last).status == Status::Changed;
            assert_eq!((ran, fired.verdict.context.len()), (!over, usize::from(!over)));
        }
    })
    .await;
}

#[tokio::test]
async fn hooks_that_hang_one_after_another_take_half_of_what_is_left_each() {
    each(async |backend| {
        let env = TestEnvironment::new();
        let slow = ["1", "2", "3"].map(|stem| sleeper(&env, backend, "home/.hookbox", stem));
        let limits = slow.iter().map(|name| format!("[hooks.\"{name}\"]\ntimeout = \"30s\"\n"));
        env.file("home/.hookbox/hookbox.toml", limits.collect::<String>());
        let manager = env.builder().chain_deadline(DEADLINE * 2).build().await;
        let fired = manager.session("c").fire(sleep()).await;
        assert_eq!(reason(&fired), None, "{:#?}", fired.report);
        // On a busy machine the ends take time as well: the next part is only shorter then. The last hook may
        // use all that is left.
        for (name, most) in slow.iter().zip([DEADLINE, DEADLINE / 2, DEADLINE / 2]) {
            let found = report(&fired, name);
            assert_eq!((found.status, found.cause), (Status::Failed, Some(Cause::Timeout)), "{found:#?}");
            let limit = found.limit.as_ref().map_or(0, |limit| limit.limit);
            assert!(u128::from(limit) <= most.as_millis(), "{found:#?}");
        }
    })
    .await;
}
