//! The loop: a session begins, turns follow, the session ends.
//!
//! ```text
//! session_start
//!   user_message_send                      a block ends the turn with an error
//!     (ask the model)                      on_error if it fails, and the turn ends
//!     on_budget_exceeded                   where the answer crossed a threshold; a block refuses its tool calls
//!     before_tool_call … after_tool_call   for each tool call; on_error where it failed
//!     after_turn                           mutate, or a recipe: pre_compact … post_compact
//!     … until there are no more tool calls
//!   turn_end
//!   agent_stop                             follow-ups, mutate, or a recipe: then the loop goes on
//! session_end
//! ```

use anyhow::{Result, anyhow};
use hookbox::event::{AfterTurn, AgentStop, ErrorEvent, ErrorSource};
use hookbox::outcome::Ruling;
use hookbox::session::{AtThreshold, Decision, Notes, Turn};
use hookbox::{Message, ToolCall};
use serde_json::{Value, json};

use crate::model::{Model, Reply};
use crate::{Agent, Step};

/// The error of a message that a hook blocked. Its text is safe for a model: it has no words of a hook that the
/// user does not trust.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a hook blocked the message: {}", .0.needed_for_model())]
pub struct MessageBlocked(pub Ruling);

/// The number of questions to the model in one turn, whatever it and the hooks want.
pub const MAX_TURNS: u64 = 40;

impl<M: Model> Agent<M> {
    /// Runs a session of one turn: works on the task until the model and the hooks are done. Returns the last
    /// text of the agent.
    ///
    /// # Errors
    ///
    /// [`MessageBlocked`] if a hook blocks the task, or if the model fails. The session has ended properly all
    /// the same.
    pub async fn run(&mut self, task: &str) -> Result<String> {
        self.begin().await;
        let answer = self.turn(task).await;
        self.end("exit").await;
        answer
    }

    /// Begins the session.
    pub async fn begin(&mut self) {
        let source = if self.thread.resumed { "resume" } else { "startup" };
        let started = self.thread.session.session_start(source).await;
        self.note(&started);
        self.thread.tell();
    }

    /// Ends the session for this reason: `exit`, or `interrupt` if its work was interrupted.
    pub async fn end(&mut self, reason: &str) {
        let ended = self.thread.session.session_end(reason).await;
        self.note(&ended);
        self.offer();
    }

    /// Runs one turn: a message of the user, and everything that follows from it. Returns the last text of
    /// the agent.
    ///
    /// # Errors
    ///
    /// [`MessageBlocked`] if a hook blocks the message, or if the model fails.
    pub async fn turn(&mut self, message: &str) -> Result<String> {
        let sent = self.thread.session.user_message_send(message).await;
        self.note(&sent);
        let message = match sent.decision {
            Decision::Proceed(message) => message,
            Decision::Block(ruling) => {
                let why = self.stopped(&ruling, "blocked it");
                self.turn_end(&why, 1).await;
                return Err(MessageBlocked(ruling).into());
            }
        };
        self.thread.conversation.push("user", &message);
        let answer = self.work().await;
        self.thread.leave_recipes();
        self.offer();
        answer
    }

    /// Asks the model and runs the tools that it wants, again and again.
    async fn work(&mut self) -> Result<String> {
        let mut answer = String::new();
        let (mut rounds, mut is_ended) = (0, false);
        for turn in 1..=MAX_TURNS {
            let reply = match self.answer(turn).await {
                Ok(reply) => reply,
                Err(error) => {
                    self.turn_end(&error.to_string(), turn).await;
                    return Err(error);
                }
            };
            answer.clone_from(&reply.text);
            let change = self.obey_answer(turn, &reply).await;
            let goes_on = self.apply(change).await;
            self.offer();
            is_ended = reply.calls.is_empty() && !goes_on;
            if is_ended {
                if !self.stop(turn, &answer, rounds).await {
                    return Ok(answer);
                }
                rounds += 1;
            }
        }
        self.warn(&format!("the model was asked {MAX_TURNS} times: the turn ends here"));
        if !is_ended {
            self.turn_end(&answer, MAX_TURNS).await;
        }
        Ok(answer)
    }

    /// The model's next answer, in the conversation.
    async fn answer(&mut self, turn: u64) -> Result<Reply> {
        self.thread.tell();
        let messages = self.thread.conversation.messages.clone();
        let reply = self.ask(Some(turn), &messages, &self.tools.schema()).await?;
        if !reply.text.is_empty() {
            (self.watch)(Step::Said(&reply.text));
        }
        self.thread.conversation.messages.push(reply.message.clone());
        Ok(reply)
    }

