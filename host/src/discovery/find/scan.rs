//! Looking through roots, tiers and plugins for files that may be hooks. Nothing is run or loaded here.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::candidate::{Candidate, HooksDir, State};
use super::declared::{self, Contents, MAX_FILE, Servers, Source};
use super::last_read::{Kept, LastRead, Since};
use super::limits::{MAX_CANDIDATES, MAX_OF_REPOSITORY};
use super::settings::{self, Broken, File, Table, Tables, Top};
use super::source::ReadFile;
use crate::discovery::problem::Problem;
use crate::files::{self, EntryKind, FileAccess};
use crate::hook::{Origin, Tier};
use crate::lockfile::{self, Lock, OWN};
use crate::text;

/// How many names of a repository are looked at. A full directory costs a repository nothing where many plugins link
/// to the same one.
const MAX_LOOKS: usize = 65_536;

/// How many bytes of declarations of a repository are read, over all its files.
const MAX_DECLARED: usize = 4 << 20;

/// The directories to search.
#[derive(Clone, Copy)]
pub(crate) struct Search<'a> {
    pub(crate) cwd: &'a Path,
    pub(crate) home: Option<&'a Path>,
    pub(crate) roots: &'a [String],
    /// The embedder's own hooks directories.
    pub(crate) directories: &'a [PathBuf],
}

/// A root of a place, with its settings.
pub(crate) struct RootDir {
    pub(crate) place: FileAccess,
    pub(crate) origin: Origin,
    pub(crate) root: usize,
    pub(crate) path: PathBuf,
    /// What its settings say of all hooks together.
    pub(crate) top: Top,
    pub(crate) tables: Tables,
    /// The MCP servers of its mcp.json.
    pub(crate) servers: Servers,
}

/// Which plugins of the home directory hookbox installed: they run only as far as the user trusts them.
enum Installed {
    /// Those that the lock file names.
    These(Lock),
    /// Which they are cannot be known: the lock file cannot be read, or a change is under way.
    Any,
}

impl Installed {
    fn of(place: &FileAccess, tier: Tier, plugins: &Path, problems: &mut Vec<Problem>) -> Self {
        if tier != Tier::GlobalPlugin {
            return Self::These(Lock::default());
        }
        let pending = plugins.with_file_name(lockfile::PENDING);
        if place.entry_kind(&pending).is_ok() || place.is_symlink(&pending) {
            return Self::Any;
        }
        let file = plugins.with_file_name(lockfile::FILE);
        let why = match place.read(&file, lockfile::MAX_FILE) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && !place.is_symlink(&file) => {
                return Self::These(Lock::default());
            }
            Err(error) => files::explain(&error),
            Ok(bytes) => match Lock::from_bytes(&bytes) {
                Ok(lock) => return Self::These(lock),
                Err(error) => error.to_string(),
            },
        };
        let message = format!("{why}: the plugins beside it run only as far as you trust their hooks");
        problems.push(Problem::new(&file, message).hint(lockfile::hint(&file)));
        Self::Any
    }

    fn names(&self, directory: &str) -> bool {
        match self {
            Self::These(lock) => lock.names_directory(directory),
            Self::Any => true,
        }
    }
}

impl RootDir {
    /// The file that declares its servers.
    pub(crate) fn mcp_file(&self) -> PathBuf {
        self.path.join(Source::McpJson.file())
    }

    /// The settings file.
    pub(crate) fn settings_file(&self) -> PathBuf {
        self.path.join(settings::FILE)
    }
}

/// What a repository brought.
#[derive(Default)]
struct Brought {
    /// Names that were looked at.
    looks: usize,
    /// Candidates that were taken.
    taken: usize,
    /// Candidates beyond the limit.
    left_out: usize,
    /// Bytes of declarations that were read.
    declared: usize,
    /// Files with declarations that were not read.
    unread: usize,
}

/// What was found.
#[derive(Default)]
pub(crate) struct Scan {
    /// In the order of registration: tier, root, plugin directory name, file name.
    pub(crate) candidates: Vec<Candidate>,
    pub(crate) roots: Vec<RootDir>,
    pub(crate) problems: Vec<Problem>,
    /// What worked the last time, and what the next look needs of this one.
    pub(crate) last: Arc<LastRead>,
    pub(crate) next: LastRead,
    pub(crate) kept: Vec<Kept>,
    /// The number of files of sources: the order of their hooks.
    pub(crate) source_files: usize,
    brought: Brought,
    /// The repository, where there is one.
    pub(crate) repository: Option<FileAccess>,
}

