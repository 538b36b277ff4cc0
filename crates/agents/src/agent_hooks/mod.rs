//! Hooks that were written for another agent, as hookbox runs them: their input, and the meaning of their
//! exit code and their answer.
//!
//! An [`AgentHook`] is one hook of an agent at one of that agent's events. [`AgentHook::encode`] writes the
//! event exactly as the agent does, [`outcome`](Wire::outcome) reads the answer, and [`is_for`](Wire::is_for) is the
//! agent's matcher. The names of tools and of the fields of their inputs are the agent's own; a changed input
//! comes back in those of the tool that was called. A block of any of the agents is a block, also if the
//! hook's own agent would not honour it. Nothing here does I/O.
//!
//! [`crate::agent`] is the other direction: the events that an agent sends to hookbox.

mod matcher;
pub(crate) mod payload;
pub(crate) mod rule;
mod sent;

use serde_json::Value;

pub use crate::agent::tools::TOOLS;

use self::rule::Rule;
use self::sent::Sent;
use crate::agent::event::{EventKind, is_after_tool, is_of_subagent};
use crate::agent::{Agent, tools};
use crate::dialect::Wire;
use crate::dialect::claude::{self, MatcherError, Session, Split};
use crate::event::{ErrorSource, Event, EventData, EventName, InvokedBy, ToolKind};
use crate::hook::HookError;
use crate::outcome::{Action, Outcome};
use crate::spec::{CommandHooks, Ended, Spec, ToolEvent};
use crate::text;

/// A name for which hookbox sends no event: the agent has none of this name, or hookbox has not.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unknown(String);

impl Unknown {
    fn only_there(spec: &Spec, name: &str) -> Self {
        Self(format!("hookbox has no event for {}'s {}", spec.title, text::escape(name, 80)))
    }
}

/// Returns the agent's event of this name that exists only for some kinds of tools.
fn tool_event(spec: &Spec, name: &str) -> Option<&'static ToolEvent> {
    spec.hooks.as_ref()?.tool_events.iter().find(|it| it.name == name)
}

/// Returns the event of hookbox to which a hook at this agent's event subscribes. Case counts.
///
/// # Errors
///
/// [`Unknown`] if there is none.
pub fn event_name(agent: Agent, name: &str) -> Result<EventName, Unknown> {
    let spec = agent.spec();
    let has_others = spec.hooks.as_ref().is_some_and(|it| it.has_other_events);
    let is_known = |it: &EventKind| match it {
        EventKind::AfterTurn => false,
        EventKind::Other(_) => has_others,
        _ => true,
    };
    let known = || Some(spec.event(name)?.event).filter(is_known);
    let event = tool_event(spec, name).map(|it| it.event).or_else(known);
    if let Some(event) = event.filter(|_| spec.hooks.is_some()) {
        return Ok(event.event_name());
    }
    if spec.hooks.is_none() || spec.has_event(name) {
        return Err(Unknown::only_there(spec, name));
    }
    let served = spec.events.iter().chain(spec.other_events).map(|it| it.name);
    let names = served.chain(spec.unserved_events.split_ascii_whitespace());
    let meant = text::or_meant(text::nearest(name, names));
    Err(Unknown(format!("unknown event \"{}\" of {}{meant}", text::escape(name, 80), spec.title)))
}

/// Returns true if the agent at work is this one, and sent its event of this name.
fn is_sent(spec: &Spec, name: &str, event: &Event) -> bool {
    let context = &event.context;
    let sent = context.payload.as_ref().is_some_and(|payload| payload.event == name);
    sent && context.agent.as_deref() == Some(spec.name)
}

fn has_worked(data: &EventData) -> bool {
    !matches!(data, EventData::AfterToolCall(result) if result.success == Some(false))
}

/// A command hook of an agent, at one of its events.
#[derive(Clone, Debug)]
pub struct AgentHook {
    agent: Agent,
    spec: &'static Spec,
    hooks: &'static CommandHooks,
    /// The agent's name of the event.
    name: String,
    event: EventName,
    /// The tools that it is for; at other events the source, reason or trigger.
    rule: Rule,
    /// True if it fails without an answer (Cursor's `failClosed`).
    must_answer: bool,
    /// The number of times that it may let the agent go on in a row (Cursor's `loop_limit`).
    loop_limit: Option<u32>,
}

