//! Other names of calls in code: `from shutil import rmtree as r`, `{ rmSync: r }`, `r = fs.rmSync`, `fs['rmSync']`.

use std::borrow::Cow;

/// The names that are remembered in one text.
const MAX_NAMES: usize = 64;

/// The names that a text gives to calls and modules.
#[derive(Debug, Default)]
pub(crate) struct Aliases {
    /// Each name, with the path that it stands for.
    names: Vec<(String, String)>,
}

/// Returns true for a character of a name or a path of names.
fn in_path(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.' | '$')
}

/// Returns the path of names at the end of a text.
fn last_path(text: &str) -> &str {
    let text = text.trim_end();
    text.rfind(|it| !in_path(it)).map_or(text, |at| {
        text.get(at..)
            .and_then(|it| it.char_indices().nth(1).and_then(|(next, _)| it.get(next..)))
            .unwrap_or_default()
    })
}

/// Returns the path of names at the beginning of a text, and the rest.
fn first_path(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    text.split_at_checked(text.find(|it| !in_path(it)).unwrap_or(text.len())).unwrap_or((text, ""))
}

impl Aliases {
    /// Reads the names that a text gives to these calls and to modules.
    pub(crate) fn of(text: &str, is_call: impl Fn(&str) -> bool) -> Self {
        let mut found = Self::default();
        for (at, word) in text.match_indices(" as ") {
            let (before, after) = (text.get(..at), text.get(at + word.len()..));
            let (Some(before), Some(after)) = (before, after) else { continue };
            let path = last_path(before);
            let line = before.rsplit(['\n', ';', '"', '\'']).next().unwrap_or_default();
            let module = line.trim_start().strip_prefix("from ").and_then(|it| it.split_once(" import"));
            let path = module.map_or(path.to_owned(), |(module, _)| format!("{}.{path}", module.trim()));
            found.add(first_path(after).0, path);
        }
        for (at, _) in text.match_indices(['=', ':']) {
            let (Some(before), Some(after)) = (text.get(..at), text.get(at + 1..)) else { continue };
            let name = last_path(before);
            let (path, rest) = first_path(after);
            let called = |it: &str| it.rsplit('.').next().is_some_and(&is_call);
            match text.get(at..).and_then(|it| it.chars().next()) {
                // `{ rmSync: r }`
                Some(':') if called(name) && !rest.starts_with('(') => found.add(path, name.to_owned()),
                Some('=') if called(path) && !rest.trim_start().starts_with('(') => {
                    found.add(name, path.to_owned());
                }
                _ => {}
            }
        }
        found
    }

    fn add(&mut self, name: &str, path: String) {
        let is_name = !name.is_empty() && !name.contains('.') && name != path && !path.is_empty();
        if is_name && self.names.len() < MAX_NAMES {
            self.names.push((name.to_owned(), path));
        }
    }

    /// Returns the path that a call stands for.
    pub(crate) fn resolved<'a>(&self, path: &'a str) -> Cow<'a, str> {
        let (first, rest) = path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
        match (self.names.iter().find(|(name, _)| name == first), rest) {
            (Some((_, known)), Some(rest)) => Cow::Owned(format!("{known}.{rest}")),
            (Some((_, known)), None) => Cow::Owned(known.clone()),
            (None, _) => Cow::Borrowed(path),
        }
    }
}

/// Returns a text with names instead of texts that stand for them: `fs['rm']` and `getattr(os, 'remove')`.
pub(crate) fn with_names(text: &str) -> Cow<'_, str> {
    if !text.contains("['") && !text.contains("[\"") && !text.contains("getattr(") {
        return Cow::Borrowed(text);
    }
    let (mut made, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find(['[', 'g']) {
        let (before, after) = rest.split_at_checked(at).unwrap_or((rest, ""));
        made.push_str(before);
        let in_list = before.ends_with(|it: char| in_path(it) || it == ')');
        let taken = if after.starts_with('[') {
            name_of(after.get(1..).unwrap_or_default(), ']').filter(|_| in_list).map(|(name, rest)| {
                made.push('.');
                made.push_str(name);
                rest
            })
        } else {
            after.strip_prefix("getattr(").and_then(|it| it.split_once(',')).and_then(|(object, it)| {
                let is_path = !object.is_empty() && object.chars().all(in_path);
                name_of(it.trim_start(), ')').filter(|_| is_path).map(|(name, rest)| {
                    made.push_str(object);
                    made.push('.');
                    made.push_str(name);
                    rest
                })
            })
        };
        rest = taken.unwrap_or_else(|| {
            let mut letters = after.chars();
            made.extend(letters.next());
            letters.as_str()
        });
    }
    made.push_str(rest);
    Cow::Owned(made)
}

/// Returns the name in a quoted text before a closing bracket, and what follows.
fn name_of(text: &str, closing: char) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|it| matches!(it, '"' | '\''))?;
    let (name, rest) = text.get(1..)?.split_once(quote)?;
    let rest = rest.trim_start().strip_prefix(closing)?;
    let is_call = rest.trim_start().starts_with('(');
    (is_call && super::is_name(name)).then_some((name, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_has_the_name_that_the_code_gives_it() {
        let is_call = |it: &str| matches!(it, "rmtree" | "rmSync" | "remove");
        for (text, path, expected) in [
            ("from shutil import rmtree as r; r('x')", "r", "shutil.rmtree"),
            ("from os import path as p, remove as r", "r", "os.remove"),
            ("import shutil as s", "s.rmtree", "shutil.rmtree"),
            ("const { rmSync: r } = require('fs')", "r", "rmSync"),
            ("import { rmSync as r } from 'fs'", "r", "rmSync"),
            ("r = shutil.rmtree\nr('x')", "r", "shutil.rmtree"),
            ("r = shutil.rmtree('x')", "r", "r"),
            ("a == b; c = d", "c", "c"),
            ("é as ü = ö", "x", "x"),
        ] {
            assert_eq!(Aliases::of(text, is_call).resolved(path), expected, "{text}");
        }
    }

    #[test]
    fn a_text_that_names_a_call_is_a_name() {
        for (text, expected) in [
            ("fs['rmSync']('x')", "fs.rmSync('x')"),
            ("require('fs')[\"rmSync\"]('x')", "require('fs').rmSync('x')"),
            ("getattr(shutil, 'rmtree')('x')", "shutil.rmtree('x')"),
            ("getattr(a b, 'c')('x')", "getattr(a b, 'c')('x')"),
            ("x = ['rmSync']; é[\"a\"]", "x = ['rmSync']; é[\"a\"]"),
            ("d['key']", "d['key']"),
        ] {
            assert_eq!(with_names(text), expected);
        }
    }
}
