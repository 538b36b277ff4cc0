//! The hooks of an event at their turn, with the names that the model may read.

use std::sync::Arc;

use crate::hook::{Descriptor, Hook, Origin};
use crate::outcome::Author;

/// A hook at its turn.
pub(super) struct Member<'a> {
    pub(super) hook: &'a Arc<dyn Hook>,
    pub(super) observe: bool,
    /// Its name for the model, if the user does not trust it.
    pub(super) untrusted: Option<String>,
    /// True if secrets are removed from its text for the model.
    pub(super) redacts: bool,
}

impl<'a> Member<'a> {
    pub(super) fn descriptor(&self) -> &'a Descriptor {
        self.hook.descriptor()
    }

    pub(super) fn author(&self) -> Author<'_> {
        Author { name: &self.descriptor().name, untrusted: self.untrusted.as_deref() }
    }
}

/// Gives hooks that the user does not trust a name of the host's: the model must not read one that a stranger
/// chose.
pub(super) fn members<'a>(order: Vec<(&'a Arc<dyn Hook>, bool)>, redacts: bool) -> Vec<Member<'a>> {
    let group = |hook: &Arc<dyn Hook>| {
        let descriptor = hook.descriptor();
        (!descriptor.trusted).then(|| descriptor.tier.origin())
    };
    let groups: Vec<Option<Origin>> = order.iter().map(|(hook, _)| group(hook)).collect();
    let words = |at: usize| {
        let origin = (*groups.get(at)?)?;
        let count = |groups: &[Option<Origin>]| groups.iter().filter(|it| **it == Some(origin)).count();
        let hook =
            if origin == Origin::Repo { "a hook of this repository" } else { "a hook that is not trusted" };
        Some(format!("{hook} ({} of {})", count(groups.get(..=at)?), count(&groups)))
    };
    let member = |(at, (hook, observe)): (usize, (&'a Arc<dyn Hook>, bool))| Member {
        hook,
        observe,
        untrusted: words(at),
        redacts,
    };
    order.into_iter().enumerate().map(member).collect()
}
