//! Spans: one per event, a child per hook, and the changes of each hook.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::SystemTime;

use opentelemetry::propagation::TextMapPropagator as _;
use opentelemetry::trace::{
    Span as _, SpanKind, Status, TraceContextExt as _, Tracer as _, TracerProvider as _,
};
use opentelemetry::{Context, KeyValue, Value};
use opentelemetry_otlp::SpanExporter;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{
    BatchConfigBuilder, BatchSpanProcessor, SdkTracer, SdkTracerProvider, Span, SpanData,
};

use super::export::{MAX_WAITING, State};
use super::options::{Endpoint, Options, TelemetryError};
use super::{clean, export};
use crate::chain::Fired;
use crate::event::Event;
use crate::outcome::Verdict;
use crate::redact;
use crate::report::{HookReport, Report};
use hookbox_system::limits;

/// The longest changed values of one event together, in bytes.
const MAX_CHANGES: usize = 32 << 10;

/// Makes spans, and puts them into a queue that a thread sends.
pub(super) struct Spans {
    provider: SdkTracerProvider,
    tracer: SdkTracer,
    parent: Context,
    state: Arc<State>,
}

/// Counts the spans that leave the queue, and those that are lost.
#[derive(Debug)]
struct CountingExporter {
    exporter: SpanExporter,
    state: Arc<State>,
}

impl opentelemetry_sdk::trace::SpanExporter for CountingExporter {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let count = batch.len();
        self.state.release(count);
        let result = self.exporter.export(batch).await;
        if result.is_err() {
            self.state.drop_items(count);
        }
        result
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}

/// Reads a `traceparent`. Without a valid one, the context has no valid span.
pub(super) fn parent(traceparent: Option<&str>) -> Context {
    let fields: HashMap<String, String> =
        traceparent.map(|it| ("traceparent".to_owned(), it.to_owned())).into_iter().collect();
    TraceContextPropagator::new().extract_with_context(&Context::new(), &fields)
}

impl Spans {
    pub(super) fn new(
        endpoint: &Endpoint,
        options: &Options,
        resource: &Resource,
        state: &Arc<State>,
    ) -> Result<Self, TelemetryError> {
        let builder = SpanExporter::builder().with_http();
        let exporter = export::configure(builder, "spans", endpoint, state).build();
        let exporter = exporter?;
        let config = BatchConfigBuilder::default()
            .with_max_queue_size(MAX_WAITING)
            .with_scheduled_delay(options.spans_every);
        let exporter = CountingExporter { exporter, state: Arc::clone(state) };
        let provider = SdkTracerProvider::builder()
            .with_resource(resource.clone())
            .with_span_processor(
                BatchSpanProcessor::builder(exporter).with_batch_config(config.build()).build(),
            )
            .build();
        Ok(Self {
            tracer: provider.tracer_with_scope(export::scope()),
            provider,
            parent: parent(options.parent.as_deref()),
            state: Arc::clone(state),
        })
    }

    pub(super) fn record(&self, fired: &Fired) -> Option<String> {
        let count = |report: &Report| 1 + report.hooks.len();
        let spans = count(&fired.report)
            + fired.report.on_error.iter().map(|failure| count(&failure.report)).sum::<usize>();
        if !self.state.reserve(spans) {
            return None;
        }
        let mut attributes = tool_and_usage(&fired.event);
        let (verdict, by) = verdict(&fired.verdict);
        attributes.push(string("hookbox.verdict", verdict));
        attributes.extend(by.map(|by| string("hookbox.verdict.by", by)));
        let mut left = MAX_CHANGES;
        let context = self.event(&fired.report, &fired.event, attributes, &self.parent, &mut left);
        let mut end = fired.report.started + fired.report.duration;
        for failure in &fired.report.on_error {
            let attributes =
                vec![string("hookbox.verdict", "pass"), string("hookbox.hook.failed", &failure.of)];
            let report = &failure.report;
            let told = self.event(report, &fired.event, attributes, &context, &mut left);
            let told_end = report.started + report.duration;
            told.span().end_with_timestamp(told_end);
            end = end.max(told_end);
        }
        if !context.span().is_recording() {
            // A trace that is not sampled.
            self.state.release(spans);
        }
        context.span().end_with_timestamp(end);
        let span = context.span().span_context().clone();
        let (trace, id, flags) = (span.trace_id(), span.span_id(), span.trace_flags());
        span.is_valid().then(|| format!("00-{trace}-{id}-{:02x}", flags.to_u8()))
    }

