//! `hookbox cache`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use clap::{Args, Subcommand, ValueHint};
use hookbox::discovery::{self, FoundComponent};
use hookbox::manager::{EntryStatus, Progress};
use hookbox::{CachedCode, Digest, Kind, Runtime, escape, shown_path};
use hookbox_system::files::private_dir;
use indicatif::HumanBytes;
use jiff::{Timestamp, Unit};
use serde_json::{Value, json};

use crate::error::{EXIT_FAILED, InputError, hint, warn, warn_of_problems};
use crate::interrupt::unless_interrupted;
use crate::progress::looking;
use crate::{compiler, input, options, output};

/// Show the compiled components, compile new ones, or remove them.
///
/// A component is compiled once, and its code is kept until it was not used for 30 days.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Cache {
    #[command(subcommand)]
    change: Option<Change>,
    /// Print JSON: an object.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    locate: options::Locate,
}

#[derive(Debug, Subcommand)]
enum Change {
    /// Compile the components that are found here, or these files, so that no event waits for it.
    Warm {
        /// Components (.wasm) to compile instead.
        #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
        files: Vec<PathBuf>,
        /// Print JSON: an object.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        discover: options::Discover,
    },
    /// Remove all compiled components, and what is remembered of hooks.
    Clear {
        /// Print JSON: an object.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        locate: options::Locate,
    },
}

impl Cache {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        match self.change {
            None => show(&self.locate, self.json),
            Some(Change::Warm { files, json, discover }) => warm(&files, &discover, json).await,
            Some(Change::Clear { json, locate }) => clear(&locate, json),
        }
    }
}

/// The user's cache.
struct Place {
    private: PathBuf,
    runtime: Runtime,
}

impl Place {
    /// Opens the cache for this directory, and makes nothing.
    fn open(options: &discovery::Options) -> Result<Self, InputError> {
        let Some(private) = private_dir::default_cache(options.home.as_deref()) else {
            let what = "expected a home directory, found none";
            return Err(InputError::refused(what, "set HOME to a directory of your own"));
        };
        if private.symlink_metadata().is_ok() {
            let repository = discovery::repository(options);
            private_dir::open(&private, repository.as_deref()).map_err(|error| {
                let hint = "make it a directory of your own with mode 0700, outside the repository";
                InputError::refused(error.to_string(), hint)
            })?;
        }
        let runtime = compiler::runtime(Some(&private));
        Ok(Self { private, runtime })
    }

    fn code(&self) -> anyhow::Result<Vec<CachedCode>> {
        self.runtime.cached_code().map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &std::io::Error) -> anyhow::Error {
        let what = format!("{}: {error}", self.private.display());
        InputError::refused(what, "check that the directory and its files are yours").into()
    }
}

fn show(locate: &options::Locate, as_json: bool) -> anyhow::Result<ExitCode> {
    locate.enter()?;
    let options = locate.discovery()?;
    let place = Place::open(&options)?;
    let code = place.code()?;
    let bytes: u64 = code.iter().map(|it| it.bytes).sum();
    let names = Names::read(&options, &place.private);
    let directory = place.private.join("code").to_string_lossy().into_owned();
    if as_json {
        let rows: Vec<Value> = code.iter().map(|it| names.json(it)).collect();
        return output::json(&json!({ "directory": directory, "bytes": bytes, "components": rows }));
    }
    if !code.is_empty() {
        let now = SystemTime::now();
        let rows = code.iter().map(|it| {
            let version = if it.is_current { "this" } else { "other" };
            let size = HumanBytes(it.bytes).to_string();
            vec![size, ago(it.used, now), version.to_owned(), names.of(&it.digest)]
        });
        // A path may be longer than a line of the terminal, and stays in one piece.
        output::line(&output::wide(&["SIZE", "LAST USE", "VERSION", "HOOK"], rows))?;
    }
    let number = components(code.len());
    output::line(&format!("{number}, {} in {}", HumanBytes(bytes), escape(&directory, 4096)))
}

/// The components that load, and the failures, each with a name or path.
#[derive(Default)]
struct Tried {
    loaded: Vec<(String, Digest)>,
    failed: Vec<(String, String)>,
}

async fn warm(files: &[PathBuf], discover: &options::Discover, as_json: bool) -> anyhow::Result<ExitCode> {
    discover.enter()?;
    let place = Place::open(&discover.discovery()?)?;
    let before = current(place.code()?);
    let Tried { loaded, mut failed } = match files {
        [] => load_found(discover).await?,
        files => load_files(&place, files).await?,
    };
    let after = current(place.code()?);
    let is_kept = |(_, digest): &(String, Digest)| after.contains(digest);
    let (kept, lost): (Vec<_>, Vec<_>) = loaded.into_iter().partition(is_kept);
    for (name, _) in lost {
        let problem = "its compiled code cannot be kept".to_owned();
        warn(format_args!("{name}: {problem}"));
        hint(format_args!("check that {} can be written", place.private.display()));
        failed.push((name, problem));
    }
    let kept: BTreeSet<Digest> = kept.into_iter().map(|(_, digest)| digest).collect();
    let (loaded, compiled): (Vec<_>, Vec<_>) = kept.into_iter().partition(|digest| before.contains(digest));
    let removed = place.runtime.prune_cache().map_err(|error| place.failed(&error))?;
    let exit = if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(EXIT_FAILED) };
    if as_json {
        let failed: Vec<Value> =
            failed.iter().map(|(name, problem)| json!({ "name": name, "problem": problem })).collect();
        output::json(&json!({
            "compiled": compiled.len(), "loaded": loaded.len(), "failed": failed, "removed": removed.components,
        }))?;
        return Ok(exit);
    }
    let mut line = format!("compiled {}, {} compiled already", components(compiled.len()), loaded.len());
    if !failed.is_empty() {
        line.push_str(&format!(", {} failed", failed.len()));
    }
    if removed.components > 0 {
        line.push_str(&format!(
            "; removed {}, {}",
            components(removed.components),
            HumanBytes(removed.bytes)
        ));
    }
    output::line(&line)?;
    Ok(exit)
}

