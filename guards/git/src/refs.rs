//! Aliases and branches that an option moves.

use hookbox_judge::{Area, Denial, Scene, git_parts, has, operands};
use hookbox_shell::{Arg, FileUse, Place, Run, join_path};

/// Branches that exist nearly everywhere.
const MAIN: [&str; 4] = ["main", "master", "develop", "trunk"];

fn moves() -> Option<Denial> {
    Some(Denial::new("moves a branch that exists", "its commits become unreachable", "git branch --list"))
}

/// Returns the run that an alias of the line stands for: of `-c alias.NAME=VALUE`, or of `git config` before.
pub(crate) fn of_alias(scene: &Scene<'_>, sub: &str, args: &[Arg]) -> Option<Run> {
    let key = format!("alias.{sub}").to_ascii_lowercase();
    let of_option = settings(scene.run.args()).find(|(name, _)| name.eq_ignore_ascii_case(&key));
    let of_line = || {
        scene.before().iter().rev().filter(|it| it.program() == Some("git")).find_map(|run| {
            let (sub, args, _) = git_parts(run.args()).filter(|(sub, _, _)| *sub == "config")?;
            let at = args.iter().position(|it| it.text.eq_ignore_ascii_case(&key))?;
            let value = args.get(at + 1).map(|it| it.text.as_str())?;
            (sub == "config").then_some(value)
        })
    };
    let value = of_option.map(|(_, value)| value).or_else(of_line)?;
    // The reading has the commands of an alias that is a script.
    if value.starts_with('!') || value.split_ascii_whitespace().next().is_none_or(|it| it == sub) {
        return None;
    }
    let words = value.split_ascii_whitespace().map(|it| Arg::plain(it.trim_matches(['"', '\''])));
    let words = [Arg::plain("git")].into_iter().chain(words).chain(args.iter().cloned()).collect();
    Some(Run { words, ..scene.run.clone() })
}

/// Returns the keys and values of the options `-c`.
pub(crate) fn settings(args: &[Arg]) -> impl Iterator<Item = (&str, &str)> {
    args.windows(2).filter_map(|it| match it {
        [option, value] if option.text == "-c" => value.text.split_once('='),
        _ => None,
    })
}

/// Judges a setting: one that forces each push, removes lost commits at once, or fetches over what remotes had.
pub(crate) fn of_setting(key: &str, value: &str) -> Option<Denial> {
    let key = key.to_ascii_lowercase();
    match key.strip_prefix("remote.").and_then(|it| it.rsplit_once('.')) {
        Some((_, "push")) => value.starts_with('+').then(overwrites),
        Some((_, "mirror")) => (value != "false").then(overwrites),
        Some((name, "fetch")) => is_forged(name, value).then(forges),
        _ => (matches!(key.as_str(), "gc.pruneexpire" | "gc.reflogexpire" | "gc.reflogexpireunreachable")
            && matches!(value, "now" | "all"))
        .then(|| Denial::new("removes all lost commits", "they can't be recovered", "git gc").instead()),
    }
}

/// Refuses to overwrite branches at a remote.
pub(crate) fn overwrites() -> Denial {
    let why = "commits of other people are lost";
    Denial::new("overwrites the branch at the remote", why, "git push --force-with-lease").instead()
}

/// Refuses to write what only a fetch from a remote or a push to it may write.
pub(crate) fn forges() -> Denial {
    let what = "writes a reference past git, or one of what a remote has";
    Denial::new(what, "commits that are nowhere else count as pushed, or are lost", "git for-each-ref")
}

/// Returns true if a refspec writes what another remote than the named one has.
pub(crate) fn is_forged(remote: &str, spec: &str) -> bool {
    let to = spec.rsplit_once(':').and_then(|(_, to)| to.strip_prefix("refs/remotes/"));
    to.is_some_and(|to| !to.strip_prefix(remote).is_some_and(|it| it.starts_with('/')))
}

/// Judges files of git that keep references, which a command writes or moves.
pub(crate) fn written(scene: &Scene<'_>) -> Option<Denial> {
    let directory = scene.run.directory.as_deref().unwrap_or(".");
    let is_kept = |path: &str| {
        let path = join_path(&join_path(scene.cwd, directory), path);
        let mut parts = path.split('/').skip_while(|it| *it != ".git").skip(1).peekable();
        // Those of a linked worktree, and of a submodule.
        while let Some(&("worktrees" | "modules")) = parts.peek() {
            parts.nth(1);
        }
        let mut parts = parts.skip_while(|it| *it == "logs");
        matches!(parts.next(), Some("refs" | "packed-refs" | "HEAD" | "reftable"))
            && Area::of(&Arg::plain(path.as_str()), scene.run, scene.cwd) != Area::Temporary
    };
    let mut files = scene.run.files().into_iter();
    let is_written = |usage| matches!(usage, FileUse::Writes | FileUse::Moves);
    (scene.run.place == Place::Here && files.any(|it| is_written(it.usage) && is_kept(it.path))).then(forges)
}

/// Judges `switch -C` and `checkout -B`: they move a branch that may exist.
pub(crate) fn created_again(args: &[Arg], letter: char, is_strict: bool) -> Option<Denial> {
    let at = args.iter().position(|it| {
        let is_group = it.text.starts_with('-') && !it.text.starts_with("--");
        is_group && it.text.contains(letter) || letter == 'C' && it.text == "--force-create"
    })?;
    let name = args.get(at + 1).map(|it| it.text.as_str()).unwrap_or_default();
    (is_strict || MAIN.contains(&name)).then(moves).flatten()
}

/// Judges `branch -M OLD NEW` and `branch -C OLD NEW`: they replace a branch of the new name.
pub(crate) fn renamed(args: &[Arg], is_strict: bool) -> Option<Denial> {
    let replaces = has(args, 'M', "") || has(args, 'C', "");
    let names = operands(args, "");
    let [old, new] = names.as_slice() else { return None };
    let is_main = |it: &Arg| MAIN.contains(&it.text.as_str());
    // The name of the main branch may change, such as from `master` to `main`.
    (replaces && (is_strict || is_main(new) && !is_main(old))).then(moves).flatten()
}

/// Judges `fetch` and `pull`: a `+` in front of a reference replaces a branch of this repository.
pub(crate) fn fetched(args: &[Arg]) -> Option<Denial> {
    let is_forced = has(args, 'f', "--force");
    let short = |it: &str| it.trim_start_matches("refs/heads/").to_owned();
    let operands = operands(args, "--depth --deepen -o --upload-pack -j");
    let (remote, specs) = operands.split_first()?;
    if specs.iter().any(|it| is_forged(&remote.text, &it.text)) {
        return Some(forges());
    }
    let replaces = specs.iter().any(|it| {
        let spec = it.text.strip_prefix('+').or_else(|| is_forced.then_some(it.text.as_str()));
        let Some((from, to)) = spec.and_then(|it| it.split_once(':')) else { return false };
        let (from, to) = (short(from), short(to));
        // `pull/12/head` has a name of the user's own here.
        let is_branch = !["pull/", "merge-requests/", "refs/"].iter().any(|it| from.starts_with(it));
        MAIN.contains(&to.as_str()) || is_branch && !to.starts_with("refs/") && !to.is_empty()
    });
    replaces.then(moves).flatten()
}
