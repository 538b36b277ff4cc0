//! Reads the hooks that files declare: `hooks.json` (Base Coat's pattern B, and the shape of Claude Code's settings) and
//! the tools of `mcp.json` (pattern A).
//!
//! Each fault has its line and column, and the rest of the file counts. An entry that cannot run stays an entry, because
//! it may be a guard.

#[doc(hidden)]
pub mod document;
mod entry;
mod file;
#[doc(hidden)]
pub mod group;
mod service;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

pub(crate) use self::file::{Contents, Server, Servers, parse, parse_further, parse_table};
pub use self::service::Service;

use crate::dialect::{Condition, Wire};
use crate::event::EventName;
use crate::hook::{DEFAULT_PRIORITY, Kind, OnFailure, Subscription};
use crate::native::command::CommandLine;
use crate::trust::tree_digest::is_script;
use hookbox_shell::{Run, Use, base_name, is_interpreter, use_of};
use hookbox_system::text;

/// The variables for the directory of the project, in Claude Code's shape.
pub(crate) const PROJECT_VARIABLES: &[&str] = &["CLAUDE_PROJECT_DIR"];
/// Those for the directory of a plugin: Claude Code's, and the one that several agents share.
pub(crate) const PLUGIN_VARIABLES: &[&str] = &["CLAUDE_PLUGIN_ROOT", "PLUGIN_ROOT"];

/// The variable for the directory in which a plugin keeps its data, outside of what its digest covers.
pub(crate) const PLUGIN_DATA_VARIABLE: &str = "CLAUDE_PLUGIN_DATA";

/// The origins of the hooks of a root, in the order of ties.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// A file in a hooks directory.
    File,
    /// `hooks.json`.
    HooksJson,
    /// A plugin's manifest for Claude Code, `.claude-plugin/plugin.json`, or a file that it names.
    Manifest,
    /// `mcp.json`.
    McpJson,
    /// A table of `hookbox.toml`.
    Settings,
    /// A file of a [`HookSource`](super::source::HookSource).
    Outside,
}

impl Source {
    /// Returns the file's name; a hooks directory has none.
    pub(crate) fn file(self) -> &'static str {
        match self {
            Self::File | Self::Outside => "",
            Self::HooksJson => "hooks.json",
            Self::Manifest => "plugin.json",
            Self::McpJson => "mcp.json",
            Self::Settings => super::SETTINGS_FILE,
        }
    }

    /// Returns true for the name of a position. An entry cannot give itself such a name.
    pub(crate) fn is_position(name: &str) -> bool {
        Self::of_name(name) != Self::File
    }

    /// Returns the origin of a hook with this name, such as `hooks.json#PreToolUse[0]`.
    pub(crate) fn of_name(name: &str) -> Self {
        match name.split_once('#') {
            Some(("hooks.json", _)) => Self::HooksJson,
            Some(("plugin.json", _)) => Self::Manifest,
            Some(("mcp.json", _)) => Self::McpJson,
            Some((super::SETTINGS_FILE, _)) => Self::Settings,
            _ => Self::File,
        }
    }
}

/// The action of an entry.
#[derive(Clone, Debug)]
pub enum Handler {
    /// A command with the protocol of a native hook.
    Command(CommandLine),
    /// A command with the protocol of an agent.
    Wired(Box<WiredCommand>),
    /// A component, with the path in the file.
    Component(PathBuf),
    /// A tool of an MCP server.
    Tool {
        /// The server.
        server: String,
        /// Its tool.
        tool: String,
        /// The line and column that name it.
        spot: String,
    },
    /// An HTTP service.
    Http(Box<Service>),
}

/// A command that speaks the protocol of an agent.
#[derive(Clone, Debug)]
pub struct WiredCommand {
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
    /// The names of the variables for the directory of the plugin.
    pub plugin_variables: &'static [&'static str],
    /// The directory of the plugin; `None` for that of a plugin of hookbox.
    pub plugin: Option<PathBuf>,
    /// Further variables.
    pub variables: Vec<(&'static str, PathBuf)>,
}

