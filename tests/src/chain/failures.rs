//! Hooks that fail, hooks that take too long, hooks in hooks.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use hookbox::FunctionHook;
use hookbox::event::{AgentStop, EventData, EventName};
use hookbox::hook::{Cause, Kind};
use hookbox::hook::{Descriptor, OnFailure, Tier};
use hookbox::internal::chain::{self, ChainOptions};
use hookbox::manager::Manager;
use hookbox::session::MAX_FOLLOW_UPS;
use hookbox::trust::TrustPolicy;
use hookbox::{Allocation, Context, Event, Hook, Outcome, Runtime, Status};
use serde_json::json;

use super::{BEFORE, before, data, fire, reason, report, statuses, warned};
use crate::answers::{Backend, each, each_pair, user};
use crate::environment::{TestEnvironment, guest, sample};

/// Short enough to wait for, long enough for any hook here to answer on a busy machine.
pub(super) const DEADLINE: Duration = Duration::from_secs(2);

/// A hook that takes longer than any deadline here.
pub(super) fn sleeper(env: &TestEnvironment, backend: Backend, root: &str, stem: &str) -> String {
    let name = backend.name(stem);
    let path = format!("{root}/hooks/{name}");
    match backend {
        Backend::Native => env.native(&path, "before_tool_call", "sleep 60"),
        Backend::Component => env.copy(&path, &guest("hostile")),
    };
    name
}

/// The event at which the sleepers sleep.
pub(super) fn sleep() -> EventData {
    before(json!({"command": "ls", "do": "sleep"}))
}

#[tokio::test]
async fn a_failure_is_a_warning_or_a_block_as_its_owner_asked() {
    each(async |backend| {
        for (event, policy, blocks) in [
            (EventName::BeforeToolCall, "pass", false),
            (EventName::BeforeToolCall, "block", true),
            (EventName::UserMessageSend, "block", true),
            (EventName::AfterToolCall, "block", true),
            (EventName::PreCompact, "block", true),
            (EventName::OnBudgetExceeded, "block", true),
            (EventName::SessionStart, "block", false),
            (EventName::AgentStop, "block", false),
        ] {
            let env = TestEnvironment::new();
            let settings = format!("on_failure = \"{policy}\"");
            let failing = json!({"fail": "no idea"});
            let name = backend.hook(&env, "home/.hookbox", "1", &event, &failing, &settings);
            let later = user(&env, backend, "2", &event, &json!({}));
            let fired = fire(&env, data(&event)).await;
            let (status, rest) =
                if blocks { (Status::Blocked, Status::Skipped) } else { (Status::Failed, Status::Passed) };
            assert_eq!(statuses(&fired), [(&*name, status), (&later, rest)], "{event} {policy}");
            assert_eq!(report(&fired, &name).cause, Some(Cause::Exit));
            assert!(warned(&fired, &[&name, "exit", "no idea"]), "{:?}", fired.verdict.warnings);
            if blocks {
                let reason = reason(&fired).unwrap();
                assert!(reason.contains(&name) && reason.contains("exit"), "{reason}");
            } else {
                assert_eq!(reason(&fired), None);
            }
        }
    })
    .await;
}

#[tokio::test]
async fn a_hook_that_fails_changes_nothing_and_the_next_one_runs() {
    each_pair(async |first, second| {
        let env = TestEnvironment::new();
        let one = user(&env, first, "1", BEFORE, &json!({"modify": {"command": "changed"}}));
        let two = user(&env, second, "2", BEFORE, &json!({"fail": "oops"}));
        let three = user(&env, first, "3", BEFORE, &json!({"warnings": ["still here"]}));
        let fired = fire(&env, data(BEFORE)).await;
        assert_eq!(
            statuses(&fired),
            [(&*one, Status::Changed), (&two, Status::Failed), (&three, Status::Passed)]
        );
        assert_eq!(fired.event.tool_call().unwrap().input.value(), &json!({"command": "changed"}));
        assert!(warned(&fired, &["still here"]));
    })
    .await;
}

