//! A git repository as a source, fetched by the user's own `git` with its credentials, ssh, proxies and
//! settings.
//!
//! Nothing is checked out. The commit is fetched into a bare repository in the staging directory. Git lists
//! its tree, and the files are read from it one by one, after their names, modes and sizes are checked.

mod process;
mod tree;

use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use hookbox_system::text;

use crate::{GitUrl, Observer, PluginError, PluginErrorKind, Stage, Step, source};

/// The server process for a repository on this machine. It inherits the limits of our git but not its
/// settings, and would compare large files with each other in memory.
const LOCAL: &str =
    "--upload-pack=git -c core.bigFileThreshold=32m -c pack.threads=2 -c pack.windowMemory=64m upload-pack";

/// The reference to the fetched revision.
const FETCHED: &str = "refs/hookbox/fetched";

/// The fewest digits that git takes for an abbreviated commit.
const MIN_DIGITS: usize = 4;

/// The most names in a hint.
const HINTS: usize = 3;

/// The bounds of one fetch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Wall-clock time for all of it. A large repository takes minutes over a slow line; a longer fetch
    /// hangs.
    time: Duration,
    /// Bytes that git may write. A repository may hold far more than its plugin.
    disk: u64,
    /// Bytes of memory for each process of git, half of it for one allocation. A system without RLIMIT_DATA
    /// has only the second limit. To unpack a large repository git needs some hundred MiB.
    memory: u64,
    /// Files and directories in the whole tree of the commit. The largest known repositories have fewer.
    listed: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { time: Duration::from_secs(600), disk: 1 << 30, memory: 1 << 30, listed: 1_000_000 }
    }
}

/// Writes the files of a repository into the stage, and returns their commit.
pub(super) async fn fetch(
    url: &GitUrl,
    reference: Option<&str>,
    pin: Option<&str>,
    bounds: &Bounds,
    stage: &mut Stage<'_>,
    observer: &dyn Observer,
) -> Result<String, PluginError> {
    check(reference, pin)?;
    observer.step(&Step::Resolving);
    let dir = std::path::absolute(stage.scratch().join("git"))
        .map_err(|error| PluginError::io(stage.scratch(), error))?;
    let git = Git { url, dir, bounds: *bounds, ends: Instant::now() + bounds.time };
    let commit = match (pin, reference) {
        (Some(pin), _) => match git.object(pin, reference).await? {
            commit if commit == pin => commit,
            _ => return Err(git.mismatch(pin)),
        },
        (None, Some(id)) if is_id(id) => git.object(&id.to_ascii_lowercase(), None).await?,
        (None, name) => git.named(name.unwrap_or("HEAD")).await?,
    };
    let entries = git.list(&commit, stage).await?;
    if !entries.iter().any(tree::Entry::is_content) {
        return Err(git
            .error(PluginErrorKind::Empty)
            .hint("expected files in skills/, recipes/ or hooks/ at the top of the repository"));
    }
    git.write(&entries, stage).await?;
    // This frees its disk space. If it fails, the repository is removed with the staging directory.
    if let Err(error) = fs::remove_dir_all(&git.dir) {
        tracing::debug!(%error, "a fetched repository cannot be removed yet");
    }
    Ok(commit)
}

/// Returns the error about a reference that git could take for an option or an expression, and about a pin
/// that is not a commit id.
fn check(reference: Option<&str>, pin: Option<&str>) -> Result<(), PluginError> {
    if let Some(pin) = pin.filter(|pin| !is_id(pin) || pin.bytes().any(|it| it.is_ascii_uppercase())) {
        let why = "is not a commit: expected 40 or 64 hexadecimal digits in small letters";
        return Err(PluginError::new(pin, PluginErrorKind::Mismatch(why.to_owned())));
    }
    match reference.filter(|name| source::checked(Some(name)).is_err()) {
        Some(name) => {
            let why = "is not a branch, tag or commit: expected a name that git allows";
            Err(PluginError::new(name, PluginErrorKind::Source(why.to_owned())))
        }
        None => Ok(()),
    }
}

