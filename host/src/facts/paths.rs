//! The paths of a file tool, resolved the way the kernel would.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};

use hookbox_calls::named;
use serde_json::Value;

use crate::event::ResolvedPath;
use hookbox_system::limits;

/// The most symlinks that one path may lead over (Linux: `MAXSYMLINKS`).
const MAX_LINKS: usize = 40;

/// The most directory entries that are read for one call, so that a hostile input costs milliseconds.
const MAX_LOOKUPS: usize = 16 * 1024;

/// The paths that `input` of a file tool with this name holds, each once.
pub(super) fn of(tool: &str, input: &Value, cwd: &Path, home: Option<&Path>) -> Vec<ResolvedPath> {
    let named = named(tool, input);
    let mut walk = Walk { lookups: MAX_LOOKUPS };
    // A directory that is not known holds nothing.
    let base = std::path::absolute(cwd).ok();
    let root = base.as_deref().and_then(|base| walk.resolve(base).whole());
    let start = base.unwrap_or_else(|| PathBuf::from("/"));
    let mut paths: Vec<ResolvedPath> = Vec::new();
    for name in named {
        let resolved = walk.resolve(&start.join(expand(name, home)));
        let inside = resolved.complete && root.as_ref().is_some_and(|root| resolved.path.starts_with(root));
        let path = ResolvedPath { path: resolved.path.to_string_lossy().into_owned(), inside };
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    paths
}

/// Expands `~` and `~/…` as a shell does.
pub(crate) fn expand(path: &str, home: Option<&Path>) -> PathBuf {
    match (path.strip_prefix('~'), home) {
        (Some(""), Some(home)) => home.to_owned(),
        (Some(rest), Some(home)) if rest.starts_with('/') => home.join(rest.trim_start_matches('/')),
        _ => PathBuf::from(path),
    }
}

/// A path that was followed, and whether to its end.
struct Resolved {
    path: PathBuf,
    complete: bool,
}

impl Resolved {
    fn whole(self) -> Option<PathBuf> {
        self.complete.then_some(self.path)
    }
}

/// Follows paths, with one allowance for all of them.
struct Walk {
    lookups: usize,
}

impl Walk {
    /// Follows an absolute path component by component: a symlink is followed before the `..` after it is taken
    /// away, also one whose target is missing. What does not exist is appended as it stands.
    fn resolve(&mut self, path: &Path) -> Resolved {
        let mut complete = path.as_os_str().len() < limits::PATH;
        let mut links = MAX_LINKS;
        let mut todo: VecDeque<Step> = path.components().filter_map(to_step).collect();
        let mut at = PathBuf::from("/");
        while let Some(step) = todo.pop_front() {
            match step {
                Step::Root => at = PathBuf::from("/"),
                Step::Up => {
                    at.pop();
                }
                Step::Down(name) => {
                    at.push(name);
                    if !complete {
                        continue;
                    }
                    let Some(left) = self.lookups.checked_sub(1) else {
                        complete = false;
                        continue;
                    };
                    self.lookups = left;
                    // Only a symlink can be read as one; anything else, and what is missing, stays as it is.
                    let Ok(target) = fs::read_link(&at) else { continue };
                    if links == 0 {
                        complete = false;
                        continue;
                    }
                    links -= 1;
                    at.pop();
                    for next in target.components().rev().filter_map(to_step) {
                        todo.push_front(next);
                    }
                }
            }
        }
        Resolved { path: at, complete }
    }
}

/// One step of a walk.
enum Step {
    Root,
    Up,
    Down(OsString),
}

fn to_step(component: Component<'_>) -> Option<Step> {
    match component {
        Component::RootDir => Some(Step::Root),
        Component::ParentDir => Some(Step::Up),
        Component::Normal(name) => Some(Step::Down(name.to_owned())),
        Component::CurDir | Component::Prefix(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use serde_json::json;

    /// `work` is the directory of the agent, `away` lies beside it; links lead here and there.
    fn house() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("work/src")).unwrap();
        fs::create_dir_all(root.join("away/deep")).unwrap();
        symlink("../away/deep", root.join("work/link")).unwrap();
        symlink("../away/none", root.join("work/dangling")).unwrap();
        symlink("loop2", root.join("work/loop1")).unwrap();
        symlink("loop1", root.join("work/loop2")).unwrap();
        symlink("work", root.join("alias")).unwrap();
        (dir, root)
    }

    #[test]
    fn a_path_is_followed_the_way_the_kernel_does_it() {
        let (_dir, root) = house();
        for (path, want, inside) in [
            ("src/a.rs", "work/src/a.rs", true),
            ("./src/../b", "work/b", true),
            ("new/deep/../x", "work/new/x", true),
            ("..", "", false),
            (".", "work", true),
            ("link", "away/deep", false),
            // Lexically this would be work/x.
            ("link/../x", "away/x", false),
            ("dangling", "away/none", false),
            ("loop1/x", "work/loop2/x", false),
            ("../alias/src", "work/src", true),
            ("../work2", "work2", false),
            ("~", "home", false),
            ("~/.ssh/id", "home/.ssh/id", false),
            ("~other/x", "work/~other/x", true),
        ] {
            for cwd in ["work", "alias"] {
                let found = of("read", &json!({"path": path}), &root.join(cwd), Some(&root.join("home")));
                if path.starts_with("loop") {
                    assert!(!found[0].inside, "{path}");
                    continue;
                }
                let want = root.join(want).to_string_lossy().trim_end_matches('/').to_owned();
                assert_eq!(found, [ResolvedPath { path: want, inside }], "{path}");
            }
        }
        let found = of("read", &json!({"path": "/etc/../etc/hosts"}), &root, None);
        assert!(!found[0].inside && !found[0].path.contains(".."), "{found:?}");
    }

    #[test]
    fn paths_are_found_in_every_field_that_holds_some() {
        for (tool, input, want) in [
            ("read", json!({"file_path": "/a", "limit": 5}), vec!["/a"]),
            ("read", json!({"filePath": "/a"}), vec!["/a"]),
            ("edit", json!({"notebook_path": "/n", "new_source": "/x"}), vec!["/n"]),
            ("readmanyfiles", json!({"paths": ["/a", "/b", "/a", 5]}), vec!["/a", "/b"]),
            ("readmanyfiles", json!({"include": ["/a", 5, "/b"]}), vec!["/a", "/b"]),
            ("readmanyfiles", json!({"include": "/a"}), vec!["/a"]),
            ("grep", json!({"include": "*.rs"}), vec![]),
            (
                "multiedit",
                json!({"edits": [{"file_path": "/a", "old": "/x"}, {"file_path": "/b"}]}),
                vec!["/a", "/b"],
            ),
            ("read", json!({"files": [{"path": "/a"}, "/b"]}), vec!["/a", "/b"]),
            (
                "ls",
                json!({"dir_path": "/a", "absolute_path": "/b", "target_file": "/c"}),
                vec!["/a", "/b", "/c"],
            ),
            ("write", json!({"path": "", "content": "*** Add File: /x"}), vec![]),
            ("read", json!("/a"), vec![]),
            (
                "applypatch",
                json!(
                    "*** Begin Patch\n*** Update File: /a\n*** Move to: /b\n@@\n*** Delete File: /c\r\n *** Add File: /d"
                ),
                vec!["/a", "/b", "/c", "/d"],
            ),
            ("applypatch", json!({"command": ["apply_patch", "*** Add File: /a b"]}), vec!["/a b"]),
            ("patch", json!({"patchText": "*** Add File: /a"}), vec!["/a"]),
        ] {
            let found: Vec<_> =
                of(tool, &input, Path::new("/nowhere"), None).into_iter().map(|path| path.path).collect();
            assert_eq!(found, want, "{input}");
        }
    }

    #[test]
    fn hostile_paths_are_bounded_and_never_inside() {
        let (_dir, root) = house();
        let many: Vec<String> = (0..10_000).map(|n| format!("{n}")).collect();
        assert_eq!(of("read", &json!({ "paths": many }), &root, None).len(), hookbox_calls::MAX_PATHS);

        let long = "a/".repeat(200_000);
        let found = of("read", &json!({"path": long}), &root, None);
        assert_eq!((found.len(), found[0].inside), (1, false));

        let costly: Vec<String> = (0..256).map(|n| format!("{n}{}", "/a".repeat(1000))).collect();
        let found = of("read", &json!({ "paths": costly }), &root, None);
        assert_eq!((found[0].inside, found[255].inside), (true, false));

        of("read", &json!({"path": "a\0b/../c"}), &root, None);
        of("read", &json!({"path": "x"}), Path::new(""), None).iter().for_each(|path| assert!(!path.inside));
    }
}
