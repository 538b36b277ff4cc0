//! `hookbox replay`.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};

use clap::{Args, ValueHint};
use hookbox::{Component, Digest, Kind, Runtime, escape, shown_path};
use hookbox_guards::GUARDS;
use hookbox_journal::journal::{DIRECTORY, Entry, Filter, Reader};
use hookbox_journal::replay::{self, Difference, Outcome, Reason};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use crate::error::{InputError, hint, warn};
use crate::interrupt::unless_interrupted;
use crate::{compiler, input, options, output, progress};
use hookbox_system::limits;

/// Run recorded components again, with the inputs that they had.
///
/// A component of the same digest gives the same answer and uses the same fuel, on any machine. Nothing outside the record is used: not the clock, the network, the repository or a file. The exit code is 1 if a hook did something else, or a record was changed.
#[derive(Args, Debug)]
pub(crate) struct Replay {
    /// The id of a record, or a file of a journal [default: the whole journal].
    #[arg(value_name = "FILE|ID", value_hint = ValueHint::AnyPath)]
    records: Option<String>,
    /// Look for the components here instead of among your hooks: a component, or a directory of them; repeatable.
    #[arg(long, value_name = "FILE|DIR", value_hint = ValueHint::AnyPath)]
    hook: Vec<PathBuf>,
    /// Only events since then: 30d, 12h, or a date such as 2026-01-31.
    #[arg(long, value_name = "TIME", value_parser = options::since)]
    since: Option<Timestamp>,
    /// Print JSON: an object.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    discover: options::Discover,
}

impl Replay {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        let absolute = |path: &PathBuf| std::path::absolute(path);
        let named: Vec<PathBuf> = self.hook.iter().map(absolute).collect::<Result<_, _>>()?;
        let file = self.records.as_ref().map(std::path::absolute).transpose()?.filter(|it| it.exists());
        self.discover.enter()?;
        let (entries, bytes) = self.entries(file.as_deref())?;
        let wanted = self.records.as_deref().filter(|_| file.is_none());
        let mut components = self.components(&named).await?;
        let (mut found, read) = (Found::default(), AtomicU64::new(0));
        let work = async {
            for entry in entries {
                let entry = entry?;
                read.fetch_add(entry.bytes.len() as u64, Ordering::Relaxed);
                self.replay(&entry, wanted, &mut components, &mut found).await;
                // The bar and an interrupt have their turn.
                tokio::task::yield_now().await;
            }
            anyhow::Ok(())
        };
        let all = progress::measured("running records again", bytes, || read.load(Ordering::Relaxed), work);
        unless_interrupted(all).await??;
        if found.records == 0 {
            self.nothing_found(file.is_some())?;
        }
        for problem in &components.problems {
            warn(problem);
        }
        if self.json { output::json(&found) } else { output::line(&found.account()) }?;
        let is_good = found.different == 0 && found.changed == 0;
        Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// Returns the lines with records, and their size.
    fn entries(&self, file: Option<&Path>) -> anyhow::Result<(Reader, u64)> {
        let size = |path: &Path| std::fs::metadata(path).map_or(0, |about| about.len());
        if let Some(file) = file {
            let wrong =
                |error| InputError::new(format!("{}: {error}", shown_path(file)), "give a file of a journal");
            return Ok((Reader::of_file(file).map_err(wrong)?, size(file)));
        }
        let directory = self.discover.find.locate.data()?.join(DIRECTORY);
        let files = std::fs::read_dir(&directory).into_iter().flatten().flatten();
        let bytes = files.map(|file| size(&file.path())).sum();
        let since = self.since.filter(|_| self.records.is_none());
        let wrong = |error| {
            let what = format!("{}: {error}", shown_path(&directory));
            InputError::new(what, "give a directory that you may read")
        };
        Ok((Reader::open(&directory, since).map_err(wrong)?, bytes))
    }

    async fn replay(
        &self,
        entry: &Entry,
        wanted: Option<&str>,
        components: &mut Components,
        found: &mut Found,
    ) {
        let changed = entry.changed();
        let Some(record) = changed.clone().or_else(|| entry.record()) else { return };
        let id = record.get("id").and_then(Value::as_str).unwrap_or_default();
        let filter = Filter { since: self.since, ..Filter::default() };
        if !filter.wants(&record) || wanted.is_some_and(|wanted| wanted != id) {
            return;
        }
        found.records += 1;
        if changed.is_some() {
            found.changed += 1;
            found.note(id, "", "the record was changed: it does not have its hash".to_owned(), None);
            return;
        }
        let find = async |name: &str, digest: &str| components.find(name, digest).await;
        for replayed in replay::replay(&record, &entry.bytes, find).await {
            match replayed.result {
                Outcome::Same => found.same += 1,
                Outcome::Left(reason) => {
                    *found.left.entry(reason).or_default().entry(replayed.hook).or_default() += 1;
                }
                Outcome::Different(difference) => {
                    found.different += 1;
                    found.note(id, &replayed.hook, difference.to_string(), Some(difference));
                }
            }
        }
    }

