//! The signature of a failure: the same for the same failure, with any numbers, paths and times.

use hookbox_sdk::text::{Secrets, excerpt};
use hookbox_sdk::{ToolCall, ToolKind, ToolResult};

/// The longest text of an error that is kept, in bytes.
pub(crate) const TEXT: usize = 160;

/// The longest part of an output that is read, in bytes.
const READ: usize = 16 * 1024;

/// The largest output that is copied, in bytes; the host lets a component copy 4 MiB a call.
const LARGEST: u64 = 1024 * 1024;

/// The fields in which agents put an error.
const PLACES: [&str; 5] = ["/error", "/stderr", "/output", "/content", ""];

/// Programs that run another one.
const WRAPPERS: [&str; 8] = ["sudo", "env", "time", "nice", "nohup", "command", "exec", "timeout"];

/// Words by which a line is known to be the error.
const MARKS: [&str; 10] =
    ["error", "fatal", "failed", "failure", "panic", "denied", "not found", "no such", "cannot", "exception"];

/// The kind, the program and its first word: `shell cargo test`; of another tool its name: `edit Edit`.
pub(crate) fn head(call: &ToolCall) -> Option<String> {
    if call.kind == ToolKind::Shell {
        let (program, rest) = program(call.command.as_deref()?)?;
        let verb = rest.split_whitespace().next().filter(|word| {
            word.len() <= 24
                && word.chars().all(|c| c.is_ascii_alphabetic() || c == '-')
                && !word.starts_with('-')
        });
        return Some(match verb {
            Some(verb) => format!("shell {program} {verb}"),
            None => format!("shell {program}"),
        });
    }
    let name = excerpt(&call.name, 64);
    (!name.is_empty()).then(|| format!("tool {name}"))
}

/// The program of a shell line, without its directory, and what follows it.
pub(crate) fn program(line: &str) -> Option<(String, &str)> {
    // `cd x && make` is make.
    let mut rest = line.trim();
    while rest.starts_with("cd ") {
        rest = rest.split_once("&&").or_else(|| rest.split_once(';'))?.1.trim_start();
    }
    loop {
        let (word, after) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let sets = word.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        });
        if !sets && !WRAPPERS.contains(&word) {
            let name = excerpt(word.rsplit('/').next().unwrap_or(word), 64);
            return (!name.is_empty()).then_some((name, after));
        }
        rest = after.trim_start();
        if rest.is_empty() {
            return None;
        }
    }
}

/// Returns the error text of a failed call.
pub(crate) fn said(result: &ToolResult) -> String {
    if let Some(error) = result.error.as_deref().filter(|error| !error.trim().is_empty()) {
        return error.to_owned();
    }
    if result.output.size() > LARGEST {
        return "failed with a large output".to_owned();
    }
    let texts = PLACES.iter().filter_map(|place| result.output.get::<String>(place).ok().flatten());
    let said = texts.into_iter().find(|text| !text.trim().is_empty());
    said.unwrap_or_else(|| match result.exit_status {
        Some(status) => format!("exit status {status}"),
        None => "failed".to_owned(),
    })
}

/// Returns the line of a text that names the error, without escapes, secrets, and parts that differ each
/// time.
pub(crate) fn normalise(text: &str) -> String {
    let start = text.ceil_char_boundary(text.len().saturating_sub(READ));
    let plain = without_escapes(text.get(start..).unwrap_or_default());
    let lines = || plain.lines().map(str::trim).filter(|line| !line.is_empty());
    let marked = |line: &&str| {
        let small = line.get(..line.floor_char_boundary(400)).unwrap_or_default().to_ascii_lowercase();
        MARKS.iter().any(|mark| small.contains(mark))
    };
    let line = lines().find(marked).or_else(|| lines().next_back()).unwrap_or_default();
    let line = line.get(..line.floor_char_boundary(1000)).unwrap_or_default();
    let clean = Secrets::default().redact(line);
    let clean = clean.as_deref().unwrap_or(line);
    let words: Vec<String> = clean.split_whitespace().map(word).collect();
    excerpt(&words.join(" "), TEXT)
}

/// A word without what differs each time.
fn word(word: &str) -> String {
    let bare = word.trim_matches(|c: char| !c.is_alphanumeric() && !"/._~-".contains(c));
    let hexadecimal = bare.strip_prefix("0x").unwrap_or(bare);
    let is_hexadecimal = hexadecimal.len() >= 7
        && hexadecimal.bytes().all(|byte| byte.is_ascii_hexdigit())
        && hexadecimal.bytes().any(|byte| byte.is_ascii_digit());
    let is_path = bare.len() > 1 && bare.contains('/') && !bare.contains("://");
    let (found, stands) = if is_path {
        (bare, "PATH")
    } else if is_hexadecimal && hexadecimal.bytes().any(|byte| byte.is_ascii_alphabetic()) {
        (bare, "HEX")
    } else {
        return numbers(word);
    };
    word.replacen(found, stands, 1)
}

/// A number is an N, but not in the name of an error such as `E0308`: a capital letter and digits.
fn numbers(word: &str) -> String {
    let mut out = String::with_capacity(word.len());
    for part in word.split_inclusive(|c: char| !c.is_ascii_alphanumeric()) {
        let name = part.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
        let mut chars = name.chars();
        let is_name = chars.next().is_some_and(|c| c.is_ascii_uppercase()) && name.len() <= 8;
        if is_name {
            out.push_str(part);
            continue;
        }
        let mut number = false;
        for c in part.chars() {
            if !c.is_ascii_digit() {
                out.push(c);
            } else if !number {
                out.push('N');
            }
            number = c.is_ascii_digit();
        }
    }
    out
}

