//! The names with which the table of an agent is written.

pub(crate) use super::places::{BOTH, HOME, Holds, LOCAL, Level, PROJECT, SYSTEM, at, braced, quoted};
pub(crate) use super::{
    Above, Answers, ClaudeNames, CodePlace, CommandHooks, Conditions, ConfigFormat, DoctorRules, Ended,
    EntryForm, Groups, ParserRules, PluginFile, ProcessSigns, Spec, ToolEvent, ToolNames,
};
pub(crate) use crate::agent::disable_settings::{DisableSetting, LeavesOut};
pub(crate) use crate::agent::effect::{self, Effect};
pub(crate) use crate::agent::event::Fate::{Blocks, Honoured, LeftOut, Told};
pub(crate) use crate::agent::event::{AgentEvent, EventKind, is_pascal};
pub(crate) use crate::agent::exit_status;
pub(crate) use crate::agent::json::{
    allowed, context, decision, denial, denied, object, optional, permission, specific, stop, text_of,
};
pub(crate) use crate::agent::output::{ChangedOutput, text};
pub(crate) use crate::agent::plan::{Decision, Plan};
pub(crate) use crate::agent::sample_payload::{SampleCall, TIME};
pub(crate) use crate::agent::surroundings::MovedBy;
pub(crate) use crate::agent::timeouts::{SessionEndWait, Unit, Wait};
pub(crate) use crate::agent_hooks::payload::{self, Payload};
pub(crate) use crate::agent_hooks::rule::{self, Rule};
pub(crate) use crate::dialect::claude::{self, Session, Style, Text};
pub(crate) use crate::event::{ErrorSource, Event, EventData, EventName};
pub(crate) use crate::finding::Examination;
pub(crate) use crate::hook::HookError;
pub(crate) use crate::outcome::{Action, Outcome};
pub(crate) use serde_json::{Map, Value, json};
pub(crate) use std::time::Duration;
