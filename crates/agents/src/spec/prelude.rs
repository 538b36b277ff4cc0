//! The names with which the table of an agent is written.

pub(crate) use super::places::{
    BOTH, HOME, Holds, LOCAL, Level, MovedBy, PROJECT, SYSTEM, at, braced, quoted,
};
pub(crate) use super::{
    Above, Answers, ClaudeNames, CodePlace, CommandHooks, Conditions, ConfigFormat, DisableSetting,
    DoctorRules, Ended, EntryForm, Groups, LeavesOut, ParserRules, PluginFile, ProcessSigns, SessionEndWait,
    Spec, ToolEvent, ToolNames, Unit, Wait,
};
pub(crate) use crate::agent::answer::{
    Decision, Plan, allowed, context, decision, denial, denied, object, optional, passed, permission,
    specific, stop, text_of,
};
pub(crate) use crate::agent::effect::{self, Effect, SampleCall, TIME};
pub(crate) use crate::agent::event::Fate::{Blocks, Honoured, LeftOut, Told};
pub(crate) use crate::agent::event::{AgentEvent, EventKind, is_pascal};
pub(crate) use crate::agent::output::{self, ChangedOutput, text};
pub(crate) use crate::agent_hooks::payload::{self, Payload};
pub(crate) use crate::agent_hooks::rule::{self, Rule};
pub(crate) use crate::dialect::claude::{self, Session, Style, Text};
pub(crate) use crate::event::{ErrorSource, Event, EventData, EventName};
pub(crate) use crate::finding::Examination;
pub(crate) use crate::hook::HookError;
pub(crate) use crate::outcome::{Action, Outcome};
pub(crate) use serde_json::{Map, Value, json};
pub(crate) use std::time::Duration;
