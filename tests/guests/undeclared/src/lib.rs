//! Answers as the test wants, like `answers`, but declares nothing.

use hookbox_sdk::prelude::*;

/// The hook.
pub struct Undeclared;

impl Hook for Undeclared {
    fn manifest() -> Manifest {
        Manifest { answers: Vec::new(), ..answers::manifest("undeclared") }
    }

    answers::every_event!();
}

hookbox_sdk::export_hook!(Undeclared);