impl WiredCommand {
    /// Makes the command of a line in Claude Code's shape, in the project, without variables of its own.
    pub fn new(line: CommandLine, wire: Arc<dyn Wire>) -> Self {
        Self {
            line,
            wire,
            directory: None,
            cwd: None,
            env: Vec::new(),
            user_env: Vec::new(),
            project_env: Vec::new(),
            project_variables: PROJECT_VARIABLES,
            plugin_variables: PLUGIN_VARIABLES,
            plugin: None,
            variables: Vec::new(),
        }
    }

    /// Returns true if the line uses a variable that nothing of its own sets.
    pub(crate) fn names(&self, variable: &str) -> bool {
        let set = self.env.iter().chain(&self.user_env).chain(&self.project_env);
        let words = self.line.words();
        let is_used = |word: &String| {
            [format!("${variable}"), format!("${{{variable}}}")].iter().any(|it| word.contains(it.as_str()))
        };
        words.iter().any(is_used) && set.into_iter().all(|(name, _)| name != variable)
    }
}

/// The file of a [`HookSource`](super::source::HookSource) that declares hooks.
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

/// An entry.
#[derive(Clone, Debug)]
pub struct Declared {
    /// Its origin.
    pub source: Source,
    /// Its index among the entries of its file.
    pub at: usize,
    /// Its position, such as `PreToolUse[0]`.
    pub label: String,
    /// Its line and column, such as `line 3, column 5`.
    pub spot: String,
    /// The name that it gives itself.
    pub name: Option<String>,
    /// The event; `None` if the file names an unknown one.
    pub event: Option<EventName>,
    /// The tools that it is for; empty for all.
    pub tools: Vec<String>,
    /// Its place in the chain; the default if `None`.
    pub priority: Option<i32>,
    /// True if the hook only observes.
    pub observe: bool,
    /// True if nothing waits for its end; it then only observes.
    pub background: bool,
    /// The matcher of Claude Code's shape or of a source, as it was written.
    pub matcher: Option<String>,
    /// The tool calls for which a command runs; all of its event and matcher if `None`.
    pub condition: Option<Condition>,
    /// The failure policy, if the entry has one.
    pub on_failure: Option<OnFailure>,
    /// The time limit, if the entry has one.
    pub timeout: Option<Duration>,
    /// The kind of the hook.
    pub kind: Kind,
    /// The action; or the reason why it cannot run, in words that read after the file's path.
    pub handler: Result<Handler, String>,
    /// True if a problem of its event or its file already gives that reason.
    pub is_reported: bool,
    /// The text of its entry.
    pub text: String,
    /// The server of its tool.
    pub(crate) server: Option<Server>,
    /// The service that is asked before its component.
    pub(crate) service: Option<Service>,
    /// The file of a source that declares it.
    pub outside: Option<Arc<SourceFile>>,
    /// True if the configuration of its source switches it off.
    pub is_disabled: bool,
}

impl Declared {
    /// Makes the entry at this position of the file of a source. It has no handler yet.
    pub fn new(label: String, event: Option<EventName>) -> Self {
        Self {
            source: Source::Outside,
            at: 0,
            label,
            spot: String::new(),
            name: None,
            event,
            tools: Vec::new(),
            priority: None,
            observe: false,
            background: false,
            matcher: None,
            condition: None,
            on_failure: None,
            timeout: None,
            kind: Kind::Command,
            handler: Err(String::new()),
            is_reported: false,
            text: String::new(),
            server: None,
            service: None,
            outside: None,
            is_disabled: false,
        }
    }

    /// Makes the entry number `at` of a file in a root.
    fn of_root(source: Source, at: usize, label: String, event: Option<EventName>) -> Self {
        let kind = if source == Source::McpJson { Kind::Tool } else { Kind::Command };
        Self { source, at, kind, ..Self::new(label, event) }
    }

    /// Returns the name in its file: its own, or its position.
    pub(crate) fn file_name(&self) -> String {
        self.name.clone().unwrap_or_else(|| self.position_name())
    }

