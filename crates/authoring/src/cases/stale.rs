//! Finds out if a component is older than the sources of its project.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The files that make a directory a project whose result is a component.
const PROJECTS: [&str; 3] = ["Cargo.toml", "hook.py", "package.json"];

/// The endings of sources.
const SOURCES: [&str; 7] = ["js", "mjs", "py", "rs", "toml", "ts", "wit"];

/// Directories without sources: the results of tools, and the tests.
const OTHERS: [&str; 7] = ["build", "cases", "dist", "node_modules", "target", "test", "tests"];

/// The largest number of sources that are looked at.
const MAX_SOURCES: usize = 10_000;

/// The deepest directory that is looked into.
const MAX_DEPTH: usize = 8;

/// Returns the newest source of a component's project, relative to the project, if it is newer than the component.
/// `None` if the component is not beside a project.
pub fn newer_source(hook: &Path) -> Option<PathBuf> {
    let dir = hook.parent()?;
    let is_component = hook.extension().is_some_and(|ending| ending == "wasm");
    if !is_component || !PROJECTS.iter().any(|name| dir.join(name).is_file()) {
        return None;
    }
    let built = hook.metadata().and_then(|metadata| metadata.modified()).ok()?;
    let mut sources = Vec::new();
    collect(dir, Path::new(""), &mut sources, MAX_DEPTH);
    newest_after(built, sources)
}

/// Returns the newest of these files, if it is newer than the build.
fn newest_after(built: SystemTime, files: Vec<(PathBuf, SystemTime)>) -> Option<PathBuf> {
    let newer = files.into_iter().filter(|(_, changed)| *changed > built);
    // If several have the same time, the first name counts.
    newer.max_by(|a, b| a.1.cmp(&b.1).then_with(|| b.0.cmp(&a.0))).map(|(path, _)| path)
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

/// Collects the sources, with the times of their last change. Nothing depends on those that cannot be read.
fn collect(dir: &Path, below: &Path, found: &mut Vec<(PathBuf, SystemTime)>, depth: usize) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let (name, Ok(kind)) = (entry.file_name(), entry.file_type()) else { continue };
        if kind.is_dir() && depth > 0 && has_sources(&name) {
            collect(&entry.path(), &below.join(&name), found, depth - 1);
        } else if kind.is_file()
            && is_source(&name)
            && found.len() < MAX_SOURCES
            && let Ok(changed) = entry.metadata().and_then(|metadata| metadata.modified())
        {
            found.push((below.join(&name), changed));
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
        let newest = |files: &[(&str, u64)]| {
            let files = files.iter().map(|(path, seconds)| (PathBuf::from(path), at(*seconds))).collect();
            newest_after(at(10), files)
        };
        for (files, want) in [
            (&[][..], None),
            (&[("src/lib.rs", 9)], None),
            (&[("src/lib.rs", 10)], None),
            (&[("src/lib.rs", 11)], Some("src/lib.rs")),
            (&[("a.rs", 11), ("b.rs", 13), ("c.rs", 12)], Some("b.rs")),
            (&[("b.rs", 11), ("a.rs", 11)], Some("a.rs")),
        ] {
            assert_eq!(newest(files), want.map(PathBuf::from), "{files:?}");
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
