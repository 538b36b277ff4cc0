//! The table of one agent: its names, files, events, tools and limits, and functions where data is not
//! enough.
//!
//! Each agent has one [`Spec`] in its own folder. All other modules read the table and name no agent.

mod config;
mod hooks;
pub(crate) mod places;
pub(crate) mod prelude;

use std::path::{Path, PathBuf};
use std::time::Duration;

use hookbox::manager::CommandFiles;
use hookbox_shell::is_in;
use serde_json::Value;

pub(crate) use self::config::{
    Above, ConfigFormat, DisableSetting, EntryForm, Groups, LeavesOut, ParserRules, SessionEndWait, Unit,
    Wait,
};
pub(crate) use self::hooks::{Answers, ClaudeNames, CodePlace, CommandHooks, Ended, ToolEvent, ToolNames};
pub(crate) use self::places::{HookPlace, Level, MovedBy, Surroundings};

use hookbox_journal::session_files::Format;

use crate::agent::effect::SampleCall;
use crate::agent::event::{AgentEvent, EventKind};
use crate::config::entry::Entry;
use crate::finding::Examination;

/// Everything in which one agent differs from the others.
#[derive(Debug)]
pub(crate) struct Spec {
    /// The name on a command line, such as `claude`.
    pub(crate) name: &'static str,
    /// The name in a sentence, such as `Claude Code`.
    pub(crate) title: &'static str,
    /// The signs of the agent's processes.
    pub(crate) process: ProcessSigns,
    /// The variable in which it gives its hook command the directory of the project. `None` if its payloads
    /// name the session's own directory.
    pub(crate) project_variable: Option<&'static str>,
    /// The files that decide about its hooks. Of the files of one level, `hookbox install` writes the first.
    pub(crate) places: &'static [HookPlace],
    /// The variable that moves its files in the home directory.
    pub(crate) moved_by: Option<MovedBy>,
    /// The directories of its skills and command files with shell lines that it runs by itself.
    pub(crate) command_files: &'static [CommandFiles],
    /// The files that it keeps of its sessions, if hookbox reads them.
    pub(crate) sessions: Option<&'static Format>,
    /// Its configuration files.
    pub(crate) config: ConfigFormat,
    /// The time that it waits for a hook.
    pub(crate) wait: Wait,
    /// Its events that are events of hookbox, in the order of a session.
    pub(crate) events: &'static [AgentEvent],
    /// Its other events that hookbox serves.
    pub(crate) other_events: &'static [AgentEvent],
    /// Its names of events that hookbox does not serve: about calls that another event shows, or with an answer
    /// that replaces the agent's own work. They have spaces between them.
    pub(crate) unserved_events: &'static str,
    /// Its names of tools.
    pub(crate) tools: ToolNames,
    /// Returns true if a payload reports that the tool worked, from the output and the exit status. `None` if
    /// it does not report that.
    pub(crate) tool_success: fn(&Value, Option<i32>) -> Option<bool>,
    /// True if it counts itself how often hooks made it go on.
    pub(crate) counts_follow_ups: bool,
    /// The answers that it reads from a hook command.
    pub(crate) answers: Answers,
    /// Returns the payload that it writes before a call of its shell tool.
    pub(crate) sample_call: fn(&SampleCall<'_>) -> Value,
    /// Its command hooks, if hookbox can run them.
    pub(crate) hooks: Option<CommandHooks>,
    /// The file that it loads in place of commands.
    pub(crate) plugin: Option<PluginFile>,
    /// Steps that remain for the user after an installation at one of these levels. `ROOT` is the project.
    pub(crate) next_steps: &'static [(&'static [Level], &'static str)],
    /// The agent's own conditions, for the doctor.
    pub(crate) doctor: DoctorRules,
}

impl Spec {
    /// The answers to the questions that most agents share. Each agent has its own names, places, events and payload.
    pub(crate) const BASE: Self = Self {
        name: "",
        title: "",
        process: ProcessSigns::of(&[]),
        project_variable: None,
        places: &[],
        moved_by: None,
        command_files: &[],
        sessions: None,
        config: ConfigFormat::BASE,
        wait: Wait::new(Unit::Seconds, 60),
        events: &[],
        other_events: &[],
        unserved_events: "",
        tools: ToolNames::BASE,
        tool_success: |_, _| Some(true),
        counts_follow_ups: false,
        answers: Answers::BASE,
        sample_call: |_| Value::Null,
        hooks: None,
        plugin: None,
        next_steps: &[],
        doctor: DoctorRules::BASE,
    };

