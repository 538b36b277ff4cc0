//! Cases: files beside a hook with events for it, and the answers that must come.
//!
//! [`find`] finds the case files of a directory and the hook that each one is for. [`Player`] runs each case in a process
//! of its own, with a temporary home directory and nothing of the user's but the compiled code; [`play`] is the work of
//! that process. [`compare`] names the differences, and [`update`] writes what came into the file.

mod case;
mod compare;
mod error;
mod find;
mod junit;
mod place;
mod play;
mod player;
mod read;
mod replies;
mod update;
mod wire;

pub use self::case::{Came, Case, CaseFile, Changed, Content, Earlier, Expect, Expected, Failure, Verdict};
pub use self::compare::{Difference, compare};
pub use self::error::{CaseError, CaseErrorKind};
pub use self::find::{Found, find, newer_source};
pub use self::junit::junit;
pub use self::play::{Task, play};
pub use self::player::{Played, Player};
pub use self::replies::Reply;
pub use self::update::update;
pub use self::wire::{Sent, Wire};
