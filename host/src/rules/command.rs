//! The words of a command, as a rule names them.

use hookbox_shell::{Token, program_starts, tokens};

/// A whole command by its words, for an exception.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct WholeCommand {
    words: Vec<String>,
    /// True if more words may follow.
    is_open: bool,
}

impl WholeCommand {
    /// Reads the words of a whole command. With a `*` as the last word, or with `more`, others may follow.
    ///
    /// # Errors
    ///
    /// The reason why it is not one.
    pub(super) fn parse(text: &str, more: bool) -> Result<Self, String> {
        let mut words = words_of(text)?;
        let star = words.last().is_some_and(|it| it == "*");
        if star {
            words.pop();
        }
        Ok(Self { words, is_open: more || star })
    }

    /// Returns true if a command has these words, with one of these further words if there are any.
    pub(super) fn is(&self, with: &[String], given: &[&str]) -> bool {
        let has_words = self.words.iter().zip(given).all(|(wanted, word)| is_match(wanted, word));
        let Some((_, rest)) = given.split_at_checked(self.words.len()).filter(|_| has_words) else {
            return false;
        };
        let before_end = || rest.iter().take_while(|word| **word != "--");
        let has = |wanted: &String| match is_option(wanted) {
            // As a word of its own: the `n` of `-on` may be a value of `-o`.
            true => before_end().any(|word| is_match(wanted, word)),
            false => rest.iter().any(|word| is_match(wanted, word)),
        };
        (self.is_open || rest.is_empty()) && (with.is_empty() || with.iter().any(has))
    }
}

/// Returns the words of one command.
fn words_of(text: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let no_end = || "expected the words of one command, found a quote or bracket without its end".to_owned();
    for token in tokens(text).ok_or_else(no_end)? {
        match token {
            Token::Word(word) => words.push(word),
            Token::Operator(operator) => {
                return Err(format!("expected the words of one command, found `{operator}`"));
            }
        }
    }
    match words.first() {
        None => Err("expected the words of a command, found none".to_owned()),
        Some(program) if program.is_empty() => {
            Err("expected a program first, found an empty word".to_owned())
        }
        Some(_) => Ok(words),
    }
}

/// A command by its words: a program, words behind it in this order, and options anywhere behind it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CommandPattern {
    program: String,
    words: Vec<String>,
    options: Vec<String>,
}

impl CommandPattern {
    /// Reads a pattern: the words of one command, as a shell reads them.
    ///
    /// # Errors
    ///
    /// The reason why it is not one.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut words = words_of(text)?.into_iter();
        let program = words.next().unwrap_or_default();
        if is_option(&program) {
            return Err("expected a program first, found an option: write it into `with`".to_owned());
        }
        let (options, words) = words.partition(|word| is_option(word));
        Ok(Self { program, words, options })
    }

    /// Returns the words behind each place at which a command runs this pattern: all of them, and those that follow
    /// the words of the pattern.
    fn places<'a, 'w>(&self, given: &'a [&'w str]) -> impl Iterator<Item = (&'a [&'w str], &'a [&'w str])> {
        let starts = program_starts(given, |name| is_match(&self.program, name));
        starts.into_iter().filter_map(|at| {
            let all = given.get(at + 1..).unwrap_or_default();
            let rest = behind(&self.words, all)?;
            self.options.iter().all(|option| has_option(option, all)).then_some((all, rest))
        })
    }
}

/// Returns true if a command runs one of these patterns, with one of these further words. Without patterns any command
/// does, and without words any words do.
pub(super) fn runs(patterns: &[CommandPattern], with: &[String], given: &[&str]) -> bool {
    match patterns {
        [] => has_one(with, given, given),
        patterns => patterns.iter().any(|it| it.places(given).any(|(all, rest)| has_one(with, all, rest))),
    }
}

