//! hookbox as the hook command of other agents, and its installation.
//!
//! [`Bridge`] answers one event of an agent with the verdict of the chain, in the agent's own form
//! ([`crate::agent`]). A failure on the way is answered by the failure policy of the hooks. An [`Approver`] answers the
//! questions of hooks in agents that cannot ask.

pub mod above;
mod approver;
pub mod doctor;
mod follow_ups;
pub mod install;
mod notes;
mod parents;
mod plugin_file;
mod question;
mod serve;
mod sessions;
mod told;

pub use self::approver::{Approver, ApproverError};
pub use self::question::Question;
pub use self::serve::{Answer, Bridge, Known};
