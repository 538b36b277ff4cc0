//! A placeholder hook that blocks while hooks of the user's cannot be read.

use std::sync::Arc;

use super::failing_hook::FailingHook;
use crate::discovery::problem::Problem;
use crate::hook::{Cause, Descriptor, Hook, HookError, Kind, OnFailure, Tier};
use hookbox_system::text;

/// Its name in reports.
const NAME: &str = "unreadable hooks";

/// The next step, if the problem has none.
const HINT: &str = "mend it, or move it aside";

/// Returns a hook that fails in every event, and blocks there, if a problem hides hooks of the user's: one of
/// them may be a guard. It is the last of the user's hooks, so that those that can be read judge before it.
pub(crate) fn guard(problems: &[Problem]) -> Option<Arc<dyn Hook>> {
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
        ..Descriptor::new(NAME, Kind::Native)
    };
    Some(Arc::new(FailingHook::new(descriptor, Some(i32::MAX), HookError::new(Cause::NotFound, message))))
}
