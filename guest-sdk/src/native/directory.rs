//! The directories that a right can name, without the host.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use crate::Error;

/// The entries that make a directory a repository.
const REPOSITORY: [&str; 3] = [".git", ".hookbox", ".kodelet"];

/// Returns the directory of `$REPO`, `$HOME` or `$DATA`, or the root for an empty name.
pub(crate) fn base(name: &str) -> Result<PathBuf, Error> {
    match name {
        "$HOME" => home(),
        "$REPO" => Ok(repository(&env::current_dir()?)),
        "$DATA" => data(),
        _ => Ok(PathBuf::from("/")),
    }
}

fn home() -> Result<PathBuf, Error> {
    absolute("HOME").ok_or_else(|| Error::new("expected an absolute path in the variable HOME"))
}

/// A variable with an absolute path.
fn absolute(name: &str) -> Option<PathBuf> {
    env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute())
}

fn repository(from: &Path) -> PathBuf {
    let is_one = |dir: &&Path| REPOSITORY.iter().any(|name| dir.join(name).exists());
    from.ancestors().find(is_one).unwrap_or(from).to_owned()
}

fn data() -> Result<PathBuf, Error> {
    if let Some(dir) = crate::testing::surroundings::data() {
        return Ok(dir);
    }
    let share = match absolute("XDG_DATA_HOME") {
        Some(share) => share,
        None => home()?.join(".local/share"),
    };
    let dir = share.join("hookbox/native").join(program()?);
    create(&dir).map_err(|error| Error::from(error).within(dir.display()))?;
    Ok(dir)
}

/// The name under which this program was started.
fn program() -> Result<OsString, Error> {
    let started = env::args_os().next().map(PathBuf::from);
    let name = started.as_deref().and_then(Path::file_name);
    name.map(OsString::from).ok_or_else(|| Error::new("this program has no name"))
}

/// Creates a directory and its missing parents, for this user only.
fn create(dir: &Path) -> std::io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_is_the_nearest_directory_above_that_looks_like_one() {
        let dir = env::temp_dir().join(format!("hookbox-sdk-repository-{}", std::process::id()));
        let inner = dir.join("a/b/c");
        fs::create_dir_all(&inner).unwrap();
        assert_eq!(repository(Path::new("/no/such/place")), Path::new("/no/such/place"));
        for (marker, found) in
            [(".git", &dir), ("a/.hookbox", &dir.join("a")), ("a/b/.kodelet", &dir.join("a/b"))]
        {
            fs::create_dir(dir.join(marker)).unwrap();
            assert_eq!(&repository(&inner), found, "{marker}");
        }
        fs::remove_dir_all(&dir).unwrap();
    }
}
