//! The key-value store: state of component hooks that outlives a call and a process.
//!
//! All buckets stand in one SQLite database, `state.db` in the user's data directory (mode 0600, write-ahead log),
//! which any number of processes and tasks may use at once.
//!
//! * A write is one transaction. Once its method has returned, it outlives the process, however that ends; a crash of the
//!   whole machine may take the writes of the last moments, never half of one.
//! * A bucket holds at most [`QUOTA`] bytes, counted as key + value + [`OVERHEAD`] for every entry.
//! * A database that turns out corrupt, when it is opened or in the middle of use, is set aside as
//!   `state.db.corrupt-TIME` with a warning and a [`Notice`], and a fresh one takes its place. SQLite notices a damaged
//!   structure, not a flipped bit inside a value; reading everything at each start would cost more than a hook does.
//! * Dropping a future is harmless: what it asked for happens as a whole or not at all.

mod database;
mod entries;
mod place;
#[cfg(test)]
mod tests;

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex as SyncMutex, PoisonError};

use rusqlite::Connection;
use tokio::sync::Mutex;

use self::database::{Database, Failure};

/// How many bytes a bucket may hold: 16 MiB.
pub const QUOTA: u64 = 16 << 20;
/// What an entry counts beside its key and its value, in bytes.
pub const OVERHEAD: u64 = 64;
/// How long a key may be, in bytes.
pub const MAX_KEY: usize = 1 << 10;
/// How many keys one page of [`Bucket::list_keys`] has at most.
pub const PAGE: usize = 1_000;
/// How many entries one call of a `_many` method may name.
pub const MAX_BATCH: usize = 1_000;

/// How many notices wait to be taken; beyond that, only the log has them.
const MAX_NOTICES: usize = 16;

/// A key and its value.
pub type Entry = (String, Vec<u8>);

/// Why an operation of the store failed. It has changed nothing then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The bucket would hold more than it may.
    #[error("the bucket would hold {wanted} bytes, {limit} are allowed")]
    Quota {
        /// What is allowed, in bytes.
        limit: u64,
        /// What the bucket would hold, in bytes.
        wanted: u64,
    },
    /// The key has more than [`MAX_KEY`] bytes.
    #[error("a key of {0} bytes is too long, {MAX_KEY} are allowed")]
    KeyTooLong(usize),
    /// The value to increment is no decimal number below 2^64.
    #[error("the value is no number that can be incremented")]
    NotANumber,
    /// The sum does not fit in 64 bits.
    #[error("the sum is larger than 64 bits can hold")]
    Overflow,
    /// More than [`MAX_BATCH`] entries in one call.
    #[error("{0} entries in one call are too many, {MAX_BATCH} are allowed")]
    TooMany(usize),
    /// What would be read in one call is more than a bucket may hold: the same large value again and again.
    #[error("more than {0} bytes would be read in one call")]
    TooMuch(u64),
    /// The database cannot be used now: the disk is full or may not be written, another process holds it for too
    /// long. No path in it, for a guest may read it.
    #[error("the store is unavailable: {0}")]
    Unavailable(String),
}

/// Something that the user should know, though the store goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// What the database was renamed to.
    pub set_aside: PathBuf,
    /// What was wrong with it.
    pub reason: String,
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = crate::text::escape(&self.set_aside.to_string_lossy(), 500);
        write!(f, "the state of all hooks was lost: {}; what was there is now {place}", self.reason)
    }
}

/// The notices that wait to be taken.
#[derive(Clone, Debug, Default)]
struct Notices(Arc<SyncMutex<Vec<Notice>>>);

impl Notices {
    fn push(&self, notice: Notice) {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.len() < MAX_NOTICES {
            waiting.push(notice);
        }
    }

    fn take(&self) -> Vec<Notice> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The store in one directory. Cheap to clone; clones share one connection, which is opened when it is first needed.
#[derive(Clone, Debug)]
pub struct Store {
    /// Whoever waits here waits in a future that can be dropped, so a slow database holds one thread and no more.
    database: Arc<Mutex<Database>>,
    notices: Notices,
    quota: u64,
}

impl Store {
    /// The store in this directory, which belongs to the user alone ([`crate::files::private_dir::open`]). Nothing is read or
    /// made before the first operation.
    pub fn at(directory: PathBuf) -> Self {
        let notices = Notices::default();
        let database = Database::at(directory, notices.clone());
        Self { database: Arc::new(Mutex::new(database)), notices, quota: QUOTA }
    }

    /// The same store with another quota for each bucket, in bytes, for the buckets opened through it.
    #[must_use]
    pub fn with_quota(mut self, bytes: u64) -> Self {
        self.quota = bytes;
        self
    }

