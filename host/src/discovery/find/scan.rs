//! Searches roots, tiers and plugins for files and entries that may be hooks.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::declared::{self, Contents, Declared, Handler, Source};
use super::files::{Files, LastRead};
use super::roots::{HooksDir, Installed, RootDir};
use super::settings::{self, File, Table};
use super::{MAX_CANDIDATES, Options};
use crate::discovery::Problem;
use crate::hook::{Kind, Origin, Tier};
use crate::lockfile::OWN;
use crate::rules::{ENDING, is_nearly_rules};
use hookbox_system::files::{self, EntryKind, FileAccess};
use hookbox_system::text;

/// The position of a hook in the order of registration.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Position {
    tier: Tier,
    root: usize,
    plugin_dir: String,
    /// The source that declares it; files come first.
    pub(crate) source: Source,
    /// Its index in the source.
    at: usize,
    file: String,
}

/// A file, or an entry of one, that may be a hook.
pub(crate) struct Candidate {
    pub(crate) dir: Arc<HooksDir>,
    pub(crate) file: String,
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    pub(crate) kind: Kind,
    pub(crate) state: State,
    /// Its declaration, if it is an entry of a file.
    pub(crate) declared: Option<Declared>,
}

impl Candidate {
    /// Makes a candidate of a file in a hooks directory.
    pub(crate) fn of_file(dir: &Arc<HooksDir>, file: String, path: PathBuf, state: State) -> Self {
        let kind = kind_by_name(file.strip_suffix(".disable").unwrap_or(&file));
        // Otherwise settings and trust of an entry would apply to it.
        let state = match state {
            State::Usable if Source::is_position(&file) => State::Broken(
                "has the name of an entry of hooks.json or mcp.json: give it another one".to_owned(),
            ),
            state => state,
        };
        Self { name: dir.full_name(&file), dir: Arc::clone(dir), file, path, kind, state, declared: None }
    }

    /// Makes a candidate of an entry of the file at `path`.
    pub(crate) fn of_entry(dir: &Arc<HooksDir>, path: &Path, declared: Declared) -> Self {
        let (path, state) = match &declared.handler {
            Ok(Handler::Component(component)) => {
                let component = dir.base.join(component);
                let state = match dir.access.entry_kind(&component) {
                    Ok(EntryKind::File { .. }) => {
                        dir.access.check_owner(&component).map_or_else(State::Unreachable, |()| State::Usable)
                    }
                    Ok(_) => State::Broken("is not a file: expected a component".to_owned()),
                    Err(error) => State::Unreachable(error),
                };
                (component, state)
            }
            Ok(_) if declared.is_disabled => (path.to_owned(), State::Disabled),
            Ok(_) => (path.to_owned(), State::Usable),
            Err(message) => (path.to_owned(), State::Broken(message.clone())),
        };
        let (file, kind) = (declared.file_name(), declared.kind);
        // The name of an entry of another agent's file contains the file.
        let name = if declared.outside.is_some() { file.clone() } else { dir.full_name(&file) };
        Self { name, dir: Arc::clone(dir), file, path, kind, state, declared: Some(declared) }
    }

    /// Returns the path by which a command finds this hook and no other: its file, or the file that declares
    /// it with its position there.
    pub(crate) fn reference(&self) -> PathBuf {
        match &self.declared {
            Some(Declared { outside: Some(outside), label, .. }) => {
                PathBuf::from(format!("{}#{label}", outside.path.to_string_lossy()))
            }
            Some(declared) => self.dir.declaring(declared.source).with_file_name(declared.position_name()),
            None => self.path.clone(),
        }
    }

    /// Returns true if the settings of a root may be about it: it is of this root, or of a source, which belongs to none.
    pub(crate) fn is_of(&self, root: &RootDir) -> bool {
        let is_outside = self.declared.as_ref().is_some_and(|it| it.outside.is_some());
        (is_outside || self.dir.root == root.root) && self.dir.tier.origin() == root.origin
    }

    pub(crate) fn position(&self) -> Position {
        let (source, at) = self.declared.as_ref().map_or((Source::File, 0), |it| (it.source, it.at));
        let HooksDir { tier, root, ref plugin_dir, .. } = *self.dir;
        Position { tier, root, plugin_dir: plugin_dir.clone(), source, at, file: self.file.clone() }
    }

    /// Returns the identity of its state: a component is the same one in all entries that name it.
    pub(crate) fn identity(&self) -> String {
        match &self.declared {
            // No name of a file begins like this.
            Some(_) => format!("/{}", self.path.strip_prefix(&self.dir.base).unwrap_or(&self.path).display()),
            None => self.name.clone(),
        }
    }
}