/// Returns true for the whole id of an object, in SHA-1 or SHA-256.
fn is_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|it| it.is_ascii_hexdigit())
}

/// Returns true for text that may be the first digits of an id.
fn may_abbreviate(text: &str) -> bool {
    text.len() >= MIN_DIGITS && text.len() < 64 && text.bytes().all(|it| it.is_ascii_hexdigit())
}

/// A bare repository, and the bounds within which git fetches one address into it.
struct Git<'a> {
    /// The fetched address.
    url: &'a GitUrl,
    /// The bare repository. Its parent is the staging directory.
    dir: PathBuf,
    bounds: Bounds,
    /// The time at which all has to be done.
    ends: Instant,
}

/// The part of the history to fetch.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Depth {
    One,
    All,
}

/// The result of a command of git: its output, or its words if it failed. They are safe to show.
type Ran<T> = Result<T, String>;

impl Git<'_> {
    /// Makes an empty repository for ids of this length.
    async fn make(&self, digits: usize) -> Result<(), PluginError> {
        if self.dir.exists() {
            fs::remove_dir_all(&self.dir).map_err(|error| self.unusable(&error))?;
        }
        let format = if digits == 64 { "--object-format=sha256" } else { "--object-format=sha1" };
        let made = self.run(&["init", "--quiet", "--bare", "--template=", format]).await?;
        made.map(drop).map_err(|words| self.failed(&words))
    }

    /// Fetches an object by its id, and returns its commit. Many servers refuse that unless a branch or tag
    /// names it; then all of these are fetched.
    async fn object(&self, id: &str, reference: Option<&str>) -> Result<String, PluginError> {
        self.make(id.len()).await?;
        if self.fetch(Depth::One, &[&format!("+{id}:{FETCHED}")]).await?.is_ok() {
            return self.fetched().await;
        }
        self.all(reference).await?;
        self.commit(id).await?.ok_or_else(|| self.mismatch(id))
    }

    /// Fetches the revision of this name, and returns its commit.
    async fn named(&self, name: &str) -> Result<String, PluginError> {
        let refspec = format!("+{name}:{FETCHED}");
        self.make(40).await?;
        let Err(words) = self.fetch(Depth::One, &[&refspec]).await? else { return self.fetched().await };
        // The names at the server tell the reason, and a server that gives none has said it.
        let listed = self.run(&["ls-remote", "--", self.url.as_str()]).await?;
        let listed = listed.map_err(|_| self.failed(&words))?;
        let refs: Vec<(&str, &str)> = listed.lines().filter_map(|line| line.split_once('\t')).collect();
        if refs.iter().any(|(id, _)| id.len() == 64) {
            self.make(64).await?;
            if self.fetch(Depth::One, &[&refspec]).await?.is_ok() {
                return self.fetched().await;
            }
        }
        let full = ["", "refs/", "refs/tags/", "refs/heads/"].map(|start| format!("{start}{name}"));
        if refs.iter().any(|(_, it)| full.iter().any(|full| full == it)) {
            // A server that does not know `--depth`.
            self.fetch(Depth::All, &[&refspec]).await?.map_err(|words| self.failed(&words))?;
            return self.fetched().await;
        }
        if may_abbreviate(name) && !refs.is_empty() {
            // No server finds such a commit.
            self.all(None).await?;
            if let Some(commit) = self.commit(name).await? {
                return Ok(commit);
            }
        }
        Err(self.not_found(name, &refs))
    }

    /// Fetches all branches and tags with their whole history, and another reference if there is one, such as
    /// the head of a merge request.
    async fn all(&self, reference: Option<&str>) -> Result<(), PluginError> {
        let every = ["+refs/heads/*:refs/hookbox/heads/*", "+refs/tags/*:refs/hookbox/tags/*"];
        if let Some(name) = reference.filter(|name| !is_id(name)) {
            let [heads, tags] = every;
            if self.fetch(Depth::All, &[heads, tags, &format!("+{name}:{FETCHED}")]).await?.is_ok() {
                return Ok(());
            }
        }
        self.fetch(Depth::All, &every).await?.map_err(|words| self.failed(&words))
    }

    async fn fetch(&self, depth: Depth, refspecs: &[&str]) -> Result<Ran<()>, PluginError> {
        let mut args = vec!["fetch", "--quiet", "--no-tags"];
        args.push(match depth {
            Depth::One => "--depth=1",
            // A repository that is shallow itself sends all that it has.
            Depth::All => "--update-shallow",
        });
        if self.url.as_str().starts_with("file://") {
            args.push(LOCAL);
        }
        args.extend(["--", self.url.as_str()]);
        args.extend(refspecs);
        Ok(self.run(&args).await?.map(drop))
    }

    /// Returns the commit that was fetched.
    async fn fetched(&self) -> Result<String, PluginError> {
        self.commit(FETCHED).await?.ok_or_else(|| {
            let what = "has something else than a commit there".to_owned();
            self.error(PluginErrorKind::Fetch(what)).hint("name a branch, a tag of a commit, or a commit")
        })
    }

    /// Returns the id of a commit in this repository.
    async fn commit(&self, name: &str) -> Result<Option<String>, PluginError> {
        let printed = self.run(&["rev-parse", "--verify", &format!("{name}^{{commit}}")]).await?;
        Ok(printed.ok().map(|it| it.trim().to_owned()).filter(|id| is_id(id)))
    }

    /// Returns an error about the fetched address.
    fn error(&self, kind: PluginErrorKind) -> PluginError {
        PluginError::new(self.url.shown(), kind)
    }

    /// Returns the error for a git that failed with these words.
    fn failed(&self, words: &str) -> PluginError {
        self.error(PluginErrorKind::Fetch(format!("git failed: {words}"))).hint(
            "try `git ls-remote` with the address: git uses its own settings, credentials and ssh keys here",
        )
    }

    fn too_long(&self) -> PluginError {
        let most = self.bounds.listed;
        let what = format!("has too many files to look at, or too long names: expected at most {most} files");
        self.error(PluginErrorKind::TooLarge(what))
    }

    fn unusable(&self, error: &io::Error) -> PluginError {
        self.error(PluginErrorKind::Fetch(format!("the files of git cannot be used: {error}")))
    }

    fn mismatch(&self, id: &str) -> PluginError {
        let what = format!("does not give the commit {id}: it is gone, or no branch and tag leads to it");
        self.error(PluginErrorKind::Mismatch(what)).hint(
            "was its history rewritten? look at what is there now, and update the plugin, or ask its author",
        )
    }

    /// Returns the error for a missing branch or tag, with the nearest names of these references.
    fn not_found(&self, name: &str, refs: &[(&str, &str)]) -> PluginError {
        let names = refs.iter().filter_map(|(_, name)| {
            let short = name.strip_prefix("refs/heads/").or(name.strip_prefix("refs/tags/"));
            short.filter(|it| !it.ends_with("^{}"))
        });
        let mut names: Vec<&str> = names.take(10_000).collect();
        names.sort_by_cached_key(|it| text::distance(name, text::prefix(it, 256)));
        let near: Vec<String> = names.iter().take(HINTS).map(|it| text::escape(it, 100)).collect();
        let fetch = |what: String| self.error(PluginErrorKind::Fetch(what));
        match (near.as_slice(), name) {
            ([], _) => fetch("has no branch and no tag: it is empty, or you may see none".to_owned())
                .hint("push a commit to it first"),
            (near, "HEAD") => {
                fetch("has no default branch: its HEAD names one that does not exist".to_owned())
                    .hint(format!("name one with @ or --ref: {}", near.join(", ")))
            }
            (near, name) => fetch(format!("has no branch, tag or commit {}", text::escape(name, 255)))
                .hint(format!("it has {}", near.join(", "))),
        }
    }
}

#[cfg(test)]
mod tests;
