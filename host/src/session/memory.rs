//! The memory of a session: how often a tool call has failed in a row, and the warnings that its user has had.

use std::collections::{BTreeSet, VecDeque};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use crate::chain::Fired;
use crate::event::ToolCall;
use crate::hook::Cause;
use crate::outcome::Warning;

/// The number of calls that are remembered: a model repeats a failed call soon or never.
const MAX_CALLS: usize = 256;

/// The calls of a session that failed last, the latest last. Two calls are the same if tool and input are.
#[derive(Debug, Default)]
pub(super) struct Attempts(VecDeque<(u64, u32)>);

impl Attempts {
    /// Records a failure, and returns its number, from 1.
    pub(super) fn failed(&mut self, call: &ToolCall) -> u32 {
        let attempt = self.take(call).saturating_add(1);
        self.0.push_back((key(call), attempt));
        if self.0.len() > MAX_CALLS {
            self.0.pop_front();
        }
        attempt
    }

    /// Records a success: the next failure of this call is the first one again.
    pub(super) fn succeeded(&mut self, call: &ToolCall) {
        self.take(call);
    }

    /// Forgets all calls.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Forgets a call, and returns the number of its failures.
    fn take(&mut self, call: &ToolCall) -> u32 {
        let key = key(call);
        let at = self.0.iter().position(|(it, _)| *it == key);
        at.and_then(|at| self.0.remove(at)).map_or(0, |(_, failures)| failures)
    }
}

fn key(call: &ToolCall) -> u64 {
    let mut hasher = DefaultHasher::new();
    (call.name.as_str(), call.input.text()).hash(&mut hasher);
    hasher.finish()
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn failures_of_the_same_call_are_counted_until_it_succeeds() {
        let call = |command: &str| ToolCall::new("bash", json!({"command": command})).with_id(command);
        let mut attempts = Attempts::default();
        assert_eq!([1, 2, 3].map(|_| attempts.failed(&call("make"))), [1, 2, 3]);
        assert_eq!(attempts.failed(&call("ls")), 1);
        assert_eq!(
            attempts.failed(&ToolCall::new("bash", json!({"command": "make"}))),
            4,
            "an id is no difference"
        );
        attempts.succeeded(&call("make"));
        assert_eq!((attempts.failed(&call("make")), attempts.failed(&call("ls"))), (1, 2));
        for n in 0..10 * MAX_CALLS {
            attempts.failed(&call(&n.to_string()));
        }
        assert!(attempts.0.len() <= MAX_CALLS);
        assert_eq!(attempts.failed(&call("ls")), 1, "it is long ago");
    }
}
