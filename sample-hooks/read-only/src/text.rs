//! The part of the shell's language in which a line is the same to every shell.
//!
//! The shell reader follows bash. The agent's shell may be zsh or fish, where `*(e:…:)` and `(…)` run commands, and a line can
//! redefine what its words mean. Such lines are left to the agent's question.

use hookbox_shell::is_in;

/// The longest line that is read, in bytes.
const MAX_LINE: usize = 8 << 10;

/// Variables in capitals that change no program: words and signs of its output.
const HARMLESS: &str = "LC_ALL LC_COLLATE LC_CTYPE LANG TZ NO_COLOR COLUMNS";

/// Words at the beginning of a command that define something, or read a text in another way.
const REFUSED: &str = "function select coproc case [[ repeat";

/// Words at the beginning of a command behind which another one begins.
const BEFORE_COMMANDS: &str = "do then else elif if while until ! time {";

/// Returns true if a variable of this name changes no program of the line.
pub(crate) fn is_harmless(name: &str) -> bool {
    let is_lower = |it: u8| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'_';
    is_in(HARMLESS, name) || (name.bytes().all(is_lower) && !name.is_empty() && !name.ends_with("_proxy"))
}

/// Returns true if the value of this variable may be shown. Those of the environment may be secrets.
fn is_shown(name: &str) -> bool {
    is_harmless(name) || matches!(name, "HOME" | "PWD" | "OLDPWD" | "USER")
}

/// Returns true if a line has only words, quotes, pipes, lists, loops, `$name`, `$(…)` and redirections.
pub(crate) fn is_simple(line: &str) -> bool {
    let is_odd = |it: char| it.is_control() && !matches!(it, '\n' | '\t');
    line.len() <= MAX_LINE && !line.contains(is_odd) && Scanner::new(line).scan()
}

/// The place of the scanner.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    /// Double quotes.
    Quotes,
    /// `$(…)` or `<(…)`.
    Substitution,
}

struct Scanner<'a> {
    rest: std::str::Chars<'a>,
    inside: Vec<Inside>,
    /// The letters without quotes of the word so far.
    word: String,
    /// True if the word has a quoted part, so that it is neither a keyword nor an assignment.
    is_quoted: bool,
    /// True if the next word is the variable of a loop.
    is_variable: bool,
    /// True if the next word may begin a command.
    is_start: bool,
}

impl<'a> Scanner<'a> {
    fn new(line: &'a str) -> Self {
        Self {
            rest: line.chars(),
            inside: Vec::new(),
            word: String::new(),
            is_quoted: false,
            is_variable: false,
            is_start: true,
        }
    }

    fn next_is(&self, letters: &[char]) -> bool {
        self.rest.clone().next().is_some_and(|it| letters.contains(&it))
    }

    fn scan(mut self) -> bool {
        while let Some(letter) = self.rest.next() {
            let is_fine = match self.inside.last() {
                Some(Inside::Quotes) => self.quoted(letter),
                _ => self.bare(letter),
            };
            if !is_fine {
                return false;
            }
        }
        self.inside.is_empty() && self.end_word()
    }

    fn quoted(&mut self, letter: char) -> bool {
        match letter {
            '"' => drop(self.inside.pop()),
            '\\' => drop(self.rest.next()),
            '$' => return self.dollar(),
            '`' => return false,
            _ => {}
        }
        true
    }

    fn bare(&mut self, letter: char) -> bool {
        match letter {
            '\'' => {
                self.is_quoted = true;
                let mut last = ' ';
                loop {
                    match self.rest.next() {
                        // fish reads `\'` as a quote in the text.
                        Some('\'') => return last != '\\',
                        Some(letter) => last = letter,
                        None => return false,
                    }
                }
            }
            '"' => {
                self.is_quoted = true;
                self.inside.push(Inside::Quotes);
            }
            '\\' => {
                self.is_quoted = true;
                return self.rest.next().is_some();
            }
            '$' => {
                self.word.push('$');
                return self.dollar();
            }
            '`' | '(' => return false,
            ')' => {
                let is_end = self.end_word() && self.inside.pop() == Some(Inside::Substitution);
                (self.is_quoted, self.is_start) = (true, false);
                return is_end;
            }
            '<' => {
                if !self.end_word() || self.is_document() {
                    return false;
                }
                if self.next_is(&['(']) {
                    self.rest.next();
                    return self.begin();
                }
            }
            '>' => return self.end_word() && !self.next_is(&['(']),
            '!' if self.word.is_empty() => {
                self.word.push('!');
                return self.next_is(&[' ']);
            }
            '#' if self.word.is_empty() && !self.is_quoted => return self.comment(),
            ' ' | '\t' => return self.end_word(),
            '\n' | ';' | '&' | '|' => {
                let is_fine = self.end_word();
                self.is_start = true;
                return is_fine;
            }
            '}' => {
                self.word.push('}');
                return !self.next_is(&['<', '>']);
            }
            letter => self.word.push(letter),
        }
        true
    }

