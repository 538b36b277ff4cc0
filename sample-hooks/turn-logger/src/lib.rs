//! Logs how full the context window is after each turn.

use hookbox_sdk::prelude::*;

/// The hook.
pub struct TurnLogger;

impl Hook for TurnLogger {
    fn manifest() -> Manifest {
        Manifest::new("turn-logger", env!("CARGO_PKG_VERSION"), env!("CARGO_PKG_DESCRIPTION"))
            .on(Event::AfterTurn)
            .observe()
    }

    fn after_turn(_cx: &Context, event: &AfterTurn) -> Result<Answer, Error> {
        hookbox_sdk::info!("{}", line(event));
        Ok(Answer::pass())
    }
}

/// Such as `Turn 5: context 68.75% (tools_used: true)`; an absent value is a question mark.
fn line(event: &AfterTurn) -> String {
    let turn = event.turn_number.map_or("?".to_owned(), |number| number.to_string());
    let tools_used = event.tools_used.map_or("?".to_owned(), |used| used.to_string());
    let ratio = event.usage.and_then(|usage| usage.ratio());
    let spent = ratio.map_or("?".to_owned(), |ratio| format!("{:.2}", ratio * 100.0));
    format!("Turn {turn}: context {spent}% (tools_used: {tools_used})")
}

hookbox_sdk::export_hook!(TurnLogger);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_is_known() {
        let usage = |current, max| {
            Some(Usage { current_context_window: current, max_context_window: max, ..Usage::default() })
        };
        for (turn_number, usage, tools_used, expected) in [
            (Some(5), usage(88_000, 128_000), Some(true), "Turn 5: context 68.75% (tools_used: true)"),
            (Some(1), usage(88_000, 0), Some(false), "Turn 1: context ?% (tools_used: false)"),
            (None, None, None, "Turn ?: context ?% (tools_used: ?)"),
        ] {
            let event = AfterTurn { turn_number, usage, tools_used, ..AfterTurn::default() };
            assert_eq!(line(&event), expected);
        }
    }
}
