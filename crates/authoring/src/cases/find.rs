//! Finds case files, and the hook that each is for.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

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
            return Err(CaseErrorKind::NoCases.at(path));
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
        return Err(CaseErrorKind::NoCases.at(path));
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
    let dir = file.path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let dir = dir.canonicalize().map_err(|error| CaseErrorKind::Io(error).at(&file.path))?;
    let base = if is_directory_of_cases(&dir) { dir.parent().unwrap_or(&dir) } else { &dir };
    if let Some(named) = &file.hook {
        let missing = || CaseErrorKind::MissingHook(named.display().to_string()).at(&file.path);
        return absolute(&base.join(named)).map_err(|_| missing());
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
        ([], []) => Err(CaseErrorKind::NoHook.at(&file.path)),
        _ => {
            let shown = |path: &PathBuf| path.strip_prefix(base).unwrap_or(path).display().to_string();
            Err(CaseErrorKind::ManyHooks(all.iter().take(8).map(shown).collect()).at(&file.path))
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
