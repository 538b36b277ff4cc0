//! The files and hooks of a source, as it hands them over.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::dialect::Condition;
use crate::dialect::Wire;
use crate::event::EventName;
use crate::hook::OnFailure;
use crate::native::command::CommandLine;

/// A file that declares hooks.
#[derive(Clone, Debug)]
pub struct SourceFile {
    /// The file.
    pub path: PathBuf,
    /// Its name in the names of its hooks, such as `.agent/settings.json`.
    pub shown: String,
    /// The directory with the scripts that its hooks run: the digest of a repository's hook covers it.
    pub scripts: PathBuf,
    /// The plugin that it belongs to.
    pub plugin: Option<String>,
    /// The time limit of its hooks that have none.
    pub usual_timeout: Duration,
    /// The word for this source after `--from` on the command line of `hookbox`.
    pub from: &'static str,
}

/// A hook that a file declares.
#[derive(Clone, Debug)]
pub struct SourceHook {
    /// Its position in the file, such as `PreToolUse[0]`.
    pub label: String,
    /// Its line and column, such as `line 3, column 5`.
    pub spot: String,
    /// The event that it is for; `None` if the file names one that does not exist.
    pub event: Option<EventName>,
    /// True if the hook only observes.
    pub observe: bool,
    /// True if nothing waits for the end of the hook; it then only observes.
    pub background: bool,
    /// The matcher, as the file has it.
    pub matcher: Option<String>,
    /// The tool calls for which the hook runs; all that its wire is for if `None`.
    pub condition: Option<Condition>,
    /// The failure policy, if the file has one.
    pub on_failure: Option<OnFailure>,
    /// The time limit, if the file has one.
    pub timeout: Option<Duration>,
    /// The text of the entry: a part of what the user trusts.
    pub text: String,
    /// True if the configuration switches the hook off.
    pub is_disabled: bool,
    /// True if a problem already gives the reason why it cannot run.
    pub is_reported: bool,
    /// The command; or the reason why nothing can run, in words that read after the path of the file.
    pub command: Result<SourceCommand, String>,
}

/// The command of a hook.
#[derive(Clone, Debug)]
pub struct SourceCommand {
    /// The command line.
    pub line: CommandLine,
    /// The form in which the command is spoken to.
    pub wire: Arc<dyn Wire>,
    /// The directory in which it runs; `None` for the project.
    pub directory: Option<PathBuf>,
    /// The directory beneath that one which the entry names.
    pub cwd: Option<String>,
    /// The variables that the entry sets.
    pub env: Vec<(String, String)>,
    /// The variables that settings of the user set for every hook.
    pub user_env: Vec<(String, String)>,
    /// The variables that settings of the repository set for its hooks.
    pub project_env: Vec<(String, String)>,
    /// The names of the variables for the directory of the project.
    pub project_variables: &'static [&'static str],
    /// The directory of the plugin, with the names of the variables for it.
    pub plugin: Option<(PathBuf, &'static [&'static str])>,
    /// Further variables.
    pub variables: Vec<(&'static str, PathBuf)>,
}

/// The result of reading a file.
#[derive(Debug)]
pub enum ReadFile<T> {
    /// The contents, or the last ones before the file broke.
    Read(T),
    /// The file does not exist.
    Missing,
    /// The file cannot be used, and a problem gives the reason.
    Unusable,
}
