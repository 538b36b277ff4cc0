//! The subcommands that lose work.

use hookbox_judge::{Area, Denial, Preset, Scene, git_parts, has, listed, operands, surely_has};
use hookbox_shell::{Arg, Place, Run, is_in};

use crate::{refs, state};

/// Endings of files, by which a name without `--` is a path and not a branch.
const ENDINGS: &str = "rs ts tsx js jsx mjs cjs py go java kt c h cc cpp hpp cs rb php swift scala ex exs erl hs ml clj lua \
    sh bash zsh fish md txt json toml yaml yml xml html css scss less sql proto vue svelte lock cfg ini env gradle \
    properties tf ipynb r jl dart zig nix";

/// The aliases of aliases that are followed: git refuses one that leads to itself.
const ALIASES: usize = 8;

/// Options that take the next word, of all subcommands.
const VALUES: &str = "-e --exclude -o --push-option --receive-pack --exec --repo --recurse-submodules --expire \
    --expire-unreachable --pathspec-from-file -s --source -b -B --orphan --conflict";

const CHANGES: &str = "changes that are not committed are lost";

/// Refuses to lose changes that a stash would keep.
fn stash(what: &str) -> Denial {
    Denial::new(what, CHANGES, "git stash push --include-untracked").instead()
}

/// Refuses to rewrite the history.
fn rewrites() -> Denial {
    let why = "commits of other people no longer fit";
    Denial::new("rewrites the history", why, "git clone --mirror . /tmp/backup.git").save()
}

/// Judges one command.
pub fn rule(scene: &Scene<'_>) -> Option<Denial> {
    if let Some(denial) = refs::written(scene) {
        return Some(denial.by("refs"));
    }
    let name = scene.run.program()?;
    let args = scene.run.args();
    if scene.run.place == Place::NewContainer {
        return None;
    }
    let is = |at: usize, text: &str| args.get(at).is_some_and(|it| it.text == text);
    // `java -jar bfg-1.14.jar`
    let is_bfg =
        name == "java" && args.iter().any(|it| hookbox_shell::base_name(&it.text).starts_with("bfg"));
    let name = if is_bfg { "bfg" } else { name };
    match name {
        "git" => git(scene, ALIASES),
        "gh" | "hub" | "glab" => {
            let is_deletion = is(0, "delete") || is(0, "repo") && is(1, "delete");
            let denial = is_deletion.then(|| {
                Denial::new("deletes the repository", "its issues and history are lost", "gh repo view")
                    .by("delete-repository")
            });
            // `hub` is git with more subcommands.
            denial.or_else(|| (name == "hub").then(|| git(scene, ALIASES)).flatten())
        }
        "bfg" => Some(rewrites().by("rewrite")),
        "hg" | "sl" => {
            let is_lost = is(0, "strip")
                || is(0, "purge")
                || (is(0, "update") || is(0, "up") || is(0, "goto")) && has(args, 'C', "--clean")
                || is(0, "revert") && has(args, 'a', "--all");
            is_lost.then(|| Denial::new("discards work", CHANGES, "hg shelve").instead().by("discard"))
        }
        "jj" => {
            let is_lost = is(0, "abandon") || is(0, "restore");
            is_lost.then(|| Denial::new("discards work", CHANGES, "jj log").by("discard"))
        }
        "svn" => (is(0, "revert") && has(args, 'R', "--recursive"))
            .then(|| Denial::new("discards work", CHANGES, "svn diff").by("discard")),
        _ => None,
    }
}

/// Returns true if the command works in a temporary directory.
fn is_temporary(scene: &Scene<'_>, directory: Option<&Arg>) -> bool {
    let here = Arg::plain(".");
    let place = Area::of(directory.unwrap_or(&here), scene.run, scene.cwd);
    place == Area::Temporary
}

