//! The key-value store: state of component hooks that outlives a call and a process.
//!
//! All buckets are in one SQLite database, `state.db` in the user's data directory (mode 0600, write-ahead log). Any
//! number of processes and tasks may use it at once.
//!
//! * A write is one transaction. Once its method has returned, it survives the end of the process. A crash of the machine
//!   may lose the last writes, but never a part of one.
//! * A bucket holds at most [`QUOTA`] bytes, counted as key + value + [`OVERHEAD`] for every entry.
//! * A corrupt database is renamed to `state.db.corrupt-TIME`, with a warning and a [`Notice`], and a new one replaces
//!   it. SQLite notices a damaged structure, but not a flipped bit in a value; reading everything at each start would
//!   cost more than a hook does.
//! * Dropping a future is harmless: its operation happens as a whole or not at all.

mod database;
mod db_files;
mod entries;
#[cfg(test)]
mod tests;

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex as SyncMutex};

use rusqlite::Connection;
use tokio::sync::Mutex;

use self::database::{Database, Failure};
use self::entries::Entries;

/// The largest size of a bucket: 16 MiB.
pub const QUOTA: u64 = 16 << 20;
/// The bytes that an entry counts in addition to its key and its value.
pub const OVERHEAD: u64 = 64;
/// The longest key, in bytes.
pub const MAX_KEY: usize = 1 << 10;
/// The largest number of keys in one page of [`Bucket::list_keys`].
pub const PAGE: usize = 1_000;
/// The largest number of entries in one call of a `_many` method.
pub const MAX_BATCH: usize = 1_000;

/// A key and its value.
pub(crate) type Entry = (String, Vec<u8>);

/// The reason why an operation failed. It has changed nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The bucket would contain more than it may.
    #[error("the bucket would contain {wanted} bytes, {limit} are allowed")]
    Quota {
        /// The allowed size, in bytes.
        limit: u64,
        /// The size that the bucket would have, in bytes.
        wanted: u64,
    },
    /// The key has more than [`MAX_KEY`] bytes.
    #[error("a key of {0} bytes is too long, {MAX_KEY} are allowed")]
    KeyTooLong(usize),
    /// The value to increment is not a decimal number below 2^64.
    #[error("the value is not a number that can be incremented")]
    NotANumber,
    /// The sum does not fit in 64 bits.
    #[error("the sum is larger than 64 bits can hold")]
    Overflow,
    /// More than [`MAX_BATCH`] entries in one call.
    #[error("{0} entries in one call are too many, {MAX_BATCH} are allowed")]
    TooMany(usize),
    /// One call would read more than a bucket may hold: the same large value many times.
    #[error("more than {0} bytes would be read in one call")]
    TooMuch(u64),
    /// The database cannot be used now: the disk is full or read-only, or another process has locked it for too long.
    /// The text has no path in it, because a guest may read it.
    #[error("the store is unavailable: {0}")]
    Unavailable(String),
}

/// An event that the user should know of, although the store works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// The new path of the database.
    pub set_aside: PathBuf,
    /// The reason.
    pub reason: String,
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = hookbox_system::text::escape(&self.set_aside.to_string_lossy(), 500);
        write!(f, "the state of all hooks was lost: {}; what was there is now {place}", self.reason)
    }
}

/// The notices that were not taken yet.
#[derive(Clone, Debug, Default)]
struct Notices(Arc<SyncMutex<Vec<Notice>>>);

impl Notices {
    fn push(&self, notice: Notice) {
        hookbox_system::mutex::lock(&self.0).push(notice);
    }

    fn take(&self) -> Vec<Notice> {
        std::mem::take(&mut *hookbox_system::mutex::lock(&self.0))
    }
}

/// The store in one directory. Cheap to clone; clones share one connection, which the first operation opens.
#[derive(Clone, Debug)]
pub struct Store {
    /// An asynchronous lock, so that a slow database occupies one thread only.
    database: Arc<Mutex<Database>>,
    notices: Notices,
    quota: u64,
}

impl Store {
    /// Names the store in a directory that was opened with [`private_dir::open`](hookbox_system::files::private_dir::open). Nothing is
    /// read or created before the first operation.
    pub fn at(directory: PathBuf) -> Self {
        let notices = Notices::default();
        let database = Database::at(directory, notices.clone());
        Self { database: Arc::new(Mutex::new(database)), notices, quota: QUOTA }
    }

    /// Sets the quota of the buckets that are opened through it, in bytes.
    #[must_use]
    pub fn with_quota(mut self, bytes: u64) -> Self {
        self.quota = bytes;
        self
    }

    /// Returns the bucket that these parts name together. Other parts name another bucket: `["a", "bc"]` is not
    /// `["ab", "c"]`.
    pub fn bucket<P: AsRef<[u8]>>(&self, parts: impl IntoIterator<Item = P>) -> Bucket {
        let mut identity = Vec::new();
        for part in parts {
            let part = part.as_ref();
            identity.extend_from_slice(&(part.len() as u64).to_le_bytes());
            identity.extend_from_slice(part);
        }
        Bucket { store: self.clone(), identity: identity.into() }
    }

    /// Returns the notices since the last call.
    pub fn take_notices(&self) -> Vec<Notice> {
        self.notices.take()
    }
}

