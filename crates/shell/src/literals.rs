//! The texts in calls of other languages.

use super::machine::unknown;
use super::{Arg, Sort};

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
        let others = [
            "join",
            "path",
            "Path",
            "resolve",
            "os",
            "expanduser",
            "homedir",
            "home",
            "recursive",
            "force",
            "true",
            "True",
            "ignore_errors",
            "require",
            "env",
            "environ",
            "process",
            "pathlib",
            "HOME",
            "r",
            "f",
            "b",
            "fs",
            "Dir",
            "File",
            "shutil",
        ];
        let mut names = arguments
            .first
            .split(|it: char| !it.is_ascii_alphanumeric() && it != '_')
            .filter(|it| !it.is_empty());
        let is_known = is_plain && names.all(|it| others.contains(&it));
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
    // A variable that has a text.
    let name = arguments.first.trim();
    if super::is_name(name.trim_start_matches('$')) {
        let places = text.match_indices(name).filter_map(|(at, _)| text.get(at + name.len()..));
        let values = places.filter_map(|rest| {
            rest.trim_start().strip_prefix('=').map(str::trim_start).filter(|it| !it.starts_with('='))
        });
        for value in values.take(MAX_VALUES) {
            // Its text is a piece of a name that only the running code knows.
            if value.starts_with("tempfile.mkdtemp(") {
                continue;
            }
            let mut letters = value.char_indices().take(MAX_ARGUMENTS);
            let end = letters.find(|(_, it)| matches!(it, ';' | '\n')).map_or(value.len(), |(at, _)| at);
            let line = value.get(..end).unwrap_or_default();
            let inner = self::arguments(line, false);
            if let [one] = inner.literals.as_slice() {
                return if one.is_plain { Arg::plain(one.text.clone()) } else { unknown(&one.text) };
            }
        }
    }
    unknown(if name.is_empty() { "…" } else { name })
}

/// The length of the arguments of a call, in letters.
const MAX_ARGUMENTS: usize = 8192;

/// The values of a variable in which its text is looked for.
const MAX_VALUES: usize = 64;

/// Reads the arguments of a call, up to its closing bracket or without brackets the end of the line.
pub(crate) fn arguments(text: &str, has_bracket: bool) -> Arguments {
    let mut found = Arguments::default();
    let (mut depth, mut lists, mut is_first) = (0usize, 0usize, true);
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
                let mut literal = Literal { text: String::new(), is_plain: true, in_list: lists > 0 };
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
                literal.is_plain = !fills;
                found.raw.push_str(&literal.text);
                found.literals.push(literal);
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
                depth = depth.saturating_sub(1);
                lists = lists.saturating_sub(1);
            }
            ',' if depth == 0 => is_first = false,
            _ => {}
        }
        if !matches!(letter, '"' | '\'' | '`') {
            found.raw.push(letter);
            if is_first && letter != ',' {
                found.first.push(letter);
            }
        }
        last = letter;
    }
    found
}
