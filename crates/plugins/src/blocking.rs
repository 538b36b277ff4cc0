//! Blocking work in an async function.

use tokio::runtime::{Handle, RuntimeFlavor};

/// Runs blocking work. A runtime with several threads moves its other tasks away from this one.
pub(super) fn blocking<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        _ => work(),
    }
}
