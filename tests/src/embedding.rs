//! The library as an agent uses it, and the reference agent.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use hookbox::Component;
use hookbox::Runtime;
use hookbox::event::{AgentStop, ErrorEvent, ErrorSource, EventData, InvokedBy};
use hookbox::manager::Manager;
use hookbox::session::{Decision, OutputDecision, Session};
use hookbox::{Event, EventName, Hook, Outcome, Status, ToolCall};
use hookbox_agent::{Agent, Scripted, Step, Tools};
use hookbox_system::files::private_dir;
use hookbox_system::files::private_dir::PrivateErrorKind;
use serde_json::{Value, json};

use crate::answers::{each, user};
use crate::environment::{TestEnvironment, guest, sample};

const BEFORE: &EventName = &EventName::BeforeToolCall;

fn call(command: &str) -> ToolCall {
    ToolCall::new("bash", json!({"command": command}))
}

#[test]
fn what_an_agent_holds_can_be_sent_and_shared() {
    fn check<T: Send + Sync + 'static>() {}
    check::<Manager>();
    check::<Session>();
    check::<Arc<dyn Hook>>();
    check::<Runtime>();
    check::<Component>();
    check::<hookbox::Event>();
    check::<hookbox::Report>();
    check::<hookbox::HookError>();
    check::<hookbox::session::ToolVerdict>();

    fn sent<T: Send>(_: &T) {}
    let session = Manager::empty().session("c");
    sent(&session.before_tool_call(call("ls")));
    sent(&session.fire(EventData::TurnEnd { response: None, turn_number: None }));
    sent(&Manager::builder().build());
}

#[test]
fn either_kind_of_runtime_will_do() {
    let env = TestEnvironment::new();
    env.copy("home/.hookbox/hooks/guardrail.wasm", &sample("guardrail"));
    env.native("home/.hookbox/hooks/native", "before_tool_call", ":");
    let mut one = tokio::runtime::Builder::new_current_thread();
    let mut many = tokio::runtime::Builder::new_multi_thread();
    for builder in [&mut one, &mut many] {
        let runtime = builder.enable_all().build().unwrap();
        let manager = runtime.block_on(env.builder().build());
        let sessions = (0..16).map(|number| manager.session(format!("c{number}")));
        let calls: Vec<_> = sessions
            .map(|session| runtime.spawn(async move { session.before_tool_call(call("sudo ls")).await }))
            .collect();
        for call in calls {
            let verdict = runtime.block_on(call).unwrap();
            assert_eq!(verdict.decision.blocked().unwrap().by, "guardrail.wasm");
        }
    }
}

#[tokio::test]
async fn an_empty_manager_yields_verdicts_and_reports_of_nothing() {
    let env = TestEnvironment::new();
    for manager in [Manager::empty(), env.builder().build().await] {
        assert_eq!((manager.hooks().len(), manager.entries().len(), manager.problems().len()), (0, 0, 0));
        let session = manager.session("c");
        let verdict = session.before_tool_call(call("ls")).await;
        assert_eq!(verdict.decision.permitted().unwrap().input, json!({"command": "ls"}).into());
        assert!(!verdict.modified);
        let mut empty = hookbox::Report::new(BEFORE.clone());
        (empty.started, empty.duration) = (verdict.report.started, verdict.report.duration);
        assert_eq!(verdict.report, empty);
        assert_eq!(session.user_message_send("hello").await.decision, Decision::Proceed("hello".to_owned()));
        let result = verdict.decision.permitted().unwrap().clone().finished(json!("out"));
        let after = session.after_tool_call(result).await;
        assert_eq!(after.decision, OutputDecision::Proceed(json!("out").into()));
        assert!(session.agent_stop(AgentStop::default()).await.follow_ups.is_empty());
    }
}

