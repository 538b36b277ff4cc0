//! Selects the candidates to examine: not those that are switched off or shadowed.

use std::collections::HashSet;
use std::path::PathBuf;

use super::discovered::LastGood;
use super::examine::{self, Examined, Examiner};
use super::judged_candidate::JudgedCandidate;
use super::shadow::{Names, Shadower};
use crate::discovery::find::candidate::{Candidate, State};
use crate::discovery::find::last_read::Kept;
use crate::hook::{Cause, HookError};

/// The selection's result for a candidate.
pub(super) enum Selection {
    Disabled,
    /// With the path by which a command finds the hook that replaces it.
    Shadowed(Shadower<PathBuf>),
    /// With the broken file, if an older state stays in force.
    Examined(Examined, Option<Box<Kept>>),
}

/// Examines the candidates in rounds. A later hook is examined only after no earlier hook of its name turned
/// out usable, so that no shadowed hook runs.
pub(super) async fn select(
    candidates: &[JudgedCandidate<'_>],
    examiner: &Examiner,
    last: &LastGood,
) -> Vec<Selection> {
    let mut selections: Vec<Option<Selection>> = Vec::new();
    selections.resize_with(candidates.len(), || None);
    let mut taken = Names::new();
    let mut pending: Vec<usize> = (0..candidates.len()).collect();
    while !pending.is_empty() {
        let mut round = Vec::new();
        let mut names = HashSet::new();
        let mut later = Vec::new();
        for at in pending {
            let (Some(judged), Some(selection)) = (candidates.get(at), selections.get_mut(at)) else {
                continue;
            };
            let Candidate { name, state, .. } = judged.candidate;
            if matches!(state, State::Disabled) || judged.table.and_then(|it| it.enabled) == Some(false) {
                *selection = Some(Selection::Disabled);
            } else if let State::Unreachable(error) = state {
                *selection = Some(Selection::Examined(Examined::failed(examine::unreadable(error)), None));
            } else if let State::Broken(message) = state {
                let error = HookError::new(Cause::Incompatible, message);
                *selection = Some(Selection::Examined(Examined::failed(error), None));
            } else if let Some(shadower) = taken.shadower(name, &judged.claim()) {
                *selection = Some(Selection::Shadowed(shadower.map(JudgedCandidate::reference)));
            } else if names.insert(name.as_str()) {
                round.push((at, judged));
            } else {
                later.push(at);
            }
        }
        let jobs = round.iter().map(|(_, judged)| judged.job()).collect();
        for ((at, judged), examined) in round.into_iter().zip(examiner.examine(jobs).await) {
            let (examined, kept) = judged.or_last(examined, last);
            if examined.result.is_ok() && judged.takes_name() {
                taken.take(&judged.candidate.name, judged.claim(), judged);
            }
            if let Some(selection) = selections.get_mut(at) {
                *selection = Some(Selection::Examined(examined, kept));
            }
        }
        pending = later;
    }
    let undecided = || HookError::new(Cause::Internal, "could not be examined");
    let selections = selections.into_iter();
    selections
        .map(|selection| {
            selection.unwrap_or_else(|| Selection::Examined(Examined::failed(undecided()), None))
        })
        .collect()
}
