//! Judges a shell line.

use hookbox_shell::{Command, Script, assignment, base_name, scripts, unwrapped};

use crate::hides::{copies_for_programs, hides_all, hides_values, keeps_lines};
use crate::places::{has_token, is_env_file, is_secret_name, is_secret_path, variable};
use crate::programs::{
    READERS, is_about_secrets, is_dump, is_edit, is_filter, is_upload, operands, shows_contents,
    starts_reader,
};
use crate::{code, printers};

/// The use that a line makes of secrets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Risk {
    /// It sends or writes a secret, or puts it into a commit.
    Sends,
    /// It shows a secret to the model.
    Shows,
    /// It uses a file with secrets in another way.
    Touches,
}

/// A use of a secret.
#[derive(Debug)]
pub(crate) struct Finding {
    pub(crate) risk: Risk,
    /// The use, as a sentence without its full stop.
    pub(crate) what: String,
    /// A command that does no harm.
    pub(crate) safer: String,
}

/// Programs that send what they are given.
const SENDERS: [&str; 14] = [
    "curl", "wget", "nc", "ncat", "netcat", "socat", "telnet", "http", "https", "xh", "scp", "sftp", "ftp",
    "rsync",
];

/// Programs that run another program, which is one of their words.
const WRAPPERS: [&str; 22] = [
    "docker", "podman", "nerdctl", "kubectl", "oc", "ssh", "sudo", "doas", "env", "nice", "ionice", "nohup",
    "xargs", "find", "fd", "parallel", "timeout", "strace", "stdbuf", "runuser", "time", "watch",
];

/// Programs that tell no more than names and sizes.
const LISTERS: [&str; 9] = ["ls", "test", "[", "[[", "stat", "echo", "printf", "cd", "git"];

/// The hosts from which a machine in a cloud gets its keys.
const METADATA: [&str; 3] = ["169.254.169.254", "metadata.google.internal", "169.254.170.2"];

/// Judges a line: the first use of a secret with the highest risk.
pub(crate) fn judge(line: &str) -> Option<Finding> {
    let mut found: Option<Finding> = None;
    for part in scripts(line).parts {
        let mut known = Known::default();
        for (at, command) in part.script.commands.iter().enumerate() {
            keep(&mut found, known.judge(&part.script, at, command));
        }
        let is_listed = found.is_none() && part.text.contains('<');
        if let Some(path) = is_listed.then(|| input(&part.text)).flatten() {
            keep(&mut found, Some(shows_file(&known.full(&path))));
        }
    }
    found
}

/// Keeps the finding with the higher risk.
fn keep(found: &mut Option<Finding>, other: Option<Finding>) {
    let rank = |it: &Option<Finding>| it.as_ref().map_or(3, |it| it.risk as u8);
    if rank(&other) < rank(found) {
        *found = other;
    }
}

/// Returns a file with secrets that is the input of a command.
fn input(text: &str) -> Option<String> {
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('<') {
        let word = after.trim_start();
        let end = word.find(|c: char| c.is_whitespace() || ";|&()<>".contains(c)).unwrap_or(word.len());
        let path: String = word.chars().take(end).filter(|c| !matches!(c, '"' | '\'')).collect();
        if !before.ends_with('<') && word.get(..end).is_some() && is_secret_path(&path) {
            return Some(path);
        }
        rest = after;
    }
    None
}

/// The finding for a file whose contents are shown.
pub(crate) fn shows_file(path: &str) -> Finding {
    let safe =
        !path.is_empty() && path.bytes().all(|it| it.is_ascii_alphanumeric() || b"/._-~".contains(&it));
    // Other characters would need quotes, and might be a trap for who copies the command.
    let safer = if safe { format!("ls -l {path}") } else { "ls -la".to_owned() };
    Finding { risk: Risk::Shows, what: "This shows the contents of a file with secrets".to_owned(), safer }
}

/// The finding for a token that would be written.
pub(crate) fn writes_token() -> Finding {
    sends("This has a token or a private key in its text")
}

pub(crate) fn sends(what: &str) -> Finding {
    Finding { risk: Risk::Sends, what: what.to_owned(), safer: "git status --short".to_owned() }
}

pub(crate) fn shows(what: &str, safer: impl Into<String>) -> Finding {
    Finding { risk: Risk::Shows, what: what.to_owned(), safer: safer.into() }
}

/// The directory and variables that earlier commands set.
#[derive(Debug, Default)]
struct Known {
    directory: Option<String>,
    variables: Vec<(String, String)>,
}

