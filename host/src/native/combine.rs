//! Runs one hook for each file of a call, and combines the answers.

use std::future::Future;
use std::time::Instant;

use super::process::Printed;
use super::with_log;
use crate::dialect::Wire;
use crate::dialect::exact::{self, Exact};
use crate::event::{Event, EventData};
use crate::hook::{Budget, Cause, HookError};
use crate::outcome::{Action, Outcome};

/// Runs a hook for each part of an event on its wire, within one budget. `end` gets the JSON of a part, and returns an exit
/// code with the output; `None` if there is no answer.
pub(crate) async fn on_wire<R>(
    wire: &dyn Wire,
    event: &Event,
    budget: &Budget,
    end: impl Fn(String, Budget) -> R,
) -> Result<Outcome, HookError>
where
    R: Future<Output = Result<Option<(i32, Printed)>, HookError>>,
{
    let parts = wire.split(event);
    let begin = Instant::now();
    let mut combined = Combined::new(parts.in_parts);
    for (at, event) in parts.events.iter().enumerate() {
        let Some(payload) = wire.encode(event) else { continue };
        let mut left = *budget;
        if at > 0 {
            left.wall = budget.wall.saturating_sub(begin.elapsed());
            left.log = budget.log.saturating_sub(combined.log_len());
        }
        if left.wall.is_zero() {
            combined.add(event, Err(HookError::timeout(budget.wall)));
            break;
        }
        let ended = end(Exact { value: &payload, event }.text(), left).await;
        let Some(ended) = ended.transpose() else { continue };
        let answer = ended.and_then(|(status, printed)| {
            let mut outcome = wire.outcome(event, status, &printed.stdout, &printed.log);
            if let Ok(outcome) = &mut outcome {
                exact::restore_answer(outcome, &event.name(), &printed.stdout);
            }
            with_log(outcome, printed.log)
        });
        if combined.add(event, answer) {
            break;
        }
    }
    combined.finish(parts.beyond)
}

/// The answers to one event so far.
struct Combined {
    /// True if each run is about one file of the call, and not about the event as it is.
    in_parts: bool,
    all: Outcome,
    /// True if a run did not allow its part, so that the call as a whole is not allowed.
    is_unallowed: bool,
    failed: Option<HookError>,
}

impl Combined {
    fn new(in_parts: bool) -> Self {
        Self { in_parts, all: Outcome::pass(), is_unallowed: false, failed: None }
    }

    /// Returns the length of the log so far, in bytes.
    fn log_len(&self) -> usize {
        self.all.spent.log.len()
    }

    /// Adds the answer of one run. Returns whether it blocks, so that no further run is needed.
    fn add(&mut self, event: &Event, answer: Result<Outcome, HookError>) -> bool {
        let mut outcome = match answer {
            Ok(outcome) => outcome,
            Err(error) => {
                self.all.spent.log.push_str(&error.spent.log);
                self.failed.get_or_insert(error);
                return false;
            }
        };
        if !self.in_parts {
            self.all = outcome;
            return matches!(self.all.action, Action::Block(_));
        }
        self.all.spent.log.push_str(&outcome.spent.log);
        let texts = [
            (&mut self.all.context, outcome.context),
            (&mut self.all.warnings, outcome.warnings),
            (&mut self.all.noticed, outcome.noticed),
            (&mut self.all.follow_ups, outcome.follow_ups),
        ];
        for (all, texts) in texts {
            for text in texts {
                if !all.contains(&text) {
                    all.push(text);
                }
            }
        }
        self.all.metadata.append(&mut outcome.metadata);
        self.is_unallowed |= !matches!(outcome.action, Action::Allow(_));
        match (&event.data, outcome.action) {
            (_, Action::Pass) => {}
            (_, allow @ Action::Allow(_)) => {
                if self.all.action == Action::Pass {
                    self.all.action = allow;
                }
            }
            (_, block @ Action::Block(_)) => {
                self.all.action = block;
                return true;
            }
            (EventData::BeforeToolCall(call), Action::Modify(value)) => {
                if value != *call.input.value() {
                    let message = "changed the input for one file of a call that has several, or is a patch: the call \
                                   has no such input";
                    self.failed.get_or_insert_with(|| HookError::new(Cause::MalformedOutput, message));
                }
            }
            (_, Action::Ask(_)) if matches!(self.all.action, Action::Ask(_)) => {}
            (_, action) => {
                let is_other =
                    !matches!(self.all.action, Action::Pass | Action::Allow(_)) && self.all.action != action;
                if is_other && !matches!(action, Action::Ask(_)) {
                    let note = "answered in several ways for the files of one call: the last one counts";
                    self.all.noticed.push(note.to_owned());
                }
                self.all.action = action;
            }
        }
        false
    }

