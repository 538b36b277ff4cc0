//! Files and entries that may be hooks, before they are examined.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hookbox_system::files::{EntryKind, FileAccess};
use hookbox_system::text;

use super::declared::{Declared, Handler, Source};
use super::roots::RootDir;
use crate::discovery::Problem;
use crate::hook::{Kind, Origin, Tier};
use crate::lockfile::InstalledFiles;
use crate::rules::{self, ENDING, is_nearly_rules};

/// A plugin's manifest for Claude Code.
pub const MANIFEST: &str = ".claude-plugin/plugin.json";

/// The list of plugins of a marketplace for Claude Code.
pub const MARKETPLACE: &str = ".claude-plugin/marketplace.json";

/// A hooks directory.
pub(crate) struct HooksDir {
    pub(crate) access: FileAccess,
    pub(crate) tier: Tier,
    /// The index of its root; the embedder's own directories are counted after the roots.
    pub(crate) root: usize,
    /// The plugin's directory name; empty outside of plugins.
    pub(crate) plugin_dir: String,
    /// The plugin, as `org/repo`.
    pub(crate) plugin: Option<String>,
    pub(crate) path: PathBuf,
    /// True if its hooks run only with the digest that the user trusted: those of a repository, and those of
    /// a plugin that hookbox installed.
    pub(crate) needs_trust: bool,
    /// The directory in which declared hooks run: the parent of the root, or the plugin's.
    pub(crate) base: PathBuf,
    /// The files that hookbox installed there, of a plugin.
    pub(crate) installed: Arc<InstalledFiles>,
}

impl HooksDir {
    /// Makes a hooks directory outside of plugins.
    pub(crate) fn new(access: &FileAccess, tier: Tier, root: usize, path: PathBuf, base: &Path) -> Self {
        Self {
            access: access.clone(),
            tier,
            root,
            plugin_dir: String::new(),
            plugin: None,
            path,
            needs_trust: tier.origin() == Origin::Repo,
            base: base.to_owned(),
            installed: Arc::default(),
        }
    }

    /// Makes the hooks directory of a root.
    pub(crate) fn of_root(root: &RootDir) -> Self {
        let tier = if root.origin == Origin::Repo { Tier::Repo } else { Tier::Global };
        let base = root.path.parent().unwrap_or(&root.path);
        Self::new(&root.access, tier, root.root, root.path.join("hooks"), base)
    }

    /// Makes the hooks directory of the plugin in `base`, which needs trust.
    pub(crate) fn of_plugin(
        access: &FileAccess,
        tier: Tier,
        root: usize,
        plugin_dir: String,
        base: &Path,
    ) -> Self {
        let plugin = Some(plugin_dir.replacen('@', "/", 1));
        let dir = Self::new(access, tier, root, base.join("hooks"), base);
        Self { plugin_dir, plugin, needs_trust: true, ..dir }
    }

    /// Returns the file that declares the hooks of this origin: in the root, or in a plugin.
    pub(crate) fn declaring(&self, source: Source) -> PathBuf {
        match &self.plugin {
            Some(_) if source == Source::Manifest => self.base.join(MANIFEST),
            Some(_) => self.path.join(source.file()),
            None => self.path.with_file_name(source.file()),
        }
    }

    /// Returns the full name of a hook in this directory.
    pub(crate) fn full_name(&self, file: &str) -> String {
        match &self.plugin {
            Some(plugin) => format!("{plugin}/{file}"),
            None => file.to_owned(),
        }
    }
}

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
    } else if file.ends_with(rules::ENDING) {
        Kind::Rules
    } else {
        Kind::Native
    }
}

/// Reports a file with nearly the name of a rules file, and a script of the user's own that only lacks an execute bit: it may be a guard. Other files may lie
/// beside hooks, and those of a repository or a plugin are not the user's to mend.
pub(super) fn not_executable(dir: &HooksDir, path: PathBuf, kind: EntryKind) -> Option<Problem> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if matches!(kind, EntryKind::File { .. }) && is_nearly_rules(&name) {
        let message = format!("does not run: the name of a rules file ends in {ENDING}");
        return Some(Problem::new(path, message).hint("rename it, or remove it"));
    }
    let is_own = matches!(dir.access, FileAccess::Global) && dir.plugin.is_none();
    let is_script = is_own && matches!(kind, EntryKind::File { .. }) && dir.access.is_script(&path);
    is_script.then(|| {
        let shown = text::escape(&text::shell_word(&path.to_string_lossy()), 4096);
        Problem::new(path, "is a script without an execute bit: it does not run")
            .hint(format!("run `chmod +x {shown}`, or rename it to end in .disable"))
    })
}
