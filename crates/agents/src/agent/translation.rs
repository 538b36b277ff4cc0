//! Translates a verdict into a plan for an agent. An answer that the agent cannot follow turns to the safe
//! side.

use serde_json::{Map, Value};

use super::answer::{Decision, Plan};
use super::event::{AgentEvent, EventKind, Fate};
use super::output::ChangedOutput;
use crate::event::{Event, EventData};
use crate::outcome::{Ruling, Verdict, Warning};
use crate::spec::Spec;
use crate::text;
use hookbox_system::limits;

/// The note of a block in place of a question.
const UNASKED: &str = "to be asked in such a case, keep open in a terminal of your own: hookbox approve";

impl Plan {
    /// Returns the plan for this verdict. `events` are the event as the agent sent it, and as the chain left
    /// it.
    pub(crate) fn new(
        spec: &Spec,
        at: &AgentEvent,
        verdict: &Verdict,
        events: Option<(&Event, &Event)>,
    ) -> Self {
        let warnings = verdict.warnings.iter().map(|warning| warning.text.clone()).collect();
        let ruling = verdict.block.as_ref().or(verdict.ask.as_ref()).filter(|ruling| ruling.trusted);
        let is_its = |warning: &&Warning| ruling.is_some_and(|it| warning.hook.as_ref() == Some(&it.by));
        let said = verdict.warnings.iter().filter(is_its).map(|warning| warning.text.clone());
        let said = said.filter(|text| !text.trim().is_empty()).collect();
        let plan = Self { warnings, said, ..Self::default() };
        let mut translation = Translation { spec, at, plan, context: Vec::new() };
        // The words of an untrusted hook are for the user's eyes, as its name is.
        let untrusted = verdict.block.as_ref().or(verdict.ask.as_ref()).filter(|ruling| !ruling.trusted);
        if let Some(ruling) = untrusted.filter(|ruling| !ruling.for_user().trim().is_empty()) {
            let warning = format!("{} (not trusted) says: {}", ruling.by, ruling.for_user());
            translation.plan.warnings.push(warning);
        }
        if let Some(block) = &verdict.block {
            translation.block(block);
        } else if let Some(ask) = &verdict.ask {
            translation.ask(ask);
        }
        if let Some((before, after)) = events.filter(|_| verdict.modified) {
            translation.modify(before, after);
        }
        // An agent without such an answer asks its user as before.
        let allowed = verdict.allowed.as_ref().filter(|_| at.allow);
        if translation.plan.decision == Decision::Pass {
            translation.plan.allowed = allowed.map(Ruling::needed_for_allow);
        }
        translation.inject(&verdict.context);
        translation.follow_up(&verdict.follow_ups);
        for (name, is_given) in
            [("messages", verdict.mutate.is_some()), ("a callback", verdict.callback.is_some())]
        {
            if is_given {
                translation.left_out(&format!("a hook gives {name}"));
            }
        }
        translation.finish()
    }
}

/// A plan in the making.
struct Translation<'a> {
    spec: &'a Spec,
    at: &'a AgentEvent,
    plan: Plan,
    context: Vec<String>,
}

