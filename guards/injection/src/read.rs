//! Reads a text as words, as a person would see them: letters that look alike are one, invisible ones are none.

/// The place before a word, as bits.
pub(crate) mod gap {
    /// The end of a sentence.
    pub(crate) const STOP: u8 = 1;
    /// A colon.
    pub(crate) const COLON: u8 = 2;
    /// A comma.
    pub(crate) const COMMA: u8 = 4;
    /// A line break.
    pub(crate) const LINE: u8 = 8;
    /// Another sign after which a clause may begin.
    pub(crate) const OPEN: u8 = 16;
    /// An `@`.
    pub(crate) const AT: u8 = 32;
    /// A second space.
    pub(crate) const WIDE: u8 = 64;
    /// Any other sign.
    pub(crate) const OTHER: u8 = 128;
    /// The classes after which a clause begins.
    pub(crate) const CLAUSE: u8 = STOP | COLON | COMMA | LINE | OPEN | AT;
}

/// A word of a text.
#[derive(Clone, Copy, Debug)]
struct Word {
    start: usize,
    end: usize,
    /// The offset in the text.
    at: usize,
    gap: u8,
}

/// The words of a text, in lower case.
#[derive(Debug, Default)]
pub(crate) struct Words {
    letters: String,
    words: Vec<Word>,
}

impl Words {
    /// Returns the number of words.
    pub(crate) fn len(&self) -> usize {
        self.words.len()
    }

    /// Returns a word; empty after the last one.
    pub(crate) fn word(&self, at: usize) -> &str {
        self.words.get(at).and_then(|it| self.letters.get(it.start..it.end)).unwrap_or_default()
    }

    /// Returns the place before a word; the end of the text ends a sentence.
    pub(crate) fn gap(&self, at: usize) -> u8 {
        self.words.get(at).map_or(gap::STOP, |it| it.gap)
    }

    /// Returns the offset of a word in the text.
    pub(crate) fn offset(&self, at: usize) -> usize {
        self.words.get(at).map_or(0, |it| it.at)
    }

    /// Returns the first word at an offset or after it.
    pub(crate) fn after(&self, offset: usize) -> usize {
        self.words.partition_point(|it| it.at < offset)
    }

    fn push(&mut self, start: usize, at: usize, gap: u8) {
        let end = self.letters.len();
        if start < end {
            self.words.push(Word { start, end, at, gap });
        }
    }

    /// Joins words of one letter, as in `i g n o r e`.
    fn join_letters(&mut self) {
        let is_letter = |it: &Word| it.end - it.start == 1;
        let words = std::mem::take(&mut self.words);
        let mut rest = words.as_slice();
        while let [first, more @ ..] = rest {
            let length = if is_letter(first) {
                1 + more.iter().take_while(|it| is_letter(it) && it.gap == 0).count()
            } else {
                1
            };
            let (run, more) = rest.split_at(length);
            rest = more;
            if length < 4 {
                self.words.extend_from_slice(run);
                continue;
            }
            let joined: String = run.iter().filter_map(|it| self.letters.get(it.start..it.end)).collect();
            let start = self.letters.len();
            self.letters.push_str(&joined);
            self.push(start, first.at, first.gap);
        }
    }
}

/// Reads the words of a text.
pub(crate) fn read(text: &str) -> Words {
    let mut found = Words { letters: String::with_capacity(text.len()), words: Vec::new() };
    let (mut start, mut at, mut before) = (0, 0, gap::LINE);
    let mut chars = text.char_indices().peekable();
    while let Some((offset, letter)) = chars.next() {
        if is_invisible(letter) || matches!(letter, '\'' | '’') && found.letters.len() > start {
            continue;
        }
        let letter = if letter == '_' { letter } else { plain(letter) };
        if letter.is_alphanumeric() || letter == '_' {
            if found.letters.len() == start {
                at = offset;
            }
            found.letters.extend(letter.to_lowercase());
            continue;
        }
        if found.letters.len() > start {
            unmix(&mut found.letters, start);
            found.push(start, at, before);
            let is_number =
                found.letters.get(start..).is_some_and(|it| it.bytes().all(|it| it.is_ascii_digit()));
            // A time, or the number of a list's item.
            before = if is_number { gap::OPEN } else { 0 };
            start = found.letters.len();
        }
        let next = chars.peek().map(|(_, it)| *it);
        let is_last = next.is_none_or(|it| {
            it.is_whitespace() || is_invisible(it) || matches!(it, '"' | '\'' | '<' | ')' | '`')
        });
        before |= match letter {
            '\n' => gap::LINE,
            // A line break of a JSON text in a text.
            '\\' if matches!(next, Some('n' | 'r' | 't')) => {
                chars.next();
                gap::LINE
            }
            '.' | '!' | '?' | ';' if is_last => gap::STOP,
            '。' | '！' | '？' => gap::STOP,
            ':' => gap::COLON,
            ',' | '，' => gap::COMMA,
            '@' => gap::AT,
            '"' | '“' | '«' | '(' | '[' | '{' | '<' | '>' | '#' | '*' | '}' | ']' | '|' => gap::OPEN,
            '-' | '/' | '–' | '—' if is_last => gap::OPEN,
            ' ' if next == Some(' ') => gap::WIDE,
            _ if letter.is_whitespace() => 0,
            _ => gap::OTHER,
        };
    }
    unmix(&mut found.letters, start);
    found.push(start, at, before);
    found.join_letters();
    found
}

/// Returns true if a reader does not see a character.
pub(crate) fn is_invisible(letter: char) -> bool {
    matches!(letter, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{e0000}'..='\u{e01ef}')
}

/// Returns the plain form of a wide or mathematical letter.
fn plain(letter: char) -> char {
    let code = u32::from(letter);
    let found = match code {
        0xff21..=0xff3a | 0xff41..=0xff5a => Some(code - 0xfee0),
        0x1d400..=0x1d6a3 => {
            let place = (code - 0x1d400) % 52;
            Some(if place < 26 { 0x41 + place } else { 0x61 + place - 26 })
        }
        _ => None,
    };
    found.and_then(char::from_u32).unwrap_or(letter)
}

/// Replaces Greek and Cyrillic letters of a word that has Latin ones. A word in one script stays.
fn unmix(letters: &mut String, start: usize) {
    let word = letters.get(start..).unwrap_or_default();
    if word.is_ascii() || !word.bytes().any(|it| it.is_ascii_lowercase()) {
        return;
    }
    let plain: String = word.chars().map(lookalike).collect();
    letters.truncate(start);
    letters.push_str(&plain);
}

fn lookalike(letter: char) -> char {
    match letter {
        'а' | 'α' => 'a',
        'с' => 'c',
        'ԁ' => 'd',
        'е' | 'ε' | 'ё' => 'e',
        'һ' => 'h',
        'і' | 'ι' | 'ı' => 'i',
        'ј' => 'j',
        'к' | 'κ' => 'k',
        'ӏ' => 'l',
        'м' => 'm',
        'п' | 'η' => 'n',
        'о' | 'ο' | 'σ' => 'o',
        'р' | 'ρ' => 'p',
        'ѕ' => 's',
        'т' | 'τ' => 't',
        'υ' => 'u',
        'ν' => 'v',
        'ѡ' | 'ω' => 'w',
        'х' | 'χ' => 'x',
        'у' | 'γ' => 'y',
        _ => letter,
    }
}
