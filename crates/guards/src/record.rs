//! The record of the files that hookbox wrote, so that it replaces and removes no others.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use hookbox::Digest;
use hookbox::internal::files::{private_dir, write_atomic};
use hookbox::internal::text::escape;
use serde::{Deserialize, Serialize};

use crate::{GuardsError, GuardsErrorKind};

/// The version of the format.
const VERSION: u64 = 1;

/// The largest record that is read, in bytes: it would have hundreds of home directories.
const MAX_BYTES: u64 = 1 << 18;

/// What hookbox wrote, by path.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Record {
    version: u64,
    pub(crate) written: BTreeMap<String, Written>,
}

/// A component that hookbox wrote.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Written {
    pub(crate) digest: Digest,
    /// The version of hookbox.
    pub(crate) version: String,
}

impl Record {
    /// Reads a record. A missing file has nothing.
    pub(crate) fn read(path: &Path) -> Result<Self, GuardsError> {
        let garbage = |what: &str| GuardsError::new(path, GuardsErrorKind::Record(escape(what, 200)));
        let bytes = match private_dir::read_file(path, MAX_BYTES) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Self { version: VERSION, written: BTreeMap::new() });
            }
            read => read.map_err(|error| GuardsError::io(path, error))?,
        };
        let record: Self = serde_json::from_slice(&bytes).map_err(|error| garbage(&error.to_string()))?;
        if record.version == VERSION {
            Ok(record)
        } else {
            Err(garbage(&format!("version {}", record.version)))
        }
    }

    /// Writes the record in one step.
    pub(crate) fn write(&self, path: &Path) -> Result<(), GuardsError> {
        let text = serde_json::to_vec_pretty(self).map_err(io::Error::other);
        text.and_then(|text| write_atomic(path, &text)).map_err(|error| GuardsError::io(path, error))
    }
}
