//! The payload of the agent at work, for hooks of an agent: fields that an event does not have.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::AgentHook;
use crate::agent::{Agent, Request};
use crate::dialect::claude::Session;
use crate::event::{Event, EventData};

/// Names of one fact in the payloads of several agents.
const FACTS: [&[&str]; 7] = [
    &["transcript_path", "transcriptPath"],
    &["model"],
    &["prompt_id", "turn_id", "generation_id"],
    &["agent_id", "agentId"],
    &["agent_type", "agentType", "subagent_type"],
    &["custom_instructions", "customInstructions"],
    &["initial_prompt", "initialPrompt"],
];

/// Fields that only one agent has, for its hooks at another of its events.
const OWN: [&str; 3] = ["cursor_version", "user_email", "workspace_roots"];

/// The payload of the agent at work.
pub(super) struct Sent {
    agent: Agent,
    request: Request,
    fields: Map<String, Value>,
}

impl Sent {
    /// Returns the payload that came with an event.
    pub(super) fn of(event: &Event) -> Option<Self> {
        let context = &event.context;
        let (payload, agent) = (context.payload.as_ref()?, context.agent.as_deref()?.parse::<Agent>().ok()?);
        let request = agent.read(&payload.json, Some(&payload.event), context).ok()??;
        let fields = agent.object(&payload.json).ok()?;
        Some(Self { agent, request, fields })
    }

    /// Returns true if a hook at this event of an agent reads exactly this payload.
    pub(super) fn is_for(&self, hook: &AgentHook) -> bool {
        self.agent == hook.agent && self.request.own.name == hook.name
    }

    /// Returns the input of a hook for an event with this payload.
    pub(super) fn encode(&self, hook: &AgentHook, event: &Event) -> Option<Value> {
        let own = self.agent == hook.agent;
        let mode = self.request.session.permission_mode.clone().filter(|_| own);
        let session = Session { permission_mode: mode, ..self.request.session.clone() };
        let input = hook.encode(event, &session);
        if self.is_for(hook) {
            return Some(Value::Object(self.changed(hook, event, &session, input)));
        }
        let Value::Object(mut input) = input? else { return None };
        self.fill(hook, &mut input);
        Some(Value::Object(input))
    }

    /// Returns the payload as it was sent, with the fields that another hook has changed since.
    fn changed(
        &self,
        hook: &AgentHook,
        event: &Event,
        session: &Session,
        now: Option<Value>,
    ) -> Map<String, Value> {
        let mut fields = self.fields.clone();
        let mut before = self.request.event.clone();
        before.context = Arc::clone(&event.context);
        if let EventData::AgentStop(_) = &before.data {
            // The bridge counts follow-ups; no hook changes this event.
            before.data = event.data.clone();
        }
        let before = hook.encode(&before, session);
        let (Some(Value::Object(before)), Some(Value::Object(now))) = (before, now) else { return fields };
        for (name, value) in now.into_iter().filter(|(name, value)| before.get(name) != Some(value)) {
            let is_text = fields.get(&name).is_some_and(Value::is_string);
            let value = if is_text && !value.is_string() { value.to_string().into() } else { value };
            fields.insert(name, value);
        }
        fields
    }

    /// Fills the fields of another agent's input that are empty, or that its agent sends if it knows them.
    fn fill(&self, hook: &AgentHook, input: &mut Map<String, Value>) {
        let is_empty = |value: &Value| value.is_null() || value.as_str() == Some("");
        let is_own = self.agent == hook.agent;
        for (name, value) in input.iter_mut() {
            let is_own_field = is_own && OWN.contains(&name.as_str());
            if let Some(known) = is_own_field.then(|| self.fields.get(name)).flatten() {
                *value = known.clone();
            } else if is_empty(value)
                && let Some(known) = self.fact(name)
            {
                *value = known.clone();
            }
        }
        for name in hook.hooks.optional_fields {
            let known = match *name {
                "mcp_server" => self.server().map(|(server, _)| json!({"name": server})),
                "mcp_context" => self.server().map(
                    |(server, tool)| json!({"server_name": server, "tool_name": tool.unwrap_or_default()}),
                ),
                name => self.fact(name).cloned(),
            };
            if let (Some(known), false) = (known, input.contains_key(*name)) {
                input.insert((*name).to_owned(), known);
            }
        }
    }

    /// Returns a fact by any of its names, if it is a text.
    fn fact(&self, name: &str) -> Option<&Value> {
        let names = FACTS.iter().find(|names| names.contains(&name))?;
        let known = names.iter().filter_map(|name| self.fields.get(*name));
        known.into_iter().find(|value| value.as_str().is_some_and(|text| !text.is_empty()))
    }

    /// Returns the server of an MCP tool, and its name of the tool.
    fn server(&self) -> Option<(&str, Option<&str>)> {
        let text = |field: &str, name: &str| self.fields.get(field)?.get(name)?.as_str();
        let name = self.request.event.tool_call().map(|call| call.name.as_str());
        let tool = name.and_then(|name| Some(hookbox_calls::mcp_names(name).next()?.1));
        match text("mcp_context", "server_name") {
            Some(server) => Some((server, text("mcp_context", "tool_name"))),
            None => Some((text("mcp_server", "name")?, tool)),
        }
    }
}
