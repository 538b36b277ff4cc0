//! Reads the JSON object that a hook prints. A block counts also beside fields that cannot be read.

use std::iter;

use serde_json::value::RawValue;
use serde_json::{Deserializer, Map, Value};

use crate::dialect::reply::malformed;
use crate::hook::HookError;
use crate::outcome::{Action, Outcome};
use hookbox_system::{json, limits, text};

/// The readable fields of the object that a hook printed.
pub struct HookOutput {
    /// The object, without the fields that cannot be read.
    pub object: Map<String, Value>,
    /// The notes on the other fields, if the answer blocks.
    pub faults: Vec<String>,
    /// The failure that the other fields are, if the answer does not block.
    pub malformed: Option<HookError>,
    /// True if one of the fields blocks, even if another one of the same name does not.
    pub blocks: bool,
}

impl HookOutput {
    /// Reads the object; `None` for blank output. `blocks` returns whether a single field blocks.
    ///
    /// # Errors
    ///
    /// `malformed_output` for anything but exactly one object.
    pub fn object(
        stdout: &[u8],
        blocks: impl Fn(&str, &RawValue) -> bool,
    ) -> Result<Option<Self>, HookError> {
        let text = String::from_utf8_lossy(stdout);
        let text = trim(&text);
        if text.is_empty() {
            return Ok(None);
        }
        let not_utf8 = std::str::from_utf8(stdout).err().map(|error| {
            let at = error.valid_up_to();
            format!("printed what is not UTF-8, at byte {at}")
        });
        let wrong = not_utf8.as_ref().map(|what| malformed(format!("{what}: {}", excerpt(stdout))));
        let members = json::object(text.as_bytes()).map_err(|error| match &wrong {
            Some(wrong) => wrong.clone(),
            None if error.is_data() => {
                malformed(format!("printed JSON that is not an object: {}", excerpt(stdout)))
            }
            None => malformed(format!("printed what is not one JSON object: {error}: {}", excerpt(stdout))),
        })?;
        let mut printed =
            Self { object: Map::new(), faults: Vec::from_iter(not_utf8), malformed: wrong, blocks: false };
        printed.read(members, blocks);
        Ok(Some(printed))
    }

    fn read(&mut self, members: Vec<(String, Box<RawValue>)>, blocks: impl Fn(&str, &RawValue) -> bool) {
        let (mut unnamed, mut twice) = (0_usize, None);
        let mut blocking: Vec<String> = Vec::new();
        for (name, raw) in members {
            let is_block = blocks(&name, &raw);
            self.blocks |= is_block;
            let value = match json::strict(&raw) {
                Ok(value) => Some(value),
                Err(what) => {
                    // A string is still useful: half an emoji must not hide the reason of a block.
                    let is_used = is_block || raw.get().starts_with('"');
                    let used = if is_used { "read as far as it goes" } else { "not used" };
                    let what = format!("\"{}\" cannot be read: {what}", text::escape(&name, 40));
                    if self.malformed.is_none() {
                        self.malformed = Some(malformed(format!("answered wrongly: {what}")));
                    }
                    if self.faults.len() < limits::NAMED {
                        self.faults.push(format!("{what}: {used}"));
                    } else {
                        unnamed += 1;
                    }
                    is_used.then(|| json::value(&raw))
                }
            };
            let Some(value) = value else { continue };
            match self.object.get(&name) {
                // One of them blocks, whichever of them another reader would take.
                Some(before) if blocking.contains(&name) || is_block => {
                    if *before != value {
                        twice =
                            Some(format!("\"{name}\" is there more than once: the one that blocks counts"));
                    }
                    if is_block {
                        self.object.insert(name.clone(), value);
                    }
                }
                _ => {
                    self.object.insert(name.clone(), value);
                }
            }
            if is_block && !blocking.contains(&name) {
                blocking.push(name);
            }
        }
        self.faults.extend(twice);
        if unnamed > 0 {
            self.faults.push(format!("{unnamed} more fields that cannot be read"));
        }
    }
}

/// Trims white space and byte order marks, as the agents in JavaScript do (ECMAScript, `String.prototype.trim`).
pub fn trim(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}')
}

/// Returns true if the answer blocks, asks, or makes the agent go on.
pub fn is_decided(outcome: &Outcome) -> bool {
    matches!(outcome.action, Action::Block(_) | Action::Ask(_)) || !outcome.follow_ups.is_empty()
}

/// Finds a block or a question in the lines of an output that is not one object. The rest of them does not count: text
/// around an answer only makes it stricter. A block goes before a question.
pub fn decision(text: &str, read: impl Fn(&[u8]) -> Result<Outcome, HookError>) -> Option<Outcome> {
    if json::object(text.as_bytes()).is_ok() {
        return None;
    }
    let mut found = objects(text).filter_map(|it| read(it.as_bytes()).ok()).filter(is_decided);
    let first = found.next()?;
    let is_question = |it: &Outcome| matches!(it.action, Action::Ask(_));
    let decided =
        if is_question(&first) { found.find(|it| !is_question(it)).unwrap_or(first) } else { first };
    let kept = Outcome { action: decided.action, follow_ups: decided.follow_ups, ..Outcome::pass() };
    Some(kept.warn("printed its answer among other text: only its block or question counts"))
}

/// Returns the JSON objects that begin a line of an output that is not one object. After one that goes on behind its line
/// and cannot be read, each is a line alone: a hostile hook nests thousands, and each would be read to its depth.
fn objects(mut text: &str) -> impl Iterator<Item = &str> {
    let mut may_be_long = true;
    iter::from_fn(move || {
        loop {
            let line = text.split_inclusive('\n').next()?;
            let is_object = trim(line).starts_with('{');
            let mut values = Deserializer::from_str(text).into_iter::<Value>();
            let end = match (is_object && may_be_long).then(|| values.next()).flatten() {
                Some(Ok(_)) => values.byte_offset(),
                Some(Err(error)) => {
                    may_be_long = error.line() == 1;
                    line.len()
                }
                None => line.len(),
            };
            let (found, rest) = text.split_at_checked(end)?;
            text = rest;
            if is_object {
                return Some(found);
            }
        }
    })
}

/// Returns the beginning of the output, escaped.
pub fn excerpt(stdout: &[u8]) -> String {
    text::escape(&String::from_utf8_lossy(stdout.get(..1024).unwrap_or(stdout)), limits::WORD)
}
