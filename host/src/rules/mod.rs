//! Rules as hooks: `NAME.rules.toml`, data without code, that is matched in this process.
//!
//! A file is for one event. Its rules have conditions, exceptions, an answer, and examples of their own: a file whose
//! examples fail is not used. Commands are matched by their words, as the shell reader of hookbox finds them.
//!
//! ```toml
//! on_failure = "block"
//!
//! [[rule]]
//! command = "git push"
//! with = ["--force", "-f"]
//! answer = "block"
//! reason = "A forced push can lose the work of others."
//! must_match = ["sudo git push -f origin"]
//! must_pass = ["git push"]
//! ```

mod command;
mod conditions;
mod counter;
mod example;
mod exception;
mod hook;
mod path;
mod policy;
mod read;
mod rule;
#[cfg(test)]
mod tests;
mod view;

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value};
use toml::de::DeTable;

pub(crate) use self::counter::Counters;
pub use self::exception::{Exception, exception};
pub use self::hook::RulesHook;

use self::conditions::Room;
use self::example::MAX_EXAMPLES;
use self::read::{Fault, Lines, Read, Table, wrong};
use self::rule::{Answer, Rule};
use crate::event::EventName;
use crate::hook::{DEFAULT_PRIORITY, Digest, Manifest, OnFailure, Subscription};
use crate::outcome::Answers;
use hookbox_system::text;

/// The end of the name of a rules file.
pub const ENDING: &str = ".rules.toml";

/// Returns true if a file has nearly the name of a rules file, such as `x.rule.toml` or `X.RULES.TOML`.
pub(crate) fn is_nearly_rules(file: &str) -> bool {
    let lower = file.to_ascii_lowercase();
    let end = lower.rmatch_indices('.').nth(1).and_then(|(at, _)| lower.get(at..)).unwrap_or_default();
    !file.ends_with(ENDING)
        && (lower.ends_with("rules.toml") || !end.is_empty() && text::distance(end, ENDING) <= 2)
}

/// The largest rules file, in bytes.
pub const MAX_FILE: u64 = 256 << 10;

/// The number of rules of a file.
const MAX_RULES: usize = 256;

/// The keys at the top of a file.
const KEYS: [&str; 5] = ["event", "description", "priority", "on_failure", "rule"];

/// A rules file that was read, and whose examples hold. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Rules {
    manifest: Manifest,
    digest: Digest,
    size: usize,
    rules: Arc<[Rule]>,
}

/// A rules file that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct RulesError {
    /// The line of the fault.
    pub line: usize,
    /// The fault. Text of the file in it is escaped.
    pub message: String,
    /// The failure policy that the file asks for. One that cannot be read is the stricter one.
    pub on_failure: Option<OnFailure>,
}

impl Rules {
    /// Reads the bytes of a rules file, and checks its examples.
    ///
    /// # Errors
    ///
    /// The first fault.
    pub fn read(bytes: &[u8]) -> Result<Self, RulesError> {
        let text = String::from_utf8_lossy(bytes);
        let lines = Lines::of(&text);
        let (document, faults) = DeTable::parse_recoverable(&text);
        let policy = Some(policy::of_broken(document.get_ref(), !faults.is_empty()));
        let fault = |Fault { line, message }| RulesError { line, message, on_failure: policy };
        if let Err(error) = str::from_utf8(bytes) {
            let at = error.valid_up_to()..error.valid_up_to();
            return Err(fault(lines.fault(&at, "is not UTF-8 text")));
        }
        if bytes.len() as u64 > MAX_FILE {
            return Err(fault(lines.fault(&(0..0), format!("the file has more than {MAX_FILE} bytes"))));
        }
        if let Some(error) = faults.first() {
            let message = format!("is not TOML: {}", text::escape(error.message(), 200));
            return Err(fault(lines.fault(&error.span().unwrap_or_default(), message)));
        }
        let (manifest, rules) = read(document.get_ref(), &lines).map_err(fault)?;
        Ok(Self { manifest, digest: Digest::of(bytes), size: bytes.len(), rules: rules.into() })
    }

    /// Returns its subscription, answers and failure policy.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Returns the digest of its bytes.
    pub fn digest(&self) -> &Digest {
        &self.digest
    }

    /// Returns its size in bytes.
    pub fn size(&self) -> usize {
        self.size
    }

    fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Returns the name, the line and the table of each rule, without its name and examples. They are not escaped.
    pub fn tables(&self) -> impl Iterator<Item = (&str, usize, &Map<String, Value>)> {
        self.rules.iter().map(|rule| (rule.name.as_str(), rule.line, &rule.shown))
    }
}

fn read(document: &DeTable<'_>, lines: &Lines) -> Read<(Manifest, Vec<Rule>)> {
    let top = Table::of_entries(document, 0..0, &KEYS, lines)?;
    let event = match top.text("event")? {
        None => EventName::BeforeToolCall,
        Some(given) => given.text.parse().map_err(|error: crate::event::UnknownEvent| {
            lines.fault(
                &given.at,
                format!("event: {}{}", text::escape(&error.to_string(), 200), text::or_meant(error.nearest)),
            )
        })?,
    };
    let policies = [("pass", OnFailure::Pass), ("block", OnFailure::Block)];
    let on_failure = top.one_of("on_failure", &policies)?;
    let priority = top.typed("priority", "a whole number of 32 bits")?;
    let items = top.items("rule")?;
    if items.is_empty() {
        return Err(top.fault("has no rules: expected [[rule]]"));
    }
    if items.len() > MAX_RULES {
        return Err(top.fault(format!("has {} rules, more than {MAX_RULES}", items.len())));
    }
    let (mut rules, mut names): (Vec<Rule>, _) = (Vec::new(), BTreeSet::new());
    let (mut room, mut examples) = (Room::WHOLE, MAX_EXAMPLES);
    for (number, item) in (1..).zip(items) {
        if !item.get_ref().is_table() {
            return Err(wrong(lines, "rule", "a table, as in [[rule]]", item));
        }
        let table = Table::of(item, "rule", &Rule::keys(), lines)?;
        let rule = Rule::read(&table, number, &event, &mut room)?;
        if !names.insert(rule.name.clone()) {
            let message = format!("name: two rules are called {:?}", rule::shown(&rule.name));
            return Err(table.fault(message));
        }
        example::check(&rule, &event, &table, &mut examples)?;
        rules.push(rule);
    }
    let description = match top.text("description")? {
        Some(given) => given.text.to_owned(),
        None => rules.iter().map(|rule| rule.name.as_str()).collect::<Vec<_>>().join(", "),
    };
    let subscription =
        Subscription { priority: priority.unwrap_or(DEFAULT_PRIORITY), ..Subscription::to(event) };
    let manifest = Manifest {
        name: String::new(),
        version: String::new(),
        description,
        subscriptions: vec![subscription],
        answers: Answers { inject: rules.iter().any(|it| it.answer == Answer::Inject), ..Answers::NONE },
        capabilities: Vec::new(),
        on_failure,
        settings: None,
    };
    Ok((manifest, rules))
}
