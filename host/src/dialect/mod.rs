//! JSON in and out, one file per dialect.

pub mod base_coat;
pub mod kodelet;
