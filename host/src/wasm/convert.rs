//! Between the host's types and those of the WIT interface.

use serde_json::{Map, Value};
use wasmtime::component::{Resource, ResourceTable, ResourceTableError};

use super::bindings::hookbox::hook::types as wit;
use crate::capability::Capability;
use crate::event::{
    AfterTurn, AgentStop, Context, Document, ErrorSource, Event, EventData, EventName, InvokedBy, Message,
    Role, TokenBudget, ToolCall, ToolKind, ToolResult, Usage,
};
use crate::hook::{Cause, DEFAULT_PRIORITY, HookError, Manifest, OnFailure, Subscription};
use crate::outcome::{Action, Answers, Callback, Outcome};
use hookbox_system::text;

/// Gives the guest its documents, and the part of the conversation that it may see.
pub(super) struct Lower<'a> {
    pub(super) table: &'a mut ResourceTable,
    /// The right `conversation`.
    pub(super) conversation: bool,
    /// True if a part of the conversation was withheld from the guest.
    pub(super) withheld: bool,
}

type Lowered<T> = Result<T, ResourceTableError>;

impl Lower<'_> {
    fn document(&mut self, document: &Document) -> Lowered<Resource<Document>> {
        self.table.push(document.clone())
    }

    /// The messages, or an empty list without the right to see them.
    fn messages(&mut self, messages: &Document) -> Lowered<Resource<Document>> {
        if self.conversation && !messages.is_absent() {
            return self.document(messages);
        }
        self.withheld |= !messages.is_absent();
        self.table.push(Document::new(Value::Array(Vec::new())))
    }

    fn call(&mut self, call: &ToolCall) -> Lowered<wit::ToolCall> {
        Ok(wit::ToolCall {
            id: call.id.clone(),
            name: call.name.clone(),
            kind: kind(call.facts.kind),
            command: call.facts.command.clone(),
            paths: call
                .facts
                .paths
                .iter()
                .map(|path| wit::ResolvedPath { path: path.path.clone(), inside: path.inside })
                .collect(),
            input: self.document(&call.input)?,
        })
    }

    fn result(&mut self, result: &ToolResult) -> Lowered<wit::ToolResult> {
        Ok(wit::ToolResult {
            call: self.call(&result.call)?,
            output: self.document(&result.output)?,
            success: result.success,
            error: result.error.clone(),
            duration_ms: result.duration_ms,
            exit_status: result.exit_status,
            cost_tokens: result.cost_tokens,
        })
    }

    /// The event as the guest sees it.
    pub(super) fn event(&mut self, event: &Event) -> Lowered<wit::Event> {
        Ok(match &event.data {
            EventData::SessionStart { source } => {
                wit::Event::SessionStart(wit::SessionStart { source: source.clone() })
            }
            EventData::SessionEnd { reason } => {
                wit::Event::SessionEnd(wit::SessionEnd { reason: reason.clone() })
            }
            EventData::UserMessageSend { message } => {
                wit::Event::UserMessageSend(wit::UserMessage { message: message.clone().unwrap_or_default() })
            }
            EventData::BeforeToolCall(call) => wit::Event::BeforeToolCall(self.call(call)?),
            EventData::AfterToolCall(result) => wit::Event::AfterToolCall(self.result(result)?),
            EventData::OnError(error) => wit::Event::OnError(wit::ErrorEvent {
                source: match &error.source {
                    ErrorSource::Tool(call) => wit::ErrorSource::Tool(self.call(call)?),
                    ErrorSource::Turn(number) => wit::ErrorSource::Turn(*number),
                    ErrorSource::Hook(name) => wit::ErrorSource::Hook(name.clone()),
                },
                message: error.message.clone(),
                kind: error.kind.clone(),
                attempt: error.attempt,
            }),
            EventData::AfterTurn(turn) => wit::Event::AfterTurn(self.after_turn(turn)?),
            EventData::TurnEnd { response, turn_number } => {
                wit::Event::TurnEnd(wit::TurnEnd { response: response.clone(), turn_number: *turn_number })
            }
            EventData::AgentStop(stop) => wit::Event::AgentStop(self.agent_stop(stop)?),
            EventData::PreCompact { trigger, usage: used, messages } => {
                wit::Event::PreCompact(wit::PreCompact {
                    trigger: trigger.clone(),
                    usage: used.map(usage),
                    messages: self.messages(messages)?,
                })
            }
            EventData::PostCompact { trigger, summary, usage: used } => {
                self.withheld |= !self.conversation && summary.is_some();
                wit::Event::PostCompact(wit::PostCompact {
                    trigger: trigger.clone(),
                    summary: summary.clone().filter(|_| self.conversation),
                    usage: used.map(usage),
                })
            }
            EventData::OnBudgetExceeded { usage: used, threshold } => {
                wit::Event::OnBudgetExceeded(wit::BudgetExceeded {
                    usage: used.map(usage),
                    threshold: *threshold,
                })
            }
            EventData::Other { name, data } => wit::Event::Other(wit::CustomEvent {
                name: name.clone(),
                data: self.table.push(Document::new(Value::Object(data.clone())))?,
            }),
        })
    }

    fn after_turn(&mut self, turn: &AfterTurn) -> Lowered<wit::AfterTurn> {
        Ok(wit::AfterTurn {
            turn_number: turn.turn_number,
            tools_used: turn.tools_used,
            usage: turn.usage.map(usage),
            auto_compact_enabled: turn.auto_compact_enabled,
            auto_compact_threshold: turn.auto_compact_threshold,
            messages: self.messages(&turn.messages)?,
        })
    }

    fn agent_stop(&mut self, stop: &AgentStop) -> Lowered<wit::AgentStop> {
        Ok(wit::AgentStop {
            messages: self.messages(&stop.messages)?,
            usage: stop.usage.map(usage),
            invoked_recipe: stop.invoked_recipe.clone(),
            auto_compact_enabled: stop.auto_compact_enabled,
            auto_compact_threshold: stop.auto_compact_threshold,
            follow_ups: stop.follow_ups,
        })
    }
}

