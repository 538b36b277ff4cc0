//! The bare repository in the staging directory, and fetching a commit into it.

use std::path::Path;
use std::time::Instant;

use super::Bounds;
use super::failure::Failure;
use super::revision::{Revision, is_id, may_abbreviate};
use super::run::Git;
use crate::{GitUrl, Observer, PluginError, PluginErrorKind, Step};
use hookbox::internal::text;

/// The reference to the fetched revision.
const FETCHED: &str = "refs/hookbox/fetched";

/// The server process for a repository on this machine. It inherits the limits of our git but not its
/// settings, and would compare large files with each other in memory.
const LOCAL: &str =
    "--upload-pack=git -c core.bigFileThreshold=32m -c pack.threads=2 -c pack.windowMemory=64m upload-pack";

/// The most bytes of the list of branches and tags that are read for a hint.
const MAX_REFS: u64 = 1 << 20;

/// The most names in a hint.
const HINTS: usize = 3;

/// A bare repository.
pub(super) struct Repository<'a> {
    pub(super) git: Git,
    url: &'a GitUrl,
    /// The most entries of a tree.
    pub(super) listed: usize,
    observer: &'a dyn Observer,
}

/// The part of the history to fetch.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Depth {
    One,
    All,
}

impl<'a> Repository<'a> {
    /// Makes an empty repository.
    pub(super) async fn new(
        url: &'a GitUrl,
        scratch: &Path,
        bounds: &Bounds,
        observer: &'a dyn Observer,
    ) -> Result<Self, PluginError> {
        let dir = std::path::absolute(scratch.join("git"));
        let git = Git {
            dir: dir.map_err(|error| PluginError::io(scratch, error))?,
            ends: Instant::now() + bounds.time,
            time: bounds.time,
            file: bounds.disk,
            memory: bounds.memory,
        };
        let repository = Self { git, url, listed: bounds.listed, observer };
        repository.make("sha1").await.map_err(|failure| repository.failed(failure))?;
        Ok(repository)
    }

    async fn make(&self, format: &str) -> Result<(), Failure> {
        let format = format!("--object-format={format}");
        self.git.run(["init", "--quiet", "--bare", "--template=", &format], |_, _| ()).await
    }

    /// Removes the repository, to free its disk space. If that fails it is removed with the staging
    /// directory.
    pub(super) fn remove(self) {
        if let Err(error) = std::fs::remove_dir_all(&self.git.dir) {
            tracing::debug!(%error, "a fetched repository cannot be removed yet");
        }
    }

    /// Returns the address for messages.
    pub(super) fn shown(&self) -> String {
        self.url.shown()
    }

    /// Returns the error for a failure of git.
    pub(super) fn failed(&self, failure: Failure) -> PluginError {
        failure.about(self.url)
    }

    /// Fetches a revision, and returns its commit.
    pub(super) async fn fetch(&self, revision: &Revision) -> Result<String, PluginError> {
        match revision {
            Revision::Head => self.named("HEAD").await,
            Revision::Name(name) => self.named(name).await,
            Revision::Object(id) => self.object(id, None).await,
            Revision::Pin(id, reference) => {
                let commit = self.object(id, reference.as_deref()).await?;
                if commit == *id { Ok(commit) } else { Err(self.mismatch(id)) }
            }
        }
    }

    async fn named(&self, name: &str) -> Result<String, PluginError> {
        match self.try_fetch(Depth::One, &[&format!("+{name}:{FETCHED}")]).await {
            Ok(()) => self.fetched().await,
            Err(failure) if !is_missing(&failure) => Err(self.failed(failure)),
            Err(_) if may_abbreviate(name) => self.abbreviated(name).await,
            Err(_) => Err(self.not_found(name).await),
        }
    }

    /// Fetches an object by its id. Many servers refuse that unless a branch or tag names it; then all of
    /// these are fetched.
    async fn object(&self, id: &str, reference: Option<&str>) -> Result<String, PluginError> {
        match self.try_fetch(Depth::One, &[&format!("+{id}:{FETCHED}")]).await {
            Ok(()) => return self.fetched().await,
            Err(failure) if !is_refused(&failure) => return Err(self.failed(failure)),
            Err(_) => {}
        }
        self.all(reference).await?;
        self.commit(id).await.map_err(|failure| match failure {
            Failure::Git(_) => self.mismatch(id),
            failure => self.failed(failure),
        })
    }

    fn mismatch(&self, id: &str) -> PluginError {
        let what = format!("does not give the commit {id}: it is gone, or no branch and tag leads to it");
        PluginError::new(self.shown(), PluginErrorKind::Mismatch(what)).hint(
            "was its history rewritten? look at what is there now, and update the plugin, or ask its author",
        )
    }