    /// Returns the name that no other entry of the directory has: `hooks.json#PreToolUse[0]`.
    pub(crate) fn position_name(&self) -> String {
        format!("{}#{}", self.file(), self.label)
    }

    /// Returns the file's name in names and messages.
    pub(crate) fn file(&self) -> &str {
        self.outside.as_ref().map_or(self.source.file(), |outside| &outside.shown)
    }

    /// Finds the server of its tool among those of its root.
    pub(crate) fn find_server(&mut self, servers: &Servers, mcp_json: &Path) {
        let Ok(Handler::Tool { server, spot, .. }) = &self.handler else { return };
        match servers.get(server) {
            Some(Ok(found)) => self.server = Some(found.clone()),
            Some(Err(_)) => {
                self.handler = Err(format!("its server {:?} cannot be used", text::escape(server, 80)));
                self.is_reported = true;
            }
            None => {
                let file = text::shown_path(mcp_json);
                let nearest = text::nearest(server, servers.keys().map(String::as_str));
                let (shown, meant) = (text::escape(server, 80), text::or_meant(nearest));
                self.handler = Err(format!("{spot}: {file} has no server {shown:?}{meant}"));
            }
        }
    }

    /// Returns the command line, the tool or the address, for people; not escaped.
    pub fn runs(&self) -> Option<String> {
        if let Some(service) = &self.service {
            return Some(service.to_string());
        }
        match (self.handler.as_ref().ok()?, &self.server) {
            (Handler::Command(line), _) => Some(line.to_string()),
            (Handler::Wired(command), _) => Some(command.line.to_string()),
            (Handler::Http(service), _) => Some(service.to_string()),
            (Handler::Tool { server, tool, .. }, Some(found)) => {
                Some(format!("{tool} of the server {server}: {}", found.runs()))
            }
            _ => None,
        }
    }

    /// Returns the variable with the plugin in `base` that its line would have to quote.
    pub(crate) fn unquoted(&self, base: &Path) -> Option<&'static str> {
        let Ok(Handler::Wired(command)) = &self.handler else { return None };
        let values: Vec<(&'static str, &Path)> =
            command.plugin_variables.iter().map(|name| (*name, base)).collect();
        command.line.unquoted(&values)
    }

    /// Returns its declaration, key by key, for a digest.
    pub(crate) fn fields(&self) -> BTreeMap<String, String> {
        let server = self.server.as_ref().map(|it| ("server", it.text.clone()));
        let own = [("entry", self.position_name()), ("text", self.text.clone())];
        own.into_iter().chain(server).map(|(key, value)| (key.to_owned(), value)).collect()
    }

    /// Returns the texts that may name files of the repository: the command line, and the variables that the entry sets.
    pub fn words(&self) -> Vec<String> {
        match (&self.handler, &self.server) {
            (Ok(Handler::Command(line)), _) => line.words(),
            (Ok(Handler::Wired(command)), _) => {
                let mut words = command.line.words();
                // Its words are relative to that directory.
                words.extend(command.cwd.iter().map(|cwd| format!("cd {}", text::shell_word(cwd))));
                let set = command.env.iter().chain(&command.project_env);
                words.extend(set.map(|(_, value)| value.clone()));
                words
            }
            (Ok(Handler::Tool { .. }), Some(server)) => server.words(),
            _ => Vec::new(),
        }
    }

    /// Returns its subscription.
    pub(crate) fn subscriptions(&self) -> Vec<Subscription> {
        let subscription = |event| Subscription {
            event,
            tools: self.tools.clone(),
            priority: self.priority.unwrap_or(DEFAULT_PRIORITY),
            observe: self.observe || self.background,
        };
        self.event.clone().map(subscription).into_iter().collect()
    }
}

/// The value of the variables with the plugin, by which its paths in a line are known.
const ROOT: &str = "/.hookbox-plugin-root";

/// A file of a plugin that a command runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginFile {
    /// The path in the plugin, as the command writes it: `..` may lead out.
    pub path: PathBuf,
    /// True if the command starts it as a program, which needs an execute bit.
    pub is_program: bool,
}

