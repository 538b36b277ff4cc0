//! The bare repository in the staging directory, and bringing a commit into it.

use std::cell::Cell;
use std::path::Path;
use std::time::Instant;

use super::Bounds;
use super::explain::Failed;
use super::process::Program;
use super::said::Said;
use super::wanted::{Wanted, What, is_id, may_abbreviate};
use crate::{GitUrl, Observer, PluginError, PluginErrorKind, Step};
use hookbox::internal::text;

/// What was fetched is kept under this name.
const HERE: &str = "refs/hookbox/wanted";

/// The other end on this machine. It has the bounds of our git, and not its settings: large files would be compared with
/// each other in memory.
const LOCAL: &str =
    "--upload-pack=git -c core.bigFileThreshold=32m -c pack.threads=2 -c pack.windowMemory=64m upload-pack";

/// How many bytes of a list of branches and tags are read for a hint.
const MAX_REFS: u64 = 1 << 20;

/// How many names a hint gives.
const HINTS: usize = 3;

/// A bare repository.
pub(super) struct Repository<'a> {
    pub(super) program: Program,
    url: &'a GitUrl,
    /// How many entries a tree may have.
    pub(super) listed: usize,
    /// Whether it was made again for objects whose ids are SHA-256.
    is_remade: Cell<bool>,
    observer: &'a dyn Observer,
}

/// How much of a repository is fetched.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Depth {
    One,
    All,
}

impl<'a> Repository<'a> {
    /// Makes an empty one.
    pub(super) fn new(
        url: &'a GitUrl,
        scratch: &Path,
        bounds: &Bounds,
        observer: &'a dyn Observer,
    ) -> Result<Self, PluginError> {
        let dir = std::path::absolute(scratch.join("git"));
        let program = Program {
            dir: dir.map_err(|error| PluginError::io(scratch, error))?,
            ends: Instant::now() + bounds.time,
            time: bounds.time,
            disk: bounds.disk,
            memory: bounds.memory,
        };
        let repository = Self { program, url, listed: bounds.listed, is_remade: Cell::new(false), observer };
        repository.make("sha1").map_err(|failed| repository.failed(failed))?;
        Ok(repository)
    }

    fn make(&self, format: &str) -> Result<(), Failed> {
        let format = format!("--object-format={format}");
        self.program.run(["init", "--quiet", "--bare", "--template=", &format], |_| ())
    }

    /// Removes it. Where that fails it goes with the staging directory.
    pub(super) fn remove(self) {
        if let Err(error) = std::fs::remove_dir_all(&self.program.dir) {
            tracing::debug!(%error, "a fetched repository stays until the plugin is installed");
        }
    }

    /// The address, for messages.
    pub(super) fn shown(&self) -> String {
        self.url.shown()
    }

    /// The error for a git that failed.
    pub(super) fn failed(&self, failed: Failed) -> PluginError {
        failed.about(self.url)
    }

    /// Brings what is wanted, and says which commit that is.
    pub(super) fn fetch(&mut self, wanted: &Wanted) -> Result<String, PluginError> {
        match &wanted.what {
            What::Head => self.named("HEAD"),
            What::Name(name) => self.named(name),
            What::Object(id) => self.object(id, None),
            What::Pin(id) => {
                let commit = self.object(id, wanted.reference.as_deref())?;
                if commit == *id { Ok(commit) } else { Err(self.mismatch(id)) }
            }
        }
    }

    fn named(&self, name: &str) -> Result<String, PluginError> {
        let refspec = format!("+{name}:{HERE}");
        match self.bring(Depth::One, &[&refspec]) {
            Ok(()) => self.commit(HERE),
            Err(failed) if !is_missing(&failed) => Err(self.failed(failed)),
            Err(_) if may_abbreviate(name) => self.abbreviated(name),
            Err(_) => Err(self.not_found(name)),
        }
    }

    /// An object by its id. Many servers give only what a branch or tag names; then all of these are fetched.
    fn object(&self, id: &str, reference: Option<&str>) -> Result<String, PluginError> {
        let refspec = format!("+{id}:{HERE}");
        match self.bring(Depth::One, &[&refspec]) {
            Ok(()) => return self.commit(HERE),
            Err(failed) if !is_refused(&failed) => return Err(self.failed(failed)),
            Err(_) => {}
        }
        self.all(reference)?;
        match self.program.print(["rev-parse", "--verify", &format!("{id}^{{commit}}")], 1024) {
            Ok(printed) => self.id(&printed),
            Err(Failed::Said(_)) => Err(self.mismatch(id)),
            Err(failed) => Err(self.failed(failed)),
        }
    }

    fn mismatch(&self, id: &str) -> PluginError {
        let what = format!("does not give the commit {id}: it is gone, or no branch and tag leads to it");
        PluginError::new(self.shown(), PluginErrorKind::Mismatch(what)).hint(
            "was its history rewritten? look at what is there now, and update the plugin, or ask its author",
        )
    }

