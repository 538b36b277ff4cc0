//! The component form of a hook: between the generated bindings and the types of this crate.

pub(crate) mod facts;
pub(crate) mod http;
pub(crate) mod state;

use std::marker::PhantomData;

use bindings::exports::hookbox::hook::hook as export;
use bindings::hookbox::hook::types as wit;

use crate::event::EventData;
use crate::{
    Action, AfterTurn, AgentStop, Answer, BudgetExceeded, Capability, Context, Error, ErrorEvent,
    ErrorSource, Event, Give, Hook, InvokedBy, Level, Manifest, OnFailure, PostCompact, PreCompact,
    ResolvedPath, SessionEnd, SessionStart, TokenBudget, ToolCall, ToolKind, ToolResult, TurnEnd, Usage,
    UserMessage, hook,
};

#[allow(
    unsafe_code,
    missing_docs,
    unreachable_pub,
    clippy::all,
    clippy::pedantic,
    clippy::restriction,
    reason = "generated from wit/"
)]
pub mod bindings {
    // Imports that a hook does not use do not appear in its component.
    wit_bindgen::generate!({
        path: "wit",
        inline: "
            package hookbox:sdk;

            world guest {
                import hookbox:hook/types@0.2.0;
                import hookbox:hook/facts@0.2.0;
                import hookbox:hook/work-tree@0.2.0;
                import wasi:logging/logging@0.1.0-draft;
                import wasi:config/store@0.2.0-rc.1;
                import wasi:keyvalue/store@0.2.0-draft;
                import wasi:keyvalue/atomics@0.2.0-draft;
                import wasi:http/outgoing-handler@0.2.12;
                export hookbox:hook/hook@0.2.0;
            }
        ",
        world: "hookbox:sdk/guest",
        pub_export_macro: true,
        export_macro_name: "export_component",
        default_bindings_module: "hookbox_sdk::__private::bindings",
        generate_all,
    });
}
pub use bindings::export_component;

/// The exports of a component that is a [`Hook`].
pub struct Component<H>(PhantomData<H>);

impl<H: Hook> export::Guest for Component<H> {
    fn describe() -> wit::Manifest {
        H::manifest().into()
    }

    fn run(context: wit::Context, event: wit::Event) -> Result<wit::Response, String> {
        hook::dispatch::<H>(&context.into(), &event.into()).map(Into::into).map_err(|error| error.to_string())
    }
}

/// Writes one note to the host's log.
pub(crate) fn log(level: Level, target: &str, message: &str) {
    use bindings::wasi::logging::logging as wasi;

    let level = match level {
        Level::Debug => wasi::Level::Debug,
        Level::Info => wasi::Level::Info,
        Level::Warn => wasi::Level::Warn,
        Level::Error => wasi::Level::Error,
    };
    wasi::log(level, target, message);
}

/// The hook's own settings.
pub(crate) fn settings() -> Result<Vec<(String, String)>, Error> {
    use bindings::wasi::config::store::{self, Error as StoreError};

    store::get_all().map_err(|error| match error {
        StoreError::Upstream(text) | StoreError::Io(text) => Error::new(text).within("settings"),
    })
}

impl From<wit::Usage> for Usage {
    fn from(usage: wit::Usage) -> Self {
        Self {
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            current_context_window: usage.current_context_window,
            max_context_window: usage.max_context_window,
        }
    }
}

impl From<wit::Context> for Context {
    fn from(cx: wit::Context) -> Self {
        Self {
            conversation_id: cx.conversation_id,
            cwd: cx.cwd,
            invoked_by: match cx.invoked_by {
                wit::InvokedBy::Main => InvokedBy::Main,
                wit::InvokedBy::Subagent => InvokedBy::Subagent,
            },
            recipe_name: cx.recipe_name,
            agent: cx.agent,
            repository: cx.repository,
            branch: cx.branch,
            mode: cx.mode,
            timestamp_ms: cx.timestamp_ms,
            budget: cx
                .budget
                .map(|b| TokenBudget { used_tokens: b.used_tokens, effective_limit: b.effective_limit }),
        }
    }
}

impl From<wit::ToolCall> for ToolCall {
    fn from(call: wit::ToolCall) -> Self {
        Self {
            id: call.id,
            name: call.name,
            kind: match call.kind {
                wit::ToolKind::Shell => ToolKind::Shell,
                wit::ToolKind::Read => ToolKind::Read,
                wit::ToolKind::Write => ToolKind::Write,
                wit::ToolKind::Edit => ToolKind::Edit,
                wit::ToolKind::Search => ToolKind::Search,
                wit::ToolKind::Fetch => ToolKind::Fetch,
                wit::ToolKind::Mcp => ToolKind::Mcp,
                wit::ToolKind::Agent => ToolKind::Agent,
                wit::ToolKind::Other => ToolKind::Other,
            },
            command: call.command,
            paths: call
                .paths
                .into_iter()
                .map(|found| ResolvedPath { path: found.path, inside: found.inside })
                .collect(),
            input: call.input.into(),
        }
    }
}

