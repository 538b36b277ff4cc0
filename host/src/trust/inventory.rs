//! The inventory of the guards that hookbox wrote: `guards.json` in the private data directory. A guard of it that is
//! missing or changed does not pass for one that has nothing to object.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::hook::Digest;
use hookbox_system::files::{private_dir, write_atomic};
use hookbox_system::text;

/// The version of the format.
const VERSION: u64 = 1;

/// The largest inventory that is read, in bytes: it would have hundreds of home directories.
const MAX_BYTES: u64 = 1 << 18;

/// The guards that hookbox wrote, by path.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Inventory {
    version: u64,
    /// Each guard by its path.
    pub written: BTreeMap<String, Written>,
}

/// A component that hookbox wrote.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Written {
    /// The digest of its bytes.
    pub digest: Digest,
    /// The version of hookbox that wrote it.
    pub version: String,
}

/// The reason why an inventory cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum InventoryError {
    /// It is no inventory of this version.
    #[error("expected a record of guards, found: {0}")]
    Garbage(String),
    /// The system refused.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Default for Inventory {
    fn default() -> Self {
        Self { version: VERSION, written: BTreeMap::new() }
    }
}

impl Inventory {
    /// The name of the file.
    pub const FILE: &'static str = "guards.json";

    /// Reads the inventory of a private data directory. A missing file has nothing.
    ///
    /// # Errors
    ///
    /// For anything but a whole file of this version.
    pub fn read(data: &Path) -> Result<Self, InventoryError> {
        let garbage = |what: &str| InventoryError::Garbage(text::escape(what, 200));
        let bytes = match private_dir::read_file(&data.join(Self::FILE), MAX_BYTES) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            bytes => bytes?,
        };
        let inventory: Self = serde_json::from_slice(&bytes).map_err(|error| garbage(&error.to_string()))?;
        match inventory.version {
            VERSION => Ok(inventory),
            version => Err(garbage(&format!("version {version}"))),
        }
    }

    /// Writes the inventory in one step.
    ///
    /// # Errors
    ///
    /// The system's own.
    pub fn write(&self, data: &Path) -> io::Result<()> {
        write_atomic(&data.join(Self::FILE), &serde_json::to_vec_pretty(self)?)
    }
}
