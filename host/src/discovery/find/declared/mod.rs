//! Reads the hooks that files declare: `hooks.json` (Base Coat's pattern B, and the shape of Claude Code's settings) and
//! the tools of `mcp.json` (pattern A).
//!
//! Each fault has its line and column, and the rest of the file counts. An entry that cannot run stays an entry, because
//! it may be a guard.

mod claude_groups;
#[doc(hidden)]
pub mod document;
mod entry;
mod file;
mod guard;
mod matcher;
mod plugin_file;
#[doc(hidden)]
pub mod reader;
mod servers;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

pub(crate) use self::file::{Contents, MAX_FILE, parse, read};
pub use self::plugin_file::PluginFile;
pub(crate) use self::servers::{Server, Servers};

use super::source_hook::{SourceCommand, SourceFile, SourceHook};
use crate::dialect::Condition;
use crate::dialect::claude::Matcher;
use crate::event::EventName;
use crate::hook::{DEFAULT_PRIORITY, Kind, OnFailure, Subscription};
use crate::native::command::CommandLine;
use crate::text;

/// The variables with the project and the plugin of a command of Claude Code's shape.
pub(crate) const PROJECT_VARIABLE: &str = "CLAUDE_PROJECT_DIR";
pub(crate) const PLUGIN_VARIABLE: &str = "CLAUDE_PLUGIN_ROOT";

/// The origins of the hooks of a root, in the order of ties.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Source {
    /// A file in a hooks directory.
    File,
    /// `hooks.json`.
    HooksJson,
    /// `mcp.json`.
    McpJson,
    /// A file of a [`HookSource`](super::source::HookSource).
    Outside,
}

impl Source {
    /// Returns the file's name; a hooks directory has none.
    pub(crate) fn file(self) -> &'static str {
        match self {
            Self::File | Self::Outside => "",
            Self::HooksJson => "hooks.json",
            Self::McpJson => "mcp.json",
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
            Some(("mcp.json", _)) => Self::McpJson,
            _ => Self::File,
        }
    }
}

/// The action of an entry.
#[derive(Clone, Debug)]
pub(crate) enum Handler {
    /// A command with the protocol of a native hook.
    Command(CommandLine),
    /// A command with the protocol of Claude Code.
    Claude(ClaudeCommand),
    /// A command of a source.
    Outside(Box<SourceCommand>),
    /// A component, with the path in the file.
    Component(PathBuf),
    /// A tool of an MCP server.
    Tool {
        server: String,
        tool: String,
        /// The line and column that name it.
        spot: String,
    },
}

/// A command of Claude Code's shape.
#[derive(Clone, Debug)]
pub(crate) struct ClaudeCommand {
    pub(crate) line: CommandLine,
    /// Claude Code's name of the event, if several of its events are one event here.
    pub(crate) name: Option<String>,
    /// The tools, sources or reasons that it is for; `None` means all.
    pub(crate) matcher: Option<Matcher>,
}

/// An entry.
#[derive(Clone, Debug)]
pub(crate) struct Declared {
    pub(crate) source: Source,
    /// Its index among the entries of its file.
    pub(crate) at: usize,
    /// Its position, such as `PreToolUse[0]`.
    pub(crate) label: String,
    /// Its line and column, such as `line 3, column 5`.
    pub(crate) spot: String,
    /// The name that it gives itself.
    pub(crate) name: Option<String>,
    /// The event; `None` if the file names an unknown one.
    pub(crate) event: Option<EventName>,
    pub(crate) tools: Vec<String>,
    pub(crate) priority: Option<i32>,
    pub(crate) observe: bool,
    /// True if nothing waits for its end; it then only observes.
    pub(crate) background: bool,
    /// The matcher of Claude Code's shape or of a source, as it was written.
    pub(crate) matcher: Option<String>,
    /// The tool calls for which a command runs; all of its event and matcher if `None`.
    pub(crate) condition: Option<Condition>,
    pub(crate) on_failure: Option<OnFailure>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) kind: Kind,
    /// The action; or the reason why it cannot run, in words that read after the file's path.
    pub(crate) handler: Result<Handler, String>,
    /// True if a problem of its event or its file already gives that reason.
    pub(crate) is_reported: bool,
    /// The text of its entry.
    pub(crate) text: String,
    /// The server of its tool.
    pub(crate) server: Option<Server>,
    /// The file of a source that declares it.
    pub(crate) outside: Option<Arc<SourceFile>>,
    /// True if the configuration of its source switches it off.
    pub(crate) is_disabled: bool,
}

impl Declared {
    fn new(source: Source, at: usize, label: String, event: Option<EventName>) -> Self {
        Self {
            source,
            at,
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
            kind: if source == Source::McpJson { Kind::Tool } else { Kind::Command },
            handler: Err(String::new()),
            is_reported: false,
            text: String::new(),
            server: None,
            outside: None,
            is_disabled: false,
        }
    }

    /// Makes the entry number `at` of a source's file.
    pub(crate) fn of_source(hook: SourceHook, file: &Arc<SourceFile>, at: usize) -> Self {
        Self {
            spot: hook.spot,
            observe: hook.observe,
            background: hook.background,
            matcher: hook.matcher,
            condition: hook.condition,
            on_failure: hook.on_failure,
            timeout: hook.timeout,
            handler: hook.command.map(|command| Handler::Outside(Box::new(command))),
            is_reported: hook.is_reported,
            text: hook.text,
            outside: Some(Arc::clone(file)),
            is_disabled: hook.is_disabled,
            ..Self::new(Source::Outside, at, hook.label, hook.event)
        }
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
                let file = text::escape(&mcp_json.to_string_lossy(), 1024);
                let nearest = text::nearest(server, servers.keys().map(String::as_str));
                let nearest = nearest.map(|it| format!(": the nearest is {:?}", text::escape(it, 80)));
                let (shown, nearest) = (text::escape(server, 80), nearest.unwrap_or_default());
                self.handler = Err(format!("{spot}: {file} has no server {shown:?}{nearest}"));
            }
        }
    }

    /// Returns the command line or the tool, for people; not escaped.
    pub(crate) fn runs(&self) -> Option<String> {
        match (self.handler.as_ref().ok()?, &self.server) {
            (Handler::Command(line) | Handler::Claude(ClaudeCommand { line, .. }), _) => {
                Some(line.to_string())
            }
            (Handler::Outside(command), _) => Some(command.line.to_string()),
            (Handler::Tool { server, tool, .. }, Some(found)) => {
                Some(format!("{tool} of the server {server}: {}", found.runs()))
            }
            _ => None,
        }
    }

    /// Returns its declaration, key by key, for a digest.
    pub(crate) fn fields(&self) -> BTreeMap<String, String> {
        let server = self.server.as_ref().map(|it| ("server", it.text.clone()));
        let own = [("entry", self.position_name()), ("text", self.text.clone())];
        own.into_iter().chain(server).map(|(key, value)| (key.to_owned(), value)).collect()
    }

    /// Returns the texts that may name files of the repository: the command line, and the variables that the entry sets.
    pub(crate) fn words(&self) -> Vec<String> {
        match (&self.handler, &self.server) {
            (Ok(Handler::Command(line) | Handler::Claude(ClaudeCommand { line, .. })), _) => line.words(),
            (Ok(Handler::Outside(command)), _) => {
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