#[tokio::test]
async fn one_method_makes_a_whole_tool_call() {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let hear = |name: &'static str| {
        let heard = Arc::clone(&heard);
        move |event: &Event| heard.lock().unwrap().push(format!("{name} {}", said(event)))
    };
    let (after, error) = (hear("after"), hear("error"));
    let manager = Manager::builder()
        .directories(false)
        .on("judge", EventName::BeforeToolCall, |event| async move {
            Ok(match said(&event).as_str() {
                "blocked" => Outcome::block("not here"),
                "asked" => Outcome::ask("sure?"),
                "old" => Outcome::modify(json!({"text": "new"})),
                _ => Outcome::inject("noted"),
            })
        })
        .on("after", EventName::AfterToolCall, move |event| {
            after(&event);
            let stops = said(&event) == "stops";
            async move { Ok(if stops { Outcome::block("enough") } else { Outcome::pass() }) }
        })
        .on("error", EventName::OnError, move |event| {
            error(&event);
            async { Ok(Outcome::modify(json!("try again"))) }
        })
        .build()
        .await;
    let session = manager.session("c");
    for (text, answer, ran, by, events) in [
        ("fine", "did fine", true, None, &["after fine"][..]),
        ("old", "did new", true, None, &["after new"]),
        ("blocked", "error: not here", false, Some("judge"), &["after blocked"]),
        ("asked", "error: sure?", false, Some("judge"), &["after asked"]),
        ("fails", "error: try again", true, None, &["after fails", "error fails"]),
        ("stops", "did stops\nstop and change course: enough", true, Some("after"), &["after stops"]),
    ] {
        let run = session.tool(ToolCall::new("do", json!({"text": text})), |call| async move {
            let text: String = call.input.get("/text").unwrap().unwrap();
            if text == "fails" { call.failed("broken") } else { call.finished(json!(format!("did {text}"))) }
        });
        let run = run.await;
        let ruled = run.ruling.as_ref().map(|ruling| ruling.by.as_str());
        assert_eq!((run.text.as_str(), run.ran, ruled), (answer, ran, by), "{text}");
        assert_eq!(std::mem::take(&mut *heard.lock().unwrap()), events, "{text}");
        assert_eq!(run.context.len(), usize::from(["fine", "fails", "stops"].contains(&text)), "{text}");
        assert_eq!(run.reports.len(), events.len() + 1, "{text}");
    }
}

/// The text in the input of the call that an event is about.
fn said(event: &Event) -> String {
    let call = match &event.data {
        EventData::BeforeToolCall(call) => call,
        EventData::AfterToolCall(result) => &result.call,
        EventData::OnError(ErrorEvent { source: ErrorSource::Tool(call), .. }) => call,
        other => panic!("{other:?}"),
    };
    call.input.get("/text").unwrap().unwrap()
}

#[tokio::test]
async fn a_hook_is_looked_up_by_its_full_name() {
    let env = TestEnvironment::new();
    env.copy("home/.hookbox/hooks/guardrail.wasm", &sample("guardrail"));
    env.native("home/.kodelet/plugins/org@repo/hooks/audit", "before_tool_call", ":");
    let manager = env
        .builder()
        .on("mine", EventName::SessionStart, |_| async { Ok(Outcome::inject("hello")) })
        .build()
        .await;
    for name in ["guardrail.wasm", "org/repo/audit", "mine"] {
        assert_eq!(manager.hook(name).unwrap().descriptor().name, name);
    }
    for name in ["guardrail", "audit", "org@repo/audit", ""] {
        assert!(manager.hook(name).is_none(), "{name}");
    }
    assert_eq!(manager.session("c").session_start("startup").await.context, ["hello"]);
    assert_eq!(manager.repository(), Some(env.path("repo")));
}