impl Translation<'_> {
    /// Returns the end of a sentence about an answer that the agent does not take.
    fn cannot(&self) -> String {
        format!("which {} does not take from a hook at {}", self.spec.title, self.at.name)
    }

    fn left_out(&mut self, what: &str) {
        let warning = format!("{what}, {}: left out", self.cannot());
        self.plan.warnings.push(warning);
    }

    fn block(&mut self, ruling: &Ruling) {
        let reason = ruling.needed_for_model();
        match self.at.block {
            Fate::Honoured | Fate::Blocks => {
                self.plan.decision = Decision::Block(reason);
                self.plan.code.clone_from(&ruling.code);
            }
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
                self.plan.decision = Decision::Ask(asked.map_or_else(asks, str::to_owned));
            }
            Fate::Never | Fate::LeftOut => self.left_out(&format!("{} asks the user", ruling.by)),
            Fate::Blocks | Fate::Told => {
                let why = |who: &str| format!("{who} asks the user, {}: blocked", self.cannot());
                let (told, warning) = (why(&ruling.known_as), why(&ruling.by));
                self.plan.decision = Decision::Block(match asked {
                    Some(asked) => format!("{asked} ({told})"),
                    None => told,
                });
                self.plan.warnings.push(warning);
                self.plan.warnings.push(UNASKED.to_owned());
            }
        }
    }

    fn modify(&mut self, before: &Event, after: &Event) {
        match &after.data {
            EventData::AfterToolCall(_) if self.at.modify == Fate::LeftOut => {
                self.left_out("a hook changed the output");
            }
            EventData::UserMessageSend { .. } if self.at.modify == Fate::LeftOut => {
                self.left_out("a hook changed the message");
            }
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
                if self.at.modify == Fate::Honoured && self.plan.decision == Decision::Pass {
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

    /// Plans a changed input, unless the call is blocked.
    fn input(&mut self, was: &Value, new: &Value) {
        if matches!(self.plan.decision, Decision::Block(_) | Decision::Stop(_)) {
            return;
        }
        let answers = &self.spec.answers;
        let asks = matches!(self.plan.decision, Decision::Ask(_)) && !answers.asks_with_changed_input;
        let none = Map::new();
        let was = was.as_object().unwrap_or(&none);
        let is_taken = || new.as_object().is_some_and(|new| (answers.takes_input)(was, new));
        if self.at.modify == Fate::Honoured && !asks && is_taken() {
            self.plan.changed = Some(new.clone());
        } else {
            self.instead("the input of this call", "Call the tool with this input instead:", new.to_string());
        }
    }

    /// Blocks because of a change that the agent cannot make.
    fn instead(&mut self, what: &str, how: &str, new: String) {
        if matches!(self.plan.decision, Decision::Block(_)) {
            return;
        }
        let why = format!("a hook changed {what}, {}: blocked", self.cannot_so());
        let mut reason = match &self.plan.decision {
            Decision::Ask(asked) => format!("{asked} ({why})"),
            _ => why.clone(),
        };
        if new.len() <= limits::MESSAGE {
            reason = format!("{reason}. {how} {new}");
        }
        self.plan.decision = Decision::Block(reason);
        self.plan.warnings.push(why);
    }

    /// Like [`Self::cannot`], for a change at an event at which the agent takes other changes.
    fn cannot_so(&self) -> String {
        if self.at.modify == Fate::Honoured {
            format!("in a way that {} does not take from a hook", self.spec.title)
        } else {
            self.cannot()
        }
    }

    /// Plans a changed output, also beside a block: text that a hook took out stays out.
    fn output(&mut self, tool: &str, was: &Value, new: &Value) {
        match (self.spec.answers.changed_output)(tool, was, new) {
            ChangedOutput::Whole(value) => self.plan.changed = Some(value),
            // The reason of a block replaces the output.
            ChangedOutput::Reason(_) if matches!(self.plan.decision, Decision::Block(_)) => {}
            ChangedOutput::Reason(text) => {
                let warning =
                    format!("a hook changed the output: {} shows it as a hook's reason", self.spec.title);
                self.plan.warnings.push(warning);
                self.plan.decision = Decision::Block(text);
            }
            ChangedOutput::Stops => {
                let why = format!(
                    "a hook changed the output of {}, {}: stopped",
                    text::plain_name(tool),
                    self.cannot_so()
                );
                self.plan.decision = Decision::Stop(match &self.plan.decision {
                    Decision::Block(reason) => format!("{reason} ({why})"),
                    _ => why.clone(),
                });
                self.plan.warnings.push(why);
            }
            ChangedOutput::Told(text) => {
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
        // After a tool call the reason is for the model. Elsewhere the text of another hook is not a part of
        // it.
        if let (Decision::Block(reason), EventKind::AfterToolCall) = (&mut self.plan.decision, self.at.event)
        {
            *reason = format!("{reason}\n\n{}", texts.join("\n\n"));
        } else if !matches!(self.plan.decision, Decision::Pass | Decision::Ask(_)) {
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
        let most = self.spec.answers.max_context.unwrap_or(usize::MAX);
        let (mut context, mut is_whole) = (String::new(), true);
        for text in &self.context {
            // A whole text says more than the beginnings of two.
            if !context.is_empty() && context.chars().count() + 2 + text.chars().count() > most {
                is_whole = false;
                continue;
            }
            let gap = if context.is_empty() { "" } else { "\n\n" };
            context.push_str(gap);
            context.push_str(text);
        }
        if let Some((at, _)) = context.char_indices().nth(most) {
            context.truncate(at);
            is_whole = false;
        }
        if !is_whole {
            let title = self.spec.title;
            let warning = format!("{title} takes {most} characters for the model: the rest is left out");
            self.plan.warnings.push(warning);
        }
        self.plan.context = Some(context);
        self.plan
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::Agent;
    use crate::event::{Context, ToolCall};
    use hookbox::internal::tool_result;

    #[test]
    fn a_change_that_an_agent_leaves_out_is_a_warning_and_no_block() {
        let at = AgentEvent::new("postToolUse", EventKind::AfterToolCall).modify(Fate::LeftOut);
        let event = |output| Event {
            context: Arc::new(Context::new("c", "/w")),
            data: EventData::AfterToolCall(tool_result(ToolCall::new("bash", json!({})), output)),
        };
        let mut verdict = Verdict::default();
        verdict.modified = true;
        let (before, after) = (event(json!("old")), event(json!("new")));
        let plan = Plan::new(Agent::Copilot.spec(), &at, &verdict, Some((&before, &after)));
        assert_eq!((plan.decision, plan.changed), (Decision::Pass, None));
        assert_eq!(
            plan.warnings,
            ["a hook changed the output, which Copilot CLI does not take from a hook at postToolUse: left \
                 out"]
        );
    }
}
