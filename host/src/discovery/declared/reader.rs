//! What is wrong with a declaration, and where: each thing once, with what was expected.

use super::document::{Form, Member, Node, Spot};
use crate::text;

/// How many things that are wrong with a file are named one by one.
const MAX_FAULTS: usize = 32;

/// Something wrong in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::discovery) struct Fault {
    /// Where, and what, in words that read after the file's path.
    pub(in crate::discovery) message: String,
    pub(in crate::discovery) hint: Option<String>,
}

/// Collects what is wrong.
#[derive(Default)]
pub(super) struct Reader {
    faults: Vec<Fault>,
    /// How many more there were.
    unnamed: usize,
}

/// A value of another type or form than was expected, in words that read after the file's path.
pub(super) fn wrong(key: &str, expected: &str, value: Node<'_>) -> String {
    at(value.spot(), &format!("{}: expected {expected}, found {}", text::escape(key, 80), value.shown()))
}

/// Words with their place.
pub(super) fn at(spot: Spot, what: &str) -> String {
    format!("{spot}: {what}")
}

/// A key that nobody reads, with the nearest that somebody does.
pub(super) fn unknown(member: &Member<'_>, known: &[&str]) -> String {
    let nearest = text::nearest(&member.name, known.iter().copied()).unwrap_or_default();
    let key = text::escape(&member.name, 80);
    at(member.at.spot(), &format!("unknown key \"{key}\": the nearest is \"{nearest}\""))
}

impl Reader {
    /// Something is wrong; the words are made only where they are told.
    pub(super) fn fault(&mut self, message: impl FnOnce() -> String) {
        self.push(|| Fault { message: message(), hint: None });
    }

    pub(super) fn push(&mut self, fault: impl FnOnce() -> Fault) {
        if self.faults.len() < MAX_FAULTS { self.faults.push(fault()) } else { self.unnamed += 1 }
    }

    /// What is wrong; beyond the first ones only how much.
    pub(super) fn finish(mut self) -> Vec<Fault> {
        if self.unnamed > 0 {
            let message = format!("and {} more problems in this file", self.unnamed);
            self.faults.push(Fault { message, hint: None });
        }
        self.faults
    }

    /// The members of an object, each name once: the first counts. `None`, with a fault, for anything else.
    pub(super) fn object<'a>(
        &mut self,
        key: &str,
        expected: &str,
        value: Node<'a>,
    ) -> Option<Vec<Member<'a>>> {
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

/// A key that is there again.
pub(super) fn twice(member: &Member<'_>) -> String {
    let key = text::escape(&member.name, 80);
    at(member.at.spot(), &format!("\"{key}\" is there twice: the first one counts"))
}
