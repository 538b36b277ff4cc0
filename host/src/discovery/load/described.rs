//! Joins the description that a hook gives of itself with what its owner decides.

use super::judged_candidate::JudgedCandidate;
use crate::discovery::find::declared::Declared;
use crate::hook::{Cause, Descriptor, Digest, HookError, Manifest, Subscription};
use hookbox_system::text;

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
