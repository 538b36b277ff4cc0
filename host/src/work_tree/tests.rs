//! Real repositories, in directories of their own.

use std::process::{Command, Stdio};

use super::*;

/// A repository with one commit, which is pushed to a remote. Its address is one elsewhere, and leads to a directory.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        place.git(".", "init --quiet --bare --initial-branch=main remote");
        place.git(".", "init --quiet --initial-branch=main work");
        place.put("work/src/a.rs", "a");
        place.put("work/.gitignore", "out/\n*.log\n");
        place.git("work", "add .");
        place.git("work", "commit --quiet -m one");
        place.git("work", "remote add origin https://git.example/remote");
        place.git("work", "push --quiet --set-upstream origin main");
        place
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(path)
    }

    fn put(&self, path: &str, text: &str) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Runs git with the words of a line.
    fn git(&self, directory: &str, line: &str) {
        let args: Vec<&str> = line.split(' ').collect();
        self.git_words(directory, &args);
    }

    fn git_words(&self, directory: &str, args: &[&str]) {
        let mut command = Command::new("git");
        let local = env_names().filter(|it| it.to_string_lossy().starts_with("GIT_"));
        local.for_each(|it| {
            command.env_remove(it);
        });
        command
            .args(
                "-c user.name=t -c user.email=t@t -c commit.gpgSign=false -c protocol.file.allow=always \
                 -c url.../.insteadOf=https://git.example/"
                    .split(' '),
            )
            .args(args)
            .current_dir(self.at(directory))
            .env("HOME", self.0.path())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .stdin(Stdio::null());
        let output = command.output().unwrap();
        assert!(output.status.success(), "git {args:?}: {output:?}");
    }

    fn trees(&self) -> WorkTrees {
        // A busy machine gets its time.
        WorkTrees::of(&self.at("work"), None, Duration::from_secs(120))
    }

    async fn tree(&self, directory: &str) -> Option<Tree> {
        self.trees().tree(&self.at(directory)).await
    }

    async fn pushed(&self, reference: &str) -> Option<bool> {
        self.trees().is_pushed(&self.at("work"), reference).await
    }

    /// Returns the kind of a path, and whether it is tracked, changed and ignored.
    async fn path(&self, path: &str) -> Option<(PathKind, bool, bool, bool)> {
        let PathState { kind, id: _, tracked, changed, ignored } = self.trees().path(&self.at(path)).await?;
        Some((kind, tracked, changed, ignored))
    }
}

fn env_names() -> impl Iterator<Item = std::ffi::OsString> {
    std::env::vars_os().map(|(name, _)| name)
}

#[tokio::test]
async fn a_tree_is_clean_changed_or_has_untracked_files() {
    let place = Place::new();
    let clean = Tree {
        root: place.at("work"),
        linked: false,
        changed: false,
        untracked: false,
        branch: Some("main".to_owned()),
    };
    assert_eq!(place.tree("work/src").await, Some(clean.clone()));
    place.put("work/out/x", "an ignored file");
    assert_eq!(place.tree("work").await, Some(clean.clone()));
    place.put("work/new", "a new file");
    assert_eq!(place.tree("work").await, Some(Tree { untracked: true, ..clean.clone() }));
    place.git("work", "add new");
    assert_eq!(place.tree("work").await, Some(Tree { changed: true, ..clean.clone() }));
    place.git("work", "commit --quiet -m two");
    place.put("work/src/a.rs", "a longer text");
    assert_eq!(place.tree("work").await, Some(Tree { changed: true, ..clean.clone() }));
    // Git does not look at this file any more.
    place.git("work", "update-index --assume-unchanged src/a.rs");
    assert_eq!(place.tree("work").await, Some(Tree { changed: true, ..clean.clone() }));
    place.git("work", "update-index --no-assume-unchanged src/a.rs");
    place.git("work", "update-index --skip-worktree src/a.rs");
    assert_eq!(place.tree("work").await, Some(Tree { changed: true, ..clean }));
}

#[tokio::test]
async fn a_linked_worktree_has_a_state_of_its_own() {
    let place = Place::new();
    place.git("work", "worktree add --quiet -b side ../side");
    place.put("work/src/a.rs", "a longer text");
    let side = Tree {
        root: place.at("side"),
        linked: true,
        changed: false,
        untracked: false,
        branch: Some("side".to_owned()),
    };
    assert_eq!(place.tree("side").await, Some(side.clone()));
    place.git("side", "checkout --quiet --detach");
    assert_eq!(place.tree("side").await, Some(Tree { branch: None, ..side }));
}

#[tokio::test]
async fn a_reference_is_pushed_with_all_of_its_commits() {
    let place = Place::new();
    place.git("work", "branch side");
    assert_eq!(place.pushed("HEAD").await, Some(true));
    place.git("work", "commit --quiet --allow-empty -m two");
    assert_eq!(place.pushed("HEAD").await, Some(false));
    assert_eq!(place.pushed("HEAD~1").await, Some(true));
    assert_eq!(place.pushed("refs/heads/side").await, Some(true));
    place.git("work", "push --quiet origin main");
    assert_eq!(place.pushed("main").await, Some(true));
    // A remote beside the work tree may be a copy that is removed next.
    place.git("work", "commit --quiet --allow-empty -m three");
    place.git("work", "remote add copy ../remote");
    place.git("work", "push --quiet copy main:copied");
    assert_eq!(place.pushed("main").await, Some(false));
    for odd in ["", "nope", "--all", "^main", "HEAD:src/a.rs", "main side", "main\nside", "HEAD^{tree}"] {
        assert_eq!(place.pushed(odd).await, None, "{odd:?}");
    }
}

