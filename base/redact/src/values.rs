//! Finds the end of a value, and decides whether the value may be a secret.

use std::ops::Range;

use crate::names::{Sensitivity, marker_length};

/// Facts about a value that are known before it is read.
#[derive(Clone, Copy)]
pub(crate) struct Before {
    /// The class of its name.
    pub(crate) sensitivity: Sensitivity,
    /// True if the value ends with the line, as in a header.
    pub(crate) whole_line: bool,
    /// True if white space precedes the value, as in code.
    pub(crate) spaced: bool,
    /// True if the name is quoted, as in JSON.
    pub(crate) json: bool,
}

/// Words of source code that are not secrets: types, nothing, variables.
const NOT_A_VALUE: &str = "string str &str number integer bool boolean bytes none null nil true false undefined required \
    optional option self this text object char void default token password secret passwd inherit";
/// The shortest value that counts as a secret, in characters.
const MIN_VALUE: usize = 4;
/// The shortest value that looks like a secret by itself, in characters.
const MIN_PERHAPS: usize = 8;
/// The part of a value that is examined, in bytes. The limit keeps the time linear in a text of many names.
pub(crate) const LOOK: usize = 256;
/// The longest name that ends the value before it, and of a program, in bytes.
pub(crate) const MAX_NEXT: usize = 32;
/// The most white space around a separator. The limit keeps the time linear.
pub(crate) const MAX_GAP: usize = 8;
/// Words after an option in a sentence.
const PROSE: &str = "flag flags option options argument with from when instead must";

/// The opening of a value: a quote and the backslashes before it, a list or an object.
#[derive(Clone, Copy, Default)]
struct Opening {
    length: usize,
    quote: Option<char>,
    backslashes: usize,
    container: bool,
}

/// Returns the secret at `at`, directly behind its name.
pub(crate) fn at(text: &str, at: usize, before: Before) -> Option<Range<usize>> {
    let rest = text.get(at..)?;
    if let Some(block) = block(rest) {
        return Some(at + block.start..at + block.end);
    }
    let opening = opening(rest, before);
    let start = at + opening.length;
    let value = text.get(start..)?;
    let seen = prefix(value, LOOK);
    if opening.container {
        let marked = marker_length(seen) > 0 || before.sensitivity == Sensitivity::Maybe;
        return (!marked).then(|| start..start + container_end(rest, opening.length));
    }
    let begins = seen.get(..end(seen, opening, before.whole_line))?;
    let first = if before.whole_line { begins.split_whitespace().next().unwrap_or(begins) } else { begins };
    let is_word = before.spaced
        && before.sensitivity == Sensitivity::Token
        && opening.quote.is_none()
        && begins.chars().all(|c| c.is_ascii_alphabetic() || "_.:?!".contains(c));
    if is_word || is_word_of_code(first) || !is_one(begins, before.sensitivity, opening.quote) {
        return None;
    }
    Some(start..start + end(value, opening, before.whole_line))
}

/// Returns the first bytes of a text, whole characters only.
pub(crate) fn prefix(text: &str, max: usize) -> &str {
    text.get(..text.floor_char_boundary(max)).unwrap_or_default()
}

pub(crate) fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_.-".contains(c)
}

/// Returns the number of bytes of white space at the beginning.
pub(crate) fn gap(text: &str) -> usize {
    text.bytes().take(MAX_GAP).take_while(|c| [b' ', b'\t'].contains(c)).count()
}

/// Returns the start of the next word of a command, or of the next string of a list.
pub(crate) fn argument(text: &str, at: usize) -> Option<usize> {
    let rest = text.get(at..)?;
    let closed = rest.trim_start_matches('\\').strip_prefix(['"', '\'']);
    let mut next = closed.unwrap_or(rest);
    next = next.get(gap(next)..)?;
    next = next.strip_prefix(',').filter(|_| closed.is_some()).unwrap_or(next);
    next = next.get(gap(next)..)?;
    let start = text.len() - next.len();
    (start > at && !next.starts_with(['\n', '\r'])).then_some(start)
}

/// Returns true for another option, or the next word of a sentence.
pub(crate) fn is_prose(word: &str) -> bool {
    word.starts_with('-') || PROSE.split(' ').any(|known| word.eq_ignore_ascii_case(known))
}

/// Returns the length of the ASCII letters, digits and these other characters at the beginning.
pub(crate) fn run(text: &str, more: &str) -> usize {
    let goes_on = |c: char| c.is_ascii_alphanumeric() || more.contains(c);
    text.find(|c| !goes_on(c)).unwrap_or(text.len())
}

fn quote(text: &str) -> Option<(char, usize)> {
    let bare = text.trim_start_matches('\\');
    let quote = bare.chars().next().filter(|c| ['"', '\''].contains(c))?;
    Some((quote, text.len() - bare.len()))
}

