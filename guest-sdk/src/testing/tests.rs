//! Tests of the harness, with the cases that every SDK runs.

use serde::Deserialize;

use super::*;
use crate::prelude::*;
use crate::state;

struct Tour;

#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Settings {
    reason: String,
}

impl Default for Settings {
    fn default() -> Self {
        Self { reason: "Do not remove files.".to_owned() }
    }
}

impl Hook for Tour {
    fn manifest() -> Manifest {
        Manifest::new("tour", "0.1.0", "Uses each part of the harness.")
            .on_tools(Event::BeforeToolCall, ["kind:shell"])
            .on(Event::UserMessageSend)
            .on(Event::AgentStop)
            .on(Event::TurnEnd)
            .on(Event::PreCompact)
            .answers([Give::Modify, Give::Inject, Give::Allow])
            .capability(Capability::Store)
            .capability(Capability::Conversation)
            .on_failure_block()
    }

    fn before_tool_call(cx: &Context, call: &ToolCall) -> Result<Answer, Error> {
        let settings: Settings = settings()?;
        Ok(match call.command.as_deref().unwrap_or_default() {
            "remove x" => Answer::block(settings.reason),
            "safe" => Answer::allow("It only reads."),
            "facts" => Answer::pass().inject(format!("runs {}", cx.facts_of(call).lines.join(","))),
            "publish" => Answer::ask("Are you sure?"),
            "list" => Answer::modify(json!({"command": "list --all"})),
            "count" => {
                let calls = state::increment("calls", 1)?;
                crate::info!("counted");
                Answer::pass().inject(format!("call {calls}"))
            }
            "fail" => return Err(Error::new("asked to fail")),
            "stop the program" => panic!("stopped"),
            _ => Answer::pass(),
        })
    }

    fn user_message_send(cx: &Context, event: &UserMessage) -> Result<Answer, Error> {
        Ok(Answer::modify(format!("{} in {}", event.message, cx.cwd)).warn("greeted"))
    }

    fn agent_stop(_cx: &Context, _event: &AgentStop) -> Result<Answer, Error> {
        Ok(Answer::follow_up(["go on"]))
    }

    fn turn_end(_cx: &Context, _event: &TurnEnd) -> Result<Answer, Error> {
        Ok(Answer::block("no"))
    }

    fn pre_compact(_cx: &Context, event: &PreCompact) -> Result<Answer, Error> {
        let count = event.messages.parse::<Vec<Message>>()?.len();
        Ok(Answer::pass().inject(format!("{count} message{}", if count == 1 { "" } else { "s" })))
    }
}

const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests-data/cases");

#[test]
fn the_cases_of_every_sdk_pass() {
    run::<Tour>(CASES).unwrap();
    let summary = play::<Tour>(Path::new(CASES)).unwrap();
    let numbers = (summary.passed, summary.failed, summary.skipped.len());
    assert_eq!(numbers, (21, 0, 4), "{}", summary.text());
    assert!(summary.skipped[0].ends_with("a clock needs the sandbox: `clock` needs `hookbox test`"));
}

/// Plays the text of a case file, and returns what the user sees.
fn shown(text: &str) -> String {
    let mut summary = Summary::default();
    match case::parse(text) {
        Err(error) => return error.to_string(),
        Ok(cases) => {
            for case in cases {
                play_case::<Tour>(Path::new("tour.toml"), &case, &mut summary).unwrap();
            }
        }
    }
    summary.text()
}

