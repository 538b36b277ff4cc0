//! The programs that are known to only read, and the arguments with which they do something else.

use hookbox_sdk::shell::{Arg, Run};
use hookbox_shell::is_in;

use crate::git;
use crate::options::is_option;

/// The output of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reads {
    /// Its own words.
    Words,
    /// Names, sizes and other facts of files.
    Names,
    /// Contents of files.
    Contents,
    /// Contents of files; the first operand is a pattern.
    Searches,
}

/// The arguments with which a program only reads.
#[derive(Clone, Copy)]
pub(crate) enum Rule {
    /// All.
    Any,
    /// All but these options: `--long` also shortened, `-x` also among other letters.
    Without(&'static str),
    /// Those for which the function returns true.
    If(fn(&[Arg]) -> bool),
    /// Like `If`, with the command and the directory of its line.
    In(fn(&Run, &str) -> bool),
}

/// A program that is known to only read.
pub(crate) struct Program {
    /// Its names, with spaces between them.
    names: &'static str,
    pub(crate) reads: Reads,
    pub(crate) rule: Rule,
}

use Reads::{Contents, Names, Searches, Words};
use Rule::{Any, If, In, Without};

const fn program(names: &'static str, reads: Reads, rule: Rule) -> Program {
    Program { names, reads, rule }
}

/// The programs.
static PROGRAMS: &[Program] = &[
    program("echo true false : seq sleep basename dirname", Words, Any),
    program("pwd which type", Words, Any),
    program(
        "test",
        Words,
        If(|args| !args.iter().any(|it| matches!(it.text.as_str(), "-v" | "-R") || is_code(it))),
    ),
    program("printf", Words, If(|args| !args.iter().any(|it| is_option(&it.text, "-v") || is_code(it)))),
    program("command", Words, If(|args| first(args).is_some_and(|it| matches!(it, "-v" | "-V")))),
    program("exit", Words, If(|args| args.iter().all(|it| it.text.bytes().all(|it| it.is_ascii_digit())))),
    program("set", Words, If(sets_only_errors)),
    program("node python python3 perl java gcc clang cmake make", Words, If(version)),
    program("cd ls realpath readlink stat du", Names, Any),
    program("tree", Names, Without("-o -R --output")),
    program("file", Names, Without("--compile -C -z -Z --uncompress --uncompress-noreport")),
    program("find", Contents, If(find_only)),
    program("fd fdfind", Contents, Without("--exec --exec-batch -x -X")),
    program("cat head tail wc nl tac rev cut paste join comm cmp", Contents, Any),
    program("tr fold fmt expand unexpand column od hexdump strings", Contents, Any),
    program("cksum md5sum sha1sum sha256sum sha512sum b2sum sum shasum", Contents, Any),
    program("diff", Contents, Without("--paginate -l")),
    program("base64", Contents, Without("--output -o")),
    program("sort", Contents, Without("--output -o --compress-program --temporary-directory -T")),
    program("uniq", Contents, If(uniq)),
    program("sed", Contents, If(sed)),
    program("jq", Contents, If(jq)),
    program("grep egrep fgrep", Searches, Any),
    program("rg", Searches, Without(RG)),
    program("git", Contents, In(git::only_reads)),
];

/// Options with which `rg` runs programs, or reads hidden and ignored files.
const RG: &str = "--pre --pre-glob --hostname-bin --search-zip -z --hidden -. --no-ignore --unrestricted -u";

/// Returns the program that a word names.
pub(crate) fn find(word: &str) -> Option<&'static Program> {
    // Another path may be another program.
    let name = word.strip_prefix("/usr/bin/").or_else(|| word.strip_prefix("/bin/")).unwrap_or(word);
    PROGRAMS.iter().find(|it| is_in(it.names, name))
}

impl Rule {
    /// Returns true if a command only reads, with these arguments.
    pub(crate) fn takes(self, run: &Run, cwd: &str) -> bool {
        let args = run.args();
        match self {
            Any => true,
            Without(refused) => !args.iter().any(|arg| is_option(&arg.text, refused)),
            If(only_reads) => only_reads(args),
            In(only_reads) => only_reads(run, cwd),
        }
    }
}

/// Returns true for a text that zsh would run in a number.
fn is_code(arg: &Arg) -> bool {
    arg.text.contains(['`', '[']) || arg.text.contains("$(")
}

