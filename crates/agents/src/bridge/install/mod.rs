//! Installs hookbox into the configuration of an agent: adds our entries and removes them, and keeps all
//! others.
//!
//! Pure rules (`desired`, `edit`) compute the new text. [`Installer`] reads and writes the file: whole or not
//! at all, never over a change of somebody else, and with the original kept in hookbox's private data
//! directory. Our entries are recognised by their command line ([`is_ours`]), because no agent keeps a mark
//! of ours.
//!
//! ```
//! use hookbox_agents::config::{Level, Surroundings};
//! use hookbox_agents::bridge::install::{Change, InstallOptions, Installer};
//! use hookbox_agents::Agent;
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
//! assert_eq!(uninstalled.change, Change::Deleted);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod config_file;
pub(crate) mod desired;
mod edit;
mod edit_file;
mod edit_toml;
mod installer;
pub(crate) mod outcome;
pub(crate) mod record;

pub use self::desired::{InstallOptions, UnknownEvent, usual_events, wanted_events};
pub use self::installer::Installer;
pub use self::outcome::{Change, FileChange, InstallError, InstallFailure};
pub use crate::agent::is_ours;

#[cfg(test)]
mod tests;
