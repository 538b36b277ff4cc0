//! Capabilities: the rights that a component may ask for and a user may grant. A right is parsed once into a
//! type that prints back to the same text. A right that cannot be enforced does not parse. Nothing here does
//! I/O.

pub mod address;
mod directory;
mod origin;
mod rights;

use std::fmt;
use std::str::FromStr;

pub use self::directory::{Base, Directory, Variable};
pub use self::origin::{Origin, Scheme};
pub use self::rights::{Denial, Rights};

use hookbox_system::text;

/// A right that a component asks for in `describe`, or that a user grants.
///
/// ```
/// use hookbox::capability::Capability;
///
/// let right: Capability = "read-write:$REPO/notes".parse().unwrap();
/// assert_eq!(right.to_string(), "read-write:$REPO/notes");
/// assert!("read:../etc".parse::<Capability>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Capability {
    /// Read below a directory: `read:$REPO`.
    Read(Directory),
    /// Read and write below a directory: `read-write:$DATA`.
    ReadWrite(Directory),
    /// Read one environment variable: `env:SLACK_WEBHOOK_URL`.
    Env(Variable),
    /// Send HTTP requests to one origin: `http:https://hooks.slack.com`.
    Http(Origin),
    /// Keep state in the key-value store: `store`.
    Store,
    /// See the messages of the conversation: `conversation`.
    Conversation,
    /// Learn which files of the repository git tracks, and which are changed: `work-tree`.
    WorkTree,
    /// Give the answer `allow`: `allow`. A component asks for it by declaring the answer.
    Allow,
}

/// The error for a text that is not a right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{written:?} is not a right: {reason}")]
#[non_exhaustive]
pub struct CapabilityError {
    /// The text, escaped and cut.
    pub written: String,
    /// The reason that it is not a right.
    pub reason: String,
}

impl Capability {
    /// Returns its meaning, for people.
    pub fn explain(&self) -> String {
        match self {
            Self::Read(directory) => format!("read files below {}", directory.explain()),
            Self::ReadWrite(directory) => {
                format!("read, write and delete files below {}", directory.explain())
            }
            Self::Env(name) => format!("read the environment variable {name}"),
            Self::Http(origin) => format!("send HTTP requests to {origin}"),
            Self::Store => "keep its own state between calls, up to 16 MiB".to_owned(),
            Self::Conversation => "read the messages of the conversation".to_owned(),
            Self::WorkTree => {
                "see which files of the repository git tracks, and which are changed".to_owned()
            }
            Self::Allow => "let tool calls run without a question of the agent to you".to_owned(),
        }
    }

    /// Returns the part of `asked` that a grant of `self` gives, if any: the deeper of two directories, the
    /// lesser of read and read-write.
    pub fn intersect(&self, asked: &Self) -> Option<Self> {
        match (self, asked) {
            (Self::ReadWrite(granted), Self::ReadWrite(asked)) => {
                granted.intersect(asked).map(Self::ReadWrite)
            }
            (Self::Read(granted) | Self::ReadWrite(granted), Self::Read(asked) | Self::ReadWrite(asked)) => {
                granted.intersect(asked).map(Self::Read)
            }
            _ => (self == asked).then(|| asked.clone()),
        }
    }
}

impl FromStr for Capability {
    type Err = CapabilityError;

    fn from_str(text: &str) -> Result<Self, CapabilityError> {
        let parsed = match text.split_once(':') {
            Some(("read", path)) => Directory::parse(path).map(Self::Read),
            Some(("read-write", path)) => Directory::parse(path).map(Self::ReadWrite),
            Some(("env", name)) => Variable::parse(name).map(Self::Env),
            Some(("http", origin)) => Origin::parse(origin).map(Self::Http),
            None if text == "store" => Ok(Self::Store),
            None if text == "conversation" => Ok(Self::Conversation),
            None if text == "work-tree" => Ok(Self::WorkTree),
            None if text == "allow" => Ok(Self::Allow),
            _ => Err(EXPECTED.to_owned()),
        };
        parsed.map_err(|reason| CapabilityError { written: text::escape(text, 200), reason })
    }
}