    /// Fails for an id that no record has. An empty journal is not an error.
    fn nothing_found(&self, is_file: bool) -> Result<(), InputError> {
        match &self.records {
            Some(id) if !is_file => {
                let what = format!("expected a file or the id of a record, found \"{}\"", escape(id, 200));
                Err(InputError::new(what, "`hookbox log` lists the records"))
            }
            Some(file) => {
                let what = format!("{}: expected records of a journal, found none", escape(file, 4096));
                Err(InputError::new(what, "`hookbox log --json` writes records"))
            }
            None => {
                hint("no records found; set `enabled = true` in `[journal]` of ~/.hookbox/hookbox.toml");
                Ok(())
            }
        }
    }

    /// Finds the components that may run again, and loads none.
    async fn components(&self, named: &[PathBuf]) -> anyhow::Result<Components> {
        let runtime = compiler::pooled_runtime(&self.discover.discovery()?);
        let mut files = Vec::new();
        for path in named {
            files.extend(input::hook_files(path, "components (.wasm)", input::is_wasm)?);
        }
        let mut components =
            Components { runtime, known: HashMap::new(), names: Vec::new(), problems: Vec::new() };
        if named.is_empty() {
            let manager = unless_interrupted(self.discover.manager()).await??;
            for entry in manager.entries().iter().filter(|entry| entry.kind == Kind::Component) {
                let Some(path) = &entry.path else { continue };
                match input::component(path) {
                    Ok(bytes) => components.add(&entry.name, bytes),
                    Err(error) => components.problems.push(error.to_string()),
                }
            }
            GUARDS.iter().for_each(|guard| components.add(&guard.hook(), guard.component.to_vec()));
        }
        for path in files {
            let bytes = input::component(&path)?;
            if !input::is_wasm(&path) {
                let what =
                    format!("{}: expected a component (.wasm), found something else", shown_path(&path));
                return Err(InputError::new(what, "only components run again").into());
            }
            components.add(&input::hook_name(&path), bytes);
        }
        Ok(components)
    }
}

/// The components that may run again, each loaded when a record first names it.
struct Components {
    runtime: Runtime,
    known: HashMap<String, Known>,
    names: Vec<String>,
    problems: Vec<String>,
}

enum Known {
    Here(Vec<u8>),
    Loaded(Component),
    Broken,
}

impl Components {
    fn add(&mut self, name: &str, bytes: Vec<u8>) {
        self.names.push(name.to_owned());
        self.known.insert(Digest::of(&bytes).to_string(), Known::Here(bytes));
    }

    async fn find(&mut self, name: &str, digest: &str) -> Result<Component, Reason> {
        let Some(known) = self.known.get_mut(digest) else {
            let is_here = self.names.iter().any(|it| it == name);
            return Err(if is_here { Reason::Changed } else { Reason::NotHere });
        };
        if let Known::Here(bytes) = known {
            *known = match self.runtime.load(std::mem::take(bytes)).await {
                Ok(component) => Known::Loaded(component),
                Err(error) => {
                    self.problems.push(format!("{}: {}", escape(name, 200), error.message));
                    Known::Broken
                }
            };
        }
        match known {
            Known::Loaded(component) => Ok(component.clone()),
            _ => Err(Reason::NotHere),
        }
    }
}

/// The results of a replay.
#[derive(Default, Serialize)]
struct Found {
    records: u64,
    /// Records that do not have their hash.
    #[serde(rename = "changed_records")]
    changed: u64,
    same: u64,
    different: u64,
    #[serde(rename = "not_run_again")]
    left: BTreeMap<Reason, BTreeMap<String, u64>>,
    /// The first differences.
    #[serde(rename = "differences")]
    notes: Vec<Note>,
}

#[derive(Serialize)]
struct Note {
    id: String,
    hook: String,
    key: &'static str,
    recorded: Option<String>,
    now: Option<String>,
    text: String,
}

impl Found {
    fn note(&mut self, id: &str, hook: &str, text: String, difference: Option<Difference>) {
        if self.notes.len() < limits::NAMED {
            let (id, hook) = (escape(id, 40), escape(hook, 200));
            let values = difference.map(|it| (it.key, Some(it.recorded), Some(it.now)));
            let (key, recorded, now) = values.unwrap_or(("hash", None, None));
            self.notes.push(Note { id, hook, key, recorded, now, text });
        }
    }

    fn account(&self) -> String {
        let Self { records, same, different, changed, .. } = self;
        let left: u64 = self.left.values().flat_map(BTreeMap::values).sum();
        let mut lines = vec![format!(
            "Records read: {records}. Hook calls: {same} the same, {different} different, {left} not run again."
        )];
        if *changed > 0 {
            lines.push(format!("Records that were changed after they were written: {changed}."));
        }
        let rows: Vec<_> = self
            .left
            .iter()
            .flat_map(|(reason, hooks)| hooks.iter().map(move |(hook, count)| (reason, hook, count)))
            .map(|(reason, hook, count)| vec![escape(hook, 200), count.to_string(), reason.to_string()])
            .collect();
        if !rows.is_empty() {
            lines.push(String::new());
            lines.push(output::table(&["HOOK", "CALLS", "DID NOT RUN AGAIN BECAUSE"], rows));
        }
        if !self.notes.is_empty() {
            lines.push(String::new());
        }
        for Note { id, hook, text, .. } in &self.notes {
            let of = if hook.is_empty() { String::new() } else { format!(" {hook}:") };
            lines.push(format!("{id}:{of} {text}"));
        }
        let more = (different + changed).saturating_sub(self.notes.len() as u64);
        if more > 0 {
            lines.push(format!("{more} more"));
        }
        lines.join("\n")
    }
}
