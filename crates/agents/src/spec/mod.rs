//! The table of one agent: its names, files, events, tools and limits, and functions where data is not enough.
//!
//! Each agent has one [`Spec`] in its own folder. All other modules read the table and name no agent.

pub(crate) mod places;

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value};

pub(crate) use self::places::{HookPlace, Level};

use crate::agent::disable_settings::DisableSetting;
use crate::agent::effect::Effect;
use crate::agent::event::{AgentEvent, EventKind};
use crate::agent::output::{ChangedOutput, as_reason};
use crate::agent::plan::Plan;
use crate::agent::sample_payload::SampleCall;
use crate::agent::surroundings::{MovedBy, Surroundings};
use crate::agent::timeouts::Wait;
use crate::agent_hooks::rule::Rule;
use crate::conditions::Conditions;
use crate::dialect::claude::{MatcherError, Session};
use crate::event::{Event, ToolKind};
use crate::finding::Examination;
use crate::hook::HookError;
use crate::outcome::Outcome;

/// The names that the table of an agent is written with.
pub(crate) mod prelude {
    pub(crate) use super::places::{BOTH, HOME, Holds, LOCAL, Level, PROJECT, at};
    pub(crate) use super::{
        Above, Answers, ClaudeNames, CommandHooks, ConfigFormat, DoctorRules, EntryForm, Groups, ParserRules,
        PluginFile, ProcessSigns, Spec, ToolEvent, ToolNames,
    };
    pub(crate) use crate::agent::disable_settings::{DisableSetting, LeavesOut};
    pub(crate) use crate::agent::effect;
    pub(crate) use crate::agent::event::Fate::{Blocks, Honoured, LeftOut, Told};
    pub(crate) use crate::agent::event::{AgentEvent, EventKind, is_pascal};
    pub(crate) use crate::agent::output::{ChangedOutput, text};
    pub(crate) use crate::agent::sample_payload::{SampleCall, TIME};
    pub(crate) use crate::agent::surroundings::MovedBy;
    pub(crate) use crate::agent::timeouts::{SessionEndWait, Unit, Wait};
    pub(crate) use crate::agent_hooks::rule::{self, Rule};
}

/// Everything in which one agent differs from the others.
#[derive(Debug)]
pub(crate) struct Spec {
    /// The name on a command line, such as `claude`.
    pub(crate) name: &'static str,
    /// The name in a sentence, such as `Claude Code`.
    pub(crate) title: &'static str,
    /// The signs of the agent's processes.
    pub(crate) process: ProcessSigns,
    /// The variable in which it gives its hook command the directory of the project. `None` if its payloads name
    /// the session's own directory.
    pub(crate) project_variable: Option<&'static str>,
    /// The files that decide about its hooks. Of the files of one level, `hookbox install` writes the first.
    pub(crate) places: &'static [HookPlace],
    /// The variable that moves its files in the home directory.
    pub(crate) moved_by: Option<MovedBy>,
    /// Its configuration files.
    pub(crate) config: ConfigFormat,
    /// The time that it waits for a hook.
    pub(crate) wait: Wait,
    /// Its events that are events of hookbox, in the order of a session.
    pub(crate) events: &'static [AgentEvent],
    /// Its names of events that hookbox does not have, or whose data hookbox does not know.
    pub(crate) other_events: &'static [&'static str],
    /// Its names of tools.
    pub(crate) tools: ToolNames,
    /// Returns true if a payload reports that the tool worked, from the output and the exit status. `None` if it
    /// does not report that.
    pub(crate) tool_success: fn(&Value, Option<i32>) -> Option<bool>,
    /// True if it counts itself how often hooks made it go on.
    pub(crate) counts_follow_ups: bool,
    /// The answers that it reads from a hook command.
    pub(crate) answers: Answers,
    /// Returns the payload that it writes before a call of its shell tool.
    pub(crate) sample_call: fn(&SampleCall<'_>) -> Value,
    /// Its command hooks, which hookbox can run. `None` if it has none.
    pub(crate) hooks: Option<CommandHooks>,
    /// The file that it loads in place of commands.
    pub(crate) plugin: Option<PluginFile>,
    /// Steps that remain for the user after an installation at one of these levels. `ROOT` is the project.
    pub(crate) next_steps: &'static [(&'static [Level], &'static str)],
    /// The agent's own conditions, for the doctor.
    pub(crate) doctor: DoctorRules,
}

