//! The flow of the Base Coat specification: a session uses up its budget and hands over to a fresh
//! one. Once through the library and once by the command.

use std::cell::RefCell;
use std::rc::Rc;

use hookbox::{Report, Status};
use hookbox_agent::{Agent, Checkout, Scripted, Step, Tools};
use serde_json::Value;

use super::contents;
use crate::environment::{TestEnvironment, sample};

const SCRIPT: &str = include_str!("../../../examples/agent/src/demo/rotation.json");
const SETTINGS: &str = include_str!("../../../examples/agent/src/demo/rotation.toml");
const COMPONENTS: [&str; 6] =
    ["guardrail", "error-kb", "loop-detector", "session-memory", "budget-rotate", "telemetry"];
const ANCHORS: [&str; 4] =
    ["#145", "feat/145-hooks-framework", "no key for the registry", "write the tests of the rotation"];

/// Works on one task in a process of its own; each report, and the conversation that is left.
async fn session(env: &TestEnvironment, part: &str) -> (Vec<Report>, Vec<Value>) {
    let script: Value = serde_json::from_str(SCRIPT).unwrap();
    let model = Scripted::new(script[part].as_array().unwrap().clone(), 100_000)
        .summaries(script["summaries"].as_array().unwrap().clone());
    let reports = Rc::new(RefCell::new(Vec::new()));
    let seen = Rc::clone(&reports);
    let watch = move |step: Step<'_>| {
        if let Step::Event(report) = step {
            seen.borrow_mut().push(report.clone());
        }
    };
    let work = env.path("repo");
    let manager = env.builder().build().await;
    let mut agent =
        Agent::new(model, Tools::new(&work).unwrap(), manager, watch).checkout(Checkout::of(&work));
    agent.run("Go on with the release.").await.unwrap();
    (reports.take(), agent.conversation().messages.clone())
}

/// A place with the hooks of the flow, and a project whose packaging fails.
fn place() -> TestEnvironment {
    let env = TestEnvironment::new();
    env.file("home/.hookbox/hookbox.toml", SETTINGS)
        .file("repo/.git/HEAD", "ref: refs/heads/feat/145-hooks-framework\n")
        .file("repo/.git/config", "[remote \"origin\"]\n\turl = https://example.com/basecoat/hooks.git\n")
        .file("repo/package.sh", "echo 'dist/ contains an old archive' >&2; exit 1\n")
        .file("repo/dist/old.tgz", "old")
        .file("repo/build.log", "step ok: compiled one more file of the project\n".repeat(2_000));
    for name in COMPONENTS {
        env.copy(&format!("home/.hookbox/hooks/{name}.wasm"), &sample(name));
    }
    for name in COMPONENTS {
        let output = env.hookbox(["trust", &format!("{name}.wasm"), "--yes"]);
        assert_eq!(output.code, Some(0), "{output:#?}");
    }
    env
}

#[tokio::test]
async fn a_session_that_uses_up_its_budget_hands_over_and_the_anchors_stay() {
    let env = place();
    session(&env, "first").await;
    let (reports, fresh) = session(&env, "second").await;
    for hook in reports.iter().flat_map(|report| &report.hooks) {
        assert_eq!(hook.cause, None, "{hook:#?}");
    }

    let status = |report: &Report, hook: &str| report.hook(&format!("{hook}.wasm")).map(|hook| hook.status);
    let order: Vec<&str> = reports.iter().map(|report| report.event.as_str()).collect();
    let rotation = order
        .iter()
        .position(|event| *event == "pre_compact")
        .unwrap_or_else(|| panic!("no rotation: {order:?}"));
    assert_eq!(
        order[rotation..],
        [
            "pre_compact",
            "post_compact",
            "session_end",
            "session_start",
            "after_turn",
            "turn_end",
            "agent_stop",
            "session_end"
        ]
    );
    let budget: Vec<usize> = (0..rotation).filter(|at| order[*at] == "on_budget_exceeded").collect();
    let [warned, exceeded] = budget[..] else { panic!("{order:?}") };
    assert!(warned < exceeded && exceeded < rotation);

    let blocked = |hook: &str, event: &str, range: std::ops::Range<usize>| {
        reports[range]
            .iter()
            .any(|it| it.event.as_str() == event && status(it, hook) == Some(Status::Blocked))
    };
    assert!(blocked("guardrail", "before_tool_call", 0..warned));
    assert!(blocked("loop-detector", "after_tool_call", 0..warned), "three failures are a loop");
    assert!(blocked("budget-rotate", "before_tool_call", exceeded..rotation), "no large work any more");
    assert_eq!(
        status(&reports[0], "session-memory"),
        Some(Status::Changed),
        "the first session left something"
    );
    assert_eq!(status(&reports[rotation + 3], "session-memory"), Some(Status::Changed));

    let hinted = |report: &Report| {
        let hook = report.hook("error-kb.wasm").filter(|hook| hook.status == Status::Changed);
        hook.is_some_and(|hook| {
            hook.changes.iter().any(|it| it.after.to_string().contains("rm dist/old.tgz"))
        })
    };
    assert!(reports[..warned].iter().any(hinted), "a known failure is announced with its fix");
    let ended = reports[rotation + 2].hook("telemetry.wasm").unwrap();
    assert_eq!(ended.metadata["telemetry"]["reason"], "rotate", "{ended:#?}");

    let texts = contents(&fresh);
    let given = &texts[..texts.len() - 1];
    for anchor in ANCHORS {
        assert!(given.iter().any(|text| text.contains(anchor)), "{anchor}: {given:#?}");
    }
    assert!(
        !texts.iter().any(|text| text.contains("I try the quick way")),
        "the conversation is a fresh one"
    );
}
