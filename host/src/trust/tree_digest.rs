//! The digest of a directory: the names, modes and bytes of everything below it.

use std::collections::BTreeSet;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::hook::Digest;
use crate::lockfile::InstalledFiles;
use hookbox_system::files::{self, EntryKind, FileAccess};
use hookbox_system::text;

/// The number of files and directories that one digest covers.
pub const MAX_FILES: usize = 4096;

/// The number of bytes of files that one digest covers.
pub(super) const MAX_BYTES: u64 = 64 << 20;

/// The depth of directories within each other.
const MAX_DEPTH: usize = 64;

/// The endings of scripts, which run without an execute bit and a shebang if a program is told to run them.
const SCRIPTS: [&str; 18] = [
    "sh", "bash", "zsh", "fish", "py", "js", "mjs", "cjs", "ts", "mts", "cts", "rb", "pl", "php", "lua",
    "tcl", "r", "ps1",
];

/// The reason why the files of a hook have no digest, so that it cannot be trusted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TreeError {
    /// Too many files.
    #[error("more than {MAX_FILES} files belong to it, and hookbox cannot tell which of them it loads")]
    TooManyFiles,
    /// Too many bytes.
    #[error("more than {} MiB of files belong to it, and hookbox cannot tell which of them it loads", MAX_BYTES >> 20)]
    TooLarge,
    /// The files of all unapproved hooks together are more than their common allowance.
    #[error("the repository has too many files to examine all of them")]
    Spent,
    /// A symlink leads out of the repository, where its target may change unnoticed.
    #[error(
        "the symlink {path} leads out of the repository, and its contents may change unseen; put the file itself \
         into the repository, or name it by its own path"
    )]
    LeadsOut {
        /// The symlink, escaped.
        path: String,
    },
    /// The hook is a symlink to a file in the root of the repository, from where it may load any file.
    #[error(
        "the symlink {path} leads to a file in the root of the repository, which may load what all work there changes; \
         put that file into a directory of its own"
    )]
    AtRoot {
        /// The symlink, escaped.
        path: String,
    },
    /// A file cannot be read.
    #[error("{path} {why}")]
    Unreadable {
        /// The file, escaped.
        path: String,
        /// The reason, to be read after the path.
        why: String,
    },
}

/// The number of files and bytes that may still be read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowance {
    pub(super) files: usize,
    pub(super) bytes: u64,
    pub(super) over: fn(bool) -> TreeError,
}

impl Allowance {
    /// Returns the allowance of one hook.
    pub(crate) fn of_one() -> Self {
        let over = |files| if files { TreeError::TooManyFiles } else { TreeError::TooLarge };
        Self { files: MAX_FILES, bytes: MAX_BYTES, over }
    }

    /// Returns the common allowance of all hooks that the user has not approved: their digests are only shown, and an
    /// agent waits for them before its first event.
    pub(crate) fn of_unapproved() -> Self {
        Self { files: 2 * MAX_FILES, bytes: MAX_BYTES / 4, over: |_| TreeError::Spent }
    }

    pub(super) fn file(&mut self) -> Result<(), TreeError> {
        self.files = self.files.checked_sub(1).ok_or_else(|| (self.over)(true))?;
        Ok(())
    }

    pub(super) fn read(&mut self, len: u64) -> Result<(), TreeError> {
        self.bytes = self.bytes.checked_sub(len).ok_or_else(|| (self.over)(false))?;
        Ok(())
    }
}

/// Computes the digest of the installed files of a plugin's directory: at most `files` files and `bytes` bytes. Symlinks
/// are followed within it only; each counts with its target.
///
/// # Errors
///
/// [`TreeError`] if there is more, or if a file cannot be read.
pub fn of_plugin(
    dir: &Path,
    installed: InstalledFiles,
    files: usize,
    bytes: u64,
) -> Result<Digest, TreeError> {
    let allowance = &mut Allowance { files, bytes, ..Allowance::of_one() };
    let files = FileAccess::repository(dir).map_err(|error| unreadable(dir, &error))?;
    let covered = Covered { plugin: dir.to_owned(), installed: Arc::new(installed) };
    let mut walk = Walk { may_lead_out: true, ..Walk::new(&files, dir, allowance, &covered) };
    walk.entry(dir, 0)?;
    Ok(walk.fields.digest())
}

/// The files of a plugin that count in a digest: those that were installed, if they are known. A plugin may write a log
/// or its state beside itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Covered {
    /// The plugin's directory. All files elsewhere count.
    pub(crate) plugin: PathBuf,
    /// The files.
    pub(crate) installed: Arc<InstalledFiles>,
}

/// The digest of a directory in a repository.
#[derive(Clone, Debug)]
pub(super) struct TreeDigest {
    pub(super) digest: Digest,
    /// The directories, without symlinks, of the scripts that symlinks in the tree lead to.
    pub(super) script_dirs: BTreeSet<PathBuf>,
}

impl TreeDigest {
    pub(super) fn of(
        files: &FileAccess,
        dir: &Path,
        allowance: &mut Allowance,
        covered: &Covered,
    ) -> Result<Self, TreeError> {
        let mut walk = Walk::new(files, dir, allowance, covered);
        walk.entry(dir, 0)?;
        Ok(Self { digest: walk.fields.digest(), script_dirs: walk.script_dirs })
    }
}