impl Spec {
    /// Returns the places of a level.
    pub(crate) fn places_at(&self, level: Level) -> impl Iterator<Item = &'static HookPlace> + use<> {
        self.places.iter().filter(move |place| place.levels.contains(&level))
    }

    /// Returns its event of this name, in exactly this case.
    pub(crate) fn event(&self, name: &str) -> Option<&'static AgentEvent> {
        self.events.iter().find(|event| event.name == name)
    }

    /// Returns true if its event of this name is the end of a session.
    pub(crate) fn is_session_end(&self, event: &str) -> bool {
        self.event(event).is_some_and(|it| it.event == EventKind::SessionEnd)
    }

    /// Returns the time that it waits for a hook of this event with this timeout in its entry.
    pub(crate) fn waits(&self, event: &str, configured: Option<Duration>) -> Duration {
        self.wait.of(self.is_session_end(event), configured)
    }

    /// Returns the path of one of its files at a level. `None` without a home directory.
    pub(crate) fn path(&self, around: &Surroundings, level: Level, path: &str) -> Option<PathBuf> {
        around.path(self.moved_by.as_ref(), level, path)
    }
}

/// The signs by which a process is known to run below an agent.
#[derive(Debug)]
pub(crate) struct ProcessSigns {
    /// Variables that the agent sets for the commands that it runs. Settings that people have in their own shells
    /// do not belong here.
    pub(crate) variables: &'static [&'static str],
    /// The names of its program on `PATH`.
    pub(crate) commands: &'static [&'static str],
    /// The names of its processes.
    pub(crate) processes: &'static [&'static str],
    /// The npm packages or directories that contain its script.
    pub(crate) packages: &'static [&'static str],
}

/// The format of an agent's configuration files.
#[derive(Debug)]
pub(crate) struct ConfigFormat {
    /// True if the agent reads comments (`//` and `/* */`).
    pub(crate) reads_comments: bool,
    /// The errors of the agent's own parser; `None` if its parser is not known.
    pub(crate) parser: Option<ParserRules>,
    /// The form of an entry.
    pub(crate) entry: EntryForm,
    /// The settings that switch hooks off.
    pub(crate) disable_settings: &'static [DisableSetting],
    /// Keys of `hooks` that are not events: former settings, which the agent ignores.
    pub(crate) former_settings: &'static [&'static str],
    /// True if one malformed entry makes the agent ignore the whole file.
    pub(crate) ignores_whole_file: bool,
    /// The key of the variables that the settings give to all hooks.
    pub(crate) env_key: Option<&'static str>,
    /// The key that switches plugins on and off.
    pub(crate) plugins_key: Option<&'static str>,
    /// The settings of an organization. An agent that has them takes a switch from its strongest level.
    pub(crate) managed_file: Option<&'static str>,
    /// The directories above the working directory whose files the agent reads as well.
    pub(crate) reads_above: Above,
}

impl ConfigFormat {
    /// Settings in strict JSON with groups of entries, without switches.
    pub(crate) const BASE: Self = Self {
        reads_comments: false,
        parser: Some(ParserRules { reads_mark: false, check: |_| None }),
        entry: EntryForm::GROUPED,
        disable_settings: &[],
        former_settings: &[],
        ignores_whole_file: false,
        env_key: None,
        plugins_key: None,
        managed_file: None,
        reads_above: Above::None,
    };
}

/// The errors of an agent's own parser, which is stricter than the one that edits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ParserRules {
    /// True if it reads a byte order mark.
    pub(crate) reads_mark: bool,
    /// Returns the reason why it refuses this JSON, which has no comments.
    pub(crate) check: fn(&str) -> Option<String>,
}

/// The directories above the working directory, up to the root of the repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Above {
    /// None of them.
    None,
    /// The root alone.
    Root,
    /// All of them.
    All,
}

