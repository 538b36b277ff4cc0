//! What of a verdict an agent gets: where it cannot do what the hooks decided, the verdict turns to the safe side.

use serde_json::Value;

use super::output::{self, Fit};
use super::{Agent, AgentEvent, Fate};
use crate::event::{Event, EventData};
use crate::outcome::{Ruling, Verdict};
use crate::text;

/// How large a changed input may be to be repeated in a reason, in bytes.
const MAX_REPEATED: usize = 4096;

/// How much text Cursor takes, in characters; it throws away what is longer as a whole.
const MAX_CURSOR: usize = 10_000;

/// Whether it may happen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Ruled {
    #[default]
    Pass,
    /// It must not, for this reason, which is never blank.
    Block(String),
    /// The user is to decide.
    Ask(String),
    /// The agent has to stop altogether: what it goes on with would be what a hook took out.
    Stop(String),
}

/// What the agent is to be told. Each part is one that it honours at this event.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Plan {
    pub(crate) ruled: Ruled,
    /// The new input or output.
    pub(crate) changed: Option<Value>,
    /// Text for the model.
    pub(crate) context: Option<String>,
    /// The message with which the agent goes on.
    pub(crate) follow_up: Option<String>,
    pub(crate) warnings: Vec<String>,
}

impl Plan {
    /// What of this verdict the agent gets; `events` are the event as the agent sent it, and as the chain left it.
    pub(crate) fn new(
        agent: Agent,
        at: &AgentEvent,
        verdict: &Verdict,
        events: Option<(&Event, &Event)>,
    ) -> Self {
        let warnings = verdict.warnings.iter().map(|warning| warning.text.clone()).collect();
        let mut planned =
            Planner { agent, at, plan: Self { warnings, ..Self::default() }, context: Vec::new() };
        // What such a hook says is for the user's eyes, as its name is.
        let unheard = verdict.block.as_ref().or(verdict.ask.as_ref()).filter(|ruling| !ruling.trusted);
        if let Some(ruling) = unheard.filter(|ruling| !ruling.for_user().trim().is_empty()) {
            planned.plan.warnings.push(format!("{} (not trusted) says: {}", ruling.by, ruling.for_user()));
        }
        if let Some(block) = &verdict.block {
            planned.block(block);
        } else if let Some(ask) = &verdict.ask {
            planned.ask(ask);
        }
        if let Some((before, after)) = events.filter(|_| verdict.modified) {
            planned.modify(before, after);
        }
        planned.inject(&verdict.context);
        planned.follow_up(&verdict.follow_ups);
        for (name, is_given) in
            [("messages", verdict.mutate.is_some()), ("a callback", verdict.callback.is_some())]
        {
            if is_given {
                planned.left_out(&format!("a hook gives {name}"));
            }
        }
        planned.finish()
    }
}

struct Planner<'a> {
    agent: Agent,
    at: &'a AgentEvent,
    plan: Plan,
    context: Vec<String>,
}

