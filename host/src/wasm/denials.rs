//! The rights that a call used without having them.

use std::sync::{Arc, Mutex, PoisonError};

use crate::capability::Denial;

/// The number of denied rights in the report of one call.
const MAX_DENIED: usize = 16;

/// The rights that a call used without having them, each once. Clones share them, because requests run beside
/// the call.
#[derive(Clone, Default)]
pub(super) struct Denials(Arc<Mutex<Vec<Denial>>>);

impl Denials {
    pub(super) fn push(&self, denial: Denial) {
        let mut denials = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if denials.len() < MAX_DENIED && !denials.iter().any(|it| it.right == denial.right) {
            denials.push(denial);
        }
    }

    pub(super) fn all(&self) -> Vec<Denial> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
