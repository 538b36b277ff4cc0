//! Finds case files, and the hook that each is for.

use std::cmp::Reverse;
use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use std::{fs, io};

use super::case::CaseFile;
use super::error::{CaseError, CaseErrorKind};

/// The directory with case files, beside the hook.
const DIRECTORY: &str = "cases";

/// The ending of a hook that is a file of rules, not of cases.
const RULES: &str = ".rules.toml";

/// The files that declare hooks, in the directory beside the cases.
const DECLARING: [&str; 7] = [
    "hooks.json",
    "mcp.json",
    "hooks/hooks.json",
    ".hookbox/hooks.json",
    ".hookbox/mcp.json",
    ".kodelet/hooks.json",
    ".kodelet/mcp.json",
];

/// A case file, with its hook.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The case file.
    pub file: CaseFile,
    /// The hook, absolute.
    pub hook: PathBuf,
}

/// Finds the cases of a directory, of a case file, or of a hook. `hook` is used instead of those beside the cases.
///
/// # Errors
///
/// [`CaseError`] if there are no cases, if a case file is wrong, or if its hook is not clear.
pub fn find(path: &Path, hook: Option<&Path>) -> Result<Vec<Found>, CaseError> {
    let metadata = fs::metadata(path).map_err(|error| CaseErrorKind::Io(error).at(path))?;
    let hook = hook.map(absolute).transpose()?;
    if metadata.is_dir() {
        let below = if path == Path::new(".") { DIRECTORY.into() } else { path.join(DIRECTORY) };
        let dir = if below.is_dir() { below } else { path.to_owned() };
        let files = files_in(&dir).map_err(|error| CaseErrorKind::Io(error).at(&dir))?;
        if files.is_empty() || !is_directory_of_cases(&dir) {
            return Err(CaseErrorKind::no_cases().at(path));
        }
        return files.iter().map(|file| found(file, hook.as_deref())).collect();
    }
    if is_case_file(path) {
        return Ok(vec![found(path, hook.as_deref())?]);
    }
    // A hook: the cases beside it that are for it.
    let hook = absolute(path)?;
    let dir = hook.parent().unwrap_or(&hook).join(DIRECTORY);
    let files = files_in(&dir).unwrap_or_default();
    let mut all = Vec::new();
    for file in &files {
        match found(file, None) {
            Ok(found) if found.hook == hook => all.push(found),
            // It may be for this hook.
            Err(error) if !error.is_of_hook() => return Err(error),
            _ => {}
        }
    }
    if all.is_empty() {
        return Err(CaseErrorKind::no_cases().at(path));
    }
    Ok(all)
}

fn is_directory_of_cases(dir: &Path) -> bool {
    let absolute = std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned());
    absolute.file_name().is_some_and(|name| name == DIRECTORY)
}

fn is_case_file(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // Editors keep hidden files.
    name.ends_with(".toml") && !name.ends_with(RULES) && !name.starts_with('.')
}

/// Returns the case files of a directory, sorted. One that is not a regular file is an error when it is read.
fn files_in(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        if is_case_file(&path) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn absolute(path: &Path) -> Result<PathBuf, CaseError> {
    let at = |error| CaseErrorKind::Io(error).at(path);
    let parent = path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = path.file_name().ok_or_else(|| at(io::ErrorKind::IsADirectory.into()))?;
    let absolute = parent.canonicalize().map_err(at)?.join(name);
    if !absolute.metadata().map_err(at)?.is_file() {
        return Err(at(io::ErrorKind::IsADirectory.into()));
    }
    Ok(absolute)
}

fn found(file: &Path, hook: Option<&Path>) -> Result<Found, CaseError> {
    let file = CaseFile::read(file)?;
    let hook = match hook {
        Some(hook) => hook.to_owned(),
        None => hook_of(&file)?,
    };
    Ok(Found { file, hook })
}

/// Returns the hook that a case file names, else the one beside it with its name, else the only one.
fn hook_of(file: &CaseFile) -> Result<PathBuf, CaseError> {
    let unclear = |message, hint| CaseErrorKind::Hook { message, hint }.at(&file.path);
    let dir = file.path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let dir = dir.canonicalize().map_err(|error| CaseErrorKind::Io(error).at(&file.path))?;
    let base = if is_directory_of_cases(&dir) { dir.parent().unwrap_or(&dir) } else { &dir };
    if let Some(named) = &file.hook {
        return absolute(&base.join(named)).map_err(|_| {
            let message = format!("names the hook {}, which does not exist", named.display());
            unclear(message, "build it, or name another one: --hook FILE")
        });
    }
    let all = hooks_in(base).map_err(|error| CaseErrorKind::Io(error).at(base))?;
    let stem = file.path.file_stem().unwrap_or_default().to_string_lossy();
    let is_called = |path: &&PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.strip_prefix(&*stem).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let called: Vec<&PathBuf> = all.iter().filter(is_called).collect();
    match (called.as_slice(), all.as_slice()) {
        ([hook], _) => Ok((*hook).clone()),
        ([], [hook]) => Ok(hook.clone()),
        ([], []) => Err(unclear(
            "no hook is beside these cases".to_owned(),
            "build the hook into this directory, or name it: --hook FILE, or `hook = \"…\"` in the case file",
        )),
        _ => {
            let shown = |path: &PathBuf| path.strip_prefix(base).unwrap_or(path).display().to_string();
            let names: Vec<String> = all.iter().take(8).map(shown).collect();
            Err(unclear(
                format!("several hooks are beside these cases: {}", names.join(", ")),
                "give the case file the name of its hook, or name the hook: `hook = \"…\"` in the case file",
            ))
        }
    }
}

/// Returns the files of a directory that may be hooks.
fn hooks_in(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut hooks: Vec<PathBuf> =
        DECLARING.iter().map(|name| dir.join(name)).filter(|it| it.is_file()).collect();
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Ok(metadata) = path.metadata() else { continue };
        let is_executable = metadata.permissions().mode() & 0o111 != 0;
        let is_hook = is_executable || name.ends_with(".wasm") || name.ends_with(RULES);
        if metadata.is_file() && is_hook && !hooks.contains(&path) {
            hooks.push(path);
        }
    }
    hooks.sort();
    Ok(hooks)
}

