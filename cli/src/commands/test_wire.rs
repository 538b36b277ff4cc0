//! The wire of an agent for `hookbox test --dialect`.

use std::path::Path;
use std::sync::Arc;

use hookbox::dialect::{Wire as _, claude};
use hookbox::internal::facts;
use hookbox::outcome::Verdict;
use hookbox::{Event, Outcome};
use hookbox_agents::Agent;
use hookbox_agents::agent::Request;
use hookbox_agents::agent_hooks::AgentHook;
use hookbox_authoring::cases::{Sent, Wire};

/// The wire of an agent: its own names of events and tools, its payloads and its answers.
pub(super) struct AgentWire(pub(super) Agent);

impl Wire for AgentWire {
    fn send(&self, event: &Event) -> Result<Option<Box<dyn Sent>>, String> {
        let Self(agent) = *self;
        let mut asked = event.clone();
        let directory = asked.context.cwd.clone();
        if let Some(call) = asked.tool_call_mut() {
            let home = std::env::home_dir();
            call.facts = Arc::new(facts::of(&call.name, &call.input, Path::new(&directory), home.as_deref()));
        }
        let names = agent.events().iter().chain(agent.other_events()).map(|it| it.name);
        let mut hooks = names.filter_map(|name| AgentHook::new(agent, name).ok().map(|hook| (name, hook)));
        let written = hooks.find_map(|(name, hook)| {
            let payload = AgentHook::encode(&hook, &asked, &claude::Session::default())?;
            Some((name, hook, payload))
        });
        let Some((name, hook, payload)) = written else { return Ok(None) };
        let read = agent.read(payload.to_string().as_bytes(), Some(name), &event.context);
        let Some(request) = read.map_err(|error| error.to_string())? else { return Ok(None) };
        Ok(Some(Box::new(SentEvent { asked, hook, request })))
    }
}

/// An event that the agent sent.
struct SentEvent {
    /// The event of the case.
    asked: Event,
    /// The agent's side.
    hook: AgentHook,
    /// The event as it came.
    request: Request,
}

impl Sent for SentEvent {
    fn event(&self) -> &Event {
        &self.request.event
    }

    fn outcome(&self, verdict: &Verdict, event: &Event) -> Result<Outcome, String> {
        let reply = self.request.answer(verdict, event);
        let code = i32::from(reply.exit_code);
        let read = self.hook.outcome(&self.asked, code, reply.stdout.as_bytes(), &reply.stderr);
        read.map_err(|error| error.to_string())
    }
}
