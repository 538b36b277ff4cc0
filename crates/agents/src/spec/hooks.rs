//! The command hooks of an agent, its names of tools, and the answers that it reads.

use serde_json::{Map, Value};

use crate::agent::answer::{Plan, decision, to_plugin};
use crate::agent::effect::{self, Effect};
use crate::agent::event::{AgentEvent, EventKind};
use crate::agent::output::{self, ChangedOutput, as_reason};
use crate::agent_hooks::rule::Rule;
use crate::dialect::claude::{self, MatcherError, Session};
use crate::event::{Event, ToolKind};
use crate::hook::HookError;
use crate::outcome::Outcome;

/// An agent's names of tools and of the fields of their inputs, in relation to Claude Code's.
#[derive(Debug)]
pub(crate) struct ToolNames {
    /// Claude Code's names of tools with the agent's own, such as `Bash=run_shell_command`; `Read` is both. They have spaces
    /// between them. The names of MCP tools are not among them.
    pub(crate) names: &'static str,
    /// The hooks that know Claude Code's names of the tools.
    pub(crate) claude_names: ClaudeNames,
    /// Fields of a tool's input: Claude Code's name of the tool, its name of the field, and the agent's.
    pub(crate) fields: &'static [(&'static str, &'static str, &'static str)],
    /// The name of an MCP tool with `SERVER` and `TOOL`. `None` if the name stays as the caller gave it.
    pub(crate) mcp_name: Option<&'static str>,
    /// The names of an MCP tool that a matcher knows.
    pub(crate) mcp_aliases: &'static [&'static str],
    /// The tool by which the model writes to a program that runs, if its calls reach no hook.
    pub(crate) unseen_input: Option<&'static str>,
    /// Returns the output of a call of a batch that failed, for an agent whose event after a call means success. `None` if
    /// the call worked, or if the agent has no event of a batch.
    pub(crate) failed_output: fn(&Map<String, Value>) -> Option<Value>,
    /// Returns the further names by which a matcher may mean one of the agent's tools.
    pub(crate) aliases: fn(&str) -> Vec<String>,
    /// Returns the exit status in the output of a shell tool, if the payload has no field for it.
    pub(crate) exit_status: fn(&Value) -> Option<i32>,
}

impl ToolNames {
    /// Names like those of Codex, which has few tools.
    pub(crate) const BASE: Self = Self {
        names: "",
        claude_names: ClaudeNames::Never,
        fields: &[],
        mcp_name: None,
        mcp_aliases: &["mcp__SERVER__TOOL"],
        unseen_input: None,
        failed_output: |_| None,
        aliases: |_| Vec::new(),
        exit_status: |_| None,
    };
}

/// The hooks of an agent that know Claude Code's names of the tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClaudeNames {
    /// None.
    Never,
    /// The matchers of all, but not the payloads.
    InMatchers,
    /// Those at an event in PascalCase.
    AtPascalEvents,
    /// All.
    Always,
}

/// The command hooks of an agent, as hookbox runs them.
#[derive(Debug)]
pub(crate) struct CommandHooks {
    /// Returns the input of a hook at the agent's event of this name.
    pub(crate) encode: fn(&str, &Event, &Session) -> Option<Value>,
    /// Returns the outcome of a hook that has ended.
    pub(crate) outcome: fn(&Event, Ended<'_>) -> Result<Outcome, HookError>,
    /// Reads a matcher at the agent's event of this name.
    pub(crate) matcher: fn(&str, &str) -> Result<Rule, MatcherError>,
    /// Returns the word that a matcher is compared with at an event without a tool. `None` if the matcher
    /// does not count there.
    pub(crate) subject: fn(&Event) -> Option<String>,
    /// True if the expressions of matchers are JavaScript's.
    pub(crate) has_javascript_matchers: bool,
    /// Events that the agent has only for some kinds of tools.
    pub(crate) tool_events: &'static [ToolEvent],
    /// True if the agent has an event of its own for a failed call, so that the event after a call means
    /// success.
    pub(crate) has_failure_event: bool,
    /// True if hooks at the agent's other events, whose data hookbox passes on as it is, can be run.
    pub(crate) has_other_events: bool,
    /// True if a call of several files is shown as several calls of one file.
    pub(crate) sees_single_files: bool,
    /// True if a changed input or output has to be put back into the words of the tool that was called.
    /// Claude Code's dialect does that itself.
    pub(crate) restores_changes: bool,
    /// True if a changed input is put over the original one.
    pub(crate) merges_input: bool,
    /// Fields that the agent sends if it knows them. They come from the payload of another agent.
    pub(crate) optional_fields: &'static [&'static str],
    /// The fields that mark an output as the agent's own.
    pub(crate) output_fields: &'static [&'static str],
    /// The fields that contain the text of a changed output.
    pub(crate) output_text_fields: &'static [&'static str],
    /// The variable with the id of the session.
    pub(crate) session_variable: Option<&'static str>,
    /// The variable with the working directory.
    pub(crate) cwd_variable: Option<&'static str>,
    /// The variables with the directory of the project, the agent's own first.
    pub(crate) project_variables: &'static [&'static str],
    /// The variables with the directory of a plugin.
    pub(crate) plugin_variables: &'static [&'static str],
    /// The variable with a file in which a hook writes variables for the session's later commands.
    pub(crate) env_file_variable: Option<&'static str>,
    /// The variable with the directory of the configuration file.
    pub(crate) directory_variable: Option<&'static str>,
    /// True if the user's hooks run in the directory of their configuration file.
    pub(crate) runs_beside_file: bool,
    /// The manifest of a plugin.
    pub(crate) manifest: Option<&'static str>,
}

