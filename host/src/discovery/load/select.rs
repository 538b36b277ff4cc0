//! Selects the candidates to examine, and decides which of several hooks with one name runs. A later hook never replaces
//! one that the user relies on, unless the user asked for that.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use super::LastGood;
use super::examine::{self, Examined, Examiner, Ready};
use super::judged::Judged;
use crate::discovery::find::candidate::{Candidate, State};
use crate::discovery::find::files::Kept;
use crate::hook::{Cause, HookError, Origin};
use crate::trust::{Scope, TrustLevel};

/// The selection's result for a candidate.
pub(super) enum Selection {
    Disabled,
    Shadowed(Shadower),
    Examined(Box<Examined>),
}

/// The hook that replaces another one.
pub(super) struct Shadower {
    /// The path by which a command finds it.
    pub(super) by: PathBuf,
    /// True if the user agreed to it.
    pub(super) is_agreed: bool,
    /// True if it has another origin: a repository's hook replaces the user's.
    pub(super) is_foreign: bool,
}

/// Examines the candidates in rounds. A later hook is examined only after no earlier hook of its name turned
/// out usable, so that no shadowed hook runs.
pub(super) async fn select(all: &[Arc<Judged>], examiner: &Arc<Examiner>, last: &LastGood) -> Vec<Selection> {
    let undecided = || HookError::new(Cause::Internal, "could not be examined");
    let mut selections: Vec<Selection> =
        all.iter().map(|_| Selection::Examined(Box::new(Examined::failed(undecided())))).collect();
    // The usable hooks of each name, in the order of the tiers.
    let mut taken: HashMap<&str, Vec<&Judged>> = HashMap::new();
    let mut pending: Vec<_> = all.iter().zip(&mut selections).collect();
    while !pending.is_empty() {
        let (mut round, mut later, mut names) = (Vec::new(), Vec::new(), HashSet::new());
        for (judged, selection) in pending {
            let Candidate { name, state, .. } = &judged.candidate;
            let earlier = taken.get(name.as_str()).into_iter().flatten();
            if judged.is_off() {
                *selection = Selection::Disabled;
            } else if let State::Unreachable(error) = state {
                *selection = Selection::Examined(Box::new(Examined::failed(examine::unreadable(error))));
            } else if let State::Broken(message) = state {
                let error = HookError::new(Cause::Incompatible, message);
                *selection = Selection::Examined(Box::new(Examined::failed(error)));
            } else if let Some(shadower) = shadower(earlier, judged) {
                *selection = Selection::Shadowed(shadower);
            } else if names.insert(name.as_str()) {
                round.push((judged, selection));
            } else {
                later.push((judged, selection));
            }
        }
        let jobs = round.iter().map(|(judged, _)| Arc::clone(judged)).collect();
        for ((judged, selection), examined) in round.into_iter().zip(examiner.examine(jobs).await) {
            let examined = or_last(judged, examined, last);
            if examined.result.is_ok() && judged.takes_name() {
                taken.entry(&judged.candidate.name).or_default().push(judged);
            }
            *selection = Selection::Examined(Box::new(examined));
        }
        pending = later;
    }
    selections
}

/// Returns the result of examining a hook, or the last working version of a file that is broken now.
fn or_last(judged: &Judged, examined: Examined, last: &LastGood) -> Examined {
    let good = last.described.get(&judged.file());
    let (Err(error), Some(good)) = (&examined.result, good) else { return examined };
    let digest = good.value.digest();
    let is_theirs = !judged.by_record || judged.holds_for(digest);
    // A missing file, or one that leads out of its repository, is not a broken one. And a hook that is
    // not trusted now is not kept.
    let is_broken = !matches!(error.cause, Cause::NotFound | Cause::Denied);
    if !is_broken || !judged.standing.is_trusted() || !is_theirs {
        return examined;
    }
    let kept =
        Kept::new(&judged.candidate.path, Some(&judged.candidate.name), &good.since, error.message.clone());
    let ready = Ready::Described(good.value.clone());
    Examined { kept: Some(kept), ..Examined::new(Some(digest.clone()), Ok(ready)) }
}

/// Returns the first of these usable hooks that replaces a later one of their name.
fn shadower<'a>(mut earlier: impl Iterator<Item = &'a &'a Judged>, judged: &Judged) -> Option<Shadower> {
    let later = Claim::of(judged);
    let by = earlier.find(|it| Claim::of(it).shadows(&later))?;
    let (is_agreed, is_foreign) = (Claim::of(by).may_replace(&later), by.origin() != judged.origin());
    Some(Shadower { by: by.reference.clone(), is_agreed, is_foreign })
}

/// The properties of a hook that count if another hook has its name.
#[derive(Clone, Copy, Debug)]
struct Claim<'a> {
    origin: Origin,
    standing: TrustLevel,
    /// Its key in the trust file.
    key: Option<&'a (Scope, PathBuf)>,
    /// The hooks that the user let it replace. `None` if it replaces every later one: it is the user's own,
    /// or everything is trusted.
    replaces: Option<&'a [(Scope, PathBuf)]>,
}

impl<'a> Claim<'a> {
    fn of(judged: &'a Judged) -> Self {
        let record = judged.record.as_ref().filter(|_| judged.by_record);
        Self {
            origin: judged.origin(),
            standing: judged.standing,
            key: judged.key.as_ref(),
            replaces: record.map(|record| record.replaces.as_slice()),
        }
    }

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
            let found = claim(earlier.0, earlier.1, earlier.2).shadows(&claim(later.0, later.1, None));
            assert_eq!(found, want, "{earlier:?} {later:?}");
        }
    }
}