impl Planner<'_> {
    /// What the agent does not do, as the end of a sentence.
    fn cannot(&self) -> String {
        format!("which {} does not take from a hook at {}", self.agent.title(), self.at.name)
    }

    fn left_out(&mut self, what: &str) {
        let warning = format!("{what}, {}: left out", self.cannot());
        self.plan.warnings.push(warning);
    }

    fn block(&mut self, ruling: &Ruling) {
        let reason = ruling.needed_for_model();
        match self.at.block {
            Fate::Honoured | Fate::Blocks => self.plan.ruled = Ruled::Block(reason),
            Fate::Told => {
                let warning = format!("{} blocks, {}: the model is told", ruling.by, self.cannot());
                self.plan.warnings.push(warning);
                self.context.push(reason);
            }
            Fate::Never | Fate::LeftOut => self.left_out(&format!("{} blocks ({reason})", ruling.by)),
        }
    }

    fn ask(&mut self, ruling: &Ruling) {
        let asked = Some(ruling.for_user().trim()).filter(|reason| ruling.trusted && !reason.is_empty());
        match self.at.ask {
            Fate::Honoured => {
                let asks = || format!("{} asks whether this may go on", ruling.known_as);
                self.plan.ruled = Ruled::Ask(asked.map_or_else(asks, str::to_owned));
            }
            Fate::Never | Fate::LeftOut => self.left_out(&format!("{} asks the user", ruling.by)),
            Fate::Blocks | Fate::Told => {
                let why = |who: &str| format!("{who} asks the user, {}: blocked", self.cannot());
                let (told, warning) = (why(&ruling.known_as), why(&ruling.by));
                self.plan.ruled = Ruled::Block(match asked {
                    Some(asked) => format!("{asked} ({told})"),
                    None => told,
                });
                self.plan.warnings.push(warning);
            }
        }
    }

    fn modify(&mut self, before: &Event, after: &Event) {
        match &after.data {
            EventData::BeforeToolCall(call) => {
                let was = before.tool_call().map_or(&Value::Null, |call| call.input.value());
                self.input(was, call.input.value());
            }
            EventData::AfterToolCall(result) => {
                let was = match &before.data {
                    EventData::AfterToolCall(result) => result.output.value(),
                    _ => &Value::Null,
                };
                self.output(&result.call.name, was, result.output.value());
            }
            EventData::UserMessageSend { message } => {
                let message = message.as_deref().unwrap_or_default();
                if self.at.modify == Fate::Honoured && self.plan.ruled == Ruled::Pass {
                    self.plan.changed = Some(message.into());
                    return;
                }
                self.instead("the message", "Send this instead:", message.to_owned());
            }
            EventData::OnError(error) => match self.at.modify {
                Fate::Told => self.context.push(error.message.clone()),
                _ => self.left_out("a hook changed the error's text"),
            },
            _ => {}
        }
    }

    /// A changed input. Of a call that is blocked nothing is left to change.
    fn input(&mut self, was: &Value, new: &Value) {
        if matches!(self.plan.ruled, Ruled::Block(_) | Ruled::Stop(_)) {
            return;
        }
        // Only Claude Code is known to show the user the changed input with its question.
        let asks = matches!(self.plan.ruled, Ruled::Ask(_)) && self.agent != Agent::Claude;
        if self.at.modify == Fate::Honoured && !asks && output::takes_input(self.agent, was, new) {
            self.plan.changed = Some(new.clone());
        } else {
            self.instead("the input of this call", "Call the tool with this input instead:", new.to_string());
        }
    }

    /// Blocks because of a change that the agent cannot make.
    fn instead(&mut self, what: &str, how: &str, new: String) {
        if matches!(self.plan.ruled, Ruled::Block(_)) {
            return;
        }
        let why = format!("a hook changed {what}, {}: blocked", self.cannot_so());
        let mut reason = match &self.plan.ruled {
            Ruled::Ask(asked) => format!("{asked} ({why})"),
            _ => why.clone(),
        };
        if new.len() <= MAX_REPEATED {
            reason = format!("{reason}. {how} {new}");
        }
        self.plan.ruled = Ruled::Block(reason);
        self.plan.warnings.push(why);
    }

    /// What the agent does not do, where it does so with other changes.
    fn cannot_so(&self) -> String {
        if self.at.modify == Fate::Honoured {
            format!("in a way that {} does not take from a hook", self.agent.title())
        } else {
            self.cannot()
        }
    }

    /// A changed output. It holds beside a block, too: what a hook took out stays out.
    fn output(&mut self, tool: &str, was: &Value, new: &Value) {
        match output::fit(self.agent, tool, was, new) {
            Fit::Whole(value) => self.plan.changed = Some(value),
            // The reason of a block stands in the output's place.
            Fit::Reason(_) if matches!(self.plan.ruled, Ruled::Block(_)) => {}
            Fit::Reason(text) => {
                let warning =
                    format!("a hook changed the output: {} shows it as a hook's reason", self.agent.title());
                self.plan.warnings.push(warning);
                self.plan.ruled = Ruled::Block(text);
            }
            Fit::Stops => {
                let why = format!(
                    "a hook changed the output of {}, {}: stopped",
                    text::plain_name(tool),
                    self.cannot_so()
                );
                self.plan.ruled = Ruled::Stop(match &self.plan.ruled {
                    Ruled::Block(reason) => format!("{reason} ({why})"),
                    _ => why.clone(),
                });
                self.plan.warnings.push(why);
            }
            Fit::Told(text) => {
                let why = format!(
                    "a hook changed the output, {}: the model is told, and sees the old one, too",
                    self.cannot()
                );
                self.plan.warnings.push(why);
                self.context
                    .push(format!("A hook replaced the output of this call. Go on with this one: {text}"));
            }
        }
    }

    fn inject(&mut self, texts: &[String]) {
        if texts.is_empty() {
            return;
        }
        // After a tool call the model reads the reason; elsewhere the text of another hook is not a part of it.
        if let (Ruled::Block(reason), "after_tool_call") = (&mut self.plan.ruled, self.at.event) {
            *reason = format!("{reason}\n\n{}", texts.join("\n\n"));
        } else if !matches!(self.plan.ruled, Ruled::Pass | Ruled::Ask(_)) {
            self.plan.warnings.push("a hook gives the model text beside a block: left out".to_owned());
        } else if matches!(self.at.inject, Fate::Honoured | Fate::Told) {
            self.context.extend_from_slice(texts);
        } else {
            self.left_out("a hook gives the model text");
        }
    }

    fn follow_up(&mut self, messages: &[String]) {
        if messages.is_empty() {
            return;
        }
        let message = messages.join("\n\n");
        if self.at.follow_up != Fate::Honoured {
            self.left_out("a hook makes the agent go on");
        } else if message.trim().is_empty() {
            self.plan.follow_up = Some("A hook asks you to go on, and does not say why.".to_owned());
        } else {
            self.plan.follow_up = Some(message);
        }
    }

    fn finish(mut self) -> Plan {
        self.context.retain(|text| !text.trim().is_empty());
        if self.context.is_empty() {
            return self.plan;
        }
        let mut context = self.context.join("\n\n");
        if let Some((at, _)) = context.char_indices().nth(MAX_CURSOR).filter(|_| self.agent == Agent::Cursor)
        {
            context.truncate(at);
            let warning = format!("Cursor takes {MAX_CURSOR} characters for the model: the rest is left out");
            self.plan.warnings.push(warning);
        }
        self.plan.context = Some(context);
        self.plan
    }
}
