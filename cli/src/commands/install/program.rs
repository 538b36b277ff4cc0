//! The program that agents run.
//!
//! A package manager may take this program away: `uvx` and `npx` run it from a cache, and an update removes a file before it
//! writes the next one. So agents run a copy, which only hookbox replaces.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::NAME;
use crate::error::InputError;

/// The copies of the program in the private data directory: `VERSION/hookbox`, and the link `hookbox` to the one that agents
/// run.
pub(super) struct Copies {
    directory: PathBuf,
}

impl Copies {
    /// Names the directory, and makes nothing.
    pub(super) fn new(data: &Path) -> Self {
        Self { directory: data.join("bin") }
    }

    /// Returns the path that agents run, which names the same version for all of them.
    pub(super) fn path(&self) -> PathBuf {
        self.directory.join(NAME)
    }

    /// Returns the version that agents run.
    pub(super) fn version(&self) -> Option<String> {
        let target = fs::read_link(self.path()).ok()?;
        target.parent()?.to_str().map(str::to_owned)
    }

    /// Makes this program the one that agents run. At no moment the path leads nowhere.
    ///
    /// # Errors
    ///
    /// An error of the system, or a copy that does not start, such as one in a directory without programs.
    pub(super) fn keep(&self) -> io::Result<()> {
        let own = std::env::current_exe()?.canonicalize()?;
        let version = self.directory.join(env!("CARGO_PKG_VERSION"));
        let copy = version.join(NAME);
        if !is_same(&own, &copy) {
            DirBuilder::new().recursive(true).mode(0o700).create(&version)?;
            place(&copy, |fresh| {
                // A second name of the file costs nothing, and is not possible on another file system.
                fs::hard_link(&own, fresh).or_else(|_| {
                    fs::copy(&own, fresh)?;
                    // After a power failure an empty program would answer no agent.
                    File::open(fresh)?.sync_all()
                })
            })?;
        }
        let starts =
            Command::new(&copy).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status()?;
        if !starts.success() {
            return Err(io::Error::other(format!("{} does not start: {starts}", copy.display())));
        }
        let target = Path::new(env!("CARGO_PKG_VERSION")).join(NAME);
        if fs::read_link(self.path()).is_ok_and(|it| it == target) {
            return Ok(());
        }
        place(&self.path(), |fresh| symlink(&target, fresh))
    }

    /// Removes the versions that nobody runs, but the current one and this other one. Returns their names.
    pub(super) fn prune(&self, other: Option<&str>) -> Vec<String> {
        let current = self.version();
        let mut gone = Vec::new();
        for entry in fs::read_dir(&self.directory).into_iter().flatten().filter_map(Result::ok) {
            let path = entry.path();
            let Ok(name) = entry.file_name().into_string() else { continue };
            let is_kept = [current.as_deref(), other].contains(&Some(&*name));
            if is_kept || !path.is_dir() || is_running(&path.join(NAME)) {
                continue;
            }
            if fs::remove_dir_all(&path).is_ok() {
                gone.push(name);
            }
        }
        gone
    }
}

/// Makes a file beside its place, and moves it there.
fn place(path: &Path, make: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
    let fresh = path.with_extension(format!("{}.new", std::process::id()));
    let _ = fs::remove_file(&fresh);
    let placed = make(&fresh).and_then(|()| fs::rename(&fresh, path));
    if placed.is_err() {
        let _ = fs::remove_file(&fresh);
    }
    placed
}

/// Returns true if the copy is this program: the same file, or the same bytes.
fn is_same(own: &Path, copy: &Path) -> bool {
    let (Ok(one), Ok(other)) = (fs::metadata(own), fs::metadata(copy)) else { return false };
    let is_one = (one.dev(), one.ino()) == (other.dev(), other.ino());
    let has_bytes = || fs::read(own).is_ok_and(|one| fs::read(copy).is_ok_and(|other| one == other));
    is_one || one.len() == other.len() && has_bytes()
}

/// Returns true if a process runs this program, as Linux lists them.
fn is_running(program: &Path) -> bool {
    let processes = fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    let mut programs = processes.filter_map(|it| fs::read_link(it.path().join("exe")).ok());
    programs.any(|it| it == program)
}

/// Returns the path of this program. The path on `PATH` comes first, if it is this program: a later version
/// will be there.
pub(super) fn own() -> anyhow::Result<String> {
    let real = std::env::current_exe()?.canonicalize()?;
    let on_path = on_path(NAME)
        .find(|path| path.is_absolute() && path.is_file())
        .filter(|path| path.canonicalize().is_ok_and(|it| it == real));
    text(on_path.unwrap_or(real))
}

/// Returns the path as text, as an entry has it.
pub(super) fn text(path: PathBuf) -> anyhow::Result<String> {
    path.into_os_string().into_string().map_err(|path| {
        let what = format!("expected a path in UTF-8, found {:?}", PathBuf::from(path));
        InputError::new(what, "give another one with --program").into()
    })
}

/// Returns the paths of a program in the directories of `PATH`.
pub(super) fn on_path(program: &str) -> impl Iterator<Item = PathBuf> {
    directories().into_iter().map(move |directory| directory.join(program))
}

/// Returns the directories of `PATH`.
pub(super) fn directories() -> Vec<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).collect()
}
