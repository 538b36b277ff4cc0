//! Values that stay from one call to the next: the hook's own bucket of the store, with the right
//! [`Store`](crate::Capability::Store).
//!
//! Nobody else sees the bucket: it belongs to this hook in this place. What was set is there after a restart. Several calls
//! may run at once: [`increment`] counts all of them, but of two calls that each read a value and then set it the later one wins.
//!
//! Natively the bucket is the file `state.json` below [`$DATA`](crate::directory()).
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
//! Every function fails where the right was not granted, and where the store does not work or is full.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Error;
#[cfg(target_arch = "wasm32")]
use crate::component::state as bucket;
#[cfg(not(target_arch = "wasm32"))]
use crate::native::state as bucket;

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

/// Removes a key and its value; one that is not there stays so.
///
/// # Errors
///
/// See the [module](self).
pub fn delete(key: &str) -> Result<(), Error> {
    bucket::delete(key).map_err(|error| error.within("state"))
}

/// Adds to the counter of a key, which starts at 0, and gives its new value. No other call comes between.
///
/// # Errors
///
/// The value of the key is no counter, or the sum is too large; and see the [module](self).
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