/// A text without the escapes of a terminal (ECMA-48).
fn without_escapes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\u{1b}' {
            out.push(c);
        } else if chars.next_if_eq(&'[').is_some() {
            // Up to the letter that ends it.
            while chars.next_if(|c| !('@'..='~').contains(c) && !c.is_control()).is_some() {}
            chars.next_if(|c| ('@'..='~').contains(c));
        } else if chars.next_if_eq(&']').is_some() {
            while chars.next_if(|c| *c != '\u{7}' && *c != '\n' && *c != '\u{1b}').is_some() {}
            chars.next_if_eq(&'\u{7}');
        }
    }
    out
}

/// Returns the class of error that a text shows.
pub(crate) fn class(text: &str) -> &'static str {
    const CLASSES: [(&str, &[&str]); 8] = [
        ("timeout", &["timed out", "timeout", "deadline"]),
        (
            "auth",
            &["unauthorized", "unauthenticated", "401", "403", "forbidden", "credential", "authentication"],
        ),
        ("permission", &["permission denied", "not permitted", "access denied", "eacces", "denied"]),
        ("not_found", &["command not found", "no such file", "not found", "enoent", "404"]),
        ("network", &["connection", "network", "could not resolve", "unreachable", "dns", "tls"]),
        (
            "resource",
            &["out of memory", "no space left", "disk full", "quota", "too many open files", "rate limit"],
        ),
        (
            "syntax",
            &[
                "syntax error",
                "parse error",
                "unexpected token",
                "invalid json",
                "cannot find",
                "mismatched types",
            ],
        ),
        ("test", &["test failed", "tests failed", "assertion", "panicked"]),
    ];
    let small = text.get(..text.floor_char_boundary(4096)).unwrap_or_default().to_ascii_lowercase();
    let found = CLASSES.iter().find(|(_, words)| words.iter().any(|word| small.contains(word)));
    found.map_or("other", |(class, _)| class)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hookbox_sdk::json;

    #[test]
    fn a_head_is_the_kind_the_program_and_its_first_word() {
        for (line, expected) in [
            ("cargo test -p x", Some("shell cargo test")),
            ("cd /a/b && RUST_LOG=1 sudo /usr/bin/cargo test", Some("shell cargo test")),
            ("make", Some("shell make")),
            ("make -j4 all", Some("shell make")),
            ("./run.sh 5", Some("shell run.sh")),
            ("git push origin main", Some("shell git push")),
            ("A=1", None),
            ("cd x", None),
            ("  ", None),
        ] {
            assert_eq!(head(&ToolCall::new("bash", json!({"command": line}))).as_deref(), expected, "{line}");
        }
        assert_eq!(head(&ToolCall::new("Edit", json!({}))).as_deref(), Some("tool Edit"));
        assert_eq!(head(&ToolCall::new("", json!({}))), None);
    }

    #[test]
    fn the_same_failure_has_the_same_text() {
        for (text, expected) in [
            ("error[E0308]: mismatched types\n --> src/lib.rs:12:5", "error[E0308]: mismatched types"),
            (
                "compiling\n\u{1b}[31mError:\u{1b}[0m port 8080 in use after 1.5s",
                "Error: port N in use after N.Ns",
            ),
            ("cat: /tmp/x-12/a.txt: No such file or directory", "cat: PATH: No such file or directory"),
            ("fatal: bad object deadbeef01", "fatal: bad object HEX"),
            ("panic at 0x7fff12ab (2025-04-27T18:42:31Z)", "panic at HEX (N-N-NTN:N:NZ)"),
            ("all is well\nlast line 3", "last line N"),
            ("error: token=abcd1234 refused", "error: token=[REDACTED] refused"),
            ("", ""),
            ("\u{1b}]0;title\u{7}error: a\u{202e}b\u{0}c", "error: a b c"),
        ] {
            assert_eq!(normalise(text), expected, "{text:?}");
        }
        assert_eq!(normalise("error: 3 of 17 in /a/b"), normalise("error: 12 of 9 in /c/d/e"));
    }

    #[test]
    fn hostile_texts_are_short_and_plain() {
        for piece in ["\u{1b}[", "\u{1b}]", "9", "/", "漢\u{1F600}", "error \u{1b}[31m", "a\n", "0x", "\u{0}"]
        {
            let text = normalise(&piece.repeat(100_000));
            assert!(text.len() <= TEXT && !text.chars().any(char::is_control), "{piece:?}: {text:?}");
            assert!(
                head(&ToolCall::new("bash", json!({"command": piece.repeat(10_000)})))
                    .is_none_or(|head| head.len() < 200)
            );
        }
    }

    #[test]
    fn an_error_is_found_where_the_agent_puts_it() {
        let result = |output| ToolResult::new(ToolCall::default(), output);
        for (output, expected) in [
            (json!({"error": "a", "output": "b"}), "a"),
            (json!({"stderr": " ", "output": "b"}), "b"),
            (json!("c"), "c"),
            (json!({}), "failed"),
            (json!("x".repeat(2_000_000)), "failed with a large output"),
        ] {
            assert_eq!(said(&result(output)), expected);
        }
        let status = ToolResult { exit_status: Some(2), ..result(json!(null)) };
        assert_eq!(said(&status), "exit status 2");
    }

    #[test]
    fn a_failure_is_of_a_class() {
        for (text, expected) in [
            ("request timed out", "timeout"),
            ("bash: x: command not found", "not_found"),
            ("Permission denied (publickey)", "permission"),
            ("HTTP 401", "auth"),
            ("Could not resolve host", "network"),
            ("No space left on device", "resource"),
            ("hm", "other"),
        ] {
            assert_eq!(class(text), expected, "{text}");
        }
    }
}
