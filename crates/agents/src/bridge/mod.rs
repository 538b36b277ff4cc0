//! Other agents: hookbox as the hook command that they run, and their configuration.
//!
//! [`Bridge`] answers one event of an agent with the chain's verdict, in the agent's own form
//! ([`dialect::agent`](crate::agent)), and whatever fails on the way by the failure policy of the hooks.

pub mod above;
pub mod doctor;
mod follow_ups;
pub mod install;
mod parents;
mod serve;
mod sessions;

pub use self::serve::{Answer, Bridge, Known};
