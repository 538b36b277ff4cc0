//! The imports `facts` and `work-tree` say what the host knows.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use hookbox::capability::{Capability, Rights};
use hookbox::event::EventData;
use hookbox::{Access, Component, ComponentHook};
use hookbox::{Budget, Context, Descriptor, Event, Hook, HookError, Kind, Outcome, Settings, ToolCall};
use hookbox_shell::{Known, runs};
use serde_json::{Value, json};

use crate::environment::{guest, runtime};

/// Loads a component of `tests/guests`.
async fn component(name: &str) -> Component {
    runtime().load(fs::read(guest(name)).unwrap()).await.unwrap()
}

fn hook(component: &Component, grants: &[&str]) -> ComponentHook {
    let granted: Vec<Capability> = grants.iter().map(|right| right.parse().unwrap()).collect();
    let rights = Rights::of(&component.manifest().capabilities, &granted);
    let access = Access { rights, name: "h.wasm".to_owned(), ..Access::default() };
    let mut descriptor = Descriptor::new("h.wasm", Kind::Component);
    descriptor.subscriptions = component.manifest().subscriptions.clone();
    ComponentHook::new(component.clone(), descriptor, Settings::new()).with_access(access)
}

async fn run(hook: &ComponentHook, cwd: &str, data: EventData) -> Result<Outcome, HookError> {
    let event = Event { context: Arc::new(Context::new("c", cwd)), data };
    // A busy machine gets its time, and a test of speed is somewhere else.
    let mut budget = Budget::for_kind(Kind::Component);
    budget.wall = std::time::Duration::from_secs(120);
    hook.run(&event, &budget).await
}

fn call(input: Value) -> EventData {
    EventData::BeforeToolCall(ToolCall::new("bash", input))
}

#[tokio::test]
async fn the_answer_allow_reaches_the_host() {
    let facts = component("facts").await;
    assert!(facts.manifest().answers.allow);
    assert_eq!(facts.wit_version(), "0.2.0");
    assert_eq!(facts.manifest().capabilities, [Capability::WorkTree, Capability::Allow]);
    let outcome = run(&hook(&facts, &[]), "/w", call(json!({"allow": "it only reads"}))).await;
    assert_eq!(outcome.unwrap().action, hookbox::Action::Allow("it only reads".to_owned()));
}

/// The lines of the lists in `tests/data/self-protection/`, which have every construct of a shell.
#[tokio::test]
async fn a_line_is_read_in_a_component_as_on_the_host() {
    let facts = hook(&component("facts").await, &[]);
    let lists = concat!(
        include_str!("../data/self-protection/innocent.txt"),
        include_str!("../data/self-protection/changes.txt")
    );
    let own = [
        "",
        "\0",
        "echo \u{1f600} > ä",
        "cd a && (cd ../b; make | tee log) 2>&1 &",
        "for i in a b c; do python3 -c \"print('$i')\" <<< text; done",
        "if x; then v=1; else v=2; fi; echo $v $(date) `pwd`",
        "f() { f | f; }; f",
        "ssh host \"docker exec c sh -c 'cat <(ls)'\"",
        "cat <<EOF | psql\nselect 1;\nEOF",
        "echo 'open",
    ];
    let lines: Vec<&str> = lists.lines().chain(own).collect();
    assert!(lines.len() > 1000);
    for cwd in ["/srv/app", "not absolute"] {
        for lines in lines.chunks(40) {
            let ran = run(&facts, cwd, call(json!({ "lines": lines }))).await.unwrap();
            let known = Known { cwd: Some(cwd).filter(|it| it.starts_with('/')), ..Known::default() };
            assert_eq!(ran.warnings.len(), lines.len());
            for (line, found) in lines.iter().zip(ran.warnings) {
                assert_eq!(found, format!("{:?}", runs(line, &known)), "{line}");
            }
        }
    }
}

#[tokio::test]
async fn a_call_is_read_in_a_component_as_on_the_host() {
    let facts = hook(&component("facts").await, &[]);
    for (name, input) in [
        ("Bash", json!({"command": "cd a && echo x > b; rm *.c", "workdir": "/srv"})),
        ("mcp__fs__move_file", json!({"source": "a", "destination": "/b"})),
        ("mcp__x__write_file", json!({"file": "/a", "content": "x"})),
        ("Grep", json!({"pattern": "x", "glob": "*.env"})),
        ("unknown", json!({"argv": ["rm", "-rf", "x"]})),
    ] {
        let mut input = input;
        input["facts"] = json!(true);
        let mut made = ToolCall::new(name, input);
        made.facts = Arc::new(hookbox::internal::facts::of(name, &made.input, Path::new("/w"), None));
        let event =
            Event { context: Arc::new(Context::new("c", "/w")), data: EventData::BeforeToolCall(made) };
        let found = facts.run(&event, &Budget::for_kind(Kind::Component)).await.unwrap();
        assert_eq!(found.warnings, [format!("{:?}", event.call_facts().unwrap())], "{name}");
    }
}

#[tokio::test]
async fn the_same_line_costs_the_same_for_the_first_hook_and_the_next() {
    let facts = hook(&component("facts").await, &[]);
    let event = Event {
        context: Arc::new(Context::new("c", "/w")),
        data: call(json!({"lines": ["cd a && make -j4 | tee log", "ls"]})),
    };
    let budget = Budget::for_kind(Kind::Component);
    let fuel = async || facts.run(&event, &budget).await.unwrap().spent.fuel.unwrap();
    let (first, second) = (fuel().await, fuel().await);
    assert_eq!(first, second);
    let other = run(&facts, "/w", call(json!({"lines": ["ls", "ls"]}))).await.unwrap().spent.fuel.unwrap();
    assert!(other < first, "{other} {first}");
}

#[tokio::test]
async fn the_state_of_git_is_a_right() {
    let component = component("facts").await;
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).to_str().unwrap();
    let input = json!({"tree": directory, "pushed": [directory, "HEAD"], "path": "src/versions.rs"});
    let without = run(&hook(&component, &[]), directory, call(input)).await.unwrap();
    assert_eq!(without.warnings, ["None", "None", "None"]);
    let denied: Vec<&str> = without.spent.denied.iter().map(|it| it.right.as_str()).collect();
    assert_eq!(denied, ["work-tree"]);
    // A guard asks for paths before most writes, so that is no news.
    let quiet =
        run(&hook(&component, &[]), directory, call(json!({"path": "src/versions.rs"}))).await.unwrap();
    assert_eq!(
        (quiet.warnings.as_slice(), quiet.spent.denied.as_slice()),
        (&["None".to_owned()][..], &[][..])
    );

    let granted = hook(&component, &["work-tree"]);
    let temporary = tempfile::tempdir().unwrap();
    let outside = temporary.path().to_str().unwrap();
    let input = json!({"tree": outside, "pushed": [outside, "HEAD"], "path": "a"});
    let nowhere = run(&granted, outside, call(input)).await.unwrap();
    assert_eq!(nowhere.warnings, ["None", "None", "None"]);
    assert!(nowhere.spent.denied.is_empty());
}
