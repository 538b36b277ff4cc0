//! Problems with hooks that the user relies on and that do not run: none of them is silent.

use std::path::PathBuf;

use super::gate::{Gate, Judgement};
use super::judged_candidate::JudgedCandidate;
use super::shadow::Shadower;
use crate::discovery::find::options::Options;
use crate::discovery::find::source;
use crate::discovery::problem::Problem;
use crate::hook::{OnFailure, Origin};
use crate::trust::{self, Record};
use hookbox_system::text;

/// Returns the problem of a hook that has changed since the user trusted it.
pub(super) fn changed(judged: &JudgedCandidate<'_>) -> Option<Problem> {
    judged.judgement.has_changed().then(|| {
        let problem = Problem::new(&judged.candidate.path, trust::CHANGED).of(&judged.candidate.name).off();
        problem.hint(format!("look at what has changed, then {}", judged.approve()))
    })
}

/// Returns the problem of a hook that its repository switched off since the user trusted it.
pub(super) fn disabled(judged: &JudgedCandidate<'_>) -> Option<Problem> {
    let is_repositorys = judged.candidate.dir.tier.origin() == Origin::Repo;
    (is_repositorys && judged.judgement.was_trusted()).then(|| {
        let message = "was switched off by its repository since you trusted it, so it does not run";
        untrust(Problem::new(&judged.candidate.path, message).off(), &judged.candidate.name)
    })
}

/// Returns the problem of a guard that its repository put into shadow mode since the user trusted it.
pub(super) fn observing(judged: &JudgedCandidate<'_>) -> Option<Problem> {
    let is_repositorys = judged.candidate.dir.tier.origin() == Origin::Repo;
    let record = judged.judgement.record.as_ref();
    let was_guard = record.is_some_and(|it| it.trusted && it.on_failure == OnFailure::Block);
    (is_repositorys && was_guard && judged.is_made_observer()).then(|| {
        let message = "was put into shadow mode by its repository since you trusted it, so it does not guard";
        untrust(Problem::new(&judged.candidate.path, message).off(), &judged.candidate.name)
    })
}

/// Returns the problem of a hook that another one replaced without the user's consent: a hook that the user
/// trusted, one of the user's own behind a repository's, or a guard.
pub(super) fn shadowed(judged: &JudgedCandidate<'_>, shadower: &Shadower<PathBuf>) -> Option<Problem> {
    let is_users = judged.candidate.dir.tier.origin() == Origin::User;
    let is_guard = judged.on_failure() == Some(OnFailure::Block);
    let counts = judged.judgement.was_trusted() || (is_users && (is_guard || shadower.is_foreign));
    (counts && !shadower.is_agreed).then(|| {
        let by = text::escape(&shadower.by.to_string_lossy(), 1024);
        let message = format!("does not run: {by} has its name and comes first");
        let problem = Problem::new(&judged.candidate.path, message).of(&judged.candidate.name).off();
        problem.hint("give one of them another name")
    })
}

/// Returns problems for the guards that the user trusted in the repository and that are missing.
pub(super) fn gone(gate: &Gate, judgements: &[Judgement], options: &Options) -> Vec<Problem> {
    let Some(repo) = gate.repository() else { return Vec::new() };
    // A source may not be given any more, and a root may not be a root any more.
    let is_searched = |record: &Record| match source::is_name(&record.name) {
        true => options.covers(&record.name),
        false => options.roots.iter().any(|root| record.path.starts_with(root)),
    };
    let guards = gate.gone(judgements, is_searched).filter(|record| record.on_failure == OnFailure::Block);
    guards
        .map(|record| {
            let message = "no longer exists, and you trusted it as a guard: it does not run";
            untrust(Problem::new(repo.join(&record.path), message).off(), &record.name)
        })
        .collect()
}

/// Adds the name and, for a user who agrees with the change, the command to withdraw trust.
fn untrust(problem: Problem, name: &str) -> Problem {
    let path = problem.path.clone();
    let word = text::escape(&text::shell_word(&trust::handle(name, Some(&path), true)), 4096);
    problem
        .of(name)
        .hint(format!("look at what has changed; where that is as it should be: hookbox untrust {word}"))
}
