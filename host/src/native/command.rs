//! Commands that a hooks.json declares: a process for each event, without a question for its event before.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::DirBuilder;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use hookbox_shell::{Known, Place, Reading, is_in};
use serde_json::Value;

use super::combine::on_wire;
use super::process::{Ended, Process};
use super::{SETTINGS_VARIABLE, Verify, answer, as_json, checkout, no_bytecode, verified_within, with_log};
use crate::dialect::exact::Exact;
use crate::dialect::{Condition, Wire, base_coat, kodelet};
use crate::event::Event;
use crate::hook::{Budget, Cause, Descriptor, Hook, HookError, OnFailure, Settings};
use crate::outcome::Outcome;
use crate::trust::tree_digest::is_script;
use hookbox_system::files::program;
use hookbox_system::text;

/// The shell that runs a line.
const SHELL: &str = "/bin/sh";

/// The usual path of the shell of [`CommandLine::Bash`]; the fallback is a `bash` on `PATH` that only root can change.
const BASH: &str = "/bin/bash";

/// The status of a shell that does not find a program, or may not start it (POSIX, 2.8.2).
const SHELL_NOT_FOUND: i32 = 127;
const SHELL_CANNOT_START: i32 = 126;

/// The command of a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandLine {
    /// A line for `/bin/sh -c`.
    Shell(String),
    /// A line for `/bin/bash -c`, or a `bash` on `PATH` that only root can change. Another shell takes `[[ … ]]` for a missing
    /// program, and goes on.
    Bash(String),
    /// A program and its arguments, without a shell. A word with a slash is a path below the directory of the
    /// command; any other is a name on `PATH`.
    Program {
        /// The program.
        program: String,
        /// The arguments.
        args: Vec<String>,
    },
}

/// The words of every shell that are not files. A line that begins with one cannot be checked.
const SHELL_WORDS: &str = ". : alias bg break builtin case cd chdir command continue declare do echo eval exec exit export \
    false fc fg for function getopts hash if jobs kill let local printf pwd read readonly return set \
    shift shopt source test time times trap true type typeset ulimit umask unalias unset until wait \
    while select";

/// The further words of bash.
const BASH_WORDS: &str = "bind builtin caller compgen complete compopt coproc dirs disown enable history mapfile popd pushd \
    readarray suspend";

impl CommandLine {
    /// The texts in which files may be named: the line, or each word.
    pub fn words(&self) -> Vec<String> {
        match self {
            Self::Shell(line) | Self::Bash(line) => vec![line.clone()],
            Self::Program { program, args } => std::iter::once(program).chain(args).cloned().collect(),
        }
    }

    /// Puts these values in place of their `${NAME}` into the program and its arguments. In a line the shell does that.
    #[must_use]
    pub fn with_values(self, values: &[(&str, &Path)]) -> Self {
        match self {
            Self::Program { program, args } => Self::Program {
                program: with_values(&program, values),
                args: args.iter().map(|arg| with_values(arg, values)).collect(),
            },
            line => line,
        }
    }