    /// Returns the combined answer. `beyond` says why the hook could not see all files. A block counts beside
    /// any failure, and a question is still asked.
    fn finish(mut self, beyond: Option<String>) -> Result<Outcome, HookError> {
        if self.is_unallowed && matches!(self.all.action, Action::Allow(_)) {
            self.all.action = Action::Pass;
        }
        let beyond = beyond.map(|why| HookError::new(Cause::Incompatible, why));
        let failed = self.failed.take().or(beyond);
        let Some(mut error) = failed.filter(|_| !matches!(self.all.action, Action::Block(_))) else {
            return Ok(self.all);
        };
        if matches!(self.all.action, Action::Ask(_)) {
            self.all.noticed.push(error.message);
            return Ok(self.all);
        }
        error.spent.log = self.all.spent.log;
        Err(error)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::event::{Context, ToolCall};

    fn together(
        answers: Vec<Result<Outcome, HookError>>,
        beyond: Option<&str>,
    ) -> Result<Outcome, HookError> {
        let call = ToolCall::new("Edit", json!({"file_path": "/a"}));
        let event =
            Event { context: Arc::new(Context::new("s", "/")), data: EventData::BeforeToolCall(call) };
        let mut combined = Combined::new(true);
        for answer in answers {
            if combined.add(&event, answer) {
                break;
            }
        }
        combined.finish(beyond.map(str::to_owned))
    }

    fn failure() -> Result<Outcome, HookError> {
        Err(HookError::new(Cause::Exit, "failed"))
    }

    #[test]
    fn a_block_for_one_file_blocks_the_call() {
        let others: [fn() -> Result<Outcome, HookError>; 4] = [
            || Ok(Outcome::pass()),
            failure,
            || Ok(Outcome::ask("sure?")),
            || Ok(Outcome::modify(json!({"file_path": "/b"}))),
        ];
        for other in others {
            let found = together(vec![other(), Ok(Outcome::block("no")), other()], Some("beyond")).unwrap();
            assert_eq!(found.action, Action::Block("no".to_owned()));
        }
    }

    #[test]
    fn without_a_block_a_failure_counts_and_a_question_is_asked() {
        let cause = |answers, beyond| together(answers, beyond).unwrap_err().cause;
        assert_eq!(cause(vec![Ok(Outcome::pass()), failure(), Ok(Outcome::pass())], None), Cause::Exit);
        assert_eq!(cause(vec![Ok(Outcome::pass())], Some("beyond")), Cause::Incompatible);
        let changed = Outcome::modify(json!({"file_path": "/b"}));
        assert_eq!(cause(vec![Ok(changed)], None), Cause::MalformedOutput);
        let asked = together(vec![Ok(Outcome::ask("sure?")), failure()], None).unwrap();
        assert_eq!(
            (asked.action, asked.noticed),
            (Action::Ask("sure?".to_owned()), vec!["failed".to_owned()])
        );
        let same = Outcome::modify(json!({"file_path": "/a"}));
        assert_eq!(together(vec![Ok(same)], None).unwrap().action, Action::Pass, "it changed nothing");
    }

    #[test]
    fn a_call_is_allowed_if_each_of_its_files_is() {
        let allow = || Ok(Outcome::allow("reads"));
        for (answers, want) in [
            (vec![allow(), allow()], Outcome::allow("reads")),
            (vec![allow(), Ok(Outcome::pass())], Outcome::pass()),
            (vec![Ok(Outcome::pass()), allow()], Outcome::pass()),
            (vec![Ok(Outcome::ask("sure?")), allow()], Outcome::ask("sure?")),
            (vec![allow(), Ok(Outcome::ask("sure?"))], Outcome::ask("sure?")),
            (vec![allow(), Ok(Outcome::block("no"))], Outcome::block("no")),
        ] {
            assert_eq!(together(answers, None).unwrap().action, want.action);
        }
        assert!(together(vec![allow(), failure()], None).is_err());
        assert!(together(vec![allow()], Some("beyond")).is_err());
    }

    #[test]
    fn the_same_text_for_several_files_counts_once() {
        let said = || Ok(Outcome::inject("run the linter").warn("w"));
        let found = together(vec![said(), said(), Ok(Outcome::inject("other"))], None).unwrap();
        assert_eq!(found.context, ["run the linter", "other"]);
        assert_eq!(found.warnings, ["w"]);
    }
}
