//! Generated lines, read beside bash.

use std::io::Write;
use std::process::{Command, Stdio};

use super::*;

/// A row of numbers that is the same in every run.
pub(super) struct Numbers(pub(super) u64);

impl Numbers {
    pub(super) fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % end
    }

    pub(super) fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }

    fn word(&mut self, depth: usize) -> String {
        let inner = if depth > 0 { self.list(depth - 1) } else { "ls".to_owned() };
        match self.below(16) {
            0 => format!("\"$( {inner} )\""),
            1 => format!("$( {inner} )"),
            2 => format!("<( {inner} )"),
            3 => "'a b; c'".to_owned(),
            4 => "\"$x ${y:-z}\"".to_owned(),
            5 => "{a,b}".to_owned(),
            6 => "$'\\x41'".to_owned(),
            7 => "$((1 + $x))".to_owned(),
            8 => "`date`".to_owned(),
            9 => "a\\ b".to_owned(),
            _ => self.pick(&["x", "-rf", "*.c", "~/y", "a=b", "#c", "!d", "%e", "if", "done"]).to_owned(),
        }
    }

    fn command(&mut self, depth: usize) -> String {
        let body = if depth > 0 { self.list(depth - 1) } else { "ls".to_owned() };
        match self.below(18) {
            0 => format!("( {body} )"),
            1 => format!("{{ {body}; }}"),
            2 => format!("if {body}; then {body}; else ls; fi"),
            3 => format!("while {body}; do {body}\ndone"),
            4 => format!("for f in {} b; do {body}; done", self.word(0)),
            5 => format!("case {} in a|b) {body};; *) ls;; esac", self.word(0)),
            6 => format!("f() {{ {body}; }}"),
            7 => format!("[[ -f x && $y == {} ]]", self.pick(&["a*", "\"b\"", "c"])),
            8 => "(( x + 1 ))".to_owned(),
            9 => format!("cat <<E\n{} $x\nE\n", self.pick(&["don't", "a", "$(ls)"])),
            10 => "x=1 y=(a b)".to_owned(),
            11 => format!("bash -c '{}'", self.pick(&["ls; rm x", "cd y && ls", "echo \"a\""])),
            _ => {
                let mut line =
                    self.pick(&["ls", "rm", "git", "sudo", "xargs", "echo", "env", "find"]).to_owned();
                for _ in 0..self.below(4) {
                    line.push(' ');
                    line.push_str(&self.word(depth));
                }
                line + self.pick(&["", "", "", " > f", " 2>&1", " < f", " &>> f", " <<< w"])
            }
        }
    }

    fn list(&mut self, depth: usize) -> String {
        let mut line = self.command(depth);
        for _ in 0..self.below(3) {
            let sign = self.pick(&["; ", " && ", " | ", " || ", "\n", " & "]);
            // The text of a document begins behind its line.
            line.push_str(if line.ends_with('\n') { "" } else { sign });
            let next = self.command(depth);
            line.push_str(&next);
        }
        if line.ends_with('\n') { line + "true" } else { line }
    }

    /// Damages a line.
    fn damaged(&mut self, line: &str) -> String {
        let mut letters: Vec<char> = line.chars().collect();
        for _ in 0..=self.below(2) {
            let at = self.below(letters.len().max(1));
            match self.below(3) {
                0 if at < letters.len() => drop(letters.remove(at)),
                1 => letters.insert(
                    at,
                    self.pick(&[";", "&", "|", "(", ")", "'", "\"", "`", "$", "{", "}", "\n", "<"])
                        .chars()
                        .next()
                        .unwrap(),
                ),
                _ => letters.truncate(letters.len() - letters.len().min(self.below(4))),
            }
        }
        letters.into_iter().collect()
    }
}

/// Returns true if bash accepts a text.
fn bash_accepts(text: &str) -> bool {
    let mut command = Command::new("bash");
    command.args(["--norc", "--noprofile", "-n"]).env_clear().env("PATH", std::env::var_os("PATH").unwrap());
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    // Bash may stop at an error before it read everything.
    let _ = child.stdin.take().unwrap().write_all(text.as_bytes());
    child.wait().unwrap().success()
}

/// Returns true if the parser found no error and read everything. Scripts within the line are not the line's.
fn is_accepted(text: &str) -> bool {
    let tree = parse::parse(text, Vec::new());
    !tree.has_errors && !tree.is_cut
}

/// Returns the texts that bash does not accept. Many are read by one process, which runs none of them.
fn refused(texts: &[String]) -> Vec<&String> {
    // A document that is still open ends here; else these are commands.
    let end = "\nE\nE\nE\n";
    let chunks = texts.chunks(50).filter(|it| !bash_accepts(&it.join(end)));
    chunks.flatten().filter(|it| !bash_accepts(it)).collect()
}

#[test]
fn what_is_accepted_bash_accepts_too() {
    let mut numbers = Numbers(19);
    let mut accepted = Vec::new();
    for at in 0..6000 {
        let line = numbers.list(2);
        let is_whole = at % 3 != 2;
        let line = if is_whole { line } else { numbers.damaged(&line) };
        if is_accepted(&line) {
            accepted.push(line);
        } else if is_whole {
            assert!(!bash_accepts(&line), "{line}");
        }
    }
    assert!(accepted.len() > 4000, "{}", accepted.len());
    assert_eq!(refused(&accepted), Vec::<&String>::new());
}

#[test]
fn generated_lines_are_read_to_their_end() {
    let mut numbers = Numbers(7);
    for at in 0..4000 {
        let line = numbers.list(3);
        let line = if at % 2 == 1 { numbers.damaged(&line) } else { line };
        let reading = runs(&line, &Known::default());
        assert!(reading.runs.iter().all(|it| it.input.iter().all(|at| *at < reading.runs.len())), "{line}");
    }
}
