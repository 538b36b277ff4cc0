//! Compacts the conversation when more of the context window is spent than the user wants.

use hookbox_sdk::prelude::*;

/// The hook.
pub struct CompactThreshold;

/// The user's settings.
#[derive(Debug, serde::Deserialize)]
#[serde(default)]
struct Settings {
    /// The part of the window that may be spent, from 0 to 1.
    threshold: f64,
    /// The recipe to run beyond it.
    callback: Recipe,
}

impl Default for Settings {
    fn default() -> Self {
        Self { threshold: 0.70, callback: Recipe::Compact }
    }
}

/// The recipe that makes room.
#[derive(Clone, Copy, Debug, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
enum Recipe {
    Compact,
    Rotate,
}

impl Hook for CompactThreshold {
    fn manifest() -> Manifest {
        Manifest::new("compact-threshold", env!("CARGO_PKG_VERSION"), env!("CARGO_PKG_DESCRIPTION"))
            .on(Event::AfterTurn)
            .answers([Give::Callback])
    }

    fn after_turn(_cx: &Context, event: &AfterTurn) -> Result<Answer, Error> {
        Ok(decide(&settings()?, event.usage))
    }
}

fn decide(settings: &Settings, usage: Option<Usage>) -> Answer {
    match usage.and_then(|usage| usage.ratio()) {
        Some(ratio) if ratio > settings.threshold => Answer::callback(match settings.callback {
            Recipe::Compact => "compact",
            Recipe::Rotate => "rotate",
        }),
        _ => Answer::pass(),
    }
}

hookbox_sdk::export_hook!(CompactThreshold);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_compacts_beyond_the_threshold_and_never_divides_by_zero() {
        let usage = |current, max| {
            Some(Usage { current_context_window: current, max_context_window: max, ..Usage::default() })
        };
        let defaults = Settings::default();
        for (usage, expected) in [
            (usage(88_000, 128_000), Answer::pass()),
            (usage(70, 100), Answer::pass()),
            (usage(71, 100), Answer::callback("compact")),
            (usage(200, 100), Answer::callback("compact")),
            (usage(5, 0), Answer::pass()),
            (None, Answer::pass()),
        ] {
            assert_eq!(decide(&defaults, usage), expected, "{usage:?}");
        }
        let rotate = Settings { threshold: 0.5, callback: Recipe::Rotate };
        assert_eq!(decide(&rotate, usage(51, 100)), Answer::callback("rotate"));
    }
}