/// Returns true if the command right before keeps all changes in a stash: in the same repository of this machine, and surely.
fn is_stashed(scene: &Scene<'_>) -> bool {
    let Some(run) = scene.before().last() else { return false };
    let (Some((sub, args, _)), Some((_, own, _))) = (git_parts(run.args()), git_parts(scene.run.args()))
    else {
        return false;
    };
    let options = |run: &Run, args: &[Arg]| run.args().len() - args.len();
    let (before, own) = (options(run, args), options(scene.run, own));
    let same = before == own && run.args().iter().zip(scene.run.args()).take(own - 1).all(|(a, b)| a == b);
    let is_here = same
        && run.program() == Some("git")
        && sub == "stash"
        && (&run.directory, &run.elsewhere) == (&scene.run.directory, &scene.run.elsewhere)
        && (run.place, scene.run.place) == (Place::Here, Place::Here)
        && !scene.is_redirected();
    let args = args.strip_prefix(&[Arg::plain("push")]).unwrap_or(args);
    let is_saved = args.first().is_some_and(|it| it.text == "save");
    let is_part = has(args, 'p', "--patch")
        || has(args, 'S', "--staged")
        || has(args, '\0', "--pathspec-from-file")
        || args.iter().any(|it| it.text == "--");
    let is_whole = !is_part && (is_saved || operands(args, "-m --message").is_empty());
    let is_linked = scene.run.needs.is_some_and(|at| at + 1 == scene.at) || run.is_sure && scene.run.is_sure;
    is_here && is_whole && is_linked
}

/// Judges git, with as many aliases of aliases as `deeper`.
fn git(scene: &Scene<'_>, deeper: usize) -> Option<Denial> {
    let (sub, args, directory) = git_parts(scene.run.args())?;
    if let Some(run) = refs::of_alias(scene, sub, args) {
        return deeper.checked_sub(1).and_then(|it| git(&Scene { run: &run, ..*scene }, it));
    }
    // No option of a subcommand that changes something begins with `-h`. A push destroys something elsewhere.
    let is_help = ["--help", "-h"].iter().any(|it| is_excused_by(args, '\0', it));
    if is_help || !is_push(sub) && is_temporary(scene, directory) {
        return None;
    }
    // Any text may be a subcommand if a setting is denied.
    let is_name = sub.len() < 20 && sub.bytes().all(|it| it.is_ascii_lowercase() || it == b'-');
    let denial = of_sub(scene, sub, args)?.by(if is_name { sub } else { "setting" });
    // The directory of an alias is that of the command before it.
    let is_kept = deeper == ALIASES && state::keeps(scene, sub, args, directory);
    (!is_kept).then_some(denial)
}

/// Returns true if an option that excuses a subcommand surely counts.
fn is_excused_by(args: &[Arg], letter: char, long: &str) -> bool {
    surely_has(args, letter, long, listed(VALUES))
}

/// Returns true for a subcommand that changes references at a remote.
fn is_push(sub: &str) -> bool {
    matches!(sub, "push" | "send-pack" | "http-push")
}