impl CommandHooks {
    /// Hooks whose input and answers are those of Claude Code.
    pub(crate) const BASE: Self = Self {
        encode: |_, event, session| claude::encode(event, session),
        outcome: |event, ended| claude::outcome_of(event, ended.exit_code, ended.stdout, ended.stderr),
        matcher: |_, pattern| Rule::names(pattern),
        subject: crate::agent_hooks::rule::subject,
        has_javascript_matchers: true,
        tool_events: &[],
        has_failure_event: false,
        has_other_events: false,
        sees_single_files: true,
        restores_changes: true,
        merges_input: false,
        optional_fields: &[],
        output_fields: &[],
        output_text_fields: &[],
        session_variable: None,
        cwd_variable: None,
        project_variables: &["CLAUDE_PROJECT_DIR"],
        plugin_variables: &["CLAUDE_PLUGIN_ROOT"],
        env_file_variable: None,
        directory_variable: None,
        runs_beside_file: false,
        manifest: None,
    };
}

/// An event that an agent has only for some kinds of tools.
#[derive(Debug)]
pub(crate) struct ToolEvent {
    /// The agent's name.
    pub(crate) name: &'static str,
    /// The event of hookbox.
    pub(crate) event: EventKind,
    /// The kinds of tools. At an event of the shell alone, a matcher is compared with the command line.
    pub(crate) kinds: &'static [ToolKind],
}

/// A command hook that has ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ended<'a> {
    pub(crate) exit_code: i32,
    pub(crate) stdout: &'a [u8],
    pub(crate) stderr: &'a str,
    /// True if the hook fails without an answer at an event that it can block.
    pub(crate) must_answer: bool,
}

/// The fields of an object.
type Fields = Map<String, Value>;

/// The answers that an agent reads from a hook command.
#[derive(Debug)]
pub(crate) struct Answers {
    /// Returns the fields of the answer that follows a plan without a message.
    pub(crate) write: fn(&AgentEvent, &Plan) -> Fields,
    /// Returns the fields of the answer with which the agent goes on with a message.
    pub(crate) follow_up: fn(&AgentEvent, &str) -> Fields,
    /// The output of a hook command that has nothing to answer.
    pub(crate) empty: &'static str,
    /// True if the agent shows its user a `systemMessage`.
    pub(crate) shows_warnings: bool,
    /// The place of a code that only the user may read, beside the block of a tool call.
    pub(crate) code: CodePlace,
    /// True if the agent shows its user the changed input with a question.
    pub(crate) asks_with_changed_input: bool,
    /// Returns true if the agent runs the tool with exactly the second input in place of the first.
    pub(crate) takes_input: fn(&Fields, &Fields) -> bool,
    /// Returns the form in which a changed output of a tool reaches the model: of the tool of this name, the
    /// output as it was, and as it is now.
    pub(crate) changed_output: fn(&str, &Value, &Value) -> ChangedOutput,
    /// True if the reason of a stop after a batch of calls takes the place of what failed calls said. Otherwise a stop
    /// ends the turn.
    pub(crate) stop_replaces_failed: bool,
    /// The longest text for the model, in characters; of a longer one the agent shows a part, or nothing.
    pub(crate) max_context: Option<usize>,
    /// True if exit code 2 blocks only with words on standard error.
    pub(crate) exit_2_needs_words: bool,
    /// True if it reads no JSON: exit code 2 is the only block, and standard output is text for the model.
    pub(crate) are_exit_codes: bool,
    /// True if every exit code but 0 blocks a tool call.
    pub(crate) failure_blocks: bool,
    /// Returns the effect of an answer before a tool call: of the whole answer, and of its
    /// `hookSpecificOutput` for this event. `None` if nothing in it is a block or a question.
    pub(crate) effect: fn(&AgentEvent, &Fields, Option<&Fields>) -> Option<Effect>,
}

/// The place where an agent shows its user a code, and its model does not read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CodePlace {
    /// None that is known.
    Nowhere,
    /// The field `systemMessage` of the answer.
    SystemMessage,
    /// A line of standard error.
    StandardError,
}

impl Answers {
    /// Answers of which nothing is known to differ from Claude Code's.
    pub(crate) const BASE: Self = Self {
        write: |_, _| Fields::new(),
        follow_up: |_, message| decision("block", message),
        empty: "",
        shows_warnings: true,
        code: CodePlace::Nowhere,
        asks_with_changed_input: false,
        takes_input: |_, _| true,
        changed_output: as_reason,
        stop_replaces_failed: false,
        max_context: None,
        exit_2_needs_words: false,
        are_exit_codes: false,
        failure_blocks: false,
        effect: |_, _, _| None,
    };

    /// Answers to a plugin of ours, which takes an empty one for a failure.
    pub(crate) const TO_PLUGIN: Self = Self {
        write: to_plugin,
        empty: "{}\n",
        shows_warnings: false,
        changed_output: |_, _, new| ChangedOutput::Whole(output::text(new).into()),
        // The plugin takes nothing beside the two fields; an answer with another field is a failure.
        effect: |_, answer, _| effect::decision(answer, &["deny"]).filter(|_| answer.len() == 2),
        ..Self::BASE
    };
}
