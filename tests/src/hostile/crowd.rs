//! Many hooks that misbehave at once.

use std::sync::Arc;
use std::time::Duration;

use hookbox::hook::Cause;
use hookbox::internal::chain::{self, ChainOptions};
use hookbox::{Allocation, Runtime};
use hookbox::{Budget, Kind};

use super::{event, guarded, hook, run_with, sudo};
use crate::environment::{TestEnvironment, guest, sample};

#[tokio::test(flavor = "current_thread")]
async fn two_hundred_endless_hooks_at_once_do_not_delay_another_task() {
    let name = "run-loop";
    let endless = hook(name).await;
    let mut budget = Budget::for_kind(Kind::Component);
    (budget.fuel, budget.wall) = (50_000_000, Duration::from_secs(3600));
    let calls: Vec<_> = (0..200)
        .map(|_| {
            let endless = Arc::clone(&endless);
            tokio::spawn(async move { run_with(&endless, &budget).await })
        })
        .collect();
    let mut turns = 0;
    while !calls.iter().all(tokio::task::JoinHandle::is_finished) {
        tokio::task::yield_now().await;
        turns += 1;
    }
    for call in calls {
        assert_eq!(call.await.unwrap().unwrap_err().cause, Cause::Fuel, "{name}");
    }
    // The number of turns depends on the machine's speed: a hook gives way after a slice of time. If no hook gave way,
    // this task would have a turn after every 61 hooks, as tokio does it: four turns.
    assert!(turns >= 50, "{turns} turns");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_endless_hooks_beside_a_guard() {
    let env = TestEnvironment::new();
    env.copy("home/.hookbox/hooks/endless.wasm", &guest("run-loop"));
    env.copy("home/.hookbox/hooks/guardrail.wasm", &sample("guardrail"));
    // They end by their fuel or by their clock, and the guard by neither.
    env.file("home/.hookbox/hookbox.toml", "[hooks.\"endless.wasm\"]\npriority = 1\n");
    // The clock of a chain runs on while others have the thread, and this machine may be slow.
    let manager = env.builder().chain_deadline(Duration::from_secs(600)).build().await;
    let calls: Vec<_> = (0..50)
        .map(|number| {
            let session = manager.session(format!("c{number}"));
            tokio::spawn(async move { session.fire(sudo()).await })
        })
        .collect();
    for call in calls {
        let fired = call.await.unwrap();
        let cause = fired.report.hooks[0].cause;
        assert!(matches!(cause, Some(Cause::Fuel | Cause::Timeout)), "{:#?}", fired.report);
        guarded(&fired, "at once");
    }
}

#[tokio::test]
async fn fifty_endless_hooks_in_one_chain_with_a_guard() {
    let env = TestEnvironment::new();
    let mut settings = String::new();
    for number in 0..50 {
        env.copy(&format!("home/.hookbox/hooks/endless-{number:02}.wasm"), &guest("run-loop"));
        settings += &format!("[hooks.\"endless-{number:02}.wasm\"]\npriority = 1\nfuel = 100_000_000\n");
    }
    env.copy("home/.hookbox/hooks/guardrail.wasm", &sample("guardrail"));
    env.file("home/.hookbox/hookbox.toml", settings);
    // The other crowds of these tests leave the engine no free slot for seconds.
    let manager = env.builder().chain_deadline(Duration::from_secs(600)).build().await;
    let fired = manager.session("c").fire(sudo()).await;
    assert_eq!(fired.report.hooks.len(), 51);
    for report in &fired.report.hooks[..50] {
        assert_eq!(report.cause, Some(Cause::Fuel), "{report:#?}");
    }
    guarded(&fired, "in one chain");
}

#[tokio::test]
async fn twenty_untrusted_components_that_sleep_take_nothing_from_the_users_guard() {
    let env = TestEnvironment::new();
    for number in 0..20 {
        env.copy(&format!("repo/.hookbox/hooks/sleeps-{number:02}.wasm"), &guest("run-sleep"));
    }
    env.copy("home/.hookbox/hooks/guardrail.wasm", &sample("guardrail"));
    // An engine of its own: the other crowds of these tests leave it no free slot for seconds.
    let manager = env.builder().runtime(Runtime::new(Allocation::OnDemand, None)).build().await;
    // The time of the user's hooks is not much more than the time that the others use up.
    let options = ChainOptions {
        untrusted_deadline: Duration::from_secs(1),
        deadline: Duration::from_secs(5),
        ..ChainOptions::default()
    };
    let fired = chain::run(&manager.hooks(), event(), &options).await;
    let (guard, sleepers) = fired.report.hooks.split_last().unwrap();
    assert_eq!((sleepers.len(), guard.name.as_str()), (20, "guardrail.wasm"));
    for report in sleepers {
        assert_eq!(report.cause, Some(Cause::Timeout), "{report:#?}");
    }
    guarded(&fired, "beside sleepers");
}
