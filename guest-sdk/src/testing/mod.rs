//! Runs the cases of a hook inside `cargo test`, without hookbox: the feature `testing`, for dev-dependencies.
//!
//! The cases are those of `hookbox test`: files `cases/*.toml` with events, and the answers that must come.
//! A debugger and a coverage tool see the hook's code, and a run takes milliseconds.
//!
//! ```no_run
//! # struct MyGuard;
//! # impl hookbox_sdk::Hook for MyGuard {
//! #     fn manifest() -> hookbox_sdk::Manifest { hookbox_sdk::Manifest::new("my-guard", "0.1.0", "Does nothing.") }
//! # }
//! # const _: &str = stringify!(
//! #[test]
//! # );
//! fn the_cases_pass() -> Result<(), hookbox_sdk::Error> {
//!     hookbox_sdk::testing::run::<MyGuard>("cases")
//! }
//! # the_cases_pass().unwrap();
//! ```
//!
//! A case is skipped if it has a key that needs the sandbox: `before`, `clock`, `environment`, `every`, `files`, `http`,
//! `expect.files`, `expect.fuel`, `expect.memory`, `expect.requests`, a cause of failure that only the host finds, or a grant
//! other than `store` and `conversation`. The output names it and the key. `hookbox test` runs it.
//!
//! Two things differ from the sandbox:
//!
//! * The facts of a tool call come from the smaller table of [`native`](crate::native).
//! * Settings are checked by the hook itself, and not against its JSON Schema.

mod came;
mod case;
mod compare;
pub(crate) mod surroundings;

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use self::case::Case;
use crate::{Error, Hook};

/// Runs the cases of a file, or of each `*.toml` in a directory. A relative path begins at the package: cargo runs a test there.
///
/// The result is an error so that a test can return it; its text is the differences, as `hookbox test` shows them. Standard
/// output gets a line for each case that is skipped, and the numbers.
///
/// # Errors
///
/// A case fails; a file is wrong; or no case runs, which would prove nothing.
pub fn run<H: Hook>(cases: impl AsRef<Path>) -> Result<(), Error> {
    let summary = play::<H>(cases.as_ref())?;
    let output = summary.text();
    println!("{output}");
    match (summary.failed, summary.passed) {
        (0, 0) => Err(Error::new(format!("no case ran\n{output}"))),
        (0, _) => Ok(()),
        (_, _) => Err(Error::new(format!("a case failed\n{output}"))),
    }
}

/// The result of a run.
#[derive(Debug, Default)]
struct Summary {
    passed: usize,
    failed: usize,
    skipped: Vec<String>,
    differences: String,
}

impl Summary {
    fn text(&self) -> String {
        let mut text = self.differences.clone();
        for line in &self.skipped {
            let _ = write!(text, "\n{line}");
        }
        let _ = write!(text, "\n{} passed, {} failed", self.passed, self.failed);
        if !self.skipped.is_empty() {
            let _ = write!(text, ", {} skipped", self.skipped.len());
        }
        text
    }
}

fn play<H: Hook>(path: &Path) -> Result<Summary, Error> {
    let mut summary = Summary::default();
    for file in files(path)? {
        for case in case::read(&file)? {
            play_case::<H>(&file, &case, &mut summary)?;
        }
    }
    Ok(summary)
}

fn play_case<H: Hook>(file: &Path, case: &Case, summary: &mut Summary) -> Result<(), Error> {
    let place = format!("{}, line {}: {}", file.display(), case.line, escape(&case.name));
    if let Some(key) = &case.needs_sandbox {
        summary.skipped.push(format!("skipped: {place}: `{}` needs `hookbox test`", escape(key)));
        return Ok(());
    }
    let came = came::play::<H>(case).map_err(|error| error.within(&place))?;
    let differences = compare::compare(case, &came);
    if differences.is_empty() {
        summary.passed += 1;
        return Ok(());
    }
    summary.failed += 1;
    let text = &mut summary.differences;
    let _ = write!(text, "\n{place}");
    for difference in differences {
        let _ = write!(text, "\n  {}", escape(&difference.what));
        for (sign, line) in difference.lines() {
            let _ = write!(text, "\n    {sign} {}", escape(&line));
        }
    }
    text.push('\n');
    Ok(())
}

/// Returns the case files, in the order of their names.
fn files(path: &Path) -> Result<Vec<PathBuf>, Error> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut found = Vec::new();
    for entry in path.read_dir().map_err(|error| Error::from(error).within(path.display()))? {
        let file = entry?.path();
        if file.extension() == Some(OsStr::new("toml")) && file.is_file() {
            found.push(file);
        }
    }
    found.sort();
    Ok(found)
}

/// Returns a text without control characters, which a terminal would obey.
fn escape(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        if c.is_control() { escaped.extend(c.escape_default()) } else { escaped.push(c) }
    }
    escaped
}

#[cfg(test)]
mod tests;
