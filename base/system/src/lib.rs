//! Files, text, units, JSON and TOML as hookbox reads and writes them. Nothing here knows hooks.
//!
//! The crates of hookbox share it. It is published because they are, and follows their versions.

pub mod account;
mod digest;
pub mod files;
mod hint;
pub mod json;
pub mod limits;
pub mod mutex;
pub mod text;
#[cfg(feature = "tls")]
pub mod tls;
pub mod toml_value;
pub mod units;

pub use crate::digest::{Digest, DigestError};
pub use crate::hint::Hint;