/// Reads the characters before the value: a list, a quote (with backslashes inside a JSON string), `Bearer`.
fn opening(rest: &str, before: Before) -> Opening {
    let mut opening = Opening::default();
    if rest.starts_with('[') || before.json && rest.starts_with('{') {
        let inner = rest.get(1..).unwrap_or_default();
        let white: usize = inner.bytes().take(LOOK).take_while(u8::is_ascii_whitespace).count();
        if let Some((_, backslashes)) = inner.get(white..).and_then(quote) {
            return Opening { length: 1 + white + backslashes + 1, container: true, ..opening };
        }
    }
    if let Some((quote, backslashes)) = quote(rest) {
        opening = Opening { length: backslashes + 1, quote: Some(quote), backslashes, container: false };
    }
    let inner = rest.get(opening.length..).unwrap_or_default();
    let scheme = ["bearer ", "basic ", "token "]
        .into_iter()
        .find(|scheme| inner.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)));
    opening.length += scheme.map_or(0, str::len);
    opening
}

/// Reads a block of YAML: `|`, and the lines below with a deeper indent.
fn block(rest: &str) -> Option<Range<usize>> {
    let head = rest.strip_prefix(['|', '>'])?;
    let head = head.trim_start_matches(|c: char| "+-".contains(c) || c.is_ascii_digit());
    let lines = head.trim_start_matches([' ', '\t', '\r']).strip_prefix('\n')?;
    let indent = |line: &str| line.bytes().take_while(|c| [b' ', b'\t'].contains(c)).count();
    let first = indent(lines);
    let start = rest.len() - lines.len() + first;
    if first == 0 || marker_length(rest.get(start..)?) > 0 {
        return None;
    }
    let mut end = start;
    let mut at = rest.len() - lines.len();
    for line in lines.split_inclusive('\n') {
        let is_empty = line.trim().is_empty();
        if !is_empty && indent(line) < first {
            break;
        }
        if !is_empty {
            end = at + line.trim_end().len();
        }
        at += line.len();
    }
    (end > start).then_some(start..end)
}

/// Returns the length of a list or an object behind its opening, without the last quote.
fn container_end(rest: &str, opened: usize) -> usize {
    let mut depth = 0_usize;
    let mut string: Option<(char, usize)> = None;
    let mut backslashes = 0;
    let mut end = rest.len();
    for (at, c) in rest.char_indices() {
        match (c, string) {
            ('\\', _) => {
                backslashes += 1;
                continue;
            }
            ('"' | '\'', None) => string = Some((c, backslashes)),
            (_, Some((quote, outer))) if c == quote && closes(backslashes, outer) => string = None,
            ('[' | '{', None) => depth += 1,
            (']' | '}', None) => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    end = at;
                    break;
                }
            }
            _ => {}
        }
        backslashes = 0;
    }
    let inner = rest.get(opened..end).unwrap_or_default().trim_end();
    inner.strip_suffix(['"', '\'']).map_or(inner, |bare| bare.trim_end_matches('\\')).len()
}

/// Returns whether a quote behind so many backslashes closes a string that was opened behind `outer`.
fn closes(backslashes: usize, outer: usize) -> bool {
    backslashes < outer || backslashes % (2 * outer + 2) == outer
}

/// Returns the length of the value, by its opening.
fn end(value: &str, opening: Opening, whole_line: bool) -> usize {
    match opening.quote {
        Some(quote) => quoted_end(value, quote, opening.backslashes),
        None if whole_line => line_end(value),
        None => bare_end(value),
    }
}

fn quoted_end(value: &str, quote: char, outer: usize) -> usize {
    let mut backslashes = 0;
    let mut chars = value.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            '\n' => return at,
            '\\' => {
                backslashes += 1;
                continue;
            }
            _ if c == quote && closes(backslashes, outer) => {
                // Two of them are one: `'it''s'`.
                let doubled = outer == 0 && chars.next_if(|(_, next)| *next == quote).is_some();
                if !doubled {
                    return at - backslashes.min(outer);
                }
            }
            _ => {}
        }
        backslashes = 0;
    }
    value.len()
}

/// Returns the end of a header's value: the end of the line, or of the string around it.
fn line_end(value: &str) -> usize {
    let mut before = ' ';
    let mut inner = None;
    for (at, c) in value.char_indices().skip_while(|(at, _)| *at < marker_length(value)) {
        match c {
            '\n' | '\r' | '\\' => return at,
            _ if inner == Some(c) => inner = None,
            '"' | '\'' if inner.is_none() && before == '=' => inner = Some(c),
            '"' | '\'' if inner.is_none() => return at,
            _ => {}
        }
        before = c;
    }
    value.len()
}

/// Returns the end of a value without quotes: white space, or a separator with nothing of the value behind
/// it.
fn bare_end(value: &str) -> usize {
    let marker = marker_length(value);
    for (at, c) in value.char_indices().skip_while(|(at, _)| *at < marker) {
        let rest = || value.get(at + c.len_utf8()..).unwrap_or_default();
        let goes_on = || rest().starts_with(|c: char| c.is_alphanumeric());
        let ends = match c {
            '\\' => true,
            ',' | ';' | '&' => {
                !rest().starts_with(|c: char| c.is_alphanumeric() || "$%#@!*_-".contains(c))
                    || is_next_name(rest())
            }
            '"' | '\'' | '`' | ')' | '}' | ']' => !goes_on(),
            '<' => rest().starts_with('/'),
            _ => c.is_whitespace(),
        };
        if ends {
            return at;
        }
    }
    value.len()
}

