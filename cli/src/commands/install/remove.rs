//! `hookbox remove --all`: everything that hookbox has written for this user.

use std::fs;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use hookbox::shown_path;
use hookbox_agents::Agent;
use hookbox_agents::bridge::install::{Change, InstallFailure};
use hookbox_journal::journal;
use hookbox_system::files::private_dir;
use serde_json::{Value, json};

use super::which::{Row, Which, of_users, row_of, tell};
use crate::commands::guard;
use crate::error::{EXIT_FAILED, hint, note, say, warn};
use crate::{approval, options, output};

/// Remove hookbox from this account.
///
/// Takes hookbox out of every agent, and removes the guards with their settings, the journal, trust, grants, state, compiled code
/// and the copies of the program. Hooks and settings of your own stay.
#[derive(Args, Debug)]
#[command(mut_arg("root", |arg| arg.hide(true)))]
pub(crate) struct Remove {
    /// Remove everything; nothing less can be named here.
    #[arg(long, required = true)]
    all: bool,
    /// Keep the journal.
    #[arg(long)]
    keep_journal: bool,
    /// Do not ask.
    #[arg(short, long)]
    yes: bool,
    /// Print JSON: an object with the agents, the guards, and the directories.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    locate: options::Locate,
}

/// The parts of the data directory that an entry of an agent needs.
const NEEDED: [&str; 2] = ["bin", "install"];

impl Remove {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let Self { all: _, keep_journal, yes, json, locate } = self;
        let which = Which::of_user(Vec::new(), false, json, locate);
        let (installer, _) = which.open()?;
        which.permit(&Agent::ALL, &installer)?;
        let data = which.locate.data_path()?;
        let cache = private_dir::default_cache(which.locate.home()?.as_deref());
        say(format_args!(
            "hookbox is taken out of every agent, and these are removed: the guards with their settings,"
        ));
        say(format_args!("  {}{}", shown_path(&data), if keep_journal { ", but the journal" } else { "" }));
        cache.iter().for_each(|cache| say(format_args!("  {}", shown_path(cache))));
        approval::confirm("Remove hookbox from this account?", yes)?;

        let all = of_users().map(|(agent, level)| (agent, level, installer.uninstall(agent, level)));
        let rows: Vec<Row> = all.filter(is_news).collect();
        let mut has_failed = rows.iter().any(|it| it.2.is_err());
        let kept = guard::remove_all(&which.locate)?;
        // Entries in other projects run the copy, and their originals are there.
        let others = installer.files();
        let is_needed = has_failed || !others.is_empty();
        let mut gone = Vec::new();
        let stays =
            |name: &str| is_needed && NEEDED.contains(&name) || keep_journal && name == journal::DIRECTORY;
        for directory in [Some(data), cache].into_iter().flatten() {
            match clear(&directory, stays) {
                Ok(true) => gone.push(directory),
                Ok(false) => {}
                Err(error) => {
                    warn(format_args!("{}: {error}", shown_path(&directory)));
                    has_failed = true;
                }
            }
        }
        if json {
            let agents: Vec<Value> = rows.iter().map(row_of).collect();
            output::json(&json!({ "agents": agents, "guards_kept": kept, "removed": gone, "left": others }))?;
        } else {
            rows.iter().try_for_each(|row| {
                tell(row, |done| format!("took hookbox out of {}", shown_path(&done.path)))
            })?;
            gone.iter().try_for_each(|it| output::text(&format!("removed {}", shown_path(it))).map(drop))?;
        }
        for path in &others {
            warn(format_args!("{} still calls hookbox", shown_path(path)));
            hint("in its project: hookbox uninstall AGENT --local, or --project");
        }
        if let Ok(own) = std::env::current_exe() {
            note(format_args!("the program itself stays: {}", shown_path(&own)));
        }
        let is_whole = !has_failed && others.is_empty() && kept.is_empty();
        Ok(if is_whole { ExitCode::SUCCESS } else { ExitCode::from(EXIT_FAILED) })
    }
}

/// Returns true if hookbox was in the file, or if the file cannot be changed.
fn is_news((_, _, done): &Row) -> bool {
    match done {
        Ok(done) => done.change != Change::Unchanged,
        Err(failure) => matches!(failure, InstallFailure::File(_)),
    }
}

/// Removes the contents of a directory, but for the names that stay, and the directory if nothing is left. Returns false if it
/// was not there, or is still there.
fn clear(directory: &Path, stays: impl Fn(&str) -> bool) -> io::Result<bool> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        entries => entries?,
    };
    let mut has_left = false;
    for entry in entries {
        let entry = entry?;
        if entry.file_name().to_str().is_some_and(&stays) {
            has_left = true;
        } else if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    if !has_left {
        fs::remove_dir(directory)?;
    }
    Ok(!has_left)
}
