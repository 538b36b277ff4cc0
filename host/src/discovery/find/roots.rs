//! The roots: directories with hooks, settings and servers.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::declared::{Servers, Source};
use super::settings::{self, Tables, Top};
use crate::discovery::problem::Problem;
use crate::hook::Origin;
use hookbox_system::files::FileAccess;
use hookbox_system::text;

/// The directories to search.
#[derive(Clone, Copy)]
pub(crate) struct Search<'a> {
    pub(crate) cwd: &'a Path,
    pub(crate) home: Option<&'a Path>,
    pub(crate) roots: &'a [String],
    /// The embedder's own hooks directories.
    pub(crate) directories: &'a [PathBuf],
}

/// A root, with its settings.
pub(crate) struct RootDir {
    pub(crate) access: FileAccess,
    pub(crate) origin: Origin,
    pub(crate) root: usize,
    pub(crate) path: PathBuf,
    /// Its settings for all hooks together.
    pub(crate) top: Top,
    pub(crate) tables: Tables,
    /// The MCP servers of its mcp.json.
    pub(crate) servers: Servers,
}

impl RootDir {
    /// Returns the file that declares its servers.
    pub(crate) fn mcp_file(&self) -> PathBuf {
        self.path.join(Source::McpJson.file())
    }

    /// Returns the settings file.
    pub(crate) fn settings_file(&self) -> PathBuf {
        self.path.join(settings::FILE)
    }
}

/// Returns the roots that are directory names, each once. Any other text (`..`, `a/b`, `/etc`) would lead out of the
/// repository or the home directory.
pub(crate) fn valid(roots: &[String], cwd: &Path, problems: &mut Vec<Problem>) -> Vec<String> {
    let mut valid: Vec<String> = Vec::new();
    for root in roots {
        let is_name = Path::new(root).file_name() == Some(OsStr::new(root)) && !root.contains('\0');
        if !is_name {
            let root = text::escape(root, 200);
            let message = format!("the root {root:?} is left out: expected the name of a directory");
            problems.push(Problem::new(cwd, message));
        } else if !valid.contains(root) {
            valid.push(root.clone());
        }
    }
    valid
}
