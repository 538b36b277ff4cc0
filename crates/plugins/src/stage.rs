//! Where a plugin is written before it is put in its place: one piece of code for all sources, with all the rules.
//!
//! The staging directory stands in the plugins directory, so that what was staged is renamed and not copied. Everything
//! is written beneath a directory that was opened once (cap-std): whatever the paths of a source say, and whatever
//! symlinks it brings, nothing is written outside.

use std::collections::HashMap;
use std::io::{self, Read, Write as _};
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};

use cap_std::fs::{Dir, DirBuilder, DirBuilderExt as _, OpenOptions, OpenOptionsExt as _};

use super::limits::{Limits, MAX_TARGET};
use super::staging::{StagingDirectory, TREE};
use super::usage::Usage;
use super::{EntryPath, Observer, PluginError, PluginErrorKind, Plugins, Step};
use hookbox::hook::Digest;
use hookbox::internal::text;

/// What was written at a path.
#[derive(Clone, Debug)]
enum Written {
    Directory,
    File,
    Symlink(PathBuf),
}

/// A plugin that is being written. Dropping it removes all of it.
pub struct Stage<'a> {
    home: StagingDirectory,
    tree: Dir,
    usage: Usage,
    observer: &'a dyn Observer,
    /// What was written, by the path that a file system knows it by that takes capital and small letters for the same.
    written: HashMap<String, (EntryPath, Written)>,
}

/// A plugin that was written whole and checked, and is on the disk. Dropping it removes it, unless it was installed.
#[derive(Debug)]
pub struct Staged {
    home: StagingDirectory,
    digest: Digest,
    entries: usize,
    bytes: u64,
}

impl<'a> Stage<'a> {
    /// Begins a plugin in these plugins' directory, within the usual limits.
    ///
    /// # Errors
    ///
    /// Where nothing can be written there.
    pub fn new(plugins: &Plugins, observer: &'a dyn Observer) -> Result<Self, PluginError> {
        Self::within(plugins, Limits::default(), observer)
    }

    /// The same within these limits.
    ///
    /// # Errors
    ///
    /// Where nothing can be written there.
    pub fn within(
        plugins: &Plugins,
        limits: Limits,
        observer: &'a dyn Observer,
    ) -> Result<Self, PluginError> {
        let wrong = |error: io::Error| PluginError::io(plugins.path(), error);
        let home = StagingDirectory::new(plugins.plugins()?, &plugins.path())?;
        home.dir().create_dir(TREE).map_err(wrong)?;
        let tree = home.dir().open_dir(TREE).map_err(wrong)?;
        Ok(Self { home, tree, usage: Usage::new(limits), observer, written: HashMap::new() })
    }

    /// A directory for what the source needs on the way, absolute. It goes with the stage.
    pub fn scratch(&self) -> &Path {
        self.home.path()
    }

    /// How much a plugin may hold here.
    pub fn limits(&self) -> Limits {
        self.usage.limits()
    }

    /// The error for something that no plugin may have, by its path in the source.
    pub fn refuse(&self, path: impl AsRef<[u8]>, why: impl Into<String>) -> PluginError {
        PluginError::new(String::from_utf8_lossy(path.as_ref()), PluginErrorKind::Hostile(why.into()))
            .hint("nothing of the plugin was installed; whoever makes it has to take this out")
    }

    /// Checks a path of the source.
    ///
    /// # Errors
    ///
    /// Where such a path cannot stand in a plugin; it is named.
    pub fn path(&self, path: &[u8]) -> Result<EntryPath, PluginError> {
        EntryPath::new(path).map_err(|error| PluginError::new(String::from_utf8_lossy(path), error))
    }

    /// Checks that a file of this size would still fit, before anything of it is read.
    ///
    /// # Errors
    ///
    /// [`PluginErrorKind::TooLarge`].
    pub fn room(&self, path: &EntryPath, len: u64) -> Result<(), PluginError> {
        self.usage.check_room(path, len)
    }

    /// Writes a directory. Those of files need not be given.
    ///
    /// # Errors
    ///
    /// Where it cannot stand in a plugin, or cannot be written.
    pub fn directory(&mut self, path: &EntryPath) -> Result<(), PluginError> {
        self.is_installed(path)?;
        self.directories(path)
    }