/// The second operand of `uniq` is the file that it writes.
fn uniq(args: &[Arg]) -> bool {
    args.iter().filter(|it| !it.text.starts_with('-') || it.text == "-").count() <= 1
}

fn first(args: &[Arg]) -> Option<&str> {
    args.first().filter(|it| it.is_plain()).map(|it| it.text.as_str())
}

fn is_one(arg: &Arg, words: &str) -> bool {
    arg.is_plain() && is_in(words, &arg.text)
}

/// Returns true for `set` that only makes a script stop at errors.
fn sets_only_errors(args: &[Arg]) -> bool {
    !args.is_empty() && args.iter().all(|it| is_one(it, "-e -u -eu -euo -eo -uo -o pipefail"))
}

/// Actions of `find` that run, remove or write.
fn find_only(args: &[Arg]) -> bool {
    let acts =
        |text: &str| ["-exec", "-ok", "-delete", "-fprint", "-fls"].iter().any(|it| text.starts_with(it));
    !args.iter().any(|arg| acts(&arg.text))
}

/// `sed` with scripts of line numbers and plain substitutions, which it prints.
fn sed(args: &[Arg]) -> bool {
    let mut has_script = false;
    let mut args = args.iter().map(|it| it.text.as_str());
    while let Some(arg) = args.next() {
        let script = match arg {
            "-n" | "-E" | "-r" | "-nE" | "-En" | "-nr" | "--quiet" | "--silent" | "--regexp-extended" => {
                continue;
            }
            "-e" | "-ne" => args.next().unwrap_or("?"),
            option if option.starts_with('-') && option.len() > 1 => return false,
            _ if has_script => continue,
            script => script,
        };
        has_script = true;
        if !is_plain_script(script) {
            return false;
        }
    }
    has_script
}

/// Returns true for a script such as `1,20p`, `$d`, `5q` or `s/a/b/g`.
fn is_plain_script(script: &str) -> bool {
    if let Some(rest) = script.strip_prefix('s') {
        let Some(sign) = rest.chars().next().filter(|it| matches!(it, '/' | '|' | ',' | '#' | ':')) else {
            return false;
        };
        let parts: Vec<&str> = rest.split(sign).collect();
        // An escaped sign would make more parts, and a line break another command.
        let [_, _, _, flags] = parts.as_slice() else { return false };
        return !rest.contains(['\n', '\\', '['])
            && flags.bytes().all(|it| matches!(it, b'g' | b'p' | b'I' | b'0'..=b'9'));
    }
    let is_command = |part: &str| {
        let part = part.trim();
        let line = part.strip_suffix(['p', 'd', 'q', '=']).unwrap_or("?");
        line.bytes().all(|it| it.is_ascii_digit() || matches!(it, b',' | b'$' | b'+' | b'~'))
    };
    script.split(';').all(is_command)
}

/// `jq` can print the environment, which has secrets.
fn jq(args: &[Arg]) -> bool {
    let has_environment = |text: &str| text.to_ascii_lowercase().contains("env");
    !args
        .iter()
        .any(|it| has_environment(&it.text) || is_option(&it.text, "--from-file -f -L --library-path"))
}

/// A question for the version of a program that may also run code.
fn version(args: &[Arg]) -> bool {
    matches!(args, [only] if is_one(only, "--version -V -version"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_is_found_shortened_and_among_others() {
        let sort = "--output -o --compress-program";
        for text in ["-o", "-no", "-ofile", "--output=a", "--out", "--o", "--comp=sh", "--compress-program"] {
            assert!(is_option(text, sort), "{text}");
        }
        for text in ["-n", "--", "-", "o", "--check", "--key=2", "a-o"] {
            assert!(!is_option(text, sort), "{text}");
        }
    }

    #[test]
    fn a_script_of_sed_prints_lines_or_replaces_text() {
        for script in ["1,20p", "$p", "5q", "10d", "s/a/b/", "s|/usr|/opt|g", "1p;3p", "10,+5p", "="] {
            assert!(is_plain_script(script), "{script}");
        }
        for script in [
            "w out",
            "1w out",
            "s/a/b/w out",
            "s/a/touch x/e",
            "1e touch x",
            "r a",
            "s/a/b/;w out",
            "s/a/b/\nw out",
            "/a/w b",
            "s/[/]w x/b/",
            "s/a\\/b/c/w x",
            "y/a/b/",
            "",
            "{p}",
            "!p",
        ] {
            assert!(!is_plain_script(script), "{script}");
        }
    }
}
