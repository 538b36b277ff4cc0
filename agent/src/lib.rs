//! The reference agent: how an agent embeds hookbox.
//!
//! A real agent loop with real tools, in one file. Read [`Agent::run`] first. Each event is sent where it happens,
//! and each verdict is obeyed on the next lines; that is all an agent has to do.

#![allow(
    clippy::indexing_slicing,
    reason = "serde_json: a key that is missing reads as null and is made by writing"
)]

mod model;
mod tools;

use std::time::Instant;

use anyhow::Result;
use hookbox::event::{AfterTurn, AgentStop, ErrorEvent, ErrorSource};
use hookbox::session::{Decision, Notes, Session, Turn};
use hookbox::{Callback, Document, Message, Report, ToolCall, ToolResult, Usage};
use serde_json::{Value, json};

#[cfg(feature = "openai")]
pub use model::OpenAi;
pub use model::{Model, Reply, Scripted};
pub use tools::Tools;

/// Rounds after which the agent stops whatever the model wants.
const MAX_TURNS: u64 = 40;
/// The share of the context window at which `on_budget_exceeded` is sent.
const BUDGET: f64 = 0.8;

/// What happened, for whoever watches.
#[derive(Debug)]
pub enum Step<'a> {
    /// The model said something.
    Said(&'a str),
    /// The model wants to call a tool, with this input.
    Wants(&'a str, &'a Document),
    /// A tool has run and gave this back.
    Ran(&'a str, &'a str),
    /// An event was sent to the hooks.
    Event(&'a Report),
    /// A note of a hook for the user.
    Warning(&'a str),
    /// What the agent does differently because of a hook.
    Because(String),
}

/// An agent: a model, tools, and a session of hooks.
pub struct Agent<M> {
    model: M,
    tools: Tools,
    session: Session,
    messages: Vec<Value>,
    watch: Box<dyn FnMut(Step<'_>)>,
    over_budget: bool,
}

impl<M: Model> Agent<M> {
    /// An agent that works in the directory of `tools` and tells `watch` what happens.
    pub fn new(model: M, tools: Tools, session: Session, watch: impl FnMut(Step<'_>) + 'static) -> Self {
        let prompt = "You are a coding agent. Use the tools; stop when the task is done.";
        let messages = vec![json!({"role": "system", "content": prompt})];
        Self { model, tools, session, messages, watch: Box::new(watch), over_budget: false }
    }

    /// Works on one task until the model and the hooks are done with it; what it said last.
    pub async fn run(&mut self, task: &str) -> Result<String> {
        let started = self.session.session_start("startup").await;
        self.note(&started);

        let sent = self.session.user_message_send(task).await;
        self.note(&sent);
        if let Some(why) = self.stopped(&sent.decision) {
            return Ok(why);
        }
        self.messages.push(json!({"role": "user", "content": sent.message}));

        let mut said = String::new();
        for turn in 1..=MAX_TURNS {
            let reply = match self.model.next(&self.messages, &Tools::schema()).await {
                Ok(reply) => reply,
                Err(error) => {
                    self.failed(ErrorSource::Turn(Some(turn)), format!("{error:#}")).await;
                    return Err(error);
                }
            };
            let used = reply.usage;
            said.clone_from(&reply.text);
            if !said.is_empty() {
                (self.watch)(Step::Said(&said));
            }
            self.messages.push(reply.message.clone());
            for (id, name, arguments) in &reply.calls {
                let output = self.call(ToolCall::from_text(name, arguments).with_id(id)).await;
                self.messages.push(json!({"role": "tool", "tool_call_id": id, "content": output}));
            }
            if !self.after_turn(turn, &reply, used).await? {
                break;
            }
            if reply.calls.is_empty() && !self.stop(turn, &said, used).await? {
                break;
            }
        }
        let ended = self.session.session_end("exit").await;
        self.note(&ended);
        Ok(said)
    }

    /// One tool call: asks the hooks, runs the tool, and lets the hooks see what it gave back.
    async fn call(&mut self, mut call: ToolCall) -> String {
        (self.watch)(Step::Wants(&call.name, &call.input));
        let verdict = self.session.before_tool_call(call.clone()).await;
        self.note(&verdict);
        if verdict.modified {
            (self.watch)(Step::Because(format!("the input is now {}", verdict.input.text())));
        }
        call.input = verdict.input.clone();
        if let Some(why) = self.stopped(&verdict.decision) {
            // A blocked call is over as well, and the hooks after it hear of it.
            let after = self.session.after_tool_call(ToolResult::blocked(call, &why)).await;
            self.note(&after);
            return format!("error: {why}");
        }

        let started = Instant::now();
        let ran = self.tools.run(&call.name, call.input.value()).await;
        let (success, text) = match &ran {
            Ok(text) => (true, text.clone()),
            Err(error) => (false, format!("{error:#}")),
        };
        (self.watch)(Step::Ran(&call.name, &text));
        let output = json!({"toolName": call.name, "success": success, "output": text});
        let mut result = ToolResult::new(call.clone(), output);
        result.duration_ms = u64::try_from(started.elapsed().as_millis()).ok();
        let after = self.session.after_tool_call(result).await;
        self.note(&after);
        if after.modified {
            (self.watch)(Step::Because("the model sees another output than the tool's".to_owned()));
        }
        let mut output =
            after.output.pointer("/output").and_then(Value::as_str).unwrap_or_default().to_owned();
        if ran.is_err() {
            output = format!("error: {}", self.failed(ErrorSource::Tool(call), output).await);
        }
        if let Some(why) = self.stopped(&after.decision) {
            output = format!("{output}\nstop and change course: {why}");
        }
        output
    }

    /// After each answer of the model; whether the agent may go on.
    async fn after_turn(&mut self, turn: u64, reply: &Reply, used: Usage) -> Result<bool> {
        let verdict = self
            .session
            .after_turn(AfterTurn {
                turn_number: Some(turn),
                tools_used: Some(!reply.calls.is_empty()),
                usage: Some(used),
                auto_compact_enabled: Some(true),
                auto_compact_threshold: Some(BUDGET),
                messages: self.conversation(),
            })
            .await;
        self.note(&verdict);
        self.turn(verdict.turn, used).await?;

        #[allow(clippy::cast_precision_loss, reason = "a share of the window needs no exact tokens")]
        let share = used.current_context_window as f64 / used.max_context_window.max(1) as f64;
        if share < BUDGET || std::mem::replace(&mut self.over_budget, true) {
            return Ok(true);
        }
        let exceeded = self.session.on_budget_exceeded(used, BUDGET).await;
        self.note(&exceeded);
        self.turn(exceeded.callback.map(Turn::Callback), used).await?;
        Ok(self.stopped(&exceeded.decision).is_none())
    }

    /// The model has nothing more to do; whether the hooks have.
    async fn stop(&mut self, turn: u64, said: &str, used: Usage) -> Result<bool> {
        let ended = self.session.turn_end(said, turn).await;
        self.note(&ended);
        let stop = AgentStop { messages: self.conversation(), usage: Some(used), ..AgentStop::default() };
        let verdict = self.session.agent_stop(stop).await;
        self.note(&verdict);
        self.turn(verdict.turn, used).await?;
        for message in &verdict.follow_ups {
            (self.watch)(Step::Because(format!("it goes on: {message}")));
            self.messages.push(json!({"role": "user", "content": message}));
        }
        Ok(!verdict.follow_ups.is_empty())
    }

    /// What a hook wants to become of the conversation.
    async fn turn(&mut self, turn: Option<Turn>, used: Usage) -> Result<()> {
        match turn {
            Some(Turn::Mutate(messages)) => self.replace(&messages),
            Some(Turn::Callback(Callback { name, .. })) if name == "compact" || name == "rotate" => {
                self.compact(used).await?;
                if name == "rotate" {
                    let ended = self.session.session_end("rotate").await;
                    self.note(&ended);
                    let started = self.session.session_start("rotate").await;
                    self.note(&started);
                }
            }
            Some(Turn::Callback(Callback { name, .. })) => {
                (self.watch)(Step::Because(format!("no recipe {name}: nothing to run")));
            }
            None => {}
        }
        Ok(())
    }

    async fn compact(&mut self, used: Usage) -> Result<()> {
        let before = self.session.pre_compact("auto", Some(used), self.conversation()).await;
        self.note(&before);
        if self.stopped(&before.decision).is_some() {
            return Ok(());
        }
        let mut question = self.messages.clone();
        question
            .push(json!({"role": "user", "content": "Summarise the work so far, with what is still to do."}));
        let summary = self.model.next(&question, &json!([])).await?.text;
        self.replace(&[Message::user(&summary)]);
        let after = self.session.post_compact("auto", &summary, Some(used)).await;
        self.note(&after);
        Ok(())
    }

    /// Keeps the system prompt and goes on with these messages.
    fn replace(&mut self, messages: &[Message]) {
        let because =
            format!("the conversation of {} messages is now {}", self.messages.len(), messages.len() + 1);
        (self.watch)(Step::Because(because));
        self.messages.truncate(1);
        self.messages.extend(messages.iter().map(|message| json!(message)));
    }

    /// Tells the hooks of a failure; the text to go on with.
    async fn failed(&mut self, source: ErrorSource, message: String) -> String {
        let error = ErrorEvent { source, message, kind: None, attempt: Some(1) };
        let verdict = self.session.on_error(error).await;
        self.note(&verdict);
        verdict.message
    }

    /// The reason for which the agent must not go on. There is nobody to ask here, so a question is a block.
    fn stopped(&mut self, decision: &Decision) -> Option<String> {
        let (ruling, what) = match decision {
            Decision::Proceed => return None,
            Decision::Ask(ruling) => (ruling, "wants to ask you, and nobody is here"),
            Decision::Block(ruling) => (ruling, "blocked it"),
        };
        (self.watch)(Step::Because(format!("it does not happen: {} {what}: {}", ruling.by, ruling.reason)));
        Some(ruling.for_model())
    }

    /// What comes with every verdict: text for the model, notes for the user, the report.
    fn note(&mut self, notes: &Notes) {
        (self.watch)(Step::Event(&notes.report));
        for warning in &notes.warnings {
            (self.watch)(Step::Warning(&warning.text));
        }
        for text in &notes.context {
            (self.watch)(Step::Because(format!("the model is told: {text}")));
            self.messages.push(json!({"role": "system", "content": text}));
        }
    }

    /// The conversation as hooks see it: roles and texts.
    fn conversation(&self) -> Document {
        let messages = self.messages.iter().filter(|message| message["content"].is_string());
        Document::new(messages.map(|m| json!({"role": m["role"], "content": m["content"]})).collect())
    }
}
