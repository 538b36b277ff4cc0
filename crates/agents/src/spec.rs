//! The table of an agent: what hookbox knows of it, as data. Functions are only for what data cannot say.

use std::time::Duration;

use hookbox::event::{Event, EventData, EventName, ToolKind};
use hookbox::hook::HookError;
use hookbox::internal::dialect::claude::{MatcherError, Session};
use hookbox::outcome::Outcome;
use serde_json::{Map, Value};

use crate::agent::output::Changed;
use crate::agent::plan::Plan;
use crate::agent::{AgentEvent, Effect, Form, HookPlace, Setting, Unit};
use crate::agent_hooks::Rule;

/// The table of an agent.
pub(crate) struct Spec {
    /// The name on a command line, such as `claude`.
    pub(crate) name: &'static str,
    /// The name in a sentence, such as `Claude Code`.
    pub(crate) title: &'static str,
    /// The variables that the agent sets for the commands that it runs, and that nobody else sets.
    pub(crate) signs: &'static [&'static str],
    /// The names of its program.
    pub(crate) programs: &'static [&'static str],
    /// The npm packages, or directories, that its program is a script of.
    pub(crate) packages: &'static [&'static str],

    /// Its events that are events of hookbox, in the order of a session.
    pub(crate) events: &'static [AgentEvent],
    /// Its names of events that hookbox does not have, or whose data hookbox does not know.
    pub(crate) other_events: &'static [&'static str],

    /// Its files and directories that decide about its hooks. Of the files with hooks at one level, `hookbox install`
    /// writes to the first. Files that an organisation sets, and those of plugins and extensions, are not among them.
    pub(crate) places: &'static [HookPlace],
    /// The variable that moves its files at home, with the directory beneath the home directory that the value replaces;
    /// an empty one is the home directory itself.
    pub(crate) moved_by: Option<(&'static str, &'static str)>,
    /// True if it takes `~` in that variable for the home directory.
    pub(crate) reads_tilde: bool,
    /// True if it reads comments in its configuration, `//` and `/* */`; else it runs no hook of a file with one.
    pub(crate) takes_comments: bool,
    /// The settings that leave hooks out, in the JSON that holds them.
    pub(crate) switches: &'static [Setting],
    /// The keys of `hooks` that are not events: settings of former versions, which it passes over.
    pub(crate) not_events: &'static [&'static str],
    /// The form of an entry in its configuration.
    pub(crate) form: Form,
    /// The unit of a time limit in its configuration.
    pub(crate) unit: Unit,
    /// The time for which it waits for a hook without a time limit, at most events.
    pub(crate) usual_wait: Duration,
    /// The time for which it waits at the end of a session.
    pub(crate) wait_at_end: WaitAtEnd,

    /// True if it tells its hook command the directory of the project in the first of `project_variables`. Any other one
    /// sends the session's own directory as `cwd`.
    pub(crate) tells_project: bool,
    /// The variables in which its hooks may look for the directory of the project, its own first.
    pub(crate) project_variables: &'static [&'static str],

    /// As a server of this agent's hook command.
    pub(crate) serve: Serve,
    /// The hooks that are written for it; `None` if it runs no commands.
    pub(crate) hooks: Option<Hooks>,
}

/// The time for which an agent waits at the end of a session.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WaitAtEnd {
    /// As at any other event.
    AsUsual,
    /// Not less than this, whatever the configuration says.
    AtLeast(Duration),
    /// Not more than `most`, whatever the configuration says.
    AtMost {
        /// The longest time.
        most: Duration,
        /// The time for a hook without a time limit.
        usual: Duration,
    },
}

/// What hookbox has to know of an agent to be its hook command.
pub(crate) struct Serve {
    /// The output of a hook that has nothing to say. Some agents take an empty one for a hook that failed.
    pub(crate) silence: &'static str,
    /// Writes the answer.
    pub(crate) write: fn(&AgentEvent, &Plan) -> Map<String, Value>,
    /// Returns the effect of an answer before a tool call, `None` if it does not block or ask. The second map is the
    /// `hookSpecificOutput` for this event.
    pub(crate) effect: fn(&AgentEvent, &Map<String, Value>, Option<&Map<String, Value>>) -> Option<Effect>,
    /// True if any exit code but 0 blocks a tool call, not only 2.
    pub(crate) any_exit_code_blocks: bool,
    /// True if exit code 2 blocks only with words on standard error.
    pub(crate) exit_code_needs_words: bool,
    /// Returns true if the agent runs a tool with the new input in the place of the old one.
    pub(crate) takes_input: fn(was: &Map<String, Value>, new: &Map<String, Value>) -> bool,
    /// True if it shows the user a changed input together with a question.
    pub(crate) shows_input_with_question: bool,
    /// Returns a changed output of a tool in the form that the agent takes.
    pub(crate) changed_output: fn(tool: &str, was: &Value, new: &Value) -> Changed,
    /// How many characters it takes as text for the model; it throws away a longer text as a whole.
    pub(crate) context_limit: Option<usize>,
    /// True if it shows its user the `systemMessage` of an answer.
    pub(crate) shows_warnings: bool,
    /// True if it counts itself how often hooks made it go on.
    pub(crate) counts_follow_ups: bool,
    /// Returns true if a tool worked, as far as its output and exit status tell.
    pub(crate) succeeded: fn(output: &Value, exit_status: Option<i32>) -> Option<bool>,
    /// Its name of its shell tool in the payloads of an event.
    pub(crate) shell_tool: fn(&AgentEvent) -> &'static str,
    /// Writes the payload before its shell tool runs a line.
    pub(crate) shell_call: fn(&SampleCall<'_>) -> Value,
}

/// The parts of a sample payload.
pub(crate) struct SampleCall<'a> {
    pub(crate) event: &'a AgentEvent,
    pub(crate) tool: &'static str,
    pub(crate) line: &'a str,
    pub(crate) cwd: &'a str,
    pub(crate) session: &'a str,
}