    /// A commit by its first digits, which no server knows: looked for in the history of all branches and tags.
    fn abbreviated(&self, digits: &str) -> Result<String, PluginError> {
        self.all(None)?;
        match self.program.print(["rev-parse", "--verify", &format!("{digits}^{{commit}}")], 1024) {
            Ok(printed) => self.id(&printed),
            Err(failed) if failed.says(&["ambiguous"]) => {
                let what = format!("has more than one commit that begins with {digits}");
                Err(PluginError::new(self.shown(), PluginErrorKind::Fetch(what))
                    .hint("give more digits of it"))
            }
            Err(Failed::Said(_)) => Err(self.not_found(digits)),
            Err(failed) => Err(self.failed(failed)),
        }
    }

    /// All branches and tags with all of their history.
    fn all(&self, reference: Option<&str>) -> Result<(), PluginError> {
        let every = ["+refs/heads/*:refs/hookbox/heads/*", "+refs/tags/*:refs/hookbox/tags/*"];
        // Something else than a branch or tag, such as the head of a merge request.
        if let Some(name) = reference.filter(|name| !is_id(name)) {
            let refspec = format!("+{name}:{HERE}");
            let [heads, tags] = every;
            match self.bring(Depth::All, &[heads, tags, &refspec]) {
                Err(failed) if is_missing(&failed) => {}
                done => return done.map_err(|failed| self.failed(failed)),
            }
        }
        self.bring(Depth::All, &every).map_err(|failed| self.failed(failed))
    }

    /// Fetches, by what the server can do. Each of its refusals is believed once.
    fn bring(&self, mut depth: Depth, refspecs: &[&str]) -> Result<(), Failed> {
        loop {
            let Err(failed) = self.try_to_bring(depth, refspecs) else { return Ok(()) };
            if depth == Depth::One && failed.says(&["shallow"]) {
                depth = Depth::All;
            } else if !self.is_remade.get() && failed.says(&["mismatched algorithms: client sha1"]) {
                self.is_remade.set(true);
                std::fs::remove_dir_all(&self.program.dir)?;
                self.make("sha256")?;
            } else {
                return Err(failed);
            }
        }
    }

    fn try_to_bring(&self, depth: Depth, refspecs: &[&str]) -> Result<(), Failed> {
        let mut args = vec!["fetch", "--progress", "--no-tags"];
        args.push(match depth {
            Depth::One => "--depth=1",
            // Where the source has no more than a part itself, that part is all.
            Depth::All => "--update-shallow",
        });
        if self.url.as_str().starts_with("file://") {
            args.push(LOCAL);
        }
        args.extend(["--", self.url.as_str()]);
        args.extend(refspecs);
        let mut seen = None;
        self.program.run(args, |said: &Said| {
            let progress = said.progress();
            if let Some((done, total)) = progress.filter(|_| progress != seen) {
                self.observer.step(&Step::Fetching { done, total: Some(total) });
            }
            seen = progress;
        })
    }

    /// The commit that a name here leads to.
    fn commit(&self, name: &str) -> Result<String, PluginError> {
        match self.program.print(["rev-parse", "--verify", &format!("{name}^{{commit}}")], 1024) {
            Ok(printed) => self.id(&printed),
            Err(Failed::Said(_)) => {
                let what = "has something else than a commit there".to_owned();
                Err(PluginError::new(self.shown(), PluginErrorKind::Fetch(what))
                    .hint("name a branch, a tag of a commit, or a commit"))
            }
            Err(failed) => Err(self.failed(failed)),
        }
    }

    fn id(&self, printed: &[u8]) -> Result<String, PluginError> {
        let id = String::from_utf8_lossy(printed).trim().to_owned();
        if is_id(&id) {
            return Ok(id);
        }
        let what = format!("git gives {} for a commit", text::escape(&id, 100));
        Err(PluginError::new(self.shown(), PluginErrorKind::Fetch(what)))
    }

    /// The error for a branch or tag that is not there, with those that are nearest.
    fn not_found(&self, name: &str) -> PluginError {
        let listed =
            self.program.print(["ls-remote", "--heads", "--tags", "--", self.url.as_str()], MAX_REFS);
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
            ([], _) => {
                fetch("has no branch and no tag: it is empty, or holds none that you may see".to_owned())
                    .hint("push a commit to it first")
            }
            (near, "HEAD") => fetch("has no default branch: its HEAD names one that is not there".to_owned())
                .hint(format!("name one with @ or --ref: {}", near.join(", "))),
            (near, name) => fetch(format!("has no branch, tag or commit {}", text::escape(name, 255)))
                .hint(format!("it has {}", near.join(", "))),
        }
    }
}

/// Whether the server has no such branch or tag.
fn is_missing(failed: &Failed) -> bool {
    failed.says(&["couldn't find remote ref", "Couldn't find remote ref"])
}

/// Whether the server does not give an object by its id, or does not have it.
fn is_refused(failed: &Failed) -> bool {
    failed.says(&[
        "not our ref",
        "unadvertised object",
        "couldn't find remote ref",
        "no such remote ref",
        "Unable to find",
    ])
}