/// The form of an agent's entries, as seen in the clients.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EntryForm {
    /// The place of an entry in the list of its event.
    pub(crate) groups: Groups,
    /// The keys of the command line, the usual one first.
    pub(crate) command_keys: &'static [&'static str],
    /// The keys of the timeout, the usual one first.
    pub(crate) timeout_keys: &'static [&'static str],
    /// True if an entry has `"type": "command"`.
    pub(crate) has_type: bool,
    /// True if the agent ignores a file without `"version": 1`.
    pub(crate) has_version: bool,
    /// The key of the name that an installed entry gets.
    pub(crate) name_key: Option<&'static str>,
    /// The key that lets a failed command block.
    pub(crate) strict_key: Option<&'static str>,
    /// True if `args` are the arguments of a program.
    pub(crate) has_args: bool,
    /// True if an entry has variables of its own.
    pub(crate) has_env: bool,
    /// True if an entry has a directory of its own.
    pub(crate) has_cwd: bool,
    /// True if `sh` runs the line, unless the entry names bash.
    pub(crate) runs_sh: bool,
    /// True if the matcher may be null.
    pub(crate) takes_null_matcher: bool,
    /// True if the timeout may be null.
    pub(crate) takes_null_timeout: bool,
    /// The longest timeout: a longer one is over at once.
    pub(crate) longest_timeout: Option<Duration>,
}

/// The longest timer of JavaScript: a longer one fires at once.
const LONGEST_TIMER: Duration = Duration::from_millis(i32::MAX as u64);

impl EntryForm {
    /// The form of Claude Code, which most agents share.
    pub(crate) const GROUPED: Self = Self {
        groups: Groups::Required,
        command_keys: &["command"],
        timeout_keys: &["timeout"],
        has_type: true,
        has_version: false,
        name_key: None,
        strict_key: None,
        has_args: false,
        has_env: false,
        has_cwd: false,
        runs_sh: false,
        takes_null_matcher: true,
        takes_null_timeout: false,
        longest_timeout: Some(LONGEST_TIMER),
    };

    /// Returns the usual key of the command line.
    pub(crate) fn command(&self) -> &'static str {
        self.command_keys.first().copied().unwrap_or("command")
    }

    /// Returns the usual key of the timeout.
    pub(crate) fn timeout(&self) -> &'static str {
        self.timeout_keys.first().copied().unwrap_or("timeout")
    }

    /// Returns true if each entry is in a group with a matcher.
    pub(crate) fn is_grouped(&self) -> bool {
        self.groups == Groups::Required
    }
}

/// Groups of entries, each with a `matcher` and a list of `hooks`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Groups {
    /// Every entry is in a group.
    Required,
    /// An entry may be in a group.
    Optional,
    /// There are no groups.
    None,
}

/// An agent's names of tools and of the fields of their inputs, in relation to Claude Code's.
#[derive(Debug)]
pub(crate) struct ToolNames {
    /// Claude Code's name of a tool and the agent's own. The names of MCP tools are not among them.
    pub(crate) names: &'static [(&'static str, &'static str)],
    /// The hooks that know Claude Code's names of the tools.
    pub(crate) claude_names: ClaudeNames,
    /// Fields of a tool's input: Claude Code's name of the tool, its name of the field, and the agent's.
    pub(crate) fields: &'static [(&'static str, &'static str, &'static str)],
    /// The name of an MCP tool with `SERVER` and `TOOL`. `None` if the name stays as the caller gave it.
    pub(crate) mcp_name: Option<&'static str>,
    /// The names of an MCP tool that a matcher knows.
    pub(crate) mcp_aliases: &'static [&'static str],
    /// Returns the further names by which a matcher may mean one of the agent's tools.
    pub(crate) aliases: fn(&str) -> Vec<String>,
}

