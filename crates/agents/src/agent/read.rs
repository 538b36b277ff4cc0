//! An agent's JSON as an event.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::translation::Plan;
use super::{Agent, AgentEvent, Reply, payload, reply};
use crate::dialect::claude::Session;
use crate::dialect::fields::{Fields, PayloadError, describe};
use crate::event::{Context, Event};
use crate::json;
use crate::outcome::Verdict;
use crate::text;

/// What an agent asked its hook command.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Who asks.
    pub agent: Agent,
    /// The agent's own event.
    pub own: &'static AgentEvent,
    /// The event. The facts of a tool call are not worked out yet.
    pub event: Event,
    /// What the agent says of its session that has no place in an event.
    pub session: Session,
    /// Whether a hook has made the agent go on already, where it says so at a stop.
    pub goes_on: Option<bool>,
    /// What of the payload could not be used, and is not needed.
    pub notes: Vec<String>,
}

impl Request {
    /// The reply that gives the agent what it honours of this verdict; `event` is the event as the chain left it.
    ///
    /// What the agent cannot do turns to the safe side, as the table of [`Agent::events`] says, with a warning.
    pub fn answer(&self, verdict: &Verdict, event: &Event) -> Reply {
        let plan = Plan::new(self.agent, self.own, verdict, Some((&self.event, event)));
        reply::write(self.agent, self.own, plan)
    }
}

/// A payload that is none of the agent's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// It is not one JSON object.
    #[error(
        "expected one JSON object of {agent} on standard input, found {found}; hint: this command is for {agent}'s \
         own hooks; to try an event by hand use hookbox run"
    )]
    NotAnObject {
        /// The agent's name in a sentence.
        agent: &'static str,
        /// What stood there: nothing, another type, or where the JSON goes wrong.
        found: String,
    },
    /// It does not say which event it is.
    #[error(
        "the payload of {agent} does not say its event, expected {expected}; hint: give the event with --event, such as --event {such_as}"
    )]
    NoEvent {
        /// The agent's name in a sentence.
        agent: &'static str,
        /// The field that says it.
        expected: &'static str,
        /// An event that the agent has.
        such_as: &'static str,
    },
    /// The event was given, and the payload is of another.
    #[error(
        "the event is to be {expected}, found {found:?}; hint: let --event and the event that the command is configured for be the same"
    )]
    OtherEvent {
        /// The event that was given.
        expected: String,
        /// The event that the payload names, escaped.
        found: String,
    },
    /// The event is none of the agent's: it is misspelt, or of a newer agent.
    #[error(
        "unknown event {name:?} of {agent}: no hook sees it; hint: did you mean {nearest}? hookbox knows {known}; take it \
         out of the agent's configuration where it is none of these"
    )]
    UnknownEvent {
        /// The agent's name in a sentence.
        agent: &'static str,
        /// The event that the payload names, or that was given; escaped.
        name: String,
        /// The nearest name that exists.
        nearest: &'static str,
        /// The names of its events.
        known: String,
    },
    /// A field has a value that it cannot have.
    #[error("{0}; hint: let the agent be of a version that hookbox knows, see the page on agents")]
    Field(#[from] PayloadError),
}

impl Agent {
    /// Reads what the agent wrote to its hook command.
    ///
    /// `event` is the agent's own name of the event, where the command line says it: Copilot CLI's camelCase payloads do
    /// not. What is missing of the context comes from `defaults`; an agent's id is its `agent`. `None` is an event that
    /// the agent is known to have and hookbox has not, to be answered by [`nothing`](Agent::nothing).
    ///
    /// * The tool's name stays the agent's own. Its input may be anything: what is no JSON object reaches the hooks as it
    ///   stands, what cannot be represented in JSON as text.
    /// * Of a conversation the agents send the last words at most; `messages` of `agent_stop` are these.
    /// * `follow_ups` is 1 where the agent says that a hook has already made it go on, in Cursor the number of times.
    /// * Fields that nothing needs, such as a time, are left out with a note where they are of another type.
    ///
    /// # Errors
    ///
    /// [`ReadError`]: no JSON object, no event, another one or one that nobody knows, a session, directory, tool name or text of a wrong type, a
    /// tool call without a name. The size of the payload is the caller's to limit.
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
        let mut read = payload::Reader { agent: self, own, fields, goes_on: None, notes: Vec::new() };
        let session = read.context(&mut context)?;
        let data = read.data(&mut context)?;
        let event = Event { context: Arc::new(context), data };
        let (goes_on, notes) = (read.goes_on, read.notes);
        Ok(Some(Request { agent: self, own, event, session, goes_on, notes }))
    }

    /// The agent's event of a payload that [`read`](Agent::read) may have refused, for [`failed`](Agent::failed): what the
    /// payload says where that is an event of the agent, else what the command line says.
    pub fn event_of(self, payload: &[u8], event: Option<&str>) -> Option<&'static AgentEvent> {
        let says = self.says(payload).and_then(|name| self.event(&name));
        says.or_else(|| self.event(event?))
    }

    /// The event that a payload names.
    fn says(self, payload: &[u8]) -> Option<String> {
        let mut object = self.object(payload).ok()?;
        let name = object.shift_remove("hook_event_name").or_else(|| object.shift_remove("hookName"))?;
        name.as_str().map(str::to_owned)
    }

    fn object(self, payload: &[u8]) -> Result<Map<String, Value>, ReadError> {
        let not_an_object = |found: String| ReadError::NotAnObject { agent: self.title(), found };
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
        let says = match fields.text("hook_event_name")? {
            None => fields.text("hookName")?,
            says => says,
        };
        let own = given.and_then(|given| self.event(given));
        // Copilot names its events in one style in the payload and in another in the configuration.
        let is_same = |given: &str, says: &str| {
            says == given
                || own.is_some_and(|own| self.event(says).is_some_and(|says| says.event == own.event))
        };
        let name = match (given, says.as_deref()) {
            (Some(given), Some(says)) if !is_same(given, says) => {
                return Err(ReadError::OtherEvent {
                    expected: text::escape(given, 64),
                    found: text::escape(says, 64),
                });
            }
            (Some(name), _) | (None, Some(name)) => name,
            (None, None) => {
                return Err(ReadError::NoEvent {
                    agent: self.title(),
                    expected: "\"hook_event_name\"",
                    such_as: self
                        .events()
                        .iter()
                        .find(|it| it.event == "before_tool_call")
                        .map_or("", |it| it.name),
                });
            }
        };
        let own = self.event(name);
        if own.is_none() && !self.other_events().contains(&name) {
            let names: Vec<&str> = self.events().iter().map(|it| it.name).collect();
            return Err(ReadError::UnknownEvent {
                agent: self.title(),
                name: text::escape(name, 64),
                nearest: text::nearest(name, names.iter().copied()).unwrap_or("PreToolUse"),
                known: names.join(", "),
            });
        }
        Ok(own)
    }
}