    /// Returns the places of a level.
    pub(crate) fn places_at(&self, level: Level) -> impl Iterator<Item = &'static HookPlace> + use<> {
        self.places.iter().filter(move |place| place.levels.contains(&level))
    }

    /// Returns the places of a level, each with its path; none if there is no home directory.
    pub(crate) fn files(
        &'static self,
        around: &Surroundings,
        level: Level,
    ) -> impl Iterator<Item = (&'static HookPlace, PathBuf)> {
        self.places_at(level).filter_map(move |place| Some((place, self.path(around, level, place.path)?)))
    }

    /// Returns its event of this name, in exactly this case.
    pub(crate) fn event(&self, name: &str) -> Option<&'static AgentEvent> {
        self.events.iter().chain(self.other_events).find(|event| event.name == name)
    }

    /// Returns true if it has an event of this name, which hookbox may not serve.
    pub(crate) fn has_event(&self, name: &str) -> bool {
        self.event(name).is_some() || is_in(self.unserved_events, name)
    }

    /// Returns true if its event of this name is the end of a session.
    pub(crate) fn is_session_end(&self, event: &str) -> bool {
        self.event(event).is_some_and(|it| it.event == EventKind::SessionEnd)
    }

    /// Returns the time that it waits in any case at an event that is not like the others. `None` at most
    /// events.
    pub(crate) fn brief_wait(&self, event: &str) -> Option<Duration> {
        self.wait.at_session_end().filter(|_| self.is_session_end(event))
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
    /// Variables that the agent sets for the commands that it runs. Settings that people have in their own
    /// shells do not belong here.
    pub(crate) variables: &'static [&'static str],
    /// The names of its program on `PATH`.
    pub(crate) commands: &'static [&'static str],
    /// The names of its processes.
    pub(crate) processes: &'static [&'static str],
    /// The npm packages or directories that contain its script.
    pub(crate) packages: &'static [&'static str],
}

impl ProcessSigns {
    /// The signs of an agent whose program and processes have these names.
    pub(crate) const fn of(names: &'static [&'static str]) -> Self {
        Self { variables: &[], commands: names, processes: names, packages: &[] }
    }
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
    /// The deadline with which it calls the program. `None` for the program's own.
    pub(crate) deadline: Option<Duration>,
}

/// The conditions of one entry.
#[derive(Debug)]
pub(crate) struct Conditions<'a> {
    pub(crate) level: Level,
    /// The file that contains the entry.
    pub(crate) file: &'a Path,
    pub(crate) entry: &'a Entry,
    /// The position of the entry, for messages.
    pub(crate) place: &'a str,
    /// The user's own settings in TOML.
    pub(crate) settings: &'a toml::Table,
    pub(crate) surroundings: &'a Surroundings,
}

impl Conditions<'_> {
    /// Returns the directory of the project.
    pub(crate) fn project(&self) -> &Path {
        &self.surroundings.project
    }
}

/// The conditions under which an agent runs its hooks, for the doctor.
#[derive(Debug)]
pub(crate) struct DoctorRules {
    /// Adds findings about the conditions of one entry, such as trust.
    pub(crate) check: fn(&Conditions<'_>, &mut Examination),
    /// A variable with which the agent runs no hook.
    pub(crate) off_variable: Option<&'static str>,
    /// Words of its command line with which it runs no hook, and that are no settings of a file.
    pub(crate) off_words: &'static [&'static str],
}

impl DoctorRules {
    /// No conditions.
    pub(crate) const BASE: Self = Self { check: |_, _| {}, off_variable: None, off_words: &[] };
}