/// Returns true if a command whose name is a substitution has the other words of one of these patterns: it may be any
/// program.
pub(super) fn may_run(patterns: &[CommandPattern], with: &[String], given: &[&str]) -> bool {
    let is_computed = |word: &&str| word.contains("$(") || word.contains('`');
    let Some((_, all)) = given.split_first().filter(|(program, _)| is_computed(program)) else {
        return false;
    };
    patterns.iter().any(|it| {
        let rest = behind(&it.words, all).filter(|_| it.options.iter().all(|option| has_option(option, all)));
        rest.is_some_and(|rest| has_one(with, all, rest))
    })
}

/// Returns true if a command has one of these words: an option anywhere, or an argument in the rest.
fn has_one(with: &[String], all: &[&str], rest: &[&str]) -> bool {
    with.is_empty()
        || with.iter().any(|wanted| match is_option(wanted) {
            true => has_option(wanted, all),
            false => rest.iter().any(|word| is_match(wanted, word)),
        })
}

fn is_option(word: &str) -> bool {
    word.len() > 1 && word.starts_with('-')
}

/// Returns the words behind these, which come first, in this order. Options may be between, each with a value.
fn behind<'a, 'w>(wanted: &[String], mut given: &'a [&'w str]) -> Option<&'a [&'w str]> {
    for wanted in wanted {
        let mut may_be_value = false;
        loop {
            let (word, rest) = given.split_first()?;
            given = rest;
            if is_match(wanted, word) {
                break;
            }
            if !is_option(word) && !may_be_value {
                return None;
            }
            may_be_value = is_option(word) && *word != "--" && !word.contains('=');
        }
    }
    Some(given)
}

/// The number of letters of `-rf`: they are options of their own. A longer word with one dash is one option.
const MAX_LETTERS: usize = 3;

/// Returns true if these words have an option: `--name`, also with `=VALUE`; or `-rf`, as one word or letter by letter
/// among others. Options end at `--`.
fn has_option(wanted: &str, given: &[&str]) -> bool {
    let mut options = given.iter().take_while(|word| **word != "--").filter(|word| is_option(word));
    let is_it = |word: &&&str| match word.split_once('=') {
        Some((name, _)) if !wanted.contains('=') => is_match(wanted, name),
        _ => is_match(wanted, word),
    };
    if options.clone().any(|word| is_it(&word)) {
        return true;
    }
    let letters = wanted.strip_prefix('-').filter(|it| !it.starts_with('-') && it.len() <= MAX_LETTERS);
    letters.is_some_and(|letters| {
        let given: Vec<&str> = options.by_ref().filter(|word| !word.starts_with("--")).copied().collect();
        letters.chars().all(|letter| given.iter().any(|word| word.contains(letter)))
    })
}

