//! The budget monitor finds the thresholds that a conversation's context window crosses.

use crate::event::{TokenBudget, Usage};
use crate::thresholds::{Thresholds, is_reached};

/// Watches the usage of a context window. It fires once for each threshold that is crossed upwards. A
/// threshold is armed again once the usage is below it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BudgetMonitor {
    budget: Option<TokenBudget>,
    is_above_warn: bool,
    is_above_rotate: bool,
}

impl BudgetMonitor {
    /// Records this usage, and returns the threshold that it has just crossed. Of two that are crossed at
    /// once it is the higher one, and the lower one counts as crossed too: an agent that rotates needs no
    /// warning.
    ///
    /// A window of unknown size (`max_context_window` 0) crosses nothing and changes nothing.
    pub fn observe(&mut self, usage: Usage, thresholds: Thresholds) -> Option<f64> {
        let share = usage.share()?;
        self.budget = Some(usage.into());
        let mut crossed: Option<f64> = None;
        for (threshold, was_above) in
            [(thresholds.warn, &mut self.is_above_warn), (thresholds.rotate, &mut self.is_above_rotate)]
        {
            let is_above = is_reached(threshold, share);
            if is_above && !*was_above {
                crossed = Some(crossed.map_or(threshold, |lower| lower.max(threshold)));
            }
            *was_above = is_above;
        }
        crossed
    }

    /// Arms both thresholds again: the next usage that reaches one fires, as if it were the first.
    pub fn rearm(&mut self) {
        (self.is_above_warn, self.is_above_rotate) = (false, false);
    }

    /// Returns the last usage with a window of known size.
    pub fn budget(&self) -> Option<TokenBudget> {
        self.budget
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(current: u64, max: u64) -> Usage {
        Usage { current_context_window: current, max_context_window: max, ..Usage::default() }
    }

    #[test]
    fn each_threshold_fires_once_until_the_usage_has_fallen_below_it() {
        for (name, steps) in [
            ("slowly", &[(10, None), (70, Some(0.7)), (75, None), (80, Some(0.8)), (99, None)][..]),
            ("both at once", &[(90, Some(0.8)), (75, None), (81, Some(0.8))]),
            (
                "armed again",
                &[(72, Some(0.7)), (69, None), (70, Some(0.7)), (85, Some(0.8)), (20, None), (71, Some(0.7))],
            ),
            ("beyond the window", &[(500, Some(0.8)), (u64::MAX, None), (0, None), (u64::MAX, Some(0.8))]),
        ] {
            let mut monitor = BudgetMonitor::default();
            for (current, crossed) in steps {
                assert_eq!(
                    monitor.observe(usage(*current, 100), Thresholds::default()),
                    *crossed,
                    "{name}: {current}"
                );
            }
        }
    }

    #[test]
    fn armed_again_it_fires_at_the_next_usage_and_keeps_what_it_observed() {
        let mut monitor = BudgetMonitor::default();
        for current in [85, 85, 72] {
            monitor.observe(usage(current, 100), Thresholds::default());
        }
        monitor.rearm();
        assert_eq!(monitor.budget(), Some(usage(72, 100).into()));
        for (current, crossed) in [(75, Some(0.7)), (85, Some(0.8)), (86, None)] {
            assert_eq!(monitor.observe(usage(current, 100), Thresholds::default()), crossed, "{current}");
        }
    }

    #[test]
    fn a_window_of_unknown_size_crosses_nothing_and_changes_nothing() {
        let mut monitor = BudgetMonitor::default();
        assert_eq!(monitor.observe(usage(u64::MAX, 0), Thresholds::default()), None);
        assert_eq!(monitor.budget(), None);
        assert_eq!(monitor.observe(usage(u64::MAX, u64::MAX), Thresholds::default()), Some(0.8));
        let known = monitor.clone();
        assert_eq!(monitor.observe(usage(0, 0), Thresholds::default()), None);
        assert_eq!(monitor, known);
        assert_eq!(monitor.observe(usage(1, u64::MAX), Thresholds::default()), None);
        assert_eq!(monitor.observe(usage(u64::MAX, 1), Thresholds::default()), Some(0.8));
    }

    #[test]
    fn thresholds_that_no_window_reaches_never_fire_and_equal_ones_fire_once() {
        for wrong in [0.0, -1.0, 1.5, f64::NAN, f64::INFINITY] {
            let thresholds = Thresholds { warn: wrong, rotate: wrong, ..Thresholds::default() };
            assert_eq!(BudgetMonitor::default().observe(usage(100, 100), thresholds), None, "{wrong}");
        }
        let thresholds = Thresholds { warn: 0.5, rotate: 0.5, ..Thresholds::default() };
        let mut monitor = BudgetMonitor::default();
        assert_eq!(monitor.observe(usage(50, 100), thresholds), Some(0.5));
        assert_eq!(monitor.observe(usage(99, 100), thresholds), None);
    }
}