    /// Searches for the program as its start in this directory does, and for the script of an interpreter. In a shell line
    /// only a plain first word is searched for, and a script only if it is the whole line. `values` are the variables that
    /// the line gets.
    ///
    /// # Errors
    ///
    /// `not_found` if the program, its script, or the shell of the line, is missing; `incompatible` if it would run the
    /// event as code.
    pub fn look(&self, directory: &Path, values: &[(&str, &Path)]) -> Result<(), HookError> {
        if let Some(program) = hookbox_shell::runs_its_input(&self.to_string()) {
            let program = text::escape(&program, 256);
            let message =
                format!("its command starts {program} without a script, which would run its input as code");
            return Err(HookError::new(Cause::Incompatible, message));
        }
        if matches!(self, Self::Bash(_)) {
            bash()?;
        }
        if let Some(name) = self.unquoted(values) {
            let message =
                format!("its line needs quotes around ${name}: the directory has a space in its name");
            return Err(HookError::new(Cause::NotFound, message));
        }
        if let Some(script) = self.script(values).map(|it| directory.join(it)).filter(|it| is_missing(it)) {
            let path = text::shown_path(&script);
            return Err(HookError::new(Cause::NotFound, format!("its script does not exist: {path}")));
        }
        match self {
            Self::Program { program, .. } => resolve(program, directory).map(drop),
            Self::Shell(line) | Self::Bash(line) => {
                let first = line.split_ascii_whitespace().next().unwrap_or_default();
                let stands_for_itself = |c: char| c.is_ascii_alphanumeric() || "-_./+".contains(c);
                // A function that the line makes first has a name that no file needs to have.
                let makes_a_function = line.contains("()") || line.contains("( )");
                let is_plain = !first.is_empty() && first.chars().all(stands_for_itself);
                let is_bashs = matches!(self, Self::Bash(_)) && is_in(BASH_WORDS, first);
                if !is_plain || makes_a_function || is_bashs || is_in(SHELL_WORDS, first) {
                    return Ok(());
                }
                resolve(first, directory).map(drop)
            }
        }
    }
}

impl CommandLine {
    /// Returns the variable that a shell would split into words, because it is not quoted.
    pub(crate) fn unquoted<'v>(&self, values: &[(&'v str, &Path)]) -> Option<&'v str> {
        let mut with_spaces =
            values.iter().filter(|(_, path)| path.to_string_lossy().contains(' ')).peekable();
        with_spaces.peek()?;
        let reading = self.read(values);
        with_spaces.map(|(name, path)| (*name, path.to_string_lossy())).find_map(|(name, path)| {
            let (first, rest) = path.split_once(' ')?;
            let next = rest.split(' ').next().unwrap_or_default();
            let is_split = |words: &[&str]| match words {
                [a, b] => a.ends_with(first) && b.starts_with(next),
                _ => false,
            };
            reading.runs.iter().any(|run| run.texts().windows(2).any(is_split)).then_some(name)
        })
    }

    /// Reads the line with the values of these variables.
    pub(crate) fn read(&self, values: &[(&str, &Path)]) -> Reading {
        let values: Vec<(&str, String)> =
            values.iter().map(|(name, path)| (*name, path.to_string_lossy().into_owned())).collect();
        let variables: Vec<(&str, &str)> =
            values.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let home = env::home_dir();
        let known =
            Known { home: home.as_deref().and_then(Path::to_str), variables: &variables, ..Known::default() };
        hookbox_shell::runs(&self.to_string(), &known)
    }

    /// Returns the script that its one command runs by an interpreter, which would call a missing script an exit code 2.
    fn script(&self, values: &[(&str, &Path)]) -> Option<PathBuf> {
        let reading = self.read(values);
        let [run] = reading.runs.as_slice() else { return None };
        // The file of another machine or of a container cannot be seen here.
        if run.place != Place::Here {
            return None;
        }
        let script = run.script().filter(|it| it.contains('/') || is_script(Path::new(it)))?;
        Some(Path::new(run.directory.as_deref()?).join(script))
    }
}

/// Returns true if nothing is at a path. A path that cannot be reached may have something.
fn is_missing(path: &Path) -> bool {
    path.try_exists().is_ok_and(|is_there| !is_there)
}

impl fmt::Display for CommandLine {
    /// As it would be typed, not escaped for a terminal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shell(line) | Self::Bash(line) => f.write_str(line),
            Self::Program { program, args } => {
                f.write_str(&text::shell_word(program))?;
                args.iter().try_for_each(|arg| write!(f, " {}", text::shell_word(arg)))
            }
        }
    }
}

