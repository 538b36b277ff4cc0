//! Finds secrets by the name, option, command or element before them.

use std::ops::Range;

use crate::names::{Sensitivity, marker_length};
use crate::values::{self, Before, LOOK, MAX_GAP, argument, gap, is_name, is_prose, is_strong};
use crate::{Secret, commands};

/// The longest name, in bytes. The limit keeps the time linear in a text of many names.
const MAX_NAME: usize = 64;
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
            b'\'' => sql(text, from, at),
            b'|' => cell(text, from, at, classify),
            _ if byte.is_ascii_alphanumeric() && !is_word => commands::find(text, at),
            _ => None,
        };
        let begins_line = at == 0 || before == b'\n';
        let secret = secret.or_else(|| if begins_line { own_line(text, at, classify) } else { None });
        if let Some(secret) = secret.filter(|secret| !secret.is_empty() && secret.start >= from) {
            from = secret.end;
            found.push(("field", secret));
        }
    }
    found
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
    let mut sensitivity = classify(name)?;
    let arrow = usize::from(text.get(at..)?.starts_with("=>"));
    let after = at + 1 + arrow;
    let spaced = gap(text.get(after..)?);
    let lower = name.to_ascii_lowercase();
    let line = values::prefix(text.get(after..)?, LOOK).split('\n').next()?;
    if lower.ends_with("cookie") && !line.contains('=') {
        // An option for cookies: `cookie: strict`.
        sensitivity = Sensitivity::Maybe;
    }
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
    (!is_prose(text.get(value.clone())?)).then_some(value)
}

/// `-u user:password`, `--user user:password`, `-U user%password`.
fn user(text: &str, at: usize) -> Option<Range<usize>> {
    let rest = text.get(at..)?;
    let option =
        ["--proxy-user", "--user", "-u", "-U"].into_iter().find(|option| rest.starts_with(option))?;
    let separator = if option == "-U" { '%' } else { ':' };
    let after = at + option.len();
    let start = match text.get(after..)?.strip_prefix('=') {
        Some(_) => after + 1,
        None => argument(text, after).or_else(|| (option == "-u").then_some(after))?,
    };
    // `-uNAME:…` may be another option.
    let sensitivity = if start == after { Sensitivity::Maybe } else { Sensitivity::Secret };
    let rest = text.get(start..)?;
    let bare = rest.trim_start_matches('\\');
    let quote = bare.chars().next().filter(|c| ['"', '\''].contains(c));
    let bare = if quote.is_some() { bare.get(1..)? } else { rest };
    let stop = |c: char| c.is_whitespace() || ['"', '\'', separator, '\\'].contains(&c);
    let length: usize = bare.chars().take(MAX_NAME).take_while(|c| !stop(*c)).map(char::len_utf8).sum();
    let name = bare.get(..length).filter(|name| !name.is_empty())?;
    let password = bare.get(length..)?.strip_prefix(separator)?;
    let ends = |c: char| {
        quote.map_or(c.is_whitespace() || c == '"' || c == '\'', |q| c == q || c == '\n') || c == '\\'
    };
    let length = |password: &str| password.find(ends).unwrap_or(password.len());
    let seen = values::prefix(password, LOOK);
    let value = seen.get(..length(seen))?;
    // A user and a group of a container, or an address.
    let no_secret = value.starts_with("//") || value == name || value.bytes().all(|c| c.is_ascii_digit());
    let start = text.len() - password.len();
    (!no_secret && values::is_one(value, sensitivity, quote)).then(|| start..start + length(password))
}

/// `<name>value</name>`.
fn element(text: &str, at: usize, classify: &dyn Fn(&str) -> Option<Sensitivity>) -> Option<Range<usize>> {
    let rest = text.get(at + 1..)?;
    let length = rest.chars().take(MAX_NAME).take_while(|c| is_name(*c) || *c == ':').count();
    let sensitivity = classify(rest.get(..length)?)?;
    let rest = rest.get(length..)?;
    let tag: usize =
        rest.chars().take(LOOK).take_while(|c| !['<', '>'].contains(c)).map(char::len_utf8).sum();
    let value = rest.get(tag..)?.strip_prefix('>')?;
    let value =
        value.get(..value.find('<').filter(|end| value.get(*end..).is_some_and(|v| v.starts_with("</")))?)?;
    let start = text.len() - rest.len() + tag + 1;
    let is_one = marker_length(value) == 0 && values::is_one(value.trim(), sensitivity, Some('\''));
    is_one.then(|| start..start + value.len())
}

/// `password 'value'`, `identified by 'value'`, with the quote at `at`.
fn sql(text: &str, from: usize, at: usize) -> Option<Range<usize>> {
    let head = text.get(from..at)?;
    let bare = head.trim_end_matches([' ', '\t']);
    let ends = |end: &&str| {
        let start = bare.len().checked_sub(end.len())?;
        bare.get(start..).filter(|it| it.eq_ignore_ascii_case(end))
    };
    ["password", "identified by"].iter().find_map(ends).filter(|_| bare.len() < head.len())?;
    let before = Before { sensitivity: Sensitivity::Secret, whole_line: false, spaced: true, json: false };
    values::at(text, at, before)
}

/// `| name | value |`, with the middle bar at `at`.
fn cell(
    text: &str,
    from: usize,
    at: usize,
    classify: &dyn Fn(&str) -> Option<Sensitivity>,
) -> Option<Range<usize>> {
    let head = text.get(from..at)?.trim_end_matches([' ', '\t']);
    let length = head.bytes().rev().take(MAX_NAME).take_while(|c| is_name(char::from(*c))).count();
    let (before, name) = head.split_at_checked(head.len() - length)?;
    let first = before.trim_end_matches([' ', '\t']).bytes().last();
    classify(name).filter(|_| first.is_none_or(|c| b"|\n".contains(&c)))?;
    let cell = values::prefix(text.get(at + 1..)?, LOOK);
    let cell = cell.get(..cell.find(['|', '\n'])?)?;
    let start = at + 1 + cell.len() - cell.trim_start().len();
    is_strong(cell.trim()).then(|| start..start + cell.trim().len())
}

/// A name and its value as the only words of a line, or as two lines.
fn own_line(text: &str, at: usize, classify: &dyn Fn(&str) -> Option<Sensitivity>) -> Option<Range<usize>> {
    let seen = values::prefix(text.get(at..)?, LOOK);
    let (line, below) = seen.split_once('\n').unwrap_or((seen, ""));
    let words: Vec<&str> = line.split_whitespace().take(3).collect();
    let class = |name: &str| classify(name).filter(|_| name.chars().all(|c| is_name(c) || c == ' '));
    let (start, value) = match words.as_slice() {
        [name, value] if is_strong(value) && class(name).is_some() => {
            (line.trim_end().len() - value.len(), *value)
        }
        [_] | [_, _] if class(line.trim().trim_end_matches([':', '='])) == Some(Sensitivity::Secret) => {
            let value = below.split('\n').next()?;
            (line.len() + 1 + value.len() - value.trim_start().len(), value.trim())
        }
        _ => return None,
    };
    is_strong(value).then(|| at + start..at + start + value.len())
}
