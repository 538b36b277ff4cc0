//! Reads an agent's JSON as an event.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::answer::Plan;
use super::event::{AgentEvent, EventKind};
use super::failed_calls::{self, Withheld};
use super::{Agent, Reply, payload, reply};
use crate::dialect::claude::Session;
use crate::dialect::exact;
use crate::dialect::fields::{Fields, PayloadError, describe};
use crate::event::{AgentPayload, Context, Event, EventData, ToolResult};
use crate::outcome::Verdict;
use crate::{json, text};

/// The event that an agent sent to its hook command.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The agent.
    pub agent: Agent,
    /// The agent's own event.
    pub own: &'static AgentEvent,
    /// The event. The facts of a tool call are not worked out yet.
    pub event: Event,
    /// Facts about the session that an event does not have.
    pub session: Session,
    /// The first directory of the project, if the payload names it. The working directory of the event may be
    /// another one, because it follows the model's `cd`.
    pub root: Option<PathBuf>,
    /// True if a hook has already made the agent go on; `None` if the agent does not report that.
    pub goes_on: Option<bool>,
    /// The calls that failed, at the end of a batch: the agent has shown them to no hook after a call.
    pub(crate) failed: Vec<ToolResult>,
    /// Fields of the payload that could not be read, and that nothing needs.
    pub notes: Vec<String>,
}

impl Request {
    /// Returns the reply for this verdict; `event` is the event as the chain left it.
    ///
    /// An answer that the agent cannot follow turns to the safe side, by the table of [`Agent::events`], with
    /// a warning.
    pub fn answer(&self, verdict: &Verdict, event: &Event) -> Reply {
        self.answer_with(verdict, event, Withheld::default())
    }

    /// Returns the reply for this verdict, and for those about the failed calls of a batch.
    pub(crate) fn answer_with(&self, verdict: &Verdict, event: &Event, failed: Withheld) -> Reply {
        let mut plan = Plan::new(self.agent.spec(), self.own, verdict, Some((&self.event, event)));
        failed.apply(&mut plan);
        reply::write(self.agent.spec(), self.own, plan)
    }
}

/// A payload that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The payload names another event than the command line.
    #[error(
        "the event is to be {expected}, found {found:?}; hint: let --event and the event that the command is configured for be the same"
    )]
    OtherEvent {
        /// The event of the command line.
        expected: String,
        /// The event that the payload names, escaped.
        found: String,
    },
    /// A field has a value of another type.
    #[error("{0}; hint: let the agent be of a version that hookbox knows, see the page on agents")]
    Field(#[from] PayloadError),
    /// It is not an object, names no event, or one that the agent does not have.
    #[error("{0}")]
    Unknown(String),
}

/// The fields with the name of an event; the second is Cline's, the third OpenHands', and the fourth that of Crush and Goose.
const NAMES: [&str; 4] = ["hook_event_name", "hookName", "event_type", "event"];

impl Agent {
    /// Reads the payload that the agent wrote to its hook command. The caller limits its size.
    ///
    /// `event` is the agent's own name of the event, from the command line: Copilot CLI's camelCase payloads
    /// do not name their event. Missing parts of the context come from `defaults`, and the `agent` is the
    /// agent's name. `None` is an event that hookbox does not serve, or that no hook is to see: answer
    /// it by [`nothing`](Agent::nothing).
    ///
    /// * The name of a tool stays the agent's own. An input that is not an object reaches the hooks
    ///   unchanged, and one that JSON cannot represent as text.
    /// * Agents send at most the last message of a conversation; `messages` of `agent_stop` has only that.
    /// * `follow_ups` is 1 if a hook has already made the agent go on, in Cursor the number of times.
    /// * A field that nothing needs, such as a time, is left out with a note if it has another type.
    ///
    /// # Errors
    ///
    /// [`ReadError`]: the payload is not an object; it names no event, another one or an unknown one; a
    /// session, a directory, a tool's name or a text has a wrong type; a tool call has no name.
    pub fn read(
        self,
        payload: &[u8],
        event: Option<&str>,
        defaults: &Context,
    ) -> Result<Option<Request>, ReadError> {
        let mut fields = Fields::new(self.object(payload)?);
        let Some(own) = self.own_event(&mut fields, event)? else { return Ok(None) };
        let mut context = defaults.clone();
        context.agent = Some(self.as_str().to_owned());
        let sent = AgentPayload { event: own.name.to_owned(), json: payload.to_owned() };
        context.payload = Some(Arc::new(sent));
        let mut read = payload::Reader::new(self.spec(), own, fields);
        let session = read.context(&mut context)?;
        let failed = match own.event {
            EventKind::AfterTurn => failed_calls::of(self.spec(), &mut read.fields),
            _ => Vec::new(),
        };
        let data = read.data(&mut context)?;
        if own.is_nothing_if_empty
            && matches!(&data, EventData::UserMessageSend { message: Some(text) } if text.is_empty())
        {
            return Ok(None);
        }
        let mut event = Event { context: Arc::new(context), data };
        exact::restore(&mut event, payload);
        let (root, goes_on, notes) = (read.root, read.goes_on, read.notes);
        Ok(Some(Request { agent: self, own, event, session, root, goes_on, failed, notes }))
    }

