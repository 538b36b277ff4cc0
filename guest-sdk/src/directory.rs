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
/// ```no_run
/// let notes = std::fs::read_to_string(hookbox_sdk::directory("$REPO/docs")?.join("notes.md"))?;
/// # Ok::<(), hookbox_sdk::Error>(())
/// ```
///
/// # Errors
///
/// It is not a directory of a right: it starts with something else, or has `..` in it. A [native](crate::native) hook has no
/// such directories.
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
    Err(Error::needs_hookbox().within(right))
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
    fn only_a_directory_of_a_right_may_have_a_place() {
        for wrong in
            ["", "docs", "./docs", "$data", "$DATAx", "$REPO/../x", "$HOME//etc", "/a/../b", "~/x", "$TMP/x"]
        {
            let error = directory(wrong).unwrap_err().to_string();
            assert!(error.starts_with("expected an absolute path or"), "{wrong}: {error}");
        }
        for right in ["/", "/a/b", "$DATA", "$REPO/docs", "$HOME/notes"] {
            assert!(
                directory(right).unwrap_err().to_string().ends_with("run the hook as a component"),
                "{right}"
            );
        }
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
