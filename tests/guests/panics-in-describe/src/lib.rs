//! Panics in `describe`.

use hookbox_sdk::prelude::*;

/// The hook.
pub struct PanicsInDescribe;

impl Hook for PanicsInDescribe {
    fn manifest() -> Manifest {
        panic!("describe was asked to fail")
    }
}

hookbox_sdk::export_hook!(PanicsInDescribe);