/// The context of an event as the guest sees it.
pub(super) fn context(event: &Event) -> wit::Context {
    let context: &Context = &event.context;
    wit::Context {
        conversation_id: context.conversation_id.clone(),
        cwd: context.cwd.clone(),
        invoked_by: match context.invoked_by {
            InvokedBy::Main => wit::InvokedBy::Main,
            InvokedBy::Subagent => wit::InvokedBy::Subagent,
        },
        recipe_name: context.recipe_name.clone().filter(|name| !name.is_empty()),
        agent: context.agent.clone(),
        repository: context.repository.clone(),
        branch: context.branch.clone(),
        mode: context.mode.clone(),
        timestamp_ms: context.timestamp_ms,
        budget: event.budget().map(|TokenBudget { used_tokens, effective_limit }| wit::TokenBudget {
            used_tokens,
            effective_limit,
        }),
    }
}

fn kind(kind: ToolKind) -> wit::ToolKind {
    match kind {
        ToolKind::Shell => wit::ToolKind::Shell,
        ToolKind::Read => wit::ToolKind::Read,
        ToolKind::Write => wit::ToolKind::Write,
        ToolKind::Edit => wit::ToolKind::Edit,
        ToolKind::Search => wit::ToolKind::Search,
        ToolKind::Fetch => wit::ToolKind::Fetch,
        ToolKind::Mcp => wit::ToolKind::Mcp,
        ToolKind::Agent => wit::ToolKind::Agent,
        ToolKind::Other => wit::ToolKind::Other,
    }
}

fn usage(usage: Usage) -> wit::Usage {
    wit::Usage {
        input_tokens: usage.input_tokens,
        output_tokens: usage.output_tokens,
        current_context_window: usage.current_context_window,
        max_context_window: usage.max_context_window,
    }
}

/// Converts the answer of the guest.
///
/// # Errors
///
/// [`Cause::MalformedOutput`] for an invalid JSON value.
pub(super) fn outcome(response: wit::Response) -> Result<Outcome, HookError> {
    let mut outcome = Outcome { context: response.context, warnings: response.warnings, ..Outcome::pass() };
    outcome.metadata = response
        .metadata
        .into_iter()
        .map(|(key, value)| Ok((key, json("metadata", &value)?)))
        .collect::<Result<Map<_, _>, HookError>>()?;
    outcome.action = match response.action {
        wit::Action::Pass => Action::Pass,
        wit::Action::Block(reason) => Action::Block(reason),
        wit::Action::Ask(reason) => Action::Ask(reason),
        wit::Action::Modify(text) => {
            let value = json("modify", &text)?;
            outcome.exact = Some(Document::from_text(&text)).filter(Document::is_exact);
            Action::Modify(value)
        }
        wit::Action::Allow(reason) => Action::Allow(reason),
        wit::Action::FollowUp(messages) => {
            outcome.follow_ups = messages;
            Action::Pass
        }
        wit::Action::Mutate(messages) if messages.is_empty() => {
            return Err(malformed("`mutate` without messages"));
        }
        wit::Action::Callback(callback) if callback.name.is_empty() => {
            return Err(malformed("`callback` without a name"));
        }
        wit::Action::Mutate(messages) => {
            Action::Mutate(messages.into_iter().map(message).collect::<Result<_, _>>()?)
        }
        wit::Action::Callback(callback) => {
            Action::Callback(Callback { name: callback.name, args: callback.args })
        }
    };
    Ok(outcome)
}

