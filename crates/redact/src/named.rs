//! Finds secrets by the name, option, command or element before them.

use std::ops::Range;

use crate::Secret;
use crate::names::{Sensitivity, marker_length};
use crate::values::{self, Before};

/// The longest name, in bytes, and the most white space around a separator. The limits keep the time linear
/// in a text of many names.
const MAX_NAME: usize = 64;
const MAX_GAP: usize = 8;
/// The distance behind a command in which its options are searched, in bytes.
const LINE: usize = 256;
/// Commands, and their option for a password.
const COMMANDS: [(&str, &str, Joined); 6] = [
    ("mysqldump", "-p", Joined::Always),
    ("mysqladmin", "-p", Joined::Always),
    ("mysql", "-p", Joined::Always),
    ("mariadb", "-p", Joined::Always),
    ("sshpass", "-p", Joined::Maybe),
    ("redis-cli", "-a", Joined::Maybe),
];
/// Words after an option in a sentence.
const PROSE: [&str; 10] =
    ["flag", "flags", "option", "options", "argument", "with", "from", "when", "instead", "must"];

/// The place of a value: always or maybe in the same word as its option.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Joined {
    Always,
    Maybe,
}

/// Returns the secrets, in order. `classify` judges names.
pub(crate) fn find(text: &str, classify: &dyn Fn(&str) -> Option<Sensitivity>) -> Vec<Secret> {
    let mut found = Vec::new();
    let mut from = 0;
    let mut last = b' ';
    for (at, byte) in text.bytes().enumerate() {
        let before = std::mem::replace(&mut last, byte);
        if at < from {
            continue;
        }
        let is_word = before.is_ascii_alphanumeric() || before == b'_' || before == b'-';
        let secret = match byte {
            b'=' | b':' => field(text, from, at, classify),
            b'-' if !is_word => option(text, at, classify).or_else(|| user(text, at)),
            b'<' => element(text, at, classify),
            b'm' | b's' | b'r' if !is_word => command(text, at),
            _ => None,
        };
        if let Some(secret) = secret.filter(|secret| !secret.is_empty() && secret.start >= from) {
            from = secret.end;
            found.push(("field", secret));
        }
    }
    found
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_.-".contains(c)
}

/// Returns the number of bytes of white space at the beginning.
fn gap(text: &str) -> usize {
    text.bytes().take(MAX_GAP).take_while(|c| [b' ', b'\t'].contains(c)).count()
}

/// `name = value`, `"name": "value"`, `name => value`, with the separator at `at`.
fn field(
    text: &str,
    from: usize,
    at: usize,
    classify: &dyn Fn(&str) -> Option<Sensitivity>,
) -> Option<Range<usize>> {
    let head = text.get(from..at)?;
    let head = if text.get(at..)?.starts_with('=') { head.strip_suffix(':').unwrap_or(head) } else { head };
    let spaces = head.bytes().rev().take(MAX_GAP).take_while(|c| [b' ', b'\t'].contains(c)).count();
    let head = head.get(..head.len() - spaces)?;
    let bare = head.strip_suffix(['"', '\'']).map(|bare| bare.trim_end_matches('\\'));
    let quoted = bare.is_some();
    let head = bare.unwrap_or(head);
    let length = head.chars().rev().take(MAX_NAME).take_while(|c| is_name(*c)).count();
    let name = head.get(head.len() - length..)?;
    let sensitivity = classify(name)?;
    let arrow = usize::from(text.get(at..)?.starts_with("=>"));
    let after = at + 1 + arrow;
    let spaced = gap(text.get(after..)?);
    let lower = name.to_ascii_lowercase();
    let before = Before {
        sensitivity,
        whole_line: lower.ends_with("cookie") || lower.ends_with("authorization"),
        spaced: spaced > 0,
        json: quoted,
    };
    let value = values::at(text, after + spaced, before)?;
    // A test runner reports a test that passed.
    let is_result = name == "PASS" && text.get(at..)?.starts_with(':') && value.start == after + spaced;
    (!is_result).then_some(value)
}

/// `--name value`, also as two strings of a list.
fn option(text: &str, at: usize, classify: &dyn Fn(&str) -> Option<Sensitivity>) -> Option<Range<usize>> {
    let rest = text.get(at..)?.strip_prefix("--")?;
    let length = rest.chars().take(MAX_NAME).take_while(|c| is_name(*c)).count();
    let name = rest.get(..length).filter(|name| !name.starts_with("no-"))?;
    let sensitivity = classify(name)?;
    let start = argument(text, at + 2 + length)?;
    let before = Before { sensitivity, whole_line: false, spaced: false, json: false };
    let value = values::at(text, start, before)?;
    let word = text.get(value.clone())?;
    let is_prose = word.starts_with('-') || PROSE.iter().any(|known| word.eq_ignore_ascii_case(known));
    (!is_prose).then_some(value)
}

