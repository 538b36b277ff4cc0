//! hookbox as the hook command of other agents, and its installation.
//!
//! [`Bridge`] answers one event of an agent with the verdict of the chain, in the agent's own form
//! ([`crate::agent`]). A failure on the way is answered by the failure policy of the hooks. An [`Approver`] answers the
//! questions of hooks in agents that cannot ask.

pub mod above;
pub mod doctor;
pub mod install;
mod known;
mod parents;
mod plugin_file;
mod question;
mod serve;
mod session_file;
mod sessions;
mod steps;
mod twice;

pub use self::known::Known;
pub use self::question::{Approver, ApproverError, Question};
pub use self::serve::Bridge;
pub use self::steps::Answer;