#[tokio::test]
async fn a_path_has_a_state() {
    use PathKind::{Directory, File, Link, Missing};
    let place = Place::new();
    place.put("work/out/deep/x", "ignored");
    place.put("work/mixed/b.rs", "b");
    place.put("work/new", "new");
    place.put("work/src/[a].rs", "not a pattern");
    place.put("outside", "x");
    std::os::unix::fs::symlink("../outside", place.at("work/link")).unwrap();
    std::os::unix::fs::symlink("..", place.at("work/up")).unwrap();
    place.git("work", "add mixed src");
    place.git("work", "commit --quiet -m two");
    for (path, expected) in [
        ("work/src/a.rs", Some((File, true, false, false))),
        ("work/src", Some((Directory, true, false, false))),
        ("work/src/[a].rs", Some((File, true, false, false))),
        ("work/out", Some((Directory, false, false, true))),
        ("work/out/deep", Some((Directory, false, false, true))),
        ("work/out/deep/x", Some((File, false, false, true))),
        ("work/new", Some((File, false, false, false))),
        ("work/link", Some((Link, false, false, false))),
        ("work/none", Some((Missing, false, false, false))),
        ("work/none/deeper", Some((Missing, false, false, false))),
        ("work/mixed", Some((Directory, true, false, false))),
        // All of the work tree has its history in it.
        ("work", None),
        ("work/.git/HEAD", None),
        ("outside", None),
        ("work/up/outside", None),
        ("work/up/none", None),
    ] {
        assert_eq!(place.path(path).await, expected, "{path}");
    }
    assert_eq!(place.path("work/.git").await, Some((Directory, false, false, false)));
    place.put("work/mixed/c.log", "ignored");
    assert_eq!(
        place.path("work/mixed").await,
        Some((Directory, false, false, false)),
        "an ignored file in it"
    );
    place.put("work/src/c.rs", "new");
    assert_eq!(
        place.path("work/src").await,
        Some((Directory, false, false, false)),
        "an untracked file in it"
    );
    place.put("work/src/a.rs", "a longer text");
    assert_eq!(place.path("work/src/a.rs").await, Some((File, true, true, false)));
    assert_eq!(place.path("work/src").await, Some((Directory, false, true, false)));
}

#[tokio::test]
async fn other_repositories_and_submodules_have_no_answer() {
    let place = Place::new();
    place.git(".", "clone --quiet remote other");
    place.git("work", "init --quiet nested");
    fs::create_dir(place.at("plain")).unwrap();
    for directory in ["other", "work/nested", "plain", ".", "work/.git", "none"] {
        assert_eq!(place.tree(directory).await, None, "{directory}");
    }
    assert!(place.tree("work").await.unwrap().untracked, "a repository in the tree is untracked");
    assert_eq!(
        WorkTrees::of(&place.at("plain"), None, Duration::from_secs(120)).tree(&place.at("work")).await,
        None
    );
    assert_eq!(place.trees().tree(Path::new("src")).await, None);
    place.git("work", "submodule --quiet add ../remote sub");
    place.git("work", "commit --quiet -m two");
    assert_eq!(place.tree("work").await, None);
    assert_eq!(place.path("work/sub").await, None);
}

#[tokio::test]
async fn a_repository_that_would_run_a_program_has_no_answer_and_runs_none() {
    let place = Place::new();
    let marker = place.at("marker");
    let program = place.at("program");
    place.put("program", &format!("#!/bin/sh\n: > '{}'\ncat\n", marker.display()));
    let mut mode = fs::metadata(&program).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut mode, 0o755);
    fs::set_permissions(&program, mode).unwrap();
    let program = program.to_str().unwrap();
    place.put("work/.gitattributes", "* filter=x diff=x merge=x\n");
    place.git("work", "add .");
    place.git("work", "commit --quiet -m two");
    place.put("more", &format!("[filter \"x\"]\n\tclean = {program}\n"));
    let more = place.at("more");
    // Git reads each file again.
    place.put("work/src/a.rs", "b");
    for (name, value, is_answered) in [
        ("core.fsmonitor", program, true),
        ("core.hooksPath", place.0.path().to_str().unwrap(), true),
        ("core.pager", program, true),
        ("core.sshCommand", program, true),
        ("alias.status", &format!("!{program}"), true),
        ("filter.x.clean", program, false),
        ("filter.x.process", program, false),
        ("include.path", more.to_str().unwrap(), false),
        ("includeIf.gitdir:/.path", more.to_str().unwrap(), false),
        ("core.worktree", place.0.path().to_str().unwrap(), false),
        ("core.gitProxy", program, false),
        ("extensions.worktreeConfig", "true", false),
        ("diff.external", program, false),
    ] {
        place.git_words("work", &["config", name, value]);
        assert_eq!(place.tree("work/src").await.is_some(), is_answered, "{name}");
        assert_eq!(place.path("work/src/a.rs").await.is_some(), is_answered, "{name}");
        assert_eq!(place.pushed("main").await.is_some(), is_answered, "{name}");
        assert!(!marker.exists(), "{name}");
        place.git_words("work", &["config", "--unset", name]);
    }
    assert!(place.tree("work").await.unwrap().changed);
}
