//! The inventory of the guards that hookbox wrote: `guards.json` in the private data directory. A guard of it that is
//! missing or changed does not pass for one that has nothing to object.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::private_file::{Contents, PrivateFile, PrivateFileErrorKind, Version};
use crate::hook::Digest;

/// The guards that hookbox wrote, by path.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Inventory {
    version: Version,
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

impl Contents for Inventory {
    const FILE: &'static str = "guards.json";
    const TITLE: &'static str = "record of guards";
}

impl Inventory {
    /// The name of the file.
    pub const FILE: &'static str = <Self as Contents>::FILE;

    /// Reads the inventory of a private data directory. A missing file has nothing.
    ///
    /// # Errors
    ///
    /// For anything but a whole file of this version.
    pub fn read(data: &Path) -> Result<Self, PrivateFileErrorKind> {
        PrivateFile::new(data).read().map_err(|error| error.kind)
    }
}