/// Loads the components that are found here.
async fn load_found(discover: &options::Discover) -> anyhow::Result<Tried> {
    let manager = unless_interrupted(discover.manager()).await??;
    warn_of_problems(&manager);
    if let Some(why) = manager.switched_off() {
        warn(why);
    }
    let mut tried = Tried::default();
    for entry in manager.entries().iter().filter(|it| it.kind == Kind::Component) {
        match (entry.status, entry.digest.as_ref()) {
            (EntryStatus::Active, Some(digest)) => tried.loaded.push((entry.name.clone(), digest.clone())),
            (EntryStatus::Invalid, _) => {
                tried.failed.push((entry.name.clone(), entry.problem.clone().unwrap_or_default()));
            }
            _ => {}
        }
    }
    Ok(tried)
}

/// Loads the components in these files.
async fn load_files(place: &Place, files: &[PathBuf]) -> anyhow::Result<Tried> {
    private_dir::open(&place.private, None)?;
    let mut tried = Tried::default();
    for file in files {
        let bytes = input::component(file)?;
        let name = shown_path(file);
        let progress = Progress::default();
        match unless_interrupted(looking(&progress, place.runtime.load(bytes))).await? {
            Ok(component) => tried.loaded.push((name, component.digest().clone())),
            Err(error) => {
                warn(format_args!("{name}: {}", error.message));
                tried.failed.push((name, error.message));
            }
        }
    }
    Ok(tried)
}

fn clear(locate: &options::Locate, as_json: bool) -> anyhow::Result<ExitCode> {
    locate.enter()?;
    let place = Place::open(&locate.discovery()?)?;
    discovery::forget(&place.private).map_err(|error| place.failed(&error))?;
    let removed = place.runtime.clear_cache().map_err(|error| place.failed(&error))?;
    if as_json {
        return output::json(&json!({ "removed": removed.components, "bytes": removed.bytes }));
    }
    if removed.components > 0 {
        hint("the next event compiles its components again; `hookbox cache warm` does it now");
    }
    output::line(&format!("removed {}, {}", components(removed.components), HumanBytes(removed.bytes)))
}

/// Returns the components whose code this version of hookbox can use.
fn current(code: Vec<CachedCode>) -> BTreeSet<Digest> {
    code.into_iter().filter(|it| it.is_current).map(|it| it.digest).collect()
}

/// The names of hooks by the digests of their components.
struct Names {
    here: BTreeMap<Digest, Vec<FoundComponent>>,
    /// The files that were components in other places.
    elsewhere: BTreeMap<Digest, PathBuf>,
}

impl Names {
    fn read(options: &discovery::Options, cache: &Path) -> Self {
        let mut here: BTreeMap<Digest, Vec<FoundComponent>> = BTreeMap::new();
        for found in discovery::components(options) {
            here.entry(found.digest.clone()).or_default().push(found);
        }
        Self { here, elsewhere: discovery::remembered(cache).into_iter().collect() }
    }

    /// Returns the names of the hooks here, else the path of one elsewhere, else the digest.
    fn of(&self, digest: &Digest) -> String {
        if let Some(found) = self.here.get(digest) {
            let names: Vec<String> = found.iter().map(|it| escape(&it.name, 200)).collect();
            return names.join(", ");
        }
        match self.elsewhere.get(digest) {
            Some(path) => shown_path(path),
            None => format!("sha256:{}…", digest.hex().get(..12).unwrap_or_default()),
        }
    }

    fn json(&self, code: &CachedCode) -> Value {
        let here = self.here.get(&code.digest).map(Vec::as_slice).unwrap_or_default();
        let names: Vec<&str> = here.iter().map(|it| it.name.as_str()).collect();
        let used = Timestamp::try_from(code.used).and_then(|it| it.round(Unit::Second)).ok();
        let path = here.first().map(|it| &it.path).or_else(|| self.elsewhere.get(&code.digest));
        json!({
            "digest": code.digest,
            "names": names,
            "path": path.map(|path| path.to_string_lossy()),
            "bytes": code.bytes,
            "used": used.map(|it| it.to_string()),
            "current": code.is_current,
        })
    }
}

/// Returns this number of components, for a sentence.
fn components(number: usize) -> String {
    match number {
        1 => "1 component".to_owned(),
        _ => format!("{number} components"),
    }
}

/// Returns the time since a use. It is noted once a day.
fn ago(used: SystemTime, now: SystemTime) -> String {
    let since = now.duration_since(used).unwrap_or(Duration::ZERO);
    match since.as_secs() / (24 * 60 * 60) {
        0 => "today".to_owned(),
        1 => "1 day ago".to_owned(),
        days => format!("{days} days ago"),
    }
}
