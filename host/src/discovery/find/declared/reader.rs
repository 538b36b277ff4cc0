//! The faults of a declaration: each one once, with its position and what was expected.

use super::document::{Form, Member, Node, Spot};
use hookbox_system::Hint;
use hookbox_system::text;

/// The number of faults of a file that are named one by one.
const MAX_FAULTS: usize = 32;

/// A fault in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The position and the fault, in words that follow the path.
    pub message: String,
    pub hint: Option<Hint>,
}

/// Collects faults.
#[derive(Default)]
pub struct Reader {
    faults: Vec<Fault>,
    /// The number of further faults.
    unnamed: usize,
}

/// Describes a value of another type or form than was expected, in words that follow the path.
pub fn wrong(key: &str, expected: &str, value: Node<'_>) -> String {
    at(value.spot(), &format!("{}: expected {expected}, found {}", text::escape(key, 80), value.shown()))
}

/// Puts the position before a description.
pub fn at(spot: Spot, what: &str) -> String {
    format!("{spot}: {what}")
}

/// Keys that describe an entry or mean something elsewhere only, in the formats of all agents and in published plugins.
const HARMLESS: [&str; 13] = [
    "$comment",
    "$schema",
    "_comment",
    "additionalContextLimit",
    "command_windows",
    "commandWindows",
    "comment",
    "description",
    "id",
    // Claude Code ignores it in a file of settings or of a plugin.
    "once",
    // No model is woken.
    "rewakeMessage",
    "rewakeSummary",
    "statusMessage",
];

/// Returns true if a key changes nothing about its entry here: it is passed over in silence.
pub fn is_harmless(key: &str) -> bool {
    HARMLESS.contains(&key)
}

/// The number of words of a command, and of tools that a matcher names.
pub const MAX_WORDS: usize = 256;

/// Returns the words of a list; `None` if it is anything else.
pub fn words(value: Node<'_>) -> Option<Vec<String>> {
    let Form::Array(items) = value.form() else { return None };
    let word = |item: Node<'_>| match item.form() {
        Form::Text(word) => Some(word).filter(|word| !word.contains('\0')),
        _ => None,
    };
    (items.len() <= MAX_WORDS).then(|| items.into_iter().map(word).collect()).flatten()
}

/// Describes an unknown key, with the nearest known one.
pub fn unknown(member: &Member<'_>, known: &[&str]) -> String {
    let nearest = text::nearest(&member.name, known.iter().copied()).unwrap_or_default();
    let key = text::escape(&member.name, 80);
    at(member.at.spot(), &format!("unknown key \"{key}\": the nearest is \"{nearest}\""))
}

impl Reader {
    /// Adds a fault. Its message is only made if it is shown.
    pub fn fault(&mut self, message: impl FnOnce() -> String) {
        self.push(|| Fault { message: message(), hint: None });
    }

    pub fn push(&mut self, fault: impl FnOnce() -> Fault) {
        if self.faults.len() < MAX_FAULTS { self.faults.push(fault()) } else { self.unnamed += 1 }
    }

    /// Returns the faults: the first ones, and the number of the others.
    pub fn finish(mut self) -> Vec<Fault> {
        if self.unnamed > 0 {
            let message = format!("and {} more problems in this file", self.unnamed);
            self.faults.push(Fault { message, hint: None });
        }
        self.faults
    }

    /// Returns the members of an object, each name once: the first counts. Anything else is a fault and
    /// `None`.
    pub fn object<'a>(&mut self, key: &str, expected: &str, value: Node<'a>) -> Option<Vec<Member<'a>>> {
        let Form::Object(object) = value.form() else {
            self.fault(|| wrong(key, expected, value));
            return None;
        };
        for member in object.again {
            self.fault(|| twice(&member));
        }
        Some(object.members)
    }
}

/// Describes a key that appears twice.
pub fn twice(member: &Member<'_>) -> String {
    let key = text::escape(&member.name, 80);
    at(member.at.spot(), &format!("\"{key}\" appears twice: the first one counts"))
}
