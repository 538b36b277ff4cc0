//! Hooks and settings that change while a host runs.

use std::fs;
use std::time::Duration;

use hookbox::manager::EntryStatus;
use hookbox::manager::{Manager, Reload, Watcher};
use hookbox::{Cause, EventName, Report, ToolCall};
use serde_json::json;

use crate::answers::Backend;
use crate::environment::{TestEnvironment, guest};

const BEFORE: &EventName = &EventName::BeforeToolCall;
const ROOT: &str = "home/.hookbox";
const SETTINGS: &str = "home/.hookbox/hookbox.toml";

/// The longest wait for something that must happen.
const LONG: Duration = Duration::from_secs(600);

async fn report(manager: &Manager) -> Report {
    manager
        .session("c")
        .before_tool_call(ToolCall::new("bash", json!({"command": "ls"})))
        .await
        .report
        .clone()
}

/// The hooks that run in an event.
async fn ran(manager: &Manager) -> Vec<String> {
    report(manager).await.hooks.into_iter().map(|hook| hook.name).collect()
}

fn status(manager: &Manager, name: &str) -> EntryStatus {
    manager.entries().iter().find(|entry| entry.name == name).unwrap().status
}

fn digest(manager: &Manager, name: &str) -> String {
    manager.hook(name).unwrap().descriptor().digest.clone().unwrap().to_string()
}

/// The same component in other bytes: a custom section at the end, which nothing looks at.
fn salted(salt: u8) -> Vec<u8> {
    let mut bytes = fs::read(guest("answers")).unwrap();
    bytes.extend([0, 2, 1, salt]);
    bytes
}

fn brings_block(env: &TestEnvironment, settings: &str) -> String {
    Backend::Component.hook(env, ROOT, "guard", BEFORE, &json!({"block": "no"}), settings)
}

#[tokio::test]
async fn a_new_hook_appears_a_removed_one_goes_and_a_session_that_is_open_sees_both() {
    let env = TestEnvironment::new();
    env.native("home/.hookbox/hooks/old", "before_tool_call", "true");
    let manager = env.builder().build().await;
    let session = manager.session("c").subagent("d");
    assert!(manager.reload().await.is_empty());

    fs::remove_file(env.path("home/.hookbox/hooks/old")).unwrap();
    env.native("home/.kodelet/hooks/new", "before_tool_call", "echo '{\"blocked\":true,\"reason\":\"r\"}'");
    let reload = manager.reload().await;
    assert_eq!(
        (reload.added, reload.removed, reload.changed),
        (vec!["new".into()], vec!["old".into()], vec![])
    );
    let verdict = session.before_tool_call(ToolCall::new("bash", json!({"command": "ls"}))).await;
    assert_eq!(verdict.decision.blocked().unwrap().by, "new");
    assert!(manager.hook("old").is_none());
}

#[tokio::test]
async fn an_event_that_is_running_keeps_its_hooks_to_the_end() {
    let env = TestEnvironment::new();
    let guard = brings_block(&env, "priority = 90");
    let wait = "touch \"$HOME/begun\"; while [ ! -e \"$HOME/go\" ]; do sleep 0.01; done";
    env.native(
        "home/.hookbox/hooks/wait",
        "before_tool_call",
        &format!("HOME={}\n{wait}", env.path("home").display()),
    );
    let manager = env.builder().build().await;
    let running = tokio::spawn({
        let manager = manager.clone();
        async move { report(&manager).await }
    });
    until("it has begun", || env.path("home/begun").exists()).await;
    fs::remove_file(env.path(format!("{ROOT}/hooks/{guard}"))).unwrap();
    assert_eq!(manager.reload().await.removed, std::slice::from_ref(&guard));
    env.file("home/go", "");
    let report = running.await.unwrap();
    assert_eq!(report.hook(&guard).unwrap().cause, None, "{report:#?}");
    assert_eq!(ran(&manager).await, ["wait"]);
}

#[tokio::test]
async fn a_changed_component_and_changed_settings_hold_for_the_next_event() {
    let env = TestEnvironment::new();
    let guard = brings_block(&env, "");
    let manager = env.builder().build().await;
    let before = digest(&manager, &guard);
    env.file(&format!("{ROOT}/hooks/{guard}"), salted(1));
    let reload = manager.reload().await;
    assert_eq!(reload.changed.len(), 1, "{reload:#?}");
    assert_ne!(digest(&manager, &guard), before);
    assert_eq!(report(&manager).await.hook(&guard).unwrap().cause, None);

    let settings = env.read(SETTINGS).unwrap();
    env.file(SETTINGS, settings.replace("\"no\"", "\"never\"").replace("\\\"no\\\"", "\\\"never\\\""));
    assert_eq!(manager.reload().await.changed[0].name, guard, "settings that no row shows count as well");
    assert_eq!(report(&manager).await.hook(&guard).unwrap().message.as_deref(), Some("never"));
    assert!(manager.reload().await.is_empty());
}

