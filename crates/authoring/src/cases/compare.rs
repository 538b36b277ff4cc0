//! Compares the answer that came with the one that must come.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use similar::{ChangeTag, TextDiff};

use super::case::{Came, Case, Content, Expect, Expected, NEW_VALUES, content, matches, texts};

/// The time to find the shortest difference of two texts. After that a longer one is shown.
const DIFF: Duration = Duration::from_secs(1);

/// A difference between the answer that must come and the one that came.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The key of the expected answer, or `hook` if the case could not be judged.
    pub key: String,
    /// The name in the table of this key.
    pub name: Option<String>,
    /// The value that must come, as it is written in the file.
    pub expected: Value,
    /// The value that came, as it would be written; null if there is none.
    pub came: Value,
    /// True if [`update`](super::update) can write the value into the file.
    pub is_writable: bool,
}

impl Difference {
    fn new(key: &str, expected: Value, came: Value) -> Self {
        Self { key: key.to_owned(), name: None, expected, came, is_writable: true }
    }

    fn named(self, name: &str) -> Self {
        Self { name: Some(name.to_owned()), ..self }
    }

    /// Returns the name of the value, such as `store.count`.
    pub fn what(&self) -> String {
        self.name.as_ref().map_or_else(|| self.key.clone(), |name| format!("{}.{name}", self.key))
    }

    /// Returns the lines of the difference with `-` for one that must come, `+` for one that came, else a space.
    pub fn lines(&self) -> Vec<(char, String)> {
        let (expected, came) = (lines_of(&self.expected), lines_of(&self.came));
        let difference = TextDiff::configure().timeout(DIFF).diff_lines(&expected, &came);
        let line = |change: similar::Change<&str>| {
            let sign = match change.tag() {
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
                ChangeTag::Equal => ' ',
            };
            (sign, change.value().trim_end_matches('\n').to_owned())
        };
        difference.iter_all_changes().map(line).collect()
    }
}

/// Returns a value as lines: a text as it is, and other values as JSON.
fn lines_of(value: &Value) -> String {
    let mut text = match value {
        Value::Null => return String::new(),
        Value::String(text) => text.clone(),
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    };
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

/// Returns the differences between the answer of a case and the one that came.
pub fn compare(case: &Case, came: &Came) -> Vec<Difference> {
    if let Some(unfit) = &came.unfit {
        let difference = Difference::new("hook", Value::Null, json!(unfit));
        return vec![Difference { is_writable: false, ..difference }];
    }
    if came.skipped.is_some() {
        return Vec::new();
    }
    let Some(expect) = &case.expect else { return whole(case, came) };
    let mut found = Vec::new();
    let mut add = |key: &str, expected: Value, came: Value| found.push(Difference::new(key, expected, came));
    if expect.verdict != came.verdict {
        add("verdict", json!(expect.verdict), json!(came.verdict));
    }
    for (key, expected, text) in
        [("reason", &expect.reason, &came.reason), ("log", &expect.log, &Some(came.log.clone()))]
    {
        let contains = |part: &String| text.as_ref().is_some_and(|text| text.contains(part.as_str()));
        if let Some(expected) = expected.as_ref().filter(|part| !contains(part)) {
            add(key, json!(expected), json!(text));
        }
    }
    let changed = came.changed.as_ref();
    for name in NEW_VALUES {
        let new = changed.filter(|it| it.name == name).map(|it| &it.value);
        let expected = expect.new_value(name);
        let is_same = |expected| new.is_some_and(|new| matches(expected, new));
        if let Some(expected) = expected.filter(|expected| !is_same(expected)) {
            add(name, expected.clone(), json!(new));
        }
    }
    if expect.changed.is_some_and(|expected| expected != changed.is_some()) {
        add("changed", json!(expect.changed), json!(changed.is_some()));
    }
    for (key, expected, texts) in lists(expect, came) {
        if let Some(expected) = expected.as_ref().filter(|parts| !contain(texts, parts)) {
            add(key, self::texts(expected), self::texts(texts));
        }
    }
    if expect.callback.is_some() && expect.callback != came.callback {
        add("callback", json!(expect.callback), json!(came.callback));
    }
    for (key, limit, used) in [("fuel", expect.fuel, came.fuel), ("memory", expect.memory, came.memory)] {
        if limit.is_some() && used.is_none_or(|used| Some(used) > limit) {
            add(key, json!(limit), json!(used));
        }
    }
    found.extend(of_failure(expect, came));
    let before = |path: &str| case.files.get(path).cloned();
    let file = |path: &str| came.files.get(path).cloned().unwrap_or_else(|| before(path));
    found.extend(contents("files", &expect.files, file));
    found.extend(contents("store", &expect.store, |key| came.store.get(key).cloned()));
    found
}

type List<'a> = (&'static str, &'a Option<Vec<String>>, &'a [String]);

