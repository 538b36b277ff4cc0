//! hookbox in the configuration of an agent: our entries put in and taken out, with every other byte left as it is.
//!
//! What a file is to say is worked out by pure rules (`desired`, `merge`, `remove`, on the text itself); [`Installer`] reads
//! and writes: whole or not at all, never over a change of somebody else's, with the original kept in hookbox's private
//! data directory. Entries of ours are known by their command line ([`is_ours`]), for no agent keeps a mark of ours.
//!
//! ```
//! use hookbox::bridge::config::{Level, Surroundings};
//! use hookbox::bridge::install::{Change, Installer, Undone, InstallOptions};
//! use hookbox::dialect::agent::Agent;
//!
//! # let dir = tempfile::tempdir()?;
//! # let home = dir.path().canonicalize()?;
//! # std::fs::create_dir(home.join("shop"))?;
//! let surroundings = Surroundings { home: Some(home.clone()), ..Surroundings::new(home.join("shop")) };
//! let installer = Installer::new(surroundings, home.join("data"));
//! let installed = installer.install(Agent::Codex, Level::User, &InstallOptions::new("/usr/bin/hookbox"))?;
//! assert_eq!((installed.change, installed.path), (Change::Created, home.join(".codex/hooks.json")));
//!
//! let uninstalled = installer.uninstall(Agent::Codex, Level::User)?;
//! assert_eq!(uninstalled.undone, Undone::Deleted);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod command;
mod config_file;
mod desired;
mod diff;
mod edit;
mod error;
mod installer;
mod outcome;
pub(in crate::bridge) mod plugin;
mod record;

pub use self::command::is_ours;
pub use self::desired::{InstallOptions, UnknownEvent, usual_events};
pub use self::diff::unified;
pub use self::error::InstallError;
pub use self::installer::Installer;
pub use self::outcome::{Change, InstallFailure, Installed, Undone, Uninstalled};

#[cfg(test)]
mod tests;