/// Returns the start of the next word of a command, or of the next string of a list.
fn argument(text: &str, at: usize) -> Option<usize> {
    let rest = text.get(at..)?;
    let closed = rest.trim_start_matches('\\').strip_prefix(['"', '\'']);
    let mut next = closed.unwrap_or(rest);
    next = next.get(gap(next)..)?;
    next = next.strip_prefix(',').filter(|_| closed.is_some()).unwrap_or(next);
    next = next.get(gap(next)..)?;
    let start = text.len() - next.len();
    (start > at && !next.starts_with(['\n', '\r'])).then_some(start)
}

/// `-u user:password`, `--user user:password`.
fn user(text: &str, at: usize) -> Option<Range<usize>> {
    let rest = text.get(at..)?;
    let option = ["--proxy-user", "--user", "-u"].into_iter().find(|option| rest.starts_with(option))?;
    let after = at + option.len();
    let start = match text.get(after..)?.strip_prefix('=') {
        Some(_) => after + 1,
        None => argument(text, after)?,
    };
    let rest = text.get(start..)?;
    let bare = rest.trim_start_matches('\\');
    let quote = bare.chars().next().filter(|c| ['"', '\''].contains(c));
    let bare = if quote.is_some() { bare.get(1..)? } else { rest };
    let stop = |c: char| c.is_whitespace() || ['"', '\'', ':', '\\'].contains(&c);
    let length: usize = bare.chars().take(MAX_NAME).take_while(|c| !stop(*c)).map(char::len_utf8).sum();
    let name = bare.get(..length).filter(|name| !name.is_empty())?;
    let password = bare.get(length..)?.strip_prefix(':')?;
    let ends = |c: char| {
        quote.map_or(c.is_whitespace() || c == '"' || c == '\'', |q| c == q || c == '\n') || c == '\\'
    };
    let length = |password: &str| password.find(ends).unwrap_or(password.len());
    let seen = values::prefix(password, LINE);
    let value = seen.get(..length(seen))?;
    // A user and a group of a container, or an address.
    let no_secret = value.starts_with("//") || value == name || value.bytes().all(|c| c.is_ascii_digit());
    let start = text.len() - password.len();
    (!no_secret && values::is_one(value, Sensitivity::Secret, quote)).then(|| start..start + length(password))
}

/// `mysql -pPASSWORD`, `sshpass -p PASSWORD`, `redis-cli -a PASSWORD`.
fn command(text: &str, at: usize) -> Option<Range<usize>> {
    let rest = text.get(at..)?;
    let (name, option, joined) = COMMANDS.into_iter().find(|(name, ..)| {
        rest.strip_prefix(name).is_some_and(|rest| rest.starts_with([' ', '\t', '"', '\'', '\\']))
    })?;
    let mut end = (at + name.len() + LINE).min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let line = text.get(at + name.len()..end)?;
    let line = line.get(..line.find(['\n', '|', ';']).unwrap_or(line.len()))?;
    for (found, _) in line.match_indices(option) {
        let starts_word = line.get(..found).is_some_and(|head| head.ends_with([' ', '\t', '"', '\'']));
        let after = at + name.len() + found + option.len();
        let next = text.get(after..)?;
        let spaced = next.starts_with([' ', '\t', '\n'])
            || next.starts_with(['"', '\'', '\\', ',']) && argument(text, after).is_some();
        let start = match joined {
            _ if !starts_word => continue,
            Joined::Always if spaced || next.starts_with('-') => continue,
            Joined::Maybe if spaced => match argument(text, after) {
                Some(start) => start,
                None => continue,
            },
            _ => after,
        };
        let before =
            Before { sensitivity: Sensitivity::Secret, whole_line: false, spaced: false, json: false };
        if let Some(value) = values::at(text, start, before) {
            return Some(value);
        }
    }
    None
}

/// `<name>value</name>`.
fn element(text: &str, at: usize, classify: &dyn Fn(&str) -> Option<Sensitivity>) -> Option<Range<usize>> {
    let rest = text.get(at + 1..)?;
    let length = rest.chars().take(MAX_NAME).take_while(|c| is_name(*c) || *c == ':').count();
    let sensitivity = classify(rest.get(..length)?)?;
    let rest = rest.get(length..)?;
    let tag: usize =
        rest.chars().take(LINE).take_while(|c| !['<', '>'].contains(c)).map(char::len_utf8).sum();
    let value = rest.get(tag..)?.strip_prefix('>')?;
    let value =
        value.get(..value.find('<').filter(|end| value.get(*end..).is_some_and(|v| v.starts_with("</")))?)?;
    let start = text.len() - rest.len() + tag + 1;
    let is_one = marker_length(value) == 0 && values::is_one(value.trim(), sensitivity, Some('\''));
    is_one.then(|| start..start + value.len())
}
