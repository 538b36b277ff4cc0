//! The explanation of an event: why each hook was asked or not, and what it answered.

use std::path::PathBuf;
use std::sync::Arc;

use super::Session;
use crate::chain::{self, Fired};
use crate::discovery::{Entry, EntryStatus};
use crate::event::Event;
use crate::hook::{Budget, Descriptor, Hook, Settings, Subscription};
use crate::live::Snapshot;
use crate::report::{HookReport, Status};

/// An event with the part of every hook that was found; see [`Session::explain`](super::Session::explain).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Explanation {
    /// The event as the hooks left it, the verdict and the report.
    pub fired: Fired,
    /// The hooks whose turn came, in run order, and then all others.
    pub hooks: Vec<ExplainedHook>,
}

/// A hook and its part in an event.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ExplainedHook {
    /// Its name, file, kind, tier, trust, status, failure policy, declaration and settings.
    pub entry: Entry,
    /// True if it was asked, or the reason why not.
    pub asked: Asked,
    /// Its subscription to the event, if it has one.
    pub subscription: Option<Subscription>,
    /// The limits of a call, if it is active.
    pub budget: Option<Budget>,
    /// Its part of the report, if its turn came.
    pub report: Option<HookReport>,
}

/// The part of a hook in an event: it was asked, or the reason why not.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Asked {
    /// It was asked. Its report has the answer.
    Yes,
    /// A condition of its own excludes the event; see [`Hook::passes_over`](crate::Hook::passes_over).
    PassedOver(&'static str),
    /// Another hook had blocked before its turn.
    AfterBlock,
    /// A repository brought it, and the user has not trusted it.
    Untrusted,
    /// It does not subscribe to the event.
    OtherEvent,
    /// It subscribes to the event for these tools only.
    OtherTools(Vec<String>),
    /// Its owner has switched it off.
    Disabled,
    /// The hook with this path runs in its place.
    Shadowed(Option<PathBuf>),
    /// It cannot be used. The entry has the problem.
    Invalid,
}

impl Explanation {
    /// Explains an event that these hooks have answered. `asked` is the event before that.
    pub(super) fn new(snapshot: &Snapshot, asked: &Event, fired: Fired) -> Self {
        let turns = chain::in_run_order(&snapshot.hooks, asked).into_iter().map(|(hook, _)| hook);
        let mut hooks: Vec<ExplainedHook> = turns
            .zip(&fired.report.hooks)
            .map(|(hook, report)| {
                let asked = match report.status {
                    Status::Untrusted => Asked::Untrusted,
                    Status::Skipped => Asked::AfterBlock,
                    _ => report.passed_over.map_or(Asked::Yes, Asked::PassedOver),
                };
                Self::hook(snapshot, &row(snapshot, hook.descriptor()), asked, Some(report))
            })
            .collect();
        let others: Vec<ExplainedHook> = snapshot
            .entries
            .iter()
            .filter(|entry| !hooks.iter().any(|hook| is_same(&hook.entry, entry)))
            .map(|entry| Self::hook(snapshot, entry, why_not(snapshot, entry, asked), None))
            .collect();
        hooks.extend(others);
        for hook in &mut hooks {
            let subscriptions = active(snapshot, &hook.entry).map(|it| &it.descriptor().subscriptions);
            let here = |it: &&Subscription| it.event == asked.name();
            let mut here = subscriptions.into_iter().flatten().filter(here);
            hook.subscription = here.clone().find(|it| it.matches(asked)).or_else(|| here.next()).cloned();
        }
        Self { fired, hooks }
    }

    fn hook(snapshot: &Snapshot, entry: &Entry, asked: Asked, report: Option<&HookReport>) -> ExplainedHook {
        ExplainedHook {
            asked,
            subscription: None,
            budget: active(snapshot, entry).map(|it| it.descriptor().budget),
            report: report.cloned(),
            entry: entry.clone(),
        }
    }
}

impl Session {
    /// Returns true if a hook of an explanation, asked alone, lets its event pass with these settings. The hook runs
    /// again, with all that it does beside its answer.
    pub async fn would_pass(
        &self,
        explanation: &Explanation,
        hook: &ExplainedHook,
        settings: &Settings,
    ) -> bool {
        let snapshot = self.live.snapshot();
        let active = active(&snapshot, &hook.entry);
        let Some(tried) = active.and_then(|it| it.tried_with(settings)) else { return false };
        let fired = chain::run(&[tried], explanation.fired.event.clone(), self.chain_options()).await;
        let is_asked =
            fired.report.hooks.iter().any(|it| it.status != Status::Untrusted && it.cause.is_none());
        is_asked && fired.verdict.block.is_none() && fired.verdict.ask.is_none()
    }
}

/// Returns the row of a hook that runs. A hook of the agent's own has none in the list.
fn row(snapshot: &Snapshot, hook: &Descriptor) -> Entry {
    let is_it =
        |entry: &&Entry| entry.name == hook.name && entry.path == hook.path && entry.tier == hook.tier;
    let listed = snapshot.entries.iter().find(is_it).cloned();
    listed.unwrap_or_else(|| Entry::new(hook, EntryStatus::Active))
}

fn is_same(a: &Entry, b: &Entry) -> bool {
    a.name == b.name && a.path == b.path && a.tier == b.tier
}

/// Returns the hook of a row, if it runs.
fn active<'a>(snapshot: &'a Snapshot, entry: &Entry) -> Option<&'a Arc<dyn Hook>> {
    let is_it = |it: &Descriptor| it.name == entry.name && it.path == entry.path && it.tier == entry.tier;
    snapshot.hooks.iter().find(|hook| is_it(hook.descriptor()))
}

/// Returns the reason why the turn of a hook did not come.
fn why_not(snapshot: &Snapshot, entry: &Entry, asked: &Event) -> Asked {
    match entry.status {
        EntryStatus::Disabled => return Asked::Disabled,
        EntryStatus::Shadowed => {
            return Asked::Shadowed(entry.found.shadowed_by.clone());
        }
        EntryStatus::Invalid => return Asked::Invalid,
        EntryStatus::Untrusted | EntryStatus::Active => {}
    }
    let subscriptions =
        active(snapshot, entry).map(|it| it.descriptor().subscriptions.as_slice()).unwrap_or_default();
    let here = subscriptions.iter().filter(|it| it.event == asked.name());
    let tools: Vec<String> = here.flat_map(|it| it.tools.iter().cloned()).collect();
    if tools.is_empty() { Asked::OtherEvent } else { Asked::OtherTools(tools) }
}