impl AgentHook {
    /// Creates the hook of this agent at its event of this name, for every tool, source and reason.
    ///
    /// # Errors
    ///
    /// [`Unknown`] if the agent has no such event, or hookbox cannot send it.
    pub fn new(agent: Agent, name: &str) -> Result<Self, Unknown> {
        let event = event_name(agent, name)?;
        let spec = agent.spec();
        let unknown = || Unknown::only_there(spec, name);
        let hooks = spec.hooks.as_ref().ok_or_else(unknown)?;
        Ok(Self {
            agent,
            spec,
            hooks,
            name: name.to_owned(),
            event,
            rule: Rule::All,
            must_answer: false,
            loop_limit: None,
        })
    }

    /// Limits the hook to the tools or sources of a matcher, as the agent reads it at this event. Empty or `*` is everything.
    ///
    /// * Claude Code, and Copilot CLI in its PascalCase style: see [`crate::dialect::claude::Matcher::parse`]. Codex: the
    ///   same, without `,` and spaces in a list.
    /// * Gemini CLI, Cursor: a regular expression that may match anywhere in the name of the tool; in Gemini CLI the exact
    ///   word at other events.
    /// * Qwen Code: names separated by `|`, of which a tool may have several, such as `Bash`, `Shell` and `ShellTool`;
    ///   otherwise a regular expression that may match anywhere in the tool's own name.
    /// * Copilot CLI in its camelCase style: a regular expression for the whole name.
    ///
    /// # Errors
    ///
    /// A [`MatcherError`] for a pattern that cannot be compiled within 1 MiB, or is longer than 4096 bytes.
    pub fn matching(mut self, pattern: &str) -> Result<Self, MatcherError> {
        let is_all = matches!(pattern.trim(), "" | "*");
        self.rule = if is_all { Rule::All } else { (self.hooks.matcher)(&self.name, pattern)? };
        Ok(self)
    }

    /// Returns the reason why a word of its matcher fits no tool, as far as that is known: a misspelt tool, a rule for `if`,
    /// an MCP server without its tools.
    pub(crate) fn dead_word(&self, pattern: &str) -> Option<String> {
        let is_of_tools = [EventName::BeforeToolCall, EventName::AfterToolCall].contains(&self.event);
        let tools = is_of_tools.then_some(&self.spec.tools)?;
        let is_known = |name: &str| hookbox_calls::kind_of(name) != ToolKind::Other;
        let title = self.spec.title;
        // `mcp__memory__(a|b)` is a pattern.
        let is_rule = |(tool, rest): &(&str, &str)| {
            is_known(tool) && hookbox_calls::kind_of(tool) != ToolKind::Mcp && rest.ends_with(')')
        };
        if let Some((tool, _)) = pattern.split_once('(').filter(is_rule) {
            return Some(format!("names no tool of {title}; a rule for {tool} belongs into \"if\""));
        }
        let is_name = |word: &&str| {
            !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c))
        };
        let mut words = pattern.split(['|', ',']).map(str::trim).filter(is_name);
        words.find_map(|word| {
            let shown = text::escape(word, 80);
            if word.strip_prefix("mcp__").is_some_and(|rest| !rest.contains("__")) {
                return Some(format!("{shown} names a server without its tools: write {shown}__.*"));
            }
            let nearest = text::nearest(word, tools.own());
            let is_misspelt = !is_known(word) && nearest.is_some() && word.len() > 3;
            is_misspelt.then(|| format!("{title} has no tool {shown}{}", text::or_meant(nearest)))
        })
    }

    /// Returns true if an event is that of its agent. Several events of an agent may be one event of hookbox.
    fn is_event(&self, event: &Event) -> bool {
        let (spec, name) = (self.spec, self.name.as_str());
        if self.event != event.name() {
            return false;
        }
        if let Some(it) = tool_event(spec, name) {
            let kind = event.tool_call().map(|call| hookbox_calls::kind_of(&call.name));
            return kind.is_some_and(|kind| it.kinds.contains(&kind)) && has_worked(&event.data);
        }
        if is_sent(spec, name, event) {
            return true;
        }
        match &event.data {
            EventData::AgentStop(_) => {
                is_of_subagent(name) == (event.context.invoked_by == InvokedBy::Subagent)
            }
            EventData::OnError(error) => match error.source {
                ErrorSource::Tool(_) => is_after_tool(name),
                ErrorSource::Turn(_) => !is_after_tool(name),
                ErrorSource::Hook(_) => false,
            },
            // A further event before a call is that of some calls, which only the agent itself tells apart.
            EventData::BeforeToolCall(_) => {
                let mut before = spec.events.iter().filter(|it| it.event == EventKind::BeforeToolCall);
                before.next().is_none_or(|it| it.name.eq_ignore_ascii_case(name))
            }
            EventData::AfterToolCall(_) if self.hooks.has_failure_event => has_worked(&event.data),
            _ => true,
        }
    }

    /// Lets the hook fail if it prints nothing at an event that it could block (default: no).
    #[must_use]
    pub fn must_answer(mut self, must: bool) -> Self {
        self.must_answer = must;
        self
    }

    /// Sets the number of times that the hook may let the agent go on in a row (default: no limit of its own). After that
    /// it does not run when the agent would stop.
    #[must_use]
    pub fn loop_limit(mut self, limit: Option<u32>) -> Self {
        self.loop_limit = limit;
        self
    }

    /// Returns the hook's input for an event after [`split`](Wire::split); `None` for an event that its agent
    /// does not have.
    ///
    /// Facts about a session that hookbox does not know (the model, the ids of a turn or a prompt) are empty
    /// texts if the agent always sends a text.
    pub fn encode(&self, event: &Event, session: &Session) -> Option<Value> {
        if !self.is_event(event) {
            return None;
        }
        (self.hooks.encode)(&self.name, event, session)
    }
}

