//! The environment variables that can be named in a right.

use std::fmt;

/// The name of an environment variable.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Variable(String);

impl Variable {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        if text.is_empty() || text.len() > 255 || !text.bytes().all(fits) {
            return Err("a variable's name has letters, digits and `_` only".to_owned());
        }
        Ok(Self(text.to_owned()))
    }

    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Variable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
