//! Rules as a hook.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use serde_json::{Value, json};

use super::counter::Counters;
use super::rule::{Answer, Matched, Unread, shown};
use super::view::View;
use super::{Rule, Rules};
use crate::event::Event;
use crate::hook::{Budget, Cause, Descriptor, Hook, HookError, OnFailure};
use crate::outcome::{Action, Outcome};

/// The time after which other tasks of the thread have their turn.
const SLICE: Duration = Duration::from_millis(2);

/// A rules file as a hook.
#[derive(Debug)]
pub struct RulesHook {
    descriptor: Descriptor,
    rules: Rules,
    homes: Vec<PathBuf>,
    counters: Counters,
}

impl RulesHook {
    /// Makes a hook of these rules, for a user with this home directory. Its counters end with the process.
    pub fn new(descriptor: Descriptor, rules: Rules, home: Option<PathBuf>) -> Self {
        Self { descriptor, rules, homes: homes(home), counters: Counters::in_memory() }
    }

    /// Returns the hook with these counters.
    #[must_use]
    pub(crate) fn with_counters(mut self, counters: Counters) -> Self {
        self.counters = counters;
        self
    }
}

/// Returns the paths of a home directory. Those of a call are resolved, and it may be behind a symlink.
pub(super) fn homes(home: Option<PathBuf>) -> Vec<PathBuf> {
    let real = home.as_ref().and_then(|home| home.canonicalize().ok()).filter(|it| Some(it) != home.as_ref());
    home.into_iter().chain(real).collect()
}

#[async_trait]
impl Hook for RulesHook {
    fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }

    async fn run(&self, event: &Event, _: &Budget) -> Result<Outcome, HookError> {
        let view = View::new(event, &self.homes);
        let mut outcome = Outcome::pass();
        let mut matched: Vec<Value> = Vec::new();
        let mut unread = None;
        let mut since = Instant::now();
        for rule in self.rules.rules() {
            if since.elapsed() > SLICE {
                tokio::task::yield_now().await;
                since = Instant::now();
            }
            let found = match rule.matches(&view) {
                Ok(Some(found)) => found,
                Ok(None) => continue,
                Err(Unread) => {
                    unread = unread.or(Some(rule));
                    continue;
                }
            };
            if let Some(count) = &rule.count
                && !self.counters.reaches(rule, count, event).await?
            {
                continue;
            }
            matched.push(row(rule, &found));
            answer(rule, &mut outcome);
            if matches!(outcome.action, Action::Block(_)) {
                break;
            }
        }
        if let (Some(rule), false) = (unread, matches!(outcome.action, Action::Block(_))) {
            let message = format!(
                "cannot judge this line by {:?}, line {}: it has too many commands within commands, or computes the name of \
                 one; write each command by its name, and run them one by one",
                shown(&rule.name),
                rule.line
            );
            // A failure of a hook that does not guard would lose the question.
            let asks = matches!(outcome.action, Action::Ask(_));
            if !asks || self.descriptor.on_failure == OnFailure::Block {
                return Err(HookError::new(Cause::Internal, message));
            }
            outcome.warnings.push(message);
        }
        if !matched.is_empty() {
            outcome.metadata.insert("rules".to_owned(), matched.into());
        }
        Ok(outcome)
    }
}

/// Describes a rule that matched, for reports.
fn row(rule: &Rule, found: &Matched) -> Value {
    let answer = rule.answer.as_str();
    let mut row = json!({ "name": rule.name, "line": rule.line, "answer": answer, "on": shown(&found.on) });
    if let (Some((key, value)), Some(row)) = (&found.exception, row.as_object_mut()) {
        row.insert("exception".to_owned(), json!({ *key: value }));
    }
    row
}

/// Adds the answer of a rule. The first block or question counts.
fn answer(rule: &Rule, outcome: &mut Outcome) {
    let text = rule.text.clone();
    match (rule.answer, &outcome.action) {
        (Answer::Block, _) => outcome.action = Action::Block(text),
        (Answer::Ask, Action::Pass) => outcome.action = Action::Ask(text),
        (Answer::Ask, _) => {}
        (Answer::Warn, _) => outcome.warnings.push(text),
        (Answer::Inject, _) => outcome.context.push(text),
    }
}
