//! The flow `rotation`: a session uses up its budget, hands over, and a fresh one continues with the anchors
//! intact.

use std::cell::RefCell;
use std::fs;
use std::process::ExitCode;
use std::rc::Rc;

use anyhow::{Context as _, Result, bail};
use hookbox::escape;
use hookbox::manager::Manager;
use hookbox::trust::{self, Record};
use hookbox::{EventName, Report, Status};
use hookbox_agent::{Agent, Checkout, Conversation, Conversations, Scripted, Step, Tools};
use serde_json::Value;

use super::directories::Directories;
use super::narration::{Narration, line, verdict};

/// The sample components that it installs.
pub(super) const COMPONENTS: [&str; 6] =
    ["guardrail", "error-kb", "loop-detector", "session-memory", "budget-rotate", "telemetry"];

/// The answers of the model, in both sessions.
const SCRIPT: &str = include_str!("rotation.json");

/// The model's context window, in tokens. The script speaks of shares of it.
const WINDOW: u64 = 100_000;

/// The anchors: a name, and the words for it in the fresh conversation.
const ANCHORS: [(&str, &str); 4] = [
    ("issue 145", "#145"),
    ("branch feat/145-hooks-framework", "feat/145-hooks-framework"),
    ("blocker", "no key for the registry"),
    ("next step", "write the tests of the rotation"),
];

/// One step of the flow: at this event these hooks fare so.
struct Stage {
    event: EventName,
    hooks: &'static [&'static str],
    status: Status,
    what: &'static str,
}

/// The flow of the second session, in order.
fn stages() -> Vec<Stage> {
    use EventName::{
        AfterToolCall, BeforeToolCall, OnBudgetExceeded, PostCompact, PreCompact, SessionEnd, SessionStart,
    };
    let stage = |event, hooks, status, what| Stage { event, hooks, status, what };
    vec![
        stage(SessionStart, &["session-memory"], Status::Changed, "tells what the last session left"),
        stage(BeforeToolCall, &["guardrail"], Status::Blocked, "refuses what the policy forbids"),
        stage(BeforeToolCall, &["error-kb"], Status::Changed, "warns of a known failure, with its fix"),
        stage(AfterToolCall, &["error-kb", "loop-detector"], Status::Passed, "record what the tool did"),
        stage(AfterToolCall, &["loop-detector"], Status::Blocked, "sees a command that keeps failing"),
        stage(OnBudgetExceeded, &["budget-rotate"], Status::Changed, "warns at 70 %"),
        stage(OnBudgetExceeded, &["budget-rotate"], Status::Changed, "calls for a rotation at 80 %"),
        stage(BeforeToolCall, &["budget-rotate"], Status::Blocked, "refuses further large work"),
        stage(PreCompact, &["session-memory", "budget-rotate"], Status::Passed, "keep the whole state"),
        stage(PostCompact, &["session-memory"], Status::Changed, "says again what the summary lost"),
        stage(
            SessionEnd,
            &["session-memory", "budget-rotate", "telemetry"],
            Status::Passed,
            "keep what is to stay",
        ),
        stage(SessionStart, &["session-memory"], Status::Changed, "gives it to the fresh session"),
    ]
}