/// The state of a candidate's file.
pub(crate) enum State {
    /// It can be examined.
    Usable,
    /// Its name ends in `.disable`.
    Disabled,
    /// It cannot be reached.
    Unreachable(io::Error),
    /// Its declaration cannot be used.
    Broken(String),
}

/// Returns the kind of the hook in a file of this name.
pub(crate) fn kind_by_name(file: &str) -> Kind {
    if file.ends_with(".wasm") {
        Kind::Component
    } else if file.ends_with(ENDING) {
        Kind::Rules
    } else {
        Kind::Native
    }
}

/// The candidates of one repository, or of the nearest one and the user.
#[derive(Default)]
pub(crate) struct Scan {
    /// In the order of registration: tier, root, plugin directory name, file name.
    pub(crate) candidates: Vec<Candidate>,
    pub(crate) roots: Vec<RootDir>,
    pub(crate) files: Files,
    /// The number of files of sources: the order of their hooks.
    pub(crate) source_files: usize,
    /// The repository, if there is one.
    pub(crate) repository: Option<FileAccess>,
    /// True if only the administrator's hooks were kept.
    pub(crate) only_managed: bool,
}

/// Searches the nearest repository and the user's tiers, in their order. The roots are
/// [`roots::valid`](super::roots::valid).
pub(crate) fn scan(options: &Options, repo: Option<&Path>, last: &Arc<LastRead>) -> Scan {
    let Options { cwd, home, roots, directories, .. } = options;
    let mut scan = Scan::new(last);
    if let Some(managed) = &options.managed {
        scan.managed(managed);
    }
    if let Some(repo) = repo {
        scan = scan.repository(repo, roots);
    }
    let own: Vec<PathBuf> = directories.iter().map(|dir| cwd.join(dir)).collect();
    let (base, roots) = home.as_ref().map_or((cwd, &[][..]), |home| (home, roots));
    scan.tiers(&FileAccess::Global, Origin::User, base, roots, &own);
    scan
}

/// Searches one plugin, as if a repository had nothing but this plugin, in a directory of this name.
pub(crate) fn scan_plugin(dir: &Path, called: &str, tier: Tier) -> Scan {
    let mut scan = Scan::default();
    match FileAccess::repository(dir) {
        Ok(access) => {
            scan.plugin(HooksDir::of_plugin(&access, tier, 0, called.to_owned(), dir));
        }
        Err(error) => scan.files.problems.push(Problem::new(dir, files::explain(&error))),
    }
    scan
}

impl Scan {
    pub(crate) fn new(last: &Arc<LastRead>) -> Self {
        Self { files: Files::new(Arc::clone(last)), ..Self::default() }
    }

    /// Returns the settings of a candidate.
    pub(crate) fn table_of(&self, candidate: &Candidate) -> Option<&Table> {
        let mut roots = self.roots.iter().filter(|root| candidate.is_of(root));
        roots.find_map(|root| root.tables.get(&candidate.name))
    }

    /// Searches a repository.
    pub(crate) fn repository(mut self, repo: &Path, roots: &[String]) -> Self {
        match FileAccess::repository(repo) {
            Ok(access) => {
                self.tiers(&access, Origin::Repo, repo, roots, &[]);
                self.repository = Some(access);
            }
            Err(error) => {
                let hides = files::is_exhausted(&error);
                self.files.problems.push(Problem { hides, ..Problem::new(repo, files::explain(&error)) });
            }
        }
        self
    }

    /// Searches the two tiers of a base directory: the hooks directories first, then the plugins. `own` are the
    /// embedder's hooks directories.
    pub(super) fn tiers(
        &mut self,
        access: &FileAccess,
        origin: Origin,
        base: &Path,
        roots: &[String],
        own: &[PathBuf],
    ) {
        let plugin_tier = origin.tiers().1;
        let mut found = Vec::new();
        for (root, name) in roots.iter().enumerate() {
            let path = base.join(name);
            if self.files.is_directory(access, &path) {
                let File { top, tables } = self.files.settings(access, &path.join(settings::FILE));
                let parse = |text: &str| declared::parse(text, Source::McpJson);
                let mcp_json = path.join(Source::McpJson.file());
                let mut mcp_json = self.files.declarations(access, &mcp_json, parse).unwrap_or_default();
                let servers = std::mem::take(&mut mcp_json.servers);
                let declares =
                    |(name, table): (&String, &Table)| Some((name.clone(), table.line, table.http.clone()?));
                let services: Vec<_> = tables.iter().filter_map(declares).collect();
                let root = RootDir { access: access.clone(), origin, root, path, top, tables, servers };
                found.push((HooksDir::of_root(&root), mcp_json, services));
                self.roots.push(root);
            } else if origin == Origin::User {
                // A guard that hookbox wrote there is missed.
                let (top, tables, servers) = Default::default();
                self.roots.push(RootDir { access: access.clone(), origin, root, path, top, tables, servers });
            }
        }
        let mut plugins = Vec::new();
        for (dir, mcp_json, services) in found {
            let dir = Arc::new(dir);
            self.hooks(&dir, false);
            if let Some(contents) = self.hooks_json(&dir) {
                self.declared(&dir, &dir.declaring(Source::HooksJson), contents);
            }
            self.declared(&dir, &dir.declaring(Source::McpJson), mcp_json);
            let file = dir.declaring(Source::Settings);
            for (name, line, json) in services {
                match declared::parse_table(&name, line, &json) {
                    Ok(contents) => self.declared(&dir, &file, contents),
                    Err(why) => self.files.problems.push(Problem::new(&file, why).of(&name)),
                }
            }
            plugins.push((dir.root, dir.path.with_file_name("plugins")));
        }
        for (at, path) in own.iter().enumerate() {
            let dir = HooksDir::new(access, Tier::Global, roots.len() + at, path.clone(), base);
            self.hooks(&Arc::new(dir), false);
        }
        for (root, path) in plugins {
            self.plugins(access, plugin_tier, root, &path);
        }
    }

