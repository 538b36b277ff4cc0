//! Hooks of several kinds in one event: their common decision, and its report.

use hookbox::builtin::{COMPACT_TRIGGER, SELF_PROTECTION};
use hookbox::event::{AfterTurn, EventData};
use hookbox::manager::Builder;
use hookbox::outcome::{Callback, MAX_CONTEXT};
use hookbox::session::ToolDecision;
use hookbox::{Action, Cause, EventName, HookError, Kind, Outcome, Status, ToolCall, Usage};
use serde_json::json;

use crate::answers::Backend::Component;
use crate::environment::{TestEnvironment, sample};

const START: EventData = EventData::SessionStart { source: None };

fn full() -> EventData {
    let usage = Usage { current_context_window: 90, max_context_window: 100, ..Usage::default() };
    EventData::AfterTurn(AfterTurn { usage: Some(usage), ..AfterTurn::default() })
}

/// A hook from code that always answers this.
fn says(builder: Builder, name: &str, event: EventName, outcome: Outcome) -> Builder {
    builder.on(name, event, move |_| {
        let outcome = outcome.clone();
        async move { Ok(outcome) }
    })
}

fn runs(recipe: &str) -> Outcome {
    Action::Callback(Callback { name: recipe.to_owned(), args: Vec::new() }).into()
}

#[tokio::test]
async fn the_first_recipe_holds_and_each_conflict_is_named() {
    let env = TestEnvironment::new();
    let native = r#"echo '{"action": "injectContext", "additionalContext": "from a file"}'"#;
    env.native("home/.hookbox/hooks/noted", "after_turn", native);
    // Two hooks that want the same are no conflict.
    for (recipe, warned) in [("mine", &["code", COMPACT_TRIGGER][..]), ("compact", &["code"])] {
        let builder = env.builder().builtins(true).self_protection(false);
        let builder = says(builder, "code", EventName::AfterTurn, runs(recipe).warn("by code"));
        let manager = says(builder, "late", EventName::AfterTurn, Outcome::inject("from code")).build().await;
        let fired = manager.session("c").fire(full()).await;
        let ran: Vec<_> = fired.report.hooks.iter().map(|it| (it.name.as_str(), it.status)).collect();
        assert_eq!(
            ran,
            [
                ("noted", Status::Changed),
                ("code", Status::Changed),
                ("late", Status::Changed),
                (COMPACT_TRIGGER, Status::Passed)
            ]
        );
        assert_eq!(fired.verdict.callback.unwrap().name, recipe);
        assert_eq!(fired.verdict.context, ["from a file", "from code"]);
        let warnings: Vec<_> = fired.verdict.warnings.iter().filter_map(|it| it.hook.as_deref()).collect();
        assert_eq!(warnings, warned);
    }
}

#[tokio::test]
async fn context_of_every_kind_counts_into_one_limit_and_the_cut_is_reported() {
    let env = TestEnvironment::new();
    // 4 000 letters of two bytes each, in one answer.
    let native =
        r#"printf '{"action": "injectContext", "additionalContext": "%s"}' "$(printf 'é%.0s' {1..4000})""#;
    env.native("home/.hookbox/hooks/first", "session_start", native);
    let builder = says(env.builder(), "second", EventName::SessionStart, Outcome::inject("x".repeat(8_383)));
    let mut third = Outcome::inject("é");
    third.context.push("later".to_owned());
    let builder = says(builder, "third", EventName::SessionStart, third);
    let manager = says(builder, "fourth", EventName::SessionStart, Outcome::inject("f")).build().await;
    let fired = manager.session("c").fire(START).await;
    let sizes: Vec<usize> = fired.verdict.context.iter().map(String::len).collect();
    assert_eq!(sizes, [8_000, 8_383], "what is cut is cut between two characters, the oldest stays");
    for (name, cut) in [("third", "7 bytes"), ("fourth", "1 bytes")] {
        let message = fired.report.hook(name).unwrap().message.as_deref().unwrap();
        assert_eq!(
            message,
            format!("{cut} of its context were left out: an event carries {MAX_CONTEXT} bytes of it at most")
        );
        let warned = fired.verdict.warnings.iter().find(|it| it.hook.as_deref() == Some(name)).unwrap();
        assert!(
            warned.text.starts_with(&format!("{cut} of context from {name} were left out")),
            "{warned:?}"
        );
    }
    assert_eq!(fired.report.hook("second").unwrap().message, None);
}

#[tokio::test]
async fn what_on_error_hooks_say_counts_into_the_limit_of_the_event_that_failed() {
    let env = TestEnvironment::new();
    let fails = |builder: Builder, name: &str| {
        builder.on(name, EventName::SessionStart, |_| async { Err(HookError::new(Cause::Exit, "gave up")) })
    };
    let builder =
        says(env.builder(), "long", EventName::SessionStart, Outcome::inject("x".repeat(MAX_CONTEXT - 10)));
    let builder = fails(fails(builder, "one"), "two");
    let manager = says(builder, "teller", EventName::OnError, Outcome::inject("told of it")).build().await;
    let fired = manager.session("c").fire(START).await;
    assert_eq!(fired.verdict.context.iter().map(String::len).collect::<Vec<_>>(), [MAX_CONTEXT - 10, 10]);
    let [first, second] = fired.report.on_error.as_slice() else { panic!("{:#?}", fired.report) };
    assert_eq!(first.report.hook("teller").unwrap().message, None);
    let message = second.report.hook("teller").unwrap().message.as_deref().unwrap();
    assert!(message.starts_with("10 bytes of its context were left out"), "{message}");
    assert!(fired.verdict.warnings.iter().any(|it| it.text.starts_with("10 bytes of context from teller")));

    // An event that takes no text has no limit to share: nothing of it reaches the model.
    let end = EventData::TurnEnd { response: None, turn_number: None };
    assert_eq!(manager.session("c").fire(end).await.verdict.context, [""; 0]);
}

