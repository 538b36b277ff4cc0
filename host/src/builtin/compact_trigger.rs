//! `builtin:compact-trigger`: compacts a conversation before its context window is full, as kodelet does.

use std::sync::Arc;

use async_trait::async_trait;

use super::{Builtin, BuiltinSettings, Setting, Surroundings};
use crate::event::{AfterTurn, Event, EventData, EventName};
use crate::hook::{Budget, Descriptor, Hook, HookError, Kind};
use crate::outcome::{Action, Callback, Outcome};
use crate::thresholds::{AtThreshold, is_reached, is_threshold};

/// The name of the built-in hook that asks for compaction.
pub const COMPACT_TRIGGER: &str = "builtin:compact-trigger";

/// The recipe that it asks for.
const RECIPE: &str = "compact";

/// The default share of the window at which a conversation is compacted; kodelet has the same.
const DEFAULT_THRESHOLD: f64 = 0.8;

pub(super) const BUILTIN: Builtin = Builtin {
    name: COMPACT_TRIGGER,
    description: "Has the conversation compacted when its context window has reached a threshold.",
    settings: &[Setting {
        key: "threshold",
        expected: "a number above 0 and at most 1",
        is_valid: |text| threshold(text).is_some(),
    }],
    make: |around, user_settings| Arc::new(CompactTrigger::new(around, user_settings)),
};

fn threshold(text: &str) -> Option<f64> {
    text.parse().ok().filter(|share| is_threshold(*share))
}

/// Answers `after_turn` with the callback `compact` from a share of the context window on: the user's setting `threshold`,
/// or else the event's `auto_compact_threshold`, or else 0.8. Does nothing if the event's `auto_compact_enabled` is false,
/// if the usage is unknown, or if sessions are rotated instead.
pub(crate) struct CompactTrigger {
    descriptor: Descriptor,
    /// The user's setting.
    threshold: Option<f64>,
    /// True if a session is handed over rather than compacted.
    rotates: bool,
}

impl CompactTrigger {
    pub(crate) fn new(around: &Surroundings, user_settings: &BuiltinSettings) -> Self {
        let descriptor = Descriptor::new(COMPACT_TRIGGER, Kind::Builtin).on(EventName::AfterTurn);
        Self {
            descriptor: user_settings.prioritise(descriptor),
            threshold: user_settings.settings.get("threshold").and_then(|text| threshold(text)),
            rotates: around.thresholds.at == AtThreshold::Rotate,
        }
    }

    fn judge(&self, turn: &AfterTurn) -> Outcome {
        let share = turn.usage.and_then(crate::Usage::share);
        let Some(share) = share.filter(|_| turn.auto_compact_enabled != Some(false) && !self.rotates) else {
            return Outcome::pass();
        };
        let given = turn.auto_compact_threshold;
        let usable = given.filter(|share| is_threshold(*share));
        let threshold = self.threshold.or(usable).unwrap_or(DEFAULT_THRESHOLD);
        let outcome = if is_reached(threshold, share) {
            Action::Callback(Callback { name: RECIPE.to_owned(), args: Vec::new() }).into()
        } else {
            Outcome::pass()
        };
        match given {
            Some(wrong) if self.threshold.is_none() && usable.is_none() => outcome.warn(format!(
                "auto_compact_threshold: expected a number above 0 and at most 1, found {wrong}: taken as \
                 {DEFAULT_THRESHOLD}"
            )),
            _ => outcome,
        }
    }
}

#[async_trait]
impl Hook for CompactTrigger {
    fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }

    async fn run(&self, event: &Event, _: &Budget) -> Result<Outcome, HookError> {
        Ok(match &event.data {
            EventData::AfterTurn(turn) => self.judge(turn),
            _ => Outcome::pass(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Usage;
    use crate::thresholds::Thresholds;

    fn trigger(setting: Option<&str>, at: AtThreshold) -> CompactTrigger {
        let settings = setting.map(|it| ("threshold".to_owned(), it.to_owned())).into_iter().collect();
        let around = Surroundings {
            thresholds: Thresholds { at, ..Thresholds::default() },
            ..Surroundings::default()
        };
        CompactTrigger::new(&around, &BuiltinSettings { settings, ..BuiltinSettings::default() })
    }

    fn turn(current: u64, max: u64) -> AfterTurn {
        let usage = Usage { current_context_window: current, max_context_window: max, ..Usage::default() };
        AfterTurn { usage: Some(usage), ..AfterTurn::default() }
    }

    #[test]
    fn it_asks_for_compaction_from_the_threshold_on() {
        let given = |share| AfterTurn { auto_compact_threshold: Some(share), ..turn(75, 100) };
        let switched = |on| AfterTurn { auto_compact_enabled: Some(on), ..turn(90, 100) };
        for (name, turn, setting, compacts) in [
            ("below", turn(102_399, 128_000), None, false),
            ("reached", turn(102_400, 128_000), None, true),
            ("beyond the window", turn(u64::MAX, 1), None, true),
            ("both at the limit", turn(u64::MAX, u64::MAX), None, true),
            ("an empty window", turn(0, 100), None, false),
            ("of unknown size", turn(90, 0), None, false),
            ("no usage", AfterTurn::default(), None, false),
            ("the agent's threshold", given(0.75), None, true),
            ("the agent's higher threshold", given(0.9), None, false),
            ("the user's threshold", turn(70, 100), Some("0.7"), true),
            ("the user's goes before the agent's", given(0.5), Some("0.9"), false),
            ("switched on", switched(true), None, true),
            ("switched off by the agent", switched(false), Some("0.1"), false),
        ] {
            let outcome = trigger(setting, AtThreshold::Compact).judge(&turn);
            assert_eq!(
                matches!(&outcome.action, Action::Callback(it) if it.name == "compact"),
                compacts,
                "{name}"
            );
            assert_eq!(outcome.warnings, [""; 0], "{name}");
            let rotating = trigger(setting, AtThreshold::Rotate).judge(&turn);
            assert_eq!(rotating, Outcome::pass(), "{name}: a session that is rotated is not compacted");
        }
    }

    #[test]
    fn a_threshold_that_is_none_is_a_warning_and_the_default_holds() {
        for wrong in [0.0, -0.5, 80.0, f64::NAN, f64::INFINITY] {
            for (current, compacts) in [(79, false), (80, true)] {
                let turn = AfterTurn { auto_compact_threshold: Some(wrong), ..turn(current, 100) };
                let outcome = trigger(None, AtThreshold::Compact).judge(&turn);
                assert_eq!(matches!(outcome.action, Action::Callback(_)), compacts, "{wrong}");
                assert!(outcome.warnings[0].contains("found"), "{wrong}: {outcome:?}");
            }
        }
    }
}
