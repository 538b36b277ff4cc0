//! Tells the user once in a session of each untrusted hook.

use std::collections::BTreeSet;

use crate::chain::Fired;
use crate::hook::Cause;
use crate::outcome::Warning;

/// The warnings about untrusted hooks that a verdict of the session has had.
#[derive(Debug, Default)]
pub(super) struct Told(BTreeSet<String>);

impl Told {
    /// Takes the warnings out of a verdict that an earlier one had. Its report and its block stay.
    pub(super) fn keep_new(&mut self, fired: &mut Fired) {
        let hooks = &fired.report.hooks;
        let is_untrusted = |warning: &Warning| {
            let is_skipped =
                |name: &String| hooks.iter().any(|it| it.name == *name && it.cause == Some(Cause::Untrusted));
            warning.text.starts_with("skipped ") && warning.hook.as_ref().is_some_and(is_skipped)
        };
        fired.verdict.warnings.retain(|warning| {
            if !is_untrusted(warning) {
                return true;
            }
            self.0.insert(warning.text.clone())
        });
    }
}
