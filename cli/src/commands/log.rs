//! `hookbox log`.

mod account;
#[cfg(feature = "otel")]
mod send;

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Subcommand};
use hookbox::escape;
use hookbox_journal::journal::{DIRECTORY, Entry, FaultKind, Filter, Follower, Reader, Stored, verify};
use hookbox_system::text;
use jiff::Timestamp;
use serde_json::{Value, json};

use self::account::{account, row};
use crate::error::{InputError, hint, warn};
use crate::interrupt::unless_interrupted;
use crate::{options, output, progress};

/// The columns of the table.
const COLUMNS: [&str; 6] = ["ID", "TIME (UTC)", "AGENT", "DECISION", "BY", "EVENT"];

/// The columns that a narrow terminal does not show, the first of them first.
const SPARE: [&str; 2] = ["AGENT", "BY"];

/// The time between two looks at a journal that is followed.
const PAUSE: Duration = Duration::from_millis(200);

/// Show the events that were recorded, and what was decided on them.
///
/// Events are recorded if your hookbox.toml has `[journal]` with `enabled = true`. They stay on this machine, without the
/// secrets that hookbox recognizes.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Log {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    events: Events,
}

#[derive(Debug, Subcommand)]
enum Action {
    Show(Show),
    Verify(Verify),
    #[cfg(feature = "otel")]
    Send(send::Send),
}

/// The events that are listed.
#[derive(Args, Debug)]
struct Events {
    /// Only events with this text in them, in either case.
    text: Option<String>,
    /// Only events since then: 30d, 12h, or a date such as 2026-01-31.
    #[arg(long, value_name = "TIME", value_parser = options::since)]
    since: Option<Timestamp>,
    /// Only events of this agent.
    #[arg(long)]
    agent: Option<String>,
    /// Only events that this hook saw.
    #[arg(long, value_name = "NAME")]
    hook: Option<String>,
    /// Only events that a hook blocked.
    #[arg(long)]
    blocked: bool,
    /// Only events with a hook that failed.
    #[arg(long)]
    failed: bool,
    /// Show the last N events; 0 shows all [default: 50; with --json all].
    #[arg(short = 'n', long, value_name = "N")]
    last: Option<usize>,
    /// Show also each new event, until you end it.
    #[arg(short, long)]
    follow: bool,
    /// Print JSON: a record on each line.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    locate: options::Locate,
}

/// Show one event; --verbose describes every hook whole.
#[derive(Args, Debug)]
struct Show {
    /// The event's id, or the beginning of it.
    id: String,
    /// Print JSON: the record.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    locate: options::Locate,
}

/// Check that no record was changed, removed or inserted.
///
/// The exit code is 1 if one was. Records at the end that are missing can only be noticed with the hash of the last record,
/// kept elsewhere.
#[derive(Args, Debug)]
struct Verify {
    /// The hash of a record that was the last one: it must be there.
    #[arg(long, value_name = "HASH", value_parser = hash)]
    contains: Option<String>,
    /// Print JSON: an object.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    locate: options::Locate,
}

impl Log {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        match self.action {
            Some(Action::Show(show)) => show.run(),
            Some(Action::Verify(verify)) => verify.run().await,
            #[cfg(feature = "otel")]
            Some(Action::Send(send)) => send.run().await,
            None => self.events.run().await,
        }
    }
}

impl Events {
    async fn run(self) -> anyhow::Result<ExitCode> {
        let directory = directory(&self.locate)?;
        let filter = Filter {
            since: self.since,
            agent: self.agent.clone(),
            hook: self.hook.clone(),
            blocked: self.blocked,
            failed: self.failed,
            text: self.text.clone(),
        };
        // Records that are added meanwhile are new.
        let follower =
            if self.follow { Some(Follower::new(&directory).map_err(unreadable(&directory))?) } else { None };
        let most = self.last.unwrap_or(if self.json { 0 } else { 50 });
        let (mut records, mut changed) = (VecDeque::new(), 0);
        for entry in Reader::open(&directory, self.since).map_err(unreadable(&directory))? {
            let entry = match entry {
                Ok(entry) => entry,
                // The other days are readable.
                Err(error) => {
                    warn(error);
                    continue;
                }
            };
            changed += usize::from(entry.changed().is_some());
            let Some(record) = entry.record().filter(|record| filter.wants(record)) else { continue };
            let shown = self.shown(&entry, &record);
            if most == 0 && self.json {
                if !output::next_line(&shown.concat())? {
                    return Ok(ExitCode::SUCCESS);
                }
                continue;
            }
            if most > 0 && records.len() == most {
                records.pop_front();
            }
            records.push_back(shown);
        }
        if changed > 0 {
            warn(format_args!("records that somebody changed, and that are not shown: {changed}"));
            hint("hookbox log verify");
        }
        if self.json {
            for row in &records {
                output::line(&row.concat())?;
            }
        } else if records.is_empty() && follower.is_none() {
            self.explain_none(&directory);
        } else {
            output::line(&output::fitting(&COLUMNS, &SPARE, records))?;
        }
        let Some(mut follower) = follower else { return Ok(ExitCode::SUCCESS) };
        let following = async {
            loop {
                for entry in follower.poll()? {
                    let Some(record) = entry.record().filter(|record| filter.wants(record)) else { continue };
                    if !output::next_line(&self.shown(&entry, &record).join("  "))? {
                        return Ok::<_, anyhow::Error>(());
                    }
                }
                tokio::time::sleep(PAUSE).await;
            }
        };
        unless_interrupted(following).await??;
        Ok(ExitCode::SUCCESS)
    }

