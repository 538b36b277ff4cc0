//! Where an agent's hook configuration is.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use crate::dialect::agent::Agent;

/// Whose configuration it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Level {
    /// The user's own, for every project.
    User,
    /// The project's: it is in the repository, and others get it.
    Project,
    /// The user's own for one project, which git leaves out. Only Claude Code has it.
    Local,
}

impl Level {
    /// Every level.
    pub const ALL: [Self; 3] = [Self::User, Self::Project, Self::Local];

    /// The word for it: `user`, `project` or `local`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
            Self::Local => "local",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The environment variables with which the agents move their configuration.
pub const VARIABLES: [&str; 6] =
    ["CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "QWEN_HOME", "COPILOT_HOME", "XDG_CONFIG_HOME"];

/// What decides where the configuration is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// The home directory.
    pub home: Option<PathBuf>,
    /// The directory of the project.
    pub project: PathBuf,
    /// Those of [`VARIABLES`] that are set, and not empty.
    pub variables: BTreeMap<String, PathBuf>,
}

impl Surroundings {
    /// A project, without a home directory and without variables.
    pub fn new(project: impl Into<PathBuf>) -> Self {
        Self { project: project.into(), ..Self::default() }
    }

    /// The same with the variables that this function knows, such as `std::env::var_os`. Those that are empty count as
    /// not set, as they do for the agents.
    #[must_use]
    pub fn variables(mut self, value: impl Fn(&str) -> Option<OsString>) -> Self {
        let set = VARIABLES.iter().filter_map(|name| Some(((*name).to_owned(), value(name)?)));
        self.variables =
            set.filter(|(_, value)| !value.is_empty()).map(|(name, value)| (name, value.into())).collect();
        self
    }

    /// The directory that a variable names: `~` is the home directory, and a relative path counts from the project.
    fn variable(&self, name: &str) -> Option<PathBuf> {
        let path = self.variables.get(name)?;
        match (path.strip_prefix("~"), &self.home) {
            (Ok(rest), Some(home)) => Some(home.join(rest)),
            _ => Some(self.project.join(path)),
        }
    }

    /// Where programs keep their configuration, which OpenCode honours.
    pub(crate) fn configuration(&self) -> Option<PathBuf> {
        self.variable("XDG_CONFIG_HOME").or_else(|| self.home(".config"))
    }

    fn home(&self, name: &str) -> Option<PathBuf> {
        self.home.as_ref().map(|home| home.join(name))
    }

    /// The directory of an agent's own files at the user's level.
    fn own(&self, agent: Agent) -> Option<PathBuf> {
        match agent {
            Agent::Claude => self.variable("CLAUDE_CONFIG_DIR").or_else(|| self.home(".claude")),
            Agent::Codex => self.variable("CODEX_HOME").or_else(|| self.home(".codex")),
            // This one stands for the home directory.
            Agent::Gemini => self
                .variable("GEMINI_CLI_HOME")
                .or_else(|| self.home.clone())
                .map(|home| home.join(".gemini")),
            Agent::Qwen => self.variable("QWEN_HOME").or_else(|| self.home(".qwen")),
            Agent::Copilot => self.variable("COPILOT_HOME").or_else(|| self.home(".copilot")),
            Agent::Cursor => self.home(".cursor"),
            // It has plugins, and no file of commands.
            Agent::OpenCode => None,
        }
    }

    /// The directory of an agent's files at a level.
    fn directory(&self, agent: Agent, level: Level) -> Option<PathBuf> {
        let project = match agent {
            Agent::Claude => ".claude",
            Agent::Codex => ".codex",
            Agent::Gemini => ".gemini",
            Agent::Qwen => ".qwen",
            Agent::Copilot => ".github",
            Agent::Cursor => ".cursor",
            Agent::OpenCode => return None,
        };
        match level {
            Level::User => self.own(agent),
            Level::Project => Some(self.project.join(project)),
            Level::Local => (agent == Agent::Claude).then(|| self.project.join(project)),
        }
    }
}

/// The file to which hooks are written at a level: the agent's settings, or a file of hooks; in Copilot CLI, which reads
/// every file of a directory, one of hookbox's own. `None` where the agent has no such level, or nobody has a home, and
/// for OpenCode, which runs no commands.
pub fn file(agent: Agent, level: Level, surroundings: &Surroundings) -> Option<PathBuf> {
    let directory = surroundings.directory(agent, level)?;
    Some(directory.join(match (agent, level) {
        (Agent::Claude, Level::Local) => "settings.local.json",
        (Agent::Claude | Agent::Gemini | Agent::Qwen, _) => "settings.json",
        (Agent::Codex | Agent::Cursor, _) => "hooks.json",
        (Agent::Copilot, _) => "hooks/hookbox.json",
        (Agent::OpenCode, _) => return None,
    }))
}

/// A file or directory that an agent reads when it looks for hooks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Whose it is.
    pub level: Level,
    /// Where it is.
    pub path: PathBuf,
    /// What it holds.
    pub holds: Holds,
}

/// What a [`Source`] holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// Hooks, and what switches them off: [`read`](super::read).
    Hooks,
    /// A directory; each file in it whose name ends in `.json` holds hooks.
    Files,
    /// Hooks in the form of another agent, which this one runs as well.
    HooksOf(Agent),
    /// Codex's `config.toml`: [`read_codex_settings`](super::read_codex_settings).
    CodexSettings,
}

