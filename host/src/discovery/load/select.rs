//! Selects the candidates to examine, and decides which of several hooks with one name runs. A later hook never replaces
//! one that the user relies on, unless the user asked for that.
//!
//! Selects the settings of the user's hooks that repositories make stricter, too. A repository may do it untrusted: a
//! stricter guard blocks more, and a block runs nothing.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use super::examine::{self, Examined, Examiner, Ready};
use super::judged::Judged;
use super::{JudgedScan, LastGood};
use crate::discovery::find::{Candidate, Kept, RootDir, State, Table};
use crate::discovery::{Problem, Tightened};
use crate::hook::{Cause, HookError, Kind, Origin, Settings, SettingsSchema, Tighter};
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

    /// Returns true if this usable hook replaces a later one of its name. None replaces one of the administrator's, and
    /// those replace none: a hook of another owner may guard something else.
    fn shadows(&self, later: &Self) -> bool {
        if [self.origin, later.origin].contains(&Origin::Managed) {
            return false;
        }
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

/// The settings that repositories have for components of the user's, and both for those of the administrator's, by name.
#[derive(Default)]
pub(super) struct Wishes(BTreeMap<String, Vec<(Origin, Table)>>);

impl Wishes {
    /// Finds the settings in all scans; the last one has the user's hooks.
    pub(super) fn of(scans: &[JudgedScan]) -> Self {
        let mut wishes: BTreeMap<String, Vec<(Origin, Table)>> = BTreeMap::new();
        let is_tightened =
            |it: &Candidate, name: &str, by: Origin| it.name == name && can_be_tightened(it, by);
        let users = scans.last().map(|it| it.judged.as_slice()).unwrap_or_default();
        for JudgedScan { scan, judged, .. } in scans {
            for root in &scan.roots {
                for (name, table) in &root.tables {
                    let is_users = || users.iter().any(|it| is_tightened(&it.candidate, name, root.origin));
                    if !table.settings.is_empty() && !has(judged, root, name) && is_users() {
                        wishes.entry(name.clone()).or_default().push((root.origin, table.clone()));
                    }
                }
            }
        }
        Self(wishes)
    }

    /// Returns true if a table has nothing but settings for a hook of this name of another owner.
    pub(super) fn covers(&self, name: &str, table: &Table) -> bool {
        table.has_only(&["settings"])
            && self.0.get(name).is_some_and(|tables| tables.iter().any(|it| it.1 == *table))
    }

    /// Applies the settings to those of the user's hook, the strictest of each. The problems name what a repository
    /// cannot set.
    pub(super) fn apply(
        &self,
        candidate: &Candidate,
        schema: Option<&SettingsSchema>,
        settings: &mut Settings,
    ) -> (Vec<Tightened>, Vec<Problem>) {
        let (mut tightened, mut problems) = (BTreeMap::new(), Vec::new());
        let tables = self.0.get(&candidate.name).into_iter().flatten();
        let tables = tables.filter(|(by, _)| can_be_tightened(candidate, *by)).map(|(_, table)| table);
        let none = SettingsSchema::default();
        let schema = schema.unwrap_or(&none);
        for table in tables {
            let mut refused = Vec::new();
            for (key, value) in &table.settings {
                let line = table.settings_lines.get(key).copied().unwrap_or(table.line);
                match schema.tighter(key, settings.get(key).map(String::as_str), value) {
                    Ok(None) => {}
                    Ok(Some(tighter)) => {
                        let (setting, file) = (key.clone(), table.file.clone());
                        let Tighter { rank, value, before } = tighter;
                        let row = (rank, Tightened { setting, value, instead_of: before, file, line });
                        let kept = tightened.entry(key.clone()).or_insert_with(|| row.clone());
                        if kept.0 < row.0 {
                            *kept = row;
                        }
                    }
                    Err(why) => refused.push((line, why)),
                }
            }
            problems.extend(problem(candidate, table, &refused));
        }
        let tightened: Vec<Tightened> = tightened.into_values().map(|(_, row)| row).collect();
        for row in &tightened {
            settings.insert(row.setting.clone(), row.value.clone());
        }
        (tightened, problems)
    }
}

/// Returns the problem of a table. It is one for all its settings, because a repository could name any number of them.
fn problem(candidate: &Candidate, table: &Table, refused: &[(usize, String)]) -> Option<Problem> {
    let (line, why) = refused.first()?;
    let more = match refused.len() - 1 {
        0 => String::new(),
        more => format!("; and {more} more of its settings have no effect"),
    };
    let message = format!("line {line}: {why}{more}");
    let hint =
        "a repository can only make the settings of your hook stricter that the hook names: take it out";
    Some(Problem::new(&table.file, message).of(&candidate.name).hint(hint))
}

/// Returns true for a component that can run, and whose settings this owner may make stricter.
fn can_be_tightened(candidate: &Candidate, by: Origin) -> bool {
    let is_above = match candidate.dir.tier.origin() {
        Origin::Managed => by != Origin::Managed,
        owner => owner == Origin::User && by == Origin::Repo,
    };
    candidate.kind == Kind::Component && is_above && matches!(candidate.state, State::Usable)
}

/// Returns true if a root has a hook of this name.
pub(super) fn has(judged: &[Arc<Judged>], root: &RootDir, name: &str) -> bool {
    judged.iter().any(|it| it.candidate.name == name && it.candidate.is_of(root))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hook_takes_the_place_of_another_that_the_user_relies_on_only_where_the_user_asked_for_it() {
        use Origin::{Managed, Repo, User};
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
            // The administrator's.
            ((Managed, Trusted, None), (User, Trusted), false),
            ((Repo, Trusted, asked), (Managed, Trusted), false),
            ((User, Trusted, None), (Managed, Trusted), false),
        ] {
            let claim = |origin, standing, replaces| Claim { origin, standing, key: Some(&key), replaces };
            let found = claim(earlier.0, earlier.1, earlier.2).shadows(&claim(later.0, later.1, None));
            assert_eq!(found, want, "{earlier:?} {later:?}");
        }
    }
}