/// Puts values in place of their `${NAME}`. A value is not read again.
fn with_values(word: &str, values: &[(&str, &Path)]) -> String {
    let (mut filled, mut rest) = (String::new(), word);
    while let Some((before, after)) = rest.split_once("${") {
        let value = |(name, value): &(&str, &Path)| {
            Some((value.to_string_lossy().into_owned(), after.strip_prefix(name)?.strip_prefix('}')?))
        };
        let (put, left) = values.iter().find_map(value).unwrap_or_else(|| ("${".to_owned(), after));
        filled.push_str(before);
        filled.push_str(&put);
        rest = left;
    }
    filled + rest
}

/// The file of a program: a word with a slash from the directory, any other from `PATH`.
fn resolve(program: &str, directory: &Path) -> Result<PathBuf, HookError> {
    let shown = text::escape(program, 256);
    if program.contains('/') {
        let path = directory.join(program);
        return match path.try_exists() {
            Ok(true) => Ok(path),
            _ => {
                let path = text::shown_path(&path);
                Err(HookError::new(Cause::NotFound, format!("its command does not exist: {path}")))
            }
        };
    }
    on_path(program, &env::var_os("PATH").unwrap_or_default()).ok_or_else(|| {
        let message = format!("its command does not exist: {shown:?} is not a program on PATH");
        HookError::new(Cause::NotFound, message)
    })
}

fn on_path(program: &str, path: &OsStr) -> Option<PathBuf> {
    // An empty entry of PATH would be the working directory, where anybody may have put anything.
    let directories = env::split_paths(path).filter(|directory| directory.is_absolute());
    directories.map(|directory| directory.join(program)).find(|path| is_program(path))
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}

fn bash() -> Result<PathBuf, HookError> {
    bash_among(Path::new(BASH), &env::var_os("PATH").unwrap_or_default())
}

/// The bash at its usual place, else the one on this path.
fn bash_among(usual: &Path, path: &OsStr) -> Result<PathBuf, HookError> {
    let usual = Some(usual.to_owned()).filter(|usual| is_program(usual));
    // npm puts directories of the repository on it.
    usual.or_else(|| program::on_path("bash", path)).ok_or_else(|| {
        let message = format!(
            "its line is for bash: expected {BASH}, or bash on PATH that only root can change, found none"
        );
        HookError::new(Cause::NotFound, message)
    })
}

/// Returns the reason why a hook with this condition and this wire does not run at an event.
pub(crate) fn passes_over(
    condition: Option<&Condition>,
    wire: Option<&dyn Wire>,
    event: &Event,
) -> Option<&'static str> {
    if condition.is_some_and(|condition| !condition.is_for(event)) {
        return Some("its condition (`if`) is not met");
    }
    wire.is_some_and(|wire| !wire.is_for(event)).then_some("its matcher does not match")
}

/// A command of a hooks.json.
pub struct CommandHook {
    descriptor: Descriptor,
    line: CommandLine,
    directory: PathBuf,
    variables: Vec<(String, OsString)>,
    /// The only variables of this process that are passed, as [`super::NativeHook::with_environment`].
    pub environment: Option<Vec<String>>,
    /// The form of the payload, the exit codes and the answers. An event that the wire is not for is a pass, and starts
    /// nothing.
    pub wire: Option<Arc<dyn Wire>>,
    /// The check before each run, as [`super::NativeHook::with_verify`].
    pub verify: Option<Verify>,
    /// The events at which the command starts.
    pub condition: Option<Condition>,
    /// True if nothing waits for the end of the command, so that it has no answer.
    pub is_in_background: bool,
    /// A directory of the user's own that is made before the command starts: its plugin keeps data there.
    pub data: Option<PathBuf>,
}

debug_by!(CommandHook, line);

impl CommandHook {
    /// The hook that runs this command in this directory.
    pub fn new(descriptor: Descriptor, line: CommandLine, directory: PathBuf) -> Self {
        Self {
            descriptor,
            line,
            directory,
            variables: Vec::new(),
            environment: None,
            wire: None,
            verify: None,
            condition: None,
            is_in_background: false,
            data: None,
        }
    }

