//! Answers as the test wants: see the crate `answering`.

use hookbox_sdk::prelude::*;

/// The hook.
pub struct Answers;

impl Hook for Answers {
    fn manifest() -> Manifest {
        answering::manifest("answers")
    }

    answering::every_event!();
}

hookbox_sdk::export_hook!(Answers);