/// The state of one hook. Cheap to clone.
///
/// Every method can return `StoreError::Unavailable`, and `StoreError::KeyTooLong` if it takes a key. The methods
/// need a tokio runtime; the work is done on its threads for blocking calls.
#[derive(Clone, Debug)]
pub struct Bucket {
    store: Store,
    identity: Arc<[u8]>,
}

impl Bucket {
    /// Returns the value of a key.
    ///
    /// # Errors
    ///
    /// As for all methods.
    pub async fn get(&self, key: String) -> Result<Option<Vec<u8>>, StoreError> {
        check(&key)?;
        self.run(move |entries| entries.get(&key)).await
    }

    /// Sets the value of a key.
    ///
    /// # Errors
    ///
    /// [`StoreError::Quota`].
    pub async fn set(&self, key: String, value: Vec<u8>) -> Result<(), StoreError> {
        self.set_many(vec![(key, value)]).await
    }

    /// Removes a key. A missing key is not an error.
    ///
    /// # Errors
    ///
    /// As for all methods.
    pub async fn delete(&self, key: String) -> Result<(), StoreError> {
        self.delete_many(vec![key]).await
    }

    /// Returns true if a key exists.
    ///
    /// # Errors
    ///
    /// As for all methods.
    pub async fn exists(&self, key: String) -> Result<bool, StoreError> {
        check(&key)?;
        self.run(move |entries| entries.exists(&key)).await
    }

    /// Returns up to [`PAGE`] keys after the cursor, in the order in which they were first set, and the cursor of the next
    /// page if there is one. A key that exists throughout is listed once, although others are set and deleted meanwhile.
    ///
    /// # Errors
    ///
    /// As for all methods.
    pub async fn list_keys(&self, cursor: Option<u64>) -> Result<(Vec<String>, Option<u64>), StoreError> {
        self.run(move |entries| entries.list_keys(cursor)).await
    }

    /// Adds to the number of a key in one step for all processes, and returns the sum. The number is kept as decimal
    /// digits, for `get` and `set`; a missing key counts as 0.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotANumber`], [`StoreError::Overflow`], [`StoreError::Quota`].
    pub async fn increment(&self, key: String, delta: u64) -> Result<u64, StoreError> {
        check(&key)?;
        self.run(move |entries| entries.increment(&key, delta)).await
    }

    /// Changes the value of a key in one step for all processes. `change` gets the value, and returns the new one and a
    /// result. It may be called again if the database was busy.
    ///
    /// # Errors
    ///
    /// [`StoreError::Quota`].
    pub(crate) async fn update<T: Send + 'static>(
        &self,
        key: String,
        change: impl Fn(Option<Vec<u8>>) -> (Vec<u8>, T) + Send + 'static,
    ) -> Result<T, StoreError> {
        check(&key)?;
        self.run(move |entries| entries.update(&key, &change)).await
    }

    /// Returns the existing keys with their values, each at the position of its request, all of one moment.
    ///
    /// # Errors
    ///
    /// [`StoreError::TooMany`]; [`StoreError::TooMuch`] if the same large value is requested many times.
    pub async fn get_many(&self, keys: Vec<String>) -> Result<Vec<Option<Entry>>, StoreError> {
        check_all(keys.iter())?;
        self.run(move |entries| entries.get_many(&keys)).await
    }

    /// Sets all these keys or none. If a key is given twice, the last value counts.
    ///
    /// # Errors
    ///
    /// [`StoreError::Quota`], for all of them together; [`StoreError::TooMany`].
    pub async fn set_many(&self, pairs: Vec<Entry>) -> Result<(), StoreError> {
        check_all(pairs.iter().map(|(key, _)| key))?;
        self.run(move |entries| entries.set_many(&pairs)).await
    }

    /// Removes all these keys or none.
    ///
    /// # Errors
    ///
    /// [`StoreError::TooMany`].
    pub async fn delete_many(&self, keys: Vec<String>) -> Result<(), StoreError> {
        check_all(keys.iter())?;
        self.run(move |entries| entries.delete_many(&keys)).await
    }

    /// Returns the notices of the store since the last call ([`Store::take_notices`]).
    pub fn take_notices(&self) -> Vec<Notice> {
        self.store.take_notices()
    }

    async fn run<T: Send + 'static>(
        &self,
        work: impl Fn(&mut Entries<'_>) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, StoreError> {
        let mut database = Arc::clone(&self.store.database).lock_owned().await;
        let (identity, quota) = (Arc::clone(&self.identity), self.store.quota);
        let run =
            move |connection: &mut Connection| work(&mut Entries { connection, bucket: &identity, quota });
        tokio::task::spawn_blocking(move || database.run(run))
            .await
            .map_err(|error| StoreError::Unavailable(error.to_string()))?
    }
}

fn check(key: &str) -> Result<(), StoreError> {
    if key.len() > MAX_KEY { Err(StoreError::KeyTooLong(key.len())) } else { Ok(()) }
}

fn check_all<'a>(keys: impl ExactSizeIterator<Item = &'a String>) -> Result<(), StoreError> {
    if keys.len() > MAX_BATCH {
        return Err(StoreError::TooMany(keys.len()));
    }
    keys.map(String::as_str).try_for_each(check)
}
