//! The answers in a repository whose state is known.

use hookbox_judge::{PathKind, PathState, Preset, Settings, Surroundings, Tree, judge_in};

use crate::rule;

/// A repository in `/p` with a linked worktree in `/w`.
#[derive(Clone, Debug, Default)]
struct Repository {
    changed: bool,
    untracked: bool,
    is_detached: bool,
    pushed: Vec<&'static str>,
    committed: Vec<&'static str>,
}

impl Surroundings for Repository {
    fn tree(&self, directory: &str) -> Option<Tree> {
        let root = ["/p", "/w"].into_iter().find(|it| directory.starts_with(it))?;
        Some(Tree {
            root: root.to_owned(),
            linked: root == "/w",
            changed: self.changed,
            untracked: self.untracked,
            branch: (!self.is_detached).then(|| "x".to_owned()),
        })
    }

    fn is_pushed(&self, _: &str, reference: &str) -> Option<bool> {
        Some(self.pushed.contains(&reference))
    }

    fn path(&self, path: &str) -> Option<PathState> {
        let tracked = self.committed.contains(&path.strip_prefix("/p/")?);
        let kind = if tracked { PathKind::File } else { PathKind::Missing };
        Some(PathState { kind, id: None, tracked, changed: !tracked, ignored: false })
    }
}

fn is_denied(line: &str, repository: &Repository, preset: Preset) -> bool {
    let settings = Settings { preset, ..Settings::default() };
    judge_in(line, Some("/p"), &settings, rule, repository).is_some()
}

/// Lines that pass in this state, and in no state that is not known, nor in `strict`.
fn pass(repository: &Repository, lines: &[&str]) {
    for line in lines {
        assert!(!is_denied(line, repository, Preset::Standard), "{line}");
        assert!(!is_denied(line, repository, Preset::Relaxed), "{line}");
        assert!(is_denied(line, repository, Preset::Strict), "{line}");
        assert!(is_denied(
            line,
            &Repository { changed: true, untracked: true, ..Repository::default() },
            Preset::Standard
        ));
    }
}

fn fail(repository: &Repository, lines: &[&str]) {
    for line in lines {
        assert!(is_denied(line, repository, Preset::Standard), "{line}");
    }
}

#[test]
fn a_clean_tree_has_no_changes_to_lose() {
    let clean = Repository::default();
    pass(
        &clean,
        &[
            "git reset --hard",
            "git reset --hard HEAD",
            "git reset --merge",
            "cd src && git reset --hard",
            "git -C src --no-pager reset --hard",
            "git status --short && git reset --hard 2>/dev/null",
            "git checkout main && git reset --hard",
            "git clean -fd",
            "git clean -ffd src",
            "git checkout .",
            "git checkout -- src/a.rs",
            "git checkout HEAD~1 -- src/a.rs",
            "git checkout HEAD~1 src/a.rs",
            "git checkout -f main",
            "git switch --discard-changes main",
            "git restore src",
            "git restore --staged --worktree .",
            "git restore --source=HEAD~1 src",
            "git rm -rf docs",
        ],
    );
    fail(
        &clean,
        &[
            "git reset --hard HEAD~1",
            "git reset --hard origin/main",
            "git stash pop && git reset --hard",
            "git reset --soft HEAD~1 && git reset --hard",
            "echo a > src/a.rs && git checkout .",
            "cp -r ../a . && git clean -fd",
            "git checkout main && git clean -fd",
            "git clean -fdx",
            "git clean -fX",
            "git stash drop",
            "git -C /elsewhere reset --hard",
            "cd /elsewhere; git reset --hard",
            "cd $X && git reset --hard",
            "git --work-tree=/q reset --hard",
            "git -c core.worktree=/q reset --hard",
            "GIT_DIR=/q/.git git reset --hard",
            "git -c alias.x='reset --hard' x",
            "git checkout -f --pathspec-from-file=a",
            "while read a; do git reset --hard; git stash pop; done",
            "ssh host git reset --hard",
        ],
    );
}

#[test]
fn files_that_git_does_not_know_are_work() {
    let untracked = Repository { untracked: true, pushed: vec!["HEAD"], ..Repository::default() };
    pass(&untracked, &["git reset --hard", "git checkout .", "git restore src", "git rm -rf docs"]);
    fail(
        &untracked,
        &[
            "git reset --hard HEAD~1",
            "git clean -fd",
            "git checkout -f main",
            "git switch -f main",
            "git checkout HEAD~1 -- src",
            "git restore -s HEAD~1 src",
            "git worktree remove --force /w",
        ],
    );
}

#[test]
fn a_file_that_is_committed_may_be_restored_in_a_changed_tree() {
    let changed = Repository {
        changed: true,
        untracked: true,
        committed: vec!["src/a.rs", "b.rs"],
        pushed: vec!["HEAD"],
        ..Repository::default()
    };
    pass(
        &changed,
        &[
            "git reset --keep HEAD~1",
            "git checkout -- src/a.rs b.rs",
            "git checkout src/a.rs",
            "git checkout HEAD~1 -- src/a.rs",
            "git checkout HEAD~1 src/a.rs",
            "cd src && git restore a.rs ../b.rs",
            "git rm -f b.rs",
        ],
    );
    fail(
        &changed,
        &[
            "git reset --hard",
            "git reset --hard HEAD~1",
            "git checkout -- src/a.rs c.rs",
            "git checkout -f",
            "git restore .",
            "git restore '*.rs'",
            "git restore :/b.rs",
            "git rm -f b.rs c.rs",
        ],
    );
}

#[test]
fn commits_that_are_pushed_are_kept() {
    let pushed = Repository {
        pushed: vec!["HEAD", "main", "refs/heads/a", "refs/heads/main"],
        ..Repository::default()
    };
    pass(
        &pushed,
        &[
            "git reset --hard HEAD~1",
            "git fetch origin && git reset --hard origin/main",
            "git checkout main && git reset --hard origin/main",
            "git branch -D a",
            "git branch -D a main",
            "git checkout main && git pull && git branch -D a",
            "git branch -f a HEAD~1",
            "git switch -C main",
            "git checkout -B main origin/main",
            "git checkout -f -B main origin/main",
            "git branch -M b main",
            "git fetch origin +main:main",
            "git update-ref -d refs/heads/a",
        ],
    );
    fail(
        &pushed,
        &[
            "git branch -D b",
            "git branch -D a b",
            "git branch -D $X",
            "git branch -rD a",
            "git commit -m x && git branch -D a",
            "git checkout b && git reset --hard origin/main",
            "git rebase main && git reset --hard HEAD~1",
            "git branch -f b a",
            "git update-ref -d refs/heads/b",
            "git update-ref refs/heads/a HEAD~1",
            "git push --force",
            "git push origin :a",
        ],
    );
    let relaxed = |line| is_denied(line, &pushed, Preset::Relaxed);
    assert!(relaxed("git branch -D b") && !relaxed("git branch -D a"));
}

#[test]
fn a_clean_linked_worktree_may_be_removed() {
    let clean = Repository::default();
    pass(&clean, &["git worktree remove --force /w", "git worktree remove -f ../w"]);
    fail(
        &clean,
        &[
            "git worktree remove -f -f /w",
            "git worktree remove -ff /w",
            "git worktree remove --force .",
            "git worktree remove --force /w/src",
            "git worktree remove --force /v",
            "git worktree remove --force $X",
        ],
    );
    let detached = Repository { is_detached: true, ..Repository::default() };
    fail(&detached, &["git worktree remove --force /w"]);
    pass(&Repository { pushed: vec!["HEAD"], ..detached }, &["git worktree remove --force /w"]);
}
