//! What the host works out about a tool call.

use std::path::Path;

use crate::event::{Document, Facts};

/// The facts of a call of `name` with `input`, by an agent that works in `cwd`.
pub fn of(_name: &str, _input: &Document, _cwd: &Path, _home: Option<&Path>) -> Facts {
    Facts::default()
}
