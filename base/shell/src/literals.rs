//! The texts in calls of other languages.

use super::machine::unknown;
use super::{Arg, Sort, is_in, programs};

/// A text in the arguments of a call.
pub(crate) struct Literal {
    pub(crate) text: String,
    pub(crate) is_plain: bool,
    pub(crate) in_list: bool,
}

/// The arguments of a call.
#[derive(Default)]
pub(crate) struct Arguments {
    pub(crate) literals: Vec<Literal>,
    /// The rest of the first argument, without its texts.
    pub(crate) first: String,
    pub(crate) raw: String,
}

impl Literal {
    /// Returns the literal with a variable behind it.
    fn followed_by(mut self, name: &str) -> Self {
        self.text.push_str(name);
        self.is_plain &= name.is_empty();
        self
    }
}

impl Arguments {
    /// Gives the variables of lists the text that the code gives them, if that is one.
    pub(crate) fn fill(&mut self, text: &str) {
        // Each looks through all of the code. A command has few words.
        for literal in self.literals.iter_mut().filter(|it| it.in_list && !it.is_plain).take(8) {
            let name = literal.text.trim_start_matches('$');
            let found = values(text, name).chain(values(text, &literal.text));
            let value = found.into_iter().find_map(|inner| match inner.literals.as_slice() {
                [one] if one.is_plain => Some(one.text.clone()),
                _ => None,
            });
            if let Some(value) = value {
                *literal = Literal { text: value, is_plain: true, in_list: true };
            }
        }
    }

    /// Takes the text at the end of an argument: a variable behind its literal, or one that is an element of a list.
    fn ends(&mut self, between: &str, is_over: bool, in_list: bool) {
        let name = between.trim().trim_start_matches('$');
        if !is_over {
            // A text that ends with a space is followed by another word.
            let goes_on = between.trim_start().starts_with(['+', '.']);
            let is_word = self.literals.last().is_some_and(|it| it.text.ends_with(' '));
            let other = (goes_on && is_word).then(|| "$…".to_owned());
            let name = joint(between).filter(|it| !it.is_empty()).or(other);
            if let Some(last) = name.and_then(|name| Some(self.literals.pop()?.followed_by(&name))) {
                self.literals.push(last);
            }
        } else if in_list && super::is_name(name) {
            self.literals.push(Literal { text: format!("${name}"), is_plain: false, in_list });
        }
    }
}

/// Names in a call that leave the path of its texts as it is.
const PLAIN_NAMES: &str = "join path Path resolve os expanduser homedir home recursive force true True ignore_errors require \
    env environ process pathlib HOME r f b fs Dir File shutil";

/// Returns the path that a call removes.
pub(crate) fn target(text: &str, before: &str, arguments: &Arguments) -> Arg {
    let is_home = |it: &str| {
        ["expanduser", "homedir", "HOME", ".home()", "Dir.home"].iter().any(|home| it.contains(home))
    };
    let literals: Vec<&str> =
        arguments.literals.iter().filter(|it| it.text != "recursive").map(|it| it.text.as_str()).collect();
    let is_plain = arguments.literals.iter().all(|it| it.is_plain);
    let in_home = is_home(&arguments.raw);
    if !literals.is_empty() || in_home {
        let mut path = literals.iter().filter(|it| **it != "HOME").copied().collect::<Vec<_>>().join("/");
        if in_home && !path.starts_with('~') {
            path = format!("~/{path}");
        }
        let mut names = arguments
            .first
            .split(|it: char| !it.is_ascii_alphanumeric() && it != '_')
            .filter(|it| !it.is_empty());
        let is_known = is_plain && names.all(|it| is_in(PLAIN_NAMES, it));
        return if is_known {
            Arg { sort: if path.contains(['*', '?']) { Sort::Pattern } else { Sort::Plain }, text: path }
        } else {
            unknown(&path)
        };
    }
    // `Path("x").unlink()`
    let tail_from = before.len().saturating_sub(120);
    let tail = (tail_from..before.len()).find_map(|at| before.get(at..)).unwrap_or_default();
    if let Some(at) = tail.rfind("Path(") {
        let inner = self::arguments(tail.get(at + 5..).unwrap_or_default(), true);
        if let [one] = inner.literals.as_slice() {
            return Arg::plain(one.text.clone());
        }
    }
    let name = arguments.first.trim();
    let valued = values(text, name).find_map(|inner| match inner.literals.as_slice() {
        [one] if one.is_plain => Some(Arg::plain(one.text.clone())),
        [one] => Some(unknown(&one.text)),
        _ => None,
    });
    valued.unwrap_or_else(|| unknown(if name.is_empty() { "…" } else { name }))
}