    /// The bucket that these parts name together (place, plugin, name). Other parts are another bucket:
    /// `["a", "bc"]` is not `["ab", "c"]`.
    pub fn bucket<P: AsRef<[u8]>>(&self, parts: impl IntoIterator<Item = P>) -> Bucket {
        let mut identity = Vec::new();
        for part in parts {
            let part = part.as_ref();
            identity.extend_from_slice(&(part.len() as u64).to_le_bytes());
            identity.extend_from_slice(part);
        }
        Bucket { store: self.clone(), identity: identity.into() }
    }

    /// What happened since they were last taken; at most 16 wait.
    pub fn take_notices(&self) -> Vec<Notice> {
        self.notices.take()
    }
}

/// The state of one hook. Cheap to clone.
///
/// Every method can answer [`StoreError::Unavailable`], and [`StoreError::KeyTooLong`] where it takes a key. The
/// methods need a tokio runtime; the work is done on its threads for blocking calls.
#[derive(Clone, Debug)]
pub struct Bucket {
    store: Store,
    identity: Arc<[u8]>,
}

impl Bucket {
    /// The value of a key.
    ///
    /// # Errors
    ///
    /// As for all methods.
    pub async fn get(&self, key: String) -> Result<Option<Vec<u8>>, StoreError> {
        check(&key)?;
        self.run(move |connection, bucket| entries::get(connection, bucket, &key)).await
    }

    /// Gives a key a value, in the place of the one that it had.
    ///
    /// # Errors
    ///
    /// [`StoreError::Quota`].
    pub async fn set(&self, key: String, value: Vec<u8>) -> Result<(), StoreError> {
        self.set_many(vec![(key, value)]).await
    }

    /// Removes a key; one that is not there is no error.
    ///
    /// # Errors
    ///
    /// As for all methods.
    pub async fn delete(&self, key: String) -> Result<(), StoreError> {
        self.delete_many(vec![key]).await
    }

    /// Whether a key is there.
    ///
    /// # Errors
    ///
    /// As for all methods.
    pub async fn exists(&self, key: String) -> Result<bool, StoreError> {
        check(&key)?;
        self.run(move |connection, bucket| entries::exists(connection, bucket, &key)).await
    }

    /// Up to [`PAGE`] keys after the cursor, in the order in which they were first set, and the cursor of the next
    /// page if there is one. A key that stands all the while is listed once, whatever else is set and deleted.
    ///
    /// # Errors
    ///
    /// As for all methods.
    pub async fn list_keys(&self, cursor: Option<u64>) -> Result<(Vec<String>, Option<u64>), StoreError> {
        self.run(move |connection, bucket| entries::list_keys(connection, bucket, cursor)).await
    }

    /// Adds to the number in a key, over all processes at once, and answers the sum. The number is kept as decimal
    /// digits, so `get` shows it and `set` may start it; a key that is not there counts as 0.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotANumber`], [`StoreError::Overflow`], [`StoreError::Quota`].
    pub async fn increment(&self, key: String, delta: u64) -> Result<u64, StoreError> {
        check(&key)?;
        let quota = self.store.quota;
        self.run(move |connection, bucket| entries::increment(connection, bucket, quota, &key, delta)).await
    }

    /// The keys that are there, each with its value, at the place where it was asked for; all of one moment.
    ///
    /// # Errors
    ///
    /// [`StoreError::TooMany`]; [`StoreError::TooMuch`] where the same large value is asked for again and again.
    pub async fn get_many(&self, keys: Vec<String>) -> Result<Vec<Option<Entry>>, StoreError> {
        check_all(keys.iter())?;
        let quota = self.store.quota;
        self.run(move |connection, bucket| entries::get_many(connection, bucket, quota, &keys)).await
    }

    /// Gives all these keys their values, or none of them. Of a key that is named twice the last value counts.
    ///
    /// # Errors
    ///
    /// [`StoreError::Quota`], of all of them together; [`StoreError::TooMany`].
    pub async fn set_many(&self, pairs: Vec<Entry>) -> Result<(), StoreError> {
        check_all(pairs.iter().map(|(key, _)| key))?;
        let quota = self.store.quota;
        self.run(move |connection, bucket| entries::set_many(connection, bucket, quota, &pairs)).await
    }

    /// Removes all these keys, or none of them.
    ///
    /// # Errors
    ///
    /// [`StoreError::TooMany`].
    pub async fn delete_many(&self, keys: Vec<String>) -> Result<(), StoreError> {
        check_all(keys.iter())?;
        let quota = self.store.quota;
        self.run(move |connection, bucket| entries::delete_many(connection, bucket, quota, &keys)).await
    }

    /// What happened to the store since it was last asked ([`Store::take_notices`]).
    pub fn take_notices(&self) -> Vec<Notice> {
        self.store.take_notices()
    }

    async fn run<T: Send + 'static>(
        &self,
        work: impl Fn(&mut Connection, &[u8]) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, StoreError> {
        let mut database = Arc::clone(&self.store.database).lock_owned().await;
        let identity = Arc::clone(&self.identity);
        tokio::task::spawn_blocking(move || database.run(|connection| work(connection, &identity)))
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