/// The files that make a directory a project whose result is a component.
const PROJECTS: [&str; 3] = ["Cargo.toml", "hook.py", "package.json"];

/// The endings of sources.
const SOURCES: [&str; 7] = ["js", "mjs", "py", "rs", "toml", "ts", "wit"];

/// Directories without sources: the results of tools, and the tests.
const OTHERS: [&str; 7] = ["build", "cases", "dist", "node_modules", "target", "test", "tests"];

/// Returns the newest source of a component's project, relative to the project, if it is newer than the component.
/// `None` if the component is not beside a project. Of sources with the same time, the first name counts.
pub fn newer_source(hook: &Path) -> Option<PathBuf> {
    let dir = hook.parent()?;
    let is_component = hook.extension().is_some_and(|ending| ending == "wasm");
    if !is_component || !PROJECTS.iter().any(|name| dir.join(name).is_file()) {
        return None;
    }
    let built = hook.metadata().and_then(|metadata| metadata.modified()).ok()?;
    let mut newest = (built, Reverse(PathBuf::new()));
    find_newest(dir, Path::new(""), &mut newest);
    (newest.0 > built).then_some(newest.1.0)
}

/// Returns true for the name of a directory that may contain sources.
fn has_sources(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    !name.starts_with('.') && !name.starts_with("__") && !OTHERS.contains(&name.as_ref())
}

/// Returns true for the name of a source. A test is not a part of the component.
fn is_source(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    let (stem, ending) = name.rsplit_once('.').unwrap_or_default();
    let is_other = name.starts_with('.') || stem.starts_with("test_") || stem.ends_with(".test");
    let is_data = name == "package.json" || name == "settings.schema.json";
    is_data || (SOURCES.contains(&ending) && !is_other)
}

/// Finds the newest source, by the time of its last change and its path. Nothing depends on those that cannot be read.
fn find_newest(dir: &Path, below: &Path, newest: &mut (SystemTime, Reverse<PathBuf>)) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let (name, Ok(kind)) = (entry.file_name(), entry.file_type()) else { continue };
        let path = below.join(&name);
        if kind.is_dir() && has_sources(&name) {
            find_newest(&entry.path(), &path, newest);
        } else if kind.is_file()
            && is_source(&name)
            && let Ok(changed) = entry.metadata().and_then(|metadata| metadata.modified())
            && (changed, Reverse(&path)) > (newest.0, Reverse(&newest.1.0))
        {
            *newest = (changed, Reverse(path));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::Duration;

    use super::*;

    fn at(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000 + seconds)
    }

    #[test]
    fn the_newest_source_after_the_build_is_named() {
        for (files, want) in [
            (&[][..], None),
            (&[("src/lib.rs", 9)], None),
            (&[("src/lib.rs", 10)], None),
            (&[("src/lib.rs", 11)], Some("src/lib.rs")),
            (&[("a.rs", 11), ("b.rs", 13), ("c.rs", 12)], Some("b.rs")),
            (&[("b.rs", 11), ("a.rs", 11)], Some("a.rs")),
        ] {
            let temp = tempfile::tempdir().unwrap();
            for (path, seconds) in files.iter().chain(&[("x.wasm", 10), ("Cargo.toml", 0)]) {
                let path = temp.path().join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                File::create(&path).unwrap().set_modified(at(*seconds)).unwrap();
            }
            assert_eq!(newer_source(&temp.path().join("x.wasm")), want.map(PathBuf::from), "{files:?}");
        }
    }

    #[test]
    fn only_sources_of_a_project_count() {
        let temp = tempfile::tempdir().unwrap();
        let write = |path: &str, seconds: u64| {
            let path = temp.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            File::create(&path).unwrap().set_modified(at(seconds)).unwrap();
            path
        };
        let hook = write("guard.wasm", 10);
        write("src/lib.rs", 20);
        assert_eq!(newer_source(&hook), None, "there is no project");
        write("Cargo.toml", 5);
        assert_eq!(newer_source(&hook), Some("src/lib.rs".into()));
        for path in [
            "target/a.rs",
            ".git/a.rs",
            "cases/guard.toml",
            "__pycache__/a.py",
            "README.md",
            "b.wasm",
            "test_hook.py",
            "src/hook.test.js",
            "test/hook.js",
            "tests/cases.rs",
        ] {
            write(path, 30);
        }
        assert_eq!(newer_source(&hook), Some("src/lib.rs".into()));
        write("guard.wasm", 21);
        assert_eq!(newer_source(&hook), None);
        assert_eq!(newer_source(&write("guard", 10)), None, "a script is not built");
    }
}