impl Wire for AgentHook {
    /// Returns true for the agent's event of this name, and a subject of the matcher.
    ///
    /// A matcher may have any name of a tool: the name of the call, that of the hook's agent, and each
    /// spelling of an MCP tool.
    fn is_for(&self, event: &Event) -> bool {
        if let (Some(limit), EventData::AgentStop(stop)) = (self.loop_limit, &event.data)
            && stop.follow_ups >= limit
        {
            return false;
        }
        self.is_event(event) && self.is_meant(event)
    }

    /// Returns the calls that the hook sees of an event that it is for. Guards look at the one file of a
    /// call, so a call of several files, such as a patch, becomes several calls, unless the hook's agent made
    /// it. See [`Split`] for the answers.
    fn split(&self, event: &Event) -> Split {
        let is_own = event.context.agent.as_deref() == Some(self.spec.name);
        if is_own || !self.hooks.sees_single_files {
            return Split { events: vec![event.clone()], in_parts: false, beyond: None };
        }
        claude::split(event, |event| self.is_for(event))
    }

    /// Returns the input for an event. A hook of the agent that sent the event reads that agent's payload, with
    /// the changes of other hooks; a hook of another agent reads the facts that both agents have.
    fn encode(&self, event: &Event) -> Option<Value> {
        match Sent::of(event) {
            Some(sent) => sent.encode(self, event),
            None => self.encode(event, &Session::default()),
        }
    }

    fn variables(&self, event: &Event) -> Vec<(&'static str, String)> {
        let (id, cwd) = (&event.context.conversation_id, &event.context.cwd);
        let all = [(self.hooks.session_variable, id), (self.hooks.cwd_variable, cwd)];
        all.into_iter().filter_map(|(name, value)| Some((name?, value.clone()))).collect()
    }

    /// Returns the meaning of the exit code and the output. A change is in the words of the agent that sent
    /// the event.
    ///
    /// A block holds also beside a wrong type, a field that cannot be read, or a duplicate.
    ///
    /// # Errors
    ///
    /// `exit` for an exit code that decides nothing, `malformed_output` for an answer that cannot be read and
    /// does not block.
    fn outcome(
        &self,
        event: &Event,
        exit_code: i32,
        stdout: &[u8],
        stderr: &str,
    ) -> Result<Outcome, HookError> {
        let ended = Ended { exit_code, stdout, stderr, must_answer: self.must_answer };
        let mut outcome = (self.hooks.outcome)(event, ended)?;
        let Action::Modify(value) = &mut outcome.action else { return Ok(outcome) };
        match &event.data {
            _ if !self.hooks.restores_changes => {}
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
        Ok(outcome)
    }
}

#[cfg(test)]
mod tests;
