//! A component has its granted access to the machine, and nothing else.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::Arc;

use hookbox::capability::{Capability, Rights};
use hookbox::event::{AgentStop, EventData};
use hookbox::internal::chain::{self, ChainOptions};
use hookbox::session::Fired;
use hookbox::{Access, ComponentHook, Places};
use hookbox::{Cause, Context, Descriptor, Event, Hook, Kind, Settings, ToolCall};
use serde_json::{Value, json};

use crate::environment::{TestEnvironment, guest, runtime};

/// The component `asks` with these grants.
async fn hook(env: &TestEnvironment, grants: &[&str]) -> Arc<dyn Hook> {
    let component = runtime().load(fs::read(guest("asks")).unwrap()).await.unwrap();
    let granted: Vec<Capability> = grants.iter().map(|right| right.parse().unwrap()).collect();
    let access = Access {
        rights: Rights::of(&component.manifest().capabilities, &granted),
        places: Places {
            repo: Some(env.path("repo")),
            home: Some(env.path("home")),
            data: Some(env.path("home/data/asks")),
        },
        variables: vec![("GIVEN".into(), "value".into())]
            .into_iter()
            .filter(|_| grants.contains(&"env:GIVEN"))
            .collect(),
        name: "asks.wasm".to_owned(),
        ..Access::default()
    };
    let mut descriptor = Descriptor::new("asks.wasm", Kind::Component);
    descriptor.subscriptions = component.manifest().subscriptions.clone();
    Arc::new(ComponentHook::new(component, descriptor, Settings::new()).with_access(access))
}

async fn fire(hook: &Arc<dyn Hook>, data: EventData) -> Fired {
    let event = Event { context: Arc::new(Context::new("c", "/")), data };
    chain::run(&[Arc::clone(hook)], event, &ChainOptions::default()).await
}

/// Returns the result of each deed, and the report.
async fn act(hook: &Arc<dyn Hook>, deeds: Value) -> (Vec<String>, Fired) {
    let call = ToolCall::new("bash", json!({ "do": deeds }));
    let fired = fire(hook, EventData::BeforeToolCall(call)).await;
    let said =
        fired.verdict.block.as_ref().unwrap_or_else(|| panic!("{:#?}", fired.report)).for_user().to_owned();
    (serde_json::from_str(&said).unwrap(), fired)
}

fn denied(fired: &Fired) -> Vec<&str> {
    fired.report.hooks[0].denied.iter().map(|denial| denial.right.as_str()).collect()
}

#[tokio::test]
async fn a_granted_directory_is_there_under_its_path_and_its_name() {
    let env = TestEnvironment::new();
    env.file("repo/docs/a.txt", "text").directory("repo/out");
    let hook = hook(&env, &["read:$REPO", "read-write:$REPO/out", "read-write:$DATA"]).await;
    let absolute = env.path("repo/docs/a.txt");
    let (said, fired) = act(
        &hook,
        json!([
            ["read", "$REPO/docs/a.txt"],
            ["read", absolute],
            ["list", "$REPO"],
            ["write", "$REPO/out/b.txt", "b"],
            ["append", "$DATA/log", "one "],
            ["append", env.path("home/data/asks/log"), "two"],
            ["rename", "$DATA/log", "$DATA/log.1"],
            ["mkdir", "$REPO/out/sub"],
        ]),
    )
    .await;
    assert_eq!(said, ["text", "text", "docs out", "done", "done", "done", "done", "done"]);
    assert_eq!(env.read("repo/out/b.txt").as_deref(), Some("b"));
    assert_eq!(env.read("home/data/asks/log.1").as_deref(), Some("one two"));
    assert!(denied(&fired).is_empty());
}

#[tokio::test]
async fn nothing_outside_a_granted_directory_is_reached_and_reading_is_only_reading() {
    let env = TestEnvironment::new();
    env.file("secret", "secret")
        .file("home/secret", "secret")
        .file("repo/file", "file")
        .directory("repo/out");
    for (at, to) in [("up", ".."), ("root", "/"), ("secret", "../secret"), ("self", "/proc/self/root")] {
        symlink(to, env.path("repo").join(at)).unwrap();
        symlink(to, env.path("repo/out").join(at)).unwrap();
    }
    fs::hard_link(env.path("home/secret"), env.path("repo/out/linked")).unwrap();
    let hook = hook(&env, &["read:$REPO", "read-write:$REPO/out"]).await;
    let absolute = env.path("secret");
    let home = env.path("home/secret");
    let deeds = [
        json!(["read", "$REPO/../secret"]),
        json!(["read", "$REPO/up/secret"]),
        json!(["read", format!("$REPO/root{}", absolute.display())]),
        json!(["read", "$REPO/secret"]),
        json!(["read", format!("$REPO/self{}", absolute.display())]),
        json!(["read", absolute]),
        json!(["read", home]),
        json!(["read", "/etc/passwd"]),
        json!(["list", "/"]),
        json!(["list", "$HOME"]),
        json!(["write", "$REPO/file", "x"]),
        json!(["append", "$REPO/file", "x"]),
        json!(["truncate", "$REPO/file"]),
        json!(["remove", "$REPO/file"]),
        json!(["mkdir", "$REPO/new"]),
        json!(["rename", "$REPO/file", "$REPO/out/file"]),
        json!(["hard-link", "$REPO/file", "$REPO/out/file"]),
        json!(["hard-link", "$REPO/out/linked", "$REPO/out/again"]),
        json!(["symlink", "../../secret", "$REPO/out/link"]),
        json!(["write", "$REPO/out/up/secret", "x"]),
        json!(["write", "$REPO/out/secret", "x"]),
        json!(["write", "$REPO/out/linked", "x"]),
        json!(["truncate", "$REPO/out/linked"]),
        json!(["append", "$REPO/out/linked", "x"]),
        json!(["write", "$DATA/x", "x"]),
    ];
    let (said, fired) = act(&hook, json!(deeds)).await;
    for (deed, said) in deeds.iter().zip(&said) {
        assert!(said.starts_with("error: "), "{deed}: {said}");
    }
    assert_eq!(said.len(), deeds.len());
    for kept in ["secret", "home/secret", "repo/file"] {
        assert_eq!(env.read(kept).as_deref(), kept.rsplit('/').next(), "{kept}");
    }
    assert_eq!(denied(&fired), ["read-write:$DATA"], "the reason why $DATA does not exist");
    assert!(!env.path("home/data").exists());
}

