//! The flow `guards`: a guard blocks a command, the agent takes a safer one, and the user lets the first one through once.

use std::cell::RefCell;
use std::fs;
use std::process::{Command, ExitCode};
use std::rc::Rc;

use anyhow::{Context as _, Result, ensure};
use hookbox::manager::Manager;
use hookbox::trust::{AllowanceFile, Code, Term, now_ms};
use hookbox::{EventName, Report, Status};
use hookbox_agent::{Agent, Scripted, Step, Tools};
use serde_json::json;

use super::directories::Directories;
use super::narration::{Narration, line, verdict};

/// The guard that it installs.
pub(super) const COMPONENTS: [&str; 1] = ["git"];

/// A command that loses changes, and the safer one that the guard names.
const RISKY: &str = "git reset --hard";
const SAFER: &str = "git stash push --include-untracked";

/// The commands of the model, with the status that the guard's report has.
const FLOW: [(&str, Status, &str); 5] = [
    (RISKY, Status::Blocked, "blocks it, and names a safer command"),
    (SAFER, Status::Passed, "lets the safer command pass"),
    (RISKY, Status::Blocked, "blocks the first one again, with a code for the user"),
    (RISKY, Status::Allowed, "lets it pass, because the user allowed it once"),
    (RISKY, Status::Blocked, "refuses the second use"),
];

/// The number of the commands before the user allows one.
const BEFORE: usize = 3;

/// Runs the flow; fails if a step is missing.
pub(super) async fn run(directories: &Directories) -> Result<ExitCode> {
    install(directories)?;
    // Without the permission `work-tree`, the guard cannot see that the stash has the changes.
    let manager = Manager::builder()
        .cwd(&directories.work)
        .home(&directories.home)
        .cache(Some(directories.cache.clone()))
        .data(Some(directories.data.clone()))
        .build()
        .await;
    let narration = Narration::shared();
    narration.borrow().begin(&manager, &directories.work);
    let (statuses, code) = (Rc::new(RefCell::new(Vec::new())), Rc::new(RefCell::new(None)));
    let mut tell = Narration::watch(&narration);
    let watch = {
        let (statuses, code) = (Rc::clone(&statuses), Rc::clone(&code));
        move |step: Step<'_>| {
            match &step {
                Step::Event(report) => statuses.borrow_mut().extend(of_guard(report)),
                Step::Code(given) => *code.borrow_mut() = Some((*given).to_owned()),
                _ => {}
            }
            tell(step);
        }
    };
    let (before, after) = FLOW.split_at(BEFORE);
    let calls = |flow: &[(&str, Status, &str)]| -> Vec<_> {
        let call = |(line, ..): &(&str, Status, &str)| json!({"calls": [["bash", {"command": line}]]});
        flow.iter().map(call).chain([json!({"text": "I stop here."})]).collect()
    };
    let model = Scripted::new([calls(before), calls(after)].concat(), 100_000);
    let mut agent = Agent::new(model, Tools::new(&directories.work)?, manager, watch);
    agent.begin().await;
    agent.turn("Start again from the last commit.").await?;
    let given = code.borrow().clone().context("expected a code for the user, found none")?;
    allow(directories, &given)?;
    agent.turn("I allowed it. Try again.").await?;
    agent.end().await;
    narration.borrow().end();
    Ok(if followed(&statuses.borrow()) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Allows the blocked call once, as `hookbox allow CODE` does after a question on the user's terminal.
fn allow(directories: &Directories, code: &str) -> Result<()> {
    line(&format!(
        "\nThe user runs `hookbox allow {code}` in a terminal, reads the command, and says yes.\n"
    ));
    let code: Code = code.parse()?;
    AllowanceFile::new(&directories.data).update(|all| all.grant(&code, Term::Once, now_ms()))??;
    Ok(())
}

/// Returns the status of the guard in the report of a tool call.
fn of_guard(report: &Report) -> Option<Status> {
    let is_call = report.event == EventName::BeforeToolCall;
    report.hook("git.wasm").filter(|_| is_call).map(|it| it.status)
}

/// Shows which steps of the flow were taken. Returns true if all were.
fn followed(statuses: &[Status]) -> bool {
    line("\nThe guard:");
    let mut all = statuses.len() == FLOW.len();
    for (at, (command, status, what)) in FLOW.iter().enumerate() {
        let is_taken = statuses.get(at) == Some(status);
        verdict(is_taken, &format!("{command:<34} {what}"), "missing");
        all &= is_taken;
    }
    all
}

/// A repository with a change that is in no commit.
fn install(directories: &Directories) -> Result<()> {
    let git = |args: &[&str]| -> Result<()> {
        let done = Command::new("git").args(args).current_dir(&directories.work).status();
        ensure!(done.context("cannot start git")?.success(), "git {} failed", args.join(" "));
        Ok(())
    };
    git(&["init", "-q"])?;
    git(&["config", "user.name", "Demo"])?;
    git(&["config", "user.email", "demo@example.com"])?;
    fs::write(directories.work.join("notes.md"), "One day of work.\n")?;
    git(&["add", "."])?;
    git(&["commit", "-q", "-m", "Begin"])?;
    fs::write(directories.work.join("notes.md"), "Two days of work.\n")?;
    Ok(())
}