fn lists<'a>(expect: &'a Expect, came: &'a Came) -> [List<'a>; 4] {
    [
        ("context", &expect.context, &came.context),
        ("warnings", &expect.warnings, &came.warnings),
        ("follow_ups", &expect.follow_ups, &came.follow_ups),
        ("requests", &expect.requests, &came.requests),
    ]
}

/// Returns true if there is one text for each part, in this order, that contains it.
fn contain(texts: &[String], parts: &[String]) -> bool {
    texts.len() == parts.len() && texts.iter().zip(parts).all(|(text, part)| text.contains(part.as_str()))
}

/// Compares the failure. Its message is shown, and its cause is written.
fn of_failure(expect: &Expect, came: &Came) -> Option<Difference> {
    let expected = expect.failure.map(|cause| json!(cause.as_str())).unwrap_or_default();
    let Some(failure) = came.failures.iter().find(|it| expect.failure.is_none_or(|cause| cause != it.cause))
    else {
        let is_missing = expect.failure.is_some() && came.failures.is_empty();
        return is_missing.then(|| Difference::new("failure", expected, Value::Null));
    };
    Some(Difference::new("failure", expected, json!(format!("{}: {}", failure.cause, failure.message))))
}

fn contents(
    key: &str,
    expected: &BTreeMap<String, Expected>,
    came: impl Fn(&str) -> Option<String>,
) -> Vec<Difference> {
    let of = |(name, expected): (&String, &Expected)| {
        let came = came(name);
        let is_same = expected.is(came.as_deref());
        (!is_same).then(|| Difference::new(key, expected.as_value(), content(came.as_deref())).named(name))
    };
    expected.iter().filter_map(of).collect()
}

/// Returns all that came, for a case without an answer.
fn whole(case: &Case, came: &Came) -> Vec<Difference> {
    let mut found = vec![Difference::new("verdict", Value::Null, json!(came.verdict))];
    let mut add = |key: &str, came: Value| found.push(Difference::new(key, Value::Null, came));
    came.reason.iter().for_each(|reason| add("reason", json!(reason)));
    came.changed.iter().for_each(|it| add(&it.name, it.value.clone()));
    for (key, _, list) in lists(&Expect::default(), came) {
        if !list.is_empty() {
            add(key, texts(list));
        }
    }
    came.callback.iter().for_each(|callback| add("callback", json!(callback)));
    found.extend(of_failure(&Expect::default(), came));
    let is_new = |key: &String, value: &String| case.store.get(key) != Some(&Content::Text(value.clone()));
    for (key, value) in came.store.iter().filter(|(key, value)| is_new(key, value)) {
        found.push(Difference::new("store", Value::Null, json!(value)).named(key));
    }
    for (path, text) in &came.files {
        found.push(Difference::new("files", Value::Null, content(text.as_deref())).named(path));
    }
    found
}

#[cfg(test)]
mod tests {
    use hookbox::hook::Cause;

    use super::super::case::{Changed, Failure, Verdict};
    use super::super::read::parse;
    use super::*;

