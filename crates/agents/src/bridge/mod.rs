//! hookbox as the hook command of other agents, and its installation.
//!
//! [`Bridge`] answers one event of an agent with the verdict of the chain, in the agent's own form
//! ([`crate::agent`]). A failure on the way is answered by the failure policy of the hooks.

pub mod above;
pub mod doctor;
mod follow_ups;
pub mod install;
mod notes;
mod parents;
mod plugin_file;
mod serve;
mod sessions;
mod told;

pub use self::serve::{Answer, Bridge, Known};
