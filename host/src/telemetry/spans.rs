//! Spans: one per event, a child per hook, and what each hook changed.

use std::mem;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

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
    SdkTracer, SdkTracerProvider, Span, SpanData, SpanExporter as _, SpanProcessor,
};
use reqwest::blocking::Client;

use super::export;
use super::options::{Endpoint, Options};
use super::record::{Ran, Record};
use crate::{redact, text};

/// How much of a changed value is sent, in bytes.
pub(super) const MAX_CHANGE: usize = 1_024;
/// How much of a name or a message is sent, in bytes.
const MAX_TEXT: usize = 512;
/// How many spans wait for a collector that is away; then the oldest are dropped.
const MAX_WAITING: usize = 2_048;
/// How many spans one request carries.
const BATCH: usize = 512;
/// How often spans are tried that the collector does not take.
const MAX_ATTEMPTS: u32 = 3;

/// Makes spans and sends them.
pub(super) struct Spans {
    // Owns the processor.
    _provider: SdkTracerProvider,
    tracer: SdkTracer,
    ended: Ended,
    waiting: Vec<SpanData>,
    exporter: SpanExporter,
    endpoint: Endpoint,
    parent: Context,
    failures: u32,
}

/// The spans that have ended and are not sent yet.
#[derive(Clone, Debug, Default)]
struct Ended(Arc<Mutex<Vec<SpanData>>>);

