//! The ways in which a hook fails.

use super::Hook;

/// A component's bounds in the cases in which it goes beyond one; long enough for a machine that is busy.
const BOUNDS: &str = "fuel = 1000000\ntimeout = \"2s\"\n";

/// Enough fuel to be still at it when the time is over.
const LONG: &str = "fuel = 1000000000000000\ntimeout = \"2s\"\n";

/// A way to fail.
pub(super) struct Failure {
    pub(super) name: &'static str,
    /// The description.
    pub(super) said: &'static str,
    pub(super) hook: fn() -> Hook,
}

/// The ways to fail.
pub(super) const FAILURES: [Failure; 6] = [
    Failure {
        name: "trap",
        said: "run-trap.wasm failed (trap)",
        hook: || Hook::Component { file: "run-trap", settings: BOUNDS },
    },
    Failure {
        name: "out of fuel",
        said: "run-loop.wasm failed (fuel)",
        hook: || Hook::Component { file: "run-loop", settings: BOUNDS },
    },
    Failure {
        name: "timeout, component",
        said: "run-loop.wasm failed (timeout)",
        hook: || Hook::Component { file: "run-loop", settings: LONG },
    },
    Failure {
        name: "timeout, native",
        said: "hangs failed (timeout)",
        hook: || Hook::Native { name: "hangs", run: "sleep 600", settings: "timeout = \"2s\"\n" },
    },
    Failure {
        name: "malformed, native",
        said: "babbles failed (malformed_output)",
        hook: || Hook::Native { name: "babbles", run: "echo '{\"blocked\": tru'", settings: "" },
    },
    Failure {
        name: "crash, native",
        said: "falls failed (signal)",
        hook: || Hook::Native { name: "falls", run: "kill -SEGV $$", settings: "" },
    },
];
