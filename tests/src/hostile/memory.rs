//! Nothing that a call left behind is there for another, and nothing that ended badly harms the next.

use std::time::Duration;

use hookbox::{Action, Budget, Kind};

use super::{hook, run, run_with};

/// More calls than the pool has slots and memories.
const ROUNDS: usize = 80;

#[tokio::test]
async fn the_memory_of_a_call_is_never_visible_to_a_later_one() {
    let (pattern, scan) = (hook("memory-pattern").await, hook("memory-scan").await);
    let mut patient = Budget::for_kind(Kind::Component);
    patient.wall = Duration::from_secs(60);
    // One after another, so that a slot goes from one component to the other; and each slot at once.
    for at_once in [1, 40] {
        for _ in 0..ROUNDS / at_once {
            for filler in [&pattern, &scan] {
                let calls: Vec<_> = (0..at_once)
                    .map(|_| {
                        let hook = filler.clone();
                        tokio::spawn(async move { run_with(&hook, &patient).await })
                    })
                    .collect();
                for call in calls {
                    let outcome = call.await.unwrap().unwrap();
                    assert_eq!(outcome.action, Action::Pass);
                    assert!(outcome.spent.memory_peak.unwrap() >= 32 << 20, "it has the memory it wanted");
                }
            }
        }
    }
}

#[tokio::test(flavor = "current_thread")]
async fn a_call_that_is_dropped_in_the_middle_or_traps_harms_no_later_one() {
    let mut endless = Budget::for_kind(Kind::Component);
    (endless.fuel, endless.wall) = (u64::MAX >> 1, Duration::from_secs(600));
    let hostile = ["run-loop", "run-sleep", "run-fill-again"];
    let scan = hook("memory-scan").await;
    for round in 0..100 {
        let name = hostile[round % hostile.len()];
        let dropped = hook(name).await;
        // Dropped after it began: the first turn starts it, and each later one gives it some microseconds.
        tokio::select! {
            biased;
            result = run_with(&dropped, &endless) => panic!("{name} ended: {result:?}"),
            () = turns(1 + round % 7) => {}
        }
        assert!(run(&hook("run-trap").await).await.is_err());
        if round % 10 == 0 {
            assert_eq!(run(&scan).await.unwrap().action, Action::Pass, "after {name}");
        }
    }
}

async fn turns(count: usize) {
    for _ in 0..count {
        tokio::task::yield_now().await;
    }
}
