//! A text as a row of words and operators.

use super::parse::Parser;
use super::tree::{Parameter, Part, Word};

/// A word without its quotes, or an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    /// A word; variables and substitutions stay as they were written.
    Word(String),
    /// One of `|`, `&`, `;`, `(`, `)`, `{` and `}`; a line break is `;`.
    Operator(char),
}

/// Reads a text as a row of words and operators. Comments and the signs of redirections are left out.
///
/// Returns `None` if a quote or a bracket of a substitution has no end.
pub fn tokens(text: &str) -> Option<Vec<Token>> {
    let mut parser = Parser::new(text.as_bytes(), 0);
    let mut found = Vec::new();
    loop {
        parser.blanks();
        let before = parser.at;
        if let Some(word) = parser.word() {
            split(&word, &mut found);
        }
        if parser.at > before {
            continue;
        }
        let Some(byte) = parser.peek() else { break };
        parser.at += 1;
        match byte {
            b'\n' => found.push(Token::Operator(';')),
            b'<' | b'>' => {}
            byte => found.push(Token::Operator(char::from(byte))),
        }
    }
    (parser.errors == 0 && !parser.is_cut).then_some(found)
}

/// Returns the letters of a line without quotes, escapes and line continuations: a word is in one piece, with
/// any quoting.
pub fn unquoted(line: &str) -> String {
    let mut letters = String::with_capacity(line.len());
    let mut is_escaped = false;
    for piece in line.split_inclusive(['\'', '"', '\\']) {
        let piece = piece.strip_prefix('\n').filter(|_| is_escaped).unwrap_or(piece);
        is_escaped = piece.ends_with('\\');
        // `$"…"` and `$'…'` have a `$` before the quote.
        let plain = piece.strip_suffix(['\'', '"']).map(|it| it.strip_suffix('$').unwrap_or(it));
        letters.push_str(plain.or_else(|| piece.strip_suffix('\\')).unwrap_or(piece));
    }
    letters
}

/// Adds the text of a word, and the braces that it has without quotes.
fn split(word: &Word, found: &mut Vec<Token>) {
    let (mut text, mut has_text) = (String::new(), false);
    for part in &word.parts {
        let Part::Bare(bare) = part else {
            written(part, &mut text);
            has_text = true;
            continue;
        };
        for letter in bare.chars() {
            if !matches!(letter, '{' | '}') {
                text.push(letter);
                has_text = true;
                continue;
            }
            if std::mem::take(&mut has_text) {
                found.push(Token::Word(std::mem::take(&mut text)));
            }
            found.push(Token::Operator(letter));
        }
    }
    if has_text {
        found.push(Token::Word(text));
    }
}

/// Adds a part as it was written.
fn written(part: &Part, text: &mut String) {
    match part {
        Part::Bare(it) | Part::Quoted(it) => text.push_str(it),
        Part::Substitution(_, raw, _) => text.push_str(raw),
        Part::Parameter(parameter, _) => {
            let Parameter { name, operator, operand, .. } = &**parameter;
            if operator.is_empty() && super::is_name(name) {
                text.push_str(&format!("${name}"));
                return;
            }
            text.push_str(&format!("${{{name}{operator}"));
            operand.parts.iter().for_each(|it| written(it, text));
            text.push('}');
        }
        Part::Process(_, is_read) => text.push_str(if *is_read { "<(…)" } else { ">(…)" }),
        Part::Arithmetic(_) => text.push_str("$((…))"),
    }
}
