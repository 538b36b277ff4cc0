//! The row of an event in the list of the page: short, and without the parts that only the whole record shows.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use hookbox::prefix;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::Counts;
use crate::journal::{Decision, decision, has_failed, subject};

/// The most different names in a report. Names from outside, such as those of tools, have no bound of their own.
const MAX_WORDS: usize = 1 << 16;

/// The most hooks whose rights are listed, and the most rights of one of them.
const MAX_HOOKS: usize = 4_096;
const MAX_RIGHTS: usize = 64;

/// The longest text in a row, in bytes.
const MAX_TEXT: usize = 240;

/// The rows that are not yet written, and all that is gathered over all rows.
#[derive(Default)]
pub(super) struct Rows {
    rows: Vec<Value>,
    words: Words,
    counts: Counts,
    hooks: BTreeMap<u32, HookFacts>,
}

/// The newest facts about a hook that do not change with each event.
struct HookFacts {
    kind: u32,
    tier: u32,
    digest: String,
    is_trusted: bool,
    rights: BTreeSet<u32>,
}

impl Rows {
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Adds the row of a record. Returns false if it has none: it is not a record.
    pub(super) fn add(&mut self, record: &Value) -> bool {
        let Some(row) = self.row(record) else {
            self.counts.unread += 1;
            return false;
        };
        self.rows.push(row);
        true
    }

    /// Returns the rows, and the words that are new in them.
    pub(super) fn take(&mut self) -> Value {
        json!({"words": std::mem::take(&mut self.words.new), "rows": std::mem::take(&mut self.rows)})
    }

    /// Returns the counts, and the facts about each hook.
    pub(super) fn finish(self) -> (Counts, Value) {
        let facts = |(name, it): (&u32, &HookFacts)| {
            json!([name, it.kind, it.tier, it.digest, it.is_trusted, it.rights])
        };
        (self.counts, self.hooks.iter().map(facts).collect())
    }

    fn row(&mut self, record: &Value) -> Option<Value> {
        let time: Timestamp = text(record, "time")?.parse().ok()?;
        let event = record.get("event")?.as_object()?;
        let report = record.get("report");
        let hooks = report.and_then(|it| it.get("hooks")?.as_array()).map_or(&[][..], Vec::as_slice);
        let Decision { verdict, by, why } = decision(record);
        self.count(verdict, hooks);
        let words = &mut self.words;
        let mut flat = Vec::new();
        let (mut denied, mut shadow) = (Vec::new(), Vec::new());
        for hook in hooks {
            let name = words.of(text(hook, "name").unwrap_or("?"));
            flat.extend([
                json!(name),
                json!(words.of(text(hook, "status").unwrap_or_default())),
                json!(words.of(text(hook, "cause").unwrap_or_default())),
                json!(number(hook, "duration_us")),
                json!(number(hook, "fuel")),
                json!(number(hook, "memory_peak_bytes")),
                json!(has_failed(hook)),
            ]);
            for it in list(hook, "denied") {
                let (right, fix) =
                    (text(it, "right").unwrap_or_default(), text(it, "fix").unwrap_or_default());
                denied.push(json!([name, words.of(right), short(fix, MAX_TEXT)]));
            }
            if let Some(would) = text(hook, "would") {
                let message = text(hook, "message").unwrap_or_default();
                shadow.push(json!([name, words.of(would), short(message, MAX_TEXT)]));
            }
            if self.hooks.len() < MAX_HOOKS || self.hooks.contains_key(&name) {
                let facts = HookFacts {
                    kind: words.of(text(hook, "kind").unwrap_or_default()),
                    tier: words.of(text(hook, "tier").unwrap_or_default()),
                    digest: short(text(hook, "digest").unwrap_or_default(), MAX_TEXT),
                    is_trusted: hook.get("trusted").and_then(Value::as_bool).unwrap_or(true),
                    rights: list(hook, "rights")
                        .iter()
                        .filter_map(Value::as_str)
                        .take(MAX_RIGHTS)
                        .map(|it| words.of(it))
                        .collect(),
                };
                self.hooks.insert(name, facts);
            }
        }
        Some(json!([
            time.as_millisecond(),
            short(text(record, "id").unwrap_or_default(), MAX_TEXT),
            verdict,
            words.of(event.get("event").and_then(Value::as_str).unwrap_or_default()),
            words.of(text(record, "agent").unwrap_or_default()),
            words.of(event.get("tool_name").and_then(Value::as_str).unwrap_or_default()),
            report.map_or(0, |it| number(it, "duration_us")),
            short(&subject(event), MAX_TEXT),
            words.of(by),
            short(why, MAX_TEXT),
            flat,
            denied,
            shadow,
        ]))
    }

    fn count(&mut self, verdict: &str, hooks: &[Value]) {
        let counts = &mut self.counts;
        counts.events += 1;
        counts.failed += u64::from(hooks.iter().any(has_failed));
        match verdict {
            "blocked" => counts.blocked += 1,
            "asked" => counts.asked += 1,
            "changed" => counts.changed += 1,
            _ => {}
        }
    }
}

/// The names in the rows, each written once. A row has their numbers.
struct Words {
    known: HashMap<String, u32>,
    new: Vec<String>,
}

impl Default for Words {
    fn default() -> Self {
        let mut words = Self { known: HashMap::new(), new: Vec::new() };
        words.of("");
        words
    }
}

impl Words {
    /// Returns the number of a word; 0, that of no word, if there are too many.
    fn of(&mut self, word: &str) -> u32 {
        let word = short(word, MAX_TEXT);
        if let Some(number) = self.known.get(&word) {
            return *number;
        }
        match u32::try_from(self.known.len()) {
            Ok(number) if self.known.len() < MAX_WORDS => {
                self.known.insert(word.clone(), number);
                self.new.push(word);
                number
            }
            _ => 0,
        }
    }
}

/// Returns the text, cut to this many bytes.
pub(super) fn short(text: &str, max: usize) -> String {
    let kept = prefix(text, max);
    if kept.len() == text.len() { text.to_owned() } else { format!("{kept}…") }
}

fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key)?.as_str()
}

fn number(value: &Value, key: &str) -> u64 {
    value.get(key).and_then(Value::as_u64).unwrap_or_default()
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}