    /// Passes these settings to the hook, in [`SETTINGS_VARIABLE`].
    #[must_use]
    pub fn with_settings(self, settings: &Settings) -> Self {
        match as_json(settings) {
            Some(settings) => self.with_variable(SETTINGS_VARIABLE, settings),
            None => self,
        }
    }

    /// Adds a variable to the environment.
    #[must_use]
    pub fn with_variable(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.variables.push((name.to_owned(), value.into()));
        self
    }

    /// Runs the command with this on standard input to its end. `None` if it goes on in the background.
    async fn end(
        &self,
        stdin: String,
        more: &[(&str, String)],
        budget: Budget,
    ) -> Result<Option<Ended>, HookError> {
        let wall = verified_within(self.verify.as_ref(), budget.wall).await?;
        let own = self.variables.iter().map(|(name, value)| (name.as_str(), value.as_os_str()));
        let own = own.chain(no_bytecode(self.verify.as_ref()));
        // A variable with a zero byte in it would keep the process from starting.
        let more = more.iter().filter(|(_, value)| !value.contains('\0'));
        let variables: Vec<(&str, &OsStr)> =
            own.chain(more.map(|(name, value)| (*name, OsStr::new(value.as_str())))).collect();
        let (program, args) = match &self.line {
            CommandLine::Shell(line) => (PathBuf::from(SHELL), vec!["-c", line.as_str()]),
            CommandLine::Bash(line) => (bash()?, vec!["--norc", "--noprofile", "-c", line.as_str()]),
            CommandLine::Program { program, args } => {
                (resolve(program, &self.directory)?, args.iter().map(String::as_str).collect())
            }
        };
        if let Some(data) = &self.data {
            let made = DirBuilder::new().recursive(true).mode(0o700).create(data);
            made.map_err(|error| {
                let shown = text::shown_path(data);
                HookError::new(Cause::Spawn, format!("its data directory {shown} cannot be made: {error}"))
            })?;
        }
        let process = Process {
            program: &program,
            args: &args,
            environment: self.environment.as_deref(),
            variables: &variables,
            directory: Some(&self.directory),
            stdin: Some(stdin.into_bytes()),
            wall,
            output: budget.output,
            log: budget.log,
        };
        if self.is_in_background {
            return process.launch().await.map(|()| None);
        }
        let ended = match self.wire {
            Some(_) => process.end_or_detach(is_asynchronous).await?,
            None => process.end().await?,
        };
        let first = ended.printed.stdout.split_inclusive(|byte| *byte == b'\n').next().unwrap_or_default();
        if self.wire.is_some() && is_asynchronous(first) {
            return match self.descriptor.on_failure {
                OnFailure::Pass => Ok(None),
                OnFailure::Block => {
                    let what = "answered that it goes on in the background, so it decided nothing";
                    Err(HookError::new(Cause::MalformedOutput, what))
                }
            };
        }
        match (&self.line, ended.status) {
            (CommandLine::Program { .. }, _) => Ok(Some(ended)),
            // A script that answered ended with a status of its own.
            _ if !ended.printed.stdout.trim_ascii().is_empty() => Ok(Some(ended)),
            (_, SHELL_NOT_FOUND) => Err(ended.failed(Cause::NotFound)),
            (_, SHELL_CANNOT_START) => Err(ended.failed(Cause::Spawn)),
            _ => Ok(Some(ended)),
        }
    }
}

/// Returns true for the first line of a hook of Claude Code that goes on in the background: `{"async":true}`.
fn is_asynchronous(line: &[u8]) -> bool {
    // Most lines need no parser.
    line.windows(7).any(|it| it == b"\"async\"")
        && serde_json::from_slice::<Value>(line).is_ok_and(|it| it.get("async") == Some(&Value::Bool(true)))
}

