//! A tool call from the verdict to the text that the model reads.

use std::fmt;
use std::future::Future;
use std::ops::Deref;
use std::time::Instant;

use super::{Notes, OutputDecision, Session, ToolDecision};
use crate::event::{Document, ErrorEvent, ErrorSource, ToolCall, ToolResult};
use crate::outcome::{Ruling, Warning};
use crate::report::Report;

/// A tool call that the hooks let through, with the input that they left in it. Only it makes a result, so an
/// agent cannot report another input than the one that was judged:
///
/// ```compile_fail,E0624
/// # use hookbox::{ToolCall, ToolResult};
/// let asked = ToolCall::new("bash", serde_json::json!({"command": "ls"}));
/// let result = ToolResult::new(asked, serde_json::json!("out"));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct PermittedCall(ToolCall);

impl PermittedCall {
    pub(super) fn new(call: ToolCall) -> Self {
        Self(call)
    }

    /// Returns the result of the call with the tool's output. The call failed if the output is a kodelet
    /// `StructuredToolResult` whose `success` is false.
    pub fn finished(self, output: impl Into<Document>) -> ToolResult {
        ToolResult::new(self.0, output)
    }

    /// Returns the result of a call that failed, with the error as the output.
    pub fn failed(self, error: impl fmt::Display) -> ToolResult {
        let error = error.to_string();
        let mut result = ToolResult::new(self.0, serde_json::Value::from(error.as_str()));
        result.success = Some(false);
        result.error = Some(error);
        result
    }
}

impl Deref for PermittedCall {
    type Target = ToolCall;

    fn deref(&self) -> &ToolCall {
        &self.0
    }
}

/// The end of a tool call that [`Session::tool`] made.
#[derive(Clone, Debug, Default, PartialEq)]
#[must_use = "the model has to read the text"]
#[non_exhaustive]
pub struct ToolRun {
    /// The text that the model reads as the result of the call: the output, the error, or the reason of a
    /// block.
    pub text: String,
    /// Text for the model's next step, in run order.
    pub context: Vec<String>,
    /// Notes for the user, in run order. Never for the model.
    pub warnings: Vec<Warning>,
    /// True if the tool ran.
    pub ran: bool,
    /// The ruling of the hook that kept the tool from running, or that stops the agent after it.
    pub ruling: Option<Ruling>,
    /// The reports of the events, in order.
    pub reports: Vec<Report>,
}

impl ToolRun {
    fn note(&mut self, notes: Notes) {
        self.context.extend(notes.context);
        self.warnings.extend(notes.warnings);
        self.reports.push(notes.report);
    }
}

impl Session {
    /// Makes one tool call: asks the hooks of `before_tool_call`, runs the tool with the input that they left,
    /// and sends the result to `after_tool_call`, and an error to `on_error`. A question of a hook is a block,
    /// because there is no user here; an agent with a user calls the methods of the events.
    ///
    /// ```
    /// use hookbox::manager::Manager;
    /// use hookbox::{EventName, Outcome, ToolCall};
    /// use serde_json::{Value, json};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let manager = Manager::builder()
    ///     .directories(false)
    ///     .on("quiet", EventName::BeforeToolCall, |_| async { Ok(Outcome::modify(json!({"text": "hush"}))) })
    ///     .build()
    ///     .await;
    /// let call = ToolCall::from_text("echo", r#"{"text": "HELLO"}"#);
    /// let session = manager.session("c");
    /// let run = session.tool(call, |call| async move {
    ///     match call.input.get::<String>("/text") {
    ///         Ok(text) => call.finished(Value::from(text)),
    ///         Err(error) => call.failed(error),
    ///     }
    /// });
    /// assert_eq!(run.await.text, "hush");
    /// # }
    /// ```
    pub async fn tool<R>(&self, call: ToolCall, run: impl FnOnce(PermittedCall) -> R) -> ToolRun
    where
        R: Future<Output = ToolResult>,
    {
        let mut end = ToolRun::default();
        let before = self.before_tool_call(call.clone()).await;
        end.note(before.notes);
        let permitted = match before.decision {
            ToolDecision::Run(call) => call,
            ToolDecision::Ask { ruling, .. } | ToolDecision::Block(ruling) => {
                let reason = ruling.for_model();
                end.note(self.after_tool_call(ToolResult::blocked(call, &reason)).await.notes);
                end.text = format!("error: {reason}");
                end.ruling = Some(ruling);
                return end;
            }
        };
        let call = ToolCall::clone(&permitted);
        let started = Instant::now();
        let mut result = run(permitted).await;
        end.ran = true;
        result.duration_ms = result.duration_ms.or_else(|| u64::try_from(started.elapsed().as_millis()).ok());
        let has_failed = result.success == Some(false);
        let after = self.after_tool_call(result).await;
        end.note(after.notes);
        end.text = after.decision.text();
        if has_failed {
            let error = self.on_error(ErrorEvent::new(ErrorSource::Tool(call), &end.text)).await;
            end.text = format!("error: {}", error.message);
            end.note(error.notes);
        }
        if let OutputDecision::Block { ruling, .. } = after.decision {
            end.text = format!("{}\nstop and change course: {}", end.text, ruling.for_model());
            end.ruling = Some(ruling);
        }
        end
    }
}
