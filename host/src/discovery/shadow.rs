//! Which name belongs to whom.

use std::collections::HashMap;

use crate::hook::{Origin, Tier};
use crate::trust::Standing;

/// The names that usable hooks have taken, in the order of the tiers.
#[derive(Debug, Default)]
pub(super) struct Names<'a>(HashMap<&'a str, Scope>);

/// For whom a name is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    /// For the later hooks of the repository: the user has not trusted the one that has it, so it cannot take the
    /// place of the user's own.
    Repository,
    /// For all later hooks.
    Everyone,
}

impl<'a> Names<'a> {
    /// Gives a name to a usable hook. What does not run takes none.
    pub(super) fn take(&mut self, name: &'a str, standing: Standing) {
        let scope = match standing {
            Standing::Trusted => Scope::Everyone,
            Standing::Confined => Scope::Repository,
            Standing::Refused => return,
        };
        self.0.insert(name, scope);
    }

    /// Whether a hook of this tier is shadowed by the one that has its name.
    pub(super) fn shadows(&self, name: &str, tier: Tier) -> bool {
        match self.0.get(name) {
            Some(Scope::Everyone) => true,
            Some(Scope::Repository) => tier.origin() == Origin::Repo,
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_user_has_not_trusted_shadows_nothing_of_the_users() {
        for (standing, shadows_repo, shadows_user) in [
            (Standing::Trusted, true, true),
            (Standing::Confined, true, false),
            (Standing::Refused, false, false),
        ] {
            let mut names = Names::default();
            names.take("x", standing);
            for (tier, want) in [
                (Tier::Repo, shadows_repo),
                (Tier::RepoPlugin, shadows_repo),
                (Tier::Global, shadows_user),
                (Tier::GlobalPlugin, shadows_user),
            ] {
                assert_eq!(names.shadows("x", tier), want, "{standing:?} {tier:?}");
                assert!(!names.shadows("y", tier));
            }
        }
    }
}
