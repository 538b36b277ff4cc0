//! The paths of granted directories.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Component, Path, PathBuf};

use crate::Error;

/// Returns the path of a directory for [`std::fs`]: the directory of a right as in the manifest (`$DATA`,
/// `$REPO/docs`, `$HOME/notes`, `/var/log/agent`), or one below it.
///
/// A component can open it only if the right was granted; else opening a file in it is an error. A granted
/// directory is open under its absolute path as well. So the [`cwd`](crate::Context::cwd) of the context and
/// the paths of a tool call can be opened unchanged if they are in it.
///
/// In a native hook `$HOME` is the variable `HOME`; `$REPO` is the nearest ancestor of the current directory
/// with `.git`, `.hookbox` or `.kodelet`, else the current directory; and `$DATA` is
/// `$XDG_DATA_HOME/hookbox/native/NAME` for a program NAME, which is created for its user only.
///
/// ```
/// use std::path::Path;
///
/// assert_eq!(hookbox_sdk::directory("/var/log/agent")?, Path::new("/var/log/agent"));
/// assert!(hookbox_sdk::directory("$REPO/docs")?.ends_with("docs"));
/// assert!(hookbox_sdk::directory("$HOME/../etc").is_err());
/// # Ok::<(), hookbox_sdk::Error>(())
/// ```
///
/// # Errors
///
/// It is not a directory of a right: it starts with something else, or has `..` in it. In a native hook also:
/// a variable is not set, or the directory of the data cannot be created.
pub fn directory(right: &str) -> Result<PathBuf, Error> {
    let (base, below) = right.split_once('/').unwrap_or((right, ""));
    let known = matches!(base, "" | "$REPO" | "$HOME" | "$DATA") && !right.is_empty();
    let plain = |part: Component<'_>| matches!(part, Component::Normal(_));
    let below = Path::new(below);
    if !known || !below.components().all(plain) {
        return Err(Error::new(format!(
            "expected an absolute path or one that starts with $REPO, $HOME or $DATA, without `..`, found {right:?}"
        )));
    }
    #[cfg(target_arch = "wasm32")]
    return Ok(PathBuf::from(right));
    #[cfg(not(target_arch = "wasm32"))]
    crate::native::directory::base(base)
        .map(|base| if below == Path::new("") { base } else { base.join(below) })
}

/// Appends a line to a file, in one write, so that the lines of several writers do not mix. The file is
/// created if it does not exist, and the line end is added. A component writes at most 4096 bytes at once.
///
/// # Errors
///
/// The file cannot be opened or written, for example because the right was not granted; or only a part of the
/// line was written, because it is too long.
pub fn append_line(path: impl AsRef<Path>, line: &str) -> Result<(), Error> {
    let mut file = OpenOptions::new().append(true).create(true).open(path)?;
    let line = format!("{line}\n");
    let written = file.write(line.as_bytes())?;
    if written == line.len() { Ok(()) } else { Err(Error::new("only a part of the line was written")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_directory_of_a_right_has_a_place() {
        for wrong in
            ["", "docs", "./docs", "$data", "$DATAx", "$REPO/../x", "$HOME//etc", "/a/../b", "~/x", "$TMP/x"]
        {
            let error = directory(wrong).unwrap_err().to_string();
            assert!(error.starts_with("expected an absolute path or"), "{wrong}: {error}");
        }
        assert_eq!(directory("/").unwrap(), Path::new("/"));
        assert_eq!(directory("/a/b").unwrap(), Path::new("/a/b"));
    }

    #[test]
    fn a_line_comes_after_those_that_are_there() {
        let path = std::env::temp_dir().join(format!("hookbox-sdk-line-{}", std::process::id()));
        append_line(&path, "one").unwrap();
        append_line(&path, "two").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\ntwo\n");
        std::fs::remove_file(&path).unwrap();
    }
}
