//! The lines that the guard denies, and others.

use hookbox_judge::{PathKind, PathState, Preset, Settings, Surroundings, Tree, judge, judge_in};

use super::*;

fn denied(line: &str, preset: Preset) -> Option<String> {
    let settings = Settings { preset, ..Settings::default() };
    judge(line, Some("/home/me/p"), &settings, rule).map(|(command, _)| command)
}

#[test]
fn what_loses_work_is_denied() {
    for line in [
        "git reset --hard",
        "git -C ../x reset --hard HEAD~1",
        "git -c core.pager= reset --hard",
        "git reset --keep HEAD~1",
        "cd /tmp/none; git reset --hard",
        "test -d /tmp/b && pushd /tmp/b; git clean -fdx",
        "git() { command git \"$@\"; }; git push --force",
        "git() { :; }; sh -c 'git push --force'",
        "alias git=true; git push --force",
        "cat > f.txt <<'EOF'\r\nhello\r\nEOF\r\ngit push --force",
        "git pu\0sh --force",
        "git clean -fdx",
        "git clean -d --force",
        "git checkout .",
        "git checkout -- src/a.rs",
        "git checkout HEAD~1 src/a.rs",
        "git checkout src/a.rs",
        "git checkout -f main",
        "git switch --discard-changes main",
        "git restore src",
        "git restore --staged --worktree .",
        "git stash drop",
        "git stash clear",
        "git branch -D x",
        "git branch --delete --force x",
        "git push --force",
        "git push -uf origin x",
        "git push origin +main",
        "git push origin :x",
        "git push origin --delete x",
        "git push --mirror",
        "git filter-branch --tree-filter true HEAD",
        "git reflog expire --expire=now --all",
        "git gc --prune=now",
        "git worktree remove --force ../x",
        "git update-ref -d refs/heads/x",
        "git rm -rf docs",
        "git-filter-repo --path a --invert-paths",
        "pwsh -c \"& 'git' push --force\"",
        "for i in 1 2; do git stash; break; done; git reset --hard",
        "f() { return; git stash; }; f; git reset --hard",
        "! git stash && git reset --hard",
        "sudo git reset --hard",
        "sh -c 'cd x && git reset --hard'",
        "git submodule foreach 'git reset --hard'",
        "git rebase -x 'git clean -fd' main",
        "git -c alias.x='!git clean -fd' x",
        "git fetch && git reset --hard origin/main",
        "gh repo delete me/x --yes",
        "git stash push -- docs; git reset --hard",
        "git stash push docs && git reset --hard",
        "git stash; git stash pop; git reset --hard",
        "git stash push -p && git reset --hard",
        "git stash -S; git checkout .",
        "git stash push --staged && git restore .",
        "git -C ../y stash; git reset --hard",
        "git stash; git -C ../y reset --hard",
        "cd ../y && git stash; cd -; git reset --hard",
        "ssh h git stash; git reset --hard",
        "ssh h git stash && ssh i git reset --hard",
        "git stash || git reset --hard",
        "git stash | cat; git reset --hard",
        "git stash & git reset --hard",
        "false && git stash; git reset --hard",
        "if x; then git stash; fi; git reset --hard",
        "x || git stash && git reset --hard",
        "git stash && git reset --hard; git stash pop; git reset --hard",
        "git stash; echo x > src/main.rs; git reset --hard",
        "git stash && make && git reset --hard",
        "git stash list && git reset --hard",
        "git clean -fdx -e -n",
        "git clean -fd -e --dry-run",
        "git clean -fden",
        "git clean -fd --exclud -n",
        "git clean -fd -e -i",
        "git clean -fdx -e -h",
        "git clean -n -f --no-dry-run",
        "git push -f -o --dry-run origin",
        "git push --force --push-option -n",
        "git push --force -o --help",
        "git push --dry-run --no-dry-run -f",
        "git restore -s -p .",
        "git rm -rf --pathspec-from-file --cached x",
        "git -c alias.x='reset --hard' x",
        "git -c Alias.X='push' x --force",
        "git config alias.x 'reset --hard' && git x HEAD~1",
        "git config alias.y 'reset --hard'; git config alias.x y; git x",
        "git -c remote.origin.push=+main push",
        "git switch -C main",
        "git checkout -B main origin/main",
        "git branch -M x main",
        "git fetch origin +main:main",
        "git fetch -f origin x:refs/heads/x",
        "git fetch -f origin main:feature",
        "git send-pack --force origin main",
        "git config remote.origin.push +main && git push",
        "git config remote.origin.mirror true",
        "git -c gc.pruneExpire=now gc",
        "git config gc.pruneExpire now",
        "hub push -f",
        "yes 1 | git clean -i",
        "git clean -id <<< 1",
        // Forged references of remotes.
        "cp .git/refs/heads/a .git/refs/remotes/origin/a",
        "cd .git && cp refs/heads/a refs/remotes/origin/a",
        "git rev-parse a > .git/refs/remotes/origin/a",
        "echo x >> .git/packed-refs",
        "tee ../q/.git/refs/heads/a < x",
        "sed -i s/a/b/ .git/packed-refs",
        "mv .git/refs/heads/a /tmp/",
        "echo 'ref: refs/heads/a' > .git/HEAD",
        "cp a .git/worktrees/w/HEAD",
        "git fetch -q . a:refs/remotes/origin/a",
        "git fetch . +refs/heads/*:refs/remotes/origin/*",
        "git pull /tmp/r a:refs/remotes/origin/a",
        "git fetch fake a:refs/remotes/origin/a",
        "git push . a:refs/remotes/origin/a",
        "git -c remote.fake.fetch=+refs/heads/*:refs/remotes/origin/* fetch fake",
        "git config --add remote.fake.fetch '+refs/heads/*:refs/remotes/origin/*'",
        "git symbolic-ref refs/remotes/origin/a refs/heads/a",
    ] {
        assert!(denied(line, Preset::Standard).is_some(), "{line}");
    }
}