/// Returns true if a pattern matches a whole word. `*` is any text.
pub(super) fn is_match(pattern: &str, word: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = word.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let mut last = None;
    for part in parts {
        // The part before this one is followed by a `*`: its first place leaves the most behind it.
        if let Some(before) = last.replace(part) {
            match rest.split_once(before) {
                Some((_, after)) => rest = after,
                None => return false,
            }
        }
    }
    last.map_or(rest.is_empty(), |end: &str| rest.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_matched_by_its_words_and_not_by_its_letters() {
        for (pattern, line, expected) in [
            ("git push", "git push", true),
            ("git push", "git push origin main", true),
            ("git push", "/usr/bin/git push", true),
            ("git push", "A=1 git push", true),
            ("git push", "sudo git push", true),
            ("git push", "env -i git push", true),
            ("git push", "git -C dir push", true),
            ("git push", "git --no-pager -c a=b push", true),
            ("git push", "git --git-dir=x push", true),
            ("git push", "git stash push", false),
            ("git push", "git commit -m push", false),
            ("git push", "git", false),
            ("git push", "gitk push", false),
            ("git push", "echo git push", false),
            ("git push --force", "git push origin --force main", true),
            ("git push --force", "git --force push", true),
            ("git push --force", "git push --force-with-lease", false),
            ("git push --force", "git push -- --force", false),
            ("git push --force-with-lease", "git push --force-with-lease=main", true),
            ("git push -f", "git push -uf origin", true),
            ("git push -f", "git push --follow-tags", false),
            ("rm -rf", "rm -fr x", true),
            ("rm -rf", "rm -r x -f", true),
            ("rm -rf", "rm -rfv x", true),
            ("rm -rf", "rm -r x", false),
            ("find -delete", "find . -type d -empty -ls", false),
            ("find -delete", "find . -delete", true),
            ("mkfs*", "mkfs.ext4 /dev/sda", true),
            ("npm run deploy*", "npm run deploy:prod", true),
            ("npm run deploy*", "npm run build", false),
            ("*", "anything", true),
        ] {
            let pattern = CommandPattern::parse(pattern).unwrap();
            let words: Vec<&str> = line.split(' ').collect();
            assert_eq!(runs(std::slice::from_ref(&pattern), &[], &words), expected, "{pattern:?}: {line}");
        }
    }

    #[test]
    fn one_of_the_further_words_is_enough() {
        let push = [CommandPattern::parse("git push").unwrap()];
        let with = ["--force", "-f", "+*"].map(str::to_owned);
        for (line, expected) in [
            ("git push -f", true),
            ("git push origin +main", true),
            ("git push origin main", false),
            ("git +x push", false),
        ] {
            let words: Vec<&str> = line.split(' ').collect();
            assert_eq!(runs(&push, &with, &words), expected, "{line}");
        }
        assert!(runs(&[], &["--no-verify".to_owned()], &["git", "commit", "--no-verify"]));
    }

    #[test]
    fn a_pattern_is_the_words_of_one_command() {
        for (text, said) in [
            ("", "found none"),
            ("# x", "found none"),
            ("curl | sh", "found `|`"),
            ("a; b", "found `;`"),
            ("--force", "found an option"),
            ("''", "found an empty word"),
            ("git 'push", "without its end"),
        ] {
            let error = CommandPattern::parse(text).unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
    }

    #[test]
    fn an_exception_names_a_whole_command() {
        for (pattern, line, expected) in [
            ("git push", "git push", true),
            ("git push", "git push --force", false),
            ("git push", "sudo git push", false),
            ("git push", "A=1 git push", false),
            ("git push", "git -C x push", false),
            ("git push", "/tmp/git push", false),
            ("git push *", "git push", true),
            ("git push *", "git push --force origin", true),
            ("git push *", "git pushed", false),
            ("git push o*", "git push origin", true),
            ("git push o*", "git push origin main", false),
            ("*", "rm x", true),
        ] {
            let pattern = WholeCommand::parse(pattern, false).unwrap();
            let words: Vec<&str> = line.split(' ').collect();
            assert_eq!(pattern.is(&[], &words), expected, "{pattern:?}: {line}");
        }
        let open = WholeCommand::parse("git push", true).unwrap();
        let with = ["--dry-run".to_owned()];
        assert!(open.is(&with, &["git", "push", "--force", "--dry-run"]));
        assert!(!open.is(&with, &["git", "push", "--force"]));
        let with = ["-n".to_owned()];
        assert!(open.is(&with, &["git", "push", "-n", "-f"]));
        assert!(!open.is(&with, &["git", "push", "-on", "-f"]));
        assert!(!open.is(&with, &["git", "push", "-f", "--", "-n"]));
    }

    #[test]
    fn a_star_is_any_text_and_takes_linear_time() {
        for (pattern, word, expected) in [
            ("a*", "a", true),
            ("*a", "ba", true),
            ("a*b*c", "a1b2c", true),
            ("a*b*c", "acb", false),
            ("a*a", "a", false),
            ("**", "", true),
            ("", "", true),
            ("a", "ab", false),
            ("+*", "+main", true),
        ] {
            assert_eq!(is_match(pattern, word), expected, "{pattern} {word}");
        }
        assert!(!is_match(&("*a".repeat(1_000) + "b"), &"a".repeat(100_000)));
    }
}