#[tokio::test]
async fn a_hook_that_hangs_leaves_time_for_those_behind_it_and_blocks_nothing() {
    each_pair(async |hangs, judges| {
        for trust in [false, true] {
            let env = TestEnvironment::new();
            // Trusted, the repository's have a clock of their own; so the user's hang there.
            let root = if trust { "repo/.hookbox" } else { "home/.hookbox" };
            let slow = sleeper(&env, hangs, root, "1-slow");
            let guards = ["2", "3", "4"]
                .map(|stem| judges.hook(&env, root, stem, BEFORE, &json!({}), "on_failure = \"block\""));
            let policy = if trust { TrustPolicy::All } else { TrustPolicy::Recorded };
            let manager = env.builder().trust(policy).chain_deadline(DEADLINE * 2).build().await;
            let fired = manager.session("c").fire(sleep()).await;
            assert_eq!(report(&fired, &slow).cause, Some(Cause::Timeout), "{:#?}", fired.report);
            assert_eq!(guards.map(|name| report(&fired, &name).status), [Status::Passed; 3]);
            assert_eq!(reason(&fired), None);
        }
    })
    .await;
}

#[tokio::test]
async fn a_guard_that_had_too_little_time_names_the_hook_that_took_it() {
    each(async |backend| {
        let env = TestEnvironment::new();
        let slow = sleeper(&env, backend, "home/.hookbox", "1-slow");
        let guard = sleeper(&env, backend, "home/.hookbox", "2-guard");
        env.file("home/.hookbox/hookbox.toml", format!("[hooks.\"{guard}\"]\non_failure = \"block\"\n"));
        let manager = env.builder().chain_deadline(DEADLINE / 2).build().await;
        let fired = manager.session("c").fire(sleep()).await;
        assert_eq!(statuses(&fired), [(&*slow, Status::Failed), (&guard, Status::Blocked)]);
        let reason = reason(&fired).unwrap();
        assert!(reason.contains("timeout") && reason.contains(&format!("; {slow} took")), "{reason}");
        let first = report(&fired, &slow).message.clone().unwrap();
        assert!(first.contains("its part of the time") && !first.contains("took"), "{first}");
    })
    .await;
}

#[tokio::test]
async fn a_component_that_was_not_compiled_in_time_says_how_to_compile_it() {
    let env = TestEnvironment::new();
    env.copy("home/.hookbox/hooks/guard.wasm", &sample("guardrail"));
    // More than the chain has, so that it could take the chain's time for the reason.
    env.file("home/.hookbox/hookbox.toml", "[hooks.\"guard.wasm\"]\ntimeout = \"60s\"\n");
    let late = || {
        let runtime = Runtime::new(Allocation::OnDemand, None);
        env.builder().runtime(runtime).within(Duration::ZERO).chain_deadline(DEADLINE)
    };
    let manager = late().build().await;
    let problems = manager.problems();
    let problem = problems.iter().find(|it| it.hook.as_deref() == Some("guard.wasm")).unwrap();
    assert!(problem.message.contains("run `hookbox list` once"), "{problem:?}");
    assert!(problem.hint.as_deref().is_some_and(|it| it.contains("on_failure = \"block\"")), "{problem:?}");

    let manager = late().unseen_blocks(true).build().await;
    let fired = manager.session("c").fire(before(json!({"command": "ls"}))).await;
    let reason = reason(&fired).unwrap();
    assert!(reason.contains("run `hookbox list` once") && reason.contains("may be a guard"), "{reason}");
    assert!(!reason.contains("its part of the time"), "{reason}");
}

