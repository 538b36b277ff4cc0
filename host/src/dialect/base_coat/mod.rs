//! The Base Coat hook specification: the event envelope and the response envelope.
//!
//! The specification leaves some places of an event's data open; the book's page on dialects lists hookbox's
//! choices.

mod answer;
mod event;

pub use self::answer::{outcome, verdict};
pub use self::event::{decode, encode};
