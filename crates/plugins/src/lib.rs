//! Plugins: directories with skills, recipes and hooks, installed from git repositories, local directories
//! and OCI registries, and pinned in a [`plugins.lock`](hookbox::lockfile).
//!
//! A [`Request`] is prepared: the plugin is fetched and checked. The [`Preview`] shows it, and [`Preview::accept`] installs
//! it and records the user's decision:
//!
//! ```no_run
//! # async fn add(repository: &std::path::Path) -> Result<(), hookbox_plugins::PluginError> {
//! use hookbox::{Allocation, Runtime, manager::Manager};
//! use hookbox_plugins::{Decision, Hosts, Location, PluginError, Plugins, Request, Silent, Source};
//!
//! let source = Source::parse("org/tools@v1", &Hosts::new(repository))?;
//! let plugins = Plugins::open(Location::Local, repository, ".hookbox")?;
//! let runtime = Runtime::new(Allocation::OnDemand, None);
//! let preview = Request::new(source, None)?.prepare(&plugins, &runtime, &Silent).await?;
//! println!("{}: {:#?}", preview.source, preview.contents); // show it, and ask
//! let decision = Decision { trust: true, ..Decision::default() };
//! let discover = async { Ok::<_, PluginError>(Manager::builder().cwd(repository).build().await) };
//! let accepted = preview.accept(Some(&decision), discover).await?;
//! println!("{} hooks are trusted", accepted.trusted.len());
//! # Ok(())
//! # }
//! ```
//!
//! All sources write into one [`Stage`], which checks the same rules for all of them. [`install()`] moves the
//! plugin from there into the plugins directory; a kill at any moment leaves the old plugin or the new one.

mod blocking;
mod carried_trust;
mod contents;
mod difference;
mod dir_ops;
mod directory;
mod entry_path;
mod error;
pub mod fetch;
mod files;
mod installed;
pub mod limits;
mod lock;
mod lock_file;
mod managed;
mod observer;
mod other_kind;
mod preview;
mod record_trust;
#[cfg(feature = "oci")]
pub mod registry;
mod repair;
mod request;
mod source;
mod stage;
mod staging;
mod transaction;

pub use carried_trust::TrustChanges;
pub use contents::{Contents, MissingFile, PluginHook, added, digest};
pub use difference::{Change, ChangedHook, Difference, Names, Paths};
pub use directory::{Location, Plugins};
pub use entry_path::EntryPath;
pub use error::{PluginError, PluginErrorKind};
pub use files::Files;
pub use hookbox::lockfile::{
    FILE as LOCK_FILE, InstalledFiles, Lock, LockError, Locked, LockedHook, NameError, PluginName,
};
pub use installed::{KnownPlugin, installed, known};
pub use lock::PluginsLock;
pub use observer::{Observer, Silent, Step};
pub use preview::{Accepted, Decision, Preview, Update};
pub use record_trust::entries_of;
pub use repair::{needs_repair, repair};
pub use request::Request;
pub use source::{DEFAULT_GIT_HOST, GitUrl, Hosts, OciReference, Resolved, Source};
pub use stage::{Stage, Staged};
pub use transaction::{Replace, check_name, install, remove, remove_by_hand};

/// The directories that make a directory a plugin. All other files are installed beside them, because hooks may
/// use them.
pub(crate) const PARTS: [&str; 3] = ["skills", "recipes", "hooks"];