/// Returns whether another name and its separator follow.
fn is_next_name(text: &str) -> bool {
    let length =
        text.bytes().take(MAX_NEXT).take_while(|c| c.is_ascii_alphanumeric() || b"_.-".contains(c)).count();
    length > 0 && text.get(length..).is_some_and(|rest| rest.starts_with(['=', ':']))
}

fn is_word_of_code(text: &str) -> bool {
    let bare = text.trim_end_matches(['?', '!', '.', ']', ',']);
    NOT_A_VALUE.split(' ').any(|word| bare.eq_ignore_ascii_case(word))
}

/// Returns whether the text may be a secret: not too short, not a variable, a call or a type.
pub(crate) fn is_one(text: &str, sensitivity: Sensitivity, quote: Option<char>) -> bool {
    let is_text = text.chars().count() >= MIN_VALUE && text.chars().any(char::is_alphanumeric);
    if !is_text || text == "[REDACTED" || marker_length(text) == text.len() {
        return false;
    }
    if is_word_of_code(text) || is_placeholder(text, quote) || quote.is_none() && is_code(text) {
        return false;
    }
    match sensitivity {
        Sensitivity::Secret => true,
        Sensitivity::Token => {
            quote.is_some() || text.chars().any(|c| !c.is_ascii_digit() && !"_.,".contains(c))
        }
        Sensitivity::Maybe => looks_secret(text),
    }
}

/// Returns whether a value looks like a secret although its name is ambiguous: one long word of letters and
/// digits.
pub fn looks_secret(text: &str) -> bool {
    text.len() >= MIN_PERHAPS
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "-._~+/=%".contains(c))
        && text.bytes().any(|c| c.is_ascii_digit())
        && text.bytes().any(|c| c.is_ascii_alphabetic())
}

/// Returns true for one word that is neither a name, a path nor a hash: it has digits, and letters in both cases or many.
pub(crate) fn is_strong(value: &str) -> bool {
    let has = |is: fn(&u8) -> bool| value.bytes().any(|c| is(&c));
    let is_mixed = has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase);
    value.len() >= MIN_PERHAPS
        && marker_length(value) == 0
        && value.bytes().all(|c| c.is_ascii_graphic() && !b"/.:=|<>(){}[]\"'`,;$".contains(&c))
        && has(u8::is_ascii_digit)
        && (is_mixed || value.len() >= 2 * MIN_PERHAPS)
        && !value.bytes().all(|c| c.is_ascii_hexdigit() || c == b'-')
}

/// Returns whether the text is a type, a call, a path or a reference.
fn is_code(text: &str) -> bool {
    let called = text.find('(').and_then(|at| text.get(..at));
    let is_path = |head: &str| head.chars().all(|c| c.is_ascii_alphanumeric() || "_.:!<>".contains(c));
    text.starts_with([':', '=', '<', '{', '(', '&', '*'])
        || called.is_some_and(is_path)
        || text.contains("::")
        || text.contains('<') && (text.contains('>') || text.starts_with(|c: char| c.is_ascii_uppercase()))
}

/// Returns whether the text is a placeholder: `$NAME`, `${NAME}`, `%NAME%`, `%s`, `<name>`, `{name}`, `your-name`.
fn is_placeholder(text: &str, quote: Option<char>) -> bool {
    let ident = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if let Some(rest) = text.strip_prefix('$') {
        if rest.starts_with(['{', '(']) {
            return quote.is_none() || rest.ends_with(['}', ')']);
        }
        let (name, after) =
            rest.split_at_checked(rest.find(|c| !ident(c)).unwrap_or(rest.len())).unwrap_or((rest, ""));
        let mixed = name.bytes().any(|c| c.is_ascii_digit()) && name.bytes().any(|c| c.is_ascii_lowercase());
        let is_name =
            !name.is_empty() && !mixed && (after.contains('$') || !after.contains(char::is_alphanumeric));
        return quote != Some('\'') && is_name;
    }
    if let Some(rest) = text.strip_prefix('%') {
        let mut chars = rest.chars();
        let verb = chars.next().is_some_and(|c| c.is_ascii_alphabetic());
        return rest.starts_with(['(', '{', '<'])
            || rest.strip_suffix('%').is_some_and(|name| name.chars().all(ident))
            || verb && !chars.next().is_some_and(char::is_alphanumeric);
    }
    // `your-api-key-here`
    let is_yours = text.get(..4).is_some_and(|it| it.eq_ignore_ascii_case("your"))
        && text.get(4..).is_some_and(|it| it.starts_with(['-', '_']))
        && text.bytes().all(|c| c.is_ascii_alphabetic() || b"-_".contains(&c));
    is_yours || text.starts_with('<') && text.ends_with('>') || text.starts_with('{') && text.ends_with('}')
}
