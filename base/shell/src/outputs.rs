//! The output of programs that print what they are given.

use super::machine::{Feed, Machine};
use super::{Arg, Run, Sort, escapes, is_in};

/// The longest output that is made of a format.
const MAX_OUTPUT: usize = 1 << 16;

/// Returns true if the texts of these arguments are what they are printed as. Code with an unknown value is still code.
fn are_texts(args: &[Arg]) -> bool {
    args.iter().all(|it| matches!(it.sort, Sort::Plain | Sort::Pattern))
}

impl Machine<'_> {
    /// Returns the output of a program, if it follows from its words and its input.
    pub(crate) fn output(&mut self, name: &str, run: &Run, feed: &Feed) -> Option<String> {
        let args = run.args();
        match name {
            "true" | ":" | "mkdir" | "touch" | "rm" | "cp" | "mv" | "chmod" | "sleep" | "test" | "[" => {
                Some(String::new())
            }
            "echo" => echo(args),
            "printf" => printf(args),
            "pwd" => run.directory.clone().or_else(|| self.scope.directory.clone()),
            "cat" => {
                let files: Vec<&Arg> = args.iter().filter(|it| !it.text.starts_with('-')).collect();
                if files.is_empty() {
                    return feed.text.as_deref().map(str::to_owned);
                }
                let mut text = String::new();
                for file in files {
                    let read = self.file(&file.text)?;
                    if text.len() + read.len() > MAX_OUTPUT {
                        return None;
                    }
                    text.push_str(&read);
                }
                Some(text)
            }
            "tee" | "sponge" | "dd" => {
                let appends = args.iter().any(|it| it.text == "-a" || it.text == "--append");
                let files = args.iter().map(|it| it.text.as_str());
                let files = files.filter_map(|it| match name {
                    "dd" => it.strip_prefix("of="),
                    _ => Some(it).filter(|it| !it.starts_with('-')),
                });
                let is_read = name != "dd" || !args.iter().any(|it| it.text.starts_with("if="));
                let text = feed.text.clone().filter(|_| is_read);
                for file in files {
                    self.write(file, text.clone(), appends);
                }
                text.as_deref().map(str::to_owned)
            }
            "yes" => Some(args.iter().map(|it| it.text.as_str()).collect::<Vec<_>>().join(" ") + "\n"),
            "base64" | "gbase64" | "openssl"
                if args.iter().any(|it| matches!(it.text.as_str(), "-d" | "-D" | "--decode"))
                    && (name != "openssl" || args.iter().any(|it| is_in("base64 -base64 -a", &it.text))) =>
            {
                escapes::base64(feed.text.as_deref()?)
            }
            "xxd" if args.iter().any(|it| it.text.starts_with("-r")) => {
                escapes::hexadecimal(feed.text.as_deref()?)
            }
            "rev" => Some(
                feed.text.as_deref()?.lines().map(|it| it.chars().rev().collect::<String>() + "\n").collect(),
            ),
            _ => None,
        }
    }
}

fn echo(args: &[Arg]) -> Option<String> {
    if !are_texts(args) {
        return None;
    }
    let is_option = |it: &&Arg| {
        it.text.len() > 1
            && it.text.starts_with('-')
            && it.text.trim_start_matches(['n', 'e', 'E', '-']).is_empty()
    };
    let options = args.iter().take_while(is_option).count();
    let has = |letter| args.iter().take(options).any(|it| it.text.contains(letter));
    let words: Vec<&str> = args.iter().skip(options).map(|it| it.text.as_str()).collect();
    let mut text = words.join(" ");
    if has('e') {
        text = escapes::printed(&text);
    }
    if !has('n') {
        text.push('\n');
    }
    Some(text)
}

/// Returns what `printf` prints for these words.
pub(crate) fn printf(args: &[Arg]) -> Option<String> {
    if !are_texts(args) {
        return None;
    }
    let args = if args.first().is_some_and(|it| it.text == "--") { args.get(1..)? } else { args };
    let (format, mut values) = args.split_first()?;
    let (mut text, mut rounds) = (String::new(), 0usize);
    loop {
        rounds += 1;
        // A round may print nothing.
        if rounds > 1 && rounds.saturating_mul(format.text.len()) > MAX_OUTPUT {
            return None;
        }
        let before = values.len();
        let mut letters = format.text.chars();
        let mut plain = String::new();
        while let Some(letter) = letters.next() {
            if letter != '%' {
                plain.push(letter);
                continue;
            }
            text.push_str(&escapes::printed(&std::mem::take(&mut plain)));
            let kind = letters.by_ref().find(|it| it.is_ascii_alphabetic() || *it == '%');
            if kind == Some('%') {
                text.push('%');
                continue;
            }
            if let Some((value, rest)) = values.split_first() {
                values = rest;
                match kind {
                    Some('b') => text.push_str(&escapes::printed(&value.text)),
                    _ => text.push_str(&value.text),
                }
            }
        }
        text.push_str(&escapes::printed(&plain));
        if values.is_empty() || values.len() == before || text.len() > MAX_OUTPUT {
            return Some(text);
        }
    }
}

/// Returns the texts that a program puts into its output, with the words that are unknown.
pub(crate) fn pieces(run: &Run) -> Option<String> {
    let texts = run.args().iter().map(|it| it.text.as_str());
    match run.program()? {
        "echo" | "printf" => {
            Some(texts.filter(|it| !it.starts_with('-')).collect::<Vec<_>>().join(" ") + "\n")
        }
        "awk" | "gawk" | "mawk" => {
            let code: Vec<&str> = texts.filter(|it| it.contains("print")).collect();
            Some(
                code.iter()
                    .flat_map(|it| it.split('"').skip(1).step_by(2))
                    .map(|it| format!("{it} $x\n"))
                    .collect(),
            )
        }
        "sed" => Some(
            texts
                .filter_map(|it| {
                    let rest = it.strip_prefix('s')?;
                    let sign = rest.chars().next()?;
                    rest.split(sign).nth(2).map(|it| format!("{it} $x\n"))
                })
                .collect(),
        ),
        _ => None,
    }
}
