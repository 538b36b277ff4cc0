//! Which candidates are looked into: what is switched off or shadowed is not.

use std::collections::HashSet;
use std::path::PathBuf;

use super::candidate::{Candidate, State};
use super::examine::{self, Examined, Examiner};
use super::last_good::{Kept, LastGood};
use super::shadow::{Names, Shadower};
use super::subject::Subject;
use crate::hook::HookError;
use crate::report::Cause;

/// What became of a candidate.
pub(super) enum Fate {
    Disabled,
    /// With what a command finds the hook by that takes its place.
    Shadowed(Shadower<PathBuf>),
    /// With what is broken now, where an older state stays in force.
    Examined(Examined, Option<Box<Kept>>),
}

/// Looks into the candidates in rounds: a later hook is examined only once it is known that no usable earlier one
/// has its name, so that nothing runs which is shadowed anyway.
pub(super) async fn decide(subjects: &[Subject<'_>], examiner: &Examiner, last: &LastGood) -> Vec<Fate> {
    let mut fates: Vec<Option<Fate>> = Vec::new();
    fates.resize_with(subjects.len(), || None);
    let mut taken = Names::new();
    let mut pending: Vec<usize> = (0..subjects.len()).collect();
    while !pending.is_empty() {
        let mut round = Vec::new();
        let mut names = HashSet::new();
        let mut later = Vec::new();
        for at in pending {
            let (Some(subject), Some(fate)) = (subjects.get(at), fates.get_mut(at)) else { continue };
            let Candidate { name, state, .. } = subject.candidate;
            if matches!(state, State::Disabled) || subject.table.and_then(|it| it.enabled) == Some(false) {
                *fate = Some(Fate::Disabled);
            } else if let State::Unreachable(error) = state {
                *fate = Some(Fate::Examined(Examined::failed(examine::unreadable(error)), None));
            } else if let State::Broken(message) = state {
                let error = HookError::new(Cause::Incompatible, message);
                *fate = Some(Fate::Examined(Examined::failed(error), None));
            } else if let Some(shadower) = taken.shadower(name, &subject.claim()) {
                *fate = Some(Fate::Shadowed(shadower.map(Subject::reference)));
            } else if names.insert(name.as_str()) {
                round.push((at, subject));
            } else {
                later.push(at);
            }
        }
        let jobs = round.iter().map(|(_, subject)| subject.job()).collect();
        for ((at, subject), examined) in round.into_iter().zip(examiner.examine(jobs).await) {
            let (examined, kept) = subject.or_last(examined, last);
            if examined.result.is_ok() {
                taken.take(&subject.candidate.name, subject.claim(), subject);
            }
            if let Some(fate) = fates.get_mut(at) {
                *fate = Some(Fate::Examined(examined, kept));
            }
        }
        pending = later;
    }
    let undecided = || HookError::new(Cause::Internal, "could not be looked into");
    let fates = fates.into_iter();
    fates.map(|fate| fate.unwrap_or_else(|| Fate::Examined(Examined::failed(undecided()), None))).collect()
}