#[tokio::test]
async fn broken_settings_keep_the_old_ones_and_say_so_until_they_are_repaired() {
    let env = TestEnvironment::new();
    env.native("home/.hookbox/hooks/guard", "before_tool_call", "exit 1");
    let good = "[hooks.guard]\non_failure = \"block\"\ntimeout = \"7s\"\n";
    env.file(SETTINGS, good);
    let manager = env.builder().build().await;
    let holds = async |manager: &Manager| {
        let hook = manager.hook("guard").unwrap();
        assert_eq!(hook.descriptor().budget.wall, Duration::from_secs(7));
        let verdict =
            manager.session("c").before_tool_call(ToolCall::new("bash", json!({"command": "ls"}))).await;
        assert!(verdict.decision.blocked().is_some());
    };
    for broken in ["[hooks.guard\n", "hooks = 5\n", "[hooks]\nguard = 5\n", "<<<<<<< HEAD\n", "\u{0}"] {
        env.file(SETTINGS, broken);
        let reload = manager.reload().await;
        assert_eq!(reload.kept.len(), 1, "{broken:?}: {reload:#?}");
        let said = manager.problems().iter().any(|it| {
            it.path == env.path(SETTINGS)
                && it.message.contains("the settings of 20")
                && it.message.ends_with("stay in force")
        });
        assert!(said, "{broken:?}: {reload:#?}");
        holds(&manager).await;
        let again = manager.reload().await;
        assert!(again.is_empty() && again.kept == reload.kept, "said once: {again:#?}");
    }
    env.file(SETTINGS, [0xff, 0xfe]);
    assert_eq!(manager.reload().await.kept.len(), 1);
    holds(&manager).await;

    env.file(SETTINGS, good.replace("7s", "9s"));
    let reload = manager.reload().await;
    assert!(reload.kept.is_empty() && !reload.solved.is_empty(), "{reload:#?}");
    assert_eq!(manager.hook("guard").unwrap().descriptor().budget.wall, Duration::from_secs(9));

    fs::remove_file(env.path(SETTINGS)).unwrap();
    assert!(manager.reload().await.kept.is_empty(), "a file that is gone is its owner's wish");
    assert_eq!(manager.hook("guard").unwrap().descriptor().budget.wall, Duration::from_secs(30));
}

#[tokio::test]
async fn a_broken_hooks_json_keeps_the_hooks_that_it_declared_and_one_that_is_gone_does_not() {
    let env = TestEnvironment::new();
    let file = format!("{ROOT}/hooks.json");
    let declares = |line: &str| {
        let entry = json!({"command": line, "name": "guard", "on_failure": "block"});
        json!({"version": 1, "hooks": {"PreToolUse": [entry]}}).to_string()
    };
    env.file(&file, declares("exit 1"));
    let manager = env.builder().build().await;
    let blocks = async |manager: &Manager| {
        let call = ToolCall::new("bash", json!({"command": "ls"}));
        manager.session("c").before_tool_call(call).await.decision.blocked().is_some()
    };
    assert!(blocks(&manager).await);
    for broken in [&b"{\"version\": 1, \"hooks\""[..], b"", b"\xff\xfe"] {
        env.file(&file, broken);
        let reload = manager.reload().await;
        assert_eq!(reload.kept.len(), 1, "{reload:#?}");
        assert!(reload.problems.iter().any(|it| it.message.ends_with("stay in force")), "{reload:#?}");
        assert!(blocks(&manager).await);
    }
    env.file(&file, declares("true"));
    assert_eq!(manager.reload().await.changed[0].name, "guard", "another command is another hook");
    assert!(!blocks(&manager).await);
    fs::remove_file(env.path(&file)).unwrap();
    assert_eq!(manager.reload().await.removed, ["guard"]);
}

