//! Values that stay from one call to the next: the hook's own bucket of the store, with the right
//! [`Store`](crate::Capability::Store).
//!
//! The bucket is private: it belongs to this hook in this place. Values survive a restart. Several calls may
//! run at once: [`increment`] counts all of them, but if two calls each read a value and then set it, the
//! later one wins.
//!
//! A [native](crate::native) hook has no bucket: this needs hookbox. For [`answer`](crate::testing::answer) it is in memory.
//!
//! ```no_run
//! use hookbox_sdk::state;
//!
//! let calls = state::increment("calls", 1)?;
//! let mut seen: Vec<String> = state::get_json("seen")?.unwrap_or_default();
//! seen.push(format!("call {calls}"));
//! state::set_json("seen", &seen)?;
//! # Ok::<(), hookbox_sdk::Error>(())
//! ```
//!
//! # Errors
//!
//! Every function fails if the right was not granted, if the store does not work or is full, and in a native hook.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::Error;
#[cfg(target_arch = "wasm32")]
use crate::component::state as bucket;
#[cfg(not(target_arch = "wasm32"))]
use crate::testing::surroundings as bucket;

/// The value of a key; `None` where nothing was set.
///
/// # Errors
///
/// See the [module](self).
pub fn get(key: &str) -> Result<Option<Vec<u8>>, Error> {
    bucket::get(key).map_err(|error| error.within("state"))
}

/// Sets the value of a key.
///
/// # Errors
///
/// See the [module](self).
pub fn set(key: &str, value: impl AsRef<[u8]>) -> Result<(), Error> {
    bucket::set(key, value.as_ref()).map_err(|error| error.within("state"))
}

/// Removes a key and its value; a missing key is no error.
///
/// # Errors
///
/// See the [module](self).
pub fn delete(key: &str) -> Result<(), Error> {
    bucket::delete(key).map_err(|error| error.within("state"))
}

/// Adds to the counter of a key, which starts at 0, and returns its new value. No other call comes between.
///
/// # Errors
///
/// The value of the key is not a counter, or the sum is too large; and see the [module](self).
pub fn increment(key: &str, delta: u64) -> Result<u64, Error> {
    bucket::increment(key, delta).map_err(|error| error.within("state"))
}

/// The value of a key that [`set_json`] has set; `None` where nothing was set.
///
/// # Errors
///
/// The value is not JSON, or no `T`; and see the [module](self).
pub fn get_json<T: DeserializeOwned>(key: &str) -> Result<Option<T>, Error> {
    let parsed = get(key)?.map(|value| serde_json::from_slice(&value)).transpose();
    parsed.map_err(|error| Error::from(error).within(format_args!("state: {key}")))
}

/// Sets the value of a key to JSON.
///
/// # Errors
///
/// `value` cannot be written as JSON; and see the [module](self).
pub fn set_json<T: Serialize + ?Sized>(key: &str, value: &T) -> Result<(), Error> {
    set(key, serde_json::to_vec(value)?)
}

/// Every key that has a value, in no particular order. Other calls may set and remove some meanwhile.
///
/// # Errors
///
/// See the [module](self).
pub fn keys() -> Result<Vec<String>, Error> {
    bucket::keys().map_err(|error| error.within("state"))
}

/// A value and the version of its form, so that a later version of a hook knows whether it can read it.
#[derive(Serialize, Deserialize)]
struct Versioned<T> {
    version: u32,
    value: T,
}

/// Returns the value of a key that [`save`] has set in this version, or else the default of `T`. A value that
/// is damaged, or of another version, is ignored with a warning in the log: remembered data is never a reason
/// to fail.
///
/// # Errors
///
/// See the [module](self).
pub fn load<T: DeserializeOwned + Default>(key: &str, version: u32) -> Result<T, Error> {
    let Some(bytes) = get(key)? else { return Ok(T::default()) };
    Ok(read(&bytes, version).unwrap_or_else(|problem| {
        crate::warn!("the value of {key:?} counts as empty: {problem}");
        T::default()
    }))
}

fn read<T: DeserializeOwned>(bytes: &[u8], version: u32) -> Result<T, String> {
    // The version first: a value of another one may have another form.
    #[derive(Deserialize)]
    struct Head {
        version: u32,
    }
    let head: Head = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    if head.version != version {
        return Err(format!("expected version {version}, found {}", head.version));
    }
    serde_json::from_slice(bytes).map(|found: Versioned<T>| found.value).map_err(|error| error.to_string())
}

/// Sets the value of a key to JSON with this version, for [`load`].
///
/// # Errors
///
/// `value` cannot be written as JSON; and see the [module](self).
pub fn save<T: Serialize>(key: &str, version: u32, value: &T) -> Result<(), Error> {
    set_json(key, &Versioned { version, value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_cannot_be_read_is_named_and_not_used() {
        let good = serde_json::to_vec(&Versioned { version: 2, value: vec![1, 2] }).unwrap();
        assert_eq!(read::<Vec<u8>>(&good, 2).unwrap(), [1, 2]);
        for (bytes, version, part) in [
            (&good[..], 1, "expected version 1, found 2"),
            (&good[..good.len() - 2], 2, "EOF"),
            (b"", 2, "EOF"),
            (b"\xff\0", 2, "expected value"),
            (br#"{"version":2,"value":"text"}"#, 2, "invalid type: string"),
            (br#"{"version":2}"#, 2, "missing field `value`"),
            (br#"{"value":[1]}"#, 2, "missing field `version`"),
            (b"[[[[", 2, "invalid"),
        ] {
            let problem = read::<Vec<u8>>(bytes, version).unwrap_err();
            assert!(problem.contains(part), "{problem}");
        }
    }
}
