//! The names with which the table of an agent is written.

pub(crate) use super::places::{BOTH, HOME, Holds, LOCAL, Level, PROJECT, SYSTEM, at, braced, quoted};
pub(crate) use super::{
    Above, Answers, ClaudeNames, CodePlace, CommandHooks, ConfigFormat, DoctorRules, EntryForm, Groups,
    ParserRules, PluginFile, ProcessSigns, Spec, ToolEvent, ToolNames,
};
pub(crate) use crate::agent::disable_settings::{DisableSetting, LeavesOut};
pub(crate) use crate::agent::effect::{self, Effect};
pub(crate) use crate::agent::event::Fate::{Blocks, Honoured, LeftOut, Told};
pub(crate) use crate::agent::event::{AgentEvent, EventKind, is_pascal};
pub(crate) use crate::agent::exit_status;
pub(crate) use crate::agent::output::{ChangedOutput, text};
pub(crate) use crate::agent::sample_payload::{SampleCall, TIME};
pub(crate) use crate::agent::surroundings::MovedBy;
pub(crate) use crate::agent::timeouts::{SessionEndWait, Unit, Wait};
pub(crate) use crate::agent_hooks::rule::{self, Rule};
