//! What a line of a conversation says.

use hookbox_sdk::text::{Secrets, excerpt};

use crate::{Handoff, KEPT, TEXT};

/// How much of one line is looked at, in bytes: what a person writes, not what a tool printed.
const LINE: usize = 1000;

/// The longest word that is taken for a file.
const FILE: usize = 160;

/// Takes in a text of several lines. What stands in a fence of code is somebody else's words.
pub(crate) fn read(handoff: &mut Handoff, text: &str) {
    let mut fenced = false;
    for line in text.lines() {
        let line = line.trim();
        if line.starts_with("```") || line.starts_with("~~~") {
            fenced = !fenced;
        } else if !fenced && !line.is_empty() {
            let line = line.get(..line.floor_char_boundary(LINE)).unwrap_or_default();
            labelled(handoff, line);
            files(&mut handoff.files, line);
        }
    }
}

/// Takes in what the line says by its label or its box.
fn labelled(handoff: &mut Handoff, line: &str) {
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
        "next step" | "next steps" | "next" => handoff.next_step = clean(rest),
        "plan" => handoff.plan = clean(rest),
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

/// A text as it is kept: without secrets, on one line, short.
fn clean(text: &str) -> String {
    let redacted = Secrets::default().redact(text);
    excerpt(redacted.as_deref().unwrap_or(text), TEXT)
}

/// Adds a text, or moves it to the end; the oldest goes where there are too many.
fn add(list: &mut Vec<String>, text: &str) {
    let text = clean(text);
    if text.is_empty() {
        return;
    }
    list.retain(|known| *known != text);
    if list.len() >= KEPT {
        list.remove(0);
    }
    list.push(text);
}

fn done(handoff: &mut Handoff, text: &str) {
    close(&mut handoff.todos, text);
    let text = clean(text);
    if same(&handoff.next_step, &text) {
        handoff.next_step.clear();
    }
}

/// Takes away what the words mean.
fn close(list: &mut Vec<String>, words: &str) {
    let words = clean(words);
    list.retain(|known| !same(known, &words));
}

/// Whether one text begins with the other, without regard to the case of ASCII letters.
fn same(known: &str, words: &str) -> bool {
    let words = words.trim_end_matches(['.', '!', '…', ' ']);
    let known = known.trim_end_matches(['.', '!', '…', ' ']);
    let length = known.len().min(words.len());
    let begins = |text: &str| text.as_bytes().get(..length).map(<[u8]>::to_ascii_lowercase);
    length > 0 && begins(known) == begins(words)
}

/// Adds the words that look like files.
fn files(list: &mut Vec<String>, line: &str) {
    let between = |c: char| c.is_whitespace() || "`'\"()[]{}<>,;|*=".contains(c);
    for word in line.split(between).filter(|word| !word.is_empty()) {
        // `src/lib.rs:12:5` and the full stop of a sentence.
        let word = word.split(':').next().unwrap_or_default().trim_end_matches(['.', '!', '?']);
        if is_file(word) && !line.contains("://") && Secrets::default().redact(word).is_none() {
            list.retain(|known| known != word);
            if list.len() >= KEPT {
                list.remove(0);
            }
            list.push(word.to_owned());
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
        read(&mut handoff, text);
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
