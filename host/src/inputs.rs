//! The inputs that a component gets from outside its sandbox: recorded in one call, and played in another.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An input that a component got from outside its sandbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    /// The question, such as `store.get "key"`.
    pub asked: String,
    /// The answer.
    pub got: Value,
}

/// A switch that makes components record their inputs. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recording(Arc<AtomicBool>);

impl Recording {
    pub(crate) fn begin(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    #[cfg_attr(not(feature = "component"), allow(dead_code, reason = "only components record inputs"))]
    pub(crate) fn is_on(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The source of a component's inputs.
#[derive(Clone, Debug)]
#[cfg_attr(not(feature = "component"), allow(dead_code, reason = "only components have inputs"))]
pub struct Taping(pub(crate) Source);

/// The source of a component's inputs.
#[derive(Clone, Debug)]
#[cfg_attr(not(feature = "component"), allow(dead_code, reason = "only components have inputs"))]
pub(crate) enum Source {
    /// The world outside; recorded once the switch is on.
    Outside(Recording),
    /// A record. Nothing outside is touched.
    Record(Arc<[Input]>),
}

impl Default for Taping {
    fn default() -> Self {
        Self(Source::Outside(Recording::default()))
    }
}

impl Taping {
    /// Takes every input from a record.
    pub fn play(inputs: Vec<Input>) -> Self {
        Self(Source::Record(inputs.into()))
    }

    /// Takes every input from outside, and records it.
    pub fn record() -> Self {
        let recording = Recording::default();
        recording.begin();
        Self::recorded_by(&recording)
    }

    /// Takes every input from outside, and records it while the switch is on.
    pub(crate) fn recorded_by(recording: &Recording) -> Self {
        Self(Source::Outside(recording.clone()))
    }
}
