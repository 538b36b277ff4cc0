//! The report: one HTML file with the records of the journal, to be opened in a browser.
//!
//! The file needs no network, and runs no other script than its own. Text of a record is data in it, never markup.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{self, Write};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use hookbox::prefix;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::journal::{Stored, StoredHook};
use hookbox_system::limits;

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The most events in one block of data: the script unpacks a whole block to show one of its records.
const MAX_EVENTS: usize = 250;

/// The size at which a block of data ends, in bytes of its records.
const MAX_BLOCK: usize = 1 << 20;

/// The longest record that is kept as it is, in bytes. Some tool outputs have megabytes.
const MAX_RECORD: usize = 256 << 10;

/// The options of a report.
#[derive(Clone, Debug)]
pub struct Options {
    /// The version of the program, to be shown.
    pub version: String,
    /// The time at which the report was made.
    pub made: Timestamp,
    /// The first time that was asked for, to be shown.
    pub since: Option<Timestamp>,
}

/// The events in a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Counts {
    /// All events.
    pub events: u64,
    /// Blocked events.
    pub blocked: u64,
    /// Events about which the user was asked.
    pub asked: u64,
    /// Events that a hook changed.
    pub changed: u64,
    /// Events in which a hook failed.
    pub failed: u64,
    /// Records without a time or an event. They are left out.
    pub unread: u64,
}

/// Writes the report of these records, and of a backtest's result (`hookbox backtest --json`).
///
/// It writes block by block. Memory is bounded by a block of text, one record, and the bounds of the rows.
///
/// # Errors
///
/// Those of `out`.
pub fn write(
    out: &mut impl Write,
    records: impl Iterator<Item = Value>,
    backtest: Option<Value>,
    options: &Options,
) -> io::Result<Counts> {
    let page = PAGE.replacen("{{policy}}", &policy(), 1).replacen("{{style}}", STYLE, 1);
    let (before, after) = page.split_once("{{data}}").unwrap_or((&page, ""));
    out.write_all(before.as_bytes())?;
    let mut rows = Rows::default();
    let mut records_text = String::new();
    for record in records {
        if !rows.add(&record) {
            continue;
        }
        records_text.push_str(&text_of(record));
        records_text.push('\n');
        if rows.len() >= MAX_EVENTS || records_text.len() >= MAX_BLOCK {
            block(out, &mut rows, &mut records_text)?;
        }
    }
    block(out, &mut rows, &mut records_text)?;
    let (counts, hooks) = rows.finish();
    let summary = json!({
        "version": options.version,
        "made": options.made.as_millisecond(),
        "since": options.since.map(Timestamp::as_millisecond),
        "unread": counts.unread,
        "hooks": hooks,
        "backtest": backtest,
    });
    writeln!(out, "<script type=\"application/json\" id=\"summary-data\">{}</script>", in_script(&summary))?;
    out.write_all(after.replacen("{{script}}", SCRIPT, 1).as_bytes())?;
    out.flush()?;
    Ok(counts)
}

/// Writes a block: the rows of the list, and the records as compressed lines. Leaves both empty.
fn block(out: &mut impl Write, rows: &mut Rows, records: &mut String) -> io::Result<()> {
    if rows.len() == 0 {
        return Ok(());
    }
    writeln!(out, "<script type=\"application/json\" class=\"rows\">{}</script>", in_script(&rows.take()))?;
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::default());
    packed.write_all(records.as_bytes())?;
    let packed = BASE64_STANDARD.encode(packed.finish()?);
    records.clear();
    writeln!(out, "<script type=\"text/plain\" class=\"records\">{packed}</script>")
}

/// Returns the record as one line of JSON; if it is too long, with its long texts and lists cut.
fn text_of(mut record: Value) -> String {
    let text = record.to_string();
    if text.len() <= MAX_RECORD {
        return text;
    }
    cut(&mut record);
    let shorter = record.to_string();
    if shorter.len() <= MAX_RECORD {
        return shorter;
    }
    json!({"id": record.get("id"), "time": record.get("time"), "verdict": record.get("verdict"), "cut": true})
        .to_string()
}

fn cut(value: &mut Value) {
    match value {
        Value::String(text) if text.len() > limits::MESSAGE => *text = short(text, limits::MESSAGE),
        Value::Array(values) => {
            values.truncate(limits::MESSAGE);
            values.iter_mut().for_each(cut);
        }
        Value::Object(fields) => {
            let is_record = fields.contains_key("verdict");
            fields.values_mut().for_each(cut);
            if is_record {
                fields.insert("cut".to_owned(), true.into());
            }
        }
        _ => {}
    }
}

