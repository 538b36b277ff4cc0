//! Failed calls, in agents whose event after a call means success. Their outputs reach the model, so the hooks after a call
//! judge them at the end of the batch.

use hookbox::internal::tool_result;
use serde_json::{Map, Value};

use super::answer::{Decision, Plan};
use super::event::AgentEvent;
use super::output::filled;
use super::{Reply, reply};
use crate::dialect::fields::Fields;
use crate::event::{Document, Event, EventData, ToolCall, ToolResult};
use crate::hook::OnFailure;
use crate::outcome::Verdict;
use crate::spec::Spec;
use crate::text;

/// Returns the failed calls of a batch.
pub(super) fn of(spec: &Spec, fields: &mut Fields) -> Vec<ToolResult> {
    let calls = fields.any("tool_calls");
    let calls = match &calls {
        Some(Value::Array(calls)) => calls.as_slice(),
        one => one.as_slice(),
    };
    calls.iter().filter_map(Value::as_object).filter_map(|call| failed(spec, call)).collect()
}

fn failed(spec: &Spec, call: &Map<String, Value>) -> Option<ToolResult> {
    let output = (spec.tools.failed_output)(call)?;
    let text = |name: &str| call.get(name).and_then(Value::as_str);
    let input = call.get("tool_input").map_or_else(Document::absent, |input| Document::new(input.clone()));
    // A call without a name is for the hooks of every tool.
    let mut of = ToolCall::new(text("tool_name").unwrap_or_default(), input);
    of.id = text("tool_call_id").or(text("tool_use_id")).map(str::to_owned);
    let mut result = tool_result(of, output);
    result.success = Some(false);
    Some(result)
}

/// The part of the hooks' answers to failed calls that the agent has to be told.
#[derive(Debug, Default)]
pub(crate) struct Withheld {
    /// The reasons of blocks, or the new outputs.
    reasons: Vec<String>,
    /// True if the model must not read an output as it was.
    stops: bool,
    warnings: Vec<String>,
}

impl Withheld {
    /// Adds the verdict about one failed call. `policy` is the strictest of the hooks after a call.
    pub(crate) fn add(&mut self, spec: &Spec, verdict: &Verdict, judged: &Event, policy: OnFailure) {
        let EventData::AfterToolCall(result) = &judged.data else { return };
        let is_blocked = verdict.block.is_some();
        if !is_blocked && !verdict.modified {
            return;
        }
        let new = verdict.modified.then(|| filled(result.output.value()));
        self.reasons.extend(verdict.block.as_ref().map(crate::outcome::Ruling::needed_for_model).or(new));
        if spec.answers.stop_replaces_failed {
            self.stops = true;
            return;
        }
        let tool = text::plain_name(&result.call.name);
        let what = if is_blocked { "blocks" } else { "changed" };
        self.stops |= is_blocked || policy == OnFailure::Block;
        let ends = if self.stops { "the turn ends" } else { "the model is told, and sees the old one, too" };
        self.warnings.push(format!(
            "a hook {what} the output of the failed call of {tool}, which {} cannot replace: {ends}",
            spec.title
        ));
    }

    /// Changes the plan of the agent's event accordingly.
    pub(crate) fn apply(self, plan: &mut Plan) {
        if self.reasons.is_empty() {
            return;
        }
        let reason = self.reasons.join("\n\n");
        if self.stops {
            let why = self.warnings.join("; ");
            let told = if why.is_empty() { reason } else { format!("{reason} ({why})") };
            plan.decision = Decision::Stop(told);
            plan.context = None;
        } else {
            let before = plan.context.take().map(|context| format!("{context}\n\n"));
            plan.context = Some(before.unwrap_or_default() + &reason);
        }
        plan.warnings.extend(self.warnings);
    }
}

/// Returns the reply that keeps all outputs of a batch from the model, for this reason.
pub(super) fn stopped(spec: &Spec, event: &AgentEvent, why: &str) -> Reply {
    let plan = Plan { decision: Decision::Stop(why.to_owned()), ..Plan::default() };
    reply::write(spec, event, plan)
}
