//! The Base Coat hook specification: the event envelope and the response envelope.
//!
//! The specification leaves some places of an event's data open; the book's page on dialects lists hookbox's
//! choices.

mod answer;
mod data;
mod envelope;
mod verdict;

pub use self::answer::outcome;
pub use self::data::decode;
pub use self::envelope::encode;
pub use self::verdict::verdict;
