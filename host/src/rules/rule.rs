//! One rule: conditions, exceptions, and an answer.

use std::time::Duration;

use serde_json::{Map, Value};

use super::conditions::{self, Conditions, Room};
use super::path::CallPath;
use super::read::{Read, Table};
use super::view::{Given, Line, View};
use crate::event::EventName;
use hookbox_system::{limits, text, units};

/// The keys of a rule beside those of its conditions, as they are shown.
const SHOWN: [&str; 5] = ["unless", "count", "answer", "reason", "suggest"];

/// The other keys.
const HIDDEN: [&str; 3] = ["name", "must_match", "must_pass"];

/// The largest number of times that a counter waits for.
const MAX_TIMES: usize = 1_000;

/// The longest name, in bytes: it is the key of the counter.
const MAX_NAME: usize = 200;

/// The longest reason or suggestion, in bytes.
const MAX_TEXT: usize = 4 << 10;

/// The answer of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Block,
    Ask,
    Warn,
    Inject,
}

impl Answer {
    /// The answers with their names.
    const ALL: [(&str, Self); 4] =
        [("block", Self::Block), ("ask", Self::Ask), ("warn", Self::Warn), ("inject", Self::Inject)];

    pub(super) fn as_str(self) -> &'static str {
        Self::ALL.into_iter().find(|(_, it)| *it == self).map_or("", |(name, _)| name)
    }
}

/// The events that one counter counts together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Per {
    /// Those of a conversation.
    Session,
    /// Those of a conversation with the same tool and input.
    Input,
    /// All of them.
    All,
}

/// The number of events after which a rule matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Count {
    pub(super) times: usize,
    pub(super) within: Duration,
    pub(super) per: Per,
}

/// A rule.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    pub(super) name: String,
    pub(super) line: usize,
    conditions: Conditions,
    unless: Vec<Conditions>,
    pub(super) count: Option<Count>,
    pub(super) answer: Answer,
    /// The text of the answer, with the suggestion.
    pub(super) text: String,
    /// Its table without name and examples.
    pub(super) shown: Map<String, Value>,
}

/// The part of an event that a rule matched.
#[derive(Debug)]
pub(super) struct Matched {
    /// The command, the path, or the tool.
    pub(super) on: String,
    /// The condition that names it and nothing wider, for an exception.
    pub(super) exception: Option<(&'static str, String)>,
}

/// A line that may have more commands: it was not read to its end, or computes the name of one.
#[derive(Debug)]
pub(super) struct Unread;

impl Rule {
    /// The keys of a rule.
    pub(super) fn keys() -> Vec<&'static str> {
        [&conditions::KEYS[..], &SHOWN, &HIDDEN].concat()
    }

    /// Reads a rule for this event. `number` is its number in the file.
    pub(super) fn read(
        table: &Table<'_, '_>,
        number: usize,
        event: &EventName,
        room: &mut Room,
    ) -> Read<Self> {
        let given = |key: &str| -> Read<Option<String>> {
            let Some(given) = table.text(key)? else { return Ok(None) };
            if given.text.trim().is_empty() || given.text.len() > MAX_TEXT {
                let message = format!("{key}: expected a text of at most {MAX_TEXT} bytes");
                return Err(table.lines.fault(&given.at, message));
            }
            Ok(Some(given.text.trim().to_owned()))
        };
        let answer = table.one_of("answer", &Answer::ALL)?;
        let answer = answer
            .ok_or_else(|| table.fault("the rule has no answer: expected block, ask, warn or inject"))?;
        let allows = event.allows();
        let refused = match answer {
            Answer::Block if !allows.block => Some("be blocked"),
            Answer::Ask if !allows.ask => Some("be asked about"),
            Answer::Inject if !allows.inject => Some("give the model text"),
            _ => None,
        };
        if let Some(refused) = refused {
            return Err(table.fault(format!("answer: {event} cannot {refused}")));
        }
        let reason = given("reason")?.ok_or_else(|| table.fault("the rule has no reason"))?;
        let text = match given("suggest")? {
            Some(suggest) => {
                let end = if reason.ends_with(['.', '!', '?', ':']) { "" } else { "." };
                format!("{reason}{end} Use `{suggest}` instead.")
            }
            None => reason,
        };
        let mut unless = Vec::new();
        for item in table.items("unless")? {
            let exception = Table::of(item, "unless", &conditions::KEYS, table.lines)?;
            let conditions = Conditions::read(&exception, event, true, room)?;
            if conditions.is_empty() {
                return Err(exception.fault("unless: expected a condition, found none"));
            }
            unless.push(conditions);
        }
        let name = given("name")?.unwrap_or_else(|| format!("rule {number}"));
        if name.len() > MAX_NAME {
            return Err(table.fault(format!("name: expected at most {MAX_NAME} bytes")));
        }
        Ok(Self {
            name,
            line: table.line(),
            conditions: Conditions::read(table, event, false, room)?,
            unless,
            count: count(table)?,
            answer,
            text,
            shown: table.shown(&[&conditions::KEYS[..], &SHOWN].concat()),
        })
    }