/// Looks through the tiers in their order. The roots are [`valid_roots`].
pub(crate) fn scan(search: Search<'_>, repo: Option<&Path>, last: Arc<LastRead>) -> Scan {
    let mut scan = Scan { last, ..Scan::default() };
    let roots = search.roots;
    if let Some(repo) = repo {
        scan.of_repository(repo, roots);
    }
    let own: Vec<PathBuf> = search.directories.iter().map(|dir| search.cwd.join(dir)).collect();
    match search.home {
        Some(home) => scan.place(&FileAccess::Global, Origin::User, home, roots, &own),
        None => scan.place(&FileAccess::Global, Origin::User, search.cwd, &[], &own),
    }
    scan
}

/// Scans what a repository brought that lies around another one.
pub(crate) fn scan_outer(search: Search<'_>, repo: &Path, last: Arc<LastRead>) -> Scan {
    let mut scan = Scan { last, ..Scan::default() };
    scan.of_repository(repo, search.roots);
    scan
}

/// What stands in one plugin, as if a repository had brought it and nothing else, in a directory of this name.
pub(crate) fn scan_plugin(dir: &Path, called: &str) -> Scan {
    let mut scan = Scan::default();
    match FileAccess::repository(dir) {
        Ok(place) => scan.plugin(Arc::new(HooksDir {
            place,
            tier: Tier::RepoPlugin,
            root: 0,
            plugin_dir: called.to_owned(),
            plugin: Some(called.replacen('@', "/", 1)),
            path: dir.join("hooks"),
            needs_trust: true,
            base: dir.to_owned(),
        })),
        Err(error) => scan.problems.push(Problem::new(dir, files::explain(&error))),
    }
    scan
}

/// The roots that are directory names, each once. Anything else (`..`, `a/b`, `/etc`) would look elsewhere than
/// in the repository and the home directory.
pub(crate) fn valid_roots(roots: &[String], cwd: &Path, problems: &mut Vec<Problem>) -> Vec<String> {
    let mut valid: Vec<String> = Vec::new();
    for root in roots {
        let is_name = Path::new(root).file_name() == Some(OsStr::new(root)) && !root.contains('\0');
        if !is_name {
            let root = text::escape(root, 200);
            let message = format!("the root {root:?} is left out: expected the name of a directory");
            problems.push(Problem::new(cwd, message));
        } else if !valid.contains(root) {
            valid.push(root.clone());
        }
    }
    valid
}

impl Scan {
    /// The settings of a candidate.
    pub(crate) fn table_of(&self, candidate: &Candidate) -> Option<&Table> {
        let HooksDir { tier, root, .. } = &*candidate.dir;
        // An entry of another agent's file belongs to no root, so that the settings of each root apply to it.
        if candidate.declared.as_ref().is_some_and(|it| it.outside.is_some()) {
            let mut roots = self.roots.iter().filter(|it| it.origin == tier.origin());
            return roots.find_map(|root| root.tables.get(&candidate.name));
        }
        let root = self.roots.iter().find(|it| it.origin == tier.origin() && it.root == *root)?;
        root.tables.get(&candidate.name)
    }

    /// Looks through what one repository brought.
    fn of_repository(&mut self, repo: &Path, roots: &[String]) {
        match FileAccess::repository(repo) {
            Ok(place) => {
                self.place(&place, Origin::Repo, repo, roots, &[]);
                self.repository = Some(place);
            }
            Err(error) => {
                let hides = files::is_exhausted(&error);
                self.problems.push(Problem { hides, ..Problem::new(repo, files::explain(&error)) });
            }
        }
    }

