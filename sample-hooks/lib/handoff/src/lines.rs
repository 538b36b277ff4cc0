//! Reads the lines of a conversation.

use hookbox_sdk::text::{Secrets, excerpt, hash};

use crate::{Handoff, KEPT, TEXT};

/// The longest part of one line that is read, in bytes: people write short lines, tools print long ones.
const LINE: usize = 500;

/// The longest word that is taken for a file.
const FILE: usize = 160;

/// The number of lines that are read, the latest: a conversation of a megabyte has some twenty thousand.
const LINES: usize = 20_000;

/// A handoff while lines are read.
pub(crate) struct Reading {
    issue: String,
    next_step: String,
    plan: String,
    blockers: List,
    todos: List,
    facts: List,
    errors: List,
    files: List,
}

/// Texts, each with its hash: long texts are compared for every line.
type List = Vec<(u64, String)>;

/// Takes in these texts, oldest first.
pub(crate) fn read<'a>(handoff: &mut Handoff, texts: impl IntoIterator<Item = &'a str>) {
    let texts: Vec<&str> = texts.into_iter().collect();
    let list = |list: &mut Vec<String>| -> List {
        std::mem::take(list).into_iter().map(|text| (hash([text.as_str()]), text)).collect()
    };
    let mut reading = Reading {
        issue: std::mem::take(&mut handoff.issue),
        next_step: std::mem::take(&mut handoff.next_step),
        plan: std::mem::take(&mut handoff.plan),
        blockers: list(&mut handoff.blockers),
        todos: list(&mut handoff.todos),
        facts: list(&mut handoff.facts),
        errors: list(&mut handoff.errors),
        files: list(&mut handoff.files),
    };
    let count: usize = texts.iter().map(|text| text.lines().count()).sum();
    let mut skipped = count.saturating_sub(LINES);
    for text in texts {
        let mut fenced = false;
        for line in text.lines() {
            let line = line.trim();
            // Text in a fence of code was written by others.
            if line.starts_with("```") || line.starts_with("~~~") {
                fenced = !fenced;
            }
            if skipped > 0 {
                skipped -= 1;
            } else if !fenced && !line.is_empty() {
                let line = line.get(..line.floor_char_boundary(LINE)).unwrap_or_default();
                labelled(&mut reading, line);
                files(&mut reading.files, line);
            }
        }
    }
    clean(handoff, reading);
}

/// Reads a line with a label or a box.
fn labelled(handoff: &mut Reading, line: &str) {
    let bare = line.trim_start_matches(['#', '>', '-', '*', '+', '_', ' ', '\t']);
    for (mark, open) in [("[ ] ", true), ("[x] ", false), ("[X] ", false)] {
        if let Some(rest) = bare.strip_prefix(mark) {
            if open {
                add(&mut handoff.todos, rest);
            } else {
                done(handoff, rest);
            }
            return;
        }
    }
    let Some((label, rest)) = bare.split_once(':') else { return };
    let label = label.trim_matches(['*', '_', ' ']);
    let rest = rest.trim_start_matches(['*', '_', ' ', '\t']);
    if label.len() > 20 || rest.is_empty() {
        return;
    }
    match label.to_ascii_lowercase().as_str() {
        "next step" | "next steps" | "next" => handoff.next_step = plain(rest),
        "plan" => handoff.plan = plain(rest),
        "blocker" | "blocked" | "blocked by" => add(&mut handoff.blockers, rest),
        "error" | "unresolved error" => add(&mut handoff.errors, rest),
        "todo" => add(&mut handoff.todos, rest),
        "fact" | "learned" | "convention" | "decision" => add(&mut handoff.facts, rest),
        "resolved" | "fixed" | "unblocked" => {
            close(&mut handoff.blockers, rest);
            close(&mut handoff.errors, rest);
        }
        "done" => done(handoff, rest),
        "issue" => {
            let number = rest.trim_start_matches('#').split(|c: char| !c.is_ascii_digit()).next();
            let number = number.filter(|number| (1..=9).contains(&number.len()));
            if let (Some(number), true) = (number, handoff.issue.is_empty()) {
                number.clone_into(&mut handoff.issue);
            }
        }
        _ => {}
    }
}

/// Makes the texts fit to be kept: without secrets, on one line, short. It comes after all lines were read,
/// for it costs more than all the rest, and most lines are forgotten by then.
fn clean(handoff: &mut Handoff, reading: Reading) {
    let secrets = Secrets::default();
    let clean = |text: &str| excerpt(secrets.redact(text).as_deref().unwrap_or(text), TEXT);
    let list = |list: List| {
        let mut cleaned: Vec<String> = Vec::with_capacity(list.len());
        for (_, text) in list {
            let text = clean(&text);
            cleaned.retain(|known| *known != text);
            cleaned.push(text);
        }
        cleaned
    };
    handoff.issue = reading.issue;
    handoff.next_step = clean(&reading.next_step);
    handoff.plan = clean(&reading.plan);
    handoff.blockers = list(reading.blockers);
    handoff.todos = list(reading.todos);
    handoff.facts = list(reading.facts);
    handoff.errors = list(reading.errors);
    let files = reading.files.into_iter().map(|(_, file)| file);
    handoff.files = files.filter(|file| secrets.redact(file).is_none()).collect();
}

/// A text on one line, as it is compared.
fn plain(text: &str) -> String {
    excerpt(text, LINE)
}

/// Adds a text, or moves it to the end; drops the oldest if there are too many.
fn add(list: &mut List, text: &str) {
    let text = plain(text);
    if !text.is_empty() {
        push(list, text);
    }
}

