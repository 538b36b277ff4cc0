//! Trust in the hooks of a repository, and the rights granted to components: the policy, the user's records, and the
//! digests that they hold for.

mod allowance;
mod code;
mod command_line_files;
#[cfg(test)]
mod file_tests;
mod inventory;
pub(crate) mod native_digest;
mod private_file;
mod protected_dirs;
mod record;
pub(crate) mod tree_digest;

use std::path::Path;

pub(crate) use self::allowance::MAX_SHOWN;
pub use self::allowance::{
    AllowError, Allowance, AllowanceFile, Allowances, BlockedCall, LONGEST, Pending, Term,
};
pub use self::code::{Code, CodeError};
#[doc(hidden)]
pub use self::inventory::{Inventory, Written};
pub use self::private_file::{Contents, PrivateFile, PrivateFileError, PrivateFileErrorKind};
pub use self::protected_dirs::{Bases, ProtectedDirs};
pub use self::record::{Record, Records, Scope, TrustFile};
pub use self::tree_digest::TreeError;

use crate::hook::{Kind, Origin, Tier};
use hookbox_system::text;

/// The policy that decides which hooks of a repository run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum TrustPolicy {
    /// Hooks that the user has trusted. Other native hooks of a repository do not run; its other components and rules run
    /// with nothing granted, and may only pass, ask, block and warn.
    #[default]
    Recorded,
    /// All hooks, with all their rights: for an agent that has always trusted repositories.
    All,
}

/// The reason why an untrusted hook did not run, to be read after its name.
pub const UNTRUSTED: &str = "not trusted";

/// Like [`UNTRUSTED`], for a hook of a plugin that is installed in the home directory.
pub const NOT_APPROVED: &str = "not trusted since its plugin was installed";

/// Like [`UNTRUSTED`], for a hook that has changed since the user trusted it.
pub const CHANGED: &str = "it has changed since you trusted it";

/// Returns the command that approves a hook. `flags` are the options with which it finds the hook, each with a space
/// behind it. The command has the path instead of a name that is not unique, or that a shell or a terminal could take
/// for something else.
#[doc(hidden)]
pub fn command(flags: &str, name: &str, path: Option<&Path>, is_unique: bool) -> String {
    let word = text::escape(&text::shell_word(&handle(name, path, is_unique)), 4096);
    format!("hookbox trust {flags}{word}")
}

/// Returns the advice to approve an untrusted hook, with the [`command`].
pub(crate) fn approve(flags: &str, name: &str, path: Option<&Path>, is_unique: bool) -> String {
    format!("review it with `{}`", command(flags, name, path, is_unique))
}

/// Returns the handle by which a command finds the hook: its name, or its path if the name is odd or not unique.
pub(crate) fn handle(name: &str, path: Option<&Path>, is_unique: bool) -> String {
    let is_plain = is_unique && text::plain_name(name) == name && !name.starts_with('-');
    match path.filter(|_| !is_plain) {
        Some(path) => path.to_string_lossy().into_owned(),
        None => name.to_owned(),
    }
}

/// Returns the time now, in milliseconds since 1970.
#[doc(hidden)]
pub fn now_ms() -> u64 {
    crate::event::now_ms()
}

/// Returns the time of a record: now, in RFC 3339, to the second.
pub fn now() -> String {
    let now = jiff::Timestamp::now();
    now.round(jiff::Unit::Second).unwrap_or(now).to_string()
}

/// The degree to which a hook is trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TrustLevel {
    /// The hook runs, with everything that it declares and was granted.
    Trusted,
    /// The component or the rules run with nothing granted, and may only pass, ask, block and warn.
    Confined,
    /// The hook does not run, and is not started to describe itself.
    Refused,
}

impl TrustLevel {
    /// Returns the level of a hook of this kind that was found in this tier.
    pub fn of(policy: TrustPolicy, tier: Tier, kind: Kind) -> Self {
        match tier.origin() {
            Origin::Managed | Origin::User | Origin::Host => Self::Trusted,
            Origin::Repo => Self::unless_recorded(policy, kind),
        }
    }

    /// Returns the level of a hook that needs the user's trust, without a record of it: a hook of a repository, or of a
    /// plugin that hookbox installed.
    pub(crate) fn unless_recorded(policy: TrustPolicy, kind: Kind) -> Self {
        match (policy, kind) {
            (TrustPolicy::All, _) => Self::Trusted,
            (TrustPolicy::Recorded, kind) if kind.is_one_file() => Self::Confined,
            (TrustPolicy::Recorded, _) => Self::Refused,
        }
    }

    /// Returns true for [`TrustLevel::Trusted`].
    pub fn is_trusted(self) -> bool {
        self == Self::Trusted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_sandboxed_hook_of_a_repository_runs_before_it_is_trusted() {
        use TrustLevel::{Confined, Refused, Trusted};
        for (tier, kind, recorded) in [
            (Tier::Repo, Kind::Native, Refused),
            (Tier::RepoPlugin, Kind::Native, Refused),
            (Tier::Repo, Kind::Command, Refused),
            (Tier::RepoPlugin, Kind::Tool, Refused),
            (Tier::Repo, Kind::Component, Confined),
            (Tier::RepoPlugin, Kind::Component, Confined),
            (Tier::Repo, Kind::Rules, Confined),
            (Tier::RepoPlugin, Kind::Rules, Confined),
            (Tier::Managed, Kind::Native, Trusted),
            (Tier::ManagedPlugin, Kind::Command, Trusted),
            (Tier::Global, Kind::Native, Trusted),
            (Tier::GlobalPlugin, Kind::Component, Trusted),
            (Tier::Code, Kind::Code, Trusted),
            (Tier::Builtin, Kind::Builtin, Trusted),
        ] {
            assert_eq!(TrustLevel::of(TrustPolicy::Recorded, tier, kind), recorded, "{tier:?} {kind:?}");
            assert_eq!(TrustLevel::of(TrustPolicy::All, tier, kind), Trusted, "{tier:?} {kind:?}");
        }
    }
}