/// What hookbox has to know of an agent to run the hooks that are written for it.
pub(crate) struct Hooks {
    /// Writes the payload for the agent's event of this name.
    pub(crate) encode: fn(name: &str, event: &Event, session: &Session) -> Option<Map<String, Value>>,
    /// Reads the exit code and the output. The last argument is true if the hook must answer.
    pub(crate) outcome: fn(&Event, i32, &[u8], &str, bool) -> Result<Outcome, HookError>,
    /// The variables that differ from event to event.
    pub(crate) variables: fn(&Event) -> Vec<(&'static str, String)>,
    /// Returns the event of hookbox that the agent's event of this name is, if not by `Spec::events`.
    pub(crate) event_name: Option<fn(&str) -> Option<EventName>>,
    /// Returns true if an event is the agent's event of this name, if not by `Spec::events`.
    pub(crate) is_event: Option<fn(&str, &Event) -> bool>,
    /// Further events, each of one kind of tools.
    pub(crate) tool_events: &'static [(&'static str, EventName, &'static [ToolKind])],
    /// True if a tool call that failed is another event than one that worked.
    pub(crate) has_event_of_failure: bool,
    /// Reads a matcher, at the agent's event of this name.
    pub(crate) matcher: fn(name: &str, pattern: &str) -> Result<Rule, MatcherError>,
    /// Returns the word that a matcher is compared with at an event without a tool.
    pub(crate) subject: fn(&Event) -> Option<String>,
    /// Further names by which a matcher may mean one of the agent's tools.
    pub(crate) aliases: fn(&str) -> &'static [&'static str],
    /// True if a matcher is an expression of JavaScript.
    pub(crate) is_javascript: bool,
    /// Its tools: Claude Code's name of a tool, and its own. Of several own names the first is the usual one.
    pub(crate) tools: &'static [(&'static str, &'static str)],
    /// Returns true if its hooks know Claude Code's names of tools at the event of this name.
    pub(crate) knows_claudes_tools: fn(&str) -> bool,
    /// The fields of its tools: Claude Code's name of the tool, Claude Code's field, its own field.
    pub(crate) fields: &'static [(&'static str, &'static str, &'static str)],
    /// The names of a tool of an MCP server.
    pub(crate) mcp: McpNames,
    /// True if its hooks see a call of several files, such as a patch, as one call.
    pub(crate) sees_patches: bool,
    /// True if it puts the fields of a changed input over the old ones.
    pub(crate) merges_input: bool,
    /// The fields by which an output is known to be in its own form.
    pub(crate) output_fields: &'static [&'static str],

    /// The shell that runs a command line is `/bin/sh` unless the entry says bash.
    pub(crate) runs_sh: bool,
    /// True if an entry may have `args`, so that its command runs without a shell.
    pub(crate) takes_args: bool,
    /// True if the user's hooks run in the directory of their file.
    pub(crate) runs_beside_file: bool,
    /// The variable that holds the directory of the file.
    pub(crate) file_variable: Option<&'static str>,
    /// The manifest of a plugin, or extension.
    pub(crate) manifest: Option<&'static str>,
    /// The variables that hold the directory of the plugin.
    pub(crate) plugin_variables: &'static [&'static str],
    /// True if its settings set variables for its hooks (`env`) and switch plugins on and off (`enabledPlugins`).
    pub(crate) has_env_and_plugins: bool,
}

/// The names of a tool of an MCP server, in the words of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum McpNames {
    /// `mcp__SERVER__TOOL`.
    DoubleUnderscore,
    /// `mcp_SERVER_TOOL`.
    SingleUnderscore,
    /// `MCP:TOOL`.
    Colon,
    /// `SERVER-TOOL`.
    Dash,
}

/// An event with a call that failed.
pub(crate) fn worked(data: &EventData) -> bool {
    !matches!(data, EventData::AfterToolCall(result) if result.success == Some(false))
}