    /// Handles one answer: the budget, the tool calls, the end of the model's turn. Returns the change of the
    /// conversation that hooks want, to be made when nothing of the answer is open any more.
    async fn obey_answer(&mut self, turn: u64, reply: &Reply) -> Option<Turn> {
        let exceeded = self.thread.session.observe_usage(self.thread.conversation.usage).await;
        let (mut refused, mut change) = (None, None);
        if let Some(exceeded) = exceeded {
            self.note(&exceeded);
            refused = exceeded.decision.blocked().map(|ruling| self.stopped(ruling, "blocked it"));
            change = exceeded.callback.map(Turn::Callback);
        }

        // The tokens of an answer with several calls cannot be told apart.
        let cost = if let [_] = reply.calls.as_slice() { reply.usage.output_tokens } else { 0 };
        for (id, name, arguments) in &reply.calls {
            let call = ToolCall::from_text(name, arguments).with_id(id);
            let output = match &refused {
                Some(why) => self.refuse(call, why).await,
                None => self.call(call, cost).await,
            };
            let answer = json!({"role": "tool", "tool_call_id": id, "content": output});
            self.thread.conversation.messages.push(answer);
        }

        let thresholds = self.manager.thresholds();
        let after = AfterTurn {
            turn_number: Some(turn),
            tools_used: Some(!reply.calls.is_empty()),
            usage: Some(self.thread.conversation.usage),
            auto_compact_enabled: Some(thresholds.at == AtThreshold::Compact),
            auto_compact_threshold: Some(thresholds.rotate),
            messages: self.thread.conversation.document(),
        };
        let verdict = self.thread.session.after_turn(after).await;
        self.note(&verdict);
        // As between hooks of one event, the first one wins.
        if change.is_some() && verdict.turn.is_some() && change != verdict.turn {
            self.because("the budget's recipe goes first; what after_turn wants is not done");
        }
        change.or(verdict.turn)
    }

    /// Asks the hooks when the model is done; returns whether they make it go on, after so many rounds in a
    /// row.
    async fn stop(&mut self, turn: u64, answer: &str, rounds: u32) -> bool {
        self.turn_end(answer, turn).await;
        let thresholds = self.manager.thresholds();
        let stop = AgentStop {
            messages: self.thread.conversation.document(),
            usage: Some(self.thread.conversation.usage),
            invoked_recipe: self.thread.session.context().recipe_name.clone(),
            auto_compact_enabled: Some(thresholds.at == AtThreshold::Compact),
            auto_compact_threshold: Some(thresholds.rotate),
            // The session counts messages alone; a recipe makes the agent go on as well.
            follow_ups: rounds,
        };
        let verdict = self.thread.session.agent_stop(stop).await;
        self.note(&verdict);
        self.thread.leave_recipes();
        let goes_on = self.apply(verdict.turn).await;
        let authors = verdict.follow_ups_by.iter().map(String::as_str).chain(std::iter::repeat("a hook"));
        for (message, author) in verdict.follow_ups.iter().zip(authors) {
            self.because(format!("{author} makes it go on: {message}"));
            self.thread.conversation.push("user", message);
        }
        self.offer();
        goes_on || !verdict.follow_ups.is_empty()
    }

    /// A turn of the user is over, however it ended.
    async fn turn_end(&mut self, response: &str, turn: u64) {
        let ended = self.thread.session.turn_end(response, turn).await;
        self.note(&ended);
    }

    /// Makes the change of the conversation that hooks want; returns whether the model is asked again because
    /// of it.
    async fn apply(&mut self, change: Option<Turn>) -> bool {
        match change {
            None => false,
            Some(Turn::Mutate(messages)) => {
                self.replace(&messages);
                false
            }
            Some(Turn::Callback(callback)) => self.call_back(callback).await,
        }
    }

    /// Keeps the system prompt and goes on with these messages.
    pub(crate) fn replace(&mut self, messages: &[Message]) {
        let before = self.thread.conversation.messages.len();
        self.thread.conversation.replace(messages);
        let after = self.thread.conversation.messages.len();
        self.because(format!("the conversation of {before} messages is now {after}"));
    }

    /// Asks the model, and counts the usage. An error continues with the text that the hooks gave it.
    pub(crate) async fn ask(
        &mut self,
        turn: Option<u64>,
        messages: &[Value],
        tools: &Value,
    ) -> Result<Reply> {
        match self.model.next(messages, tools).await {
            Ok(reply) => {
                self.thread.conversation.spend(reply.usage);
                Ok(reply)
            }
            Err(error) => Err(anyhow!(self.failed(ErrorSource::Turn(turn), format!("{error:#}")).await)),
        }
    }

    /// Tells the hooks of a failure, and returns the text to go on with.
    pub(crate) async fn failed(&mut self, source: ErrorSource, message: String) -> String {
        let verdict = self.thread.session.on_error(ErrorEvent::new(source, message)).await;
        self.note(&verdict);
        verdict.message
    }

    /// Tells the user of a block, or of a question that nobody is here to answer. Returns the reason for the model.
    pub(crate) fn stopped(&mut self, ruling: &Ruling, what: &str) -> String {
        self.because(format!("it does not happen: {} {what}: {}", ruling.by, ruling.for_user()));
        if let Some(code) = &ruling.code {
            (self.watch)(Step::Code(code));
        }
        ruling.for_model()
    }

    /// Handles the notes of every verdict: text for the model, notes for the user, the report. The text waits
    /// until the model is asked: nothing may come between a tool call and its result.
    pub(crate) fn note(&mut self, notes: &Notes) {
        (self.watch)(Step::Event(&notes.report));
        for warning in &notes.warnings {
            self.warn(&warning.shown());
        }
        for text in &notes.context {
            self.because(format!("the model is told: {text}"));
        }
        self.thread.notes.extend(notes.context.iter().cloned());
    }
}
