//! Runs git: in a bare repository, on a leash, and within bounds of time, disk and memory.
//!
//! Git reads from a file and writes to files, so that no pipe can block it or us, and no helper that it
//! leaves behind can hold one open.

use std::fs::{self, File};
use std::io::{self, IsTerminal as _, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use hookbox::redact;
use hookbox_system::text;
use rustix::process::{Pid, Signal, kill_process};

use super::{Git, Ran};
use crate::{PluginError, PluginErrorKind};

/// Variables that make git work on another repository or in another way: those that git sets for its hooks
/// (`git rev-parse --local-env-vars`, without those of the user's settings), and some more.
pub(super) const REMOVED: &str = "GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_ATTR_SOURCE GIT_CEILING_DIRECTORIES \
    GIT_COMMON_DIR GIT_CONFIG GIT_DEFAULT_HASH GIT_DIR GIT_GRAFT_FILE GIT_IMPLICIT_WORK_TREE GIT_INDEX_FILE \
    GIT_INTERNAL_SUPER_PREFIX GIT_NAMESPACE GIT_NO_REPLACE_OBJECTS GIT_OBJECT_DIRECTORY GIT_PREFIX \
    GIT_QUARANTINE_PATH GIT_REF_FORMAT GIT_REPLACE_REF_BASE GIT_SHALLOW_FILE GIT_TEMPLATE_DIR GIT_WORK_TREE";

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

/// Starts git with the file `$2` as standard input and at most `$1` KiB of memory. Our end of the pipe is a
/// leash: it closes when this process ends, however that happens, and then the shell kills git. A line on the
/// leash means that git has ended, and that its process number may belong to another process.
///
/// A signal of the kernel (`F_SETOWN`) can be set only after the start, and a kill in between leaves git alone.
pub(super) const LEASH: &str = "ulimit -d \"$1\" 2>/dev/null; file=$2; shift 2; exec 3<&0 <\"$file\"; \
    { read -r line <&3 || kill $$; } </dev/null >/dev/null 2>&1 & exec \"$@\" 3<&-";

/// The exit code of a shell that does not find a program (POSIX, `exec`).
const NOT_FOUND: i32 = 127;

/// The time between two checks of a running git.
const TICK: Duration = Duration::from_millis(10);

/// The time for git to remove its temporary files and to end its helpers before it is killed.
const GRACE: Duration = Duration::from_millis(500);

/// The most bytes of a command's standard output that are read as text, and of the end of its standard error.
const MAX_PRINTED: u64 = 8 << 20;
const MAX_ERRORS: u64 = 64 << 10;

impl Git<'_> {
    /// Runs git, and returns the first bytes of its standard output.
    pub(super) async fn run(&self, args: &[&str]) -> Result<Ran<String>, PluginError> {
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
    pub(super) async fn output(
        &self,
        args: &[&str],
        input: &Path,
        max: u64,
    ) -> Result<Ran<File>, PluginError> {
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
    pub(super) fn command(&self, input: &Path, args: &[&str]) -> Command {
        let memory = self.bounds.memory;
        let mut command = Command::new("/bin/sh");
        command.args(["-c", LEASH, "sh", &(memory / 1024).to_string()]).arg(input).arg("git");
        command.stdin(Stdio::piped());
        for name in REMOVED.split(' ') {
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
    pub(super) fn words(&self, errors: &Path) -> String {
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