#[tokio::test]
async fn what_is_built_in_judges_also_when_no_time_is_left() {
    for deadline in [Duration::ZERO, Duration::from_millis(1)] {
        let env = TestEnvironment::new();
        sleeper(&env, Backend::Native, "home/.hookbox", "slow");
        let manager = env.builder().builtins(true).chain_deadline(deadline).build().await;
        let remove = before(json!({"command": "rm -rf ~/.hookbox"}));
        let fired = manager.session("c").fire(remove).await;
        let by = fired.verdict.block.as_ref().map(|ruling| ruling.by.as_str());
        assert_eq!(by, Some("builtin:self-protection"), "{:#?}", fired.report);
    }
}

#[tokio::test]
async fn what_is_not_trusted_never_uses_the_users_clock_wherever_it_was_found() {
    for tier in [Tier::Repo, Tier::RepoPlugin, Tier::Global, Tier::GlobalPlugin, Tier::Code] {
        let hangs = |trusted| {
            let mut descriptor = Descriptor::new("hangs", Kind::Tool).on(EventName::BeforeToolCall);
            (descriptor.tier, descriptor.trusted) = (tier, trusted);
            descriptor.budget.wall = Duration::from_secs(60);
            let hangs = FunctionHook::with(descriptor, |_| async {
                tokio::time::sleep(Duration::from_secs(60)).await;
                Ok(Outcome::pass())
            });
            Arc::new(hangs) as Arc<dyn Hook>
        };
        let options =
            ChainOptions { deadline: DEADLINE, untrusted_deadline: DEADLINE / 20, ..ChainOptions::default() };
        let event = Event { context: Arc::new(Context::new("c", "/")), data: sleep() };
        let fired = chain::run(&[hangs(false)], event, &options).await;
        let limit = report(&fired, "hangs").limit.unwrap();
        assert_eq!(limit.limit, 100, "{tier:?}");
    }
}

#[tokio::test]
async fn what_a_repositorys_hooks_use_up_never_shortens_the_users_time() {
    each(async |backend| {
        let env = TestEnvironment::new();
        let slow = sleeper(&env, backend, "repo/.hookbox", "slow");
        let guard = user(&env, backend, "guard", BEFORE, &json!({"block": "in time"}));
        let manager = env.builder().trust(TrustPolicy::All).chain_deadline(DEADLINE).build().await;
        let fired = manager.session("c").fire(sleep()).await;
        assert_eq!(report(&fired, &slow).cause, Some(Cause::Timeout));
        assert_eq!((report(&fired, &guard).status, reason(&fired)), (Status::Blocked, Some("in time")));
    })
    .await;
}

#[tokio::test]
async fn untrusted_hooks_of_a_repository_share_a_time_of_their_own() {
    each(async |backend| {
        let env = TestEnvironment::new();
        let one = sleeper(&env, Backend::Component, "repo/.hookbox", "1");
        let two = sleeper(&env, Backend::Component, "repo/.hookbox", "2");
        let guard = user(&env, backend, "guard", BEFORE, &json!({"block": "in time"}));
        let manager = env.builder().build().await;
        let options = ChainOptions { untrusted_deadline: DEADLINE / 4, ..ChainOptions::default() };
        let event = Event { context: Arc::new(Context::new("c", "/")), data: sleep() };
        let fired = chain::run(&manager.hooks(), event, &options).await;
        for name in [&one, &two] {
            assert_eq!(report(&fired, name).cause, Some(Cause::Timeout), "{name}");
        }
        let message = report(&fired, &two).message.clone().unwrap();
        assert!(message.contains(&format!("; {one} took")), "{message}");
        assert_eq!((report(&fired, &guard).status, reason(&fired)), (Status::Blocked, Some("in time")));
    })
    .await;
}