    /// Makes the span of an event, which has not ended, and those of its hooks.
    fn event(
        &self,
        report: &Report,
        event: &Event,
        more: Vec<KeyValue>,
        parent: &Context,
        left: &mut usize,
    ) -> Context {
        let context = &event.context;
        let mut attributes = vec![
            string("hookbox.event", report.event.as_str()),
            string("gen_ai.conversation.id", &context.conversation_id),
            string("hookbox.invoked_by", context.invoked_by.as_str()),
        ];
        let optional = [
            ("gen_ai.agent.name", &context.agent),
            ("hookbox.recipe", &context.recipe_name),
            ("vcs.repository.name", &context.repository),
            ("vcs.ref.head.name", &context.branch),
        ];
        for (key, value) in optional {
            attributes.extend(value.as_deref().filter(|value| !value.is_empty()).map(|it| string(key, it)));
        }
        attributes.extend(more);
        let name = format!("hookbox.event {}", clean(report.event.as_str()));
        let span = parent.with_span(self.start(name, report.started, attributes, parent));
        for hook in &report.hooks {
            self.hook(hook, report, &context.conversation_id, &span, left);
        }
        span
    }

    fn hook(
        &self,
        hook: &HookReport,
        report: &Report,
        conversation: &str,
        parent: &Context,
        left: &mut usize,
    ) {
        let mut attributes = vec![
            string("hookbox.event", report.event.as_str()),
            string("gen_ai.conversation.id", conversation),
            string("hookbox.hook", &hook.name),
            string("hookbox.hook.kind", hook.kind.as_str()),
            string("hookbox.hook.tier", hook.tier),
            KeyValue::new("hookbox.hook.trusted", hook.trusted),
            string("hookbox.status", hook.status.as_str()),
        ];
        attributes.extend(hook.would.map(|would| string("hookbox.would", would.as_str())));
        attributes.extend(hook.cause.map(|cause| string("error.type", cause.as_str())));
        attributes.extend(hook.fuel.map(|fuel| number("hookbox.fuel", fuel)));
        attributes.extend(hook.memory_peak.map(|bytes| number("hookbox.memory.peak", bytes)));
        attributes.extend(hook.message.as_deref().map(|message| string("hookbox.message", message)));
        let start = report.started + hook.started;
        let end = start + hook.duration;
        let mut span = self.start(format!("hookbox.hook {}", clean(&hook.name)), start, attributes, parent);
        for change in hook.changes.iter().filter(|_| hook.would.is_none()) {
            let mut value = |value| {
                let shown = redact::line(value, limits::MESSAGE.min(*left));
                *left = left.saturating_sub(shown.len());
                shown
            };
            let attributes = vec![
                string("hookbox.hook", &hook.name),
                string("hookbox.change.what", change.what),
                KeyValue::new("hookbox.change.from", value(&change.before)),
                KeyValue::new("hookbox.change.to", value(&change.after)),
            ];
            span.add_event_with_timestamp("hookbox.change", end, attributes);
        }
        for denial in &hook.denied {
            let attributes = vec![string("hookbox.right", &denial.right)];
            span.add_event_with_timestamp("hookbox.denied", end, attributes);
        }
        if let Some(cause) = hook.cause {
            span.set_status(Status::error(cause.as_str()));
        }
        span.end_with_timestamp(end);
    }

    fn start(&self, name: String, at: SystemTime, attributes: Vec<KeyValue>, parent: &Context) -> Span {
        let builder = self.tracer.span_builder(name).with_kind(SpanKind::Internal);
        self.tracer.build_with_context(builder.with_start_time(at).with_attributes(attributes), parent)
    }

    /// Sends everything that waits. Failures are noted where they happen.
    pub(super) fn flush(&self) {
        let _ = self.provider.force_flush();
    }
}

fn tool_and_usage(event: &Event) -> Vec<KeyValue> {
    let mut attributes = Vec::new();
    if let Some(call) = event.tool_call() {
        attributes.push(string("gen_ai.operation.name", "execute_tool"));
        attributes.push(string("gen_ai.tool.name", &call.name));
        attributes.push(string("hookbox.tool.kind", call.facts.kind.as_str()));
        attributes.extend(call.id.as_deref().map(|id| string("gen_ai.tool.call.id", id)));
    }
    if let Some(usage) = event.usage() {
        attributes.push(number("gen_ai.usage.input_tokens", usage.input_tokens));
        attributes.push(number("gen_ai.usage.output_tokens", usage.output_tokens));
        attributes.push(number("hookbox.context_window.used", usage.current_context_window));
        attributes.push(number("hookbox.context_window.size", usage.max_context_window));
    }
    attributes
}

/// Returns the verdict, and the hook that it is from.
pub(super) fn verdict(verdict: &Verdict) -> (&'static str, Option<&str>) {
    match (&verdict.block, &verdict.ask) {
        (Some(ruling), _) => ("block", Some(&ruling.by)),
        (None, Some(ruling)) => ("ask", Some(&ruling.by)),
        (None, None) => ("pass", None),
    }
}

fn string(key: &'static str, value: &str) -> KeyValue {
    KeyValue::new(key, clean(value))
}

/// A count; OpenTelemetry has no unsigned numbers.
fn number(key: &'static str, value: u64) -> KeyValue {
    KeyValue::new(key, Value::I64(i64::try_from(value).unwrap_or(i64::MAX)))
}
