//! Reads the commands of a tool call for a guard, and writes what the guard answers.
//!
//! A guard is a [`Rule`]: it sees one command with all of its line, and says what would be lost, why, and the next
//! step.

mod around;
mod makers;
mod paths;

use hookbox_sdk::prelude::*;
use hookbox_shell::{Arg, Known, Reading, Run, Sort, Unread, quoted, runs};
use serde::Deserialize;

pub use around::{Surroundings, Told, Unknown};
pub use hookbox_sdk::work_tree::{PathKind, PathState, Tree};
pub use hookbox_shell::{git_parts, operands};
pub use makers::is_made_again;
pub use paths::{Area, is_generated};

/// Programs that run code, by the beginnings of their names.
const INTERPRETERS: [&str; 9] = ["python", "node", "ruby", "perl", "php", "deno", "bun", "lua", "emacs"];

/// The longest excerpt of a command in a reason, in letters.
const MAX_EXCERPT: usize = 160;

/// The strictness of a guard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Preset {
    /// Denies only what loses very much.
    Relaxed,
    /// Denies what loses work that can't be recovered.
    #[default]
    Standard,
    /// Denies also what can be built again, and what cannot be read.
    Strict,
}

/// The settings of a guard. A misspelled one is an error, because a guard must not do less than its user asked for.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The strictness.
    pub preset: Preset,
    /// Commands that pass.
    pub allow: Vec<String>,
}

impl Settings {
    /// Returns those with which a guard denies whatever it denies with any others.
    fn strictest() -> Self {
        Self { preset: Preset::Strict, allow: Vec::new() }
    }

    /// Returns true if the user allows a command.
    pub fn allows(&self, text: &str) -> bool {
        is_allowed(&self.allow, text)
    }
}

/// The reason to deny a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    /// The name of the rule, which stays the same when sentences change.
    pub rule: String,
    /// The loss: `removes the directory src`.
    pub what: String,
    /// The reason for which it matters.
    pub why: String,
    /// The command of the next step; empty if there is none.
    pub safer: String,
    /// The next step.
    pub step: Step,
}

/// The next step after a denial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Step {
    /// Run a command that only looks.
    #[default]
    Look,
    /// Run a command that keeps a copy.
    Save,
    /// Run a command that replaces the denied one.
    Replace,
}

impl Step {
    /// Returns the sentence that names a command, without its full stop. It is empty without a command.
    pub fn advice(self, command: &str) -> String {
        let words = match self {
            _ if command.is_empty() => return String::new(),
            Self::Look => "Look first",
            Self::Save => "Save first",
            Self::Replace => "Instead",
        };
        format!("{words}: `{command}`")
    }

    /// Returns the answer that blocks a call with a reason. The reason ends with the command, or with the user.
    pub fn block(self, reason: &str, command: &str) -> Answer {
        if command.is_empty() {
            return Answer::block(format!("{reason} Ask the user."));
        }
        let advice = self.advice(command);
        Answer::block(format!("{reason} {advice}, or ask the user.")).metadata("safer", command)
    }
}

impl Denial {
    /// Makes a denial with a command that only looks.
    pub fn new(what: impl Into<String>, why: impl Into<String>, safer: impl Into<String>) -> Self {
        let rule = String::new();
        Self { rule, what: what.into(), why: why.into(), safer: safer.into(), step: Step::Look }
    }

    /// Returns the denial of this rule.
    pub fn by(self, rule: impl Into<String>) -> Self {
        Self { rule: rule.into(), ..self }
    }

    /// Returns the denial, whose command replaces the denied one.
    pub fn instead(self) -> Self {
        Self { step: Step::Replace, ..self }
    }

    /// Returns the denial, whose command keeps a copy.
    pub fn save(self) -> Self {
        Self { step: Step::Save, ..self }
    }
}

