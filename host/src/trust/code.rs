//! The code of a blocked call.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The letters of a code: none of them looks like another one or like a digit.
const LETTERS: &[u8; 16] = b"abcdefghkmnprstw";

/// The length of a code in letters: 32 bits, too many to guess while it counts, and few enough to type.
const CODE: usize = 8;

/// The code of a blocked call: eight letters that only the user sees.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Code([u8; CODE]);

/// The error for a text that is not a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a code: {CODE} of the letters {}", String::from_utf8_lossy(LETTERS))]
pub struct CodeError;

impl Code {
    /// Makes a code of random bytes.
    pub(crate) fn from_random(bytes: [u8; CODE]) -> Self {
        // There are 16 letters, so that each of them is as likely as any other one.
        Self(bytes.map(|byte| LETTERS.get(usize::from(byte & 15)).copied().unwrap_or(b'a')))
    }

    /// Returns true for the same code, in the same time for every other code.
    pub(crate) fn is(&self, other: &Self) -> bool {
        let difference = self.0.iter().zip(&other.0).fold(0, |sum, (a, b)| sum | (a ^ b));
        std::hint::black_box(difference) == 0
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|letter| write!(f, "{}", char::from(*letter)))
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Logs have debug output, and a model may read logs.
        f.write_str("Code")
    }
}

impl From<Code> for String {
    fn from(code: Code) -> Self {
        code.to_string()
    }
}

impl TryFrom<String> for Code {
    type Error = CodeError;

    fn try_from(text: String) -> Result<Self, CodeError> {
        text.parse()
    }
}

impl std::str::FromStr for Code {
    type Err = CodeError;

    /// Reads a code in either case; spaces and hyphens do not count.
    fn from_str(text: &str) -> Result<Self, CodeError> {
        let letters = text.bytes().filter(|byte| !matches!(byte, b' ' | b'-'));
        let letters: Vec<u8> = letters.map(|byte| byte.to_ascii_lowercase()).take(CODE + 1).collect();
        let code: [u8; CODE] = letters.try_into().map_err(|_| CodeError)?;
        if code.iter().all(|letter| LETTERS.contains(letter)) { Ok(Self(code)) } else { Err(CodeError) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_read_as_people_type_it() {
        let code = Code::from_random([0, 1, 2, 3, 249, 250, 251, 252]);
        assert_eq!(code.to_string(), "abcdmnpr");
        for (text, want) in [
            ("abcdmnpr", true),
            (" ABCD-mnpr ", true),
            ("abcdmnp", false),
            ("abcdmnprs", false),
            ("abcdmnpl", false),
            ("abcdmnp1", false),
            ("", false),
            ("äbcdmnpr", false),
        ] {
            assert_eq!(text.parse() == Ok(code.clone()), want, "{text}");
        }
        assert!(!format!("{code:?}").contains("abcd"));
        assert!(LETTERS.iter().all(|letter| !b"iloquvxyjz".contains(letter)));
    }
}
