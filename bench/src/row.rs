//! One comparison, and the rounds in which its two sides take turns.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// One line of `summary.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) name: String,
    /// The median of hookbox, in `unit`.
    pub(crate) ours: f64,
    /// The median of the other side; absent if there is none.
    pub(crate) theirs: Option<f64>,
    /// The median of the ratios of each round: ours to theirs, or theirs to ours if more is better.
    pub(crate) ratio: Option<f64>,
    pub(crate) aim: Option<Aim>,
    /// Whether the aim is met; absent without an aim.
    pub(crate) met: Option<bool>,
    pub(crate) unit: String,
    /// The number of rounds.
    pub(crate) n: usize,
    /// The quartiles of the ratio, or of `ours` if there is no other side.
    pub(crate) spread: [f64; 2],
}

/// The bound of a row.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Aim {
    /// The ratio is at most this: ours costs so many times theirs.
    RatioAtMost(f64),
    /// Theirs costs at least so many times ours.
    TimesFaster(f64),
    /// Ours is at most this, in the row's unit.
    AtMost(f64),
}

impl Aim {
    /// Returns the aim as the table shows it, such as `≤ 1.4×`.
    pub(crate) fn shown(self) -> String {
        match self {
            Self::RatioAtMost(most) => format!("≤ {most}×"),
            Self::TimesFaster(least) => format!("≥ {least}×"),
            Self::AtMost(most) => format!("≤ {most}"),
        }
    }
}

impl Row {
    /// A row of two sides, from the times of each round.
    pub(crate) fn compare(name: &str, unit: &str, ours: &[f64], theirs: &[f64], aim: Option<Aim>) -> Self {
        let inverse = matches!(aim, Some(Aim::TimesFaster(_)));
        let ratios: Vec<f64> =
            ours.iter().zip(theirs).map(|(a, b)| if inverse { b / a } else { a / b }).collect();
        let ratio = quantile(&ratios, 0.5);
        Self {
            name: name.to_owned(),
            ours: quantile(ours, 0.5),
            theirs: Some(quantile(theirs, 0.5)),
            ratio: Some(ratio),
            aim,
            met: aim.map(|aim| match aim {
                Aim::RatioAtMost(most) => ratio <= most,
                Aim::TimesFaster(least) => ratio >= least,
                Aim::AtMost(most) => quantile(ours, 0.5) <= most,
            }),
            unit: unit.to_owned(),
            n: ratios.len(),
            spread: [quantile(&ratios, 0.25), quantile(&ratios, 0.75)],
        }
    }

    /// A row of hookbox alone.
    pub(crate) fn alone(name: &str, unit: &str, ours: &[f64], aim: Option<f64>) -> Self {
        let median = quantile(ours, 0.5);
        Self {
            name: name.to_owned(),
            ours: median,
            theirs: None,
            ratio: None,
            aim: aim.map(Aim::AtMost),
            met: aim.map(|most| median <= most),
            unit: unit.to_owned(),
            n: ours.len(),
            spread: [quantile(ours, 0.25), quantile(ours, 0.75)],
        }
    }
}

/// Returns a quantile of some values: 0.5 is the median.
pub(crate) fn quantile(values: &[f64], at: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().saturating_sub(1);
    sorted.get((last as f64 * at).round() as usize).copied().unwrap_or(f64::NAN)
}

/// A side of a race: one unit of work, and the time that it took.
pub(crate) type Runner<'a> = Box<dyn FnMut() -> Duration + 'a>;

/// The length of a turn, at least. A call of microseconds is repeated: right after another side, which may be a process,
/// it would mostly wait for memory.
const TURN: Duration = Duration::from_millis(2);

/// Lets the sides take turns, and returns the microseconds of each, round by round: the mean of a turn. Each round begins
/// with another side, so that no side always follows the same one.
pub(crate) fn race(rounds: usize, sides: &mut [Runner<'_>]) -> Vec<Vec<f64>> {
    let mut times = vec![Vec::with_capacity(rounds); sides.len()];
    for side in sides.iter_mut() {
        side();
    }
    for round in 0..rounds {
        for turn in 0..sides.len() {
            let at = (turn + round) % sides.len();
            if let (Some(side), Some(times)) = (sides.get_mut(at), times.get_mut(at)) {
                let (started, mut time, mut calls) = (Instant::now(), Duration::ZERO, 0_u32);
                while calls == 0 || started.elapsed() < TURN {
                    time += side();
                    calls += 1;
                }
                times.push(time.as_secs_f64() * 1e6 / f64::from(calls));
            }
        }
    }
    times
}

/// Returns the time of a piece of work, with the freeing of its result.
pub(crate) fn timed<T>(work: impl FnOnce() -> T) -> Duration {
    let started = Instant::now();
    drop(work());
    started.elapsed()
}