#[tokio::test]
async fn hooks_make_an_agent_go_on_eight_times_in_a_row_and_no_more() {
    each(async |backend| {
        let env = TestEnvironment::new();
        user(&env, backend, "more", &EventName::AgentStop, &json!({"follow_up": ["go on"]}));
        let session = env.builder().build().await.session("c");
        for round in 1..=MAX_FOLLOW_UPS {
            let verdict = session.agent_stop(AgentStop::default()).await;
            assert_eq!(verdict.follow_ups, ["go on"], "round {round}");
        }
        let verdict = session.agent_stop(AgentStop::default()).await;
        assert!(verdict.follow_ups.is_empty());
        assert!(verdict.warnings[0].text.contains("8 times in a row"), "{:?}", verdict.warnings);
        let other = session.subagent("s").agent_stop(AgentStop::default()).await;
        assert_eq!(other.follow_ups, ["go on"], "a subagent has a count of its own");
        // A message of the user begins a new count.
        let _ = session.user_message_send("hello").await;
        assert_eq!(session.agent_stop(AgentStop::default()).await.follow_ups, ["go on"]);
    })
    .await;
    assert_eq!(MAX_FOLLOW_UPS, 8);
}

#[tokio::test]
async fn in_a_process_that_a_hook_started_no_hook_runs_and_a_guard_still_guards() {
    each(async |backend| {
        for (policy, blocked) in [("pass", false), ("block", true)] {
            let settings = format!("on_failure = \"{policy}\"");
            let env = TestEnvironment::new().variable("HOOKBOX_DEPTH", "1");
            let name = backend.hook(&env, "home/.hookbox", "guard", BEFORE, &json!({}), &settings);
            let found = env.event(
                &["before_tool_call", "--report"],
                &json!({"tool_name": "bash", "tool_input": {"command": "ls"}}),
            );
            assert_eq!(found["verdict"]["blocked"], blocked, "{found:#}");
            assert_eq!(found["hooks"][0]["name"], json!(name));
            assert_eq!(found["hooks"][0]["cause"], "denied");
        }
    })
    .await;
}

#[tokio::test]
async fn a_hook_is_told_that_it_is_one() {
    let env = TestEnvironment::new();
    let inner = crate::environment::program();
    env.native(
        "home/.hookbox/hooks/calls",
        "before_tool_call",
        &format!("cat > payload; {} run before_tool_call --report < payload > inner; :", inner.display()),
    );
    env.event(&["before_tool_call"], &json!({"tool_name": "bash", "tool_input": {"command": "ls"}}));
    let inner: serde_json::Value = serde_json::from_str(&env.read("repo/inner").unwrap()).unwrap();
    assert_eq!(inner["hooks"][0]["cause"], "denied", "{inner:#}");
}

#[tokio::test]
async fn in_a_hook_from_code_no_hook_runs_unless_allowed() {
    each(async |backend| {
        for allow in [false, true] {
            let env = TestEnvironment::new();
            let guard = user(&env, backend, "guard", BEFORE, &json!({"block": "no"}));
            let inner = env.builder().allow_nested(allow).build().await;
            let seen = Arc::new(std::sync::Mutex::new(None));
            let keep = Arc::clone(&seen);
            let outer = Manager::builder()
                .builtins(false)
                .directories(false)
                .on("outer", EventName::BeforeToolCall, move |event| {
                    let (inner, keep) = (inner.clone(), Arc::clone(&keep));
                    async move {
                        let fired = inner.session("inner").fire(event.data).await;
                        *keep.lock().unwrap() = Some(fired);
                        Ok(Outcome::pass())
                    }
                })
                .build()
                .await;
            let outer = outer.session("c").fire(data(BEFORE)).await;
            assert_eq!(statuses(&outer), [("outer", Status::Passed)]);
            let fired = seen.lock().unwrap().take().unwrap();
            assert_eq!(reason(&fired), allow.then_some("no"));
            let cause = if allow { None } else { Some(Cause::Denied) };
            assert_eq!(report(&fired, &guard).cause, cause);
        }
    })
    .await;
}

