//! Trust in what a repository brought, and what was granted to components: the policy, the records of what the user
//! said, and the digests that they hold for.

mod file;
mod protect;
mod record;
pub(crate) mod tree;
mod words;

use std::path::Path;

pub use self::file::{TrustFile, TrustFileError, TrustFileErrorKind};
pub use self::protect::{Bases, Protected};
pub use self::record::{Place, Record, Records};
pub use self::tree::TreeError;
pub(crate) use self::words::Variables;

use crate::dialect::agent::Agent;
use crate::hook::{Origin, Tier};
use crate::report::Kind;
use crate::text;

/// Which hooks of a repository run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum TrustPolicy {
    /// Those that the user has trusted. Native hooks of a repository do not run otherwise; its components run
    /// with nothing granted and may only pass, ask, block and warn.
    #[default]
    Recorded,
    /// All of them, with all their rights: a drop-in replacement for an agent that trusted repositories anyway.
    All,
}

/// Why an untrusted hook did not run, in words that read after its name.
pub const UNTRUSTED: &str = "the repository brought it and you have not trusted it, so it did not run";

/// The same for one of a plugin that was installed in the home directory.
pub const NOT_APPROVED: &str = "its plugin was installed and you have not trusted it, so it did not run";

/// The same for one that the user had trusted.
pub const CHANGED: &str = "it has changed since you trusted it, so it did not run";

/// What to do about an untrusted hook: the command that approves it. A name that is not unique, or that a shell or a
/// terminal could take for something else, is replaced by the path.
pub fn approve(name: &str, path: Option<&Path>, is_unique: bool) -> String {
    format!("run `hookbox trust {}` to approve it", word(name, path, is_unique))
}

/// The same for a hook that is configured for another agent, which is looked for only on request.
pub(crate) fn approve_of(agent: Agent, name: &str, path: Option<&Path>, is_unique: bool) -> String {
    format!("run `hookbox trust --from {agent} {}` to approve it", word(name, path, is_unique))
}

/// The hook as a word of a command line.
fn word(name: &str, path: Option<&Path>, is_unique: bool) -> String {
    text::escape(&text::shell_word(&handle(name, path, is_unique)), 4096)
}

/// What a command finds the hook by: its name, or its path where the name is odd or not unique.
pub(crate) fn handle(name: &str, path: Option<&Path>, is_unique: bool) -> String {
    let is_plain = is_unique && text::plain_name(name) == name && !name.starts_with('-');
    match path.filter(|_| !is_plain) {
        Some(path) => path.to_string_lossy().into_owned(),
        None => name.to_owned(),
    }
}

/// The time of a record: now, in RFC 3339, to the second.
pub fn now() -> String {
    let now = jiff::Timestamp::now();
    now.round(jiff::Unit::Second).unwrap_or(now).to_string()
}

/// How far a hook is trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Standing {
    /// It runs, with all that it declares and was granted.
    Trusted,
    /// It runs in its sandbox, with nothing granted, and may only pass, ask, block and warn.
    Confined,
    /// It does not run, not even to be asked what it is.
    Refused,
}

impl Standing {
    /// The gate: how far a hook of this kind, found in this tier, is trusted (design, section 7).
    pub fn of(policy: TrustPolicy, tier: Tier, kind: Kind) -> Self {
        match tier.origin() {
            Origin::User | Origin::Host => Self::Trusted,
            Origin::Repo => Self::unless_recorded(policy, kind),
        }
    }

    /// How far a hook of this kind is trusted that needs the user's word, as long as there is none: what a repository
    /// brought, and what hookbox installed as a plugin.
    pub(crate) fn unless_recorded(policy: TrustPolicy, kind: Kind) -> Self {
        match (policy, kind) {
            (TrustPolicy::All, _) => Self::Trusted,
            (TrustPolicy::Recorded, Kind::Component) => Self::Confined,
            (TrustPolicy::Recorded, _) => Self::Refused,
        }
    }

    /// Whether the user trusts it.
    pub fn is_trusted(self) -> bool {
        self == Self::Trusted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_sandboxed_hook_of_a_repository_runs_before_it_is_trusted() {
        use Standing::{Confined, Refused, Trusted};
        for (tier, kind, recorded) in [
            (Tier::Repo, Kind::Native, Refused),
            (Tier::RepoPlugin, Kind::Native, Refused),
            (Tier::Repo, Kind::Command, Refused),
            (Tier::RepoPlugin, Kind::Tool, Refused),
            (Tier::Repo, Kind::Component, Confined),
            (Tier::RepoPlugin, Kind::Component, Confined),
            (Tier::Global, Kind::Native, Trusted),
            (Tier::GlobalPlugin, Kind::Component, Trusted),
            (Tier::Code, Kind::Code, Trusted),
            (Tier::Builtin, Kind::Builtin, Trusted),
        ] {
            assert_eq!(Standing::of(TrustPolicy::Recorded, tier, kind), recorded, "{tier:?} {kind:?}");
            assert_eq!(Standing::of(TrustPolicy::All, tier, kind), Trusted, "{tier:?} {kind:?}");
        }
    }
}