    /// Searches the plugins of a root.
    fn plugins(&mut self, access: &FileAccess, tier: Tier, root: usize, path: &Path) {
        let mut plugins = 0;
        let names = self.files.names(access, path);
        // After the names: an installation writes the lock file before it removes its mark, so that no plugin is
        // found here and missing there.
        let installed = Installed::read(access, tier, path, &mut self.files.problems);
        for name in names {
            // A directory of an unfinished installation.
            if name.as_encoded_bytes().starts_with(OWN.as_bytes()) {
                continue;
            }
            let dir = path.join(&name);
            let unusable = if access.is_symlink(&dir) {
                let message = "is a symlink and is ignored: a plugin is a directory of its own";
                Some(Problem::new(&dir, message))
            } else {
                match access.entry(&dir) {
                    Ok((EntryKind::Directory, owner)) => {
                        owner.err().map(|error| Problem::new(&dir, files::explain(&error)).hiding(access))
                    }
                    Ok(_) => continue,
                    Err(error) => Some(Problem::new(&dir, files::explain(&error)).hiding(access)),
                }
            };
            plugins += 1;
            if plugins > MAX_CANDIDATES {
                self.files.problems.push(too_many("plugins", path, access));
                break;
            }
            if let Some(problem) = unusable {
                self.files.problems.push(problem);
                continue;
            }
            let Some(plugin_dir) = name.to_str().map(str::to_owned) else {
                self.files.problems.push(Problem::new(dir, NOT_UTF8).hiding(access));
                continue;
            };
            let needs_trust = tier.origin() == Origin::Repo || installed.contains(&plugin_dir);
            let files = Arc::new(installed.files(&plugin_dir));
            let dir = HooksDir::of_plugin(access, tier, root, plugin_dir, &dir);
            self.plugin(HooksDir { needs_trust, installed: files, ..dir });
        }
    }

    /// Searches a plugin.
    fn plugin(&mut self, dir: HooksDir) {
        let dir = Arc::new(dir);
        let hooks_json = self.hooks_json(&dir);
        let path = dir.declaring(Source::Manifest);
        let mut manifest =
            self.files.declarations(&dir.access, &path, |text| declared::parse(text, Source::Manifest));
        let files = manifest.as_mut().map(|it| std::mem::take(&mut it.files)).unwrap_or_default();
        let mut all: Vec<(PathBuf, Contents)> =
            hooks_json.map(|it| (dir.declaring(Source::HooksJson), it)).into_iter().collect();
        all.extend(manifest.map(|it| (path.clone(), it)));
        for file in files.into_iter().take(MAX_CANDIDATES) {
            let further = dir.base.join(files::normalize_path(Path::new(&file)));
            let is_beneath = Path::new(&file).is_relative() && !file.contains("..");
            if is_beneath && further == dir.declaring(Source::HooksJson) {
                continue;
            }
            let parse = |text: &str| declared::parse_further(text, &further);
            match is_beneath.then(|| self.files.declarations(&dir.access, &further, parse)).flatten() {
                Some(contents) => all.push((further.clone(), contents)),
                None => {
                    let shown = text::escape(&file, 200);
                    let message = format!(
                        "names {shown:?}, expected a file with hooks in the plugin: its hooks do not run"
                    );
                    self.files.problems.push(Problem::new(&path, message));
                }
            }
        }
        // Beside commands in Claude Code's shape, a file in the hooks directory is one of their scripts. As a native hook
        // it would be started to name its event.
        self.hooks(&dir, all.iter().any(|(_, it)| it.has_groups));
        for (path, contents) in all {
            self.declared(&dir, &path, contents);
        }
    }