    fn differences(expect: &str, came: &Came) -> Vec<String> {
        let text =
            format!("[[case]]\nname = 'x'\ncommand = 'ls'\nfiles = {{ a = 'old' }}\n[case.expect]\n{expect}");
        let (_, cases) = parse(&text).unwrap_or_default();
        compare(&cases[0], came).iter().map(Difference::what).collect()
    }

    #[test]
    fn what_is_expected_is_compared_and_nothing_else() {
        let texts = |texts: &[&str]| texts.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        let came = Came {
            verdict: Verdict::Block,
            reason: Some("not on Fridays".to_owned()),
            changed: Some(Changed { name: "input".to_owned(), value: json!({"command": "ls -l"}) }),
            context: texts(&["one two", "three"]),
            fuel: Some(10),
            store: [("n".to_owned(), "3".to_owned())].into(),
            files: [("b".to_owned(), Some("new".to_owned()))].into(),
            ..Came::default()
        };
        for (expect, want) in [
            ("verdict = 'block'", &[][..]),
            ("", &["verdict"]),
            ("verdict = 'block'\nreason = 'Friday'", &[]),
            ("verdict = 'block'\nreason = 'Monday'", &["reason"]),
            ("verdict = 'block'\ninput = { command = 'ls -l' }", &[]),
            ("verdict = 'block'\ninput = { command = 'ls' }\nchanged = false", &["input", "changed"]),
            ("verdict = 'block'\ninput.command = { contains = 'ls' }", &[]),
            ("verdict = 'block'\ninput = { contains = 'rm' }", &["input"]),
            ("verdict = 'block'\noutput = 'x'", &["output"]),
            ("verdict = 'block'\noutput = { contains = 'x' }", &["output"]),
            ("verdict = 'block'\ncontext = ['two', 'three']", &[]),
            ("verdict = 'block'\ncontext = ['two']", &["context"]),
            ("verdict = 'block'\ncontext = ['three', 'two']", &["context"]),
            ("verdict = 'block'\nwarnings = []", &[]),
            ("verdict = 'block'\nfuel = 10", &[]),
            ("verdict = 'block'\nfuel = 9\nmemory = '1MiB'", &["fuel", "memory"]),
            ("verdict = 'block'\nstore = { n = 3 }\nfiles = { a = 'old', b = 'new', c = false }", &[]),
            ("verdict = 'block'\nstore = { n = '4', m = '' }", &["store.m", "store.n"]),
            ("verdict = 'block'\nfiles = { b = { contains = 'ew' } }", &[]),
            ("verdict = 'block'\nfiles = { b = { contains = ['n', 'x'] } }", &["files.b"]),
            ("verdict = 'block'\nfiles = { a = false, b = 'old' }", &["files.a", "files.b"]),
            ("verdict = 'block'\nfailure = 'exit'", &["failure"]),
        ] {
            assert_eq!(differences(expect, &came), want, "{expect}");
        }
    }

    #[test]
    fn a_failure_is_a_difference_unless_its_cause_is_expected() {
        let failure = |cause| Failure { hook: "x".to_owned(), cause, message: "m".to_owned() };
        for (expect, causes, want) in [
            ("", &[Cause::Exit][..], &["failure"][..]),
            ("failure = 'exit'", &[Cause::Exit], &[]),
            ("failure = 'timeout'", &[Cause::Exit], &["failure"]),
            ("failure = 'exit'", &[Cause::Exit, Cause::Trap], &["failure"]),
        ] {
            let failures = causes.iter().map(|cause| failure(*cause)).collect();
            assert_eq!(differences(expect, &Came { failures, ..Came::default() }), want, "{expect}");
        }
    }

    #[test]
    fn a_difference_has_the_lines_that_must_come_and_those_that_came() {
        let difference = Difference::new("reason", json!("a\nb"), json!("a\nc"));
        let line = |sign, text: &str| (sign, text.to_owned());
        assert_eq!(difference.lines(), [line(' ', "a"), line('-', "b"), line('+', "c")]);
    }
}