#[tokio::test]
async fn a_broken_component_keeps_the_old_one_but_never_against_its_owners_will() {
    let env = TestEnvironment::new();
    let guard = brings_block(&env, "");
    let file = format!("{ROOT}/hooks/{guard}");
    let manager = env.builder().build().await;
    let good = digest(&manager, &guard);
    let half = {
        let bytes = fs::read(guest("answers")).unwrap();
        bytes[..bytes.len() / 2].to_vec()
    };
    for broken in [half, b"\0asm\x01\0\0\0".to_vec(), b"no wasm".to_vec(), Vec::new()] {
        env.file(&file, broken);
        let reload = manager.reload().await;
        assert_eq!(reload.kept.len(), 1, "{reload:#?}");
        assert_eq!(reload.kept[0].hook.as_deref(), Some(guard.as_str()));
        let problems = manager.problems();
        assert!(problems.iter().any(|it| it.message.ends_with("stays in force")), "{problems:#?}");
        assert_eq!((digest(&manager, &guard), status(&manager, &guard)), (good.clone(), EntryStatus::Active));
        assert_eq!(report(&manager).await.hook(&guard).unwrap().message.as_deref(), Some("no"));
    }
    let settings = env.read(SETTINGS).unwrap();
    env.file(SETTINGS, format!("{settings}enabled = false\n"));
    manager.reload().await;
    assert_eq!(status(&manager, &guard), EntryStatus::Disabled);
    assert!(ran(&manager).await.is_empty());

    // Once it did not hold any more it does not come back.
    env.file(SETTINGS, settings);
    manager.reload().await;
    assert_eq!(status(&manager, &guard), EntryStatus::Invalid);

    env.copy(&file, &guest("answers"));
    manager.reload().await;
    assert_eq!(status(&manager, &guard), EntryStatus::Active);
    env.file(&file, "broken");
    fs::rename(env.path(&file), env.path(format!("{file}.disable"))).unwrap();
    manager.reload().await;
    assert!(manager.hook(&guard).is_none());
}

#[tokio::test]
async fn a_native_guard_that_is_broken_now_goes_on_guarding_by_failing() {
    let env = TestEnvironment::new();
    env.native("home/.hookbox/hooks/guard", "before_tool_call", "true");
    env.file(SETTINGS, "[hooks.guard]\non_failure = \"block\"\n");
    let manager = env.builder().build().await;
    env.script("home/.hookbox/hooks/guard", "#!/bin/bash\nexit 1\n");
    let reload = manager.reload().await;
    assert_eq!((reload.kept.len(), reload.problems.len()), (0, 1), "{reload:#?}");
    let verdict =
        manager.session("c").before_tool_call(ToolCall::new("bash", json!({"command": "ls"}))).await;
    assert_eq!(verdict.decision.blocked().unwrap().by, "guard");
}

#[tokio::test]
async fn what_changed_in_a_repository_is_not_trusted_any_more_and_never_runs() {
    let env = TestEnvironment::new();
    env.native("repo/.hookbox/hooks/theirs", "before_tool_call", "true");
    let component =
        Backend::Component.hook(&env, "repo/.hookbox", "sandboxed", BEFORE, &json!({"inject": "x"}), "");
    let manager = env.builder().build().await;
    assert_eq!(status(&manager, "theirs"), EntryStatus::Untrusted);
    for name in ["theirs", &component] {
        assert_eq!(env.hookbox(["trust", name, "--yes"]).code, Some(0));
    }
    manager.reload().await;
    assert_eq!(status(&manager, "theirs"), EntryStatus::Active);
    assert!(manager.hook(&component).unwrap().descriptor().trusted);

    let ran = env.path("home/ran");
    env.script(
        "repo/.hookbox/hooks/theirs",
        &format!("#!/bin/bash\ntouch {}\n[ \"$1\" = hook ] && echo before_tool_call\n", ran.display()),
    );
    env.file(&format!("repo/.hookbox/hooks/{component}"), "broken");
    // Also before anybody looked again.
    assert_eq!(report(&manager).await.hook("theirs").unwrap().cause, Some(Cause::Untrusted));
    let reload = manager.reload().await;
    assert!(reload.kept.is_empty(), "{reload:#?}");
    assert_eq!(status(&manager, "theirs"), EntryStatus::Untrusted);
    assert_eq!(status(&manager, &component), EntryStatus::Invalid);
    report(&manager).await;
    assert!(!ran.exists());
}

#[tokio::test]
async fn trust_that_was_taken_back_holds_after_the_next_look_and_a_broken_trust_file_trusts_nothing() {
    let env = TestEnvironment::new();
    env.native("repo/.hookbox/hooks/theirs", "before_tool_call", "true");
    let manager = env.builder().build().await;
    for take_back in [true, false] {
        assert_eq!(env.hookbox(["trust", "theirs", "--yes"]).code, Some(0));
        manager.reload().await;
        assert_eq!(status(&manager, "theirs"), EntryStatus::Active);
        if take_back {
            assert_eq!(env.hookbox(["untrust", "theirs"]).code, Some(0));
        } else {
            env.file("home/.local/share/hookbox/trust.json", "{");
        }
        manager.reload().await;
        assert_eq!(status(&manager, "theirs"), EntryStatus::Untrusted);
    }
}