/// A command and its line.
#[derive(Clone, Copy)]
pub struct Scene<'a> {
    /// The commands of the line.
    pub reading: &'a Reading,
    /// The command that is judged.
    pub run: &'a Run,
    /// The place of the command in the line.
    pub at: usize,
    /// The working directory of the line, if it is known.
    pub cwd: &'a str,
    /// The strictness.
    pub preset: Preset,
    /// The text of the line.
    pub line: &'a str,
    /// The state of the disk.
    pub around: &'a dyn Surroundings,
}

impl Scene<'_> {
    /// Returns the commands before this one in the line.
    pub fn before(&self) -> &[Run] {
        self.reading.runs.get(..self.at).unwrap_or_default()
    }

    /// Returns the commands that feed this one.
    pub fn input(&self) -> impl Iterator<Item = &Run> {
        self.run.input.iter().filter_map(|at| self.reading.runs.get(*at))
    }

    /// Returns true if this command runs only after the success of the one at this place.
    pub fn needs(&self, at: usize) -> bool {
        let next = |at: &usize| self.reading.runs.get(*at)?.needs;
        std::iter::successors(self.run.needs, next).any(|it| it == at)
    }

    /// Returns the code that this command runs.
    pub fn code(&self) -> impl Iterator<Item = &str> {
        self.reading.code.iter().filter(|it| it.run == self.at).map(|it| it.text.as_str())
    }
}