impl From<wit::Event> for EventData {
    fn from(event: wit::Event) -> Self {
        match event {
            wit::Event::SessionStart(e) => Self::SessionStart(SessionStart { source: e.source }),
            wit::Event::SessionEnd(e) => Self::SessionEnd(SessionEnd { reason: e.reason }),
            wit::Event::UserMessageSend(e) => Self::UserMessageSend(UserMessage { message: e.message }),
            wit::Event::BeforeToolCall(call) => Self::BeforeToolCall(call.into()),
            wit::Event::AfterToolCall(e) => Self::AfterToolCall(ToolResult {
                call: e.call.into(),
                output: e.output.into(),
                success: e.success,
                error: e.error,
                duration_ms: e.duration_ms,
                exit_status: e.exit_status,
                cost_tokens: e.cost_tokens,
            }),
            wit::Event::OnError(e) => Self::OnError(ErrorEvent {
                source: match e.source {
                    wit::ErrorSource::Tool(call) => ErrorSource::Tool(call.into()),
                    wit::ErrorSource::Turn(number) => ErrorSource::Turn(number),
                    wit::ErrorSource::Hook(name) => ErrorSource::Hook(name),
                },
                message: e.message,
                kind: e.kind,
                attempt: e.attempt,
            }),
            wit::Event::AfterTurn(e) => Self::AfterTurn(AfterTurn {
                turn_number: e.turn_number,
                tools_used: e.tools_used,
                usage: e.usage.map(Into::into),
                auto_compact_enabled: e.auto_compact_enabled,
                auto_compact_threshold: e.auto_compact_threshold,
                messages: e.messages.into(),
            }),
            wit::Event::TurnEnd(e) => {
                Self::TurnEnd(TurnEnd { response: e.response, turn_number: e.turn_number })
            }
            wit::Event::AgentStop(e) => Self::AgentStop(AgentStop {
                messages: e.messages.into(),
                usage: e.usage.map(Into::into),
                invoked_recipe: e.invoked_recipe,
                auto_compact_enabled: e.auto_compact_enabled,
                auto_compact_threshold: e.auto_compact_threshold,
                follow_ups: e.follow_ups,
            }),
            wit::Event::PreCompact(e) => Self::PreCompact(PreCompact {
                trigger: e.trigger,
                usage: e.usage.map(Into::into),
                messages: e.messages.into(),
            }),
            wit::Event::PostCompact(e) => Self::PostCompact(PostCompact {
                trigger: e.trigger,
                summary: e.summary,
                usage: e.usage.map(Into::into),
            }),
            wit::Event::OnBudgetExceeded(e) => Self::OnBudgetExceeded(BudgetExceeded {
                usage: e.usage.map(Into::into),
                threshold: e.threshold,
            }),
            wit::Event::Other(e) => Self::Other { name: e.name, data: e.data.into() },
        }
    }
}

impl From<Answer> for wit::Response {
    fn from(given: Answer) -> Self {
        let action = match given.action {
            Action::Pass => wit::Action::Pass,
            Action::Block(reason) => wit::Action::Block(reason),
            Action::Ask(reason) => wit::Action::Ask(reason),
            Action::Allow(reason) => wit::Action::Allow(reason),
            Action::Modify(value) => wit::Action::Modify(value.to_string()),
            Action::FollowUp(messages) => wit::Action::FollowUp(messages),
            Action::Mutate(messages) => wit::Action::Mutate(
                messages.into_iter().map(|m| wit::Message { role: m.role, content: m.content }).collect(),
            ),
            Action::Callback(callback) => {
                wit::Action::Callback(wit::Callback { name: callback.name, args: callback.args })
            }
        };
        let metadata = given.metadata.into_iter().map(|(key, value)| (key, value.to_string())).collect();
        Self { action, context: given.context, warnings: given.warnings, metadata }
    }
}

impl From<Manifest> for wit::Manifest {
    fn from(manifest: Manifest) -> Self {
        let subscription = |s: crate::Subscription| wit::Subscription {
            event: match s.event {
                Event::Other(name) => name,
                known => known.as_str().to_owned(),
            },
            tools: s.tools,
            priority: s.priority,
            observe: s.observe,
        };
        let give = |give: &Give| match give {
            Give::Modify => wit::Answers::MODIFY,
            Give::Inject => wit::Answers::INJECT,
            Give::FollowUp => wit::Answers::FOLLOW_UP,
            Give::Mutate => wit::Answers::MUTATE,
            Give::Callback => wit::Answers::CALLBACK,
            Give::Allow => wit::Answers::ALLOW,
        };
        let capability = |capability| match capability {
            Capability::Read(path) => wit::Capability::Read(path),
            Capability::ReadWrite(path) => wit::Capability::ReadWrite(path),
            Capability::Env(name) => wit::Capability::Env(name),
            Capability::Http(origin) => wit::Capability::Http(origin),
            Capability::Store => wit::Capability::Store,
            Capability::Conversation => wit::Capability::Conversation,
            Capability::WorkTree => wit::Capability::WorkTree,
        };
        Self {
            name: manifest.name,
            version: manifest.version,
            description: manifest.description,
            subscriptions: manifest.subscriptions.into_iter().map(subscription).collect(),
            answers: manifest.answers.iter().map(give).fold(wit::Answers::empty(), |all, one| all | one),
            capabilities: manifest.capabilities.into_iter().map(capability).collect(),
            on_failure: manifest.on_failure.map(|policy| match policy {
                OnFailure::Pass => wit::OnFailure::Pass,
                OnFailure::Block => wit::OnFailure::Block,
            }),
        }
    }
}