    /// Returns the command, path or tool at which the rule matches the event, without regard to its counter.
    pub(super) fn matches(&self, view: &View<'_>) -> Result<Option<Matched>, Unread> {
        if !self.conditions.hold(view) {
            return Ok(None);
        }
        let unless: Vec<&Conditions> = self.unless.iter().filter(|it| it.hold(view)).collect();
        let mut unread = false;
        // Each command and each path is judged on its own: one that an exception names does not excuse another.
        let mut commands: Vec<Option<Given<'_>>> = Vec::new();
        if self.conditions.has_command() || unless.iter().any(|it| it.has_command()) {
            let found = view.commands();
            unread = found.unread;
            for given in found.all.iter().map(Line::given) {
                if self.conditions.match_command(Some(&given)) {
                    commands.push(Some(given));
                } else {
                    unread |= self.conditions.may_match_command(&given);
                }
            }
        }
        if commands.is_empty() && !self.conditions.has_command() {
            commands.push(None);
        }
        let mut paths = Vec::new();
        if self.conditions.has_path() || unless.iter().any(|it| it.has_path()) {
            let found = view.paths().iter();
            paths.extend(found.filter(|it| self.conditions.match_path(Some(it), view)).map(Some));
        }
        if paths.is_empty() && !self.conditions.has_path() {
            paths.push(None);
        }
        for command in &commands {
            let command = command.as_ref();
            for path in &paths {
                let is_excepted = |it: &&Conditions| it.excuse_command(command) && it.match_path(*path, view);
                if !unless.iter().any(is_excepted) {
                    return Ok(Some(matched(command, *path, view)));
                }
            }
        }
        if unread { Err(Unread) } else { Ok(None) }
    }
}

/// Describes the part of an event that a rule matched.
fn matched(command: Option<&Given<'_>>, path: Option<&CallPath>, view: &View<'_>) -> Matched {
    let is_plain = |text: &str| !text.contains(['*', '?', '[', '{', '\\']);
    let exception = |key, text: String| is_plain(&text).then_some((key, text));
    match (command, path) {
        (Some(command), _) => {
            let line: Vec<String> = command.whole.iter().map(|word| text::shell_word(word)).collect();
            let exception = exception("command", line.join(" ")).filter(|_| !command.has_output);
            Matched { on: command.whole.join(" "), exception }
        }
        (None, Some(path)) => {
            Matched { on: path.path.clone(), exception: exception("path", path.path.clone()) }
        }
        (None, None) => match view.event.tool_call() {
            Some(call) => Matched { on: call.name.clone(), exception: exception("tool", call.name.clone()) },
            None => Matched { on: view.event.name().to_string(), exception: None },
        },
    }
}

/// Reads the counter of a rule.
fn count(table: &Table<'_, '_>) -> Read<Option<Count>> {
    let Some(value) = table.get("count") else { return Ok(None) };
    let count = Table::of(value, "count", &["times", "within", "per"], table.lines)?;
    let times: Option<usize> = count.typed("times", "a whole number")?;
    let times = times.filter(|it| (2..=MAX_TIMES).contains(it));
    let expected = format!("count: expected times, a number from 2 to {MAX_TIMES}");
    let times = times.ok_or_else(|| count.fault(expected))?;
    let within = count.text("within")?.and_then(|it| units::parse_duration(it.text).ok());
    let expected = "count: expected within, a time from \"1s\" to \"1440m\"";
    let within = within.filter(|it| (Duration::from_secs(1)..=limits::DAY).contains(it));
    let within = within.ok_or_else(|| count.fault(expected))?;
    let per = [("session", Per::Session), ("input", Per::Input), ("all", Per::All)];
    Ok(Some(Count { times, within, per: count.one_of("per", &per)?.unwrap_or(Per::Session) }))
}

/// Returns a text of the file for a person.
pub(super) fn shown(text: &str) -> String {
    text::escape(text, 200)
}
