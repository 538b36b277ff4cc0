//! Answers as the test wants, like `answers`, but declares none of it, and its failures block.

use hookbox_sdk::prelude::*;

/// The hook.
pub struct Undeclared;

impl Hook for Undeclared {
    fn manifest() -> Manifest {
        Manifest { answers: Vec::new(), ..answering::manifest("undeclared") }.on_failure_block()
    }

    answering::every_event!();
}

hookbox_sdk::export_hook!(Undeclared);