/// A walk through a directory.
struct Walk<'a> {
    files: &'a FileAccess,
    base: &'a Path,
    allowance: &'a mut Allowance,
    covered: &'a Covered,
    fields: Fields,
    /// The directories that were entered, so that a symlink to one of them does not make the walk endless.
    entered: BTreeSet<PathBuf>,
    script_dirs: BTreeSet<PathBuf>,
    /// True if a symlink that leads out counts with its target's path alone.
    may_lead_out: bool,
}

impl<'a> Walk<'a> {
    fn new(
        files: &'a FileAccess,
        base: &'a Path,
        allowance: &'a mut Allowance,
        covered: &'a Covered,
    ) -> Self {
        let (fields, entered, script_dirs) = (Fields::default(), BTreeSet::new(), BTreeSet::new());
        Self { files, base, allowance, covered, fields, entered, script_dirs, may_lead_out: false }
    }

    /// Returns true if an entry counts.
    fn counts(&self, path: &Path) -> bool {
        let Covered { plugin, installed } = self.covered;
        // Below a symlink to a directory, the same files have other paths.
        let is_installed_really = || {
            let (real, plugin) = (self.files.canonicalize(path).ok()?, self.files.canonicalize(plugin).ok()?);
            Some(real.strip_prefix(plugin).is_ok_and(|path| installed.contains(path)))
        };
        path.strip_prefix(plugin).map_or(true, |path| installed.contains(path))
            || is_installed_really() == Some(true)
    }

    /// Adds the entry at a path, and everything below a directory.
    fn entry(&mut self, path: &Path, depth: usize) -> Result<(), TreeError> {
        self.allowance.file()?;
        self.fields.add("path", beneath(self.base, path).as_os_str().as_bytes());
        let is_symlink = self.files.is_symlink(path);
        if is_symlink {
            let target = self.files.read_link(path).unwrap_or_default();
            self.fields.add("link", target.as_os_str().as_bytes());
        }
        match self.files.entry_kind(path) {
            Ok(EntryKind::File { executable, len }) => {
                self.allowance.read(len)?;
                // A file that grows meanwhile is refused.
                let digest = self.files.digest(path, len).map_err(|error| unreadable(path, &error))?;
                self.fields.add(if executable { "program" } else { "file" }, digest.hex().as_bytes());
                if is_symlink && (executable || is_script(path)) {
                    let real = self.files.canonicalize(path).map_err(|error| unreadable(path, &error))?;
                    self.script_dirs.extend(real.parent().map(Path::to_owned));
                }
                Ok(())
            }
            Ok(EntryKind::Directory) => self.directory(path, depth),
            Ok(EntryKind::Special) => {
                self.fields.add("special", b"");
                Ok(())
            }
            Err(error) if files::is_escape(&error) && !self.may_lead_out => {
                Err(leads_out(self.files, self.base, path))
            }
            Err(error) if files::is_escape(&error) || error.kind() == io::ErrorKind::NotFound => {
                self.fields.add("elsewhere", b"");
                Ok(())
            }
            Err(error) => Err(unreadable(path, &error)),
        }
    }

    fn directory(&mut self, path: &Path, depth: usize) -> Result<(), TreeError> {
        let real = self.files.canonicalize(path).map_err(|error| unreadable(path, &error))?;
        if !self.entered.insert(real) {
            self.fields.add("again", b"");
            return Ok(());
        }
        let (mut names, has_more) = self.files.names(path).map_err(|error| unreadable(path, &error))?;
        if has_more || depth > MAX_DEPTH {
            return Err(TreeError::TooManyFiles);
        }
        names.retain(|name| self.counts(&path.join(name)));
        self.fields.add("directory", &(names.len() as u64).to_le_bytes());
        names.iter().try_for_each(|name| self.entry(&path.join(name), depth + 1))
    }
}

/// Fields to be digested, each with its length before it, so that no two lists of fields have the same bytes.
#[derive(Default)]
pub(super) struct Fields(Vec<u8>);

impl Fields {
    pub(super) fn add(&mut self, kind: &str, value: &[u8]) {
        for part in [kind.as_bytes(), value] {
            self.0.extend_from_slice(&(part.len() as u64).to_le_bytes());
            self.0.extend_from_slice(part);
        }
    }

    pub(super) fn digest(&self) -> Digest {
        Digest::of(&self.0)
    }
}

/// Returns true for a name with the ending of a script.
pub(crate) fn is_script(path: &Path) -> bool {
    let ending = path.extension().and_then(|it| it.to_str()).map(str::to_ascii_lowercase);
    ending.is_some_and(|it| SCRIPTS.contains(&it.as_str()))
}

pub(super) fn beneath<'a>(base: &Path, path: &'a Path) -> &'a Path {
    path.strip_prefix(base).unwrap_or(path)
}

/// Returns the error that names the symlink below `base` over which a path leads out of the repository.
pub(super) fn leads_out(files: &FileAccess, base: &Path, path: &Path) -> TreeError {
    let mut at = base.to_owned();
    for part in beneath(base, path) {
        at.push(part);
        if files.is_symlink(&at) && files.entry_kind(&at).is_err() {
            break;
        }
    }
    TreeError::LeadsOut { path: text::shown_path(&at) }
}

pub(super) fn unreadable(path: &Path, error: &io::Error) -> TreeError {
    TreeError::Unreadable { path: text::shown_path(path), why: files::explain(error) }
}
