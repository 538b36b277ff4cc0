//! The files and directories that decide about an agent's hooks, and the directories and variables that decide where they
//! are.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use hookbox::manager::CommandFiles;

use super::Spec;

/// The owner of a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Level {
    /// The user's own, for every project.
    User,
    /// The project's, in the repository: others get it as well.
    Project,
    /// The user's own for one project, which git ignores. Only Claude Code and Qoder have it.
    Local,
    /// The system's, for every user. A repository cannot switch its hooks off.
    System,
}

impl Level {
    /// Every level.
    pub const ALL: [Self; 4] = [Self::User, Self::Project, Self::Local, Self::System];

    /// The levels whose files are in the project.
    pub(crate) const IN_PROJECT: [Self; 2] = [Self::Project, Self::Local];

    /// Returns true if the files of this level are in the project.
    pub(crate) fn is_in_project(self) -> bool {
        Self::IN_PROJECT.contains(&self)
    }

    /// Returns the word for it: `user`, `project`, `local` or `system`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
            Self::Local => "local",
            Self::System => "system",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Returns a directory of files with lines in backquotes.
pub(crate) const fn quoted(directory: &'static str) -> CommandFiles {
    CommandFiles { directory, has_braces: false }
}

/// Returns a directory of files with lines in braces.
pub(crate) const fn braced(directory: &'static str) -> CommandFiles {
    CommandFiles { directory, has_braces: true }
}

/// The contents of a [`HookPlace`].
#[derive(Clone, Copy, Debug)]
pub(crate) enum Holds {
    /// A file of hooks and of settings that switch them off.
    Hooks,
    /// A TOML file of hooks and of settings about them.
    TomlHooks,
    /// A directory in which each file whose name ends in `.json` has hooks.
    Files,
    /// A file of hooks in the form of another agent, which this agent runs as well.
    HooksOf(&'static Spec),
    /// A TOML file with settings about hooks.
    Settings,
    /// A directory of plugins.
    Plugins,
    /// A file that decides about hooks without containing any: scripts, trusted folders, plugins to load.
    Beside,
}

/// A file or directory that decides about an agent's hooks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HookPlace {
    /// The levels: at each of them there is one.
    pub(crate) levels: &'static [Level],
    /// The path beneath the home directory or the project, such as `.claude/settings.json`; at the system's
    /// level an absolute one.
    pub(crate) path: &'static str,
    /// The contents.
    pub(crate) holds: Holds,
}

/// The user's level.
pub(crate) const HOME: &[Level] = &[Level::User];
/// The project's level.
pub(crate) const PROJECT: &[Level] = &[Level::Project];
/// The user's own level in a project.
pub(crate) const LOCAL: &[Level] = &[Level::Local];
/// The system's level.
pub(crate) const SYSTEM: &[Level] = &[Level::System];
/// The levels of most files.
pub(crate) const BOTH: &[Level] = &[Level::User, Level::Project];

/// Returns a place, for the tables.
pub(crate) const fn at(levels: &'static [Level], path: &'static str, holds: Holds) -> HookPlace {
    HookPlace { levels, path, holds }
}

impl HookPlace {
    /// Returns true if it has hooks of the agent's own.
    pub(crate) fn has_hooks(&self) -> bool {
        matches!(self.holds, Holds::Hooks | Holds::TomlHooks | Holds::Files)
    }

    /// Returns true if it may have hooks of the agent's own, also among settings.
    pub(crate) fn may_have_hooks(&self) -> bool {
        self.has_hooks() || matches!(self.holds, Holds::Settings)
    }

    /// Returns true for a directory whose files the agent reads all.
    pub(crate) fn is_directory(&self) -> bool {
        matches!(self.holds, Holds::Files | Holds::Plugins)
    }
}

/// A variable that moves the files of an agent in the home directory.
#[derive(Debug)]
pub(crate) struct MovedBy {
    /// The variable.
    pub(crate) variable: &'static str,
    /// The directory beneath the home directory that its value replaces; empty for the home directory itself.
    pub(crate) directory: &'static str,
    /// True if the agent reads `~` at the beginning of the value.
    pub(crate) reads_tilde: bool,
}

/// The directories and variables that decide where the configuration is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// The home directory.
    pub home: Option<PathBuf>,
    /// The directory of the project.
    pub project: PathBuf,
    /// The root of the system's files (default: empty, for `/`).
    pub system: PathBuf,
    /// The agents' [variables](crate::Agent::home_variable) that are set and not empty.
    pub variables: BTreeMap<String, PathBuf>,
}