    /// Reads the letters behind `$`: a name, or a substitution.
    fn dollar(&mut self) -> bool {
        if self.next_is(&['\'', '"', '[']) && self.inside.last() != Some(&Inside::Quotes) {
            return false;
        }
        if self.next_is(&['{']) {
            self.rest.next();
            let (name, rest) = self.rest.as_str().split_once('}').unwrap_or_default();
            self.rest = rest.chars();
            self.is_quoted = true;
            return is_shown(name);
        }
        if self.next_is(&['(']) {
            self.rest.next();
            return self.begin();
        }
        let rest = self.rest.as_str();
        let end = rest.find(|it: char| !it.is_ascii_alphanumeric() && it != '_').unwrap_or(rest.len());
        rest.split_at_checked(end).is_some_and(|(name, _)| name.is_empty() || is_shown(name))
    }

    /// Begins a substitution, whose commands have words of their own.
    fn begin(&mut self) -> bool {
        self.inside.push(Inside::Substitution);
        let word = std::mem::take(&mut self.word);
        (self.is_quoted, self.is_start) = (false, true);
        // Arithmetic runs the substitutions in the values of its variables.
        !self.is_variable && !self.next_is(&['(']) && !word.contains('[') && is_harmless_assignment(&word)
    }

    /// Returns true for `<<` that is not `<<<`.
    fn is_document(&mut self) -> bool {
        let rest = self.rest.as_str();
        if let Some(rest) = rest.strip_prefix("<<") {
            self.rest = rest.chars();
            return false;
        }
        rest.starts_with('<')
    }

    /// Reads a comment, in which a shell without comments would find no command either.
    fn comment(&mut self) -> bool {
        let rest = self.rest.as_str();
        let (comment, rest) = rest.split_once('\n').unwrap_or((rest, ""));
        self.rest = rest.chars();
        self.is_start = true;
        !comment.contains([';', '&', '|', '`', '$', '<', '>', '(', '\'', '"', '\\'])
    }

    /// Judges the word that ends here.
    fn end_word(&mut self) -> bool {
        let word = std::mem::take(&mut self.word);
        let is_quoted = std::mem::take(&mut self.is_quoted);
        if word.is_empty() && !is_quoted {
            return true;
        }
        if std::mem::take(&mut self.is_variable) {
            return !is_quoted && is_harmless(&word);
        }
        let is_keyword = std::mem::take(&mut self.is_start) && !is_quoted;
        self.is_variable = is_keyword && word == "for";
        self.is_start = is_keyword && is_in(BEFORE_COMMANDS, &word);
        !(is_keyword && is_in(REFUSED, &word)) && is_harmless_assignment(&word)
    }
}

/// Returns false for an assignment to a variable that may change what the words of the line mean.
fn is_harmless_assignment(word: &str) -> bool {
    let end = word.find(|it: char| !it.is_ascii_alphanumeric() && it != '_').unwrap_or(word.len());
    let (name, rest) = word.split_at_checked(end).unwrap_or((word, ""));
    let is_element = rest.starts_with('[') && (rest.contains("]=") || rest.contains("]+="));
    match rest.starts_with('=') || rest.starts_with("+=") {
        _ if is_element => false,
        true => name.is_empty() || is_harmless(name),
        false => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_every_shell_reads_in_the_same_way_are_simple() {
        for line in [
            "",
            "ls -la | head -n 5 && cat 'a b' \"c d\"",
            "for f in a b; do head \"$f\" ${f}; done",
            "cat a 2>/dev/null >&2 < b <<< c",
            "echo \"$(git log | head)\" $x $(pwd)",
            "diff <(sort a) <(sort b)",
            "LC_ALL=C sort a; x=1; y=\"$x\"",
            "! grep -q 'fn (' a # a comment",
            "ls {a,b} *.rs [ab]* file[0-9].txt",
            "{ ls; cat a; }",
            "# what is here\nls",
            "cat a\\ b",
            "grep -rn function src | head; rg case",
            "if grep -q a b; then cat b; else ls; fi",
        ] {
            assert!(is_simple(line), "{line}");
        }
    }

    #[test]
    fn lines_that_can_mean_something_else_are_not() {
        for line in [
            "ls *(e:'touch x':)",
            "echo (touch x)",
            "f() { touch x; }; cat a",
            "function ls { touch x; }",
            "select PATH in a; do ls; done",
            "for PATH in /tmp; do ls; done",
            "for \"f\" in a; do ls; done",
            "PATH=/tmp ls",
            "PATH+=:. ls",
            "PA\\\nTH=/tmp ls",
            "PATH=$(pwd) ls",
            "echo $(PATH=/tmp ls)",
            "echo \"$(PATH=/tmp ls)\"",
            "if true; then function ls { touch x; }; fi",
            "for $(x) in a; do ls; done",
            "x=1 PATH='/tmp' ls",
            "IFS=:",
            "a[$(touch x)]=1",
            "echo $((1 + 1))",
            "echo $[1]",
            "(( x ))",
            "[[ -f a ]]",
            "echo ${x:-y} ",
            "echo \"${x[0]}\"",
            "echo `pwd`",
            "echo \"`pwd`\"",
            "echo $'a\\nb'",
            "cat <<EOF\nx\nEOF",
            "cat > >(tee x)",
            "coproc ls",
            "case a in a) ls;; esac",
            "echo 'x\\'' ; touch y; '",
            "echo 'open",
            "echo \"open",
            "echo $(open",
            "ls )",
            "{fd}</dev/null ls",
            "!!",
            "# it's here; touch x",
            "ls\0",
            "ls \u{1b}[2J",
            "ls\r",
        ] {
            assert!(!is_simple(line), "{line}");
        }
    }
}
