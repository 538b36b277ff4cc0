//! Hooks that were written for another agent, as hookbox runs them: their input, and the meaning of their
//! exit code and their answer.
//!
//! An [`AgentHook`] is one hook of an agent at one of that agent's events. [`AgentHook::encode`] writes the
//! event exactly as the agent does, [`AgentHook::outcome`] reads the answer, and [`AgentHook::is_for`] is the
//! agent's matcher. The names of tools and of the fields of their inputs are the agent's own; a changed input
//! comes back in those of the tool that was called. A block of any of the agents is a block, also if the
//! hook's own agent would not honour it. Nothing here does I/O.
//!
//! [`crate::agent`] is the other direction: the events that an agent sends to hookbox.

mod event;
mod matcher;
pub(crate) mod payload;
pub(crate) mod rule;
mod words;

use serde_json::Value;

pub use self::event::{Unknown, event_name};
pub use self::matcher::Matcher;
pub use crate::agent::tools::TOOLS;

use crate::agent::{Agent, tools};
use crate::dialect::Wire;
use crate::dialect::claude::{self, MatcherError, Session, Split};
use crate::event::{Event, EventData};
use crate::hook::HookError;
use crate::outcome::{Action, Outcome};
use crate::spec::{CommandHooks, Ended, Spec};

/// A command hook of an agent, at one of its events.
#[derive(Clone, Debug)]
pub struct AgentHook {
    agent: Agent,
    spec: &'static Spec,
    hooks: &'static CommandHooks,
    name: String,
    matcher: Option<Matcher>,
    /// True if it fails without an answer (Cursor's `failClosed`).
    must_answer: bool,
}

impl AgentHook {
    /// Creates the hook of this agent at its event of this name, for every tool, source and reason.
    ///
    /// # Errors
    ///
    /// [`Unknown`] if the agent has no such event, or hookbox cannot send it.
    pub fn new(agent: Agent, name: &str) -> Result<Self, Unknown> {
        event_name(agent, name)?;
        let spec = agent.spec();
        let unknown = || Unknown::OnlyThere { name: name.to_owned(), agent: spec.title };
        let hooks = spec.hooks.as_ref().ok_or_else(unknown)?;
        Ok(Self { agent, spec, hooks, name: name.to_owned(), matcher: None, must_answer: false })
    }

    /// Limits the hook to the tools or sources of this matcher.
    ///
    /// # Errors
    ///
    /// [`MatcherError`] for a pattern that cannot be used.
    pub fn matching(mut self, pattern: &str) -> Result<Self, MatcherError> {
        self.matcher = Some(Matcher::parse(self.agent, &self.name, pattern)?);
        Ok(self)
    }

    /// Lets the hook fail if it prints nothing at an event that it could block (default: no).
    #[must_use]
    pub fn must_answer(mut self, must: bool) -> Self {
        self.must_answer = must;
        self
    }

    /// Returns the hook's agent.
    pub fn agent(&self) -> Agent {
        self.agent
    }

    /// Returns the agent's name of the event.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns true if the hook is for this event: the agent's event of this name, and a subject of its
    /// matcher.
    ///
    /// A matcher may have any name of a tool: the name of the call, that of the hook's agent, and each
    /// spelling of an MCP tool.
    pub fn is_for(&self, event: &Event) -> bool {
        event::is(self.agent, &self.name, event)
            && self.matcher.as_ref().is_none_or(|matcher| matcher.is_for(event))
    }

    /// Returns the calls that the hook sees of an event that it is for. Guards look at the one file of a
    /// call, so a call of several files, such as a patch, becomes several calls, unless the hook's agent made
    /// it. See [`Split`] for the answers.
    pub fn split(&self, event: &Event) -> Split {
        let is_own = event.context.agent.as_deref() == Some(self.spec.name);
        if is_own || !self.hooks.sees_single_files {
            return Split { events: vec![event.clone()], in_parts: false, beyond: None };
        }
        claude::split(event, |event| self.is_for(event))
    }

    /// Returns the hook's input for an event after [`split`](Self::split); `None` for an event that its agent
    /// does not have.
    ///
    /// Facts about a session that hookbox does not know (the model, the ids of a turn or a prompt) are empty
    /// texts if the agent always sends a text.
    pub fn encode(&self, event: &Event, session: &Session) -> Option<Value> {
        if !event::is(self.agent, &self.name, event) {
            return None;
        }
        (self.hooks.encode)(&self.name, event, session)
    }

    /// Returns the variables of its environment that differ from event to event.
    pub fn variables(&self, event: &Event) -> Vec<(&'static str, String)> {
        let (id, cwd) = (&event.context.conversation_id, &event.context.cwd);
        let all = [(self.hooks.session_variable, id), (self.hooks.cwd_variable, cwd)];
        all.into_iter().filter_map(|(name, value)| Some((name?, value.clone()))).collect()
    }

    /// Returns the name and input of a tool as this hook expects them.
    pub fn tool(&self, event: &Event) -> Option<(String, Value)> {
        Some(tools::call(self.spec, &self.name, event, event.tool_call()?))
    }

    /// Returns the meaning of its exit code and its output. A change is in the words of the agent that sent
    /// the event.
    ///
    /// A block holds also beside a wrong type, a field that cannot be read, or a duplicate.
    ///
    /// # Errors
    ///
    /// `exit` for an exit code that decides nothing, `malformed_output` for an answer that cannot be read and
    /// does not block.
    pub fn outcome(
        &self,
        event: &Event,
        exit_code: i32,
        stdout: &[u8],
        stderr: &str,
    ) -> Result<Outcome, HookError> {
        let ended = Ended { exit_code, stdout, stderr, must_answer: self.must_answer };
        let mut outcome = (self.hooks.outcome)(event, ended)?;
        if !self.hooks.restores_changes {
            return Ok(outcome);
        }
        if let Action::Modify(value) = &mut outcome.action {
            match &event.data {
                EventData::BeforeToolCall(call) => {
                    let mut updated = value.take();
                    if self.hooks.merges_input {
                        updated = tools::merged(self.spec, &self.name, event, call, updated);
                    }
                    *value = tools::restore(self.spec, event, call, updated);
                }
                EventData::AfterToolCall(result) => {
                    *value = payload::restored(self.hooks, result.output.value(), value.take());
                }
                _ => {}
            }
        }
        Ok(outcome)
    }
}

impl Wire for AgentHook {
    fn is_for(&self, event: &Event) -> bool {
        self.is_for(event)
    }

    fn split(&self, event: &Event) -> Split {
        self.split(event)
    }

    fn encode(&self, event: &Event) -> Option<Value> {
        self.encode(event, &Session::default())
    }

    fn variables(&self, event: &Event) -> Vec<(&'static str, String)> {
        self.variables(event)
    }

    fn outcome(
        &self,
        event: &Event,
        exit_code: i32,
        stdout: &[u8],
        stderr: &str,
    ) -> Result<Outcome, HookError> {
        self.outcome(event, exit_code, stdout, stderr)
    }
}

#[cfg(test)]
mod tests;