fn message(message: wit::Message) -> Result<Message, HookError> {
    let Some(role) = Role::from_name(&message.role) else {
        let found = text::escape(&message.role, 40);
        return Err(malformed(&format!("`mutate` and the role \"{found}\", expected {}", Role::NAMES)));
    };
    Ok(Message::new(role, message.content))
}

fn malformed(what: &str) -> HookError {
    HookError::new(Cause::MalformedOutput, format!("answered with {what}"))
}

fn json(what: &str, text: &str) -> Result<Value, HookError> {
    serde_json::from_str(text).map_err(|error| {
        let found = text::escape(text, 80);
        HookError::new(Cause::MalformedOutput, format!("its `{what}` is not JSON ({error}): {found}"))
    })
}

/// Converts the manifest of the guest.
///
/// # Errors
///
/// [`Cause::Incompatible`] for an unknown event: a guard that waits for an event that never comes would guard
/// nothing.
pub(super) fn manifest(manifest: wit::Manifest) -> Result<Manifest, HookError> {
    let subscriptions =
        manifest.subscriptions.into_iter().map(subscription).collect::<Result<Vec<_>, _>>()?;
    if subscriptions.is_empty() {
        return Err(HookError::new(Cause::Incompatible, "subscribes to no event, so it would never run"));
    }
    let declared = manifest.answers;
    let mut capabilities =
        manifest.capabilities.into_iter().map(capability).collect::<Result<Vec<_>, _>>()?;
    // The user has to grant this answer, as a right.
    if declared.contains(wit::Answers::ALLOW) {
        capabilities.push(Capability::Allow);
    }
    Ok(Manifest {
        name: manifest.name,
        version: manifest.version,
        description: manifest.description,
        subscriptions,
        answers: Answers {
            modify: declared.contains(wit::Answers::MODIFY),
            inject: declared.contains(wit::Answers::INJECT),
            follow_up: declared.contains(wit::Answers::FOLLOW_UP),
            mutate: declared.contains(wit::Answers::MUTATE),
            callback: declared.contains(wit::Answers::CALLBACK),
            allow: declared.contains(wit::Answers::ALLOW),
        },
        capabilities,
        on_failure: manifest.on_failure.map(|policy| match policy {
            wit::OnFailure::Pass => OnFailure::Pass,
            wit::OnFailure::Block => OnFailure::Block,
        }),
        // They are in a section of the component.
        settings: None,
    })
}

fn subscription(subscription: wit::Subscription) -> Result<Subscription, HookError> {
    let event = subscription.event.parse::<EventName>().map_err(|unknown| {
        HookError::new(
            Cause::Incompatible,
            format!(
                "subscribes to \"{}\", which is not an event{}",
                text::escape(&unknown.name, 80),
                text::or_meant(unknown.nearest)
            ),
        )
    })?;
    Ok(Subscription {
        event,
        tools: subscription.tools,
        priority: subscription.priority.unwrap_or(DEFAULT_PRIORITY),
        observe: subscription.observe,
    })
}

/// A right that it asks for, in the host's type.
fn capability(capability: wit::Capability) -> Result<Capability, HookError> {
    let written = match capability {
        wit::Capability::Read(path) => format!("read:{path}"),
        wit::Capability::ReadWrite(path) => format!("read-write:{path}"),
        wit::Capability::Env(name) => format!("env:{name}"),
        wit::Capability::Http(origin) => format!("http:{origin}"),
        wit::Capability::Store => return Ok(Capability::Store),
        wit::Capability::Conversation => return Ok(Capability::Conversation),
        wit::Capability::WorkTree => return Ok(Capability::WorkTree),
    };
    written.parse().map_err(|error| {
        HookError::new(Cause::Incompatible, format!("asks for what cannot be enforced: {error}"))
    })
}
