//! Regular expressions from outside, within limits.

use std::fmt;

use regex::{Regex, RegexBuilder};

use hookbox_system::text;

/// The longest pattern, in bytes: the longest in use name some dozens of tools.
pub(crate) const MAX_LENGTH: usize = 4096;

/// The largest compiled pattern, in bytes; a repeated class of letters can ask for gigabytes.
const MAX_SIZE: usize = 1 << 20;

/// Compiles a regular expression. It matches in linear time.
///
/// # Errors
///
/// The reason, on one line, if it has a fault, is too long, or is too large when it is compiled.
pub(crate) fn compile(pattern: &str) -> Result<Regex, String> {
    if pattern.len() > MAX_LENGTH {
        return Err(format!("has more than {MAX_LENGTH} bytes"));
    }
    let compiled = RegexBuilder::new(pattern).size_limit(MAX_SIZE).dfa_size_limit(MAX_SIZE).build();
    compiled.map_err(|error| {
        // The parser draws the pattern over several lines, with the fault on the last.
        let said = error.to_string();
        let last = said.lines().last().unwrap_or_default().trim();
        text::escape(last.strip_prefix("error: ").unwrap_or(last), 200)
    })
}

/// The steps that an expression with look-around may take at one place of a name.
const MAX_STEPS: usize = 100_000;

/// An expression that JavaScript would take, also with look-around such as `^(?!Read$)`.
#[derive(Clone)]
pub enum Expression {
    /// One that matches in linear time.
    Linear(Regex),
    /// One with look-around, which tries one way after the other.
    Backtracking(Box<fancy_regex::Regex>),
}

impl Expression {
    /// Compiles an expression.
    ///
    /// # Errors
    ///
    /// Those of [`compile`], if it has no look-around.
    pub(crate) fn compile(pattern: &str) -> Result<Self, String> {
        compile(pattern).map(Self::Linear).or_else(|problem| {
            let looks_around = ["(?=", "(?!", "(?<=", "(?<!"].iter().any(|it| pattern.contains(it));
            let mut builder = fancy_regex::RegexBuilder::new(pattern);
            builder
                .backtrack_limit(MAX_STEPS)
                .delegate_size_limit(MAX_SIZE)
                .delegate_dfa_size_limit(MAX_SIZE);
            let built = (looks_around && pattern.len() <= MAX_LENGTH).then(|| builder.build().ok()).flatten();
            built.map(|it| Self::Backtracking(Box::new(it))).ok_or(problem)
        })
    }

    /// Returns true if it matches in a text. One that takes too many steps matches: a guard that runs too often is
    /// noticed.
    pub fn is_match(&self, text: &str) -> bool {
        match self {
            Self::Linear(regex) => regex.is_match(text),
            Self::Backtracking(regex) => regex.is_match(text).unwrap_or(true),
        }
    }

    /// Returns the expression as it was written.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Linear(regex) => regex.as_str(),
            Self::Backtracking(regex) => regex.as_str(),
        }
    }
}

impl fmt::Debug for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Expression").field(&self.as_str()).finish()
    }
}
