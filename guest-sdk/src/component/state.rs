//! The store, over `wasi:keyvalue`.

use super::bindings::wasi::keyvalue::{atomics, store};
use crate::Error;

pub(crate) fn get(key: &str) -> Result<Option<Vec<u8>>, Error> {
    open()?.get(key).map_err(error)
}

pub(crate) fn set(key: &str, value: &[u8]) -> Result<(), Error> {
    open()?.set(key, value).map_err(error)
}

pub(crate) fn delete(key: &str) -> Result<(), Error> {
    open()?.delete(key).map_err(error)
}

pub(crate) fn increment(key: &str, delta: u64) -> Result<u64, Error> {
    atomics::increment(&open()?, key, delta).map_err(error)
}

pub(crate) fn keys() -> Result<Vec<String>, Error> {
    let bucket = open()?;
    let mut page = bucket.list_keys(None).map_err(error)?;
    let mut keys = page.keys;
    while let Some(cursor) = page.cursor {
        page = bucket.list_keys(Some(cursor)).map_err(error)?;
        keys.extend(page.keys);
    }
    Ok(keys)
}

/// The hook's own bucket has no name.
fn open() -> Result<store::Bucket, Error> {
    store::open("").map_err(error)
}

fn error(error: store::Error) -> Error {
    Error::new(match error {
        store::Error::AccessDenied => "the right `store` was not granted".to_owned(),
        store::Error::NoSuchStore => "there is no such store".to_owned(),
        store::Error::Other(text) => text,
    })
}