/// Ten hooks of every kind, each from another place, in one event.
#[tokio::test]
async fn one_event_goes_through_ten_hooks_of_every_kind_and_the_report_reads_in_run_order() {
    let env = TestEnvironment::new();
    let repo = "repo/.hookbox";
    env.native(&format!("{repo}/hooks/unknown"), "before_tool_call", "touch \"$HOME/ran\"");
    let ask = Component.hook(&env, repo, "asks", &EventName::BeforeToolCall, &json!({"ask": "really?"}), "");
    env.native("home/.hookbox/hooks/a-native", "before_tool_call", "echo noted >&2");
    env.native("home/.hookbox/hooks/b-broken", "before_tool_call", "exit 3");
    env.copy("home/.hookbox/hooks/guardrail.wasm", &sample("guardrail"));
    let modify = r#"echo '{"action":"modify","modifiedInput":{"command":"ls -l"}}'"#;
    let declared = json!({"version": 1, "hooks": {"PreToolUse": [
        {"command": modify, "priority": 60, "name": "lists"},
        {"command": "cat >/dev/null", "priority": 99, "observe": true, "name": "watches"},
    ]}});
    env.file("home/.hookbox/hooks.json", declared.to_string());
    env.script("home/tools.sh", include_str!("../servers/tools.sh")).directory("home/records");
    let records = env.path("home/records");
    let mcp = json!({
        "mcpServers": {"tools": {"command": "./tools.sh", "env": {"RECORDS": records}}},
        "hooks": {"PreToolUse": [{"tool": "tools.inject", "priority": 70}]},
    });
    env.file("home/.hookbox/mcp.json", mcp.to_string());
    let builder = env.builder().builtins(true).self_protection(true);
    let builder = says(builder, "counts", EventName::BeforeToolCall, Outcome::pass());
    let manager = builder.build().await;
    assert_eq!(manager.problems().len(), 0, "{:?}", manager.problems());

    let call = ToolCall::new("bash", json!({"command": "ls"}));
    let verdict = manager.session("c").before_tool_call(call.clone()).await;
    let ran: Vec<_> = verdict.report.hooks.iter().map(|it| (it.name.as_str(), it.kind, it.status)).collect();
    let expected = [
        (ask.as_str(), Kind::Component, Status::Asked),
        ("unknown", Kind::Native, Status::Untrusted),
        ("a-native", Kind::Native, Status::Passed),
        ("b-broken", Kind::Native, Status::Failed),
        ("lists", Kind::Command, Status::Changed),
        ("mcp.json#PreToolUse[0]", Kind::Tool, Status::Changed),
        ("guardrail.wasm", Kind::Component, Status::Passed),
        ("watches", Kind::Command, Status::Observed),
        ("counts", Kind::Code, Status::Passed),
        (SELF_PROTECTION, Kind::Builtin, Status::Passed),
    ];
    assert_eq!(ran, expected);
    assert_eq!(env.read("home/ran"), None, "what nobody trusts does not run");
    let ToolDecision::Ask { ruling, call } = &verdict.decision else { panic!("{verdict:?}") };
    assert_eq!((ruling.by.as_str(), call.input.value()), (&*ask, &json!({"command": "ls -l"})));
    assert!(verdict.modified);
    assert_eq!(verdict.context.len(), 1);
    let change = &verdict.report.hook("lists").unwrap().changes[0];
    assert_eq!((&change.before["command"], &change.after["command"]), (&json!("ls"), &json!("ls -l")));
    assert_eq!(verdict.report.hook("b-broken").unwrap().cause, Some(Cause::Exit));
    assert_eq!(verdict.report.hook("a-native").unwrap().log.trim(), "noted");
    assert!(verdict.report.hook("guardrail.wasm").unwrap().fuel > Some(0));

    // A block ends the chain for all kinds, and observers run on.
    let sudo = ToolCall::new("bash", json!({"command": "sudo ls"}));
    env.file(
        "home/.hookbox/hookbox.toml",
        "[hooks.lists]\nenabled = false\n[hooks.\"guardrail.wasm\"]\npriority = 1\n",
    );
    manager.reload().await;
    let verdict = manager.session("c").before_tool_call(sudo).await;
    assert!(matches!(&verdict.decision, ToolDecision::Block(ruling) if ruling.by == "guardrail.wasm"));
    let after: Vec<_> = verdict.report.hooks.iter().skip(2).map(|it| (it.name.as_str(), it.status)).collect();
    assert_eq!(
        after,
        [
            ("guardrail.wasm", Status::Blocked),
            ("a-native", Status::Skipped),
            ("b-broken", Status::Skipped),
            ("mcp.json#PreToolUse[0]", Status::Skipped),
            ("watches", Status::Observed),
            ("counts", Status::Skipped),
            (SELF_PROTECTION, Status::Skipped),
        ]
    );
}
