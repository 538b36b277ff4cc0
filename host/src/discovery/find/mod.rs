//! Finds candidates for hooks: reads roots, plugins, declarations and settings, and runs nothing.

pub(super) mod candidate;
pub(super) mod declared;
pub(super) mod files;
pub(super) mod options;
pub(super) mod roots;
pub(super) mod scan;
pub(super) mod settings;
pub(crate) mod source;

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

pub use self::candidate::{MANIFEST, MARKETPLACE};
pub use self::declared::{Declared, Handler, PluginFile, SourceFile, WiredCommand, document, group};
use self::files::LastRead;
use self::options::Options;
use self::roots::Repositories;
use self::scan::Scan;
use crate::hook::{Digest, Kind, MAX_COMPONENT};

/// The number of candidates of one directory, and of plugins of one root. Hundreds of hooks in a directory are a
/// mistake, or an attack: each one is asked for its events.
pub(crate) const MAX_CANDIDATES: usize = 256;

/// The number of candidates of a repository, over all its hooks directories and plugins. Each one is examined, listed
/// and reported.
pub(crate) const MAX_OF_REPOSITORY: usize = 512;

/// The candidates of all repositories and of the user.
pub(super) struct Scanned {
    pub(super) repositories: Repositories,
    /// The settings for all hooks together.
    pub(super) global: settings::GlobalSettings,
    /// The settings and declarations that could be read.
    pub(super) read: Arc<LastRead>,
    /// The outermost repository first; the nearest one last, with the user's own candidates.
    pub(super) scans: Vec<Scan>,
}

/// Finds the candidates. The options have absolute paths and [`roots::valid`].
pub(super) fn find(options: &Options, last: &Arc<LastRead>) -> Scanned {
    let repositories = roots::repositories(&options.cwd, options.home.as_deref(), &options.roots);
    let search = options.search();
    let mut nearest = scan::scan(search, repositories.nearest.as_deref(), Arc::clone(last));
    let scan_outer = |repo: &PathBuf| scan::scan_outer(search, repo, Arc::clone(last));
    let mut outer: Vec<_> = repositories.outer.iter().map(scan_outer).collect();
    source::run_sources(&options.sources, search, &repositories, &mut outer, &mut nearest);
    let global = settings::global(&nearest.roots, options, &mut nearest.files.problems);
    let mut scans: Vec<Scan> = outer.into_iter().chain([nearest]).collect();
    let mut read = LastRead::default();
    scans.iter_mut().for_each(|scan| read.take(std::mem::take(&mut scan.files.next)));
    Scanned { repositories, global, read: Arc::new(read), scans }
}

/// Returns the names of the hooks that are found, sorted, also of those that do not run. It runs and compiles
/// nothing.
pub fn names(options: &Options) -> Vec<String> {
    let found = scans(options);
    let candidates = found.iter().flat_map(|scan| &scan.candidates);
    let names: BTreeSet<String> = candidates.map(|it| it.name.clone()).collect();
    names.into_iter().collect()
}

/// A component that was found, and not examined.
#[derive(Clone, Debug)]
pub struct FoundComponent {
    /// The full name of its hook.
    pub name: String,
    /// Its file, absolute.
    pub path: PathBuf,
    /// The digest of its bytes.
    pub digest: Digest,
}

/// Returns the components that are found and can be read, also those that do not run. It runs and compiles nothing.
pub fn components(options: &Options) -> Vec<FoundComponent> {
    let found = scans(options);
    let candidates = found.iter().flat_map(|scan| &scan.candidates).filter(|it| it.kind == Kind::Component);
    let with_digest = candidates.filter_map(|it| {
        let digest = it.dir.access.digest(&it.path, MAX_COMPONENT).ok()?;
        Some(FoundComponent { name: it.name.clone(), path: it.path.clone(), digest })
    });
    with_digest.collect()
}

fn scans(options: &Options) -> Vec<Scan> {
    let mut options = options.clone();
    options.cwd = absolute(&options.cwd);
    options.home = options.home.as_deref().map(absolute);
    options.roots = roots::valid(&options.roots, &options.cwd, &mut Vec::new());
    find(&options, &Arc::default()).scans
}

/// Returns the repository of a working directory: the nearest ancestor with `.git` or a root, else the directory
/// itself. `None` in the home directory, in `/`, in a directory of another user, and without a directory.
pub fn repository(options: &Options) -> Option<PathBuf> {
    repositories(options).nearest
}

/// Returns the outermost repository around a working directory.
pub(crate) fn outermost_repository(options: &Options) -> Option<PathBuf> {
    let found = repositories(options);
    found.outer.into_iter().next().or(found.nearest)
}

fn repositories(options: &Options) -> Repositories {
    let home = options.home.as_deref().map(absolute);
    roots::repositories(&absolute(&options.cwd), home.as_deref(), &options.roots)
}

/// Returns an absolute path without `..`; symlinks stay, unless a `..` depends on them.
pub(super) fn absolute(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    if path.components().any(|part| part == Component::ParentDir) {
        return std::fs::canonicalize(&path).unwrap_or(path);
    }
    path
}
