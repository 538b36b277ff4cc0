//! The strictness of a guard.

use std::fmt;
use std::str::FromStr;

/// The strictness of a guard, the loosest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Preset {
    /// Stops only what loses very much.
    Relaxed,
    /// Stops what loses work that can't be recovered.
    #[default]
    Standard,
    /// Stops also what can be made again, and what cannot be read.
    Strict,
}

/// A word that is not a preset.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected relaxed, standard or strict")]
pub struct UnknownPreset;

impl Preset {
    /// Every preset, the loosest first.
    pub const ALL: [Self; 3] = [Self::Relaxed, Self::Standard, Self::Strict];

    /// Returns its name in settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Relaxed => "relaxed",
            Self::Standard => "standard",
            Self::Strict => "strict",
        }
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Preset {
    type Err = UnknownPreset;

    fn from_str(text: &str) -> Result<Self, UnknownPreset> {
        Self::ALL.into_iter().find(|it| it.as_str() == text).ok_or(UnknownPreset)
    }
}
