//! Settings that switch hooks off.

use std::fmt;

use crate::text;

/// A setting with which an agent does not run hooks of its configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Switch {
    /// Switches all of them off: the setting, as a person would write it.
    All(&'static str),
    /// Switches all off but those of the organisation.
    AllButManaged(&'static str),
    /// Switches those of this name or command line off.
    Named {
        /// The setting.
        setting: &'static str,
        /// The name, or the command line.
        name: String,
    },
}

impl fmt::Display for Switch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All(setting) => write!(f, "{setting} switches every hook off"),
            Self::AllButManaged(setting) => {
                write!(f, "{setting} switches every hook off but those of the organisation")
            }
            Self::Named { setting, name } => {
                write!(f, "{setting} switches the hook \"{}\" off", text::escape(name, 200))
            }
        }
    }
}
