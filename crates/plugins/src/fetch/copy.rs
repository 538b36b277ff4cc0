//! Copying a local directory.
//!
//! Every entry is opened below its directory (cap-std), so that nothing outside of the source is read.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, FileTypeExt as _, MetadataExt as _, OpenOptions, OpenOptionsExt as _};
use rustix::fs::OFlags;

use crate::{EntryPath, LOCK_FILE, PluginError, PluginErrorKind, Stage};
use hookbox_system::text;

/// The bits of a file's mode that give rights to the user who runs it: set-user-ID, set-group-ID, and the
/// sticky bit. On a directory they have another meaning, and are not copied.
const SPECIAL_BITS: u32 = 0o7000;

/// The repository of git at the top of a source, and in a work tree the file that names it.
const GIT: &str = ".git";

/// Copies the directory.
pub(super) fn copy(path: &Path, stage: &mut Stage<'_>) -> Result<(), PluginError> {
    let wrong = |error: io::Error| {
        let kind = match error.kind() {
            io::ErrorKind::NotFound => PluginErrorKind::Fetch("does not exist".to_owned()),
            io::ErrorKind::NotADirectory => PluginErrorKind::Fetch("is not a directory".to_owned()),
            _ => error.into(),
        };
        PluginError::new(path.to_string_lossy(), kind)
            .hint("expected a directory with skills/, recipes/ or hooks/")
    };
    let top = Dir::open_ambient_dir(path, ambient_authority()).map_err(wrong)?;
    let is_repository = top.symlink_metadata(GIT).is_ok();
    let mut copy = Copy { own: own(stage.scratch()), stage };
    copy.below(&top, None).map_err(|error| match error.kind {
        // A working directory has more than what its author publishes: built files, virtual environments.
        PluginErrorKind::TooLarge(_) | PluginErrorKind::Hostile(_) if is_repository => {
            let url = text::escape(&text::shell_word(&format!("file://{}", path.to_string_lossy())), 4096);
            let hint = "nothing of the plugin was installed; to install only what git has committed, give";
            error.hint(format!("{hint} {url}"))
        }
        _ => error,
    })
}

/// Returns device and inode of hookbox's own files, which may be in the source: the root, its plugins and its lock file.
fn own(scratch: &Path) -> Vec<(u64, u64)> {
    let Some(plugins) = scratch.parent() else { return Vec::new() };
    let root = plugins.parent().unwrap_or(plugins);
    let all = [root, plugins, &root.join(LOCK_FILE)].map(|path| fs::metadata(path).ok());
    all.into_iter().flatten().map(|it| (it.dev(), it.ino())).collect()
}

/// A copy under way.
struct Copy<'a, 'b> {
    stage: &'a mut Stage<'b>,
    /// The device and inode of each entry that is left out.
    own: Vec<(u64, u64)>,
}

impl Copy<'_, '_> {
    fn entry(&mut self, dir: &Dir, name: &OsStr, path: &EntryPath) -> Result<(), PluginError> {
        let wrong = |error| unreadable(path, error);
        let about = dir.symlink_metadata(name).map_err(wrong)?;
        let kind = about.file_type();
        if self.own.contains(&(about.dev(), about.ino())) {
            Ok(())
        } else if kind.is_symlink() {
            let target = dir.read_link_contents(name).map_err(wrong)?;
            self.stage.symlink(path, &target)
        } else if kind.is_dir() {
            self.directory(dir, name, path)
        } else if kind.is_file() {
            self.file(dir, name, path)
        } else {
            let what = if kind.is_fifo() {
                "a named pipe"
            } else if kind.is_socket() {
                "a socket"
            } else {
                "a device"
            };
            let why = format!("is {what}: expected files, directories and symlinks");
            Err(self.stage.refuse(path.as_str(), why))
        }
    }

    /// Copies a directory. The depth of this recursion is limited by that of a path.
    fn directory(&mut self, above: &Dir, name: &OsStr, path: &EntryPath) -> Result<(), PluginError> {
        let wrong = |error| unreadable(path, error);
        // A symlink that has replaced the directory meanwhile cannot lead out of the one above.
        let dir = above.open_dir(name).map_err(wrong)?;
        self.stage.directory(path)?;
        self.below(&dir, Some(path))
    }

    /// Copies the entries of a directory; without a path, of the top.
    fn below(&mut self, dir: &Dir, path: Option<&EntryPath>) -> Result<(), PluginError> {
        let shown = path.map_or("the directory", EntryPath::as_str);
        let wrong = |error| match path {
            Some(path) => unreadable(path, error),
            None => PluginError::io(shown, error),
        };
        let most = self.stage.limits().entries;
        let mut names = Vec::new();
        for entry in dir.entries().map_err(wrong)?.take(most.saturating_add(1)) {
            names.push(entry.map_err(wrong)?.file_name());
        }
        if names.len() > most {
            let what = format!("has too many entries: a plugin may have {most} files and directories");
            return Err(PluginError::new(shown, PluginErrorKind::TooLarge(what))
                .hint("nothing of the plugin was installed; its author has to make it smaller"));
        }
        names.sort();
        for name in names.iter().filter(|name| path.is_some() || *name != GIT) {
            let below = match path {
                Some(path) => [path.as_str().as_bytes(), b"/", name.as_bytes()].concat(),
                None => name.as_bytes().to_vec(),
            };
            let below = self.stage.path(&below)?;
            self.entry(dir, name, &below)?;
        }
        Ok(())
    }

    fn file(&mut self, dir: &Dir, name: &OsStr, path: &EntryPath) -> Result<(), PluginError> {
        let wrong = |error| unreadable(path, error);
        let mut options = OpenOptions::new();
        // A pipe that has replaced the file meanwhile must not block.
        options.read(true).custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed());
        let file = dir.open_with(name, &options).map_err(wrong)?;
        let before = file.metadata().map_err(wrong)?;
        if !before.is_file() {
            return Err(changed(path));
        }
        let mode = before.mode();
        if mode & SPECIAL_BITS != 0 {
            let why = format!(
                "has the mode {:04o}: expected no set-user-ID, set-group-ID and sticky bit",
                mode & 0o7777
            );
            return Err(self.stage.refuse(path.as_str(), why));
        }
        let written = self.stage.file(path, mode & 0o111 != 0, Some(before.len()), &file);
        let after = file.metadata().map_err(wrong)?;
        let state = |it: &cap_std::fs::Metadata| (it.mode(), it.len(), it.mtime(), it.mtime_nsec());
        if state(&before) != state(&after) {
            return Err(changed(path));
        }
        written
    }
}

/// Returns the error about an entry that changed meanwhile.
fn changed(path: &EntryPath) -> PluginError {
    PluginError::new(path.as_str(), PluginErrorKind::Fetch("changed while it was copied".to_owned()))
        .hint("try again when nothing writes there")
}

fn unreadable(path: &EntryPath, error: io::Error) -> PluginError {
    match error.kind() {
        io::ErrorKind::NotFound => changed(path),
        _ => PluginError::io(path.as_path(), error),
    }
}
