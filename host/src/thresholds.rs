//! The thresholds of a context window: the share at which the user is warned, and the share at which the
//! conversation is compacted or rotated.

/// The thresholds of a context window.
///
/// A share is above 0 and at most 1; any other is never reached.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    /// The share at which the user and the model are warned. 0.7, from Base Coat's specification.
    pub warn: f64,
    /// The share at which the conversation is compacted or rotated. 0.8, from Base Coat's specification.
    pub rotate: f64,
    /// The action at `rotate`. [`AtThreshold::Compact`].
    pub at: AtThreshold,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self { warn: 0.7, rotate: 0.8, at: AtThreshold::default() }
    }
}

named! {
    /// The action on a conversation that reaches [`Thresholds::rotate`].
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Deserialize)]
    pub enum AtThreshold {
        /// The context is compacted and goes on: `builtin:compact-trigger` runs the recipe `compact`.
        #[default]
        Compact = "compact",
        /// The context is handed over to a fresh session: `builtin:budget` runs the recipe `rotate`.
        Rotate = "rotate",
    }
}

/// Returns true if this is a threshold: a share above 0 and at most 1.
pub(crate) fn is_threshold(share: f64) -> bool {
    share > 0.0 && share <= 1.0
}

/// Returns true if a window of which `share` is in use has reached this threshold.
pub(crate) fn is_reached(threshold: f64, share: f64) -> bool {
    is_threshold(threshold) && share >= threshold
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threshold_is_reached_by_the_very_share_and_a_wrong_one_never() {
        for (threshold, share, reached) in [
            (0.8, 0.8, true),
            (0.8, 0.79, false),
            (0.8, f64::MAX, true),
            (1.0, 1.0, true),
            (0.0, 1.0, false),
            (-0.5, 1.0, false),
            (80.0, 90.0, false),
            (f64::NAN, 1.0, false),
            (0.8, f64::NAN, false),
        ] {
            assert_eq!(is_reached(threshold, share), reached, "{share} of {threshold}");
        }
    }
}