/// Returns the two paths of a call that moves or links.
pub(crate) fn targets(text: &str, inner: &str, has_bracket: bool) -> Vec<Arg> {
    let (mut found, mut from, mut depth, mut quote) = (Vec::new(), 0, 0usize, None);
    for (at, letter) in inner.char_indices().take(MAX_ARGUMENTS).chain([(inner.len(), ')')]) {
        let ends = depth == 0
            && (letter == ','
                || letter == ')'
                || at == inner.len()
                || !has_bracket && matches!(letter, ';' | '\n'));
        match (letter, quote) {
            (_, Some(it)) => quote = quote.filter(|_| it != letter),
            ('"' | '\'', None) => quote = Some(letter),
            _ if ends => {
                let argument = self::arguments(inner.get(from..at).unwrap_or_default().trim(), false);
                found.push(target(text, "", &argument));
                from = at + 1;
                if letter != ',' || found.len() == 2 {
                    break;
                }
            }
            ('(' | '[' | '{', None) => depth += 1,
            (')' | ']' | '}', None) => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    found
}

/// Returns the bracket that closes another, or the same sign.
pub(crate) fn closing(open: char) -> char {
    match open {
        '(' => ')',
        '[' => ']',
        '{' => '}',
        '<' => '>',
        same => same,
    }
}

/// Calls and signs around a text that nobody runs.
const SHOWS: &str = "print printf println puts echo log info warn warning error debug write replace sub gsub search match \
    test includes startswith endswith startsWith endsWith in raise Error assert say";

/// Returns the commands in the literals of code: one that begins with a program and has more words, or a row that begins
/// with a program.
pub(crate) fn commands(text: &str) -> Vec<Vec<String>> {
    let (mut found, mut row, mut end) = (Vec::<Vec<String>>::new(), Vec::<String>::new(), 0);
    for _ in 0..MAX_LITERALS {
        let Some(open) = text.get(end..).and_then(|it| it.find(OPENS)).map(|it| end + it) else { break };
        let (before, rest) = text.split_at_checked(open).unwrap_or_default();
        let mut letters = rest.chars();
        let sign = letters.next().unwrap_or_default();
        let is_quote = matches!(sign, '"' | '\'' | '`') || is_quoting(before);
        let between = text.get(end..open).unwrap_or_default();
        let read = is_quote.then(|| literal(letters.as_str(), sign)).flatten();
        let Some((literal, length)) = read else {
            end = open + sign.len_utf8();
            continue;
        };
        let is_next =
            between.replace("args", "").chars().all(|it| it.is_whitespace() || ",[{(:".contains(it));
        if !is_next || row.is_empty() {
            found.extend(Some(std::mem::take(&mut row)).filter(|it| it.len() > 1));
        }
        let shows = before.trim_end().trim_end_matches('(').trim_end();
        let last = shows.rsplit(|it: char| !it.is_alphanumeric()).next().unwrap_or_default();
        let is_shown = super::is_in(SHOWS, last) || shows.ends_with("==");
        let script = literal.trim_start_matches(['|', '!', ' ']);
        if !row.is_empty() || programs::is_dangerous(&literal) && !is_shown {
            row.push(literal);
        } else if programs::is_command(script) && !is_shown {
            found.push(vec![script.to_owned()]);
        }
        end = open + sign.len_utf8() + length;
    }
    found.extend(Some(row).filter(|it| it.len() > 1));
    found
}

/// The signs at which a literal may begin.
const OPENS: [char; 9] = ['"', '\'', '`', '{', '(', '[', '<', '/', '!'];

/// Returns true if a bracket behind this text quotes: `qx{…}` of Perl, `%x(…)` of Ruby.
fn is_quoting(before: &str) -> bool {
    let sign = ["qx", "qq", "q", "%x", "%q", "%Q", "%w"].iter().find_map(|it| before.strip_suffix(it));
    sign.is_some_and(|it| !it.ends_with(|it: char| it.is_alphanumeric() || "_$@%".contains(it)))
}

/// Returns a literal behind its first sign, and its length with the last one. Only some go on in the next line.
fn literal(text: &str, sign: char) -> Option<(String, usize)> {
    let triple = [sign, sign].iter().collect::<String>();
    let (skipped, is_triple) = text.strip_prefix(&triple).map_or((text, false), |it| (it, true));
    let is_triple = is_triple && matches!(sign, '"' | '\'');
    let text = if is_triple { skipped } else { text };
    let (close, start) = (closing(sign), if is_triple { 2 } else { 0 });
    let (mut found, mut letters) = (String::new(), text.char_indices().take(MAX_ARGUMENTS));
    while let Some((at, letter)) = letters.next() {
        let rest = text.get(at + letter.len_utf8()..).unwrap_or_default();
        match letter {
            '\\' => match letters.next()?.1 {
                'n' => found.push('\n'),
                other => found.push(other),
            },
            _ if letter == close && (!is_triple || rest.starts_with(&triple)) => {
                return Some((found, start + at + letter.len_utf8() + start));
            }
            '\n' if matches!(sign, '"' | '\'') && !is_triple => return None,
            _ => found.push(letter),
        }
    }
    None
}

/// Returns the values that code gives to a variable, each with its texts.
pub(crate) fn values<'t>(text: &'t str, name: &'t str) -> impl Iterator<Item = Arguments> + 't {
    let is_name = super::is_name(name.trim_start_matches('$'));
    let places = text.match_indices(name).filter(move |_| is_name);
    let places = places.filter(|(at, _)| {
        let before = text.get(..*at).and_then(|it| it.chars().next_back());
        !before.is_some_and(|it| it.is_alphanumeric() || "_.$".contains(it))
    });
    let values = places.filter_map(move |(at, _)| {
        let rest = text.get(at + name.len()..)?.trim_start().strip_prefix('=')?.trim_start();
        // Its text is a piece of a name that only the running code knows.
        Some(rest).filter(|it| !it.starts_with('=') && !it.starts_with("tempfile.mkdtemp("))
    });
    values.take(MAX_VALUES).map(|value| {
        let mut letters = value.char_indices().take(MAX_ARGUMENTS);
        let end = letters.find(|(_, it)| matches!(it, ';' | '\n')).map_or(value.len(), |(at, _)| at);
        self::arguments(value.get(..end).unwrap_or_default(), false)
    })
}

/// Returns the text between two literals that are joined: nothing, or the name of a variable, as a shell reads one. Python,
/// JavaScript and Ruby join by `+`, Perl and PHP by `.`, awk without a sign.
fn joint(between: &str) -> Option<String> {
    let between = between.trim();
    // `'a' + f'b'`
    let prefix = between.strip_suffix(['r', 'R', 'b', 'B', 'f', 'F', 'u', 'U']);
    let between =
        prefix.filter(|it| !it.ends_with(|it: char| it.is_alphanumeric() || it == '_')).unwrap_or(between);
    let inner = between.trim().trim_matches(['+', '.']).trim();
    let name = inner.trim_start_matches('$');
    match inner {
        "" => Some(String::new()),
        _ if super::is_name(name) && between.starts_with(['+', '.']) => Some(format!("${name}")),
        _ => None,
    }
}

/// The length of the arguments of a call, in letters.
const MAX_ARGUMENTS: usize = 8192;

/// The literals of a code that are looked at.
const MAX_LITERALS: usize = 2000;

/// The values of a variable in which its text is looked for.
const MAX_VALUES: usize = 64;

/// Reads the arguments of a call, up to its closing bracket or without brackets the end of the line.
pub(crate) fn arguments(text: &str, has_bracket: bool) -> Arguments {
    let mut found = Arguments::default();
    let (mut depth, mut lists, mut is_first) = (0usize, 0usize, true);
    // The text behind the last literal, and true if a comma or a bracket ended its argument.
    let (mut between, mut is_over) = (String::new(), true);
    let mut letters = text.char_indices().take(MAX_ARGUMENTS).peekable();
    let mut last = ' ';
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' | '\'' | '`' => {
                let is_triple =
                    text.get(at..).is_some_and(|it| it.as_bytes().starts_with(&[letter as u8; 3]));
                if is_triple {
                    letters.next();
                    letters.next();
                }
                let before = joint(&between).filter(|_| !is_over);
                if before.is_none() {
                    found.ends(&between, is_over, false);
                }
                let mut literal = match before.and_then(|name| Some(found.literals.pop()?.followed_by(&name)))
                {
                    Some(literal) => literal,
                    None => Literal { text: String::new(), is_plain: true, in_list: lists > 0 },
                };
                while let Some((at, inner)) = letters.next() {
                    let ends = inner == letter
                        && (!is_triple
                            || text
                                .get(at..)
                                .is_some_and(|it| it.as_bytes().starts_with(&[letter as u8; 3])));
                    if ends {
                        if is_triple {
                            letters.next();
                            letters.next();
                        }
                        break;
                    }
                    if inner == '\\' {
                        match letters.next() {
                            Some((_, 'n')) => literal.text.push('\n'),
                            Some((_, 't')) => literal.text.push('\t'),
                            Some((_, other)) => literal.text.push(other),
                            None => {}
                        }
                        continue;
                    }
                    literal.text.push(inner);
                }
                let fills = last == 'f' && literal.text.contains('{')
                    || letter == '`' && literal.text.contains("${")
                    || letter == '"' && literal.text.contains("#{");
                literal.is_plain &= !fills;
                found.raw.push_str(&literal.text);
                found.literals.push(literal);
                between.clear();
                is_over = false;
            }
            ')' if depth == 0 && has_bracket => break,
            '\n' | ';' if depth == 0 && !has_bracket => break,
            '(' | '{' => depth += 1,
            '[' => {
                depth += 1;
                lists += usize::from(!last.is_alphanumeric());
            }
            ')' | '}' => depth = depth.saturating_sub(1),
            ']' => {
                found.ends(&between, is_over, lists > 0);
                depth = depth.saturating_sub(1);
                lists = lists.saturating_sub(1);
            }
            ',' => {
                found.ends(&between, is_over, lists > 0);
                is_first &= depth > 0;
            }
            _ => {}
        }
        match letter {
            '"' | '\'' | '`' => {}
            ',' | '[' | ']' => (between, is_over) = (String::new(), true),
            _ => between.push(letter),
        }
        if !matches!(letter, '"' | '\'' | '`') {
            found.raw.push(letter);
            if is_first && letter != ',' {
                found.first.push(letter);
            }
        }
        last = letter;
    }
    found.ends(&between, is_over, false);
    found
}