#[tokio::test]
async fn only_regular_files_are_opened() {
    let env = TestEnvironment::new();
    let made = std::process::Command::new("mkfifo").arg(env.path("repo/pipe")).status().unwrap();
    assert!(made.success());
    let socket = std::os::unix::net::UnixListener::bind(env.path("repo/socket")).unwrap();
    let hook = hook(&env, &["read:$REPO"]).await;
    let (said, _) = act(&hook, json!([["read", "$REPO/pipe"], ["read", "$REPO/socket"]])).await;
    assert!(said.iter().all(|said| said.starts_with("error: ")), "{said:?}");
    drop(socket);
}

#[tokio::test]
async fn a_directory_that_became_a_symlink_leads_nowhere() {
    let env = TestEnvironment::new();
    env.file("home/secret", "secret").directory("repo/out");
    let hook = hook(&env, &["read-write:$REPO/out"]).await;
    let (said, _) = act(&hook, json!([["write", "$REPO/out/a", "a"]])).await;
    assert_eq!(said, ["done"]);
    fs::remove_dir_all(env.path("repo/out")).unwrap();
    symlink(env.path("home"), env.path("repo/out")).unwrap();
    let (said, fired) =
        act(&hook, json!([["read", "$REPO/out/secret"], ["write", "$REPO/out/new", "x"]])).await;
    assert!(said.iter().all(|said| said.starts_with("error: ")), "{said:?}");
    assert!(!env.path("home/new").exists());
    assert!(fired.report.hooks[0].log.contains("cannot be opened"), "{}", fired.report.hooks[0].log);
}

/// A path is checked and used in one step: while names change, a guest gets the file or an error, and never a
/// file outside.
#[tokio::test]
async fn a_race_leads_nowhere() {
    let env = TestEnvironment::new();
    env.file("outside/file", "secret").file("repo/inside/file", "inside");
    let stop = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let swapper = std::thread::spawn({
        let (repo, outside): (PathBuf, PathBuf) = (env.path("repo"), env.path("outside"));
        let stop = Arc::clone(&stop);
        move || {
            let at = repo.join("now");
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                for to in [
                    repo.join("inside"),
                    outside.clone(),
                    PathBuf::from("inside"),
                    PathBuf::from("../outside"),
                ] {
                    let _ = fs::remove_file(&at);
                    let _ = symlink(to, &at);
                }
            }
        }
    });
    let hook = hook(&env, &["read:$REPO"]).await;
    let deeds: Vec<Value> = (0..200).map(|_| json!(["read", "$REPO/now/file"])).collect();
    for _ in 0..10 {
        let (said, _) = act(&hook, json!(deeds)).await;
        assert!(said.iter().all(|said| said == "inside" || said.starts_with("error: ")), "{said:?}");
    }
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    swapper.join().unwrap();
}

#[tokio::test]
async fn a_variable_is_there_when_it_was_granted_and_a_denial_says_what_would_allow_it() {
    let env = TestEnvironment::new();
    let (said, fired) = act(&hook(&env, &["env:GIVEN"]).await, json!([["vars"]])).await;
    assert_eq!(said, ["GIVEN=value"]);
    assert!(denied(&fired).is_empty());

    let (said, fired) = act(&hook(&env, &[]).await, json!([["vars"], ["read", "$REPO/x"]])).await;
    assert_eq!((said[0].as_str(), said[1].starts_with("error: ")), ("", true));
    assert_eq!(denied(&fired), ["env:GIVEN", "read:$REPO", "read-write:$REPO/out", "read-write:$DATA"]);
    let report = &fired.report.hooks[0];
    assert_eq!(report.cause, Some(Cause::Denied));
    assert_eq!(report.denied[0].fix, "allow it with `hookbox grants add asks.wasm env:GIVEN`");
    assert!(report.denied[1].fix.contains("'read:$REPO'"), "{}", report.denied[1].fix);
    let warned =
        fired.verdict.warnings.iter().any(|it| it.text.contains("hookbox grants add asks.wasm env:GIVEN"));
    assert!(warned, "{:?}", fired.verdict.warnings);
}

#[tokio::test]
async fn the_conversation_is_a_right() {
    let env = TestEnvironment::new();
    let stop = || {
        EventData::AgentStop(AgentStop { messages: json!([{"role": "user"}]).into(), ..AgentStop::default() })
    };
    for (grants, said, refused) in
        [(&["conversation"][..], r#"[{"role":"user"}]"#, &[][..]), (&[], "[]", &["conversation"])]
    {
        let fired = fire(&hook(&env, grants).await, stop()).await;
        assert!(
            fired.verdict.warnings.iter().any(|it| it.text.contains(said)),
            "{:?}",
            fired.verdict.warnings
        );
        assert_eq!(denied(&fired), refused);
    }
}
