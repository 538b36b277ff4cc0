//! The guards that hookbox carries, and their places in a home directory.
//!
//! [`GUARDS`] has the components, as bytes of the program. [`Shelf`] puts them among the hooks of a user, and
//! [`SettingsFile`] sets their presets and modes. [`parts`] has the components around a hook in an HTTP
//! service. Nothing here runs a component.

mod error;
pub mod parts;
mod preset;
mod settings_file;
mod shelf;
mod table;

pub use self::error::{GuardsError, GuardsErrorKind};
pub use self::preset::{Preset, UnknownPreset};
pub use self::settings_file::SettingsFile;
pub use self::shelf::{Shelf, Status};
pub use self::table::{GUARDS, Guard};
