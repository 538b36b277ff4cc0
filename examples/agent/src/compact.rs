//! The recipes of hooks and of the command line: compaction, rotation into a fresh conversation, or a message.

use anyhow::{Result, bail, ensure};
use hookbox::{Callback, Message};
use serde_json::json;

use crate::Agent;
use crate::conversation::Thread;
use crate::model::Model;

/// The question to the model.
const QUESTION: &str = "Summarise the work so far for whoever goes on with it: the task, what was done, the files that \
                        matter, what is in the way, and the next step.";

/// The recipes that are part of the agent. Hooks ask for them, so that no other recipe takes their names.
const BUILT_IN: [&str; 2] = ["compact", "rotate"];

impl<M: Model> Agent<M> {
    /// Runs the recipe that a hook asked for; returns whether the model is asked again because of it. If it
    /// is missing or fails, that is reported, and the agent continues as before.
    pub(crate) async fn call_back(&mut self, callback: Callback) -> bool {
        let name = callback.name.as_str();
        if BUILT_IN.contains(&name) {
            let done = self.built_in(&callback, "auto").await;
            if !matches!(done, Ok(Some(_))) {
                // The window is as full as before: the next answer gives hooks another chance to say so.
                self.thread.session.rearm_budget();
            }
            if let Err(error) = done {
                self.warn(&format!("the recipe {name} failed: {error:#}"));
            }
            return false;
        }
        let Some(message) = self.filled(&callback) else {
            self.because(format!("there is no recipe {name}: the agent goes on without it"));
            return false;
        };
        self.because(format!("it runs the recipe {name}"));
        self.thread.enter_recipe(name);
        self.thread.conversation.push("user", &message);
        true
    }

    /// Runs a recipe in a session: a built-in one, and then the message if there is one; else its text and
    /// the message together. Returns the last text of the agent.
    ///
    /// # Errors
    ///
    /// If there is no such recipe, if a built-in one finds an empty conversation, or if the model fails.
    pub async fn run_recipe(&mut self, recipe: &Callback, message: &str) -> Result<String> {
        let name = &recipe.name;
        if !BUILT_IN.contains(&name.as_str()) {
            let Some(text) = self.filled(recipe) else { bail!("there is no recipe {name:?}") };
            self.thread.session = self.thread.session.clone().recipe(name);
            self.thread.outside = self.thread.session.clone();
            return self.run(format!("{text}\n\n{message}").trim()).await;
        }
        ensure!(
            self.thread.conversation.is_begun(),
            "the recipe {name} expects a conversation, found a new one; hint: resume one that was saved"
        );
        self.begin().await;
        let mut answer = self.built_in(recipe, "manual").await;
        if answer.is_ok() && !message.is_empty() {
            answer = self.turn(message).await.map(Some);
        }
        self.end("exit").await;
        Ok(answer?.unwrap_or_else(|| "The conversation stays as it is.".to_owned()))
    }

    /// The text of a recipe that is a message, with its arguments.
    fn filled(&mut self, recipe: &Callback) -> Option<String> {
        let text = self.recipes.get(&recipe.name)?.clone();
        for (name, _) in recipe.args.iter().filter(|(name, _)| !text.contains(&format!("{{{name}}}"))) {
            self.warn(&format!("the recipe {} has no place for the argument {name}", recipe.name));
        }
        let fill =
            |text: String, (name, value): &(String, String)| text.replace(&format!("{{{name}}}"), value);
        Some(recipe.args.iter().fold(text, fill))
    }

    /// Runs a built-in recipe; returns its summary, or `None` if a hook kept the conversation unchanged.
    async fn built_in(&mut self, recipe: &Callback, trigger: &str) -> Result<Option<String>> {
        let before = self.thread.enter_recipe(&recipe.name);
        let id = self.thread.conversation.id.clone();
        let done = match recipe.name.as_str() {
            "compact" => self.compact(recipe, trigger).await,
            _ => self.rotate(recipe, trigger).await,
        };
        // A fresh conversation has a session of its own.
        if self.thread.conversation.id == id {
            self.thread.session = before;
        }
        done
    }