#[test]
fn what_keeps_work_passes() {
    for line in [
        "git status",
        "git reset HEAD~1",
        "git reset --soft HEAD~1",
        "git clean -nd",
        "git clean --dry-run -fd",
        "git clean -fd target/ build",
        "git checkout main",
        "git checkout -b fix origin/main",
        "git checkout v1.2.0",
        "git switch -c x",
        "git restore --staged .",
        "git stash",
        "git stash pop",
        "git stash && git reset --hard && git stash pop",
        "git branch -d x",
        "git push",
        "git push --force-with-lease origin x",
        "git push --dry-run --force",
        "git push -o ci.skip -nf",
        "git stash -u -q; git reset --hard",
        "git stash push --include-untracked -m 'a b' && git reset --hard HEAD",
        "git stash save wip && git checkout .",
        "cd ../y && git stash && git restore src",
        "git -C ../y stash && git -C ../y reset --hard",
        "bash -c 'git stash && git reset --hard'",
        "git fetch\ngit stash 2>&1\ngit reset --hard",
        "git clean -fd -e '*.log' -n",
        "git push -u origin x",
        "git -c alias.x='log --oneline' x",
        "git -c alias.x=x x",
        "git config alias.y x; git config alias.x y; git x",
        "git -c user.name=me -c remote.origin.push=main push",
        "git switch -C fix/a",
        "git checkout -B fix/a origin/main",
        "git branch -M main",
        "git branch -M master main",
        "git branch -m a b",
        "git fetch origin +refs/heads/*:refs/remotes/origin/*",
        "git fetch origin +pull/12/head:pr-12",
        "git fetch origin main:main",
        "git push origin :refs/tags/v1.0.0-rc1",
        "git commit --amend --no-edit",
        "git rebase main",
        "git rm --cached -rf x",
        "git worktree remove ../x",
        "cd /tmp/x && git reset --hard",
        "git commit -m 'git reset --hard'",
        "grep -rn 'git push --force' docs",
        "echo 'git clean -fdx' >> notes.md",
        "docker run --rm image git reset --hard",
        "git fetch origin pull/12/head:refs/remotes/origin/pr/12",
        "git config remote.origin.push main",
        "git config --get remote.origin.push",
        "git config remote.origin.fetch '+refs/heads/*:refs/remotes/origin/*'",
        "git config gc.pruneExpire 2.weeks.ago",
        "git clean -i",
        "hub pull-request",
        "git symbolic-ref --short refs/remotes/origin/HEAD",
        "git symbolic-ref refs/remotes/origin/HEAD refs/remotes/origin/main",
        "cat .git/HEAD .git/packed-refs",
        "cp .git/refs/heads/a /tmp/a",
        "cp hooks/pre-commit .git/hooks/",
        "echo '*.log' >> .git/info/exclude",
        "git rev-parse a > /tmp/x/.git/refs/heads/a",
        "echo x > refs/HEAD",
        "echo x > docs/.github/HEAD",
    ] {
        assert_eq!(denied(line, Preset::Standard), None, "{line}");
    }
}

#[test]
fn a_temporary_clone_excuses_no_push_to_a_place_that_is_kept() {
    for line in [
        "git -C /tmp/clone push --force origin main",
        "(cd /tmp/clone; git push --force)",
        "git -C /tmp/clone push --mirror",
    ] {
        assert!(denied(line, Preset::Standard).is_some(), "{line}");
    }
    assert_eq!(denied("git -C /tmp/clone clean -fdx", Preset::Standard), None);
}

