//! Hooks that are part of hookbox.

mod command;
mod programs;
mod protected;
mod self_protection;
mod shell;

pub(crate) use self_protection::Guarded;
pub use self_protection::{SELF_PROTECTION, SelfProtection};

/// The names of all built-in hooks.
pub const NAMES: [&str; 1] = [SELF_PROTECTION];

/// What the user's settings say of a built-in hook.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wishes {
    /// Whether it runs. It does, unless this is `false`.
    pub(crate) enabled: Option<bool>,
    /// Its priority among the host's hooks.
    pub(crate) priority: Option<i32>,
}
