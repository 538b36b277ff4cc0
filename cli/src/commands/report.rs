//! `hookbox report`.

use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::Context as _;
use clap::{Args, ValueHint};
use hookbox::shown_path;
use hookbox_journal::backtest::Source;
use hookbox_journal::journal::{DIRECTORY, Entry, Filter, Reader};
use hookbox_journal::report::{self, Counts, Options};
use hookbox_system::files::private_dir;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::backtest::Backtest;
use crate::error::{InputError, hint, warn};
use crate::{input, options, output};

/// The file of a report, if the user names none.
const NAME: &str = "hookbox-report.html";

/// Show in a browser what hooks decided: writes one HTML file.
///
/// It shows the events of the journal, or of other machines with --records. The file needs no network, and only you can
/// read it.
#[derive(Args, Debug)]
pub(crate) struct Report {
    /// Open it in your browser.
    #[arg(long)]
    open: bool,
    /// Write it to this file [default: reports/hookbox-report.html of the data directory].
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    out: Option<PathBuf>,
    /// Only events since then: 30d, 12h, or a date such as 2026-01-31.
    #[arg(long, value_name = "TIME", value_parser = options::since)]
    since: Option<Timestamp>,
    /// Show these records instead of your journal: files with records, or directories with files `*.jsonl`.
    #[arg(long, value_name = "FILE|DIR", num_args = 1.., value_hint = ValueHint::AnyPath)]
    records: Vec<PathBuf>,
    /// Also try hooks on past sessions, as `hookbox backtest` does [default: the sessions of all agents].
    #[arg(long, value_name = "SOURCE", num_args = 0.., value_hint = ValueHint::AnyPath)]
    backtest: Option<Vec<String>>,
    /// Also show the result of an earlier backtest: the JSON of `hookbox backtest --json`, or of one on many machines.
    #[arg(long, value_name = "FILE", conflicts_with = "backtest", value_hint = ValueHint::FilePath)]
    results: Option<PathBuf>,
    /// Try this hook instead of yours; repeatable.
    #[arg(long, value_name = "FILE|DIR", requires = "backtest", value_hint = ValueHint::AnyPath)]
    hook: Vec<PathBuf>,
    /// Print JSON: an object.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    discover: options::Discover,
}

impl Report {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        let Self { open, out, since, records, backtest, results, hook, json, discover } = self;
        let out = out.map(std::path::absolute).transpose()?;
        let records = named(records)?;
        let data = discover.find.locate.data()?;
        let tried = match (backtest, results) {
            (Some(sources), _) => Some(Backtest::for_report(sources, hook, since, discover).json().await?),
            (None, Some(file)) => Some(results_of(&file)?),
            (None, None) => None,
        };
        let path = match out {
            Some(path) => path,
            None => private_dir::open(&data.join("reports"), None)?.join(NAME),
        };
        let is_alone = tried.is_none();
        let entries: Box<dyn Iterator<Item = io::Result<Entry>>> = match records {
            Some(files) => Box::new(files.into_iter().flat_map(entries_of)),
            None => {
                Box::new(Reader::open(&data.join(DIRECTORY), since).context("the journal cannot be read")?)
            }
        };
        let counts = write(&path, entries, since, tried)?;
        if counts.events == 0 && is_alone {
            hint(
                "no events were recorded in this time; [journal] with enabled = true in your hookbox.toml records them",
            );
        }
        if open {
            show(&path);
        }
        let path = path.to_string_lossy();
        if json {
            output::json(&output::joined(json!({ "path": path }), json!(counts)))
        } else {
            output::line(&path)
        }
    }
}

/// Returns the files of these paths; `None` if there are no paths.
fn named(paths: Vec<PathBuf>) -> anyhow::Result<Option<Vec<PathBuf>>> {
    let mut files = Vec::new();
    for path in &paths {
        let path = std::path::absolute(path)?;
        let found = Source::Path(path.clone()).files(Path::new(""), |_| None).map_err(|error| {
            InputError::new(error.to_string(), "name a file with records, or a directory with files *.jsonl")
        })?;
        if found.is_empty() {
            let shown = shown_path(&path);
            return Err(
                InputError::new(format!("{shown}: has no files *.jsonl"), "name another directory").into()
            );
        }
        files.extend(found.into_iter().map(|it| it.path));
    }
    Ok((!paths.is_empty()).then_some(files))
}

/// Reads the result of a backtest.
fn results_of(file: &Path) -> Result<Value, InputError> {
    let result = serde_json::from_slice(&input::text(file)?).unwrap_or(Value::Null);
    if ["verdicts", "hooks"].iter().all(|key| result.get(key).is_some_and(Value::is_object)) {
        return Ok(result);
    }
    let shown = shown_path(file);
    let hint = "name a file that `hookbox backtest --json` has written";
    Err(InputError::new(format!("{shown}: expected the result of a backtest"), hint))
}

/// Returns the records of a file, or the reason why it cannot be read.
fn entries_of(path: PathBuf) -> Box<dyn Iterator<Item = io::Result<Entry>>> {
    match Reader::of_file(&path) {
        Ok(reader) => Box::new(reader),
        Err(error) => {
            let shown = shown_path(&path);
            Box::new(std::iter::once(Err(io::Error::new(error.kind(), format!("{shown}: {error}")))))
        }
    }
}

/// Writes the report. Until it is whole, an older file of this name stays.
fn write(
    path: &Path,
    entries: impl Iterator<Item = io::Result<Entry>>,
    since: Option<Timestamp>,
    tried: Option<Value>,
) -> anyhow::Result<Counts> {
    let options = Options { version: env!("CARGO_PKG_VERSION").to_owned(), made: Timestamp::now(), since };
    let filter = Filter { since, ..Filter::default() };
    output::file(path, 0o600, |file| {
        let mut failed = None;
        let records = entries.map_while(|entry| {
            // A line that is not whole counts as unread.
            entry.map(|it| it.record().unwrap_or_default()).map_err(|error| failed = Some(error)).ok()
        });
        let records = records.filter(|record| record.is_null() || filter.wants(record));
        let written = report::write(&mut BufWriter::new(file), records, tried, &options);
        match failed {
            Some(error) => Err(error).context("the records cannot be read"),
            None => written.with_context(|| format!("{}: cannot be written", shown_path(path))),
        }
    })
}

/// Opens the file in the user's browser. It does not wait for it: some systems end their program with the browser.
fn show(path: &Path) {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut command = Command::new(program);
    command.arg(path).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if let Err(error) = command.spawn() {
        warn(format_args!("the report was not opened: {program}: {error}"));
        hint("open the file in a browser");
    }
}
