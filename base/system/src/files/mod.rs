//! Files: reading them within the bounds that trust sets, replacing them in one step, and locking them between processes.

mod access;
#[cfg(feature = "watch")]
pub mod changes;
mod lock;
mod new_file;
pub mod private_dir;
pub mod program;
mod refusal;

pub use self::access::{EntryKind, FileAccess, MAX_NAMES, SystemFiles, normalize_path};
pub use self::lock::{FileLock, LockError};
pub use self::new_file::{NewFile, sync_directory, write_atomic, write_unsynced};
pub use self::refusal::{explain, is_escape, is_exhausted, is_exposed};
