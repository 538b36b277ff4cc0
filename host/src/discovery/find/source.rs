//! Hooks that are configured elsewhere than in a root, such as in another agent's files.
//!
//! A [`HookSource`] finds the files and reads them through a [`Finder`]. The finder confines the reading to the
//! repository, limits it, and keeps the last contents of a file that broke. A hook of a source is a candidate like any
//! other, with trust, digests, settings and limits.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::declared::{Declared, SourceFile};
use super::files::ReadFile;
use super::roots::{HooksDir, Repositories};
use super::scan::{Candidate, Scan};
use super::{MAX_CANDIDATES, Options};
use crate::discovery::Problem;
use crate::hook::Tier;
use hookbox_system::files::{self, FileAccess};

/// The number of a source's first file in the order of a tier: its hooks come after those of every root.
const BEHIND_ROOTS: usize = 1 << 20;

/// The number of files of one directory, and of plugins, that a source takes.
pub const MAX_FILES: usize = MAX_CANDIDATES;

/// The number of hooks of one file that a source takes.
pub const MAX_HOOKS: usize = MAX_CANDIDATES;

/// A source of hooks beside the roots; see [`Builder::source`](crate::manager::Builder::source). The types that it needs are in this module.
///
/// The names of its hooks are `FILE#LABEL`, such as `.agent/hooks.json#PreToolUse[0]`. `FILE` begins with a dot in a
/// repository, with `~/` in the home directory, and with `AGENT:` elsewhere. The settings of a root use these names.
pub trait HookSource: fmt::Debug + Send + Sync {
    /// Finds the hooks of all repositories and of the user. Each search calls it once, on a thread that may block.
    fn find(&self, finder: &mut Finder<'_>);

    /// Returns true if the source would find a hook of this name: otherwise the hook is missing.
    fn covers(&self, name: &str) -> bool;

    /// Returns the directories in which a change matters, each with the one name that matters in it, or `None` for all
    /// names. `base` is the home directory or a repository.
    fn watched(&self, base: &Path, is_home: bool) -> Vec<(PathBuf, Option<String>)>;
}

/// Returns true for the name of a source's hook.
pub(crate) fn is_name(name: &str) -> bool {
    name.split_once('#').is_some_and(|(file, _)| file.starts_with(['.', '~']) || file.contains(':'))
}

/// Returns true for the name of a source's hook that is the user's.
pub(crate) fn is_users(name: &str) -> bool {
    is_name(name) && !name.starts_with('.')
}

/// A directory with all beneath it, in which a source reads files: a repository, the home directory or a plugin.
#[derive(Clone)]
pub struct Area {
    /// The scan that takes the hooks.
    scan: usize,
    access: FileAccess,
    tier: Tier,
    base: PathBuf,
}

impl Area {
    /// Returns the directory.
    pub fn base(&self) -> &Path {
        &self.base
    }

    /// Returns true if the files belong to a repository: their hooks need the user's trust.
    pub fn is_repository(&self) -> bool {
        self.tier == Tier::Repo
    }
}

/// Reads the files of a source, and takes its hooks.
pub struct Finder<'a> {
    options: &'a Options,
    /// The outer repositories, the outermost first, and the nearest one, which also takes the user's hooks.
    scans: Vec<&'a mut Scan>,
    repositories: Vec<Option<&'a Path>>,
}

impl<'a> Finder<'a> {
    fn last(&self) -> usize {
        self.scans.len().saturating_sub(1)
    }

    /// Returns the repositories, the nearest one last.
    pub fn repositories(&self) -> Vec<Area> {
        let area = |(scan, (it, base)): (usize, (&&mut Scan, &Option<&Path>))| {
            let (access, base) = (it.repository.clone()?, base.as_ref()?.to_path_buf());
            Some(Area { scan, access, tier: Tier::Repo, base })
        };
        self.scans.iter().zip(&self.repositories).enumerate().filter_map(area).collect()
    }