impl ToolNames {
    /// Names like those of Codex, which has few tools.
    pub(crate) const BASE: Self = Self {
        names: &[],
        claude_names: ClaudeNames::Never,
        fields: &[],
        mcp_name: None,
        mcp_aliases: &["mcp__SERVER__TOOL"],
        aliases: |_| Vec::new(),
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

/// The answers that an agent reads from a hook command.
#[derive(Debug)]
pub(crate) struct Answers {
    /// Returns the fields of the answer that follows a plan.
    pub(crate) write: fn(&AgentEvent, &Plan) -> Map<String, Value>,
    /// The output of a hook command that has nothing to answer.
    pub(crate) empty: &'static str,
    /// True if the agent shows its user a `systemMessage`.
    pub(crate) shows_warnings: bool,
    /// True if the agent shows its user the changed input with a question.
    pub(crate) asks_with_changed_input: bool,
    /// Returns true if the agent runs the tool with exactly the second input in place of the first.
    pub(crate) takes_input: fn(&Map<String, Value>, &Map<String, Value>) -> bool,
    /// Returns the form in which a changed output of a tool reaches the model: of the tool of this name, the output
    /// as it was, and as it is now.
    pub(crate) changed_output: fn(&str, &Value, &Value) -> ChangedOutput,
    /// The longest text for the model, in characters; the agent drops a longer one whole.
    pub(crate) max_context: Option<usize>,
    /// True if exit code 2 blocks only with words on standard error.
    pub(crate) exit_2_needs_words: bool,
    /// True if every exit code but 0 blocks a tool call.
    pub(crate) failure_blocks: bool,
    /// Returns the effect of an answer before a tool call: of the whole answer, and of its `hookSpecificOutput` for
    /// this event. `None` if nothing in it is a block or a question.
    pub(crate) effect: fn(&AgentEvent, &Map<String, Value>, Option<&Map<String, Value>>) -> Option<Effect>,
}

impl Answers {
    /// Answers of which nothing is known to differ from Claude Code's.
    pub(crate) const BASE: Self = Self {
        write: |_, _| Map::new(),
        empty: "",
        shows_warnings: true,
        asks_with_changed_input: false,
        takes_input: |_, _| true,
        changed_output: as_reason,
        max_context: None,
        exit_2_needs_words: false,
        failure_blocks: false,
        effect: |_, _, _| None,
    };
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
    /// Returns the word that a matcher is compared with at an event without a tool. `None` if the matcher does not
    /// count there.
    pub(crate) subject: fn(&Event) -> Option<String>,
    /// True if the expressions of matchers are JavaScript's.
    pub(crate) has_javascript_matchers: bool,
    /// Events that the agent has only for some kinds of tools.
    pub(crate) tool_events: &'static [ToolEvent],
    /// True if the agent has an event of its own for a failed call, so that the event after a call means success.
    pub(crate) has_failure_event: bool,
    /// True if a call of several files is shown as several calls of one file.
    pub(crate) sees_single_files: bool,
    /// True if a changed input or output has to be put back into the words of the tool that was called. Claude Code's
    /// dialect does that itself.
    pub(crate) restores_changes: bool,
    /// True if a changed input is put over the original one.
    pub(crate) merges_input: bool,
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
        encode: |_, event, session| crate::dialect::claude::encode(event, session),
        outcome: |event, ended| {
            crate::dialect::claude::outcome_of(event, ended.exit_code, ended.stdout, ended.stderr)
        },
        matcher: |_, pattern| Rule::names(pattern),
        subject: crate::agent_hooks::rule::subject,
        has_javascript_matchers: true,
        tool_events: &[],
        has_failure_event: false,
        sees_single_files: true,
        restores_changes: true,
        merges_input: false,
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

/// A plugin in JavaScript that calls hookbox, for an agent that runs no commands.
#[derive(Debug)]
pub(crate) struct PluginFile {
    /// The name of the file in the agent's directory of plugins.
    pub(crate) file_name: &'static str,
    /// The text, which finds `hookbox` on `PATH`.
    pub(crate) text: &'static str,
    /// The beginning of the text in every version.
    pub(crate) head: &'static str,
}

/// The conditions under which an agent runs its hooks, for the doctor.
#[derive(Debug)]
pub(crate) struct DoctorRules {
    /// Adds findings about the conditions of one entry, such as trust.
    pub(crate) check: fn(&Conditions<'_>, &mut Examination),
    /// The variables of the environment that the check reads.
    pub(crate) variables: &'static [&'static str],
    /// A variable with which the agent runs no hook.
    pub(crate) off_variable: Option<&'static str>,
}

impl DoctorRules {
    /// No conditions.
    pub(crate) const BASE: Self = Self { check: |_, _| {}, variables: &[], off_variable: None };
}