    /// `pre_compact`, a summary in the place of the conversation, `post_compact`. The arguments of the recipe go
    /// to the model with the question: they name what the summary has to keep.
    async fn compact(&mut self, recipe: &Callback, trigger: &str) -> Result<Option<String>> {
        let question = with_notes(QUESTION, &recipe.args);
        let Some(summary) = self.summary(&question, trigger).await? else { return Ok(None) };
        self.replace(&[Message::user(&summary)]);
        let usage = self.thread.conversation.known_usage();
        let after = self.thread.session.post_compact(trigger, &summary, usage).await;
        self.note(&after);
        self.offer();
        Ok(Some(summary))
    }

    /// Sends `pre_compact`, `post_compact` and `session_end` of this conversation, and `session_start` of a
    /// fresh one, which begins with the handoff: the summary, and the arguments of the hook that asked for it.
    async fn rotate(&mut self, recipe: &Callback, trigger: &str) -> Result<Option<String>> {
        let Some(summary) = self.summary(QUESTION, trigger).await? else { return Ok(None) };
        let handoff = format!("The work goes on from an earlier conversation.\n\n{summary}");
        let handoff = with_notes(&handoff, &recipe.args);
        self.offer();
        let fresh = self.thread.conversation.hand_over(&handoff);
        let after = self.thread.session.post_compact(trigger, &handoff, fresh.known_usage()).await;
        self.note(&after);
        let ended = self.thread.session.session_end("rotate").await;
        self.note(&ended);

        self.because(format!("conversation {} goes on as {}", self.thread.conversation.id, fresh.id));
        let session = self.fresh_session(&fresh.id);
        // The context from `post_compact` hooks is for the fresh conversation.
        let notes = std::mem::take(&mut self.thread.notes);
        let depth = self.thread.depth;
        self.thread = Thread { notes, depth, ..Thread::new(session, fresh) };
        let started = self.thread.session.session_start("rotate").await;
        self.note(&started);
        self.offer();
        Ok(Some(handoff))
    }

    /// Asks the hooks, then the model, for a summary; context from hooks reaches the model with the question.
    /// `None` if a hook keeps the conversation. An empty summary is an error: nothing else would be left.
    async fn summary(&mut self, wanted: &str, trigger: &str) -> Result<Option<String>> {
        self.thread.tell();
        let (usage, seen) = (self.thread.conversation.known_usage(), self.thread.conversation.document());
        let before = self.thread.session.pre_compact(trigger, usage, seen).await;
        self.note(&before);
        let notes = std::mem::take(&mut self.thread.notes);
        if let Some(ruling) = before.decision.blocked() {
            self.stopped(ruling, "blocked it");
            return Ok(None);
        }
        let mut question = self.thread.conversation.messages.clone();
        question.extend(notes.iter().map(|text| json!({"role": "system", "content": text})));
        question.push(json!({"role": "user", "content": wanted}));
        let window = self.thread.conversation.usage.current_context_window;
        let reply = self.ask(None, &question, &json!([])).await?;
        self.thread.conversation.usage.current_context_window = window;
        ensure!(
            !reply.text.trim().is_empty(),
            "expected a summary, found an empty answer: the conversation stays as it is"
        );
        Ok(Some(reply.text))
    }
}

/// Returns a text with the arguments of a recipe below it.
fn with_notes(text: &str, args: &[(String, String)]) -> String {
    let mut text = text.to_owned();
    for (name, value) in args {
        // A document has no name; anything else is a note with a name.
        let name = if name == "handoff" { String::new() } else { format!("{name}: ") };
        text.push_str(&format!("\n\n{name}{value}"));
    }
    text
}