    /// Adds a problem for each limit of a repository that was reached.
    pub(crate) fn note_what_is_left_out(&mut self, repo: &Path) {
        let Brought { looks, left_out, unread, .. } = self.brought;
        if unread > 0 {
            let message = format!(
                "declares hooks in more than {} MiB: {unread} files that declare hooks were not read",
                MAX_DECLARED >> 20
            );
            self.problems.push(Problem::new(repo, message));
        }
        if left_out > 0 {
            let message = format!(
                "brings more than {MAX_OF_REPOSITORY} hooks: only the first {MAX_OF_REPOSITORY} are used, and {left_out} \
                 are left out"
            );
            self.problems.push(Problem::new(repo, message));
        }
        if looks > MAX_LOOKS {
            let message = format!(
                "brings more than {MAX_LOOKS} files where hooks stand: the others were not looked at"
            );
            self.problems.push(Problem::new(repo, message));
        }
    }

    /// The two tiers of one place: hooks directories first, then plugins.
    fn place(&mut self, place: &FileAccess, origin: Origin, base: &Path, roots: &[String], own: &[PathBuf]) {
        let (tier, plugin_tier) = match origin {
            Origin::Repo => (Tier::Repo, Tier::RepoPlugin),
            _ => (Tier::Global, Tier::GlobalPlugin),
        };
        let mut there = Vec::new();
        for (root, name) in roots.iter().enumerate() {
            let path = base.join(name);
            if self.is_directory(place, &path) {
                let File { top, tables } = self.settings(place, &path.join(settings::FILE));
                let mcp_json = path.join(Source::McpJson.file());
                let mut mcp_json = self.declarations(place, &mcp_json, Source::McpJson).unwrap_or_default();
                let servers = std::mem::take(&mut mcp_json.servers);
                let (place, path) = (place.clone(), path.clone());
                self.roots.push(RootDir { place, origin, root, path: path.clone(), top, tables, servers });
                there.push((root, path, mcp_json));
            }
        }
        let hooks_dir = |root, path| HooksDir {
            place: place.clone(),
            tier,
            root,
            plugin_dir: String::new(),
            plugin: None,
            path,
            needs_trust: origin == Origin::Repo,
            base: base.to_owned(),
        };
        let roots_there: Vec<(usize, PathBuf)> =
            there.iter().map(|(root, path, _)| (*root, path.clone())).collect();
        for (root, path, mcp_json) in there {
            let dir = Arc::new(hooks_dir(root, path.join("hooks")));
            self.hooks(&dir);
            self.hooks_json(&dir);
            self.declared(&dir, Source::McpJson, mcp_json);
        }
        for (at, path) in own.iter().enumerate() {
            self.hooks(&Arc::new(hooks_dir(roots.len() + at, path.clone())));
        }
        for (root, path) in roots_there {
            self.plugins(place, plugin_tier, root, &path.join("plugins"));
        }
    }

    /// The settings of one root; where they are broken now, those that held before.
    fn settings(&mut self, place: &FileAccess, path: &Path) -> File {
        let last = Arc::clone(&self.last);
        let last = last.settings.get(path);
        let file = match settings::read(place, path, last.map(|it| it.since.as_str()), &mut self.problems) {
            Ok(file) => Since::new(file, last),
            Err(Broken { why, rest }) => match last {
                None => return *rest,
                Some(last) => {
                    self.kept.push(Kept::new(path, None, &last.since, why));
                    last.clone()
                }
            },
        };
        self.next.settings.insert(path.to_owned(), file.clone());
        file.value
    }

    /// Reads what a file declares; if it is broken now, what it declared before.
    fn declarations(&mut self, place: &FileAccess, path: &Path, source: Source) -> Option<Contents> {
        let is_counted = matches!(place, FileAccess::Repository(_));
        match self.file(place, is_counted, path, MAX_FILE, |text| declared::parse(text, source)) {
            ReadFile::Read(contents) => Some(contents),
            ReadFile::Missing | ReadFile::Unusable => None,
        }
    }

