//! Where the agents keep what decides about their hooks, at home and in a project: the one table of it. Nothing is looked
//! at.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use super::Agent;

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

    /// Those whose files stand in the project.
    pub(crate) const IN_PROJECT: [Self; 2] = [Self::Project, Self::Local];

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

/// What a [`HookPlace`] holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holds {
    /// Hooks, and what switches them off.
    Hooks,
    /// A directory; each file in it whose name ends in `.json` holds hooks.
    Files,
    /// Hooks in the form of another agent, which this one runs as well.
    HooksOf(Agent),
    /// Codex's `config.toml`.
    CodexSettings,
    /// A directory of plugins.
    Plugins,
    /// What decides about hooks without holding any: the scripts that they usually run, which folders and servers the
    /// agent trusts, which plugins it loads.
    Beside,
}

/// A file or directory that decides about an agent's hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HookPlace {
    /// Whose it may be: at each of these levels there is one.
    pub(crate) levels: &'static [Level],
    /// Where it is beneath the home directory or the project, such as `.claude/settings.json`.
    pub(crate) path: &'static str,
    /// What it holds.
    pub(crate) holds: Holds,
}

const HOME: &[Level] = &[Level::User];
const PROJECT: &[Level] = &[Level::Project];
const LOCAL: &[Level] = &[Level::Local];
const BOTH: &[Level] = &[Level::User, Level::Project];

const fn at(levels: &'static [Level], path: &'static str, holds: Holds) -> HookPlace {
    HookPlace { levels, path, holds }
}

const CLAUDE: &[HookPlace] = &[
    at(BOTH, ".claude/settings.json", Holds::Hooks),
    at(LOCAL, ".claude/settings.local.json", Holds::Hooks),
    at(BOTH, ".claude/hooks", Holds::Beside),
    at(HOME, ".claude/plugins", Holds::Plugins),
    at(HOME, ".claude.json", Holds::Beside),
];

const CODEX: &[HookPlace] = &[
    at(BOTH, ".codex/hooks.json", Holds::Hooks),
    at(BOTH, ".codex/config.toml", Holds::CodexSettings),
    at(BOTH, ".codex/hooks", Holds::Beside),
];

const GEMINI: &[HookPlace] = &[
    at(BOTH, ".gemini/settings.json", Holds::Hooks),
    at(BOTH, ".gemini/hooks", Holds::Beside),
    at(HOME, ".gemini/trustedFolders.json", Holds::Beside),
];

const QWEN: &[HookPlace] = &[
    at(BOTH, ".qwen/settings.json", Holds::Hooks),
    at(BOTH, ".qwen/hooks", Holds::Beside),
    at(HOME, ".qwen/trustedFolders.json", Holds::Beside),
];

const COPILOT: &[HookPlace] = &[
    at(HOME, ".copilot/hooks", Holds::Files),
    at(HOME, ".copilot/settings.json", Holds::Hooks),
    at(HOME, ".copilot/config.json", Holds::Beside),
    at(PROJECT, ".github/hooks", Holds::Files),
    at(PROJECT, ".github/copilot/settings.json", Holds::Hooks),
    at(PROJECT, ".github/copilot/settings.local.json", Holds::Hooks),
    at(PROJECT, ".claude/settings.json", Holds::HooksOf(Agent::Claude)),
    at(LOCAL, ".claude/settings.local.json", Holds::HooksOf(Agent::Claude)),
];

const CURSOR: &[HookPlace] =
    &[at(BOTH, ".cursor/hooks.json", Holds::Hooks), at(BOTH, ".cursor/hooks", Holds::Beside)];

