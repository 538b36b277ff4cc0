//! The program `git`, run so that it reads one repository and runs nothing of it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use tokio::time::Instant;

use super::{Checkout, as_path};
use crate::native::process::Process;
use hookbox_system::files::program;

/// The longest output that is read, in bytes: the index of a repository with some ten thousand files.
const MAX_OUTPUT: usize = 16 << 20;

/// The variables of this process that git gets: none. Without a home it reads no settings of the user, whose filters would
/// run.
const VARIABLES: [String; 0] = [];

/// Settings in front of each command. They go before those of the repository, and keep programs from running.
const SETTINGS: &str = "--no-pager --literal-pathspecs --no-replace-objects --no-optional-locks -c core.fsmonitor=false \
    -c core.hooksPath=/dev/null -c core.untrackedCache=false -c core.checkStat=default -c core.trustctime=true \
    -c protocol.allow=never -c safe.bareRepository=explicit";

/// Variables of the environment with the same purpose.
const ENVIRONMENT: [(&str, &str); 12] = [
    // npm puts directories of the repository into that of this process.
    ("PATH", "/usr/bin:/bin"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    // Grafts would give a commit other parents.
    ("GIT_GRAFT_FILE", "/dev/null"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_ALLOW_PROTOCOL", ""),
    ("GIT_TRACE2", "0"),
    ("LC_ALL", "C"),
];

/// Settings of a repository, by the beginning of their names, that change no answer and run nothing at the commands below.
/// With any other setting the state cannot be told. `core.` is missing, because its settings are listed one by one.
const SECTIONS: &str = "advice. alias. apply. author. blame. branch. color. column. commit. committer. credential. fetch. \
    format. gc. github. gpg. gui. help. http. https. i18n. init. lfs. log. maintenance. merge. notes. pull. push. rebase. \
    receive. remote. rerere. stash. tag. url. user. vscode-merge-base. worktree.";

/// Settings of the section `core`, and those that [`SETTINGS`] replace.
const CORE: &str = "abbrev askpass autocrlf bare checkstat commentchar commitgraph compression editor eol filemode \
    fsmonitor hookspath ignorecase logallrefupdates longpaths multipackindex pager precomposeunicode preloadindex \
    quotepath repositoryformatversion safecrlf sharedrepository sshcommand symlinks trustctime untrackedcache whitespace";

/// The program.
pub(super) struct Git {
    program: PathBuf,
}

/// The entries of an index.
#[derive(Default)]
pub(super) struct Index {
    pub(super) has_entries: bool,
    /// True if git was told not to look at a file.
    pub(super) is_odd: bool,
}

/// The answer of `git status`.
#[derive(Default)]
pub(super) struct Status {
    pub(super) branch: Option<String>,
    pub(super) changed: bool,
    pub(super) untracked: bool,
    /// Ignored files and directories, relative to the root.
    pub(super) ignored: Vec<PathBuf>,
}

impl Git {
    /// Finds the git that the user's settings name, or that of the system, if [only root can change it](program::git).
    pub(super) fn find(named: Option<&Path>) -> Option<Self> {
        program::git(named).map(|program| Self { program })
    }

    /// Runs git, and returns its output if it succeeds in time.
    async fn run(&self, directory: &Path, args: &[&str], ends: Instant) -> Option<Vec<u8>> {
        let variables = ENVIRONMENT.map(|(name, value)| (name, OsStr::new(value)));
        let args: Vec<&str> = SETTINGS.split_ascii_whitespace().chain(args.iter().copied()).collect();
        let process = Process {
            program: &self.program,
            args: &args,
            environment: Some(&VARIABLES),
            variables: &variables,
            directory: Some(directory),
            stdin: None,
            wall: ends.saturating_duration_since(Instant::now()),
            output: MAX_OUTPUT,
            log: 4096,
        };
        Some(process.run().await.ok()?.stdout)
    }

    /// Returns the checkout of a directory.
    pub(super) async fn checkout(&self, directory: &Path, ends: Instant) -> Option<Checkout> {
        let args = "rev-parse --path-format=absolute --show-toplevel --absolute-git-dir --git-common-dir";
        let args: Vec<&str> = args.split(' ').collect();
        let printed = self.run(directory, &args, ends).await?;
        let lines: Vec<&[u8]> = printed.strip_suffix(b"\n")?.split(|it| *it == b'\n').collect();
        // A path with a line break has more lines.
        let &[root, own, common] = lines.as_slice() else { return None };
        let paths = [root, own, common].map(as_path);
        paths.iter().all(|it| it.is_absolute()).then(|| {
            let [root, own, common] = paths;
            Checkout { linked: own != common, root, common }
        })
    }

    /// Returns true if every setting of the repository is known to be harmless. It runs nothing.
    pub(super) async fn is_harmless(&self, root: &Path, ends: Instant) -> Option<bool> {
        let args = ["config", "--list", "--name-only", "-z", "--local", "--includes"];
        let names = self.run(root, &args, ends).await?;
        Some(entries(&names).all(|it| std::str::from_utf8(it).is_ok_and(is_harmless)))
    }

    /// Reads the entries of the index, all or those at a path below the root. With a submodule there is no answer, because
    /// it has a state of its own.
    pub(super) async fn index(&self, root: &Path, path: Option<&Path>, ends: Instant) -> Option<Index> {
        let mut args = vec!["ls-files", "-v", "--stage", "-z"];
        if let Some(path) = path {
            args.extend(["--", path.to_str()?]);
        }
        let printed = self.run(root, &args, ends).await?;
        let mut index = Index::default();
        for entry in entries(&printed) {
            // `H 100644 <digest> 0\t<path>`; a small letter and `S` are files that git does not look at.
            let is_submodule = entry.get(2..)?.starts_with(b"160000 ");
            if is_submodule {
                return None;
            }
            index.has_entries = true;
            index.is_odd |= !matches!(entry.first(), Some(b'H' | b'M'));
        }
        Some(index)
    }

    /// Compares the commit, the index and the files, all or those at a path below the root.
    pub(super) async fn status(&self, root: &Path, path: Option<&Path>, ends: Instant) -> Option<Status> {
        let args = "status --porcelain=v2 -z --branch --no-renames --no-ahead-behind --untracked-files=normal \
            --ignore-submodules=all";
        let mut args: Vec<&str> = args.split_ascii_whitespace().collect();
        if let Some(path) = path {
            args.extend(["--ignored=traditional", "--", path.to_str()?]);
        }
        let printed = self.run(root, &args, ends).await?;
        let mut status = Status::default();
        for entry in entries(&printed) {
            match entry {
                [b'#', ..] => {
                    let name = entry.strip_prefix(b"# branch.head ");
                    let name =
                        name.and_then(|it| std::str::from_utf8(it).ok()).filter(|it| *it != "(detached)");
                    status.branch = status.branch.or_else(|| name.map(str::to_owned));
                }
                [b'?', ..] => status.untracked = true,
                [b'!', b' ', path @ ..] => {
                    status.ignored.push(as_path(path.strip_suffix(b"/").unwrap_or(path)));
                }
                _ => status.changed = true,
            }
        }
        Some(status)
    }

    /// Returns true if a branch of a remote has each commit of the reference. A remote on this machine may be a copy that
    /// is removed next, so it does not count.
    pub(super) async fn is_pushed(&self, root: &Path, reference: &str, ends: Instant) -> Option<bool> {
        let commit = format!("{reference}^{{commit}}");
        let found = self.run(root, &["rev-parse", "--verify", "--quiet", &commit], ends).await?;
        let found = std::str::from_utf8(found.trim_ascii_end()).ok()?;
        let is_digest = found.len() >= 40 && found.bytes().all(|it| it.is_ascii_hexdigit());
        if !is_digest {
            return None;
        }
        let settings = self.run(root, &["config", "--list", "-z", "--local", "--includes"], ends).await?;
        let remotes: Vec<String> =
            remotes_elsewhere(&settings).iter().map(|it| format!("--remotes={it}")).collect();
        let mut args = vec!["rev-list", "--max-count=1", found, "--not"];
        args.extend(remotes.iter().map(String::as_str));
        args.push("--");
        Some(self.run(root, &args, ends).await?.is_empty())
    }
}

/// Returns the parts of an output of git with `-z`.
fn entries(printed: &[u8]) -> impl Iterator<Item = &[u8]> {
    printed.split(|it| *it == 0).filter(|it| !it.is_empty())
}

/// Returns the remotes whose every address is on another machine, by the settings as `git config --list -z` prints them.
fn remotes_elsewhere(settings: &[u8]) -> Vec<&str> {
    let texts = || entries(settings).filter_map(|it| std::str::from_utf8(it).ok()?.split_once('\n'));
    let of = |section: &'static str, names: &'static [&'static str]| {
        texts().filter_map(move |(key, value)| {
            let (subsection, name) = key.strip_prefix(section)?.rsplit_once('.')?;
            names.contains(&name).then_some((subsection, value))
        })
    };
    // Such a setting turns an address elsewhere into one that is here.
    if of("url.", &["insteadof", "pushinsteadof"]).any(|(base, _)| !is_elsewhere(base)) {
        return Vec::new();
    }
    let addresses = || of("remote.", &["url", "pushurl"]);
    let is_here = |remote: &str| addresses().any(|(it, address)| it == remote && !is_elsewhere(address));
    // A name is a pattern for git.
    let is_name = |it: &str| !it.contains(['*', '?', '[', '\\']);
    addresses().map(|(it, _)| it).filter(|it| is_name(it) && !is_here(it)).collect()
}

/// Returns true for the address of another machine: `https://host/path`, `user@host:path`.
fn is_elsewhere(address: &str) -> bool {
    match address.split_once(':') {
        Some((scheme, rest)) if rest.starts_with("//") => scheme != "file",
        // With two colons a helper gets the rest, which may be a path.
        Some((host, rest)) => !host.contains('/') && !rest.starts_with(':'),
        None => false,
    }
}

/// Returns true if a setting changes no answer and runs nothing.
fn is_harmless(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    // A partial clone gets what it lacks from its remote.
    let is_lazy = name.starts_with("remote.") && (name.ends_with(".promisor") || name.ends_with("filter"));
    match name.strip_prefix("core.") {
        Some(core) => CORE.split_ascii_whitespace().any(|it| it == core),
        None => !is_lazy && SECTIONS.split_ascii_whitespace().any(|it| name.starts_with(it)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remote_counts_only_if_it_is_elsewhere() {
        for (settings, remotes) in [
            (&["remote.origin.url\nhttps://git.example/p.git"][..], &["origin"][..]),
            (
                &[
                    "remote.o.x.url\nme@git.example:p.git",
                    "remote.o.x.fetch\n+refs/heads/*:refs/remotes/o.x/*",
                ],
                &["o.x"],
            ),
            (&["remote.a.url\nssh://git.example/p", "remote.b.url\n/tmp/r"], &["a"]),
            (&["remote.a.url\nhttps://git.example/p", "remote.a.pushurl\n../r"], &[]),
            (&["remote.a.url\nfile:///tmp/r"], &[]),
            (&["remote.a.url\n."], &[]),
            (&["remote.a.url\n./git.example:p"], &[]),
            (&["remote.a.url\next::sh -c x"], &[]),
            (&["remote.*.url\nhttps://git.example/p"], &[]),
            (&["remote.a.url\nhttps://git.example/p", "url./tmp/r.insteadof\nhttps://git.example/p"], &[]),
            (&["remote.a.url\ngh:me/p", "url.git@git.example:.insteadof\ngh:"], &["a"]),
            (&["remote.a.fetch\n+refs/heads/*:refs/remotes/a/*", "core.bare"], &[]),
        ] {
            assert_eq!(remotes_elsewhere(settings.join("\0").as_bytes()), remotes, "{settings:?}");
        }
    }

    #[test]
    fn a_setting_is_harmless_only_if_it_is_known() {
        for (name, expected) in [
            ("core.bare", true),
            ("core.hooksPath", true),
            ("core.fsmonitor", true),
            ("branch.main.merge", true),
            ("remote.origin.fetch", true),
            ("user.name", true),
            ("core.worktree", false),
            ("core.gitproxy", false),
            ("core.excludesfile", false),
            ("core.attributesfile", false),
            ("core.ignorestat", false),
            ("core.sparsecheckout", false),
            ("filter.x.clean", false),
            ("Filter.x.process", false),
            ("include.path", false),
            ("includeif.gitdir:/.path", false),
            ("extensions.worktreeconfig", false),
            ("remote.origin.promisor", false),
            ("remote.origin.partialclonefilter", false),
            ("submodule.recurse", false),
            ("hook.x.command", false),
            ("branches", false),
            ("", false),
        ] {
            assert_eq!(is_harmless(name), expected, "{name}");
        }
    }
}
