//! One tool call: asks the hooks, runs the tool, and sends the hooks its result.

use std::time::Instant;

use hookbox::event::ErrorSource;
use hookbox::session::ToolDecision;
use hookbox::{ToolCall, ToolResult};
use serde_json::{Value, json};

use crate::model::Model;
use crate::tools::Ran;
use crate::{Agent, Step};

impl<M: Model> Agent<M> {
    /// Makes one tool call, whose answer of the model took so many tokens, and returns the text for the model.
    pub(crate) async fn call(&mut self, call: ToolCall, cost: u64) -> String {
        (self.watch)(Step::Wants(&call.name, &call.input));
        let verdict = self.thread.session.before_tool_call(call.clone()).await;
        self.note(&verdict);
        let permitted = match verdict.decision {
            ToolDecision::Run(call) => call,
            ToolDecision::Ask { ruling, .. } => {
                let why = self.unasked(&ruling);
                return self.refuse(call, &why).await;
            }
            ToolDecision::Block(ruling) => {
                let why = self.blocked(&ruling);
                return self.refuse(call, &why).await;
            }
        };
        if verdict.modified {
            self.because(format!("the input is now {}", permitted.input.text()));
        }
        let call = ToolCall::clone(&permitted);

        let started = Instant::now();
        let ran = self.run_tool(&call).await;
        (self.watch)(Step::Ran(&call.name, &ran.text));
        let mut result = permitted.finished(structured(&call.name, &ran));
        result.duration_ms = u64::try_from(started.elapsed().as_millis()).ok();
        result.exit_status = ran.exit_status;
        // An endpoint need not count.
        result.cost_tokens = Some(cost.saturating_add(ran.tokens)).filter(|cost| *cost > 0);
        let after = self.thread.session.after_tool_call(result).await;
        self.note(&after);
        if after.modified {
            self.because("the model sees another output than the tool's");
        }
        let mut output = after.decision.text();
        if !ran.success {
            output = format!("error: {}", self.failed(ErrorSource::Tool(call), output, None).await);
        }
        if let Some(ruling) = after.decision.blocked() {
            output = format!("{output}\nstop and change course: {}", self.blocked(ruling));
        }
        output
    }

    /// A blocked call is over as well, and the hooks after it hear of it.
    pub(crate) async fn refuse(&mut self, call: ToolCall, why: &str) -> String {
        let after = self.thread.session.after_tool_call(ToolResult::blocked(call, why)).await;
        self.note(&after);
        format!("error: {why}")
    }

    async fn run_tool(&mut self, call: &ToolCall) -> Ran {
        match call.name.as_str() {
            "agent" => self.subagent(call.input.value()).await,
            name => self.tools.run(name, call.input.value()).await,
        }
    }
}

/// A tool's output as hooks see it: kodelet's `StructuredToolResult`.
fn structured(tool: &str, ran: &Ran) -> Value {
    let text = if ran.success { "output" } else { "error" };
    let now = jiff::Timestamp::now().to_string();
    json!({"toolName": tool, "success": ran.success, text: ran.text, "timestamp": now})
}
