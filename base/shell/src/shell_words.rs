//! The words of a call of a shell.

use crate::is_terminal;

/// The letters that are options of a shell.
const LETTERS: &str = "abcefhiklmnoprstuvxBCDEHOPT";

/// The long options that bash knows with one dash, too, and whose letters would mean something else.
const NAMES: &str = "debugger help init-file login noediting noprofile norc posix pretty-print protected rcfile restricted \
    verbose version";

/// The words of a call of a shell, such as `-eo pipefail x.sh a`. Those after the script are the script's.
#[derive(Debug, Default)]
pub struct ShellWords<'a, 'w> {
    /// The letters of its options, without those that `+x` sets back.
    pub letters: String,
    /// The options that are not letters.
    pub names: Vec<&'w str>,
    /// The script, or with `-c` its text, and the words for it.
    pub operands: &'a [&'w str],
}

impl<'a, 'w> ShellWords<'a, 'w> {
    /// Reads the words after the program.
    pub fn of(words: &'a [&'w str]) -> Self {
        let mut read = Self { operands: words, ..Self::default() };
        while let [word, rest @ ..] = read.operands {
            let name = word.trim_start_matches('-');
            let letters = word.strip_prefix(['-', '+']).unwrap_or_default();
            let is_name = |known: &str| known.split_ascii_whitespace().any(|it| it == name);
            let is_set = !letters.is_empty() && letters.chars().all(|it| LETTERS.contains(it));
            let values = match *word {
                "-" | "--" => {
                    read.operands = rest;
                    break;
                }
                _ if word.starts_with('-') && (is_name(NAMES) || !is_set) => {
                    read.names.push(word);
                    usize::from(is_name("rcfile init-file"))
                }
                _ if !is_set => break,
                _ => {
                    let values = letters.matches(['o', 'O']).count();
                    let checks = rest.iter().take(values).any(|it| *it == "noexec");
                    let letters = letters.chars().chain(checks.then_some('n'));
                    if word.starts_with('+') {
                        letters.for_each(|letter| read.letters.retain(|it| it != letter));
                    } else {
                        read.letters.extend(letters);
                    }
                    values
                }
            };
            read.operands = rest.get(values..).unwrap_or_default();
        }
        read
    }

    /// Returns true if the shell only looks for errors in its script. A shell for a user ignores that.
    pub fn only_checks(&self) -> bool {
        self.letters.contains('n') && !self.letters.contains('i')
    }

    /// Returns true if the shell runs what it reads from its standard input.
    pub fn runs_input(&self) -> bool {
        let has_script = self.operands.first().is_some_and(|it| !is_terminal(it));
        !self.only_checks() && !self.letters.contains('c') && (self.letters.contains('s') || !has_script)
    }
}

#[cfg(test)]
mod tests {
    use super::ShellWords;

    #[test]
    fn a_shell_runs_its_input_unless_it_has_a_script() {
        for (line, runs) in [
            ("", true),
            ("-", true),
            ("-s", true),
            ("-s -- -y -n", true),
            ("-s -- -c", true),
            ("-eo pipefail", true),
            ("-oO pipefail extglob -x", true),
            ("+o posix", true),
            ("--rcfile x --posix -e", true),
            ("-rcfile x", true),
            ("-norc", true),
            ("-n +n", true),
            ("-in", true),
            ("/dev/stdin -n", true),
            ("/dev//stdin", true),
            ("/dev/../dev/./fd/0", true),
            ("../../dev/stdin", true),
            ("-- /dev/tty", true),
            ("-n", false),
            ("-o noexec", false),
            ("-c", false),
            ("-ce ls -s", false),
            ("-co pipefail ls", false),
            ("x.sh", false),
            ("x.sh -s", false),
            ("-eo pipefail x.sh", false),
            ("- x.sh", false),
            ("dev/stdin", false),
        ] {
            let words: Vec<&str> = line.split_whitespace().collect();
            assert_eq!(ShellWords::of(&words).runs_input(), runs, "{line}");
        }
    }
}