    /// Returns the event of a payload that [`read`](Agent::read) may have refused, for
    /// [`failed`](Agent::failed): the event of the payload if the agent has it, else that of the command
    /// line.
    pub fn event_of(self, payload: &[u8], event: Option<&str>) -> Option<&'static AgentEvent> {
        let named = self.named_event(payload).and_then(|name| self.event(&name));
        named.or_else(|| self.event(event?))
    }

    /// Returns the event that a payload names.
    fn named_event(self, payload: &[u8]) -> Option<String> {
        let mut object = self.object(payload).ok()?;
        let name = NAMES.into_iter().find_map(|name| object.shift_remove(name))?;
        name.as_str().map(str::to_owned)
    }

    /// Returns the fields of a payload.
    pub(crate) fn object(self, payload: &[u8]) -> Result<Map<String, Value>, ReadError> {
        let not_an_object = |found: String| {
            let agent = self.title();
            ReadError::Unknown(format!(
                "expected one JSON object of {agent} on standard input, found {found}; hint: this command is for {agent}'s \
                 own hooks; to try an event by hand use hookbox run"
            ))
        };
        if payload.trim_ascii().is_empty() {
            return Err(not_an_object("nothing".to_owned()));
        }
        match json::object(payload) {
            Ok(members) => Ok(members.into_iter().map(|(name, raw)| (name, json::value(&raw))).collect()),
            Err(error) => {
                let value = serde_json::from_slice::<Value>(payload).ok();
                Err(not_an_object(
                    value.map_or_else(|| text::escape(&error.to_string(), 200), |it| describe(&it)),
                ))
            }
        }
    }

    fn own_event(
        self,
        fields: &mut Fields,
        given: Option<&str>,
    ) -> Result<Option<&'static AgentEvent>, ReadError> {
        let named = NAMES.into_iter().find_map(|name| fields.text(name).transpose()).transpose()?;
        let own = given.and_then(|given| self.event(given));
        // Copilot names its events in one style in the payload and in another in the configuration.
        let is_same = |given: &str, named: &str| {
            named == given
                || own.is_some_and(|own| self.event(named).is_some_and(|named| named.event == own.event))
        };
        let name = match (given, named.as_deref()) {
            (Some(given), Some(named)) if !is_same(given, named) => {
                return Err(ReadError::OtherEvent {
                    expected: text::escape(given, 64),
                    found: text::escape(named, 64),
                });
            }
            (Some(name), _) | (None, Some(name)) => name,
            (None, None) => {
                let such_as = self.names_of(EventKind::BeforeToolCall).next().unwrap_or_default();
                return Err(ReadError::Unknown(format!(
                    "the payload of {} does not say its event, expected \"hook_event_name\"; hint: give the event with \
                     --event, such as --event {such_as}",
                    self.title()
                )));
            }
        };
        let own = self.event(name);
        if own.is_none() && !self.spec().has_event(name) {
            let names: Vec<&str> = self.events().iter().map(|it| it.name).collect();
            let nearest = text::did_you_mean(text::nearest(name, names.iter().copied()));
            return Err(ReadError::Unknown(format!(
                "unknown event {:?} of {}: no hook sees it; hint: {}hookbox knows {}; take it out of the agent's \
                 configuration where it is none of these",
                text::escape(name, 64),
                self.title(),
                nearest.map(|it| format!("{it} ")).unwrap_or_default(),
                names.join(", ")
            )));
        }
        Ok(own)
    }
}
