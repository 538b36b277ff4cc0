//! Never ends `describe`.

use hookbox_sdk::prelude::*;

/// The hook.
pub struct LoopsInDescribe;

impl Hook for LoopsInDescribe {
    fn manifest() -> Manifest {
        let mut count: u64 = 0;
        loop {
            count = std::hint::black_box(count.wrapping_add(1));
        }
    }
}

hookbox_sdk::export_hook!(LoopsInDescribe);