/// It loads both directories; hookbox's own plugin goes into the first.
const OPENCODE: &[HookPlace] = &[
    at(HOME, ".config/opencode/plugins", Holds::Plugins),
    at(HOME, ".config/opencode/plugin", Holds::Plugins),
    at(HOME, ".config/opencode/opencode.json", Holds::Beside),
    at(HOME, ".config/opencode/opencode.jsonc", Holds::Beside),
    at(PROJECT, ".opencode/plugins", Holds::Plugins),
    at(PROJECT, ".opencode/plugin", Holds::Plugins),
    at(PROJECT, ".opencode/opencode.json", Holds::Beside),
    at(PROJECT, ".opencode/opencode.jsonc", Holds::Beside),
    at(PROJECT, "opencode.json", Holds::Beside),
    at(PROJECT, "opencode.jsonc", Holds::Beside),
];

impl Agent {
    /// What decides about its hooks; of the files of one level the one that `hookbox install` writes to is the first.
    /// Not among them: what an organisation sets, and what plugins and extensions bring.
    pub(crate) fn places(self) -> &'static [HookPlace] {
        match self {
            Self::Claude => CLAUDE,
            Self::Codex => CODEX,
            Self::Gemini => GEMINI,
            Self::Qwen => QWEN,
            Self::Copilot => COPILOT,
            Self::Cursor => CURSOR,
            Self::OpenCode => OPENCODE,
        }
    }

    /// Those of a level.
    pub(crate) fn places_at(self, level: Level) -> impl Iterator<Item = &'static HookPlace> {
        self.places().iter().filter(move |place| place.levels.contains(&level))
    }

    /// The variable that moves its files at home, and the directory beneath the home directory whose place its value
    /// takes; Gemini CLI's takes that of the home directory itself.
    fn moved_by(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Claude => Some(("CLAUDE_CONFIG_DIR", ".claude")),
            Self::Codex => Some(("CODEX_HOME", ".codex")),
            Self::Gemini => Some(("GEMINI_CLI_HOME", "")),
            Self::Qwen => Some(("QWEN_HOME", ".qwen")),
            Self::Copilot => Some(("COPILOT_HOME", ".copilot")),
            Self::Cursor => None,
            Self::OpenCode => Some(("XDG_CONFIG_HOME", ".config")),
        }
    }

    /// The environment variable with which it moves its files at home, where it has one.
    pub fn home_variable(self) -> Option<&'static str> {
        self.moved_by().map(|(variable, _)| variable)
    }

    /// Whether it reads comments in these files (`//` and `/* */`). Claude Code, Codex and Copilot CLI run no hook of a
    /// file that has one (seen); of Cursor that is not known.
    pub(crate) fn takes_comments(self) -> bool {
        matches!(self, Self::Gemini | Self::Qwen | Self::Cursor)
    }
}

impl HookPlace {
    /// Whether it holds hooks of the agent's own: a file of them, or a directory of such files.
    pub(crate) fn has_hooks(&self) -> bool {
        matches!(self.holds, Holds::Hooks | Holds::Files)
    }
}