    /// Returns the row of a record; as JSON its line, which keeps its hash.
    fn shown(&self, entry: &Entry, record: &Value) -> Vec<String> {
        if !self.json {
            return row(&Stored::of(record));
        }
        let line = String::from_utf8_lossy(entry.bytes.trim_ascii_end());
        vec![text::escape_json(&line)]
    }

    /// Tells why there is nothing to show.
    fn explain_none(&self, directory: &Path) {
        if directory.exists() {
            hint("no recorded event fits; `hookbox log` without options shows the last ones");
        } else {
            hint(
                "no event was recorded; to record them, put this into ~/.hookbox/hookbox.toml:\n\n[journal]\nenabled = true\n",
            );
        }
    }
}

impl Show {
    fn run(self) -> anyhow::Result<ExitCode> {
        let mut found: Option<Value> = None;
        let directory = directory(&self.locate)?;
        for entry in Reader::open(&directory, None).map_err(unreadable(&directory))? {
            let Some(record) = entry.map_err(unreadable(&directory))?.record() else { continue };
            let id = record.get("id").and_then(Value::as_str);
            if !id.is_some_and(|id| id.starts_with(&self.id)) {
                continue;
            }
            if found.is_some() {
                let what = format!("{}: several events begin with it", escape(&self.id, 80));
                return Err(InputError::new(what, "give more letters of the id").into());
            }
            found = Some(record);
        }
        let Some(record) = found else {
            let what = format!("{}: no recorded event has this id", escape(&self.id, 80));
            return Err(InputError::new(what, "`hookbox log` lists the events with their ids").into());
        };
        if self.json { output::json(&record) } else { output::text(&account(&Stored::of(&record))) }
    }
}

impl Verify {
    async fn run(self) -> anyhow::Result<ExitCode> {
        let directory = directory(&self.locate)?;
        let wanted = self.contains.clone();
        let wrong = unreadable(&directory);
        let work = tokio::task::spawn_blocking(move || verify(&directory, wanted.as_deref()));
        let found =
            unless_interrupted(progress::working("reading the journal", work)).await??.map_err(wrong)?;
        let is_missing = self.contains.is_some() && !found.has_wanted;
        let is_whole = !is_missing && !found.faults.iter().any(|it| it.kind.is_tampering());
        if self.json {
            let faults = found
                .faults
                .iter()
                .map(|it| json!({ "path": it.path.to_string_lossy(), "line": it.line, "fault": it.kind }));
            output::json(&json!({
                "records": found.records,
                "whole": is_whole,
                "begins_later": found.begins_later,
                "last": found.last,
                "contains": self.contains.as_ref().map(|_| found.has_wanted),
                "faults": faults.collect::<Vec<_>>(),
            }))?;
        } else {
            for it in &found.faults {
                warn(format_args!(
                    "{}, line {}: {}",
                    text::shown_path(&it.path),
                    it.line,
                    explained(it.kind)
                ));
            }
            if is_missing {
                warn("the record with this hash is not in the journal: it was removed or changed");
            }
            let result = if is_whole {
                "None was changed, removed or inserted"
            } else {
                "They are not as they were written"
            };
            let mut lines = format!("Records read: {}. {result}.", found.records);
            if found.begins_later {
                lines.push_str(
                    "\nOlder records were removed: by the settings of the journal, or by somebody.",
                );
            }
            if let Some(last) = &found.last {
                lines.push_str(&format!("\nHash of the last record: {last}"));
            }
            output::text(&lines)?;
        }
        Ok(if is_whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

fn explained(kind: FaultKind) -> &'static str {
    match kind {
        FaultKind::Changed => "this record was changed",
        FaultKind::Broken => "a record was removed, inserted or moved before this one",
        FaultKind::Torn => "this record is not whole: its process was ended while it wrote",
    }
}

/// Returns the directory of the journal. It may be missing.
fn directory(locate: &options::Locate) -> Result<PathBuf, InputError> {
    Ok(locate.data()?.join(DIRECTORY))
}

/// Returns the error for a journal that cannot be read.
fn unreadable(directory: &Path) -> impl Fn(std::io::Error) -> InputError + use<> {
    let shown = text::shown_path(directory);
    move |error| {
        InputError::new(
            format!("{shown}: the journal cannot be read: {error}"),
            "its files must be yours alone: chmod -R go= on it",
        )
    }
}

/// Reads a hash, in either case.
fn hash(text: &str) -> Result<String, String> {
    let is_hash = text.len() == 64 && text.bytes().all(|it| it.is_ascii_hexdigit());
    if is_hash { Ok(text.to_ascii_lowercase()) } else { Err("expected 64 hexadecimal digits".to_owned()) }
}
