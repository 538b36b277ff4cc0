//! One tool call: asks the hooks, runs the tool, and sends the hooks its result. A sub-agent is a tool, too.

use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::time::Instant;

use hookbox::event::ErrorSource;
use hookbox::session::ToolDecision;
use hookbox::{ToolCall, ToolResult};
use serde_json::{Value, json};

use crate::conversation::{Conversation, Thread};
use crate::model::Model;
use crate::tools::Ran;
use crate::{Agent, Step};

/// The number of nested sub-agents: each one is a whole conversation that costs tokens.
pub const MAX_DEPTH: u32 = 2;

impl<M: Model> Agent<M> {
    /// Makes one tool call, whose answer of the model took so many tokens, and returns the text for the model.
    pub(crate) async fn call(&mut self, call: ToolCall, cost: u64) -> String {
        (self.watch)(Step::Wants(&call.name, &call.input));
        let verdict = self.thread.session.before_tool_call(call.clone()).await;
        self.note(&verdict);
        let (ruling, what) = match verdict.decision {
            ToolDecision::Run(permitted) => {
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
                return self.called(call, result, ran.success).await;
            }
            ToolDecision::Block(ruling) => (ruling, "blocked it"),
            ToolDecision::Ask { ruling, .. } => (ruling, "wants to ask you, and nobody is here"),
        };
        let why = self.stopped(&ruling, what);
        self.refuse(call, &why).await
    }

    /// Sends the hooks the result of a call, and returns the text for the model.
    async fn called(&mut self, call: ToolCall, result: ToolResult, success: bool) -> String {
        let after = self.thread.session.after_tool_call(result).await;
        self.note(&after);
        if after.modified {
            self.because("the model sees another output than the tool's");
        }
        let mut output = after.decision.text();
        if !success {
            output = format!("error: {}", self.failed(ErrorSource::Tool(call), output).await);
        }
        if let Some(ruling) = after.decision.blocked() {
            output = format!("{output}\nstop and change course: {}", self.stopped(ruling, "blocked it"));
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

    /// Lets a sub-agent work on `input["task"]`; its answer is the tool's result. The same hooks get its
    /// events, marked as a sub-agent's. Boxed, because a sub-agent may start one of its own.
    fn subagent<'a>(&'a mut self, input: &'a Value) -> Pin<Box<dyn Future<Output = Ran> + 'a>> {
        Box::pin(async move {
            let Some(task) = input["task"].as_str() else {
                return Ran::failed("expected the field \"task\"");
            };
            if self.thread.depth >= MAX_DEPTH {
                return Ran::failed(format!("sub-agents may be nested at most {MAX_DEPTH} deep"));
            }
            let conversation = Conversation::new();
            let session = self.thread.session.subagent(&conversation.id);
            let depth = self.thread.depth + 1;
            let sub = Thread { depth, ..Thread::new(session, conversation) };
            self.because(format!("sub-agent {} begins", sub.conversation.id));
            let parent = mem::replace(&mut self.thread, sub);
            let answer = self.run(task).await;
            let usage = mem::replace(&mut self.thread, parent).conversation.usage;
            let ran = match answer {
                Ok(answer) => Ran::ok(answer),
                Err(error) => Ran::failed(format!("{error:#}")),
            };
            Ran { tokens: usage.input_tokens.saturating_add(usage.output_tokens), ..ran }
        })
    }
}

/// A tool's output as hooks see it: kodelet's `StructuredToolResult`.
fn structured(tool: &str, ran: &Ran) -> Value {
    let text = if ran.success { "output" } else { "error" };
    let now = jiff::Timestamp::now().to_string();
    json!({"toolName": tool, "success": ran.success, text: ran.text, "timestamp": now})
}