    /// Fetches a commit by its first digits. No server finds such a commit, so the whole history is fetched.
    async fn abbreviated(&self, digits: &str) -> Result<String, PluginError> {
        self.all(None).await?;
        match self.commit(digits).await {
            Err(failure) if failure.contains(&["ambiguous"]) => {
                let what = format!("has more than one commit that begins with {digits}");
                Err(PluginError::new(self.shown(), PluginErrorKind::Fetch(what))
                    .hint("give more digits of it"))
            }
            Err(Failure::Git(_)) => Err(self.not_found(digits).await),
            commit => commit.map_err(|failure| self.failed(failure)),
        }
    }

    /// Fetches all branches and tags with their whole history.
    async fn all(&self, reference: Option<&str>) -> Result<(), PluginError> {
        let every = ["+refs/heads/*:refs/hookbox/heads/*", "+refs/tags/*:refs/hookbox/tags/*"];
        // Another reference than a branch or tag, such as the head of a merge request.
        if let Some(name) = reference.filter(|name| !is_id(name)) {
            let [heads, tags] = every;
            match self.try_fetch(Depth::All, &[heads, tags, &format!("+{name}:{FETCHED}")]).await {
                Err(failure) if is_missing(&failure) => {}
                done => return done.map_err(|failure| self.failed(failure)),
            }
        }
        self.try_fetch(Depth::All, &every).await.map_err(|failure| self.failed(failure))
    }

    /// Fetches, and tries again if the server rejects `--depth`, and once if its objects have SHA-256 ids.
    async fn try_fetch(&self, mut depth: Depth, refspecs: &[&str]) -> Result<(), Failure> {
        let mut is_sha256 = false;
        loop {
            let Err(failure) = self.fetch_once(depth, refspecs).await else { return Ok(()) };
            if depth == Depth::One && failure.contains(&["shallow"]) {
                depth = Depth::All;
            } else if !is_sha256 && failure.contains(&["mismatched algorithms: client sha1"]) {
                is_sha256 = true;
                std::fs::remove_dir_all(&self.git.dir)?;
                self.make("sha256").await?;
            } else {
                return Err(failure);
            }
        }
    }

    async fn fetch_once(&self, depth: Depth, refspecs: &[&str]) -> Result<(), Failure> {
        let mut args = vec!["fetch", "--progress", "--no-tags"];
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
        let mut last = None;
        let report = |done, total| {
            if last.replace((done, total)) != Some((done, total)) {
                self.observer.step(&Step::Fetching { done, total: Some(total) });
            }
        };
        self.git.run(args, report).await
    }

    /// Returns the commit that was fetched.
    async fn fetched(&self) -> Result<String, PluginError> {
        self.commit(FETCHED).await.map_err(|failure| match failure {
            Failure::Git(_) => {
                let what = "has something else than a commit there".to_owned();
                PluginError::new(self.shown(), PluginErrorKind::Fetch(what))
                    .hint("name a branch, a tag of a commit, or a commit")
            }
            failure => self.failed(failure),
        })
    }

    /// Returns the id of a commit in this repository.
    async fn commit(&self, name: &str) -> Result<String, Failure> {
        let printed = self.git.print(["rev-parse", "--verify", &format!("{name}^{{commit}}")], 1024).await?;
        let id = String::from_utf8_lossy(&printed).trim().to_owned();
        if is_id(&id) { Ok(id) } else { Err(Failure::Git(vec![format!("git gives {id} for a commit")])) }
    }

    /// Returns the error for a missing branch or tag, with the nearest names.
    async fn not_found(&self, name: &str) -> PluginError {
        let args = ["ls-remote", "--heads", "--tags", "--", self.url.as_str()];
        let listed = self.git.print(args, MAX_REFS).await;
        let listed = String::from_utf8_lossy(&listed.unwrap_or_default()).into_owned();
        let names = listed.lines().filter_map(|line| {
            let (_, name) = line.split_once('\t')?;
            name.strip_prefix("refs/heads/")
                .or(name.strip_prefix("refs/tags/"))
                .filter(|it| !it.ends_with("^{}"))
        });
        let mut names: Vec<&str> = names.take(10_000).collect();
        names.sort_by_cached_key(|it| text::distance(name, text::prefix(it, 256)));
        let near: Vec<String> = names.iter().take(HINTS).map(|it| text::escape(it, 100)).collect();
        let fetch = |what: String| PluginError::new(self.shown(), PluginErrorKind::Fetch(what));
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

/// Returns true if the server has no such branch or tag.
fn is_missing(failure: &Failure) -> bool {
    failure.contains(&["couldn't find remote ref", "Couldn't find remote ref"])
}

/// Returns true if the server does not send an object by its id, or does not have it.
fn is_refused(failure: &Failure) -> bool {
    failure.contains(&[
        "not our ref",
        "unadvertised object",
        "couldn't find remote ref",
        "no such remote ref",
        "Unable to find",
    ])
}