/// The forms of a right, for messages.
const EXPECTED: &str = "expected read:DIRECTORY, read-write:DIRECTORY, env:NAME, http:ORIGIN, store, conversation, \
                        work-tree or allow";

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(directory) => write!(f, "read:{directory}"),
            Self::ReadWrite(directory) => write!(f, "read-write:{directory}"),
            Self::Env(name) => write!(f, "env:{name}"),
            Self::Http(origin) => write!(f, "http:{origin}"),
            Self::Store => f.write_str("store"),
            Self::Conversation => f.write_str("conversation"),
            Self::WorkTree => f.write_str("work-tree"),
            Self::Allow => f.write_str("allow"),
        }
    }
}

hookbox_system::serde_by_text!(Capability);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_right_prints_back_to_what_was_written() {
        for text in [
            "read:$REPO",
            "read:$HOME/.config/tool",
            "read-write:$DATA",
            "read-write:/var/log/agent",
            "env:SLACK_WEBHOOK_URL",
            "http:https://hooks.slack.com",
            "http:http://127.0.0.1:8080",
            "http:https://[2001:db8::1]:8443",
            "store",
            "conversation",
            "work-tree",
            "allow",
        ] {
            let right: Capability = text.parse().unwrap();
            assert_eq!(right.to_string(), text);
            assert!(!right.explain().is_empty());
        }
    }

    #[test]
    fn what_cannot_be_enforced_is_refused_with_the_reason() {
        for (text, reason) in [
            ("", "expected read:"),
            ("everything", "expected read:"),
            ("store:x", "expected read:"),
            ("work-tree:$REPO", "expected read:"),
            ("allow:bash", "expected read:"),
            ("write:$REPO", "expected read:"),
            ("read:", "starts with"),
            ("read:docs", "starts with"),
            ("read:~/docs", "starts with"),
            ("read:$REPOSITORY", "starts with"),
            ("read:$REPO/../other", "`..`"),
            ("read:/a/./b", "`.`"),
            ("read:/a//b", "empty"),
            ("read:$REPO/", "empty"),
            ("read:/a\0b", "control"),
            ("read:/a/*", "pattern"),
            ("env:", "name"),
            ("env:A=B", "name"),
            ("env:PATH*", "name"),
            ("http:hooks.slack.com", "scheme"),
            ("http:ftp://x.org", "scheme"),
            ("http:https://", "host"),
            ("http:https://*.slack.com", "host"),
            ("http:https://a.org/path", "path"),
            ("http:https://a.org/", "path"),
            ("http:https://user@a.org", "user"),
            ("http:https://a.org:0", "port"),
            ("http:https://a.org:99999", "port"),
            ("http:https://a.org:443", "443"),
            ("http:https://A.org", "lower case"),
            ("http:https://127.1", "address"),
            ("http:https://0x7f.0.0.1", "address"),
            ("http:https://2130706433", "address"),
            ("http:https://[::1", "address"),
            ("http:https://a.org.", "host"),
        ] {
            let error = text.parse::<Capability>().unwrap_err();
            assert!(error.reason.contains(reason), "{text}: {error}");
        }
    }

    #[test]
    fn a_grant_gives_what_both_name() {
        for (granted, asked, both) in [
            ("read:$REPO", "read:$REPO/docs", Some("read:$REPO/docs")),
            ("read:$REPO/docs", "read:$REPO", Some("read:$REPO/docs")),
            ("read-write:$REPO", "read:$REPO", Some("read:$REPO")),
            ("read:$REPO", "read-write:$REPO", Some("read:$REPO")),
            ("read-write:$DATA", "read-write:$DATA", Some("read-write:$DATA")),
            ("read:$REPO", "read:$HOME", None),
            ("read:/srv/a", "read:/srv/ab", None),
            ("read:/", "read:/srv", Some("read:/srv")),
            ("env:A", "env:A", Some("env:A")),
            ("env:A", "env:B", None),
            ("http:https://a.org", "http:https://a.org", Some("http:https://a.org")),
            ("http:https://a.org", "http:http://a.org", None),
            ("http:https://a.org", "http:https://a.org:8443", None),
            ("store", "store", Some("store")),
            ("store", "conversation", None),
            ("work-tree", "work-tree", Some("work-tree")),
            ("allow", "allow", Some("allow")),
            ("read:$REPO", "work-tree", None),
        ] {
            let parse = |text: &str| text.parse::<Capability>().unwrap();
            let found = parse(granted).intersect(&parse(asked)).map(|right| right.to_string());
            assert_eq!(found.as_deref(), both, "{granted} for {asked}");
        }
    }
}
