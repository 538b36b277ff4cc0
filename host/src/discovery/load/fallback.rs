//! The state that worked at the last discovery: it stays in force for a file that is broken now.
//!
//! Only wanted hooks are kept: a removed file is gone, and a hook that is disabled, or not trusted in its
//! present form, is not replaced by its last version.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use crate::discovery::find::last_read::{LastRead, Since};
use crate::mcp;
use crate::rules::Rules;
use crate::wasm::Component;

/// The working state that a discovery found, for the next one.
#[derive(Default)]
pub(crate) struct LastGood {
    /// Settings and declarations.
    pub(super) read: Arc<LastRead>,
    /// Servers that may be running, by the directory of their root, the root and their name.
    pub(super) servers: HashMap<(PathBuf, usize, String), Arc<mcp::Server>>,
    /// Components, by file.
    pub(super) components: HashMap<PathBuf, Since<Component>>,
    /// Rules, by file.
    pub(super) rules: HashMap<PathBuf, Since<Rules>>,
}

impl LastGood {
    /// Adds the hooks of another repository; the files are read for all repositories at once.
    pub(super) fn take(&mut self, other: Self) {
        self.servers.extend(other.servers);
        self.components.extend(other.components);
        self.rules.extend(other.rules);
    }
}
