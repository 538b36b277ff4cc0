//! Hooks that were written for another agent, from the host's side: what such a hook reads on standard input, and what
//! its exit code and its answer mean.
//!
//! A [`AgentHook`] is one hook of an agent at one of that agent's events. [`AgentHook::encode`] writes the event exactly as
//! the agent does, [`AgentHook::outcome`] reads the answer, and [`AgentHook::is_for`] is the agent's matcher. Names of tools
//! and fields of their inputs are the agent's own; a changed input comes back in those of the tool that was called.
//! What any of the agents takes for a block is a block, also where this one would not honour it. Nothing here does I/O.
//!
//! [`crate::agent`] is the other direction: what an agent writes to hookbox.

mod event;
mod javascript;
mod matcher;
pub(crate) mod payload;

use serde_json::Value;

pub use self::event::{Unknown, event_name};
pub use self::matcher::Matcher;
pub use crate::agent::tools::{TOOLS, Tools, tool_name};

use crate::agent::Agent;
use crate::agent::tools as tool;
use crate::dialect::Wire;
use crate::dialect::claude::{self, MatcherError, Session, Split};
use crate::event::{Event, EventData};
use crate::hook::HookError;
use crate::outcome::{Action, Outcome};
use crate::{codex, copilot, cursor, gemini, qwen};

/// A command hook of an agent, at one of its events.
#[derive(Clone, Debug)]
pub struct AgentHook {
    agent: Agent,
    name: String,
    matcher: Option<Matcher>,
    /// Whether an answer has to be there (Cursor's `failClosed`).
    must_answer: bool,
}

impl AgentHook {
    /// The hook of this agent at its event of this name. For every tool, source and reason.
    ///
    /// # Errors
    ///
    /// [`Unknown`] where the agent has no such event, or hookbox cannot send it.
    pub fn new(agent: Agent, name: &str) -> Result<Self, Unknown> {
        event_name(agent, name)?;
        Ok(Self { agent, name: name.to_owned(), matcher: None, must_answer: false })
    }

    /// The same hook, only for what this matcher of the agent names.
    ///
    /// # Errors
    ///
    /// [`MatcherError`] for a pattern that cannot be used.
    pub fn matching(mut self, pattern: &str) -> Result<Self, MatcherError> {
        self.matcher = Some(Matcher::parse(self.agent, &self.name, pattern)?);
        Ok(self)
    }

    /// The same hook, which fails where it prints nothing at an event that it could block (default: no).
    #[must_use]
    pub fn must_answer(mut self, must: bool) -> Self {
        self.must_answer = must;
        self
    }

    /// Whose hook it is.
    pub fn agent(&self) -> Agent {
        self.agent
    }

    /// The agent's name of the event.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the hook is for this event: the agent's event of this name, and what its matcher names.
    ///
    /// A tool is meant by any of its names: the one that it was called by, the hook's agent's, and each spelling of a
    /// tool of an MCP server.
    pub fn is_for(&self, event: &Event) -> bool {
        event::is(self.agent, &self.name, event)
            && self.matcher.as_ref().is_none_or(|matcher| matcher.is_for(event))
    }

    /// What the hook is shown of an event that it is for. A call of several files, such as a patch, is shown as several
    /// calls of one file, unless the hook's agent made it: guards look at the file of a call. The answers are one: see
    /// [`Split`].
    pub fn split(&self, event: &Event) -> Split {
        let is_own = event.context.agent.as_deref() == Some(self.agent.as_str());
        // Codex' own hooks know a patch, and few other tools.
        if is_own || matches!(self.agent, Agent::Codex | Agent::OpenCode) {
            return Split { events: vec![event.clone()], in_parts: false, beyond: None };
        }
        claude::split(event, |event| self.is_for(event))
    }

    /// What the hook reads on standard input, of an event that it is [split](Self::split); `None` for an event that its agent does not have.
    ///
    /// What hookbox does not know of a session (the model, the ids of a turn or a prompt) is an empty text where the agent
    /// always sends a text.
    pub fn encode(&self, event: &Event, session: &Session) -> Option<Value> {
        if !event::is(self.agent, &self.name, event) {
            return None;
        }
        let payload = match self.agent {
            Agent::Claude => return claude::encode(event, session),
            Agent::Codex => codex::hook::encode(&self.name, event, session),
            Agent::Gemini => gemini::hook::encode(&self.name, event, session),
            Agent::Qwen => qwen::hook::encode(&self.name, event, session),
            Agent::Copilot => copilot::hook::encode(&self.name, event, session),
            Agent::Cursor => cursor::hook::encode(&self.name, event, session),
            Agent::OpenCode => return None,
        };
        Some(payload.into())
    }

    /// The variables of its environment that differ from event to event.
    pub fn variables(&self, event: &Event) -> Vec<(&'static str, String)> {
        let (id, cwd) = (&event.context.conversation_id, &event.context.cwd);
        match self.agent {
            Agent::Claude => vec![("CLAUDE_CODE_SESSION_ID", id.clone())],
            Agent::Gemini => vec![("GEMINI_SESSION_ID", id.clone()), ("GEMINI_CWD", cwd.clone())],
            Agent::Qwen => vec![("QWEN_CODE_SESSION_ID", id.clone())],
            Agent::Codex | Agent::Copilot | Agent::Cursor | Agent::OpenCode => Vec::new(),
        }
    }

    /// What the hook means by its exit code and by what it printed. What it would change is in the words of the agent
    /// that the event came from.
    ///
    /// A block holds also beside a wrong type, a field that cannot be read, or another of its name.
    ///
    /// # Errors
    ///
    /// `exit` for an exit code that decides nothing, `malformed_output` for an answer that cannot be read and does not
    /// block.
    pub fn outcome(
        &self,
        event: &Event,
        exit_code: i32,
        stdout: &[u8],
        stderr: &str,
    ) -> Result<Outcome, HookError> {
        let name = event.name();
        let mut outcome = match self.agent {
            Agent::Claude | Agent::OpenCode => return claude::outcome_of(event, exit_code, stdout, stderr),
            Agent::Codex => codex::hook::outcome(&name, exit_code, stdout, stderr),
            Agent::Gemini => gemini::hook::outcome(&name, exit_code, stdout, stderr),
            Agent::Qwen => qwen::hook::outcome(&name, exit_code, stdout, stderr),
            Agent::Copilot => copilot::hook::outcome(&name, exit_code, stdout, stderr),
            Agent::Cursor => cursor::hook::outcome(&name, exit_code, stdout, stderr, self.must_answer),
        }?;
        if let Action::Modify(value) = &mut outcome.action {
            match &event.data {
                EventData::BeforeToolCall(call) => {
                    let updated = value.take();
                    let updated = if self.agent == Agent::Gemini {
                        tool::merged(self.agent, &self.name, event, call, updated)
                    } else {
                        updated
                    };
                    *value = tool::restore(self.agent, event, call, updated);
                }
                EventData::AfterToolCall(result) => {
                    *value = payload::restored(self.agent, result.output.value(), value.take());
                }
                _ => {}
            }
        }
        Ok(outcome)
    }
}

impl AgentHook {
    /// Returns the name and input of a tool as this hook expects them.
    pub fn tool(&self, event: &Event) -> Option<(String, Value)> {
        Some(tool::call(self.agent, &self.name, event, event.tool_call()?))
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
