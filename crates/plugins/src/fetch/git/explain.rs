//! What a failure of git means, and what to do about it.

use std::io;
use std::time::Duration;

use crate::{GitUrl, PluginError, PluginErrorKind};
use hookbox::internal::{redact, text};

/// How much of what git said is shown, in lines and bytes.
const SHOWN_LINES: usize = 3;
const SHOWN: usize = 600;

/// How git failed.
#[derive(Debug)]
pub(super) enum Failed {
    /// It could not be started.
    NotStarted(io::Error),
    /// It was ended.
    Stopped(Stopped),
    /// It ended with an error, and these are the last lines that it said.
    Said(Vec<String>),
    /// A pipe or a file broke.
    Io(io::Error),
}

/// Why git was ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stopped {
    /// It took longer than this.
    Time(Duration),
    /// It wrote more bytes than this.
    Disk(u64),
    /// Its staging directory was removed: nobody waits for it any more.
    Gone,
}

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<Stopped> for Failed {
    fn from(stopped: Stopped) -> Self {
        Self::Stopped(stopped)
    }
}

impl Failed {
    /// Whether git said one of these.
    pub(super) fn says(&self, any: &[&str]) -> bool {
        matches!(self, Self::Said(lines) if lines.iter().any(|line| any.iter().any(|it| line.contains(it))))
    }

    /// The error about this address.
    pub(super) fn about(self, url: &GitUrl) -> PluginError {
        let shown = url.shown();
        let fetch = |what: String| PluginError::new(&shown, PluginErrorKind::Fetch(what));
        match self {
            Self::NotStarted(error) if error.kind() == io::ErrorKind::NotFound => {
                fetch("git is not installed, or not on PATH".to_owned())
                    .hint("install git; hookbox fetches repositories with it")
            }
            Self::NotStarted(error) => fetch(format!("git cannot be started: {error}")),
            Self::Io(error) => fetch(format!("git cannot be spoken to: {error}")),
            Self::Stopped(Stopped::Time(time)) => {
                fetch(format!("was not there after {} seconds", time.as_secs_f32()))
                    .hint("try it by itself, with `git ls-remote`: perhaps the host does not answer")
            }
            Self::Stopped(Stopped::Gone) => {
                fetch("was interrupted: the staging directory is gone".to_owned()).hint("try again")
            }
            Self::Stopped(Stopped::Disk(bytes)) => {
                let what = format!("is too large: git may write {} MiB for it", bytes >> 20);
                PluginError::new(&shown, PluginErrorKind::TooLarge(what))
                    .hint("name a branch, a tag or a whole commit id, so that no history is fetched; or install from a directory")
            }
            Self::Said(lines) => {
                let said = excerpt(&lines, url);
                let all = lines.join("\n").to_lowercase();
                let Some(meaning) = MEANINGS.iter().find(|it| it.said.iter().any(|said| all.contains(said)))
                else {
                    return fetch(format!("git failed: {said}"));
                };
                let what = format!("{} (git: {said})", meaning.what);
                PluginError::new(&shown, (meaning.kind)(what)).hint(meaning.hint)
            }
        }
    }
}

/// What some words of git, ssh and curl mean.
struct Meaning {
    said: &'static [&'static str],
    what: &'static str,
    hint: &'static str,
    kind: fn(String) -> PluginErrorKind,
}

const fn meaning(said: &'static [&'static str], what: &'static str, hint: &'static str) -> Meaning {
    Meaning { said, what, hint, kind: PluginErrorKind::Fetch }
}

/// What to do about a repository that git has no room for.
const BY_HAND: &str = "if you trust who serves it, clone it with git and install it from that directory";

/// The first that fits.
const MEANINGS: [Meaning; 13] = [
    meaning(
        &[
            "could not resolve host",
            "name or service not known",
            "temporary failure in name resolution",
            "unable to look up",
        ],
        "its host was not found",
        "check the address, the network and the proxy",
    ),
    meaning(
        &[
            "connection refused",
            "couldn't connect to server",
            "failed to connect",
            "unable to connect",
            "network is unreachable",
            "no route to host",
            "timed out",
            "operation too slow",
        ],
        "its host does not answer",
        "check the address, the network and the proxy",
    ),
    meaning(
        &["host key verification failed"],
        "ssh does not know its host",
        "connect to the host with ssh once, and check its key",
    ),
    meaning(
        &[
            "authentication failed",
            "could not read username",
            "could not read password",
            "terminal prompts disabled",
            "permission denied",
            "access denied",
            "returned error: 401",
            "returned error: 403",
        ],
        "does not exist, or git has no access to it",
        "check the name; access is git's own: its credential helpers and ssh keys (try `git ls-remote` with the address)",
    ),
    meaning(
        &["dubious ownership"],
        "belongs to another user, so that git does not read it",
        "if you trust that user, tell git with safe.directory",
    ),
    meaning(
        &[
            "not found",
            "not appear to be a git repository",
            "returned error: 404",
            "does not exist",
            "not a git repository",
        ],
        "is no git repository, or git has no access to it",
        "check the address, and whether `git ls-remote` with it works",
    ),
    meaning(
        &["' not allowed"],
        "is not allowed by the settings of git",
        "see protocol.allow and GIT_ALLOW_PROTOCOL in git-config(1)",
    ),
    meaning(
        &["mismatched algorithms"],
        "names its objects in one way and refuses it in the next",
        "its server is at fault: try `git ls-remote` with the address, and tell those who run it",
    ),
    Meaning {
        said: &[
            "out of memory",
            "attempting to allocate",
            "attempting to mmap",
            "cannot allocate memory",
            "unable to create thread",
        ],
        what: "needs more memory than git may use for it",
        hint: BY_HAND,
        kind: PluginErrorKind::TooLarge,
    },
    // SIGXFSZ and SIGXCPU.
    Meaning {
        said: &["signal 25", "file too large"],
        what: "has more in one file than git may write for it",
        hint: BY_HAND,
        kind: PluginErrorKind::TooLarge,
    },
    Meaning {
        said: &["signal 24"],
        what: "keeps git busy for longer than it may be",
        hint: BY_HAND,
        kind: PluginErrorKind::TooLarge,
    },
    Meaning {
        said: &[
            "fsck error",
            "bad tree",
            "corrupt",
            "empty filename in tree",
            "invalid index-pack output",
            "did not send all necessary objects",
        ],
        what: "has objects that are not well-formed, or lacks some",
        hint: "`git fsck` in the repository names them",
        kind: PluginErrorKind::Hostile,
    },
    meaning(
        &["no space left on device", "disk quota exceeded"],
        "does not fit on the disk",
        "make room, and try again",
    ),
];