    /// Writes a file with these bytes, as `len` of them where that is known before. It gets the mode 0755 if it is
    /// executable and else 0644, whatever the source says.
    ///
    /// # Errors
    ///
    /// Where it cannot stand in a plugin, is too large, has other bytes than said, or cannot be read or written.
    pub fn file(
        &mut self,
        path: &EntryPath,
        executable: bool,
        len: Option<u64>,
        from: impl Read,
    ) -> Result<(), PluginError> {
        self.is_installed(path)?;
        if !path.as_str().contains('/') {
            return Err(self.refuse(path.as_str(), "is a file: expected a directory"));
        }
        self.room(path, len.unwrap_or_default())?;
        self.parents(path)?;
        self.add(path, Written::File)?;
        let wrong = |error: io::Error| PluginError::io(path.as_path(), error);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        let mut to = self.tree.open_with(path.as_path(), &options).map_err(wrong)?;
        let most = len.unwrap_or(self.limits().file).min(self.usage.left());
        let mut from = from.take(most.saturating_add(1));
        let mut buffer = vec![0; 64 << 10];
        let mut written = 0;
        loop {
            let read = match from.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(wrong(error)),
            };
            written += read as u64;
            if written > most {
                // Where the size was said, the source gave more than that.
                return match len.filter(|len| written > *len) {
                    Some(len) => Err(self.refuse(
                        path.as_str(),
                        format!("has more than the {len} bytes that it is said to have"),
                    )),
                    None => self.room(path, written).and(Err(self.refuse(path.as_str(), "is too large"))),
                };
            }
            to.write_all(buffer.get(..read).unwrap_or_default()).map_err(wrong)?;
        }
        if let Some(len) = len.filter(|len| *len != written) {
            let what = format!("has {written} bytes: expected the {len} that it is said to have");
            return Err(self.refuse(path.as_str(), what));
        }
        let mode = if executable { 0o755 } else { 0o644 };
        let mode = cap_std::fs::Permissions::from_std(std::os::unix::fs::PermissionsExt::from_mode(mode));
        to.set_permissions(mode).map_err(wrong)?;
        self.usage.add_bytes(path, written)?;
        self.told();
        Ok(())
    }

    /// Writes a symlink. Where it leads is checked here by its letters, and again when all is written.
    ///
    /// # Errors
    ///
    /// Where it cannot stand in a plugin, leads out of it, or cannot be written.
    pub fn symlink(&mut self, path: &EntryPath, target: &Path) -> Result<(), PluginError> {
        self.is_installed(path)?;
        if !path.as_str().contains('/') {
            return Err(self.refuse(path.as_str(), "is a symlink: expected a directory"));
        }
        let shown = || text::escape(&target.to_string_lossy(), 300);
        let is_odd = |target: &str| {
            target.is_empty() || target.len() > MAX_TARGET || target.contains(char::is_control)
        };
        if target.to_str().is_none_or(is_odd) {
            return Err(self.refuse(path.as_str(), "is a symlink with an odd target"));
        }
        let leads = path.target(target).map(|it| it.to_string_lossy().into_owned());
        let inside =
            leads.and_then(|it| EntryPath::new(it.as_bytes()).ok()).is_some_and(|it| it.is_installed());
        if !inside {
            let what = format!("is a symlink to {}, which is not in the plugin", shown());
            return Err(self.refuse(path.as_str(), what));
        }
        self.parents(path)?;
        self.add(path, Written::Symlink(target.to_owned()))?;
        self.tree.symlink(target, path.as_path()).map_err(|error| PluginError::io(path.as_path(), error))?;
        self.told();
        Ok(())
    }

    /// Checks what was written, and brings it onto the disk.
    ///
    /// # Errors
    ///
    /// [`PluginErrorKind::Empty`] where there is nothing to install, an error that names the symlink that leads
    /// nowhere, and where it cannot be read or synced.
    pub fn finish(self) -> Result<Staged, PluginError> {
        let is_something = |(_, what): &(EntryPath, Written)| !matches!(what, Written::Directory);
        if !self.written.values().any(is_something) {
            return Err(PluginError::new("the plugin", PluginErrorKind::Empty)
                .hint("expected files in skills/, recipes/ or hooks/ at the top of the source"));
        }
        let mut links: Vec<(&EntryPath, &Path)> = Vec::new();
        for (path, what) in self.written.values() {
            if let Written::Symlink(target) = what {
                links.push((path, target));
            }
        }
        links.sort();
        for (path, target) in links {
            // The kernel follows the whole way, beneath the tree.
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
        let wrong = |error: io::Error| PluginError::io(self.home.path(), error);
        sync(&self.tree).map_err(wrong)?;
        let digest = super::digest(&self.home.path().join(TREE))?;
        let (entries, bytes) = (self.usage.entries(), self.usage.bytes());
        self.observer.step(&Step::Staged);
        Ok(Staged { home: self.home, digest, entries, bytes })
    }

    fn is_installed(&self, path: &EntryPath) -> Result<(), PluginError> {
        if path.is_installed() {
            return Ok(());
        }
        Err(self.refuse(path.as_str(), "is not in skills/, recipes/ or hooks/: nothing else is installed"))
    }

    fn parents(&mut self, path: &EntryPath) -> Result<(), PluginError> {
        path.parent().map_or(Ok(()), |parent| self.directories(&parent))
    }

    /// A directory and those that it stands in, unless they are there.
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

    /// Counts one more entry, which nothing else may have the path of.
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
            "stands there twice".to_owned()
        } else {
            format!(
                "differs from {there} by the case of its letters only: on some systems these are one file"
            )
        };
        self.refuse(path.as_str(), why)
    }

    fn told(&self) {
        self.observer.step(&Step::Staging { entries: self.usage.entries(), bytes: self.usage.bytes() });
    }
}

impl Staged {
    /// The plugin, absolute. It holds `skills`, `recipes` and `hooks`.
    pub fn path(&self) -> PathBuf {
        self.home.path().join(TREE)
    }

    /// The digest of all of it: names, modes and bytes.
    pub fn digest(&self) -> &Digest {
        &self.digest
    }

    /// How many files, directories and symlinks it has.
    pub fn entries(&self) -> usize {
        self.entries
    }

    /// How many bytes its files have together.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The staging directory that it stands in.
    pub(super) fn into_staging(self) -> StagingDirectory {
        self.home
    }
}

/// Brings everything below a directory onto the disk.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn sync(dir: &Dir) -> io::Result<()> {
    // The directory itself was opened for its path only.
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
