//! A git repository as a source, fetched by the user's own `git` with its credentials, ssh, proxies and
//! settings.
//!
//! Nothing is checked out. The commit is fetched into a bare repository in the staging directory. Git lists
//! its tree, and the files are read from it one by one, after their names, modes and sizes are checked.
//!
//! Git reads from a file and writes to files, so that no pipe can block it or us, and no helper that it
//! leaves behind can hold one open.

mod tree;

use std::fs::{self, File};
use std::io::{self, IsTerminal as _, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::{GitUrl, Observer, PluginError, PluginErrorKind, Stage, Step, source};
use hookbox::redact;
use hookbox_system::text;

/// Variables that make git work on another repository or in another way: those that git sets for its hooks
/// (`git rev-parse --local-env-vars`, without those of the user's settings), and some more.
const REMOVED: [&str; 21] = [
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_ATTR_SOURCE",
    "GIT_CEILING_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_DEFAULT_HASH",
    "GIT_DIR",
    "GIT_GRAFT_FILE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_NAMESPACE",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_QUARANTINE_PATH",
    "GIT_REF_FORMAT",
    "GIT_REPLACE_REF_BASE",
    "GIT_SHALLOW_FILE",
    "GIT_TEMPLATE_DIR",
    "GIT_WORK_TREE",
];

/// Settings that override the user's. A fetched repository is data: none of its hooks, monitors and
/// submodules runs, and no maintenance.
const SETTINGS: [&str; 15] = [
    "protocol.ext.allow=never",
    "protocol.fd.allow=never",
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "submodule.recurse=false",
    "fetch.recurseSubmodules=false",
    "fetch.writeCommitGraph=false",
    "gc.auto=0",
    "maintenance.auto=false",
    // One pack instead of many files.
    "fetch.unpackLimit=1",
    // Larger files go through memory in parts.
    "core.bigFileThreshold=32m",
    // Each thread keeps some large objects and such a cache in memory; all of them share the limit of memory.
    "pack.threads=4",
    "core.deltaBaseCacheLimit=64m",
    // A dead connection is given up. A server that only reports progress sends more than this.
    "http.lowSpeedLimit=10",
    "http.lowSpeedTime=60",
];

/// The server process for a repository on this machine. It inherits the limits of our git but not its
/// settings, and would compare large files with each other in memory.
const LOCAL: &str =
    "--upload-pack=git -c core.bigFileThreshold=32m -c pack.threads=2 -c pack.windowMemory=64m upload-pack";

/// The reference to the fetched revision.
const FETCHED: &str = "refs/hookbox/fetched";

/// Starts git with the file `$2` as standard input and at most `$1` KiB of memory. Our end of the pipe is a
/// leash: it closes when this process ends, however that happens, and then the shell kills git. A line on the
/// leash means that git has ended, and that its process number may belong to another process.
///
/// A signal of the kernel (`F_SETOWN`) can be set only after the start, and a kill in between leaves git alone.
const LEASH: &str = "ulimit -d \"$1\" 2>/dev/null; file=$2; shift 2; exec 3<&0 <\"$file\"; \
    { read -r line <&3 || kill $$; } </dev/null >/dev/null 2>&1 & exec \"$@\" 3<&-";

/// The exit code of a shell that does not find a program (POSIX, `exec`).
const NOT_FOUND: i32 = 127;

/// The fewest digits that git takes for an abbreviated commit.
const MIN_DIGITS: usize = 4;

/// The most names in a hint.
const HINTS: usize = 3;

/// The time between two checks of a running git.
const TICK: Duration = Duration::from_millis(10);

/// The time for git to remove its temporary files and to end its helpers before it is killed.
const GRACE: Duration = Duration::from_millis(500);

/// The most bytes of a command's standard output that are read as text, and of the end of its standard error.
const MAX_PRINTED: u64 = 8 << 20;
const MAX_ERRORS: u64 = 64 << 10;

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

    /// Runs git, and returns the first bytes of its standard output.
    async fn run(&self, args: &[&str]) -> Result<Ran<String>, PluginError> {
        Ok(match self.output(args, Path::new("/dev/null"), self.bounds.disk).await? {
            Ok(output) => {
                let mut printed = Vec::new();
                let read = output.take(MAX_PRINTED).read_to_end(&mut printed);
                read.map_err(|error| self.unusable(&error))?;
                Ok(String::from_utf8_lossy(&printed).into_owned())
            }
            Err(words) => Err(words),
        })
    }

    /// Runs git with a file as its standard input, and returns the file of its standard output. If that has
    /// more than `max` bytes, git is ended.
    async fn output(&self, args: &[&str], input: &Path, max: u64) -> Result<Ran<File>, PluginError> {
        let wrong = |error: io::Error| self.unusable(&error);
        let (output, errors) = (self.dir.with_extension("out"), self.dir.with_extension("err"));
        self.check(&output, u64::MAX)?;
        let mut command = self.command(input, args);
        command.stdout(File::create(&output).map_err(wrong)?).stderr(File::create(&errors).map_err(wrong)?);
        let mut git = RunningGit(command.spawn().map_err(wrong)?);
        let status = loop {
            let status = git.0.try_wait().map_err(wrong)?;
            self.check(&output, max)?;
            match status {
                Some(status) => break status,
                None => tokio::time::sleep(TICK).await,
            }
        };
        match status.code() {
            Some(0) => Ok(Ok(File::open(output).map_err(wrong)?)),
            Some(NOT_FOUND) => {
                let what = "git is not installed, or not on PATH".to_owned();
                let error = self.error(PluginErrorKind::Fetch(what));
                Err(error.hint("install git; hookbox fetches repositories with it"))
            }
            _ => Ok(Err(self.words(&errors))),
        }
    }

    /// Sets up git with the environment and the settings of the user, without any that lead it to another
    /// repository.
    fn command(&self, input: &Path, args: &[&str]) -> Command {
        let memory = self.bounds.memory;
        let mut command = Command::new("/bin/sh");
        command.args(["-c", LEASH, "sh", &(memory / 1024).to_string()]).arg(input).arg("git");
        command.stdin(Stdio::piped());
        for name in REMOVED {
            command.env_remove(name);
        }
        // Its words are a part of our messages, which are not translated.
        command.env("LC_ALL", "C").env_remove("LANGUAGE");
        // The tree of the commit itself is listed, and nothing missing in it is fetched later.
        command.env("GIT_NO_REPLACE_OBJECTS", "1").env("GIT_NO_LAZY_FETCH", "1");
        command.env("GIT_ALLOC_LIMIT", (memory / 2).to_string());
        if !io::stdin().is_terminal() {
            // Nobody can answer, and a question of ssh on the terminal would wait for ever. The user's own
            // helpers still run.
            command.env("GIT_TERMINAL_PROMPT", "0");
            for (name, value) in [("SSH_ASKPASS", "false"), ("SSH_ASKPASS_REQUIRE", "force")] {
                if std::env::var_os(name).is_none() {
                    command.env(name, value);
                }
            }
        }
        // This variable overrides the settings that forbid these two.
        if let Some(allowed) = std::env::var_os("GIT_ALLOW_PROTOCOL") {
            let allowed = allowed.to_string_lossy().into_owned();
            let allowed: Vec<&str> = allowed.split(':').filter(|it| !matches!(*it, "ext" | "fd")).collect();
            command.env("GIT_ALLOW_PROTOCOL", allowed.join(":"));
        }
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        // Not in a repository of the user, whose settings would apply.
        command.arg("--git-dir").arg(&self.dir).current_dir(self.dir.parent().unwrap_or(&self.dir));
        command.args(args);
        command
    }

    /// Checks that there is time and room left.
    fn check(&self, output: &Path, max: u64) -> Result<(), PluginError> {
        if Instant::now() >= self.ends {
            let what = format!("was not fetched within {} seconds", self.bounds.time.as_secs_f32());
            return Err(self
                .error(PluginErrorKind::Fetch(what))
                .hint("try `git ls-remote` with the address: perhaps the host does not answer"));
        }
        let printed = output.metadata().map_or(0, |it| it.len());
        if printed > max {
            return Err(self.too_long());
        }
        let disk = self.bounds.disk;
        if size(&self.dir).max(printed) > disk {
            let what = format!("is too large: git may write {} MiB for it", disk >> 20);
            return Err(self
                .error(PluginErrorKind::TooLarge(what))
                .hint("if you trust its server, clone it with git and install it from that directory"));
        }
        Ok(())
    }

    /// Returns the end of what git said: escaped, and without passwords.
    fn words(&self, errors: &Path) -> String {
        let mut bytes = Vec::new();
        let read = File::open(errors).and_then(|mut file| {
            let start = file.metadata()?.len().saturating_sub(MAX_ERRORS);
            file.seek(SeekFrom::Start(start))?;
            file.take(MAX_ERRORS).read_to_end(&mut bytes)
        });
        let said = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = said.split(['\n', '\r']).map(str::trim).filter(|it| !it.is_empty()).collect();
        if read.is_err() || lines.is_empty() {
            return "it printed no message".to_owned();
        }
        let words = text::escape(&redact::text(&self.url.hide_in(&lines.join("; "))), usize::MAX);
        // The end names the reason.
        let cut = words.len().saturating_sub(hookbox_system::limits::EXCERPT);
        words.split_at(words.ceil_char_boundary(cut)).1.to_owned()
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

/// Returns the bytes of all files below a directory.
fn size(dir: &Path) -> u64 {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.metadata() {
        Ok(about) if about.is_dir() => size(&entry.path()),
        about => about.map_or(0, |about| about.len()),
    });
    sizes.sum()
}

/// A git process on its leash. Dropping this ends it. It stays in our process group, because git and ssh may ask
/// a question on the terminal.
struct RunningGit(Child);

impl RunningGit {
    fn end(&mut self) -> io::Result<()> {
        let until = Instant::now() + GRACE;
        if self.0.try_wait()?.is_none()
            && let Some(pid) = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw)
        {
            kill_process(pid, Signal::TERM).ok();
        }
        while self.0.try_wait()?.is_none() {
            if Instant::now() >= until {
                self.0.kill()?;
            }
            std::thread::sleep(TICK);
        }
        Ok(())
    }
}

impl Drop for RunningGit {
    fn drop(&mut self) {
        if let Err(error) = self.end() {
            tracing::warn!(%error, "git cannot be ended");
        }
        if let Some(mut leash) = self.0.stdin.take() {
            // Nobody reads it if the shell could not be started.
            drop(leash.write_all(b"\n"));
        }
    }
}

#[cfg(test)]
mod tests;
