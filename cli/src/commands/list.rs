//! `hookbox list`.

use std::io::IsTerminal as _;
use std::path::Path;
use std::process::ExitCode;

use crate::interrupt::unless_interrupted;
use clap::Args;
use hookbox::manager::{Entry, EntryStatus};
use hookbox::trust::{self, AllowanceFile, now_ms};
use hookbox::{EventName, Kind, Mode, escape};

use crate::account::tightened;
use crate::error::{hint, note, warn, warn_of_problems};
use crate::{options, output};

/// List all hooks in run order, including inactive ones.
#[derive(Args, Debug)]
#[command(mut_arg("no_hooks", |arg| arg.hide(true)), mut_arg("command", |arg| arg.hide(true)))]
pub(crate) struct List {
    /// Show all columns and events, also if the terminal is too narrow.
    #[arg(long, conflicts_with = "json")]
    wide: bool,
    /// Print JSON: an array of objects, one per hook.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    discover: options::Discover,
}

impl List {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        self.discover.enter()?;
        let manager = unless_interrupted(self.discover.manager()).await??;
        let entries = manager.entries();
        warn_of_problems(&manager);
        if let Some(why) = manager.switched_off() {
            warn(why);
        }
        if let Some(open @ 1..) = manager.trust_file().map(|file| open_allowances(file.directory())) {
            let calls = if open == 1 { "1 call is" } else { &format!("{open} calls are") };
            note(format_args!("{calls} allowed although a guard blocks: see `hookbox allow --list`"));
        }
        if self.json {
            return output::json(&entries);
        }
        if manager.switched_off().is_none() && entries.iter().all(|entry| entry.kind == Kind::Builtin) {
            hint("no hooks found; put one into .hookbox/hooks/ here or in your home directory");
        }
        if entries.is_empty() {
            return Ok(ExitCode::SUCCESS);
        }
        let is_short = !self.wide && std::io::stdout().is_terminal();
        let rows = entries.iter().map(|entry| {
            vec![
                escape(&entry.name, 200),
                entry.kind.as_str().to_owned(),
                status(entry).to_owned(),
                entry.on_failure.as_str().to_owned(),
                entry.priority.to_string(),
                entry.tier.as_str().to_owned(),
                if entry.trusted { "yes" } else { "no" }.to_owned(),
                events(&entry.events, is_short),
            ]
        });
        let header = ["NAME", "KIND", "STATUS", "ON FAILURE", "PRIORITY", "TIER", "TRUSTED", "EVENTS"];
        let spare = ["KIND", "PRIORITY", "TRUSTED", "TIER", "EVENTS"];
        output::line(&match self.wide {
            true => output::wide(&header, rows),
            false => output::fitting(&header, &spare, rows),
        })?;
        let flags = self.discover.discovery()?.flags();
        for entry in entries.iter().filter(|entry| !entry.lacks.is_empty()) {
            let lacks: Vec<String> = entry.lacks.iter().map(|it| escape(&it.to_string(), 200)).collect();
            // From another directory, only the path leads to it.
            let is_unique = self.discover.find.locate.cwd.is_none()
                && entries.iter().filter(|it| it.name == entry.name).count() == 1;
            let command = trust::command(&flags, &entry.name, entry.path.as_deref(), is_unique);
            let name = escape(&entry.name, 200);
            hint(format_args!("{name} has no {}: `{command}` grants it", lacks.join(", ")));
        }
        for entry in entries.iter() {
            for it in &entry.tightened {
                note(format_args!("{} has {}", escape(&entry.name, 200), tightened(it)));
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Returns the number of allowances that have not ended. A broken file is a problem of the manager's.
fn open_allowances(data: &Path) -> usize {
    let held = AllowanceFile::new(data).read().unwrap_or_default();
    held.granted.iter().filter(|it| it.counts(now_ms())).count()
}

/// Returns the status of a hook for a person.
fn status(entry: &Entry) -> &'static str {
    match entry.status {
        EntryStatus::Active if entry.mode == Mode::Observe => "shadow mode",
        EntryStatus::Active if !entry.lacks.is_empty() => "lacks grants",
        status => status.as_str(),
    }
}

/// Returns the names of events; of several on a terminal, the first one and the number of the others.
fn events(events: &[EventName], is_short: bool) -> String {
    match events {
        [] => "-".to_owned(),
        [first, _, ..] if is_short => format!("{first} +{}", events.len() - 1),
        events => events.iter().map(EventName::as_str).collect::<Vec<_>>().join(" "),
    }
}