/// Returns the value as JSON in which no tag or comment of HTML can begin or end.
fn in_script(value: &Value) -> String {
    let json = value.to_string();
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            // Outside of strings, JSON has none of these.
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out
}

/// Returns the Content-Security-Policy: this style and this script, and nothing else from anywhere. Text never becomes
/// markup, also not by a mistake in the script.
fn policy() -> String {
    let hash = |text: &str| format!("'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(text)));
    format!(
        "default-src 'none'; script-src {}; style-src {}; base-uri 'none'; form-action 'none'; \
         require-trusted-types-for 'script'; trusted-types 'none'",
        hash(SCRIPT),
        hash(STYLE)
    )
}

/// The most different names in a report. Names from outside, such as those of tools, have no bound of their own.
const MAX_WORDS: usize = 1 << 16;

/// The longest text in a row, in bytes.
const MAX_TEXT: usize = 240;

/// The rows that are not yet written, and all that is gathered over all rows.
#[derive(Default)]
struct Rows {
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
    fn len(&self) -> usize {
        self.rows.len()
    }

    /// Adds the row of a record. Returns false if it has none: it is not a record.
    fn add(&mut self, record: &Value) -> bool {
        let Some(row) = self.row(record) else {
            self.counts.unread += 1;
            return false;
        };
        self.rows.push(row);
        true
    }

    /// Returns the rows, and the words that are new in them.
    fn take(&mut self) -> Value {
        json!({"words": std::mem::take(&mut self.words.new), "rows": std::mem::take(&mut self.rows)})
    }

    /// Returns the counts, and the facts about each hook.
    fn finish(self) -> (Counts, Value) {
        let facts = |(name, it): (&u32, &HookFacts)| {
            json!([name, it.kind, it.tier, it.digest, it.is_trusted, it.rights])
        };
        (self.counts, self.hooks.iter().map(facts).collect())
    }

    fn row(&mut self, record: &Value) -> Option<Value> {
        let record = Stored::of(record);
        let time: Timestamp = record.time.parse().ok()?;
        let (report, decision) = (&record.report, record.decision());
        if record.event.is_empty() {
            return None;
        }
        self.count(decision.verdict, &report.hooks);
        let words = &mut self.words;
        let mut flat = Vec::new();
        let (mut denied, mut shadow) = (Vec::new(), Vec::new());
        for hook in &report.hooks {
            let name = words.of(if hook.name.is_empty() { "?" } else { &hook.name });
            flat.extend([
                json!(name),
                json!(words.of(&hook.status)),
                json!(words.of(hook.cause.as_deref().unwrap_or_default())),
                json!(hook.duration_us),
                json!(hook.fuel.unwrap_or_default()),
                json!(hook.memory_peak_bytes.unwrap_or_default()),
                json!(hook.has_failed()),
            ]);
            for it in &hook.denied {
                denied.push(json!([name, words.of(&it.right), short(&it.fix, MAX_TEXT)]));
            }
            if let Some(would) = &hook.would {
                shadow.push(json!([name, words.of(would), short(hook.message(), MAX_TEXT)]));
            }
            let facts = HookFacts {
                kind: words.of(&hook.kind),
                tier: words.of(&hook.tier),
                digest: short(hook.digest.as_deref().unwrap_or_default(), MAX_TEXT),
                is_trusted: hook.trusted.unwrap_or(true),
                rights: hook.rights.iter().take(limits::NAMED).map(|it| words.of(it)).collect(),
            };
            self.hooks.insert(name, facts);
        }
        Some(json!([
            time.as_millisecond(),
            short(&record.id, MAX_TEXT),
            decision.verdict,
            words.of(record.text("event")),
            words.of(record.agent.as_deref().unwrap_or_default()),
            words.of(record.text("tool_name")),
            report.duration_us,
            short(&record.subject(), MAX_TEXT),
            words.of(decision.by),
            short(decision.why, MAX_TEXT),
            flat,
            denied,
            shadow,
        ]))
    }

    fn count(&mut self, verdict: &str, hooks: &[StoredHook]) {
        let counts = &mut self.counts;
        counts.events += 1;
        counts.failed += u64::from(hooks.iter().any(StoredHook::has_failed));
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
fn short(text: &str, max: usize) -> String {
    let kept = prefix(text, max);
    if kept.len() == text.len() { text.to_owned() } else { format!("{kept}…") }
}

#[cfg(test)]
mod tests;