    /// Searches a hooks directory.
    fn hooks(&mut self, dir: &Arc<HooksDir>, has_scripts: bool) {
        let mut taken = 0;
        for name in self.files.names(&dir.access, &dir.path) {
            let path = dir.path.join(&name);
            // It declares hooks, also with an execute bit.
            if dir.plugin.is_some() && name == Source::HooksJson.file() {
                continue;
            }
            let is_disabled = name.as_encoded_bytes().ends_with(b".disable");
            // It needs no execute bit, and describes itself.
            let is_data = kind_by_name(&name.to_string_lossy()).is_one_file();
            let state = match dir.access.entry(&path) {
                Ok((EntryKind::File { .. }, _)) if is_disabled => State::Disabled,
                Ok((EntryKind::File { .. }, _)) if !is_data && has_scripts => continue,
                Ok((EntryKind::File { executable, .. }, owner)) if executable || is_data => {
                    owner.map_or_else(State::Unreachable, |()| State::Usable)
                }
                Ok((kind, _)) => {
                    self.files.problems.extend(not_executable(dir, path, kind));
                    continue;
                }
                Err(_) if is_disabled => continue,
                Err(error) => State::Unreachable(error),
            };
            if taken == MAX_CANDIDATES {
                self.files.problems.push(too_many("hooks", &dir.path, &dir.access));
                break;
            }
            taken += 1;
            if !self.files.has_room(dir.tier.origin()) {
                continue;
            }
            let Some(file) = name.to_str().map(str::to_owned) else {
                // Settings cannot name it, so that it can be a guard only if it describes itself.
                let problem = Problem::new(path, NOT_UTF8);
                self.files.problems.push(if is_data { problem.hiding(&dir.access) } else { problem });
                continue;
            };
            self.candidates.push(Candidate::of_file(dir, file, path, state));
        }
    }

    /// Reads the hooks.json of a root or a plugin.
    fn hooks_json(&mut self, dir: &HooksDir) -> Option<Contents> {
        let source = Source::HooksJson;
        // Its hooks would be left out.
        if dir.tier.origin() == Origin::Repo && self.files.is_full() {
            return None;
        }
        // Searching the directory reports why it cannot be read.
        if dir.plugin.is_some() && !matches!(dir.access.entry_kind(&dir.path), Ok(EntryKind::Directory)) {
            return None;
        }
        self.files.declarations(&dir.access, &dir.declaring(source), |text| declared::parse(text, source))
    }

    /// Adds the candidates of a file that declares hooks.
    fn declared(&mut self, dir: &Arc<HooksDir>, path: &Path, contents: Contents) {
        for fault in contents.faults {
            self.files.problems.push(Problem { hint: fault.hint, ..Problem::new(path, fault.message) });
        }
        for mut hook in contents.hooks {
            if !self.files.has_room(dir.tier.origin()) {
                continue;
            }
            let origin = dir.tier.origin();
            if let Some(root) = self.roots.iter().find(|it| it.origin == origin && it.root == dir.root) {
                hook.find_server(&root.servers, &root.mcp_file());
            }
            self.candidates.push(Candidate::of_entry(dir, path, hook));
        }
    }
}

fn too_many(what: &str, path: &Path, access: &FileAccess) -> Problem {
    let message =
        format!("has more than {MAX_CANDIDATES} {what}: only the first {MAX_CANDIDATES} by name are used");
    Problem::new(path, message).hiding(access)
}

const NOT_UTF8: &str = "is ignored: its name is not UTF-8, so that it cannot be named";

/// Reports a file with nearly the name of a rules file, and a script of the user's own that only lacks an execute bit: it may be a guard. Other files may lie
/// beside hooks, and those of a repository or a plugin are not the user's to mend.
fn not_executable(dir: &HooksDir, path: PathBuf, kind: EntryKind) -> Option<Problem> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if matches!(kind, EntryKind::File { .. }) && is_nearly_rules(&name) {
        let message = format!("does not run: the name of a rules file ends in {ENDING}");
        return Some(Problem::new(path, message).hint("rename it, or remove it"));
    }
    let is_own = !matches!(dir.access, FileAccess::Repository(_)) && dir.plugin.is_none();
    let is_script = is_own && matches!(kind, EntryKind::File { .. }) && dir.access.is_script(&path);
    is_script.then(|| {
        let shown = text::escape(&text::shell_word(&path.to_string_lossy()), 4096);
        Problem::new(path, "is a script without an execute bit: it does not run")
            .hint(format!("run `chmod +x {shown}`, or rename it to end in .disable"))
    })
}