/// What decides where the configuration is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// The home directory.
    pub home: Option<PathBuf>,
    /// The directory of the project.
    pub project: PathBuf,
    /// Those of the agents' [variables](Agent::home_variable) that are set, and not empty.
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
        let names = Agent::ALL.into_iter().filter_map(Agent::home_variable);
        let set = names.filter_map(|name| Some((name.to_owned(), value(name)?)));
        self.variables =
            set.filter(|(_, value)| !value.is_empty()).map(|(name, value)| (name, value.into())).collect();
        self
    }

    /// The agent's variable, where what it names is another directory wherever the agent starts: a relative path, or a `~`
    /// that the agent does not read. Qwen Code alone reads one.
    pub(crate) fn unsettled(&self, agent: Agent) -> Option<(&'static str, &Path)> {
        let variable = agent.home_variable()?;
        let value = self.variables.get(variable)?;
        let is_of_home = agent == Agent::Qwen && value.starts_with("~") && self.home.is_some();
        (!value.is_absolute() && !is_of_home).then_some((variable, value))
    }

    /// The directory that a variable names: `~` is the home directory, and a relative path counts from the project.
    fn variable(&self, name: &str) -> Option<PathBuf> {
        let path = self.variables.get(name)?;
        match (path.strip_prefix("~"), &self.home) {
            (Ok(rest), Some(home)) => Some(home.join(rest)),
            _ => Some(self.project.join(path)),
        }
    }

    /// Where something of an agent stands at a level, such as `.claude/settings.json`. `None` where nobody has a home.
    pub(crate) fn path(&self, agent: Agent, level: Level, path: &str) -> Option<PathBuf> {
        if level != Level::User {
            return Some(self.project.join(path));
        }
        let moved = agent.moved_by().and_then(|(variable, directory)| {
            let rest = Path::new(path).strip_prefix(directory).ok()?;
            Some(self.variable(variable)?.join(rest))
        });
        moved.or_else(|| Some(self.home.as_ref()?.join(path)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_agents_own_variables_move_what_they_keep_at_home() {
        for (agent, name, value, path, want) in [
            (Agent::Claude, "CLAUDE_CONFIG_DIR", "/etc/c", ".claude/settings.json", "/etc/c/settings.json"),
            (Agent::Claude, "CLAUDE_CONFIG_DIR", "/etc/c", ".claude/plugins", "/etc/c/plugins"),
            (Agent::Codex, "CODEX_HOME", "/etc/c", ".codex/hooks.json", "/etc/c/hooks.json"),
            (
                Agent::Gemini,
                "GEMINI_CLI_HOME",
                "/etc/c",
                ".gemini/settings.json",
                "/etc/c/.gemini/settings.json",
            ),
            (Agent::Qwen, "QWEN_HOME", "~/q", ".qwen/settings.json", "/home/ada/q/settings.json"),
            (Agent::Qwen, "QWEN_HOME", "q", ".qwen/settings.json", "/srv/shop/q/settings.json"),
            (Agent::Copilot, "COPILOT_HOME", "/etc/c", ".copilot/hooks", "/etc/c/hooks"),
            (
                Agent::OpenCode,
                "XDG_CONFIG_HOME",
                "/etc/c",
                ".config/opencode/plugins",
                "/etc/c/opencode/plugins",
            ),
            (Agent::Codex, "CODEX_HOME", "", ".codex/hooks.json", "/home/ada/.codex/hooks.json"),
            (Agent::Codex, "QWEN_HOME", "/etc/c", ".codex/hooks.json", "/home/ada/.codex/hooks.json"),
            (Agent::Cursor, "CODEX_HOME", "/etc/c", ".cursor/hooks.json", "/home/ada/.cursor/hooks.json"),
        ] {
            let here = Surroundings { home: Some("/home/ada".into()), ..Surroundings::new("/srv/shop") };
            let here = here.variables(|it| (it == name).then(|| value.into()));
            let found = here.path(agent, Level::User, path);
            assert_eq!(found.as_deref(), Some(Path::new(want)), "{agent} {name}={value}");
            let found = here.path(agent, Level::Project, path);
            assert_eq!(found, Some(Path::new("/srv/shop").join(path)), "{agent} {name}={value}");
        }
        assert_eq!(Surroundings::new("/srv/shop").path(Agent::Codex, Level::User, ".codex"), None);
    }

    #[test]
    fn the_book_names_every_file_that_is_looked_for() {
        let page = include_str!("../../../../docs/src/foreign-hooks.md");
        for agent in Agent::WITH_COMMANDS {
            let line = page.lines().find(|line| line.starts_with(&format!("| {} |", agent.title())));
            let line = line.unwrap_or_else(|| panic!("no row of {agent}"));
            for (level, home) in [(Level::User, "~/"), (Level::Project, ""), (Level::Local, "")] {
                for place in agent.places_at(level).filter(|it| it.has_hooks()) {
                    let all = if place.holds == Holds::Files { "/*.json" } else { "" };
                    assert!(
                        line.contains(&format!("`{home}{}{all}`", place.path)),
                        "{agent}: {}",
                        place.path
                    );
                }
            }
            let variable = agent.home_variable();
            assert!(variable.is_none_or(|it| line.contains(&format!("`${it}"))), "{agent}: {variable:?}");
        }
    }
}