/// The lines that say most, without secrets, escaped.
fn excerpt(lines: &[String], url: &GitUrl) -> String {
    let is_said = |line: &&String| {
        ["fatal: ", "error: ", "remote: ", "ssh: ", "ERROR: "].iter().any(|it| line.starts_with(it))
    };
    let mut chosen: Vec<&String> = lines.iter().filter(is_said).collect();
    if chosen.is_empty() {
        chosen = lines.iter().collect();
    }
    let last = chosen.len().saturating_sub(SHOWN_LINES);
    let chosen: Vec<&str> = chosen.iter().skip(last).map(|line| line.as_str()).collect();
    match chosen.as_slice() {
        [] => "it says nothing".to_owned(),
        chosen => text::escape(&redact::text(&url.hide_in(&chosen.join("; "))), SHOWN),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(url: &str) -> GitUrl {
        url.parse().unwrap()
    }

    #[test]
    fn what_git_says_becomes_what_it_means() {
        for (said, means) in [
            ("fatal: unable to access 'https://h/': Could not resolve host: h", "its host was not found"),
            ("ssh: Could not resolve hostname h: Name or service not known", "its host was not found"),
            (
                "fatal: unable to access 'https://h/': Failed to connect to h port 1",
                "its host does not answer",
            ),
            (
                "fatal: could not read Username for 'https://h': terminal prompts disabled",
                "does not exist, or git has no access",
            ),
            ("git@h: Permission denied (publickey).", "does not exist, or git has no access"),
            ("fatal: repository 'https://h/a/b/' not found", "is no git repository, or"),
            ("fatal: '/x' does not appear to be a git repository", "is no git repository, or"),
            ("fatal: detected dubious ownership in repository at '/x'", "belongs to another user"),
            ("fatal: transport 'ext' not allowed", "is not allowed"),
            ("fatal: fsck error in packed object", "not well-formed"),
            (
                "fatal: attempting to allocate 2147483521 over limit 536870912; fatal: fetch-pack: invalid index-pack output",
                "needs more memory than git may use",
            ),
            ("fatal: Out of memory, realloc failed", "needs more memory than git may use"),
            ("error: index-pack died of signal 25", "has more in one file than git may write"),
            ("fatal: git was ended by signal 24", "keeps git busy"),
            ("fatal: remote error: mismatched algorithms: client sha1", "refuses it in the next"),
            ("fatal: unable to access 'https://h/': Operation too slow.", "its host does not answer"),
            ("fatal: write error: No space left on device", "does not fit"),
            ("fatal: something new", "git failed: fatal: something new"),
        ] {
            let error = Failed::Said(vec![said.to_owned()]).about(&url("https://h/a/b")).to_string();
            assert!(error.starts_with("https://h/a/b: "), "{error}");
            assert!(error.contains(means), "{error}");
        }
        let silent = Failed::Said(Vec::new()).about(&url("https://h/a/b")).to_string();
        assert_eq!(silent, "https://h/a/b: git failed: it says nothing");
    }

    #[test]
    fn a_git_that_is_not_installed_is_said_to_be_missing() {
        let error = Failed::NotStarted(io::ErrorKind::NotFound.into()).about(&url("https://h/a/b"));
        assert_eq!(error.to_string(), "https://h/a/b: git is not installed, or not on PATH");
        assert!(error.hint.unwrap().contains("install git"));
    }

    #[test]
    fn no_password_is_shown() {
        let url = url("https://me:s3cretpass@h/a/b");
        for said in [
            "fatal: unable to access 'https://me:s3cretpass@h/a/b/': x",
            "fatal: could not read Password for 'https://me:s3cretpass@h'",
            "remote: s3cretpass is wrong",
            "fatal: other 'https://ghp_0123456789abcdefghijABCDEFGHIJ456789@other/x'",
            "fatal: moved to http://u:s3@o/x",
        ] {
            let error = Failed::Said(vec![said.to_owned()]).about(&url).to_string();
            for secret in ["s3", "ghp_"] {
                assert!(!error.contains(secret), "{error}");
            }
        }
    }

    #[test]
    fn what_a_server_says_is_escaped_and_short() {
        let lines = vec![format!("remote: \u{1b}[31m{}", "x".repeat(5000)), "fatal: end".to_owned()];
        let error = Failed::Said(lines).about(&url("https://h/a/b")).to_string();
        assert!(error.contains("\\u{1b}[31mxxx") && error.len() < 1000, "{error}");
    }
}
