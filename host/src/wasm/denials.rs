//! The rights that a call used without having them.

use std::sync::{Arc, Mutex};

use crate::capability::Denial;
use hookbox_system::mutex;

/// The number of denied rights in the report of one call.
const MAX_DENIED: usize = 16;

/// The rights that a call used without having them, each once. Clones share them, because requests run beside
/// the call.
#[derive(Clone, Default)]
pub(super) struct Denials(Arc<Mutex<Vec<Denial>>>);

impl Denials {
    pub(super) fn push(&self, denial: Denial) {
        let mut denials = mutex::lock(&self.0);
        if denials.len() < MAX_DENIED && !denials.iter().any(|it| it.right == denial.right) {
            denials.push(denial);
        }
    }

    pub(super) fn all(&self) -> Vec<Denial> {
        mutex::lock(&self.0).clone()
    }
}