#[test]
fn a_difference_is_shown_as_hookbox_shows_it() {
    for (case, lines) in [
        (
            "command = 'remove x'\nexpect = { reason = 'y' }",
            "  verdict\n    - pass\n    + block\n  reason\n    - y\n    + Do not remove files.",
        ),
        (
            "command = 'list'\nexpect = { input = { command = 'list' } }",
            "  input\n      {\n    -   \"command\": \"list\"\n    +   \"command\": \"list --all\"\n      }",
        ),
        ("command = 'fail'\nexpect = { verdict = 'block' }", "  failure\n    + exit: asked to fail"),
        ("command = 'publish'\nexpect = { verdict = 'ask', failure = 'exit' }", "  failure\n    - exit"),
        (
            "command = 'count'\ngrants = ['store']\nexpect = { store = { calls = '2', more = '' } }",
            "  store.calls\n    - 2\n    + 1\n  store.more\n    - ",
        ),
        ("command = 'x'\nexpect = { log = \"\\u001b[2J\" }", "  log\n    - \\u{1b}[2J\n    + "),
        ("event = 'session_start'\nexpect = {}", "  hook\n    + the hook is for before_tool_call,"),
        ("command = 'ls'\ngrants = ['store']\nexpect = { callback = 'x' }", "  callback\n    - x"),
        (
            "command = 'publish'",
            "  expect\n    + {\n    +   \"verdict\": \"ask\",\n    +   \"reason\": \"Are you sure?\"\n    + }",
        ),
    ] {
        let shown = shown(&format!("[[case]]\nname = 'x'\n{case}"));
        assert!(shown.starts_with(&format!("\ntour.toml, line 1: x\n{lines}")), "{case}\n{shown}");
        assert!(shown.ends_with("0 passed, 1 failed"), "{shown}");
    }
}

#[test]
fn a_wrong_case_file_is_an_error_with_its_line() {
    for (text, error) in [
        ("[[case]]\nname = 'x'\ncomand = 'ls'", "line 3: unknown field `comand`"),
        ("[[case]]\nname = 'x'\ncommand = 'ls'\nexpect = { raeson = '' }", "line 4: unknown field `raeson`"),
        ("[[case]]\nname = 'x'", "line 1: a case needs an event"),
        ("\n[[case]]\nname = 'x'\ncommand = ''\ndata = {}", "line 2: a case has a command or data"),
        ("[[case]]\nname = 'x'\ncommand = ''\ntimes = 0", "line 1: times is a number from 1 to 100"),
        ("[[case]]\nname = 'x'\ncommand = ''\n[[case]]\nname = 'x'\ncommand = ''", "line 4: a second case"),
        ("[[case", "line 1: "),
    ] {
        let shown = shown(text);
        assert!(shown.starts_with(error), "{text}\n{shown}");
    }
}

#[test]
fn a_run_without_cases_proves_nothing() {
    let dir = std::env::temp_dir().join(format!("hookbox-sdk-cases-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let error = |text: Option<&str>| {
        if let Some(text) = text {
            std::fs::write(dir.join("a.toml"), text).unwrap();
        }
        run::<Tour>(&dir).unwrap_err().to_string()
    };
    assert!(error(None).starts_with("no case ran"));
    assert!(error(Some("")).ends_with("a.toml: has no cases"));
    assert!(error(Some("[[case]]\nname = 'x'\ncommand = ''\nhttp = []")).starts_with("no case ran"));
    assert!(
        error(Some("[[case]]\nname = 'x'\ncommand = 'publish'\nexpect = {}")).starts_with("a case failed")
    );
    std::fs::remove_dir_all(&dir).unwrap();
    assert!(run::<Tour>(&dir).is_err());
}

/// Guards as the page of the package on its registry does.
struct NoForcePush;

impl Hook for NoForcePush {
    fn manifest() -> Manifest {
        Manifest::new("no-force-push", "0.1.0", "Blocks a forced push.").on(Event::BeforeToolCall)
    }

    fn before_tool_call(_cx: &Context, call: &ToolCall) -> Result<Answer, Error> {
        let forces = call.command.as_deref().is_some_and(|line| line.contains("--force"));
        Ok(if forces { Answer::block("Push without force.") } else { Answer::pass() })
    }
}

#[test]
fn the_cases_of_the_readme_pass() {
    let readme = include_str!("../../README.md");
    let (_, rest) = readme.split_once("```toml\n").unwrap();
    let (cases, _) = rest.split_once("```").unwrap();
    let mut summary = Summary::default();
    for case in case::parse(cases).unwrap() {
        play_case::<NoForcePush>(Path::new("README.md"), &case, &mut summary).unwrap();
    }
    assert_eq!((summary.passed, summary.failed), (2, 0), "{}", summary.text());
}
