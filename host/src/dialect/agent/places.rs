//! Where the agents' hooks are configured. Names only: nothing is looked at.

use super::Agent;

/// Whose configuration a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Level {
    /// A project's: the path is beneath it.
    Project,
    /// The user's: the path is beneath the home directory.
    User,
}

/// A file, or a directory of files, in which an agent's hooks are configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HookFile {
    /// Whose it is.
    pub level: Level,
    /// Where it is beneath the project or the home directory, such as `.claude/settings.json`.
    pub path: &'static str,
    /// Whether it is a directory, each `.json` file of which has hooks.
    pub is_directory: bool,
}

const fn file(level: Level, path: &'static str) -> HookFile {
    HookFile { level, path, is_directory: false }
}

const fn directory(level: Level, path: &'static str) -> HookFile {
    HookFile { level, path, is_directory: true }
}

impl Agent {
    /// Where its hooks are configured, the project's files first. Plugins and extensions have files of their own.
    pub fn hook_files(self) -> &'static [HookFile] {
        use Level::{Project, User};
        match self {
            Self::Claude => {
                const {
                    &[
                        file(Project, ".claude/settings.json"),
                        file(Project, ".claude/settings.local.json"),
                        file(User, ".claude/settings.json"),
                    ]
                }
            }
            Self::Codex => const { &[file(Project, ".codex/hooks.json"), file(User, ".codex/hooks.json")] },
            Self::Gemini => {
                const { &[file(Project, ".gemini/settings.json"), file(User, ".gemini/settings.json")] }
            }
            Self::Qwen => {
                const { &[file(Project, ".qwen/settings.json"), file(User, ".qwen/settings.json")] }
            }
            Self::Copilot => {
                const { &[directory(Project, ".github/hooks"), directory(User, ".copilot/hooks")] }
            }
            Self::Cursor => {
                const { &[file(Project, ".cursor/hooks.json"), file(User, ".cursor/hooks.json")] }
            }
            Self::OpenCode => &[],
        }
    }

    /// The variable that names the user's configuration directory of the agent in the place of the first part of
    /// [`HookFile::path`], where the agent has one.
    pub fn home_variable(self) -> Option<&'static str> {
        match self {
            Self::Claude => Some("CLAUDE_CONFIG_DIR"),
            Self::Codex => Some("CODEX_HOME"),
            Self::Gemini | Self::Qwen | Self::Copilot | Self::Cursor | Self::OpenCode => None,
        }
    }

    /// Whether it reads comments in these files (`//` and `/* */`). Claude Code, Codex and Copilot CLI run no hook of a
    /// file that has one (seen); of Cursor that is not known.
    pub fn takes_comments(self) -> bool {
        matches!(self, Self::Gemini | Self::Qwen | Self::Cursor)
    }
}