#[tokio::test]
async fn an_answer_that_a_component_does_not_declare_is_denied_and_loud() {
    for (event, answer, right) in [
        (EventName::BeforeToolCall, json!({"modify": {"command": "x"}}), "modify"),
        (EventName::BeforeToolCall, json!({"context": ["x"]}), "inject"),
        (EventName::AgentStop, json!({"follow_up": ["x"]}), "follow-up"),
        (EventName::AgentStop, json!({"mutate": [{"role": "user", "content": "x"}]}), "mutate"),
        (EventName::OnBudgetExceeded, json!({"callback": {"name": "x"}}), "callback"),
    ] {
        for policy in ["pass", "block"] {
            let env = TestEnvironment::new();
            let settings = format!("on_failure = \"{policy}\"");
            let name = Backend::Component.hook(&env, "home/.hookbox", "odd", &event, &answer, &settings);
            env.copy(&format!("home/.hookbox/hooks/{name}"), &guest("undeclared"));
            let fired = fire(&env, data(&event)).await;
            let blocks = policy == "block" && event.allows().block;
            let status = if blocks { Status::Blocked } else { Status::Failed };
            assert_eq!(statuses(&fired), [(&*name, status)], "{event} {answer}");
            assert_eq!(report(&fired, &name).cause, Some(Cause::Denied));
            assert!(warned(&fired, &[&name, "denied", right]), "{:?}", fired.verdict.warnings);
            let verdict = fired.verdict;
            assert!(!verdict.modified && verdict.context.is_empty() && verdict.follow_ups.is_empty());
            assert!(verdict.mutate.is_none() && verdict.callback.is_none());
        }
    }
    // Answers that every hook may give need no declaration.
    let env = TestEnvironment::new();
    user(&env, Backend::Component, "guard", BEFORE, &json!({"block": "no", "warnings": ["w"]}));
    env.copy("home/.hookbox/hooks/guard.wasm", &guest("undeclared"));
    let fired = fire(&env, data(BEFORE)).await;
    assert_eq!((reason(&fired), warned(&fired, &["w"])), (Some("no"), true));
}

#[tokio::test]
async fn the_hooks_of_on_error_hear_of_a_hook_that_failed() {
    each_pair(async |failing, listening| {
        let env = TestEnvironment::new();
        let name = user(&env, failing, "failing", BEFORE, &json!({"fail": "oops"}));
        let listener =
            user(&env, listening, "listener", &EventName::OnError, &json!({"warnings": ["heard"]}));
        let fired = fire(&env, data(BEFORE)).await;
        assert_eq!(report(&fired, &name).status, Status::Failed);
        let [told] = fired.report.on_error.as_slice() else { panic!("{:#?}", fired.report) };
        assert_eq!(told.of, name);
        assert_eq!(told.report.hook(&listener).unwrap().cause, None);
        assert!(warned(&fired, &["heard"]), "{:?}", fired.verdict.warnings);
    })
    .await;
}

#[tokio::test]
async fn what_is_not_trusted_does_not_hear_that_others_failed() {
    each(async |backend| {
        let env = TestEnvironment::new();
        let name = user(&env, backend, "failing", BEFORE, &json!({"fail": "oops"}));
        let heard = json!({"warnings": ["heard"]});
        let spy = Backend::Component.hook(&env, "repo/.hookbox", "spy", &EventName::OnError, &heard, "");
        let own = user(&env, backend, "own", &EventName::OnError, &heard);
        let manager = env.builder().build().await;
        let fired = manager.session("c").fire(data(BEFORE)).await;
        let [told] = fired.report.on_error.as_slice() else { panic!("{:#?}", fired.report) };
        assert_eq!((told.of.as_str(), told.report.hook(&spy)), (name.as_str(), None));
        assert!(told.report.hook(&own).is_some());
        // An error that the agent itself reports is an event like others.
        let fired = manager.session("c").fire(data(&EventName::OnError)).await;
        assert_eq!(report(&fired, &spy).status, Status::Passed);
    })
    .await;
}