/// Judges a subcommand, without a look at the repository.
fn of_sub(scene: &Scene<'_>, sub: &str, args: &[Arg]) -> Option<Denial> {
    let is_dry = is_excused_by(args, 'n', "--dry-run");
    let is_strict = scene.preset == Preset::Strict;
    let is_relaxed = scene.preset == Preset::Relaxed;
    let first = args.first().map(|it| it.text.as_str()).unwrap_or_default();
    let by_setting =
        || refs::settings(scene.run.args()).find_map(|(key, value)| refs::of_setting(key, value));
    match sub {
        "reset" => {
            let is_hard = has(args, '\0', "--hard") || has(args, '\0', "--merge");
            let to_head = operands(args, "").first().is_none_or(|it| it.text == "HEAD");
            if has(args, '\0', "--keep") && !to_head {
                let what = "its commits become unreachable";
                return Some(Denial::new("takes commits off the branch", what, "git branch backup").save());
            }
            (is_hard && !(to_head && is_stashed(scene))).then(|| stash("resets the files"))
        }
        "clean" => clean(scene, args),
        "checkout" => checkout(scene, args).or_else(|| refs::created_again(args, 'B', is_strict)),
        "fetch" | "pull" => by_setting().or_else(|| refs::fetched(args)),
        "config" => args.windows(2).find_map(|it| match it {
            [key, value] => refs::of_setting(&key.text, &value.text),
            _ => None,
        }),
        "switch" => {
            let is_forced = has(args, 'f', "--force") || has(args, '\0', "--discard-changes");
            is_forced.then(|| stash("discards changes")).or_else(|| refs::created_again(args, 'C', is_strict))
        }
        "restore" => {
            let only_staged = is_excused_by(args, 'S', "--staged") && !has(args, 'W', "--worktree");
            if only_staged || is_stashed(scene) || is_excused_by(args, 'p', "--patch") || is_relaxed {
                return None;
            }
            let targets = operands(args, "-s --source");
            if !targets.is_empty() && targets.iter().all(|it| Area::of(it, scene.run, scene.cwd).is_cheap()) {
                return None;
            }
            Some(stash("overwrites files"))
        }
        "stash" => match first {
            "drop" | "clear" => {
                Some(Denial::new("drops a stash", "its changes are lost", "git stash show --patch"))
            }
            _ => None,
        },
        "branch" => branch(args, is_relaxed).or_else(|| refs::renamed(args, is_strict)),
        _ if is_push(sub) => (!is_dry).then(|| by_setting().or_else(|| push(args, is_relaxed))).flatten(),
        "filter-branch" | "filter-repo" => Some(rewrites()),
        "rebase" => (is_strict && !matches!(first, "--abort" | "--continue" | "--skip" | "--quit"))
            .then(|| Denial::new("rewrites commits", "others may have them", "git merge --no-ff").instead()),
        "commit" => (is_strict && has(args, '\0', "--amend")).then(|| {
            Denial::new("rewrites a commit", "others may have it", "git commit --fixup=HEAD").instead()
        }),
        "reflog" => (matches!(first, "expire" | "delete") && !is_dry).then(|| {
            Denial::new("removes the way back to lost commits", "they can't be found again", "git reflog")
        }),
        "gc" => args
            .iter()
            .any(|it| matches!(it.text.as_str(), "--prune=now" | "--prune=all"))
            .then(|| Denial::new("removes all lost commits", "they can't be recovered", "git gc").instead())
            .or_else(by_setting),
        "prune" => (!is_dry
            && (is_strict || args.iter().any(|it| it.text.contains("now") || it.text.contains("all")))
            || args.is_empty())
        .then(|| Denial::new("removes all lost commits", "they can't be recovered", "git prune --dry-run")),
        "worktree" => (first == "remove" && has(args, 'f', "--force"))
            .then(|| Denial::new("removes a worktree with its changes", CHANGES, "git worktree list")),
        "update-ref" => (has(args, 'd', "--delete")
            || args
                .iter()
                .any(|it| it.text.starts_with("refs/heads/") || it.text.starts_with("refs/remotes/"))
            || has(args, '\0', "--stdin"))
        .then(|| Denial::new("moves or removes a reference", "its commits are lost", "git for-each-ref")),
        "symbolic-ref" => match operands(args, "-m").as_slice() {
            _ if has(args, 'd', "--delete") => {
                let why = "the repository loses its branch";
                Some(Denial::new("removes a reference", why, "git symbolic-ref HEAD"))
            }
            // `refs/remotes/origin/HEAD` leads to another reference of the remote.
            [name, to] if !to.text.starts_with("refs/remotes/") => {
                name.text.starts_with("refs/remotes/").then(refs::forges)
            }
            _ => None,
        },
        "rm" => {
            let is_forced = has(args, 'f', "--force") && !is_excused_by(args, '\0', "--cached") && !is_dry;
            let is_cheap = operands(args, "").iter().all(|it| Area::of(it, scene.run, scene.cwd).is_cheap());
            (is_forced && !is_cheap && !is_relaxed).then(|| {
                Denial::new("removes files with their changes", CHANGES, "git rm --cached").instead()
            })
        }
        "replace" => (!matches!(first, "-l" | "--list" | "" | "-d"))
            .then(|| Denial::new("replaces a commit", "the history changes", "git replace --list")),
        "submodule" => (first == "deinit" && has(args, 'f', "--force"))
            .then(|| Denial::new("removes a submodule with its changes", CHANGES, "git submodule status")),
        "lfs" => (first == "prune" && has(args, 'f', "--force") && !is_dry).then(|| {
            Denial::new("removes large files", "the remote may not have them", "git lfs prune --dry-run")
        }),
        "read-tree" | "checkout-index" => {
            (has(args, 'f', "--force") || has(args, '\0', "--reset")).then(|| stash("overwrites files"))
        }
        "remote" | "tag" | "notes" if is_strict => {
            let removes = matches!(first, "remove" | "rm" | "-d" | "--delete" | "prune");
            removes.then(|| {
                Denial::new("removes references", "their commits become unreachable", "git for-each-ref")
            })
        }
        _ => None,
    }
}

fn clean(scene: &Scene<'_>, args: &[Arg]) -> Option<Denial> {
    // The line itself may answer.
    let is_asked = is_excused_by(args, 'i', "--interactive");
    let is_answered = is_asked && scene.run.is_fed;
    let is_dry = is_excused_by(args, 'n', "--dry-run") || is_asked && !is_answered;
    let by_setting = is_answered
        || scene.run.args().iter().any(|it| it.text.eq_ignore_ascii_case("clean.requireForce=false"));
    if is_dry || !has(args, 'f', "--force") && !by_setting {
        return None;
    }
    let targets = operands(args, "-e --exclude");
    if !targets.is_empty() && targets.iter().all(|it| Area::of(it, scene.run, scene.cwd).is_cheap()) {
        return None;
    }
    Some(Denial::new(
        "removes files that git does not track",
        "they can't be recovered",
        "git clean --dry-run -d",
    ))
}