#[tokio::test]
async fn a_session_says_where_its_events_happen() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let keep = Arc::clone(&seen);
    let manager = Manager::builder()
        .directories(false)
        .cwd("/w")
        .on("see", EventName::TurnEnd, move |event| {
            keep.lock().unwrap().push(event.context.as_ref().clone());
            async { Ok(Outcome::pass()) }
        })
        .build()
        .await;
    let session = manager.session("main").agent("dev").recipe("deploy").mode("plan");
    let session = session.repository("org/repo", Some("main".to_owned()));
    let subagent = session.subagent("sub").cwd("/w/sub");
    for session in [&session, &subagent] {
        let _ = session.turn_end("done", 1).await;
    }
    let seen = seen.lock().unwrap();
    let [main, sub] = seen.as_slice() else { panic!("{seen:?}") };
    let shown = |it: &hookbox::Context| (it.conversation_id.clone(), it.cwd.clone(), it.invoked_by);
    assert_eq!(shown(main), ("main".into(), "/w".into(), InvokedBy::Main));
    assert_eq!(shown(sub), ("sub".into(), "/w/sub".into(), InvokedBy::Subagent));
    for context in [main, sub] {
        assert_eq!(context.agent.as_deref(), Some("dev"));
        assert_eq!(context.recipe_name.as_deref(), Some("deploy"));
        assert_eq!(
            (context.repository.as_deref(), context.branch.as_deref()),
            (Some("org/repo"), Some("main"))
        );
        assert_eq!(context.mode.as_deref(), Some("plan"));
    }
}

#[tokio::test]
async fn compiled_code_is_kept_only_where_nobody_else_can_put_it() {
    let env = TestEnvironment::new();
    env.copy("home/.hookbox/hooks/guardrail.wasm", &sample("guardrail"));
    env.directory("open")
        .mode("open", 0o777)
        .file("file", "")
        .symlink("link", "repo/sub")
        .directory("repo/sub");
    env.directory("group").mode("group", 0o770);
    for (at, what) in [
        ("repo/cache", "inside the repository"),
        ("link/cache", "inside the repository"),
        ("open", "others may write to it"),
        ("group", "others may write to it"),
        ("file", "not a directory"),
    ] {
        let manager = Manager::builder()
            .cwd(env.path("repo"))
            .home(env.path("home"))
            .cache(Some(env.path(at)))
            .build()
            .await;
        let problems: Vec<String> = manager.problems().iter().map(ToString::to_string).collect();
        let [problem] = problems.as_slice() else { panic!("{at}: {problems:?}") };
        assert!(problem.contains(what), "{at}: {problem}");
        let verdict = manager.session("c").before_tool_call(call("sudo ls")).await;
        assert!(verdict.decision.blocked().is_some(), "hooks run all the same");
        assert!(!env.path("repo/cache").join("code").exists() && !env.path("open/code").exists());
    }
    let error = private_dir::open(&env.path("repo/cache"), Some(&env.path("repo"))).unwrap_err();
    assert!(matches!(error.kind, PrivateErrorKind::InRepository(_)));

    // A good place is used, and is the user's alone.
    let builder =
        || Manager::builder().cwd(env.path("repo")).home(env.path("home")).cache(Some(env.path("good")));
    for _ in 0..2 {
        assert_eq!(*builder().build().await.problems(), []);
        assert_eq!(crate::cache::code(&env.path("good/code")).len(), 1);
    }
}

/// Runs the reference agent with a scripted model; returns its changes because of hooks.
async fn work(env: &TestEnvironment, manager: &Manager, script: Vec<Value>) -> (Vec<String>, Vec<String>) {
    let (because, ran) = (Rc::new(RefCell::new(Vec::new())), Rc::new(RefCell::new(Vec::new())));
    let (tell, tell_ran) = (Rc::clone(&because), Rc::clone(&ran));
    let watch = move |step: Step<'_>| match step {
        Step::Because(what) => tell.borrow_mut().push(what),
        Step::Ran(name, output) => tell_ran.borrow_mut().push(format!("{name}: {}", output.trim())),
        Step::Event(report) => {
            assert!(report.hooks.iter().all(|hook| hook.status != Status::Failed), "{report:#?}");
        }
        _ => {}
    };
    let tools = Tools::new(&env.path("repo")).unwrap();
    let model = Scripted::new(script, 100_000);
    Agent::new(model, tools, manager.clone(), watch).run("do it").await.unwrap();
    (because.take(), ran.take())
}

