//! The built-in recipes: compaction, and rotation into a fresh conversation.

use anyhow::{Result, ensure};
use hookbox::{Callback, Message, Usage};
use serde_json::json;

use crate::conversation::Thread;
use crate::model::Model;
use crate::recipe::{Builtin, Steps};
use crate::{Agent, Step};

/// The question to the model.
const QUESTION: &str = "Summarise the work so far for whoever goes on with it: the task, what was done, the files that \
                        matter, what is in the way, and the next step.";

impl<M: Model> Agent<M> {
    /// Runs the recipe that a hook asked for; returns whether the model is asked again because of it. If it
    /// is missing or fails, that is reported, and the agent continues as before.
    pub(crate) async fn call_back(&mut self, callback: Callback) -> bool {
        let name = callback.name.as_str();
        let Some(recipe) = self.recipes.get(name) else {
            self.because(format!("there is no recipe {name}: the agent goes on without it"));
            return false;
        };
        match recipe.steps.clone() {
            Steps::Builtin(builtin) => {
                let done = self.built_in(builtin, &callback, "auto").await;
                if !matches!(done, Ok(Some(_))) {
                    // The window is as full as before: the next answer gives hooks another chance to say so.
                    self.thread.session.rearm_budget();
                }
                if let Err(error) = done {
                    (self.watch)(Step::Warning(&format!("the recipe {name} failed: {error:#}")));
                }
                false
            }
            Steps::Message(text) => {
                let message = self.filled(&text, &callback);
                self.because(format!("it runs the recipe {name}"));
                self.thread.enter_recipe(name);
                self.thread.conversation.push("user", &message);
                true
            }
        }
    }

    /// Returns whether the model is asked again after this recipe.
    pub(crate) fn goes_on(&self, callback: &Callback) -> bool {
        let recipe = self.recipes.get(&callback.name);
        recipe.is_some_and(|recipe| matches!(recipe.steps, Steps::Message(_)))
    }

    /// Runs a recipe in a session: a built-in one, and then the message if there is one; else its text and
    /// the message together. Returns the last text of the agent.
    ///
    /// # Errors
    ///
    /// If there is no such recipe, if a built-in one finds an empty conversation, or if the model fails.
    pub async fn run_recipe(&mut self, recipe: &Callback, message: &str) -> Result<String> {
        let steps = self.recipes.expect(&recipe.name)?.steps.clone();
        if let Steps::Message(text) = &steps {
            let text = self.filled(text, recipe);
            self.thread.session = self.thread.session.clone().recipe(&recipe.name);
            return self.run(format!("{text}\n\n{message}").trim()).await;
        }
        ensure!(
            self.thread.conversation.is_begun(),
            "the recipe {} expects a conversation, found a new one; hint: --follow goes on with the one that was saved last, \
             --resume ID with another",
            recipe.name
        );
        self.begin().await;
        let answer = self.by_hand(&steps, recipe, message).await;
        self.end().await;
        answer
    }

    async fn by_hand(&mut self, steps: &Steps, recipe: &Callback, message: &str) -> Result<String> {
        let mut answer = None;
        if let Steps::Builtin(builtin) = steps {
            answer = self.built_in(*builtin, recipe, "manual").await?;
        }
        if !message.is_empty() {
            return self.turn(message).await;
        }
        Ok(answer.unwrap_or_else(|| "The conversation stays as it is.".to_owned()))
    }

    /// The recipe's text with its arguments.
    fn filled(&mut self, text: &str, recipe: &Callback) -> String {
        let (filled, unused) = crate::recipe::fill(text, &recipe.args);
        for name in unused {
            let note = format!("the recipe {} has no place for the argument {name}", recipe.name);
            (self.watch)(Step::Warning(&note));
        }
        filled
    }

    /// Runs a built-in recipe; returns its summary, or `None` if a hook kept the conversation unchanged.
    async fn built_in(
        &mut self,
        builtin: Builtin,
        recipe: &Callback,
        trigger: &str,
    ) -> Result<Option<String>> {
        self.thread.enter_recipe(&recipe.name);
        let done = match builtin {
            Builtin::Compact => self.compact(recipe, trigger).await,
            Builtin::Rotate => self.rotate(recipe, trigger).await,
        };
        self.thread.leave_recipe();
        done
    }

    /// `pre_compact`, a summary in the place of the conversation, `post_compact`. The arguments of the recipe go
    /// to the model with the question: they name what the summary has to keep.
    async fn compact(&mut self, recipe: &Callback, trigger: &str) -> Result<Option<String>> {
        let question = with_notes(QUESTION, &recipe.args);
        let Some(summary) = self.summary(&question, trigger).await? else { return Ok(None) };
        self.replace(&[Message::user(&summary)]);
        self.save();
        self.compacted(trigger, &summary, self.thread.conversation.usage).await;
        self.save();
        Ok(Some(summary))
    }

    /// Sends `pre_compact`, `post_compact` and `session_end` of this conversation, and `session_start` of a
    /// fresh one, which begins with the handoff. The old one stays saved, whole.
    async fn rotate(&mut self, recipe: &Callback, trigger: &str) -> Result<Option<String>> {
        let Some(summary) = self.summary(QUESTION, trigger).await? else { return Ok(None) };
        let handoff = handoff(&summary, &recipe.args);
        self.save();
        let fresh = self.thread.conversation.hand_over(&handoff);
        self.compacted(trigger, &handoff, fresh.usage).await;
        let ended = self.thread.session.session_end("rotate").await;
        self.note(&ended);

        let session = self.fresh_session(&fresh.id);
        let because = format!("conversation {} goes on as {}", self.thread.conversation.id, fresh.id);
        // The context from `post_compact` hooks is for the fresh conversation.
        let notes = std::mem::take(&mut self.thread.notes);
        let depth = self.thread.depth;
        self.thread = Thread { notes, depth, ..Thread::new(session, fresh) };
        self.because(because);
        let started = self.thread.session.session_start("rotate").await;
        self.note(&started);
        self.save();
        Ok(Some(handoff))
    }

    /// Asks the hooks, then the model, for a summary; context from hooks reaches the model with the question.
    /// `None` if a hook keeps the conversation. An empty summary is an error: nothing else would be left.
    async fn summary(&mut self, wanted: &str, trigger: &str) -> Result<Option<String>> {
        self.thread.tell();
        let conversation = &self.thread.conversation;
        let before =
            self.thread.session.pre_compact(trigger, Some(conversation.usage), conversation.document());
        let before = before.await;
        self.note(&before);
        let notes = std::mem::take(&mut self.thread.notes);
        if let Some(ruling) = before.decision.blocked() {
            self.blocked(ruling);
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

    async fn compacted(&mut self, trigger: &str, summary: &str, usage: Usage) {
        let after = self.thread.session.post_compact(trigger, summary, Some(usage)).await;
        self.note(&after);
    }
}

/// Returns the first message of a fresh conversation: the model's summary, and the arguments of the hook that
/// asked for it.
fn handoff(summary: &str, kept: &[(String, String)]) -> String {
    with_notes(&format!("The work goes on from an earlier conversation.\n\n{summary}"), kept)
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
