//! The settings and the bucket of the hook that this thread tests. A native hook has no bucket.

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::Error;

type Settings = Vec<(String, String)>;
type Bucket = BTreeMap<String, Vec<u8>>;

thread_local! {
    static CURRENT: RefCell<Option<(Settings, Bucket)>> = const { RefCell::new(None) };
}

/// Surroundings for this thread, with these settings and an empty bucket; they last as long as this value.
pub(super) struct Entered;

impl Entered {
    pub(super) fn new(settings: Settings) -> Self {
        CURRENT.set(Some((settings, Bucket::new())));
        Self
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.set(None);
    }
}

/// Returns the settings, if this thread tests a hook.
pub(crate) fn settings() -> Option<Settings> {
    CURRENT.with_borrow(|current| current.as_ref().map(|(settings, _)| settings.clone()))
}

fn bucket<T>(with: impl FnOnce(&mut Bucket) -> T) -> Result<T, Error> {
    CURRENT.with_borrow_mut(|current| {
        let (_, bucket) = current.as_mut().ok_or_else(Error::needs_hookbox)?;
        Ok(with(bucket))
    })
}

pub(crate) fn get(key: &str) -> Result<Option<Vec<u8>>, Error> {
    bucket(|it| it.get(key).cloned())
}

pub(crate) fn set(key: &str, value: &[u8]) -> Result<(), Error> {
    bucket(|it| drop(it.insert(key.to_owned(), value.to_vec())))
}

pub(crate) fn delete(key: &str) -> Result<(), Error> {
    bucket(|it| drop(it.remove(key)))
}

pub(crate) fn keys() -> Result<Vec<String>, Error> {
    bucket(|it| it.keys().cloned().collect())
}

pub(crate) fn increment(key: &str, delta: u64) -> Result<u64, Error> {
    let count = match get(key)? {
        None => Some(0),
        Some(value) => std::str::from_utf8(&value)?.parse::<u64>().ok(),
    };
    let count = count.ok_or_else(|| Error::new(format!("the value of {key:?} is not a counter")))?;
    let sum = count.checked_add(delta);
    let sum = sum.ok_or_else(|| Error::new(format!("the counter {key:?} cannot go beyond {}", u64::MAX)))?;
    set(key, sum.to_string().as_bytes())?;
    Ok(sum)
}
