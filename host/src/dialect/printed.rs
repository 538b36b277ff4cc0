//! The one JSON object that a hook printed, as far as it can be read: a block is found also beside what cannot.

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::dialect::reply::malformed;
use crate::hook::HookError;
use crate::json;
use crate::text;

/// How much of what was printed a message repeats, in bytes.
const EXCERPT: usize = 80;

/// How many fields that cannot be read are named one by one.
const MAX_FAULTS: usize = 8;

/// The object that a hook printed, as far as it can be read.
pub(crate) struct Printed {
    pub(crate) object: Map<String, Value>,
    /// What is said of the rest beside a block.
    pub(crate) faults: Vec<String>,
    /// The failure that the rest is without a block.
    pub(crate) malformed: Option<HookError>,
    /// One of its fields is a block, also where another one of the same name is none.
    pub(crate) blocks: bool,
}

impl Printed {
    /// Reads the one object that stands there; `None` for blank output. `blocks` says whether a field alone is a block.
    ///
    /// # Errors
    ///
    /// `malformed_output` for anything but exactly one object.
    pub(crate) fn object(
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
                malformed(format!("printed JSON that is no object: {}", excerpt(stdout)))
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
                    // A string is still of use: half an emoji is no reason to lose why a call is blocked.
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
                // Whichever of them another reader would take, one of them blocks.
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

/// The beginning of what was printed, safe to show.
pub(crate) fn excerpt(stdout: &[u8]) -> String {
    text::escape(&String::from_utf8_lossy(stdout.get(..1024).unwrap_or(stdout)), EXCERPT)
}