/// Runs the flow; fails if a step is missing or an anchor is lost.
pub(super) async fn run(directories: &Directories) -> Result<ExitCode> {
    install(directories)?;
    let manager = trusting(directories).await?;
    let narration = Narration::shared();
    narration.borrow().begin(&manager, &directories.work);
    let script: Value = serde_json::from_str(SCRIPT)?;
    let replies = |session: &str| script.get(session).and_then(Value::as_array).cloned().unwrap_or_default();

    line("The first session:");
    let mut first = agent(directories, &manager, replies("first"), Narration::watch(&narration))?;
    first.run("Package the project.").await?;

    line("\nThe second session:");
    fs::write(directories.work.join("dist/old.tgz"), "old")?;
    let reports = Rc::new(RefCell::new(Vec::new()));
    let (seen, mut tell) = (Rc::clone(&reports), Narration::watch(&narration));
    let watch = move |step: Step<'_>| {
        if let Step::Event(report) = &step {
            seen.borrow_mut().push(Report::clone(report));
        }
        tell(step);
    };
    let model = Scripted::new(replies("second"), WINDOW).summaries(replies("summaries"));
    let mut second = Agent::new(model, Tools::new(&directories.work)?, manager, watch)
        .checkout(Checkout::of(&directories.work))
        .save_in(Conversations::open(&directories.data.join("conversations"), Some(&directories.work))?);
    second.run("Go on with the release.").await?;
    narration.borrow().end();

    let done = [followed(&reports.borrow()), intact(second.conversation())];
    Ok(if done == [true, true] { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn agent(
    directories: &Directories,
    manager: &Manager,
    replies: Vec<Value>,
    watch: impl FnMut(Step<'_>) + 'static,
) -> Result<Agent<Scripted>> {
    let agent =
        Agent::new(Scripted::new(replies, WINDOW), Tools::new(&directories.work)?, manager.clone(), watch);
    Ok(agent.checkout(Checkout::of(&directories.work)))
}

/// A project on a branch, whose packaging fails as long as an old archive lies there.
fn install(directories: &Directories) -> Result<()> {
    fs::write(directories.home.join(".hookbox/hookbox.toml"), include_str!("rotation.toml"))?;
    for directory in [".git", "dist"] {
        fs::create_dir_all(directories.work.join(directory))?;
    }
    for (file, text) in [
        (".git/HEAD", "ref: refs/heads/feat/145-hooks-framework\n"),
        (".git/config", "[remote \"origin\"]\n\turl = https://example.com/basecoat/hooks.git\n"),
        ("dist/old.tgz", "old"),
        (
            "package.sh",
            "test ! -e dist/old.tgz || { echo 'dist/ contains an old archive' >&2; exit 1; }\necho packaged\n",
        ),
        ("build.log", &"step ok: compiled one more file of the project\n".repeat(2_000)),
    ] {
        fs::write(directories.work.join(file), text)?;
    }
    Ok(())
}

/// Trusts the hooks and grants each the rights that it asks for. The records are like those of `hookbox
/// trust`, in the demo's own directories.
async fn trusting(directories: &Directories) -> Result<Manager> {
    let builder = || {
        Manager::builder()
            .cwd(&directories.work)
            .home(&directories.home)
            .cache(Some(directories.cache.clone()))
            .data(Some(directories.data.clone()))
    };
    let found = builder().build().await;
    let file = found.trust_file().context("expected a private data directory")?;
    for hook in found.entries().iter().filter(|it| it.found.is_in_file()) {
        let asked = hook.asked();
        let (Some((scope, path)), Some(digest)) = (hook.found.key.clone(), hook.trust_digest()?) else {
            bail!(
                "{}: not a component that can be used\nhint: build the samples again with `cargo hooks`",
                escape(&hook.name, 100)
            );
        };
        let (name, grants) = (hook.name.clone(), asked.clone());
        let record = Record {
            scope,
            name,
            path,
            kind: hook.kind,
            digest,
            trusted: true,
            grants,
            asked,
            on_failure: hook.on_failure,
            replaces: Vec::new(),
            when: trust::now(),
        };
        file.update(|records| records.insert(record))?;
    }
    Ok(builder().build().await)
}

/// Says which steps of the flow were taken, each after the one before it; whether all were.
fn followed(reports: &[Report]) -> bool {
    line("\nThe flow of the specification, section 8:");
    let (mut from, mut all) = (0, true);
    for stage in stages() {
        let fared = |report: &Report, hook: &str| {
            let hook = report.hook(&format!("{hook}.wasm"));
            // A hook that only observes has passed as well.
            let status = |status| if status == Status::Observed { Status::Passed } else { status };
            hook.is_some_and(|hook| status(hook.status) == stage.status && hook.cause.is_none())
        };
        let is_taken = |report: &Report| {
            report.event == stage.event && stage.hooks.iter().all(|hook| fared(report, hook))
        };
        let found = reports.iter().skip(from).position(is_taken);
        let name = stage.event.base_coat().unwrap_or(stage.event.as_str());
        verdict(found.is_some(), &format!("{name:<16} {} {}", stage.hooks.join(", "), stage.what), "missing");
        match found {
            Some(after) => from += after + 1,
            None => all = false,
        }
    }
    all
}

/// Says which anchors the fresh conversation begins with; whether it has all.
fn intact(fresh: &Conversation) -> bool {
    line("\nThe anchors in the fresh session, before its model has said a word:");
    let text =
        |message: &Value, key: &str| message.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let given = fresh.messages.iter().take_while(|message| text(message, "role") != "assistant");
    let given: Vec<String> = given.map(|message| text(message, "content")).collect();
    let mut all = true;
    for (name, words) in ANCHORS {
        let is_there = given.iter().any(|text| text.contains(words));
        verdict(is_there, &format!("{name}: {}", if is_there { "intact" } else { "lost" }), "lost");
        all &= is_there;
    }
    all
}
