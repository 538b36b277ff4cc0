//! The next step for the user after an error or a problem.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use serde::Serialize;

/// The next step for the user after an error or a problem: a phrase for a line of its own, such as `install git`.
/// Text from outside in it is escaped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Hint(Cow<'static, str>);

impl From<&'static str> for Hint {
    fn from(text: &'static str) -> Self {
        Self(Cow::Borrowed(text))
    }
}

impl From<String> for Hint {
    fn from(text: String) -> Self {
        Self(Cow::Owned(text))
    }
}

impl Deref for Hint {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}