impl Ended {
    fn take(&self) -> Vec<SpanData> {
        mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl SpanProcessor for Ended {
    fn on_start(&self, _: &mut Span, _: &Context) {}

    fn on_end(&self, span: SpanData) {
        if span.span_context.is_sampled() {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(span);
        }
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _: Duration) -> OTelSdkResult {
        Ok(())
    }
}

impl Spans {
    pub(super) fn new(
        endpoint: &Endpoint,
        options: &Options,
        client: &Client,
        resource: &Resource,
    ) -> Result<Self, String> {
        let mut exporter = export::spans(endpoint, client)?;
        exporter.set_resource(resource);
        let ended = Ended::default();
        let provider = SdkTracerProvider::builder()
            .with_resource(resource.clone())
            .with_span_processor(ended.clone())
            .build();
        let tracer = provider.tracer_with_scope(export::scope());
        let parent = options.parent.iter().map(|parent| ("traceparent".to_owned(), parent.clone()));
        let parent: std::collections::HashMap<String, String> = parent.collect();
        Ok(Self {
            _provider: provider,
            tracer,
            ended,
            waiting: Vec::new(),
            exporter,
            endpoint: endpoint.clone(),
            parent: TraceContextPropagator::new().extract_with_context(&Context::new(), &parent),
            failures: 0,
        })
    }

    /// Makes the spans of an event. Says how many older ones were dropped for them.
    pub(super) fn record(&mut self, record: &Record) -> usize {
        self.event(record, None, &self.parent);
        self.waiting.append(&mut self.ended.take());
        let over = self.waiting.len().saturating_sub(MAX_WAITING);
        self.waiting.drain(..over);
        over
    }

    fn event(&self, record: &Record, of: Option<&str>, parent: &Context) {
        let mut attributes = vec![
            string("hookbox.event", &record.event),
            string("gen_ai.conversation.id", &record.conversation),
            string("hookbox.invoked_by", record.invoked_by.as_str()),
            string("hookbox.verdict", record.verdict),
        ];
        let optional = [
            ("gen_ai.agent.name", &record.agent),
            ("hookbox.recipe", &record.recipe),
            ("vcs.repository.name", &record.repository),
            ("vcs.ref.head.name", &record.branch),
            ("hookbox.verdict.by", &record.by),
        ];
        attributes
            .extend(optional.into_iter().filter_map(|(key, value)| Some(string(key, value.as_deref()?))));
        attributes.extend(of.map(|of| string("hookbox.hook.failed", of)));
        if let Some(tool) = &record.tool {
            attributes.push(string("gen_ai.operation.name", "execute_tool"));
            attributes.push(string("gen_ai.tool.name", &tool.name));
            attributes.push(string("hookbox.tool.kind", tool.kind));
            attributes.extend(tool.id.as_deref().map(|id| string("gen_ai.tool.call.id", id)));
        }
        if let Some(usage) = record.usage {
            attributes.push(number("gen_ai.usage.input_tokens", usage.input_tokens));
            attributes.push(number("gen_ai.usage.output_tokens", usage.output_tokens));
            attributes.push(number("hookbox.context_window.used", usage.current_context_window));
            attributes.push(number("hookbox.context_window.size", usage.max_context_window));
        }
        let name = format!("hookbox.event {}", said(&record.event));
        let span = self.start(name, record.started, attributes, parent);
        let context = parent.with_span(span);
        for hook in &record.hooks {
            self.hook(hook, record, &context);
        }
        for (of, record) in &record.on_error {
            self.event(record, Some(of), &context);
        }
        let told = record.on_error.iter().map(|(_, told)| told.started + told.duration).max();
        let end = record.started + record.duration;
        context.span().end_with_timestamp(told.map_or(end, |told| told.max(end)));
    }

    fn hook(&self, hook: &Ran, record: &Record, parent: &Context) {
        let mut attributes = vec![
            string("hookbox.event", &record.event),
            string("gen_ai.conversation.id", &record.conversation),
            string("hookbox.hook", &hook.name),
            string("hookbox.hook.kind", hook.kind),
            string("hookbox.hook.tier", hook.tier),
            KeyValue::new("hookbox.hook.trusted", hook.trusted),
            string("hookbox.status", hook.status.as_str()),
        ];
        attributes.extend(hook.cause.map(|cause| string("error.type", cause)));
        attributes.extend(hook.fuel.map(|fuel| number("hookbox.fuel", fuel)));
        attributes.extend(hook.memory_peak.map(|bytes| number("hookbox.memory.peak", bytes)));
        attributes.extend(hook.message.as_deref().map(|message| string("hookbox.message", message)));
        let (start, end) = (record.started + hook.started, record.started + hook.started + hook.duration);
        let mut span = self.start(format!("hookbox.hook {}", said(&hook.name)), start, attributes, parent);
        for change in &hook.changes {
            let shown = |value| redact::line(value, MAX_CHANGE);
            let attributes = vec![
                string("hookbox.hook", &hook.name),
                string("hookbox.change.what", change.what),
                KeyValue::new("hookbox.change.from", shown(&change.from)),
                KeyValue::new("hookbox.change.to", shown(&change.to)),
            ];
            span.add_event_with_timestamp("hookbox.change", end, attributes);
        }
        for right in &hook.denied {
            span.add_event_with_timestamp("hookbox.denied", end, vec![string("hookbox.right", right)]);
        }
        if let Some(cause) = hook.cause {
            span.set_status(Status::error(cause));
        }
        span.end_with_timestamp(end);
    }

    fn start(&self, name: String, at: SystemTime, attributes: Vec<KeyValue>, parent: &Context) -> Span {
        let builder = self.tracer.span_builder(name).with_kind(SpanKind::Internal);
        self.tracer.build_with_context(builder.with_start_time(at).with_attributes(attributes), parent)
    }

    /// Sends what waits. Says, when it failed, how many spans were given up.
    pub(super) fn send(&mut self) -> Result<(), (String, usize)> {
        while !self.waiting.is_empty() {
            let batch: Vec<SpanData> = self.waiting.iter().take(BATCH).cloned().collect();
            let sent = batch.len();
            if let Err(error) = export::finish(self.exporter.export(batch)) {
                self.failures += 1;
                let give_up = if self.failures >= MAX_ATTEMPTS { self.waiting.len() } else { 0 };
                self.waiting.drain(..give_up);
                return Err((export::failed(&self.endpoint, &error), give_up));
            }
            self.failures = 0;
            self.waiting.drain(..sent);
        }
        Ok(())
    }
}

/// A text from outside as it is sent: without secrets, escaped, cut.
pub(super) fn said(said: &str) -> String {
    text::escape(&redact::text(said), MAX_TEXT)
}

fn string(key: &'static str, value: &str) -> KeyValue {
    KeyValue::new(key, said(value))
}

/// A count; OpenTelemetry has no unsigned numbers.
fn number(key: &'static str, value: u64) -> KeyValue {
    KeyValue::new(key, Value::I64(i64::try_from(value).unwrap_or(i64::MAX)))
}