#[async_trait]
impl Hook for CommandHook {
    fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }

    fn passes_over(&self, event: &Event) -> Option<&'static str> {
        passes_over(self.condition.as_ref(), self.wire.as_deref(), event)
    }

    /// Runs the command with the event on standard input: as Base Coat's envelope, or as kodelet's payload if Base Coat
    /// has no such event. It may answer in either, and its output counts only if it then ends with status 0. A hook with
    /// a [wire](CommandHook::wire) uses that.
    async fn run(&self, event: &Event, budget: &Budget) -> Result<Outcome, HookError> {
        if let Some(wire) = &self.wire {
            let variables = wire.variables(event);
            let end = |stdin, left| {
                let ended = self.end(stdin, &variables, left);
                async { Ok(ended.await?.map(|it| (it.status, it.printed))) }
            };
            return on_wire(&**wire, event, budget, end).await;
        }
        let payload = base_coat::encode(event).unwrap_or_else(|| kodelet::encode(event));
        let place: Vec<_> =
            checkout(event).filter_map(|(name, value)| Some((name, value.to_str()?.to_owned()))).collect();
        let Some(ended) = self.end(Exact { value: &payload, event }.text(), &place, *budget).await? else {
            return Ok(Outcome::pass());
        };
        let printed = ended.succeeded()?;
        with_log(answer(event, &printed.stdout), printed.log)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bash_is_at_its_place_or_on_the_path_or_its_absence_is_said() {
        let dir = tempfile::tempdir().unwrap();
        let (here, nowhere) = (dir.path().join("bash"), dir.path().join("none"));
        let path = env::join_paths([dir.path()]).unwrap();
        let error = bash_among(&nowhere, &path).unwrap_err();
        assert_eq!(error.cause, Cause::NotFound);
        let wanted = "expected /bin/bash, or bash on PATH that only root can change, found none";
        assert_eq!(error.message, format!("its line is for bash: {wanted}"));
        std::fs::write(&here, "").unwrap();
        assert!(bash_among(&here, &path).is_err(), "it cannot be started");
        std::fs::set_permissions(&here, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(bash_among(&here, OsStr::new("")).unwrap(), here);
        // A repository's `node_modules/.bin` is on PATH below npm.
        std::fs::create_dir(dir.path().join(".git")).unwrap();
        assert!(bash_among(&nowhere, &path).is_err());
        let Some(bash) = program::of_system("bash") else { return };
        let path = env::join_paths([dir.path(), bash.parent().unwrap()]).unwrap();
        assert_eq!(bash_among(&nowhere, &path).unwrap(), bash);
        // One in the working directory is anybody's.
        assert!(bash_among(&nowhere, OsStr::new(":.")).is_err());
    }

    #[test]
    fn a_program_gets_the_values_of_placeholders_and_no_value_is_read_again() {
        let values = [("A", Path::new("/a ${B}")), ("B", Path::new("/b"))];
        for (word, want) in [
            ("${A}/x:${B}", "/a ${B}/x:/b"),
            ("$A ${A", "$A ${A"),
            ("${C}${ ${B}", "${C}${ /b"),
            ("--dir=${B}", "--dir=/b"),
        ] {
            let line = CommandLine::Program { program: word.to_owned(), args: vec![word.to_owned()] };
            let filled = CommandLine::Program { program: want.to_owned(), args: vec![want.to_owned()] };
            assert_eq!(line.with_values(&values), filled);
        }
        let line = CommandLine::Shell("${A}".to_owned());
        assert_eq!(line.clone().with_values(&values), line, "the shell reads it");
    }

    #[test]
    fn a_word_of_the_shell_is_no_program() {
        let directory = Path::new("/");
        for (line, in_sh, in_bash) in
            [("mapfile -t x", false, true), ("[[ 1 ]]", true, true), ("no-such-program", false, false)]
        {
            assert_eq!(CommandLine::Shell(line.to_owned()).look(directory, &[]).is_ok(), in_sh, "{line}");
            assert_eq!(CommandLine::Bash(line.to_owned()).look(directory, &[]).is_ok(), in_bash, "{line}");
        }
    }
}
