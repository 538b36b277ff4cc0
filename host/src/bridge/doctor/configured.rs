//! What an agent has configured for hookbox.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use regex::Regex;

use super::finding::Examination;
use crate::bridge::Bridge;
use crate::bridge::config::{
    Configuration, Entry, Holds, Level, MAX_BYTES, Surroundings, Switch, read, read_codex_settings, sources,
};
use crate::dialect::agent::Agent;
use crate::discovery::parse_duration;
use crate::text;

/// How many files of a directory of hooks are read.
const MAX_FILES: usize = 256;

/// A command line that calls `hookbox bridge`.
pub(super) struct Call {
    /// What starts the program: everything before `bridge`.
    pub(super) program: String,
    /// The agent that it names.
    pub(super) agent: String,
    /// How long the bridge may take.
    pub(super) deadline: Duration,
}

impl Call {
    pub(super) fn of(command: &str) -> Option<Self> {
        static CALL: LazyLock<Option<Regex>> = LazyLock::new(|| {
            Regex::new(r#"(?s)^(.*\S)\s+bridge\s+["']?(claude|codex|gemini|qwen|copilot|cursor)\b(.*)$"#).ok()
        });
        static DEADLINE: LazyLock<Option<Regex>> =
            LazyLock::new(|| Regex::new(r#"\s--deadline[=\s]\s*["']?([0-9A-Za-z.]+)"#).ok());
        let found = CALL.as_ref()?.captures(command)?;
        let part = |at: usize| found.get(at).map_or("", |it| it.as_str());
        let said =
            DEADLINE.as_ref()?.captures(part(3)).and_then(|it| parse_duration(it.get(1)?.as_str()).ok());
        let deadline = said.unwrap_or(Bridge::DEADLINE);
        Some(Self { program: part(1).to_owned(), agent: part(2).to_owned(), deadline })
    }
}

/// A command of hookbox, and where it stands.
pub(super) struct Found {
    pub(super) entry: Entry,
    pub(super) call: Call,
    pub(super) level: Level,
    pub(super) file: PathBuf,
}

/// All of it.
#[derive(Default)]
pub(super) struct Configured {
    pub(super) commands: Vec<Found>,
    /// What switches hooks off, and where it stands.
    pub(super) switches: Vec<(Level, PathBuf, Switch)>,
    /// Codex's own settings of its user.
    pub(super) codex: toml::Table,
}

impl Configured {
    /// Reads the files of an agent. What cannot be read is a failure: the agent runs no hook of it.
    pub(super) fn read(agent: Agent, surroundings: &Surroundings, found: &mut Examination) -> Self {
        let mut all = Self::default();
        for source in sources(agent, surroundings) {
            match source.holds {
                Holds::Hooks => all.hooks(agent, source.level, &source.path, found),
                Holds::Files => {
                    for path in files(&source.path) {
                        all.hooks(agent, source.level, &path, found);
                    }
                }
                Holds::CodexSettings => all.codex_settings(source.level, &source.path, found),
                // Its entries call hookbox for the other agent, whose answers this one takes as well.
                Holds::HooksOf(_) => {}
            }
        }
        all
    }

    fn hooks(&mut self, agent: Agent, level: Level, path: &Path, found: &mut Examination) {
        let Some(bytes) = contents(path, found) else { return };
        let Configuration { entries, switches, problems } = match read(agent, &bytes) {
            Ok(configuration) => configuration,
            Err(error) => {
                found.fail("configuration", format!("{}: {error}", shown(path)), error.hint);
                return;
            }
        };
        let calls = entries.into_iter().filter_map(|entry| {
            let call = Call::of(&entry.command)?;
            Some(Found { entry, call, level, file: path.to_owned() })
        });
        self.commands.extend(calls);
        self.switches.extend(switches.into_iter().map(|switch| (level, path.to_owned(), switch)));
        for problem in problems {
            found.warn("configuration", format!("{}: {problem}", shown(path)), "correct the file by hand");
        }
    }

    fn codex_settings(&mut self, level: Level, path: &Path, found: &mut Examination) {
        let Some(bytes) = contents(path, found) else { return };
        match read_codex_settings(&bytes) {
            Ok(switches) => {
                self.switches.extend(switches.into_iter().map(|switch| (level, path.to_owned(), switch)));
            }
            Err(error) => found.fail("configuration", format!("{}: {error}", shown(path)), error.hint),
        }
        // Only the user's own file can say what the user trusts.
        if level == Level::User {
            self.codex = str::from_utf8(&bytes).ok().and_then(|it| it.parse().ok()).unwrap_or_default();
        }
    }
}

/// The files of hooks in a directory, in order.
fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().filter_map(Result::ok).take(MAX_FILES);
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|it| it == "json"))
        .collect();
    files.sort();
    files
}

/// What stands in a regular file; nothing where there is none.
pub(super) fn contents(path: &Path, found: &mut Examination) -> Option<Vec<u8>> {
    let what = match std::fs::metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => return None,
        Err(error) => error.to_string(),
        Ok(about) if !about.is_file() => "is no file".to_owned(),
        Ok(_) => {
            let mut bytes = Vec::new();
            let read = File::open(path).and_then(|it| it.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes));
            match read {
                Ok(_) => return Some(bytes),
                Err(error) => error.to_string(),
            }
        }
    };
    let hint = "let it be a file that you can read";
    found.fail("configuration", format!("{} cannot be read: {what}", shown(path)), hint);
    None
}

/// A path for a person.
pub(super) fn shown(path: &Path) -> String {
    text::escape(&path.to_string_lossy(), 500)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_that_calls_the_bridge_is_known_by_its_words() {
        for (line, want) in [
            ("hookbox bridge claude", Some(("hookbox", "claude", 15))),
            (
                "'/opt/my tools/hookbox' bridge codex --deadline 10s",
                Some(("'/opt/my tools/hookbox'", "codex", 10)),
            ),
            (
                "cd /x && FOO=1 hookbox  bridge \"qwen\" --event X --deadline=2m",
                Some(("cd /x && FOO=1 hookbox", "qwen", 120)),
            ),
            ("hookbox bridge copilot --deadline soon", Some(("hookbox", "copilot", 15))),
            ("hookbox run before_tool_call", None),
            ("bridge claude", None),
            ("echo hookbox-bridge claude", None),
        ] {
            let call = Call::of(line);
            let found =
                call.as_ref().map(|it| (it.program.as_str(), it.agent.as_str(), it.deadline.as_secs()));
            assert_eq!(found, want, "{line}");
        }
    }
}
