//! Finds passwords in the words of commands, by their programs.

use std::ops::Range;

use crate::names::Sensitivity;
use crate::values::{self, Before, LOOK, MAX_NEXT, argument, is_name, is_prose, prefix};

/// The place of a password among the words of a command.
#[derive(Clone, Copy)]
enum Place {
    /// In the same word as this option: `-pX`.
    In(&'static str),
    /// Behind this option: `-p X`.
    Behind(&'static str),
    /// In the same word as this option, or behind it.
    At(&'static str),
    /// The operand with this number, if it looks like a secret.
    Operand(usize),
    /// The last word.
    Last,
    /// The last word, which a program reads that takes a password: `echo X | chpasswd`.
    Piped,
}
use Place::{At, Behind, In, Last, Operand, Piped};

/// Programs in the order of their names, the words that must follow in this order, and the place of the password. A letter
/// behind a dash may stand among others.
const COMMANDS: [(&str, &str, Place); 59] = [
    ("7z", "", In("-p")),
    ("7za", "", In("-p")),
    ("7zz", "", In("-p")),
    ("apksigner", "", Behind("--ks-pass")),
    ("aws", "configure set aws_secret_access_key", Operand(0)),
    ("aws", "configure set aws_session_token", Operand(0)),
    ("az", "login", At("-p")),
    ("bcp", "", At("-P")),
    ("buildah", "login", At("-p")),
    ("cargo", "login", Operand(0)),
    ("crane", "login", At("-p")),
    ("curl", "", At("-b")),
    ("docker", "login", At("-p")),
    ("echo", "", Piped),
    ("gh", "secret set", Behind("--body")),
    ("gh", "secret set", Behind("-b")),
    ("helm", "login", At("-p")),
    ("htpasswd", "-b", Last),
    ("ipmitool", "", At("-P")),
    ("jarsigner", "", Behind("-keypass")),
    ("jarsigner", "", Behind("-storepass")),
    ("keytool", "", Behind("-keypass")),
    ("keytool", "", Behind("-storepass")),
    ("ldapadd", "", At("-w")),
    ("ldapmodify", "", At("-w")),
    ("ldapsearch", "", At("-w")),
    ("ldapwhoami", "", At("-w")),
    // A line of `.netrc`.
    ("machine", "login", Behind("password")),
    ("mariadb", "", In("-p")),
    ("mongo", "", Behind("-p")),
    ("mongodump", "", Behind("-p")),
    ("mongosh", "", Behind("-p")),
    ("mysql", "", In("-p")),
    ("mysqladmin", "", In("-p")),
    ("mysqldump", "", In("-p")),
    ("nerdctl", "login", At("-p")),
    ("npm", "config set", Operand(1)),
    ("oc", "login", At("-p")),
    ("openssl", "", Behind("-k")),
    ("oras", "login", At("-p")),
    ("podman", "login", At("-p")),
    ("printf", "", Piped),
    ("pulumi", "config set --secret", Operand(1)),
    ("rclone", "obscure", Operand(0)),
    ("redis-cli", "", At("-a")),
    ("redis-cli", "auth", Last),
    ("redis-cli", "requirepass", Last),
    ("signtool", "", Behind("/p")),
    ("skopeo", "login", At("-p")),
    ("snmpwalk", "", At("-A")),
    ("sqlcmd", "", At("-P")),
    ("ssh-keygen", "", Behind("-N")),
    ("sshpass", "", At("-p")),
    ("twine", "", At("-p")),
    ("unzip", "", At("-P")),
    ("useradd", "", Behind("-p")),
    ("vault", "login", Operand(0)),
    ("xfreerdp", "", In("/p:")),
    ("zip", "", At("-P")),
];
/// Words of commands that read a password from a pipe.
const TAKERS: [&str; 8] = [
    "--password-stdin",
    "--with-token",
    "--stdin",
    "chpasswd",
    "cryptsetup",
    "secret put",
    "secret set",
    "sudo -S",
];

/// A word: its place with its quote, its place without, and its text.
type Word<'a> = (usize, usize, &'a str);

/// Finds the password in the words of the command that begins at `at`.
pub(crate) fn find(text: &str, at: usize) -> Option<Range<usize>> {
    let seen = prefix(text.get(at..)?, MAX_NEXT);
    let (name, after) = seen.split_at_checked(seen.find(|c| !is_name(c))?)?;
    if !after.starts_with([' ', '\t', '"', '\'', '\\']) {
        return None;
    }
    // The first letter decides mostly.
    let key = |name: &'static str| (name.bytes().next(), name);
    let from = COMMANDS.partition_point(|(program, ..)| key(program) < (name.bytes().next(), name));
    let rows = COMMANDS.get(from..)?.iter().take_while(|(program, ..)| *program == name);
    let mut rows = rows.peekable();
    rows.peek()?;
    let words = words(text, at + name.len());
    rows.find_map(|(_, wanted, place)| {
        let mut left = words.iter();
        let follows = |wanted: &str| left.any(|word| is(wanted, word.2));
        wanted.split_ascii_whitespace().all(follows).then_some(())?;
        let rest = words.get(words.len() - left.len()..)?;
        let (start, is_loose) = start(text, name, rest, *place)?;
        let sensitivity = if is_loose { Sensitivity::Maybe } else { Sensitivity::Secret };
        let value =
            values::at(text, start, Before { sensitivity, whole_line: false, spaced: false, json: false })?;
        // The name of a file with cookies is no cookie.
        let is_one = name != "curl" || text.get(value.clone())?.contains('=');
        (is_one && !is_prose(text.get(value.clone())?)).then_some(value)
    })
}

fn is(wanted: &str, word: &str) -> bool {
    match wanted.strip_prefix('-').filter(|letter| letter.len() == 1) {
        Some(letter) => word.starts_with('-') && !word.starts_with("--") && word.contains(letter),
        None => word.eq_ignore_ascii_case(wanted),
    }
}

/// Returns the beginning of a value, and whether only its look tells that it is a secret.
fn start(text: &str, name: &str, words: &[Word<'_>], place: Place) -> Option<(usize, bool)> {
    let behind = |option| {
        let at = words.iter().position(|word| word.2 == option)?;
        words.get(at + 1).map(|(start, ..)| *start)
    };
    let inside = |option: &str| {
        let after = |word: &Word<'_>| Some((word.1 + option.len(), word.2.strip_prefix(option)?.to_owned()));
        let mut all = words.iter().filter_map(after);
        all.find(|(_, rest)| !rest.is_empty() && !rest.starts_with('-')).map(|(start, _)| start)
    };
    match place {
        In(option) => inside(option).map(|start| (start, false)),
        Behind(option) => behind(option).map(|start| (start, false)),
        At(option) => behind(option).or_else(|| inside(option)).map(|start| (start, false)),
        Operand(number) => {
            let mut operands = words.iter().filter(|word| !word.2.starts_with('-'));
            // `npm config set NAME VALUE` has names that are no secrets.
            let first = words.first().map_or("", |word| word.2);
            let is_one = name != "npm" || crate::classify(first).is_some();
            operands.nth(number).filter(|word| is_one && !word.2.contains('=')).map(|word| (word.0, true))
        }
        Last => words.last().filter(|_| words.len() > 1 || name != "htpasswd").map(|word| (word.0, false)),
        Piped => {
            let (start, inner, word) = words.last()?;
            let rest = prefix(text.get(inner + word.len()..)?, LOOK);
            let (_, taker) = rest.split('\n').next()?.split_once('|')?;
            TAKERS.iter().any(|it| taker.contains(it)).then_some((*start, false))
        }
    }
}

/// Returns the words behind a program, or the strings of a list, up to the end of the command.
fn words(text: &str, from: usize) -> Vec<Word<'_>> {
    let mut found = Vec::new();
    let mut at = from;
    while let Some(start) = argument(text, at).filter(|start| start - from < LOOK) {
        let rest = text.get(start..).unwrap_or_default();
        let bare = rest.trim_start_matches('\\');
        let quote = bare.chars().next().filter(|c| ['"', '\''].contains(c));
        let inner = if quote.is_some() { text.len() - bare.len() + 1 } else { start };
        let ends = |c: char| {
            c == '\n'
                || quote.map_or(c.is_whitespace() || "|;&\"'\\".contains(c), |quote| c == quote || c == '\\')
        };
        let seen = prefix(text.get(inner..).unwrap_or_default(), LOOK);
        let word = seen.get(..seen.find(ends).unwrap_or(seen.len())).unwrap_or_default();
        if word.is_empty() && quote.is_none() {
            break;
        }
        at = inner + word.len();
        found.push((start, inner, word));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::COMMANDS;

    #[test]
    fn the_programs_are_in_the_order_of_their_names() {
        assert!(COMMANDS.is_sorted_by_key(|(program, ..)| *program));
    }
}