impl Known {
    /// Judges a command of a script.
    fn judge(&mut self, script: &Script, at: usize, command: &Command) -> Option<Finding> {
        let words: Vec<String> = command.words.iter().map(|word| self.valued(&word.text)).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let set = words.iter().filter_map(|word| assignment(word));
        let set: Vec<_> = set.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let pipeline = Pipeline::of(script, at, command.flow);
        let mut found = self.command(&words, &pipeline);
        let texts = command.texts.iter().map(String::as_str).chain(words.iter().copied());
        if !command.outputs.is_empty() && texts.clone().any(has_token) {
            keep(&mut found, Some(writes_token()));
        }
        if code::is_interpreter(unwrapped(&words).first().unwrap_or(&"")) {
            let prints = words.contains(&"-p") || words.contains(&"--print");
            keep(&mut found, texts.clone().find_map(|text| code::judge(text, prints)));
        }
        if let (["cd" | "pushd", to, ..], _) = (words.as_slice(), at) {
            self.directory = Some((*to).to_owned());
        }
        self.variables.extend(set);
        if let ["for" | "select", name, "in", values @ ..] = words.as_slice() {
            let value = values.iter().find(|it| is_secret_path(&self.full(it))).or(values.first());
            self.variables.extend(value.map(|value| ((*name).to_owned(), (*value).to_owned())));
        }
        if let Some(it) = found.as_mut().filter(|it| it.risk == Risk::Shows && pipeline.sends) {
            it.risk = Risk::Sends;
        }
        found
    }

    /// Returns a word with the value of a variable, if it is one.
    fn valued(&self, word: &str) -> String {
        let name = word.strip_prefix('$').map(|it| it.trim_start_matches('{').trim_end_matches('}'));
        let value = name.and_then(|name| self.variables.iter().rev().find(|(known, _)| known == name));
        value.map_or_else(|| word.to_owned(), |(_, value)| value.clone())
    }

    /// Returns a path with the directory of a `cd` before it.
    fn full(&self, path: &str) -> String {
        match &self.directory {
            Some(directory) if !path.starts_with(['/', '~', '$', '-']) => {
                format!("{}/{path}", directory.trim_end_matches('/'))
            }
            _ => path.to_owned(),
        }
    }

    /// Judges the words of a command, and those of a program that it starts.
    fn command(&self, words: &[&str], pipeline: &Pipeline) -> Option<Finding> {
        let words = unwrapped(words);
        let (program, rest) = words.split_first()?;
        let program = base_name(program);
        let secret = |word: &&&str| is_secret_path(&self.full(word));
        if let Some(printer) = printers::find(program, rest).filter(|_| pipeline.is_shown) {
            return Some(shows(&format!("This prints {}", printer.shows), printer.safer));
        }
        let file = operands(program, rest).find(|word| secret(word)).copied();
        let found = match program {
            "echo" | "printf" => {
                let name = rest
                    .iter()
                    .find_map(|word| variable(word))
                    .filter(|_| pipeline.is_shown && !pipeline.is_kept);
                return name.map(shows_variable);
            }
            "printenv" if !rest.is_empty() => {
                return rest.iter().find(|it| is_secret_name(it)).map(|name| shows_variable(name));
            }
            "declare" | "typeset" | "export" if rest.len() > 1 && rest.contains(&"-p") => {
                return rest.iter().find(|it| is_secret_name(it)).map(|name| shows_variable(name));
            }
            "git" if shows_contents(rest) => {
                let of_commit = |word: &&&str| is_secret_path(word.rsplit(':').next().unwrap_or(word));
                return rest.iter().find(of_commit).map(|_| shows_file(""));
            }
            "git"
                if matches!(
                    rest.iter().find(|it| !it.starts_with('-')),
                    Some(&("add" | "commit" | "stage"))
                ) =>
            {
                let is_committed = file.is_some() || rest.iter().any(|word| has_token(word));
                return is_committed.then(|| sends("This puts a secret into the repository"));
            }
            "grep" | "egrep" | "rg" | "ag"
                if pipeline.dumps && rest.iter().any(|it| is_about_secrets(it)) =>
            {
                Some(shows("This shows variables with secrets", "env | cut -d= -f1"))
            }
            "env" | "set" | "export" | "declare" | "printenv" if pipeline.sends && is_dump(program, rest) => {
                Some(sends("This sends the environment, with its secrets"))
            }
            _ if SENDERS.contains(&program) || is_upload(program, rest) => self.sender(rest),
            "perl" | "ruby" if is_filter(rest) => file.map(shows_file),
            "find" | "fd" if pipeline.reads || starts_reader(rest) => file.map(shows_file),
            _ if READERS.contains(&program) && !is_edit(program, rest) => {
                let is_hidden = |file: &str| {
                    pipeline.hides_all
                        || hides_all(program, rest)
                        || is_env_file(file) && (pipeline.hides_values || hides_values(program, rest))
                        || is_env_file(file) && copies_for_programs(program, rest)
                };
                file.filter(|it| !is_hidden(it)).map(|it| shows_file(&self.full(it)))
            }
            _ => None,
        };
        if found.is_some() {
            return found;
        }
        if WRAPPERS.contains(&program) {
            let starts = |word: &&str| {
                let name = base_name(word);
                READERS.contains(&name) || SENDERS.contains(&name) || name == "printenv"
            };
            let started = (0..rest.len()).filter(|at| rest.get(*at).is_some_and(starts));
            let mut inner = started.filter_map(|at| self.command(rest.get(at..)?, pipeline));
            if let Some(found) = inner.next() {
                return Some(found);
            }
        }
        let touched = file.filter(|_| !LISTERS.contains(&program));
        touched.map(|path| Finding {
            risk: Risk::Touches,
            what: "This uses a file with secrets".to_owned(),
            safer: shows_file(path).safer,
        })
    }

