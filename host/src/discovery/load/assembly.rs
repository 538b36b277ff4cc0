//! Rows, hooks and problems, collected one candidate after another; the hooks that only fail; and the joint of a hook's own
//! description with the decisions of its owner.

use std::sync::Arc;

use async_trait::async_trait;
use hookbox_system::text;

use super::discovered::Discovery;
use super::discovered::LastGood;
use super::entry::{Entry, EntryStatus, Found};
use super::judged_candidate::{JudgedCandidate, Position};
use crate::discovery::find::declared::Declared;
use crate::discovery::find::last_read::Kept;
use crate::discovery::problem::Problem;
use crate::event::{Event, EventName};
use crate::hook::{
    Budget, Cause, DEFAULT_PRIORITY, Descriptor, Digest, Hook, HookError, Kind, Manifest, OnFailure,
    Subscription, Tier,
};
use crate::outcome::Outcome;

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
        let found = Found { order: self.rows.len(), ..std::mem::take(&mut self.found) };
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

/// A hook that does not run and fails in every event: an untrusted one, or a guard that is missing or broken.
/// If its events are not known it subscribes to all.
pub(super) struct FailingHook {
    descriptor: Descriptor,
    error: HookError,
}

impl FailingHook {
    /// Makes a hook that fails with `error` in its known events, else in all of them, at this priority.
    pub(super) fn new(mut descriptor: Descriptor, priority: Option<i32>, error: HookError) -> Self {
        let priority = priority.unwrap_or(DEFAULT_PRIORITY);
        if descriptor.subscriptions.is_empty() {
            descriptor.subscriptions = EventName::subscribable().map(Subscription::to).collect();
        }
        for subscription in &mut descriptor.subscriptions {
            subscription.priority = priority;
        }
        Self { descriptor, error }
    }
}

#[async_trait]
impl Hook for FailingHook {
    fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }

    async fn run(&self, _event: &Event, _budget: &Budget) -> Result<Outcome, HookError> {
        Err(self.error.clone())
    }
}

/// The name of the hook that blocks while hooks of the user's cannot be read.
const UNREADABLE: &str = "unreadable hooks";

/// The next step, if a problem has none.
const HINT: &str = "mend it, or move it aside";

/// Returns a hook that fails in every event, and blocks there, if a problem hides hooks of the user's: one of
/// them may be a guard. It is the last of the user's hooks, so that those that can be read judge before it.
pub(crate) fn unreadable_guard(problems: &[Problem]) -> Option<Arc<dyn Hook>> {
    let mut hiding = problems.iter().filter(|problem| problem.hides);
    let first = hiding.next()?;
    let more = match hiding.count() {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    let hint = text::escape(first.hint.as_deref().unwrap_or(HINT), 1000);
    let message = format!("{first}{more}; there may be a guard that blocks; hint: {hint}");
    let descriptor = Descriptor {
        tier: Tier::Global,
        on_failure: OnFailure::Block,
        trusted: true,
        ..Descriptor::new(UNREADABLE, Kind::Native)
    };
    Some(Arc::new(FailingHook::new(descriptor, Some(i32::MAX), HookError::new(Cause::NotFound, message))))
}

/// Completes the descriptor of a component or a rules file by its own description.
pub(super) fn describe(
    descriptor: &mut Descriptor,
    judged: &JudgedCandidate<'_>,
    manifest: &Manifest,
    bytes: &Digest,
) -> Result<(), HookError> {
    if judged.was_replaced(bytes) {
        if judged.speaks_for_itself() {
            descriptor.on_failure = manifest.on_failure.unwrap_or_default();
        }
        return Err(HookError::new(Cause::Untrusted, "was replaced while it was examined"));
    }
    if judged.on_failure().is_none() {
        descriptor.on_failure = manifest.on_failure.unwrap_or_default();
    }
    descriptor.subscriptions = match judged.declared() {
        None => manifest.subscriptions.clone(),
        Some(declared) => declared_subscriptions(declared, &manifest.subscriptions)?,
    };
    if judged.judgement.standing.is_trusted() {
        descriptor.answers = manifest.answers;
    }
    descriptor.digest = Some(bytes.clone());
    settle(descriptor, judged);
    Ok(())
}

/// Returns the subscriptions of a component that an entry declares for one event: its own there, as far as
/// the entry does not replace them.
pub(super) fn declared_subscriptions(
    declared: &Declared,
    asked: &[Subscription],
) -> Result<Vec<Subscription>, HookError> {
    let here = asked.iter().filter(|it| Some(&it.event) == declared.event.as_ref());
    let subscriptions: Vec<Subscription> = here
        .map(|it| Subscription {
            event: it.event.clone(),
            tools: if declared.tools.is_empty() { it.tools.clone() } else { declared.tools.clone() },
            priority: declared.priority.unwrap_or(it.priority),
            observe: declared.observe || it.observe,
        })
        .collect();
    if subscriptions.is_empty() {
        let asks: Vec<&str> = asked.iter().map(|it| it.event.as_str()).collect();
        let what =
            format!("is declared for an event that it does not subscribe to; it does to {}", asks.join(", "));
        return Err(HookError::new(Cause::Incompatible, text::escape(&what, 400)));
    }
    Ok(subscriptions)
}

/// Applies what its owner decides about all subscriptions of a hook.
pub(super) fn settle(descriptor: &mut Descriptor, judged: &JudgedCandidate<'_>) {
    for subscription in &mut descriptor.subscriptions {
        subscription.priority = judged.priority().unwrap_or(subscription.priority);
        subscription.observe |= judged.is_made_observer();
    }
}
