//! Trust in what a repository brought: the policy, and the gate.
//!
//! The trust file and the commands that write it come here.

use crate::hook::{Origin, Tier};
use crate::report::Kind;

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

/// What to do about an untrusted hook.
pub const APPROVE: &str = "run with `--trust all` if you trust everything that this repository brings";

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
        match (policy, tier.origin(), kind) {
            (TrustPolicy::All, _, _) | (_, Origin::User | Origin::Host, _) => Self::Trusted,
            (TrustPolicy::Recorded, Origin::Repo, Kind::Component) => Self::Confined,
            (TrustPolicy::Recorded, Origin::Repo, _) => Self::Refused,
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
