//! The Base Coat hook specification: the event envelope and the response envelope (seed: Base Coat, section 4).
//!
//! Where the specification is silent on where an event's data stands, design section 11 says it.

mod answer;
mod data;
mod envelope;
mod verdict;

pub use self::answer::outcome;
pub use self::data::decode;
pub use self::envelope::encode;
pub use self::verdict::verdict;
