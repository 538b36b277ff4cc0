//! The kodelet protocol: the payload and the answer of `<hook> run`, and the same fields for `hookbox run`
//! and `hookbox exec`.

mod answer;
mod data;
mod payload;
mod result;

pub use crate::dialect::Decoded;
pub use crate::dialect::fields::PayloadError;
pub use crate::dialect::kodelet::answer::{answer, verdict};
pub use crate::dialect::kodelet::data::decode;
pub use crate::dialect::kodelet::payload::{encode, encode_whole};
pub use crate::dialect::kodelet::result::outcome;
