//! JSON in and out, one module per dialect. Nothing here does I/O.

mod fields;
mod printed;
mod reply;

pub mod base_coat;
pub mod claude;
pub mod kodelet;

pub use crate::dialect::fields::PayloadError;
