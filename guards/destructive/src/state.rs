//! Files whose removal loses nothing in the present state of the disk.

use hookbox_judge::{PathKind, Preset, Scene};
use hookbox_shell::{Arg, Place, Run, Sort};

use crate::moved::{brings, earlier, is_made};

/// Parts of the names of directories that programs make. Names such as `data`, `results` and `output` are missing, because
/// people ignore them in git and keep work in them.
const MADE: &str = "build builds built cache caches dist target obj bin gen generated tmp temp venv";

/// The file by which a program marks a directory that it can make again (<https://bford.info/cachedir/>).
const CACHE_MARK: &str = "CACHEDIR.TAG";

/// Returns true if the files at a target are in a commit, are made again by a build, or were made by the agent in this
/// session. In doubt it is false.
pub(crate) fn is_excused(scene: &Scene<'_>, target: &Arg) -> bool {
    let paths = paths(scene, target);
    if paths.is_empty() {
        return false;
    }
    let is_here = scene.preset != Preset::Strict && scene.run.place == Place::Here;
    is_here && !earlier(scene).any(|it| brings(&it)) && paths.iter().all(|it| is_made(scene, it))
        || scene.is_excusable(makes_or_removes) && paths.iter().all(|it| is_replaceable(scene, it))
}

/// Returns the absolute paths of a target; of all files in a directory, that of the directory.
fn paths(scene: &Scene<'_>, target: &Arg) -> Vec<String> {
    match target.text.strip_suffix("/*") {
        Some(directory) if target.sort == Sort::Pattern && !directory.contains(['*', '?', '[', '{']) => {
            scene.absolute(&Arg::plain(directory))
        }
        _ => scene.absolute(target),
    }
}

/// Returns true if a commit has the files, or if git ignores a directory that a program makes.
fn is_replaceable(scene: &Scene<'_>, path: &str) -> bool {
    let Some(state) = scene.around.path(path) else { return false };
    let has_mark = || {
        let mark = format!("{path}/{CACHE_MARK}");
        let kind = scene.around.path(&mark).map(|it| it.kind);
        // A mark of the agent's own excuses nothing.
        kind == Some(PathKind::File) && !scene.around.is_made(&mark)
    };
    let is_built = state.kind == PathKind::Directory && state.ignored;
    state.is_committed() || is_built && (has_made_name(path) || has_mark())
}

/// Returns true for the name of a directory that a program makes, such as `build-arm64`.
fn has_made_name(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    let mut parts = name.split(['-', '_', '.']);
    parts.any(|part| MADE.split_ascii_whitespace().any(|it| part.eq_ignore_ascii_case(it)))
}

/// Returns true if a command adds no file that could be lost.
fn makes_or_removes(run: &Run) -> bool {
    matches!(run.program(), Some("rm" | "rmdir" | "mkdir" | "touch"))
}

#[cfg(test)]
mod tests {
    use hookbox_judge::{PathState, Settings, Surroundings, judge_in};

    use super::*;

    struct Disk;

    impl Surroundings for Disk {
        fn path(&self, path: &str) -> Option<PathState> {
            let (kind, tracked, changed, ignored) = match path.strip_prefix("/home/me/p/")? {
                "src" => (PathKind::Directory, true, false, false),
                "src/a.rs" => (PathKind::File, true, false, false),
                "docs" => (PathKind::Directory, true, true, false),
                "new" => (PathKind::Directory, false, false, false),
                "link" | "made/link" => (PathKind::Link, true, false, false),
                "new.txt" => (PathKind::File, false, false, false),
                made if made.split('/').next() == Some("made") => (PathKind::Directory, false, false, false),
                "build-arm64" | "app/Generated" | "data" | "marked" | "results" => {
                    (PathKind::Directory, false, false, true)
                }
                "absent" | "absent/a" => (PathKind::Missing, false, false, false),
                "marked/CACHEDIR.TAG" | ".env" => (PathKind::File, false, false, true),
                _ => return None,
            };
            Some(PathState { kind, id: None, tracked, changed, ignored })
        }

        fn is_made(&self, path: &str) -> bool {
            matches!(path, "/home/me/p/made" | "/home/me/p/new.txt")
        }
    }

    fn is_denied(line: &str, preset: Preset) -> bool {
        let settings = Settings { preset, ..Settings::default() };
        judge_in(line, Some("/home/me/p"), &settings, crate::rule, &Disk).is_some()
    }

    #[test]
    fn what_is_committed_built_or_made_may_be_removed() {
        for line in [
            "rm -rf src",
            "rm -rf ./src/",
            "rm -r src/*",
            "cd app && rm -rf ../src",
            "find src -type f -delete",
            "rm -rf build-arm64 app/Generated marked",
            "rm -rf marked/*",
            "rm -rf made",
            "rm -rf made/deep/er",
            "cd made && rm -rf x y",
            "rm -rf made/*",
            "rm -rf new.txt made src && npm test",
            "cp -r a made/ && rm -rf made",
            "mkdir -p x && rm -rf src",
            "mkdir -p absent/a && touch absent/a/b && rm -r absent",
            "mkdir absent; touch absent/b; rm -r absent",
            "python3 -c \"import shutil; shutil.rmtree('made')\"",
        ] {
            assert!(!is_denied(line, Preset::Standard), "{line}");
        }
        for line in [
            "rm -rf docs",
            "rm -rf new",
            "rm -rf link/",
            "rm -rf data",
            "rm -rf results/*",
            "rm -rf .env",
            "rm -rf .git",
            "rm -rf src docs",
            "rm -rf .",
            "rm -rf *",
            "rm -rf ../p",
            "rm -rf $X/made",
            "rm -rf made*",
            "rm -rf made-not",
            "rm -rf made/../new",
            "mkdir -p absent && mv src absent/ && rm -rf absent",
            "mkdir -p new/a && rm -rf new",
            "mv ~/work made/ && rm -rf made",
            "git mv docs made/ && rm -rf made",
            "rm -rf made/link/*",
            "rm -rf made/link/src",
            "git stash pop; rm -rf src",
            "make && rm -rf src",
            "ssh host rm -rf /home/me/p/made",
            "docker run -v /home/me/p:/home/me/p x rm -rf /home/me/p/made",
            "find -L src -delete",
            "find src docs -delete",
        ] {
            assert!(is_denied(line, Preset::Standard), "{line}");
        }
        for line in ["rm -rf src", "rm -rf made", "rm -rf build-arm64"] {
            assert!(is_denied(line, Preset::Strict), "{line}");
            assert!(!is_denied(line, Preset::Relaxed), "{line}");
        }
    }
}