    /// Returns the nearest repository.
    pub fn repository(&self) -> Option<&'a Path> {
        self.repositories.last().copied().flatten()
    }

    /// Returns the home directory, if there is one.
    pub fn home(&self) -> Option<Area> {
        let base = self.options.home.clone()?;
        Some(Area { scan: self.last(), access: FileAccess::Global, tier: Tier::Global, base })
    }

    /// Returns the working directory.
    pub fn cwd(&self) -> &Path {
        &self.options.cwd
    }

    /// Returns the directory of a plugin of the user's, or adds a problem if it cannot be used.
    pub fn plugin(&mut self, directory: &Path) -> Option<Area> {
        let (scan, base) = (self.last(), directory.to_owned());
        match FileAccess::repository(directory) {
            Ok(access) => Some(Area { scan, access, tier: Tier::GlobalPlugin, base }),
            Err(error) => {
                let message = format!("{}: the plugin's hooks do not run", files::explain(&error));
                let scan = self.scans.get_mut(scan)?;
                scan.files.problems.push(Problem::new(directory, message));
                None
            }
        }
    }

    /// Adds a problem.
    pub fn problem(&mut self, area: &Area, problem: Problem) {
        if let Some(scan) = self.scans.get_mut(area.scan) {
            scan.files.problems.push(problem);
        }
    }

    /// Adds a problem that hides hooks of the user's, if the area is the home directory.
    pub fn hiding_problem(&mut self, area: &Area, problem: Problem) {
        self.problem(area, problem.hiding(&area.access));
    }

    /// Returns the names in a directory; none if there is no such directory.
    pub fn names(&mut self, area: &Area, directory: &Path) -> Vec<OsString> {
        self.scans.get_mut(area.scan).map_or(Vec::new(), |scan| scan.files.names(&area.access, directory))
    }

    /// Reads a file of at most `max` bytes; `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// The reason why it cannot be read, in words that read after its path.
    pub fn bytes(&self, area: &Area, path: &Path, max: u64) -> Option<Result<Vec<u8>, String>> {
        let bytes = area.access.read_if_exists(path, max)?;
        Some(bytes.map_err(|error| files::explain(&error)))
    }

    /// Reads a file of hooks. Of a broken file, the last text that could be read stays in force.
    pub fn file<T>(
        &mut self,
        area: &Area,
        path: &Path,
        max: u64,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> ReadFile<T> {
        match self.scans.get_mut(area.scan) {
            Some(scan) => scan.files.file(&area.access, area.is_repository(), path, max, parse),
            None => ReadFile::Unusable,
        }
    }

    /// Takes the hooks of a file.
    pub fn add(&mut self, area: &Area, file: SourceFile, hooks: Vec<Declared>) {
        let Some(scan) = self.scans.get_mut(area.scan) else { return };
        scan.source_files += 1;
        let root = BEHIND_ROOTS + scan.source_files;
        let dir = HooksDir::new(&area.access, area.tier, root, file.scripts.clone(), &area.base);
        let dir = Arc::new(HooksDir {
            plugin_dir: file.plugin.clone().unwrap_or_default(),
            plugin: file.plugin.clone(),
            ..dir
        });
        let file = Arc::new(file);
        for (at, hook) in hooks.into_iter().enumerate() {
            if scan.files.has_room(area.tier.origin()) {
                let declared = Declared { at, outside: Some(Arc::clone(&file)), ..hook };
                scan.candidates.push(Candidate::of_entry(&dir, &file.path, declared));
            }
        }
    }
}

/// Lets the sources find their hooks, and puts the candidates into the order of registration.
pub(crate) fn run_sources(
    options: &Options,
    repositories: &Repositories,
    outer: &mut [Scan],
    nearest: &mut Scan,
) {
    let paths = repositories.outer.iter().map(|path| Some(path.as_path()));
    let repositories: Vec<_> = paths.chain([repositories.nearest.as_deref()]).collect();
    let scans = outer.iter_mut().chain([nearest]).collect();
    let mut finder = Finder { options, scans, repositories };
    for source in &options.sources {
        source.find(&mut finder);
    }
    for (scan, repository) in finder.scans.into_iter().zip(finder.repositories) {
        scan.candidates.sort_by_key(|candidate| candidate.dir.tier.origin());
        if let (Some(path), Some(_)) = (repository, &scan.repository) {
            scan.files.report_limits(path);
        }
    }
}
