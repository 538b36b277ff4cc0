//! The commands of git that only read.

use hookbox_sdk::shell::{Arg, Run};
use hookbox_shell::is_in;

use crate::options::is_option;

/// Options with which a command of git writes, or starts a program.
const REFUSED: &str = "--output --ext-diff --textconv --show-signature --open-files-in-pager --filters \
    --paginate --upload-pack";

/// Commands that only read with any other option.
const READERS: &str = "status log show diff shortlog rev-parse rev-list describe blame ls-files ls-tree \
    cat-file name-rev merge-base count-objects diff-tree diff-index diff-files for-each-ref";

/// Options with which `git branch` only lists; those with `=` have a value.
const BRANCH: &str = "-a -r -v -vv -av -avv -rv --all --remotes --list -l --show-current --verbose --merged \
    --no-merged --no-color --color= --sort= --format= --merged= --contains= --no-contains= --points-at=";

/// Beginnings of the settings that are no secrets and start no program.
const SETTINGS: [&str; 5] = ["user.name", "user.email", "init.", "branch.", "pull."];

/// Returns true if a command of git only reads. In another directory, other settings may start programs.
pub(crate) fn only_reads(run: &Run, cwd: &str) -> bool {
    let is_here = run.directory.as_deref() == Some(cwd) && run.elsewhere.is_empty();
    let mut words: Vec<&str> = run.args().iter().map(|it| it.text.as_str()).collect();
    while matches!(words.first(), Some(&("--no-pager" | "--no-optional-locks"))) {
        words.remove(0);
    }
    let Some((command, args)) = words.split_first() else { return false };
    let is_plain = run.args().iter().all(Arg::is_plain);
    let is_signed = |it: &&str| it.contains("%G");
    is_here
        && is_plain
        && !args.iter().any(|it| is_option(it, REFUSED) || is_signed(it))
        && (is_in(READERS, command) || reads_with(command, args))
}

fn reads_with(command: &str, args: &[&str]) -> bool {
    let only = |options: &str| {
        let fits = |it: &str, option: &str| it == option || option.ends_with('=') && it.starts_with(option);
        args.iter().all(|it| options.split_ascii_whitespace().any(|option| fits(it, option)))
    };
    match (command, args) {
        ("--version" | "version", []) => true,
        ("grep", _) => !args.iter().any(|it| is_option(it, "-O")),
        ("branch", ["--contains" | "--merged" | "--no-merged", revision]) => !revision.starts_with('-'),
        ("branch", ["--list" | "-l", patterns @ ..]) => patterns.iter().all(|it| !it.starts_with('-')),
        ("branch", _) => only(BRANCH),
        ("tag", []) => true,
        ("tag", ["-l" | "--list" | "-n", rest @ ..]) => rest
            .iter()
            .all(|it| !it.starts_with('-') || it.starts_with("--sort=") || it.starts_with("--format=")),
        ("remote", []) => true,
        ("remote", _) => only("-v --verbose") || matches!(args, ["get-url", name] if !name.starts_with('-')),
        ("stash", ["list" | "show", ..]) => true,
        ("worktree", ["list", rest @ ..]) => rest.iter().all(|it| matches!(*it, "--porcelain" | "-v" | "-z")),
        ("reflog", [] | ["show", ..]) => true,
        ("config", ["--get", key] | [key]) => SETTINGS.iter().any(|it| key.starts_with(it)),
        ("symbolic-ref", [name] | ["--short" | "-q", name]) => !name.starts_with('-'),
        ("show-ref", _) => true,
        ("check-ignore", _) => true,
        _ => false,
    }
}
