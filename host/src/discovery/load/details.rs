//! The part of a hook that its entry does not show.

use std::path::PathBuf;

use crate::hook::Settings;

/// The part of a hook that its entry does not show. A change of it is a change of the hook.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Details {
    /// Its own settings.
    pub(crate) settings: Settings,
    /// The line of its table in the settings of its root, if it has one.
    pub(crate) settings_line: Option<usize>,
    /// The place of its declaration in its file, such as `line 3, column 5`.
    pub(crate) declared_at: Option<String>,
    /// The path of the hook that runs in its place.
    pub(crate) shadowed_by: Option<PathBuf>,
    /// Every other setting, its grants and its declaration, as text for comparison.
    pub(super) rest: String,
}