/// Judges one command.
pub type Rule = fn(&Scene<'_>) -> Option<Denial>;

/// Returns the reason to deny a line, with the command that is denied. It knows nothing about the disk.
pub fn judge(line: &str, cwd: Option<&str>, settings: &Settings, rule: Rule) -> Option<(String, Denial)> {
    judge_in(line, cwd, settings, rule, &Unknown)
}

/// Returns the reason to deny a line in its surroundings, with the command that is denied.
pub fn judge_in(
    line: &str,
    cwd: Option<&str>,
    settings: &Settings,
    rule: Rule,
    around: &dyn Surroundings,
) -> Option<(String, Denial)> {
    judge_reading(line, &runs(line, &Known { cwd, ..Known::default() }), cwd, settings, rule, around)
}

/// Returns the reason to deny a line that is read, with the command that is denied.
fn judge_reading(
    line: &str,
    reading: &Reading,
    cwd: Option<&str>,
    settings: &Settings,
    rule: Rule,
    around: &dyn Surroundings,
) -> Option<(String, Denial)> {
    if settings.allows(line) {
        return None;
    }
    for (at, run) in reading.runs.iter().enumerate() {
        let (cwd, preset) = (cwd.unwrap_or("."), settings.preset);
        let scene = Scene { reading, run, at, cwd, preset, line, around };
        let Some(denial) = rule(&scene) else { continue };
        let command = shown(run);
        if !settings.allows(&command) {
            return Some((command, denial));
        }
        // An allowance is for a command, and not for its redirections.
        let silent = Run { words: vec![Arg::default()], ..run.clone() };
        let denial = (!run.redirections.is_empty()).then(|| rule(&Scene { run: &silent, ..scene })).flatten();
        let command = shown(&Run { words: Vec::new(), ..silent });
        if let Some(denial) = denial.filter(|_| !settings.allows(&command)) {
            return Some((command, denial));
        }
    }
    let limit = reading.unread.iter().any(|it| matches!(it, Unread::Limit | Unread::Values))
        || settings.preset == Preset::Strict && !reading.unread.is_empty();
    limit.then(|| {
        let why = "hookbox cannot tell what it would run. Run its commands one by one";
        (excerpt(line), Denial::new("is too long or too deep to be read", why, ""))
    })
}

/// Returns true if one of the allowed commands is this one.
pub fn is_allowed(allowed: &[String], text: &str) -> bool {
    allowed.iter().any(|it| allows(it, text))
}

/// Returns true if a program of this name, of any version, runs code in another language than that of a shell.
pub fn runs_code(program: &str) -> bool {
    INTERPRETERS.iter().any(|it| program.starts_with(it))
}

/// Returns true if an allowed command is this one. A `*` at the end of its last word is the rest of this word, without `..`
/// and `:`; a `*` alone is further words that are no options.
fn allows(allowed: &str, text: &str) -> bool {
    let is_several = text.contains('\n');
    let [allowed, text] = [allowed, text].map(|it| it.split_ascii_whitespace().collect::<Vec<_>>());
    let Some((last, begin)) = allowed.split_last() else { return false };
    let Some(start) = last.strip_suffix('*') else { return allowed == text };
    let is_simple = |it: &str| it.chars().all(|it| it.is_alphanumeric() || "-_./:@+=,%~*".contains(it));
    let words = text.strip_prefix(begin).filter(|_| !is_several);
    match words {
        // Not everything.
        None => false,
        Some(rest) if start.is_empty() => {
            !begin.is_empty() && rest.iter().all(|it| is_simple(it) && !it.starts_with('-'))
        }
        Some([word]) => word
            .strip_prefix(start)
            .is_some_and(|it| is_simple(it) && !["..", ".*", ":"].iter().any(|out| it.contains(out))),
        Some(_) => false,
    }
}

/// Returns a command as it is shown to people, and compared with allowed ones.
pub fn shown(run: &Run) -> String {
    let words: Vec<String> = run.words.iter().map(word).collect();
    let text = if words.is_empty() {
        run.redirections.iter().map(|it| format!("> {}", word(&it.target))).collect::<Vec<_>>().join(" ")
    } else {
        words.join(" ")
    };
    excerpt(&text)
}

/// Returns a word in the quotes that keep it one word. A pattern or a variable stays one.
fn word(arg: &Arg) -> String {
    let text = arg.text.as_str();
    let is_split =
        text.is_empty() || text.contains(|it: char| it.is_whitespace() || "'\"`;|&<>()\\".contains(it));
    match arg.sort {
        Sort::Plain if is_split || text.contains(['$', '*', '?', '[']) => quoted(text),
        Sort::Pattern | Sort::Unknown | Sort::Input
            if text.contains(' ') && !text.contains(['"', '`', '(', '\\']) =>
        {
            format!("\"{text}\"")
        }
        _ => text.to_owned(),
    }
}

/// Returns the beginning of a text, on one line and without control characters.
pub fn excerpt(text: &str) -> String {
    let clean = |it: char| if it.is_control() { ' ' } else { it };
    let mut found: String = text.chars().take(MAX_EXCERPT).map(clean).collect();
    if text.chars().count() > MAX_EXCERPT {
        found.push('…');
    }
    found
}

/// Returns true if an option is among the arguments: a letter, alone or among others, or a long option with or without
/// its value.
pub fn has(args: &[Arg], letter: char, long: &str) -> bool {
    args.iter().take_while(|it| it.text != "--").any(|it| {
        let text = it.text.as_str();
        match text.strip_prefix("--") {
            Some(name) => {
                let name = name.split('=').next().unwrap_or(name);
                // A long option may be abbreviated.
                name.len() > 2 && !long.is_empty() && long.trim_start_matches('-').starts_with(name)
            }
            None => letter != '\0' && text.strip_prefix('-').is_some_and(|it| it.contains(letter)),
        }
    })
}

/// Returns true if an option that excuses a command surely counts: it is not the value of another option, nothing takes it
/// back, and its own value is none, `true`, `client` or `server`. `takes` tells whether an option takes the next word.
pub fn surely_has(args: &[Arg], letter: char, long: &str, takes: impl Fn(&str) -> bool) -> bool {
    let name = long.trim_start_matches('-');
    let (mut found, mut is_value) = (false, false);
    for text in args.iter().map(|it| it.text.as_str()).take_while(|it| *it != "--") {
        let value = text.strip_prefix(long).and_then(|it| it.strip_prefix('=')).filter(|_| !name.is_empty());
        let denied = text.strip_prefix("--no-").unwrap_or_default();
        let is_denied = !denied.is_empty() && (name.starts_with(denied) || denied.chars().eq([letter]));
        if is_denied || value.is_some_and(|it| !matches!(it, "client" | "server" | "true")) {
            return false;
        }
        if std::mem::take(&mut is_value) {
            continue;
        }
        found |= text == long || value.is_some();
        if text.starts_with("--") {
            is_value = !text.contains('=') && takes(text);
        } else if let Some(group) = text.strip_prefix('-') {
            // A letter that takes a value has the rest of the group.
            let mut letters = group.chars();
            for option in letters.by_ref() {
                found |= option == letter;
                if takes(&format!("-{option}")) {
                    is_value = letters.as_str().is_empty();
                    break;
                }
            }
        }
    }
    found
}

/// Returns a test for the options of a list, also abbreviated ones.
pub fn listed(list: &str) -> impl Fn(&str) -> bool {
    move |option| {
        list.split_ascii_whitespace().any(|it| it == option || option.len() > 2 && it.starts_with(option))
    }
}

/// Answers a tool call in its surroundings.
///
/// # Errors
///
/// The settings cannot be read.
pub fn answer(cx: &Context, call: &ToolCall, rule: Rule, around: &dyn Surroundings) -> Result<Answer, Error> {
    answer_lines(cx, call, cx.lines_of(call), rule, around)
}

/// Answers a tool call in its surroundings, as one with these lines.
///
/// # Errors
///
/// The settings cannot be read.
pub fn answer_lines(
    cx: &Context,
    call: &ToolCall,
    lines: Vec<String>,
    rule: Rule,
    around: &dyn Surroundings,
) -> Result<Answer, Error> {
    let directory = call.directory().map(|it| hookbox_shell::join_path(&cx.cwd, &it));
    let cwd = Some(directory.as_deref().unwrap_or(&cx.cwd)).filter(|it| it.starts_with('/'));
    let mut doubtful = Vec::new();
    for line in lines {
        let reading = cx.read_line_of(call, &line);
        // Most lines pass the strictest settings, and need no others.
        if judge_reading(&line, &reading, cwd, &Settings::strictest(), rule, &around::Doubtful).is_some() {
            doubtful.push((line, reading));
        }
    }
    if doubtful.is_empty() {
        return Ok(Answer::pass());
    }
    let settings: Settings = settings()?;
    let mut denied = doubtful
        .iter()
        .filter_map(|(line, reading)| judge_reading(line, reading, cwd, &settings, rule, around));
    let Some((command, denial)) = denied.next() else { return Ok(Answer::pass()) };
    let Denial { rule, what, why, safer, step } = denial;
    let reason = format!("`{command}` {what}: {why}. {}", step.advice(&safer));
    let allow: Vec<&String> = settings.allow.iter().chain([&command]).collect();
    Ok(Answer::block(reason.trim_end())
        .metadata("rule", rule)
        .metadata("settings_to_pass", json!({ "allow": allow }))
        .metadata("safer", safer))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_with_the_quotes_that_keep_its_words() {
        for (line, expected) in [
            ("psql -c 'drop table users'", "psql -c 'drop table users'"),
            ("psql -c \"drop table $x\"", "psql -c \"drop table $x\""),
            ("rm  -rf  'src'", "rm -rf src"),
            ("rm -rf 'a b' ~/c", "rm -rf 'a b' ~/c"),
            ("rm -rf *.txt $X", "rm -rf *.txt $X"),
            ("rm -rf '*'", "rm -rf '*'"),
            ("git push --force origin HEAD~1:main", "git push --force origin HEAD~1:main"),
            ("git commit -m ''", "git commit -m ''"),
        ] {
            let reading = runs(line, &Known::default());
            assert_eq!(reading.runs.first().map(shown).as_deref(), Some(expected), "{line}");
        }
    }

    #[test]
    fn the_next_step_names_a_command_that_looks_saves_or_replaces() {
        assert_eq!(Step::Look.advice("lsblk"), "Look first: `lsblk`");
        assert_eq!(Step::Save.advice("pg_dump"), "Save first: `pg_dump`");
        assert_eq!(Step::Replace.advice("git gc"), "Instead: `git gc`");
        assert_eq!(Step::Replace.advice(""), "");
    }

    #[test]
    fn a_redirection_of_an_allowed_command_is_judged_apart() {
        let rule = |scene: &Scene<'_>| {
            let is_odd = scene.run.program() == Some("x")
                || scene.run.redirections.iter().any(|it| it.target.text == "/dev/sda");
            is_odd.then(|| Denial::new("", "", ""))
        };
        for (line, expected) in
            [("x a", None), ("x a > b", None), ("x a >/dev/sda", Some("> /dev/sda")), ("x -a", Some("x -a"))]
        {
            let settings = Settings { allow: vec!["x *".to_owned()], ..Settings::default() };
            assert_eq!(judge(line, None, &settings, rule).map(|it| it.0).as_deref(), expected, "{line}");
        }
    }

    #[test]
    fn an_option_excuses_a_command_only_if_it_surely_counts() {
        for (line, expected) in [
            ("x -n", true),
            ("x -fdn", true),
            ("x -f --dry-run -d", true),
            ("x -e a -n", true),
            ("x -ea -n", true),
            ("x --exclude=a --dry-run", true),
            ("x --dry-run=client -o a", true),
            ("x -e -n -n", true),
            ("x -e -n", false),
            ("x -en", false),
            ("x -fde -n", false),
            ("x --exclude --dry-run", false),
            ("x --excl --dry-run", false),
            ("x -- -n", false),
            ("x -n --no-dry-run", false),
            ("x -n --no-dry", false),
            ("x -an --no-n", false),
            ("x --dry-run=false", false),
            ("x --dry-run=none", false),
            ("x --dry-run --dry-run=no", false),
            ("x n --dry", false),
        ] {
            let reading = runs(line, &Known::default());
            let args = reading.runs[0].args();
            assert_eq!(surely_has(args, 'n', "--dry-run", listed("-e --exclude -o")), expected, "{line}");
        }
    }

    #[test]
    fn an_allowed_command_is_a_whole_one_or_a_beginning() {
        for (allowed, text, expected) in [
            ("git push", "git  push", true),
            ("git push", "git push x", false),
            ("git push *", "git push x y", true),
            ("git push *", "git push", true),
            ("git push *", "git push x --force", false),
            ("git push *", "git push \"-f\"", false),
            ("git push *", "git pushx", false),
            ("git push wip/*", "git push wip/a/b", true),
            ("git push wip/*", "git push wip/a --force", false),
            ("git push wip/*", "git push wip/a main", false),
            ("git push wip/*", "git push wip/a:main", false),
            ("git push wip/*", "git push wip/../main", false),
            ("git push wip/*", "git push main wip/a", false),
            ("git push wip/*", "git push", false),
            ("rm -rf gen/*", "rm -rf gen/*", true),
            ("rm -rf gen/*", "rm -rf gen/a", true),
            ("rm -rf gen/*", "rm -rf gen/../src", false),
            ("rm -rf gen/*", "rm -rf gen/.\".\"/src", false),
            ("rm -rf gen/*", "rm -rf gen/.?/src", false),
            ("rm -rf gen/*", "rm -rf gen/.*/src", false),
            ("rm -rf gen/*", "rm -rf gen/a src", false),
            ("git push *", "git push\nls", false),
            ("git push *", "git push; ls", false),
            ("git push *", "git push $(ls)", false),
            ("*", "ls", false),
            ("", "ls", false),
        ] {
            assert_eq!(allows(allowed, text), expected, "{allowed:?} {text:?}");
        }
    }
}
