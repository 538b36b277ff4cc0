//! Rows, hooks and problems, collected one candidate after another.

use std::sync::Arc;

use super::discovered::Discovery;
use super::entry::{Entry, EntryStatus, Found};
use super::failing_hook::FailingHook;
use super::fallback::LastGood;
use super::judged_candidate::Position;
use crate::discovery::find::last_read::Kept;
use crate::discovery::problem::Problem;
use crate::hook::{Descriptor, Hook, HookError, OnFailure};

/// The consequence of a missing or broken guard.
pub(super) const BLOCKS: &str = "on_failure is \"block\", so it fails in every event";

/// Rows and hooks with their positions.
#[derive(Default)]
pub(super) struct Assembly {
    pub(super) rows: Vec<(Position, Entry)>,
    pub(super) hooks: Vec<(Position, Arc<dyn Hook>)>,
    pub(super) problems: Vec<Problem>,
    pub(super) kept: Vec<Kept>,
    pub(super) last: Arc<LastGood>,
    pub(super) next: LastGood,
    /// The failure policy of a component of the user's that could never be read.
    pub(super) unread: OnFailure,
    /// The part of the hook that is listed next.
    pub(super) found: Found,
}

impl Assembly {
    /// Lists a hook and registers one in its place that fails in every event.
    pub(super) fn refuse(
        &mut self,
        position: Position,
        descriptor: Descriptor,
        priority: Option<i32>,
        error: HookError,
        status: EntryStatus,
    ) {
        let message = error.message.clone();
        let hook = FailingHook::new(descriptor, priority, error);
        self.list(position.clone(), hook.descriptor(), status);
        self.explain(message);
        self.hooks.push((position, Arc::new(hook)));
    }

    pub(super) fn list(&mut self, position: Position, descriptor: &Descriptor, status: EntryStatus) {
        let found = std::mem::take(&mut self.found);
        self.rows.push((position, Entry { found, ..Entry::new(descriptor, status) }));
    }

    /// Returns the part of the hook that was listed last that a list does not show.
    pub(super) fn listed(&mut self) -> Option<&mut Found> {
        Some(&mut self.rows.last_mut()?.1.found)
    }

    /// Reports why the hook that was listed last does not run, if its user relies on it.
    pub(super) fn lapse(&mut self, problem: Option<Problem>) {
        if let Some(problem) = problem {
            self.explain(problem.message.clone());
            self.problems.push(problem);
        }
    }

    /// Sets the reason why the hook that was listed last does not run.
    pub(super) fn explain(&mut self, message: String) {
        if let Some((_, entry)) = self.rows.last_mut() {
            entry.problem = Some(message);
        }
    }

    pub(super) fn finish(mut self) -> Discovery {
        self.rows.sort_by_cached_key(|(position, entry)| {
            (position.tier.origin(), entry.priority, position.clone())
        });
        self.hooks.sort_by(|(a, _), (b, _)| a.cmp(b));
        Discovery {
            entries: self.rows.into_iter().map(|(_, entry)| entry).collect(),
            hooks: self.hooks.into_iter().map(|(_, hook)| hook).collect(),
            problems: self.problems,
            kept: self.kept,
            last_good: Some(self.next),
            ..Discovery::default()
        }
    }
}
