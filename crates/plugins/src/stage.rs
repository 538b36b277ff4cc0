//! Writing a plugin into a staging directory. All sources use this code, and it checks all rules for plugins.
//!
//! The staging directory is in the plugins directory, so that installing a plugin is a rename. Every file is
//! opened below the staging directory (cap-std), so that neither `..` nor a symlink of the source leads out
//! of it.

use std::collections::HashMap;
use std::io::{self, Read};
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};

use cap_std::fs::{Dir, DirBuilder, DirBuilderExt as _, OpenOptions, OpenOptionsExt as _};

use super::limits::{Limits, MAX_PATH, Usage};
use super::staging::{BESIDE, StagingDirectory, TREE};
use super::{EntryPath, Observer, PARTS, PluginError, PluginErrorKind, Plugins, Step, other_kind};
use hookbox::hook::Digest;
use hookbox::lockfile::InstalledFiles;
use hookbox_system::text;

/// A written entry.
#[derive(Clone, Debug)]
enum Written {
    Directory,
    File,
    Symlink(PathBuf),
}

/// A plugin that is being written. Dropping this removes it.
pub struct Stage<'a> {
    home: StagingDirectory,
    tree: Dir,
    usage: Usage,
    observer: &'a dyn Observer,
    /// The written entries, by their paths in lower case: some file systems ignore case.
    written: HashMap<String, (EntryPath, Written)>,
}

/// A plugin that is completely written, checked and synced to the disk. Dropping this removes it, unless it
/// was installed.
#[derive(Debug)]
pub struct Staged {
    pub(super) home: StagingDirectory,
    digest: Digest,
    files: InstalledFiles,
    entries: usize,
}

impl<'a> Stage<'a> {
    /// Begins a plugin in this plugins directory, within the default limits.
    ///
    /// # Errors
    ///
    /// An error if the directory cannot be written.
    pub fn new(plugins: &Plugins, observer: &'a dyn Observer) -> Result<Self, PluginError> {
        Self::within(plugins, Limits::default(), observer)
    }

    /// Begins a plugin within these limits.
    ///
    /// # Errors
    ///
    /// An error if the directory cannot be written.
    pub fn within(
        plugins: &Plugins,
        limits: Limits,
        observer: &'a dyn Observer,
    ) -> Result<Self, PluginError> {
        let wrong = |error: io::Error| PluginError::io(plugins.path(), error);
        let home = StagingDirectory::new(plugins.plugins()?, &plugins.path())?;
        home.dir.create_dir(TREE).map_err(wrong)?;
        let tree = home.dir.open_dir(TREE).map_err(wrong)?;
        Ok(Self { home, tree, usage: Usage::new(limits), observer, written: HashMap::new() })
    }

    /// Returns a directory for temporary files of a source. It is removed with the stage.
    pub fn scratch(&self) -> &Path {
        &self.home.path
    }

    /// Returns the limits.
    pub fn limits(&self) -> Limits {
        self.usage.limits
    }

    /// Returns the error about an entry that no plugin may have.
    pub fn refuse(&self, path: impl AsRef<[u8]>, why: impl Into<String>) -> PluginError {
        PluginError::new(String::from_utf8_lossy(path.as_ref()), PluginErrorKind::Hostile(why.into()))
            .hint("nothing of the plugin was installed; its author has to remove this")
    }

    /// Checks a path of the source.
    ///
    /// # Errors
    ///
    /// An error with the path, if no plugin may have it.
    pub fn path(&self, path: &[u8]) -> Result<EntryPath, PluginError> {
        EntryPath::new(path).map_err(|why| self.refuse(path, why))
    }

    /// Writes a directory. The directories of files are written with them.
    ///
    /// # Errors
    ///
    /// An error if no plugin may have it, or it cannot be written.
    pub fn directory(&mut self, path: &EntryPath) -> Result<(), PluginError> {
        self.directories(path)
    }

