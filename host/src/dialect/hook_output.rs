//! Reads the JSON object that a hook prints. A block counts also beside fields that cannot be read.

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::dialect::reply::malformed;
use crate::hook::HookError;
use crate::json;
use crate::text;

/// The longest excerpt of the output in a message, in bytes.
const EXCERPT: usize = 80;

/// The number of unreadable fields that are named one by one.
const MAX_FAULTS: usize = 8;

/// The readable fields of the object that a hook printed.
pub struct HookOutput {
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
        let text = text.trim();
        if text.is_empty() {
            return Ok(None);
        }
        if text.starts_with('\u{feff}') {
            return Err(malformed("printed a byte order mark before its answer"));
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
                    if self.faults.len() < MAX_FAULTS {
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

/// Returns the beginning of the output, escaped.
pub fn excerpt(stdout: &[u8]) -> String {
    text::escape(&String::from_utf8_lossy(stdout.get(..1024).unwrap_or(stdout)), EXCERPT)
}