#[tokio::test]
async fn the_reference_agent_obeys_its_hooks() {
    let turn = |name: &str, input: Value| json!({"text": "I try.", "calls": [[name, input]]});
    let bash = |command: &str| turn("bash", json!({"command": command}));
    each(async |backend| {
        let env = TestEnvironment::new();
        user(&env, backend, "guard", BEFORE, &json!({"block": "not today"}));
        let (because, ran) = work(&env, &env.builder().build().await, vec![bash("touch made")]).await;
        assert!(because[0].contains("not today"), "{because:?}");
        assert!(ran.is_empty() && env.read("repo/made").is_none());

        let env = TestEnvironment::new();
        user(&env, backend, "change", BEFORE, &json!({"modify": {"command": "echo changed"}}));
        let (_, ran) = work(&env, &env.builder().build().await, vec![bash("touch made")]).await;
        assert_eq!(ran, ["bash: changed"]);
        assert_eq!(env.read("repo/made"), None);

        let env = TestEnvironment::new();
        let follow_up = json!({"follow_up": ["write it down"]});
        user(&env, backend, "more", &EventName::AgentStop, &follow_up);
        let (because, _) = work(&env, &env.builder().build().await, vec![bash("true")]).await;
        let rounds = because.iter().filter(|what| what.contains("write it down")).count();
        assert_eq!(rounds, 8, "the cap of follow-ups ends it: {because:?}");
    })
    .await;
}

#[tokio::test]
async fn the_reference_agents_model_sees_the_redacted_output() {
    let env = TestEnvironment::new();
    env.copy("home/.hookbox/hooks/redactor.wasm", &sample("redactor"));
    env.file("repo/config", "password=hunter2");
    let seen = Arc::new(Mutex::new(String::new()));
    let keep = Arc::clone(&seen);
    let manager = env
        .builder()
        .on("see", EventName::AgentStop, move |event| {
            if let EventData::AgentStop(stop) = &event.data {
                *keep.lock().unwrap() = stop.messages.text().to_owned();
            }
            async { Ok(Outcome::pass()) }
        })
        .build()
        .await;
    let script = vec![json!({"text": "", "calls": [["read_file", {"path": "config"}]]})];
    let (because, ran) = work(&env, &manager, script).await;
    assert_eq!(ran, ["read_file: password=hunter2"]);
    assert!(because.iter().any(|what| what.contains("another output")), "{because:?}");
    let seen = seen.lock().unwrap();
    assert!(seen.contains("password=[REDACTED]") && !seen.contains("hunter2"), "{seen}");
}

#[tokio::test]
async fn guests_of_one_engine_share_nothing() {
    let env = TestEnvironment::new();
    env.copy("home/.hookbox/hooks/a.wasm", &guest("answers"))
        .copy("home/.hookbox/hooks/b.wasm", &guest("answers"));
    env.file(
        "home/.hookbox/hookbox.toml",
        "[hooks.\"a.wasm\"]\nsettings = { answer = '{\"warnings\":[\"a\"]}' }\n[hooks.\"b.wasm\"]\nsettings = { answer = '{\"warnings\":[\"b\"]}' }\n",
    );
    let verdict = env.builder().build().await.session("c").before_tool_call(call("ls")).await;
    let said: Vec<_> =
        verdict.warnings.iter().map(|it| (it.hook.as_deref().unwrap(), it.text.as_str())).collect();
    assert_eq!(said, [("a.wasm", "a"), ("b.wasm", "b")]);
}

#[tokio::test]
async fn an_event_that_no_hook_wants_has_a_verdict_and_a_report_and_ends_the_row_of_follow_ups() {
    let go_on = |_: Event| async { Ok(Outcome::follow_up("go on")) };
    let builder = Manager::builder().directories(false).self_protection(false);
    let session = builder.on("on", EventName::AgentStop, go_on).build().await.session("c");
    let asked = call("ls");
    let verdict = session.before_tool_call(asked.clone()).await;
    assert_eq!(verdict.decision.permitted().map(|call| &**call), Some(&asked));
    assert_eq!((&verdict.report.event, verdict.report.hooks.len()), (BEFORE, 0));
    assert_eq!(session.agent_stop(AgentStop::default()).await.follow_ups, ["go on"]);
}
