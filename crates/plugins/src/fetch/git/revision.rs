//! Fetching a revision into the bare repository.

use crate::{PluginError, PluginErrorKind, source};
use hookbox::internal::text;

use super::run::{Failure, Git};

/// The fewest digits that git takes for an abbreviated commit.
const MIN_DIGITS: usize = 4;

/// The reference to the fetched revision.
const FETCHED: &str = "refs/hookbox/fetched";

/// The server process for a repository on this machine. It inherits the limits of our git but not its
/// settings, and would compare large files with each other in memory.
const LOCAL: &str =
    "--upload-pack=git -c core.bigFileThreshold=32m -c pack.threads=2 -c pack.windowMemory=64m upload-pack";

/// The most names in a hint.
const HINTS: usize = 3;

/// The part of the history to fetch.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Depth {
    One,
    All,
}

/// Returns the error about a reference that git could take for an option or an expression, and about a pin
/// that is not a commit id.
pub(super) fn check(reference: Option<&str>, pin: Option<&str>) -> Result<(), PluginError> {
    if let Some(pin) = pin.filter(|pin| !is_id(pin) || pin.bytes().any(|it| it.is_ascii_uppercase())) {
        let why = "is not a commit: expected 40 or 64 hexadecimal digits in small letters";
        return Err(PluginError::new(pin, PluginErrorKind::Mismatch(why.to_owned())));
    }
    let is_odd = |name: &&str| source::checked(Some(name)).is_err();
    match reference.filter(is_odd) {
        Some(name) => {
            let why = "is not a branch, tag or commit: expected a name that git allows";
            Err(PluginError::new(name, PluginErrorKind::Source(why.to_owned())))
        }
        None => Ok(()),
    }
}

impl Git<'_> {
    /// Makes an empty repository, with ids in this format.
    pub(super) async fn make(&self, format: &str) -> Result<(), Failure> {
        let format = format!("--object-format={format}");
        self.run(&["init", "--quiet", "--bare", "--template=", &format]).await.map(drop)
    }

    /// Fetches a branch, a tag or a commit, or exactly the commit of a pin, and returns its commit.
    pub(super) async fn fetch(
        &self,
        reference: Option<&str>,
        pin: Option<&str>,
    ) -> Result<String, PluginError> {
        match (pin, reference) {
            (Some(pin), _) => {
                let commit = self.object(pin, reference).await?;
                if commit == pin { Ok(commit) } else { Err(self.mismatch(pin)) }
            }
            (None, Some(id)) if is_id(id) => self.object(&id.to_ascii_lowercase(), None).await,
            (None, name) => self.named(name.unwrap_or("HEAD")).await,
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
        self.error(PluginErrorKind::Mismatch(what)).hint(
            "was its history rewritten? look at what is there now, and update the plugin, or ask its author",
        )
    }

    /// Fetches a commit by its first digits. No server finds such a commit, so the whole history is fetched.
    async fn abbreviated(&self, digits: &str) -> Result<String, PluginError> {
        self.all(None).await?;
        match self.commit(digits).await {
            Err(failure) if failure.contains(&["ambiguous"]) => {
                let what = format!("has more than one commit that begins with {digits}");
                Err(self.error(PluginErrorKind::Fetch(what)).hint("give more digits of it"))
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
                std::fs::remove_dir_all(&self.dir).map_err(|error| self.unusable(&error))?;
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
        self.run(&args).await.map(drop)
    }

    /// Returns the commit that was fetched.
    async fn fetched(&self) -> Result<String, PluginError> {
        self.commit(FETCHED).await.map_err(|failure| match failure {
            Failure::Git(_) => {
                let what = "has something else than a commit there".to_owned();
                self.error(PluginErrorKind::Fetch(what)).hint("name a branch, a tag of a commit, or a commit")
            }
            failure => self.failed(failure),
        })
    }

    /// Returns the id of a commit in this repository.
    async fn commit(&self, name: &str) -> Result<String, Failure> {
        let printed = self.run(&["rev-parse", "--verify", &format!("{name}^{{commit}}")]).await?;
        let id = printed.trim().to_owned();
        if is_id(&id) { Ok(id) } else { Err(Failure::Git(vec![format!("git gives {id} for a commit")])) }
    }

    /// Returns the error for a missing branch or tag, with the nearest names.
    async fn not_found(&self, name: &str) -> PluginError {
        let listed = self.run(&["ls-remote", "--heads", "--tags", "--", self.url.as_str()]).await;
        let listed = listed.unwrap_or_default();
        let names = listed.lines().filter_map(|line| {
            let (_, name) = line.split_once('\t')?;
            name.strip_prefix("refs/heads/")
                .or(name.strip_prefix("refs/tags/"))
                .filter(|it| !it.ends_with("^{}"))
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

/// Returns true for the whole id of an object, in SHA-1 or SHA-256.
pub(super) fn is_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|it| it.is_ascii_hexdigit())
}

/// Returns true for text that may be the first digits of an id.
fn may_abbreviate(text: &str) -> bool {
    text.len() >= MIN_DIGITS && text.len() < 64 && text.bytes().all(|it| it.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pin_is_a_whole_id_and_nothing_reaches_git_that_it_could_take_for_an_option_or_a_command() {
        let id = "0123456789abcdef0123456789ABCDEF01234567";
        for pin in [&id.to_lowercase(), &"a".repeat(64)] {
            assert!(check(Some("main"), Some(pin)).is_ok(), "{pin}");
        }
        for pin in ["", "main", "0123abc", id, &"g".repeat(40)] {
            assert!(check(None, Some(pin)).is_err(), "{pin}");
        }
        for reference in ["", "-x", "--upload-pack=x", "a:b", "^a", "a~1", "a^{}", "@", "a\nb"] {
            assert!(check(Some(reference), None).is_err(), "{reference:?}");
        }
    }
}
