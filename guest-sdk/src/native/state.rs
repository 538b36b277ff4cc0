//! The store, in a file.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::Error;

pub(crate) fn get(key: &str) -> Result<Option<Vec<u8>>, Error> {
    Bucket::open()?.get(key)
}

pub(crate) fn set(key: &str, value: &[u8]) -> Result<(), Error> {
    Bucket::open()?.set(key, value)
}

pub(crate) fn delete(key: &str) -> Result<(), Error> {
    Bucket::open()?.delete(key)
}

pub(crate) fn increment(key: &str, delta: u64) -> Result<u64, Error> {
    Bucket::open()?.increment(key, delta)
}

pub(crate) fn keys() -> Result<Vec<String>, Error> {
    Ok(Bucket::open()?.read()?.into_keys().collect())
}

/// A directory with the file of the values and that of the lock.
struct Bucket(PathBuf);

type Values = BTreeMap<String, Stored>;

/// A value: text if it is text, so that a person can read the file.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Stored {
    Text(String),
    Bytes(Vec<u8>),
}

impl Stored {
    fn new(value: &[u8]) -> Self {
        match std::str::from_utf8(value) {
            Ok(text) => Self::Text(text.to_owned()),
            Err(_) => Self::Bytes(value.to_vec()),
        }
    }

    fn into_bytes(self) -> Vec<u8> {
        match self {
            Self::Text(text) => text.into_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }
}

impl Bucket {
    fn open() -> Result<Self, Error> {
        crate::directory("$DATA").map(Self)
    }

    fn get(&self, key: &str) -> Result<Option<Vec<u8>>, Error> {
        // The file is replaced, never changed: without the lock it is whole as well.
        Ok(self.read()?.remove(key).map(Stored::into_bytes))
    }

    fn set(&self, key: &str, value: &[u8]) -> Result<(), Error> {
        self.change(|values| {
            values.insert(key.to_owned(), Stored::new(value));
            Ok(())
        })
    }

    fn delete(&self, key: &str) -> Result<(), Error> {
        self.change(|values| {
            values.remove(key);
            Ok(())
        })
    }

    fn increment(&self, key: &str, delta: u64) -> Result<u64, Error> {
        self.change(|values| {
            let count = match values.get(key) {
                None => Some(0),
                Some(Stored::Text(text)) => text.parse::<u64>().ok(),
                Some(Stored::Bytes(_)) => None,
            };
            let count = count.ok_or_else(|| Error::new(format!("the value of {key:?} is not a counter")))?;
            let sum = count.checked_add(delta);
            let sum =
                sum.ok_or_else(|| Error::new(format!("the counter {key:?} cannot go beyond {}", u64::MAX)))?;
            values.insert(key.to_owned(), Stored::Text(sum.to_string()));
            Ok(sum)
        })
    }

    fn read(&self) -> Result<Values, Error> {
        let path = self.0.join("state.json");
        let parsed = match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(Error::from),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Values::new()),
            Err(error) => Err(error.into()),
        };
        parsed.map_err(|error| error.within(path.display()))
    }

    /// Changes the values while no other process does.
    fn change<T>(&self, change: impl FnOnce(&mut Values) -> Result<T, Error>) -> Result<T, Error> {
        let lock = private(&self.0.join("state.lock"))?;
        lock.lock().map_err(|error| Error::from(error).within("failed to lock"))?;
        let mut values = self.read()?;
        let done = change(&mut values)?;
        // An old temporary file of a killed process is overwritten.
        let part = self.0.join("state.json.part");
        let mut file = private(&part)?;
        let written = file
            .set_len(0)
            .and_then(|()| file.write_all(&serde_json::to_vec(&values)?))
            .and_then(|()| file.sync_all())
            .and_then(|()| fs::rename(&part, self.0.join("state.json")));
        written.map_err(|error| Error::from(error).within(part.display()))?;
        Ok(done)
    }
}

/// Opens or creates a file that only its user can read.
fn private(path: &Path) -> Result<File, Error> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map_err(|error| Error::from(error).within(path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A bucket in a directory of its own, and what removes it.
    fn with_bucket(name: &str, test: impl FnOnce(&Bucket)) {
        let dir = std::env::temp_dir().join(format!("hookbox-sdk-{name}-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        test(&Bucket(dir.clone()));
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn a_value_stays_until_it_is_deleted() {
        with_bucket("values", |bucket| {
            assert_eq!(bucket.get("a").unwrap(), None);
            bucket.delete("a").unwrap();
            for value in [&b"text"[..], b"", b"\xff\0", b"[1]"] {
                bucket.set("a/../b", value).unwrap();
                assert_eq!(bucket.get("a/../b").unwrap().as_deref(), Some(value));
            }
            bucket.delete("a/../b").unwrap();
            assert_eq!(bucket.get("a/../b").unwrap(), None);
        });
    }

    #[test]
    fn every_increment_counts() {
        with_bucket("counter", |bucket| {
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| (0..25).for_each(|_| assert!(bucket.increment("n", 2).unwrap() > 0)));
                }
            });
            assert_eq!(bucket.increment("n", 0).unwrap(), 200);
            assert!(bucket.increment("n", u64::MAX).unwrap_err().to_string().contains("cannot go beyond"));
            bucket.set("t", b"text").unwrap();
            assert_eq!(
                bucket.increment("t", 1).unwrap_err().to_string(),
                "the value of \"t\" is not a counter"
            );
            assert_eq!(bucket.get("n").unwrap().unwrap(), b"200");
        });
    }

    #[test]
    fn a_damaged_file_is_named_and_stays() {
        with_bucket("damaged", |bucket| {
            fs::write(bucket.0.join("state.json"), "{\"a\":").unwrap();
            for error in [bucket.get("a").unwrap_err(), bucket.set("a", b"b").unwrap_err()] {
                assert!(error.to_string().contains("state.json: EOF"), "{error}");
            }
            assert_eq!(fs::read(bucket.0.join("state.json")).unwrap(), b"{\"a\":");
        });
    }
}