#[tokio::test]
async fn all_that_follows_an_event_has_the_clocks_of_one() {
    let env = TestEnvironment::new();
    let listener = user(&env, Backend::Native, "listener", &EventName::OnError, &json!({}));
    env.native("home/.hookbox/hooks/listener", "on_error", "sleep 60");
    for number in 0..8 {
        user(&env, Backend::Native, &format!("fails-{number}"), BEFORE, &json!({"fail": "oops"}));
    }
    let manager = env.builder().chain_deadline(DEADLINE).build().await;
    let mut decided = manager
        .session("c")
        .decide(Event { context: Arc::new(Context::new("c", "/")), data: data(BEFORE) })
        .await;
    assert_eq!(decided.fired().report.on_error, []);
    decided = decided.within(DEADLINE / 2);
    decided.follow_up().await;
    let told = decided.into_fired().report.on_error;
    assert_eq!(told.len(), 8);
    let took: Duration = told.iter().map(|it| it.report.hook(&listener).unwrap().duration).sum();
    // Half of the time is the user's; each of the eight would take that long alone.
    assert!(took < DEADLINE * 2, "{took:?}");
}

#[tokio::test]
async fn what_on_error_says_of_a_failed_hook() {
    let env = TestEnvironment::new();
    let name = user(&env, Backend::Native, "failing", BEFORE, &json!({"fail": "oops"}));
    env.native("home/.hookbox/hooks/listener", "on_error", "cat > seen");
    env.event(&["before_tool_call"], &json!({"tool_name": "bash", "tool_input": {"command": "ls"}}));
    let seen: serde_json::Value = serde_json::from_str(&env.read("repo/seen").unwrap()).unwrap();
    assert_eq!(
        (&seen["event"], &seen["source"], &seen["hook"]),
        (&json!("on_error"), &json!("hook"), &json!(name))
    );
    assert!(seen["error"].to_string().contains("oops"), "{seen}");
}

#[tokio::test]
async fn a_hook_that_fails_in_on_error_is_told_to_nobody() {
    each(async |backend| {
        let env = TestEnvironment::new();
        let name = user(&env, backend, "listener", &EventName::OnError, &json!({"fail": "oops"}));
        let fired = fire(&env, data(&EventName::OnError)).await;
        assert_eq!(statuses(&fired), [(&*name, Status::Failed)]);
        assert_eq!(fired.report.on_error, []);
    })
    .await;
}

#[tokio::test]
async fn a_hook_from_code_that_panics_has_failed() {
    each(async |backend| {
        for policy in [OnFailure::Pass, OnFailure::Block] {
            let env = TestEnvironment::new();
            let first = user(&env, backend, "first", BEFORE, &json!({"warnings": ["first"]}));
            let ran = Arc::new(AtomicU32::new(0));
            let count = Arc::clone(&ran);
            let descriptor = |name: &str| Descriptor::new(name, Kind::Code).on(EventName::BeforeToolCall);
            let manager = env
                .builder()
                .hook(FunctionHook::with(descriptor("panics").on_failure(policy), |_| async {
                    panic!("I cannot go on")
                }))
                .hook(FunctionHook::with(descriptor("last"), move |_| {
                    count.fetch_add(1, Ordering::Relaxed);
                    async { Ok(Outcome::pass()) }
                }))
                .build()
                .await;
            let fired = manager.session("c").fire(data(BEFORE)).await;
            let blocks = policy == OnFailure::Block;
            let (status, last) =
                if blocks { (Status::Blocked, Status::Skipped) } else { (Status::Failed, Status::Passed) };
            let want = [(&*first, Status::Passed), ("panics", status), ("last", last)];
            assert_eq!(statuses(&fired), want);
            assert_eq!(report(&fired, "panics").cause, Some(Cause::Trap));
            assert!(warned(&fired, &["panics", "I cannot go on"]), "{:?}", fired.verdict.warnings);
            assert_eq!(ran.load(Ordering::Relaxed), u32::from(!blocks));
        }
    })
    .await;
}