/// Returns true for an argument that is a path, and cannot be a branch.
fn is_path(text: &str) -> bool {
    let name = text.rsplit('/').next().unwrap_or(text);
    let ending = name.rsplit_once('.').map(|(_, ending)| ending);
    text.starts_with("./")
        || text.starts_with(':')
        || text.ends_with('/')
        || matches!(
            text,
            "." | ".." | "*" | "src" | "lib" | "docs" | "tests" | "Makefile" | "Dockerfile" | "README"
        )
        || text.contains('*')
        || ending.is_some_and(|it| is_in(ENDINGS, it))
}

fn checkout(scene: &Scene<'_>, args: &[Arg]) -> Option<Denial> {
    let denial = || Some(stash("overwrites files"));
    if has(args, 'f', "--force") {
        return denial();
    }
    let creates = is_excused_by(args, 'b', "--orphan")
        || is_excused_by(args, 't', "--track")
        || is_excused_by(args, 'B', "");
    if creates || is_excused_by(args, 'p', "--patch") || is_stashed(scene) || scene.preset == Preset::Relaxed
    {
        return None;
    }
    let dashes = args.iter().position(|it| it.text == "--");
    let operands = operands(args, "--conflict");
    let paths: Vec<&Arg> = match dashes {
        Some(at) => args.get(at + 1..).unwrap_or_default().iter().collect(),
        None if has(args, '\0', "--ours") || has(args, '\0', "--theirs") => return None,
        None => match operands.as_slice() {
            [_, rest @ ..] if !rest.is_empty() => operands.iter().skip(1).copied().collect(),
            [one] if is_path(&one.text) => vec![*one],
            _ => return None,
        },
    };
    if has(args, '\0', "--ours") || has(args, '\0', "--theirs") {
        return None;
    }
    if paths.is_empty() || paths.iter().all(|it| Area::of(it, scene.run, scene.cwd).is_cheap()) {
        return None;
    }
    denial()
}

fn branch(args: &[Arg], is_relaxed: bool) -> Option<Denial> {
    let deletes = has(args, 'D', "") || has(args, 'd', "--delete") && has(args, 'f', "--force");
    let moves = has(args, 'f', "--force") && !has(args, 'd', "--delete");
    if !deletes && !moves || is_relaxed && moves {
        return None;
    }
    let names = operands(args, "");
    let is_name =
        |it: &str| !it.is_empty() && it.chars().all(|it| it.is_ascii_alphanumeric() || "-_./".contains(it));
    let denial = |safer| {
        Denial::new("removes a branch that may not be merged", "its commits become unreachable", safer)
    };
    Some(match names.first() {
        Some(name) if deletes && is_name(&name.text) && !name.text.starts_with('-') => {
            denial(format!("git branch -d {}", name.text)).instead()
        }
        _ => denial("git branch --list".to_owned()),
    })
}

fn push(args: &[Arg], is_relaxed: bool) -> Option<Denial> {
    let has_lease = args.iter().any(|it| it.text.starts_with("--force-with-lease"));
    // An option may be abbreviated, but not to the beginning of both.
    let is_forced = args.iter().any(|it| {
        it.text == "--force"
            || it.text.starts_with('-') && !it.text.starts_with("--") && it.text.contains('f')
    });
    let operands = operands(args, "-o --push-option --receive-pack --exec --repo");
    let refs = operands.get(1..).unwrap_or_default();
    let is_plus = refs.iter().any(|it| it.text.starts_with('+'));
    if is_forced || is_plus && !has_lease || has(args, '\0', "--mirror") {
        return Some(refs::overwrites());
    }
    // Such as `git push .`.
    if refs.iter().any(|it| refs::is_forged("", &it.text)) {
        return Some(refs::forges());
    }
    let deletes = has(args, 'd', "--delete")
        || has(args, '\0', "--prune")
        || refs.iter().any(|it| {
            // A tag names a commit that branches keep.
            it.text.starts_with(':') && it.text.len() > 1 && !it.text.starts_with(":refs/tags/")
        });
    (deletes && !is_relaxed)
        .then(|| Denial::new("deletes a branch at the remote", "others lose it", "git ls-remote --heads"))
}
