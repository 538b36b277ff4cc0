//! The files and directories that decide about an agent's hooks.

use std::fmt;

use hookbox::manager::CommandFiles;

use super::Spec;

/// The owner of a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Level {
    /// The user's own, for every project.
    User,
    /// The project's, in the repository: others get it as well.
    Project,
    /// The user's own for one project, which git ignores. Only Claude Code has it.
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