/// The next reload that says this of something.
async fn next(watcher: &mut Watcher, wanted: impl Fn(&Reload) -> bool) -> Reload {
    let wait = async {
        loop {
            let reload = watcher.next().await.unwrap();
            if wanted(&reload) {
                return reload;
            }
        }
    };
    tokio::time::timeout(LONG, wait).await.unwrap()
}

async fn until(what: &str, is_so: impl Fn() -> bool) {
    let wait = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(LONG, wait).await.unwrap_or_else(|_| panic!("waited in vain: {what}"));
}

#[tokio::test]
async fn a_watcher_sees_roots_that_come_and_go_settings_trust_and_the_targets_of_links() {
    let env = TestEnvironment::new();
    env.native("repo/.kodelet/hooks/theirs", "before_tool_call", "true");
    let manager = env.builder().build().await;
    let mut watcher = manager.watch().unwrap();

    // Neither the root nor its directory of hooks was there.
    env.native("home/.hookbox/hooks/first", "before_tool_call", "true");
    next(&mut watcher, |it| it.added == ["first"]).await;
    env.file(SETTINGS, "[hooks.first]\nenabled = false\n");
    let reload = next(&mut watcher, |it| !it.changed.is_empty()).await;
    assert_eq!(reload.changed[0].is, EntryStatus::Disabled);
    assert_eq!(reload.to_string(), "changed first: disabled, was active");
    env.file(SETTINGS, "[hooks.first\n");
    next(&mut watcher, |it| it.kept.len() == 1).await;
    assert_eq!(status(&manager, "first"), EntryStatus::Disabled);

    assert_eq!(env.hookbox(["trust", "theirs", "--yes"]).code, Some(0));
    next(&mut watcher, |it| it.changed.iter().any(|it| it.name == "theirs")).await;
    assert_eq!(status(&manager, "theirs"), EntryStatus::Active);

    env.native("elsewhere/tool", "before_tool_call", "true");
    env.symlink("home/.hookbox/hooks/link", env.path("elsewhere/tool").to_str().unwrap());
    next(&mut watcher, |it| it.added == ["link"]).await;
    env.native("elsewhere/tool", "turn_end", "true");
    next(&mut watcher, |it| it.changed.iter().any(|it| it.name == "link")).await;

    // A directory that is replaced has the same path and is another.
    for round in ["second", "third"] {
        fs::remove_dir_all(env.path(ROOT)).unwrap();
        next(&mut watcher, |it| !it.removed.is_empty()).await;
        env.native(&format!("{ROOT}/hooks/{round}"), "before_tool_call", "true");
        next(&mut watcher, |it| it.added == [round]).await;
    }
}

#[tokio::test]
async fn a_hook_that_writes_into_its_own_directory_at_every_event_is_no_endless_storm() {
    let env = TestEnvironment::new();
    let log = env.path("home/.hookbox/hooks/log");
    env.native("home/.hookbox/hooks/writer", "before_tool_call", &format!("echo x >> {}", log.display()));
    let manager = env.builder().build().await;
    let mut watcher = manager.watch().unwrap();
    let begun = std::time::Instant::now();
    let events = tokio::spawn({
        let manager = manager.clone();
        async move {
            loop {
                report(&manager).await;
            }
        }
    });
    let reload = next(&mut watcher, |it| it.storm.is_some()).await;
    events.abort();
    assert_eq!(reload.storm, Some(log));
    assert!(reload.to_string().contains("once a second"), "{reload}");
    assert!(begun.elapsed() >= Duration::from_secs(4), "five looks, a second apart: {:?}", begun.elapsed());
}

#[tokio::test]
async fn a_watcher_that_is_dropped_leaves_no_thread() {
    let env = TestEnvironment::new();
    env.native("home/.hookbox/hooks/first", "before_tool_call", "true");
    let manager = env.builder().build().await;
    for _ in 0..3 {
        let watcher = manager.watch().unwrap();
        until("a thread watches", || watching() > 0).await;
        drop(watcher);
    }
    // Other tests of this process watch as well; they end, too.
    until("no thread watches", || watching() == 0).await;
}

/// Returns the number of threads of this process that wait for changes of files.
fn watching() -> usize {
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let names = tasks.filter_map(|task| fs::read_to_string(task.path().join("comm")).ok());
    names.filter(|name| name.starts_with("notify-rs")).count()
}