    /// Writes a file, which has `len` bytes if that is known before. Its mode becomes 0755 if it is
    /// executable, and otherwise 0644.
    ///
    /// # Errors
    ///
    /// An error if no plugin may have it, it is too large, its length is not `len`, or it cannot be read or
    /// written.
    pub fn file(
        &mut self,
        path: &EntryPath,
        executable: bool,
        len: Option<u64>,
        from: impl Read,
    ) -> Result<(), PluginError> {
        if path.is_a_part() {
            return Err(self.refuse(path.as_str(), "is a file: expected a directory"));
        }
        self.usage.check_room(path, len.unwrap_or_default())?;
        self.parents(path)?;
        self.add(path, Written::File)?;
        let wrong = |error: io::Error| PluginError::io(path.as_path(), error);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        let mut to = self.tree.open_with(path.as_path(), &options).map_err(wrong)?;
        let most = len.unwrap_or(self.limits().file).min(self.usage.left());
        let written = io::copy(&mut from.take(most.saturating_add(1)), &mut to).map_err(wrong)?;
        match len.filter(|len| *len != written) {
            Some(len) if written > len => {
                let what = format!("has more than the {len} bytes that the source announced");
                return Err(self.refuse(path.as_str(), what));
            }
            Some(len) => {
                let what = format!("has {written} bytes: expected the {len} that the source announced");
                return Err(self.refuse(path.as_str(), what));
            }
            None => {}
        }
        let mode = if executable { 0o755 } else { 0o644 };
        let mode = cap_std::fs::Permissions::from_std(std::os::unix::fs::PermissionsExt::from_mode(mode));
        to.set_permissions(mode).map_err(wrong)?;
        self.usage.add_bytes(path, written)?;
        self.report();
        Ok(())
    }

    /// Writes a symlink. This checks the text of its target, and [`finish`](Self::finish) follows it.
    ///
    /// # Errors
    ///
    /// An error if no plugin may have it, it leads out of the plugin, or it cannot be written.
    pub fn symlink(&mut self, path: &EntryPath, target: &Path) -> Result<(), PluginError> {
        if path.is_a_part() {
            return Err(self.refuse(path.as_str(), "is a symlink: expected a directory"));
        }
        let shown = || text::escape(&target.to_string_lossy(), 300);
        let is_odd =
            |target: &str| target.is_empty() || target.len() > MAX_PATH || target.contains(char::is_control);
        if target.to_str().is_none_or(is_odd) {
            return Err(self.refuse(path.as_str(), "is a symlink with an odd target"));
        }
        let leads = path.target(target).map(|it| it.to_string_lossy().into_owned());
        if leads.and_then(|it| EntryPath::new(it.as_bytes()).ok()).is_none() {
            let what = format!("is a symlink to {}, which is not in the plugin", shown());
            return Err(self.refuse(path.as_str(), what));
        }
        self.parents(path)?;
        self.add(path, Written::Symlink(target.to_owned()))?;
        self.tree.symlink(target, path.as_path()).map_err(|error| PluginError::io(path.as_path(), error))?;
        self.report();
        Ok(())
    }

    /// Checks the plugin as a whole, and syncs it to the disk.
    ///
    /// # Errors
    ///
    /// [`PluginErrorKind::Empty`] if it has no files in `skills`, `recipes` and `hooks`; an error if a symlink leads nowhere, or it cannot be
    /// read or synced.
    pub fn finish(self) -> Result<Staged, PluginError> {
        let is_content = |(path, what): &(EntryPath, Written)| {
            path.is_of_a_plugin() && !matches!(what, Written::Directory)
        };
        if !self.written.values().any(is_content) {
            if let Some(other) = other_kind::of(&self.tree) {
                return Err(other);
            }
            return Err(PluginError::new("the plugin", PluginErrorKind::Empty)
                .hint("expected files in skills/, recipes/ or hooks/ at the top of the source"));
        }
        let links = self.written.values().filter_map(|(path, what)| match what {
            Written::Symlink(target) => Some((path, target)),
            Written::Directory | Written::File => None,
        });
        let mut links: Vec<(&EntryPath, &PathBuf)> = links.collect();
        links.sort();
        for (path, target) in links {
            // This follows the symlink, and others on its path, below the tree.
            if let Err(error) = self.tree.metadata(path.as_path()) {
                let target = text::escape(&target.to_string_lossy(), 300);
                let why = if error.kind() == io::ErrorKind::NotFound {
                    "leads nowhere"
                } else {
                    "cannot be followed"
                };
                return Err(self
                    .refuse(path.as_str(), format!("is a symlink to {target}, which {why} in the plugin")));
            }
        }
        let wrong = |error: io::Error| PluginError::io(&self.home.path, error);
        sync(&self.tree).map_err(wrong)?;
        let digest = super::digest(&self.home.path.join(TREE), None)?;
        let files = self.written.into_values().map(|(path, _)| path.as_path().to_owned()).collect();
        self.observer.step(&Step::Staged);
        Ok(Staged { home: self.home, digest, files, entries: self.usage.entries })
    }