impl Declared {
    /// Returns the files of its plugin that its command runs, as far as its text shows them. Paths with variables or
    /// patterns are left out, and so are files that a command only reads, writes or tests.
    pub(crate) fn plugin_files(&self) -> Vec<PluginFile> {
        match &self.handler {
            Ok(Handler::Command(line)) => plugin_files(line, true),
            Ok(Handler::Wired(command)) => plugin_files(&command.line, false),
            _ => Vec::new(),
        }
    }
}

/// Returns the files of a plugin that this command runs. If it runs in the plugin, relative paths are paths there.
fn plugin_files(line: &CommandLine, runs_in_plugin: bool) -> Vec<PluginFile> {
    let root = Path::new(ROOT);
    let values: Vec<(&str, &Path)> = PLUGIN_VARIABLES.iter().map(|name| (*name, root)).collect();
    // Agents put the directory in before a shell reads the line, also between single quotes.
    let put = |line: String, name: &&str| line.replace(&format!("${{{name}}}"), ROOT);
    let line = PLUGIN_VARIABLES.iter().fold(line.to_string(), put);
    let reading = CommandLine::Shell(line).read(&values);
    // After `cd`, a relative path is one in another directory.
    let moves = |run: &Run| matches!(run.program(), Some("cd" | "chdir" | "pushd"));
    let runs_in_plugin = runs_in_plugin && !reading.runs.iter().any(moves);
    let mut files = Files { found: Vec::new(), runs_in_plugin };
    reading.runs.iter().for_each(|run| files.command(run));
    files.found
}

/// The files that were found so far.
struct Files {
    found: Vec<PluginFile>,
    /// True if relative paths are paths in the plugin.
    runs_in_plugin: bool,
}

impl Files {
    /// Reads a command. A script in its words has commands of its own.
    fn command(&mut self, run: &Run) {
        // A word that is not known is no path.
        let words: Vec<&str> =
            run.words.iter().map(|it| if it.is_plain() { it.text.as_str() } else { "" }).collect();
        let Some((program, args)) = words.split_first() else { return };
        if let Some(path) = self.path(program, false) {
            // They run a script by its name, as an interpreter does.
            let is_run_by = |it: &String| matches!(base_name(it), "uv" | "bun" | "deno" | "npx" | "poetry");
            self.found.push(PluginFile { path, is_program: !run.via.iter().any(is_run_by) });
        }
        let is_shell = use_of(&words) == Use::Shell;
        if !is_shell && !is_interpreter(base_name(program)) {
            return;
        }
        let is_code = |word: &&str| word.starts_with('-') && !word.starts_with("--") && word.contains('c');
        if is_shell && args.iter().any(is_code) {
            return;
        }
        let operand = args.iter().position(|word| !word.starts_with('-'));
        for (at, word) in args.iter().enumerate() {
            let path = self.path(word, Some(at) == operand);
            // A further script is one that the first one runs.
            let runs = |path: &PathBuf| Some(at) == operand || word.starts_with(ROOT) && is_script(path);
            self.found.extend(path.filter(runs).map(|path| PluginFile { path, is_program: false }));
        }
    }

    /// Returns the path in the plugin that a word means; `None` if it means none, or is not known before it runs. The name
    /// of a script alone is a path only as the operand of an interpreter. A relative path with `..` may be one of the
    /// repository.
    fn path(&self, word: &str, is_operand: bool) -> Option<PathBuf> {
        let path = match word.strip_prefix(ROOT) {
            Some(path) => path.strip_prefix('/')?,
            None => {
                let is_path = word.contains('/') || is_operand && is_script(Path::new(word));
                let is_inside = !word.starts_with(['/', '~']) && !word.split('/').any(|part| part == "..");
                Some(word).filter(|_| self.runs_in_plugin && is_path && is_inside)?
            }
        };
        let path = path.trim_start_matches('/');
        (!path.is_empty() && !path.contains(['$', '`', '*', '?', '[', '{'])).then(|| path.into())
    }
}