impl Surroundings {
    /// Creates the surroundings of a project, without a home directory and without variables.
    pub fn new(project: impl Into<PathBuf>) -> Self {
        Self { project: project.into(), ..Self::default() }
    }

    /// Returns the agent's variable if its value is another directory wherever the agent starts: a relative
    /// path, or a `~` that the agent does not read.
    pub(crate) fn unsettled(&self, moved: Option<&MovedBy>) -> Option<(&'static str, &Path)> {
        let moved = moved?;
        let value = self.variables.get(moved.variable)?;
        let is_of_home = moved.reads_tilde && value.starts_with("~") && self.home.is_some();
        (!value.is_absolute() && !is_of_home).then_some((moved.variable, value))
    }

    /// Returns the directory that a variable names: `~` is the home directory, and a relative path counts
    /// from the project.
    fn variable(&self, name: &str) -> Option<PathBuf> {
        let path = self.variables.get(name)?;
        match (path.strip_prefix("~"), &self.home) {
            (Ok(rest), Some(home)) => Some(home.join(rest)),
            _ => Some(self.project.join(path)),
        }
    }

    /// Returns the path of an agent's file at a level, such as `.claude/settings.json`. `None` without a home
    /// directory.
    pub(crate) fn path(&self, moved: Option<&MovedBy>, level: Level, path: &str) -> Option<PathBuf> {
        if level == Level::System {
            let path = Path::new(path);
            return Some(Path::new("/").join(&self.system).join(path.strip_prefix("/").unwrap_or(path)));
        }
        if level != Level::User {
            return Some(self.project.join(path));
        }
        let moved = moved.and_then(|moved| {
            let rest = Path::new(path).strip_prefix(moved.directory).ok()?;
            Some(self.variable(moved.variable)?.join(rest))
        });
        moved.or_else(|| Some(self.home.as_ref()?.join(path)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Agent;

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
            (Agent::Cline, "CLINE_DIR", "/etc/c", ".cline/plugins", "/etc/c/plugins"),
            (Agent::Pi, "PI_CODING_AGENT_DIR", "/etc/c", ".pi/agent/extensions", "/etc/c/extensions"),
            (Agent::Grok, "GROK_HOME", "/etc/c", ".grok/hooks", "/etc/c/hooks"),
            (Agent::Qoder, "QODER_CONFIG_DIR", "/etc/c", ".qoder/settings.json", "/etc/c/settings.json"),
            (Agent::Vibe, "VIBE_HOME", "~/v", ".vibe/hooks.toml", "/home/ada/v/hooks.toml"),
            (Agent::Kimi, "KIMI_CODE_HOME", "/etc/c", ".kimi-code/config.toml", "/etc/c/config.toml"),
            (Agent::Cursor, "CODEX_HOME", "/etc/c", ".cursor/hooks.json", "/home/ada/.cursor/hooks.json"),
        ] {
            let here = Surroundings { home: Some("/home/ada".into()), ..Surroundings::new("/srv/shop") };
            let here = here.variables(|it| (it == name).then(|| value.into()));
            let found = agent.spec().path(&here, Level::User, path);
            assert_eq!(found.as_deref(), Some(Path::new(want)), "{agent} {name}={value}");
            let found = agent.spec().path(&here, Level::Project, path);
            assert_eq!(found, Some(Path::new("/srv/shop").join(path)), "{agent} {name}={value}");
        }
        let here = Surroundings::new("/srv/shop");
        assert_eq!(Agent::Codex.spec().path(&here, Level::User, ".codex"), None);
        for (system, want) in [("", "/etc/c"), ("/", "/etc/c"), ("/mnt/image", "/mnt/image/etc/c")] {
            let here = Surroundings { system: system.into(), ..here.clone() };
            let found = Agent::Codex.spec().path(&here, Level::System, "/etc/c");
            assert_eq!(found.as_deref(), Some(Path::new(want)), "{system:?}");
        }
    }

    #[test]
    fn the_book_names_every_file_that_is_looked_for() {
        let page = include_str!("../../../../docs/src/foreign-hooks.md");
        for agent in Agent::with_commands() {
            let line = page.lines().find(|line| line.starts_with(&format!("| {} |", agent.title())));
            let line = line.unwrap_or_else(|| panic!("no row of {agent}"));
            for (level, home) in [(Level::User, "~/"), (Level::Project, ""), (Level::Local, "")] {
                for place in agent.spec().places_at(level).filter(|it| it.has_hooks()) {
                    let all = if place.is_directory() { "/*.json" } else { "" };
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