    fn parents(&mut self, path: &EntryPath) -> Result<(), PluginError> {
        path.parent().map_or(Ok(()), |parent| self.directories(&parent))
    }

    /// Writes a directory and those above it, unless they exist.
    fn directories(&mut self, path: &EntryPath) -> Result<(), PluginError> {
        match self.written.get(&path.folded()) {
            Some((there, Written::Directory)) if there == path => return Ok(()),
            Some((there, _)) => return Err(self.twice(path, &there.clone())),
            None => {}
        }
        self.parents(path)?;
        self.add(path, Written::Directory)?;
        let mut builder = DirBuilder::new();
        builder.mode(0o755);
        self.tree
            .create_dir_with(path.as_path(), &builder)
            .map_err(|error| PluginError::io(path.as_path(), error))
    }

    /// Adds an entry. Its path must be new.
    fn add(&mut self, path: &EntryPath, what: Written) -> Result<(), PluginError> {
        if let Some((there, _)) = self.written.get(&path.folded()) {
            return Err(self.twice(path, &there.clone()));
        }
        self.usage.add_entry(path)?;
        self.written.insert(path.folded(), (path.clone(), what));
        Ok(())
    }

    fn twice(&self, path: &EntryPath, there: &EntryPath) -> PluginError {
        let why = if path == there {
            "appears twice".to_owned()
        } else {
            format!(
                "differs from {there} by the case of its letters only: on some systems these are one file"
            )
        };
        self.refuse(path.as_str(), why)
    }

    fn report(&self) {
        self.observer.step(&Step::Staging { entries: self.usage.entries, bytes: self.usage.bytes });
    }
}

impl Staged {
    /// Returns the absolute path of the plugin's directory.
    pub fn path(&self) -> PathBuf {
        self.home.path.join(TREE)
    }

    /// Reduces the plugin to `skills`, `recipes` and `hooks` if it has this digest then, and otherwise changes nothing.
    /// An earlier hookbox installed nothing else, and its lock files stay valid.
    ///
    /// # Errors
    ///
    /// An error if the plugin cannot be read or written.
    pub fn as_locked(mut self, tree: &Digest) -> Result<Self, PluginError> {
        if self.digest == *tree {
            return Ok(self);
        }
        let wrong = |error: io::Error| PluginError::io(&self.home.path, error);
        let (whole, dir) = (self.home.dir.open_dir(TREE).map_err(wrong)?, &self.home.dir);
        dir.create_dir(BESIDE).map_err(wrong)?;
        let beside = dir.open_dir(BESIDE).map_err(wrong)?;
        for entry in whole.entries().map_err(wrong)? {
            let name = entry.map_err(wrong)?.file_name();
            if !PARTS.iter().any(|part| name == *part) {
                whole.rename(&name, &beside, &name).map_err(wrong)?;
            }
        }
        let digest = super::digest(&self.path(), None)?;
        if digest == *tree {
            self.digest = digest;
            let is_left = |path: &&Path| PARTS.iter().any(|part| path.starts_with(part));
            self.files = self.files.iter().filter(is_left).map(Path::to_owned).collect();
            return Ok(self);
        }
        for entry in beside.entries().map_err(wrong)? {
            let name = entry.map_err(wrong)?.file_name();
            beside.rename(&name, &whole, &name).map_err(wrong)?;
        }
        Ok(self)
    }

    /// Returns the digest of all names, modes and bytes.
    pub fn digest(&self) -> &Digest {
        &self.digest
    }

    /// Returns its files.
    pub fn files(&self) -> &InstalledFiles {
        &self.files
    }

    /// Returns the number of files, directories and symlinks.
    pub fn entries(&self) -> usize {
        self.entries
    }
}

/// Syncs everything below a directory to the disk.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn sync(dir: &Dir) -> io::Result<()> {
    // `dir` was opened with O_PATH, which cannot be synced.
    Ok(rustix::fs::syncfs(dir.open(".")?.as_fd())?)
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn sync(dir: &Dir) -> io::Result<()> {
    for entry in dir.entries()? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            sync(&entry.open_dir()?)?;
        } else if kind.is_file() {
            entry.open()?.sync_all()?;
        }
    }
    dir.open(".")?.sync_all()
}

#[cfg(test)]
mod tests;