fn push(list: &mut List, text: String) {
    let sum = hash([text.as_str()]);
    if let Some(place) = list.iter().rposition(|(known, _)| *known == sum) {
        list.remove(place);
    } else if list.len() >= KEPT {
        list.remove(0);
    }
    list.push((sum, text));
}

fn done(handoff: &mut Reading, text: &str) {
    close(&mut handoff.todos, text);
    let text = plain(text);
    if same(&handoff.next_step, &text) {
        handoff.next_step.clear();
    }
}

/// Removes the texts that the words mean.
fn close(list: &mut List, words: &str) {
    let words = plain(words);
    list.retain(|(_, known)| !same(known, &words));
}

/// Returns whether one text begins with the other; the case of ASCII letters does not matter.
fn same(known: &str, words: &str) -> bool {
    let words = words.trim_end_matches(['.', '!', '…', ' ']);
    let known = known.trim_end_matches(['.', '!', '…', ' ']);
    let mut pairs = known.bytes().zip(words.bytes());
    !known.is_empty() && !words.is_empty() && pairs.all(|(known, word)| known.eq_ignore_ascii_case(&word))
}

/// Adds the words that look like files.
fn files(list: &mut List, line: &str) {
    if !line.contains('/') || line.contains("://") {
        return;
    }
    let between = |c: char| c.is_whitespace() || "`'\"()[]{}<>,;|*=".contains(c);
    for word in line.split(between).filter(|word| word.contains('/')) {
        // `src/lib.rs:12:5` and the full stop of a sentence.
        let word = word.split(':').next().unwrap_or_default().trim_end_matches(['.', '!', '?']);
        if is_file(word) {
            push(list, word.to_owned());
        }
    }
}

/// `src/lib.rs`, `/etc/hosts.d/a.conf`, `./x/Makefile.am`: with a directory and an ending.
fn is_file(word: &str) -> bool {
    let Some((directory, name)) = word.rsplit_once('/') else { return false };
    let Some((stem, ending)) = name.rsplit_once('.') else { return false };
    let plain = |c: char| c.is_ascii_alphanumeric() || "._/-+@".contains(c);
    word.len() <= FILE
        && !directory.contains("//")
        && (!stem.is_empty() || !ending.is_empty())
        && (1..=8).contains(&ending.len())
        && ending.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && ending.bytes().any(|byte| byte.is_ascii_alphabetic())
        && word.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(text: &str) -> Handoff {
        let mut handoff = Handoff::default();
        read(&mut handoff, [text]);
        handoff
    }

    #[test]
    fn a_line_says_what_its_label_says() {
        let all = |handoff: &Handoff| {
            let lists = [&handoff.blockers, &handoff.todos, &handoff.facts, &handoff.errors, &handoff.files];
            let mut said: Vec<String> =
                vec![handoff.next_step.clone(), handoff.plan.clone(), handoff.issue.clone()];
            said.extend(lists.map(|list| list.join("|")));
            said.join(";")
        };
        for (text, expected) in [
            ("Next step: run tests", "run tests;;;;;;;"),
            ("next: a\n**Next step:** b", "b;;;;;;;"),
            ("## Plan: first A, then B", ";first A, then B;;;;;;"),
            ("Blocker: no access", ";;;no access;;;;"),
            ("> - **Blocked by**: CI", ";;;CI;;;;"),
            ("- [ ] write docs\n* [ ] test\n- [x] write docs", ";;;;test;;;"),
            ("TODO: one\nTodo: two\ntodo: one\nDone: two", ";;;;one;;;"),
            ("Decision: use SQLite\nFact: tests need X", ";;;;;use SQLite|tests need X;;"),
            ("Error: E0308 in x\nBlocker: e0308\nResolved: E0308 IN X.", ";;;;;;;"),
            ("Blocker: aa\nBlocker: bb\nFixed: a", ";;;bb;;;;"),
            ("Blocker: aa\nResolved: ", ";;;aa;;;;"),
            ("Issue: #145 (hooks)\nIssue: 7", ";;145;;;;;"),
            ("see `src/lib.rs:12`, docs/a.md. and src/lib.rs", ";;;;;;;docs/a.md|src/lib.rs"),
            ("https://example.com/a.html or/and e.g/i.e 1/2.5 a//b.rs", ";;;;;;;"),
            ("note: nothing\nan error: no\n: x\nBlocker:\nBlocker: \u{202e}\u{7}", ";;;;;;;"),
            ("```\nBlocker: in code\n```\nFact: after", ";;;;;after;;"),
            ("Fact: token=abcd1234 and \u{1b}[31mred\u{1b}[0m", ";;;;;token=[REDACTED] and [31mred [0m;;"),
            ("Next step: a\nDone: A", ";;;;;;;"),
        ] {
            assert_eq!(all(&heard(text)), expected, "{text:?}");
        }
    }

    #[test]
    fn what_is_kept_is_bounded_whatever_is_said() {
        let text: String =
            (0..10_000).map(|n| format!("Fact: {n} {}\nsrc/{n}.rs\n- [ ] {n}\n", "x".repeat(300))).collect();
        let handoff = heard(&text);
        assert_eq!((handoff.facts.len(), handoff.files.len(), handoff.todos.len()), (KEPT, KEPT, KEPT));
        assert!(handoff.facts.iter().all(|fact| fact.len() <= TEXT));
        assert!(handoff.facts.last().unwrap().starts_with("9999 "));
        for piece in ["Fact: \u{1F600}", "\u{0}", "Blocker: ", "- [ ] ", "/a.b", "```", ":", "漢"] {
            let handoff = heard(&piece.repeat(20_000));
            assert!(handoff.size() < 2 * KEPT * TEXT, "{piece}");
        }
    }
}
