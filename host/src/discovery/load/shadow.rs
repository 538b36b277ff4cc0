//! Decides which of several hooks with one name runs. A later hook never replaces one that the user relies
//! on, unless the user asked for that.

use std::collections::HashMap;
use std::path::PathBuf;

use crate::hook::Origin;
use crate::trust::{Scope, TrustLevel};

/// The properties of a hook that count if another hook has its name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Claim<'a> {
    pub(super) origin: Origin,
    pub(super) standing: TrustLevel,
    /// Its key in the trust file.
    pub(super) key: Option<&'a (Scope, PathBuf)>,
    /// The hooks that the user let it replace. `None` if it replaces every later one: it is the user's own,
    /// or everything is trusted.
    pub(super) replaces: Option<&'a [(Scope, PathBuf)]>,
}

impl Claim<'_> {
    /// Returns true if the user agreed that this hook replaces the other.
    fn may_replace(&self, later: &Self) -> bool {
        let named = self.replaces.unwrap_or_default();
        later.key.is_some_and(|key| named.contains(key))
    }

    /// Returns true if this usable hook replaces a later one of its name.
    fn shadows(&self, later: &Self) -> bool {
        let is_untrusted_neighbour = self.origin == later.origin && !later.standing.is_trusted();
        match self.standing {
            TrustLevel::Refused => false,
            TrustLevel::Confined => is_untrusted_neighbour && self.origin == Origin::Repo,
            TrustLevel::Trusted => {
                self.replaces.is_none() || is_untrusted_neighbour || self.may_replace(later)
            }
        }
    }
}

/// The hook that replaces another one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shadower<T> {
    pub(super) by: T,
    /// True if the user agreed to it.
    pub(super) is_agreed: bool,
    /// True if it has another origin: a repository's hook replaces the user's.
    pub(super) is_foreign: bool,
}

impl<T> Shadower<T> {
    pub(super) fn map<U>(self, to: impl FnOnce(T) -> U) -> Shadower<U> {
        let Self { by, is_agreed, is_foreign } = self;
        Shadower { by: to(by), is_agreed, is_foreign }
    }
}

/// The names that usable hooks have, in the order of the tiers.
#[derive(Debug)]
pub(super) struct Names<'a, T>(HashMap<&'a str, Vec<(Claim<'a>, T)>>);

impl<'a, T: Copy> Names<'a, T> {
    pub(super) fn new() -> Self {
        Self(HashMap::new())
    }

    /// Gives a name to a usable hook.
    pub(super) fn take(&mut self, name: &'a str, claim: Claim<'a>, it: T) {
        self.0.entry(name).or_default().push((claim, it));
    }

    /// Returns the hook that replaces a later one of this name.
    pub(super) fn shadower(&self, name: &str, later: &Claim<'_>) -> Option<Shadower<T>> {
        let (claim, by) = self.0.get(name)?.iter().find(|(claim, _)| claim.shadows(later))?;
        let (is_agreed, is_foreign) = (claim.may_replace(later), claim.origin != later.origin);
        Some(Shadower { by: *by, is_agreed, is_foreign })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hook_takes_the_place_of_another_that_the_user_relies_on_only_where_the_user_asked_for_it() {
        use Origin::{Repo, User};
        use TrustLevel::{Confined, Refused, Trusted};
        let (key, other) = ((Scope::Global, PathBuf::from("x")), (Scope::Global, PathBuf::from("y")));
        let (named, unnamed) = ([key.clone()], [other]);
        let recorded = Some(&unnamed[..]);
        let asked = Some(&named[..]);
        for (earlier, later, want) in [
            // The user's own hooks, and hooks that a policy trusts.
            ((User, Trusted, None), (User, Trusted), true),
            ((Repo, Trusted, None), (Repo, Trusted), true),
            ((Repo, Trusted, None), (User, Trusted), true),
            // Hooks that the user trusted.
            ((Repo, Trusted, recorded), (User, Trusted), false),
            ((Repo, Trusted, recorded), (User, Refused), false),
            ((Repo, Trusted, recorded), (Repo, Trusted), false),
            ((Repo, Trusted, recorded), (Repo, Confined), true),
            ((Repo, Trusted, recorded), (Repo, Refused), true),
            ((Repo, Trusted, asked), (User, Trusted), true),
            ((Repo, Trusted, asked), (Repo, Trusted), true),
            ((User, Trusted, recorded), (User, Trusted), false),
            // Hooks that nobody trusted.
            ((Repo, Confined, None), (Repo, Confined), true),
            ((Repo, Confined, None), (Repo, Trusted), false),
            ((Repo, Confined, asked), (User, Trusted), false),
            ((User, Confined, None), (User, Confined), false),
            ((Repo, Refused, asked), (Repo, Refused), false),
            ((Repo, Refused, asked), (User, Trusted), false),
        ] {
            let claim = |origin, standing, replaces| Claim { origin, standing, key: Some(&key), replaces };
            let mut names = Names::new();
            names.take("x", claim(earlier.0, earlier.1, earlier.2), ());
            let later = claim(later.0, later.1, None);
            assert_eq!(names.shadower("x", &later).is_some(), want, "{earlier:?} {later:?}");
            assert!(names.shadower("y", &later).is_none());
        }
    }
}