    /// Judges the words of a program that sends.
    fn sender(&self, words: &[&str]) -> Option<Finding> {
        let mut before = "";
        for word in words {
            let option = std::mem::replace(&mut before, word);
            if matches!(option, "--cert" | "--key" | "-E" | "-i" | "-H" | "--header" | "-u" | "--user" | "-b")
            {
                // The name of the header tells whether it proves the sender.
                let name = word.split(':').next().unwrap_or_default().to_ascii_lowercase();
                let is_header = matches!(option, "-H" | "--header");
                let proves = ["auth", "token", "key", "cookie"].iter().any(|it| name.contains(it));
                if !word.contains("$(") && (proves || !is_header) {
                    continue;
                }
            }
            let pieces = word.split(['@', '=', ';', ',']).chain([*word]);
            if pieces.into_iter().any(|it| is_secret_path(&self.full(it)) && !it.contains("://")) {
                return Some(sends("This sends a file with secrets"));
            }
            if METADATA.iter().any(|it| word.contains(it)) {
                return Some(shows("This asks the cloud for the keys of this machine", "hostname"));
            }
            if variable(word).is_some() {
                return Some(sends("This sends a variable with a secret"));
            }
        }
        None
    }
}

/// Returns true if a pipeline in `export $(…)` only selects lines, and `xargs` joins them.
fn is_whole_export(script: &Script, at: usize, flow: usize) -> bool {
    script.commands.iter().filter(|it| it.flow == flow && !it.inner.contains(&at)).all(|it| {
        let words = it.texts_of_words();
        let is_join =
            matches!(words.as_slice(), ["xargs"] | ["xargs", "-0" | "-d\\n"] | ["xargs", "-d", "\\n"]);
        it.outputs.is_empty() && (is_join || words.first().is_some_and(|it| keeps_lines(it)))
    })
}

pub(crate) fn shows_variable(name: &str) -> Finding {
    shows("This shows a variable with a secret", format!("test -n \"${{{name}:+set}}\" && echo set"))
}

/// The other commands of a pipeline.
#[derive(Debug, Default)]
struct Pipeline {
    /// One of them sends what it gets.
    sends: bool,
    /// One of them reads the files that it is given.
    reads: bool,
    /// One of them prints every variable, or the history.
    dumps: bool,
    /// Its output reaches the model, or a file.
    is_shown: bool,
    /// Its output goes to a file.
    is_kept: bool,
    /// True if the output does not have the contents of a file.
    hides_all: bool,
    /// True if the output has no values of variables.
    hides_values: bool,
}

impl Pipeline {
    fn of(script: &Script, at: usize, flow: usize) -> Self {
        let (mut found, mut is_shown, mut is_whole) = (Self::default(), true, true);
        for (place, command) in script.commands.iter().enumerate().filter(|(_, it)| it.flow == flow) {
            let words = command.texts_of_words();
            let inner = unwrapped(&words);
            let Some((program, rest)) = inner.split_first() else { continue };
            let program = base_name(program);
            found.sends |= SENDERS.contains(&program);
            let is_xargs = words.first() == Some(&"xargs") || program == "xargs" || program == "parallel";
            found.reads |= is_xargs && words.iter().any(|word| READERS.contains(&base_name(word)));
            let is_history = rest.iter().any(|word| word.ends_with("_history"));
            found.dumps |= is_dump(program, rest) || is_history && READERS.contains(&program);
            if place > at {
                if is_whole && command.outputs.is_empty() {
                    found.hides_all |= hides_all(program, rest);
                    found.hides_values |= hides_values(program, rest);
                }
                is_whole &= keeps_lines(program) && command.outputs.is_empty();
                is_shown &= READERS.contains(&program) || SENDERS.contains(&program) || program == "tee";
            } else if place == at {
                is_whole = keeps_lines(program) && command.outputs.is_empty();
                found.is_kept =
                    command.outputs.iter().any(|it| !it.text.starts_with(|c: char| c.is_ascii_digit()));
            }
        }
        // The value of a variable.
        let is_set = |it: &&Command| {
            let values = it.words.iter().filter(|word| word.text.contains("$(") || word.text.contains('`'));
            it.inner.contains(&at)
                && values.clone().count() > 0
                && values.clone().all(|it| assignment(&it.text).is_some())
        };
        found.is_shown = is_shown && !script.commands.iter().any(|it| is_set(&it));
        let is_exported = |it: &&Command| {
            let words = it.texts_of_words();
            it.inner.contains(&at)
                && matches!(words.as_slice(), ["export", value] if value.starts_with("$(") && value.ends_with(')'))
        };
        // Variables for the programs of the line.
        found.hides_values |= script.commands.iter().any(|it| is_exported(&it))
            && !found.sends
            && is_whole_export(script, at, flow);
        found
    }
}