    /// Reads a file that declares hooks; if it is broken now, as it was before. `is_counted` is true for a file of a
    /// repository, of which only so many bytes are read.
    pub(crate) fn file<T>(
        &mut self,
        place: &FileAccess,
        is_counted: bool,
        path: &Path,
        max: u64,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> ReadFile<T> {
        let last = Arc::clone(&self.last);
        let last = last.declarations.get(path);
        if is_counted && self.brought.declared >= MAX_DECLARED {
            self.brought.unread += usize::from(matches!(place.entry_kind(path), Ok(EntryKind::File { .. })));
            return ReadFile::Unusable;
        }
        let Some(read) = declared::read(place, path, max) else { return ReadFile::Missing };
        if let (Ok(text), true) = (&read, is_counted) {
            self.brought.declared += text.len();
        }
        let (text, parsed) = match read.and_then(|text| Ok((parse(&text)?, text))) {
            Ok((parsed, text)) => (Since::new(text, last), parsed),
            Err(why) => {
                let before = last.and_then(|last| Some((last, parse(&last.value).ok()?)));
                let Some((last, parsed)) = before else {
                    let message = format!("{why}: none of its hooks run");
                    self.problems.push(Problem::new(path, message).hiding(place));
                    return ReadFile::Unusable;
                };
                let message = format!("{why}: the hooks of {} stay in force", last.since);
                self.problems.push(Problem::new(path, message));
                self.kept.push(Kept::new(path, None, &last.since, why));
                (last.clone(), parsed)
            }
        };
        self.next.declarations.insert(path.to_owned(), text);
        ReadFile::Read(parsed)
    }

    /// The plugins of one root.
    fn plugins(&mut self, place: &FileAccess, tier: Tier, root: usize, path: &Path) {
        let mut plugins = 0;
        let names = self.names(place, path);
        // After the names: a plugin that stands there is in the lock file by the time its journal is gone.
        let installed = Installed::of(place, tier, path, &mut self.problems);
        for name in names {
            // A plugin that is being installed.
            if name.as_encoded_bytes().starts_with(OWN.as_bytes()) {
                continue;
            }
            let dir = path.join(&name);
            let unusable = if place.is_symlink(&dir) {
                let message = "is a symlink and is ignored: a plugin is a directory of its own";
                Some(Problem::new(&dir, message))
            } else {
                match place.entry_kind(&dir) {
                    Ok(EntryKind::Directory) => {
                        let exposed = place.check_owner(&dir).err();
                        exposed.map(|error| Problem::new(&dir, files::explain(&error)).hiding(place))
                    }
                    Ok(_) => continue,
                    Err(error) => Some(Problem::new(&dir, files::explain(&error)).hiding(place)),
                }
            };
            plugins += 1;
            if plugins > MAX_CANDIDATES {
                let message = format!(
                    "holds more than {MAX_CANDIDATES} plugins: only the first {MAX_CANDIDATES} by name are used"
                );
                self.problems.push(Problem::new(path, message).hiding(place));
                break;
            }
            if let Some(problem) = unusable {
                self.problems.push(problem);
                continue;
            }
            let Some(plugin_dir) = name.to_str().map(str::to_owned) else {
                self.problems.push(Problem::new(dir, NOT_UTF8).hiding(place));
                continue;
            };
            let plugin = Some(plugin_dir.replacen('@', "/", 1));
            let path = dir.join("hooks");
            let place = place.clone();
            let needs_trust = tier.origin() == Origin::Repo || installed.names(&plugin_dir);
            self.plugin(Arc::new(HooksDir {
                place,
                tier,
                root,
                plugin_dir,
                plugin,
                path,
                needs_trust,
                base: dir,
            }));
        }
    }

    /// The hooks of one plugin.
    fn plugin(&mut self, dir: Arc<HooksDir>) {
        self.hooks(&dir);
        self.hooks_json(&dir);
    }

    /// The candidates of one hooks directory.
    fn hooks(&mut self, dir: &Arc<HooksDir>) {
        let mut taken = 0;
        for name in self.names(&dir.place, &dir.path) {
            let path = dir.path.join(&name);
            // It declares hooks, whether or not it has an execute bit.
            if dir.plugin.is_some() && name == Source::HooksJson.file() {
                continue;
            }
            let is_disabled = name.as_encoded_bytes().ends_with(b".disable");
            let is_component = name.as_encoded_bytes().ends_with(b".wasm");
            let state = match dir.place.entry_kind(&path) {
                Ok(EntryKind::File { .. }) if is_disabled => State::Disabled,
                Ok(EntryKind::File { executable, .. }) if executable || is_component => {
                    dir.place.check_owner(&path).map_or_else(State::Unreachable, |()| State::Usable)
                }
                Ok(_) => continue,
                Err(_) if is_disabled => continue,
                Err(error) => State::Unreachable(error),
            };
            if taken == MAX_CANDIDATES {
                let message = format!(
                    "holds more than {MAX_CANDIDATES} hooks: only the first {MAX_CANDIDATES} by name are used"
                );
                self.problems.push(Problem::new(&dir.path, message).hiding(&dir.place));
                break;
            }
            taken += 1;
            if !self.has_room(dir) {
                continue;
            }
            let Some(file) = name.to_str().map(str::to_owned) else {
                // No settings can speak of it; a component speaks for itself.
                let problem = Problem::new(path, NOT_UTF8);
                self.problems.push(if is_component { problem.hiding(&dir.place) } else { problem });
                continue;
            };
            self.candidates.push(Candidate::of_file(dir, file, path, state));
        }
    }

    /// What the hooks.json of a root or a plugin declares.
    fn hooks_json(&mut self, dir: &Arc<HooksDir>) {
        let source = Source::HooksJson;
        // What would be left out is not read either.
        if dir.tier.origin() == Origin::Repo && self.brought.taken == MAX_OF_REPOSITORY {
            return;
        }
        // What is wrong with the directory was said when its files were looked for.
        if dir.plugin.is_some() && !matches!(dir.place.entry_kind(&dir.path), Ok(EntryKind::Directory)) {
            return;
        }
        if let Some(contents) = self.declarations(&dir.place, &dir.declares().join(source.file()), source) {
            self.declared(dir, source, contents);
        }
    }

    /// Takes what a file declares.
    fn declared(&mut self, dir: &Arc<HooksDir>, source: Source, contents: Contents) {
        let path = dir.declares().join(source.file());
        for fault in contents.faults {
            self.problems.push(Problem { hint: fault.hint, ..Problem::new(&path, fault.message) });
        }
        for mut hook in contents.hooks {
            if !self.has_room(dir) {
                continue;
            }
            let origin = dir.tier.origin();
            if let Some(root) = self.roots.iter().find(|it| it.origin == origin && it.root == dir.root) {
                hook.find_server(&root.servers, &root.mcp_file());
            }
            self.candidates.push(Candidate::of_entry(dir, &path, hook));
        }
    }

    /// Whether one more hook of this directory is taken: of a repository not all are.
    pub(crate) fn has_room(&mut self, dir: &HooksDir) -> bool {
        if dir.tier.origin() != Origin::Repo {
            return true;
        }
        let has_room = self.brought.taken < MAX_OF_REPOSITORY;
        *(if has_room { &mut self.brought.taken } else { &mut self.brought.left_out }) += 1;
        has_room
    }

    /// The names in a directory; none where there is no directory.
    pub(crate) fn names(&mut self, place: &FileAccess, path: &Path) -> Vec<std::ffi::OsString> {
        // Beyond the limit not even the names are read.
        let is_spent = matches!(place, FileAccess::Repository(_)) && self.brought.looks > MAX_LOOKS;
        if is_spent || !self.is_directory(place, path) {
            return Vec::new();
        }
        match place.names(path) {
            Ok((mut names, more)) => {
                if matches!(place, FileAccess::Repository(_)) {
                    let all = names.len();
                    names.truncate(MAX_LOOKS.saturating_sub(self.brought.looks));
                    self.brought.looks += all;
                }
                if more {
                    let problem = Problem::new(path, "holds too many files: not all were looked at");
                    self.problems.push(problem.hiding(place));
                }
                names
            }
            Err(error) => {
                self.problems.push(Problem::new(path, files::explain(&error)).hiding(place));
                Vec::new()
            }
        }
    }

    /// Whether a directory is there that can be used. Nothing at all is no problem, anything else is.
    pub(crate) fn is_directory(&mut self, place: &FileAccess, path: &Path) -> bool {
        let found = place.entry_kind(path).and_then(|found| place.check_owner(path).map(|()| found));
        let message = match found {
            Ok(EntryKind::Directory) => return true,
            Ok(_) => "is a file: expected a directory".to_owned(),
            Err(error) if error.kind() == io::ErrorKind::NotFound && !place.is_symlink(path) => return false,
            Err(error) => files::explain(&error),
        };
        self.problems.push(Problem::new(path, message).hiding(place));
        false
    }
}

const NOT_UTF8: &str = "is ignored: its name is not UTF-8, so that it cannot be named";
