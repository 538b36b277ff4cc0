//! `builtin:budget`: warns when the context window fills, and asks for a rotation of the session if the user wants that.

use std::sync::Arc;

use async_trait::async_trait;

use super::{Builtin, BuiltinSettings, Surroundings};
use crate::event::{Event, EventData, EventName, Usage};
use crate::hook::{self, Descriptor, Hook, HookError, Kind};
use crate::outcome::{Action, Callback, Outcome};
use crate::thresholds::{AtThreshold, Thresholds, is_reached};

/// The name of the built-in hook that warns of a full context window.
pub const BUDGET: &str = "builtin:budget";

/// The recipe that hands a session over to a new one.
const RECIPE: &str = "rotate";

pub(super) const BUILTIN: Builtin = Builtin {
    name: BUDGET,
    description: "Warns the user and the model when a budget threshold is crossed, and rotates the session where the settings say so.",
    settings: &[],
    make: |around, user_settings| Arc::new(Budget::new(around, user_settings)),
};

/// Answers `on_budget_exceeded` with a warning for the user and a note for the model. From the threshold `rotate` on and
/// with [`AtThreshold::Rotate`] also the callback `rotate`, with the arguments `threshold`,
/// `used_tokens` and `effective_limit` as far as they are known.
pub(crate) struct Budget {
    descriptor: Descriptor,
    thresholds: Thresholds,
}

impl Budget {
    pub(crate) fn new(around: &Surroundings, user_settings: &BuiltinSettings) -> Self {
        let descriptor = Descriptor::new(BUDGET, Kind::Builtin).on(EventName::OnBudgetExceeded);
        Self { descriptor: user_settings.prioritise(descriptor), thresholds: around.thresholds }
    }

    fn judge(&self, usage: Option<Usage>, threshold: Option<f64>) -> Outcome {
        let usage = usage.filter(|usage| usage.share().is_some());
        let share = usage.and_then(Usage::share);
        // The threshold that was crossed, or else the share that is used.
        let Some(reached) = threshold.filter(|it| it.is_finite()).or(share) else {
            return Outcome::pass();
        };
        let is_time = is_reached(self.thresholds.rotate, reached);
        let next = match (is_time, self.thresholds.at) {
            (false, _) => Next::GoOn,
            (true, AtThreshold::Compact) => Next::Compact,
            (true, AtThreshold::Rotate) => Next::Rotate,
        };
        let full = match (usage, share) {
            (Some(usage), Some(share)) => format!(
                "The context window is {} full: {} of {} tokens",
                percent(share),
                usage.current_context_window,
                usage.max_context_window
            ),
            _ => format!("The context window has passed {}", percent(reached)),
        };
        let crossed = threshold.map(|it| format!(" (threshold {})", percent(it))).unwrap_or_default();
        let mut outcome = Outcome::inject(format!("{full}. {}", next.for_model()));
        outcome.warnings.push(format!("{full}{crossed}{}", next.for_user()));
        if next == Next::Rotate {
            let numbers = [
                ("threshold", threshold.map(|it| it.to_string())),
                ("used_tokens", usage.map(|it| it.current_context_window.to_string())),
                ("effective_limit", usage.map(|it| it.max_context_window.to_string())),
            ];
            let args =
                numbers.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect();
            outcome.action = Action::Callback(Callback { name: RECIPE.to_owned(), args });
        }
        outcome
    }
}

/// The action at a threshold.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    GoOn,
    Compact,
    Rotate,
}

impl Next {
    fn for_model(self) -> &'static str {
        match self {
            Self::GoOn => "Finish what is under way before anything new, and read only what is needed.",
            Self::Compact => "Come to a good place to stop: the conversation is about to be compacted.",
            Self::Rotate => {
                "Come to a good place to stop: the work is about to be handed over to a fresh session."
            }
        }
    }

    fn for_user(self) -> &'static str {
        match self {
            Self::GoOn => "",
            Self::Compact => ": it is time to compact",
            Self::Rotate => ": the session is to be rotated",
        }
    }
}

/// Formats a share, such as `72 %`.
fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

#[async_trait]
impl Hook for Budget {
    fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }

    async fn run(&self, event: &Event, _: &hook::Budget) -> Result<Outcome, HookError> {
        Ok(match &event.data {
            EventData::OnBudgetExceeded { usage, threshold } => self.judge(*usage, *threshold),
            _ => Outcome::pass(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(at: AtThreshold) -> Budget {
        let thresholds = Thresholds { at, ..Thresholds::default() };
        Budget::new(&Surroundings { thresholds, ..Surroundings::default() }, &BuiltinSettings::default())
    }

    fn usage(current: u64, max: u64) -> Option<Usage> {
        Some(Usage { current_context_window: current, max_context_window: max, ..Usage::default() })
    }

    #[test]
    fn it_says_how_full_the_window_is_and_what_follows() {
        use AtThreshold::{Compact, Rotate};
        for (at, usage, threshold, warning) in [
            (
                Compact,
                usage(92_160, 128_000),
                Some(0.7),
                "The context window is 72 % full: 92160 of 128000 tokens (threshold 70 %)",
            ),
            (
                Rotate,
                usage(92_160, 128_000),
                Some(0.7),
                "The context window is 72 % full: 92160 of 128000 tokens (threshold 70 %)",
            ),
            (
                Compact,
                usage(81, 100),
                Some(0.8),
                "The context window is 81 % full: 81 of 100 tokens (threshold 80 %): it is time to compact",
            ),
            (
                Rotate,
                usage(81, 100),
                Some(0.8),
                "The context window is 81 % full: 81 of 100 tokens (threshold 80 %): the session is to be rotated",
            ),
            (
                Compact,
                usage(90, 100),
                None,
                "The context window is 90 % full: 90 of 100 tokens: it is time to compact",
            ),
            (Compact, None, Some(0.7), "The context window has passed 70 % (threshold 70 %)"),
            (Compact, usage(90, 0), Some(0.7), "The context window has passed 70 % (threshold 70 %)"),
            (
                Compact,
                usage(u64::MAX, u64::MAX),
                Some(0.1),
                "The context window is 100 % full: 18446744073709551615 of 18446744073709551615 tokens (threshold 10 %)",
            ),
        ] {
            let outcome = budget(at).judge(usage, threshold);
            assert_eq!(outcome.warnings, [warning]);
            assert!(outcome.context[0].starts_with("The context window "), "{outcome:?}");
            let rotates = warning.ends_with("rotated");
            assert_eq!(
                matches!(&outcome.action, Action::Callback(it) if it.name == "rotate"),
                rotates,
                "{warning}"
            );
        }
        for at in [Compact, Rotate] {
            assert_eq!(budget(at).judge(None, None), Outcome::pass());
            assert_eq!(budget(at).judge(usage(9, 0), Some(f64::NAN)), Outcome::pass());
        }
    }

    #[test]
    fn the_recipe_that_rotates_gets_the_numbers_that_are_known() {
        let args = |usage, threshold| match budget(AtThreshold::Rotate).judge(usage, threshold).action {
            Action::Callback(callback) => callback.args,
            other => panic!("{other:?}"),
        };
        let text = |it: &[(&str, &str)]| -> Vec<(String, String)> {
            it.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
        };
        let all = text(&[("threshold", "0.8"), ("used_tokens", "85"), ("effective_limit", "100")]);
        assert_eq!(args(usage(85, 100), Some(0.8)), all);
        assert_eq!(args(None, Some(0.8)), text(&[("threshold", "0.8")]));
        assert_eq!(args(usage(85, 100), None), all[1..]);
    }
}