#[test]
fn presets_and_allowances_change_the_answer() {
    assert!(denied("git rebase main", Preset::Strict).is_some());
    assert!(denied("git switch -C x", Preset::Strict).is_some());
    assert!(denied("git branch -M a b", Preset::Strict).is_some());
    assert!(denied("git commit --amend", Preset::Strict).is_some());
    assert_eq!(denied("git restore src", Preset::Relaxed), None);
    assert!(denied("git push --force", Preset::Relaxed).is_some());
    let settings =
        Settings { allow: vec!["git push --force *".into(), "git stash drop".into()], ..Settings::default() };
    let is_denied = |line| judge(line, None, &settings, rule).is_some();
    assert!(!is_denied("git push --force origin x"));
    assert!(!is_denied("cd x && git push --force origin x"));
    assert!(!is_denied("git stash drop"));
    assert!(is_denied("git stash drop 1"));
    assert!(is_denied("git push --force origin x; git stash clear"));
}

#[test]
fn no_tool_writes_references() {
    let cx = Context { cwd: "/home/me/p".to_owned(), ..Context::default() };
    for (tool, path, is_blocked) in [
        ("Write", ".git/refs/remotes/origin/a", true),
        ("Edit", "/home/me/p/.git/packed-refs", true),
        ("mcp__fs__write_file", ".git/HEAD", true),
        ("mcp__fs__read_file", ".git/HEAD", false),
        ("Write", "src/HEAD", false),
        ("Write", ".git/info/exclude", false),
    ] {
        let input = json!({ "file_path": path, "content": "x", "old_string": "a" });
        let answer = Guard::before_tool_call(&cx, &ToolCall::new(tool, input)).unwrap();
        assert_eq!(
            format!("{answer:?}").contains("Look first: `git for-each-ref"),
            is_blocked,
            "{tool} {path}"
        );
    }
}

/// Returns the lines of the corpus with their labels.
fn corpus() -> Vec<(String, String)> {
    let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus");
    let mut paths: Vec<_> = std::fs::read_dir(directory).unwrap().map(|it| it.unwrap().path()).collect();
    paths.retain(|it| it.extension().is_some_and(|it| it == "jsonl"));
    paths.sort();
    let texts = paths.iter().map(|it| std::fs::read_to_string(it).unwrap()).collect::<Vec<_>>();
    let lines = texts.iter().flat_map(|it| it.lines()).map(|it| it.parse::<Value>().unwrap());
    lines
        .filter_map(|it| Some((it["command"].as_str()?.to_owned(), it["label"].as_str()?.to_owned())))
        .collect()
}

/// A clean repository whose commits are all pushed.
struct Clean;

impl Surroundings for Clean {
    fn tree(&self, directory: &str) -> Option<Tree> {
        Some(Tree { root: directory.to_owned(), branch: Some("main".to_owned()), ..Tree::default() })
    }

    fn is_pushed(&self, _: &str, _: &str) -> Option<bool> {
        Some(true)
    }

    fn path(&self, _: &str) -> Option<PathState> {
        Some(PathState { kind: PathKind::Directory, id: None, tracked: true, changed: false, ignored: false })
    }
}

#[test]
fn the_state_of_a_repository_only_excuses() {
    let settings = Settings::default();
    let mut excused = 0;
    for (line, _) in corpus() {
        for guard in [rule, destructive::rule] {
            let unknown = judge(&line, Some("/p"), &settings, guard);
            let clean = judge_in(&line, Some("/p"), &settings, guard, &Clean);
            assert!(unknown.is_some() || clean.is_none(), "{line}");
            if let Some((_, denial)) = &clean {
                assert_eq!(judge_in(&denial.safer, Some("/p"), &settings, guard, &Clean), None, "{line}");
            }
            excused += usize::from(unknown.is_some() && clean.is_none());
        }
    }
    assert!(excused > 50, "{excused}");
}

#[test]
fn every_command_of_a_next_step_passes_both_guards() {
    let settings = Settings::default();
    let mut seen = std::collections::BTreeSet::new();
    for (line, _) in corpus() {
        for guard in [rule, destructive::rule] {
            let Some((_, denial)) = judge(&line, None, &settings, guard) else { continue };
            assert!(!denial.what.is_empty() && !denial.why.is_empty(), "{line}");
            seen.insert(denial.safer);
        }
    }
    assert!(seen.len() > 50, "{}", seen.len());
    for safer in seen {
        for guard in [rule, destructive::rule] {
            assert_eq!(judge(&safer, None, &settings, guard), None, "{safer}");
        }
    }
}

#[test]
fn the_rates_of_the_corpus_hold() {
    let settings = Settings::default();
    let denied = |line: &str| {
        [rule, destructive::rule].into_iter().any(|it| judge(line, None, &settings, it).is_some())
    };
    let wrong: Vec<String> =
        corpus().into_iter().filter(|(line, label)| label == "pass" && denied(line)).map(|it| it.0).collect();
    assert!(wrong.len() <= 5, "{wrong:#?}");
}
