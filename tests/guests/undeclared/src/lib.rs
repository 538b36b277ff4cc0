//! Answers as the test wants, like `answers`, but declares nothing.

use hookbox_sdk::prelude::*;

/// The hook.
pub struct Undeclared;

impl Hook for Undeclared {
    fn manifest() -> Manifest {
        Manifest { answers: Vec::new(), ..answering::manifest("undeclared") }
    }

    answering::every_event!();
}

hookbox_sdk::export_hook!(Undeclared);