/// What an agent reads when it looks for hooks, the user's first. Plugins, extensions and what an organisation manages are
/// not among them.
pub fn sources(agent: Agent, surroundings: &Surroundings) -> Vec<Source> {
    let mut sources = Vec::new();
    let mut add = |level, path: PathBuf, holds| sources.push(Source { level, path, holds });
    for level in Level::ALL {
        let Some(directory) = surroundings.directory(agent, level) else { continue };
        match agent {
            Agent::Copilot => {
                add(level, directory.join("hooks"), Holds::Files);
                let settings: &[&str] = match level {
                    Level::User => &["settings.json"],
                    _ => &["copilot/settings.json", "copilot/settings.local.json"],
                };
                settings.iter().for_each(|name| add(level, directory.join(name), Holds::Hooks));
            }
            _ => {
                file(agent, level, surroundings).into_iter().for_each(|it| add(level, it, Holds::Hooks));
                if agent == Agent::Codex {
                    add(level, directory.join("config.toml"), Holds::CodexSettings);
                }
            }
        }
    }
    if agent == Agent::Copilot {
        for level in [Level::Project, Level::Local] {
            let path = file(Agent::Claude, level, surroundings);
            path.into_iter().for_each(|path| add(level, path, Holds::HooksOf(Agent::Claude)));
        }
    }
    sources
}

/// Every path that holds or decides about hooks of an agent, at every level.
pub fn paths(surroundings: &Surroundings) -> impl Iterator<Item = PathBuf> {
    let all = Agent::ALL.into_iter().flat_map(|agent| sources(agent, surroundings));
    all.map(|source| source.path).filter(|path: &PathBuf| path != Path::new(""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn surroundings(variables: &[(&str, &str)]) -> Surroundings {
        let value = |name: &str| variables.iter().find(|(it, _)| *it == name).map(|(_, value)| value.into());
        Surroundings { home: Some("/home/ada".into()), ..Surroundings::new("/srv/shop") }.variables(value)
    }

    #[test]
    fn every_agent_has_its_file_at_every_level_that_it_knows() {
        let here = surroundings(&[]);
        for (agent, want) in [
            (
                Agent::Claude,
                [
                    "/home/ada/.claude/settings.json",
                    "/srv/shop/.claude/settings.json",
                    "/srv/shop/.claude/settings.local.json",
                ],
            ),
            (Agent::Codex, ["/home/ada/.codex/hooks.json", "/srv/shop/.codex/hooks.json", ""]),
            (Agent::Gemini, ["/home/ada/.gemini/settings.json", "/srv/shop/.gemini/settings.json", ""]),
            (Agent::Qwen, ["/home/ada/.qwen/settings.json", "/srv/shop/.qwen/settings.json", ""]),
            (
                Agent::Copilot,
                ["/home/ada/.copilot/hooks/hookbox.json", "/srv/shop/.github/hooks/hookbox.json", ""],
            ),
            (Agent::Cursor, ["/home/ada/.cursor/hooks.json", "/srv/shop/.cursor/hooks.json", ""]),
            (Agent::OpenCode, ["", "", ""]),
        ] {
            let found = Level::ALL.map(|level| {
                file(agent, level, &here).map(|path| path.to_string_lossy().into_owned()).unwrap_or_default()
            });
            assert_eq!(found, want.map(str::to_owned), "{agent}");
        }
        assert_eq!(file(Agent::Codex, Level::User, &Surroundings::new("/srv/shop")), None);
    }

    #[test]
    fn the_agents_own_variables_move_the_users_file() {
        for (agent, name, value, want) in [
            (Agent::Claude, "CLAUDE_CONFIG_DIR", "/etc/c", "/etc/c/settings.json"),
            (Agent::Codex, "CODEX_HOME", "/etc/c", "/etc/c/hooks.json"),
            (Agent::Gemini, "GEMINI_CLI_HOME", "/etc/c", "/etc/c/.gemini/settings.json"),
            (Agent::Qwen, "QWEN_HOME", "~/q", "/home/ada/q/settings.json"),
            (Agent::Qwen, "QWEN_HOME", "q", "/srv/shop/q/settings.json"),
            (Agent::Copilot, "COPILOT_HOME", "/etc/c", "/etc/c/hooks/hookbox.json"),
            (Agent::Codex, "CODEX_HOME", "", "/home/ada/.codex/hooks.json"),
            (Agent::Codex, "QWEN_HOME", "/etc/c", "/home/ada/.codex/hooks.json"),
        ] {
            let found = file(agent, Level::User, &surroundings(&[(name, value)])).unwrap();
            assert_eq!(found, Path::new(want), "{agent} {name}={value}");
        }
    }

    #[test]
    fn what_install_writes_is_read_by_the_agent() {
        let here = surroundings(&[("CODEX_HOME", "/etc/c")]);
        for agent in Agent::ALL {
            let sources = sources(agent, &here);
            for path in Level::ALL.iter().filter_map(|level| file(agent, *level, &here)) {
                let is_read = |it: &Source| match it.holds {
                    Holds::Files => path.parent() == Some(&it.path),
                    Holds::Hooks => path == it.path,
                    _ => false,
                };
                assert!(sources.iter().any(is_read), "{agent}: {}", path.display());
            }
        }
        assert!(paths(&here).any(|path| path == Path::new("/etc/c/config.toml")));
        let copilot = sources(Agent::Copilot, &here);
        assert!(copilot.iter().any(|it| it.holds == Holds::HooksOf(Agent::Claude)));
    }
}
