//! Metrics: counts and distributions.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use opentelemetry::KeyValue;
use opentelemetry::metrics::{Counter, Histogram, Meter, MeterProvider as _};
use opentelemetry_otlp::MetricExporter;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::metrics::data::ResourceMetrics;
use opentelemetry_sdk::metrics::exporter::PushMetricExporter;
use opentelemetry_sdk::metrics::{PeriodicReader, SdkMeterProvider, Temporality};
use reqwest::blocking::Client;

use super::export;
use super::options::Endpoint;
use super::record::{Ran, Record};
use super::spans::said;
use crate::report::Status;

/// Bounds of the buckets for times, in seconds: a component takes tens of microseconds, a script milliseconds, and a
/// chain a minute at most.
const SECONDS: [f64; 21] = [
    0.000_01, 0.000_025, 0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1,
    0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0,
];
/// For fuel: the default limit is 10⁹.
const FUEL: [f64; 13] = [1e3, 3e3, 1e4, 3e4, 1e5, 3e5, 1e6, 3e6, 1e7, 3e7, 1e8, 3e8, 1e9];
/// For memory, in bytes, 64 KiB (a page) to 256 MiB: the default limit is 64 MiB.
const BYTES: [f64; 7] =
    [65_536.0, 262_144.0, 1_048_576.0, 4_194_304.0, 16_777_216.0, 67_108_864.0, 268_435_456.0];
/// The reader's own clock is not used: the thread says when, so that it learns of failures.
const NEVER: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Counts and sends.
pub(super) struct Metrics {
    provider: SdkMeterProvider,
    endpoint: Endpoint,
    events: Counter<u64>,
    runs: Counter<u64>,
    blocks: Counter<u64>,
    failures: Counter<u64>,
    denials: Counter<u64>,
    changes: Counter<u64>,
    dropped: Counter<u64>,
    chain: Histogram<f64>,
    duration: Histogram<f64>,
    fuel: Histogram<u64>,
    memory: Histogram<u64>,
    counted: u64,
    failure: Failure,
}

/// Why sending failed last; the reader itself only says that it did.
type Failure = Arc<Mutex<Option<String>>>;

/// An exporter that keeps why it failed.
struct Telling {
    exporter: MetricExporter,
    failure: Failure,
}

impl PushMetricExporter for Telling {
    async fn export(&self, metrics: &ResourceMetrics) -> OTelSdkResult {
        let result = self.exporter.export(metrics).await;
        let failure = result.as_ref().err().map(ToString::to_string);
        *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = failure;
        result
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.exporter.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn temporality(&self) -> Temporality {
        self.exporter.temporality()
    }
}

impl Metrics {
    pub(super) fn new(endpoint: &Endpoint, client: &Client, resource: &Resource) -> Result<Self, String> {
        let failure = Failure::default();
        let exporter =
            Telling { exporter: export::metrics(endpoint, client)?, failure: Arc::clone(&failure) };
        let reader = PeriodicReader::builder(exporter).with_interval(NEVER).build();
        let provider =
            SdkMeterProvider::builder().with_resource(resource.clone()).with_reader(reader).build();
        let meter = provider.meter_with_scope(export::scope());
        let counter =
            |name, unit, what| meter.u64_counter(name).with_unit(unit).with_description(what).build();
        Ok(Self {
            events: counter("hookbox.events", "{event}", "Events that were fired."),
            runs: counter("hookbox.hook.runs", "{run}", "Hooks that an event reached, by how they fared."),
            blocks: counter("hookbox.blocks", "{block}", "Blocks, by the hook that blocked."),
            failures: counter("hookbox.failures", "{failure}", "Hooks that failed, by cause."),
            denials: counter("hookbox.denials", "{denial}", "Rights that a hook used without having them."),
            changes: counter("hookbox.changes", "{change}", "Changes that hooks made."),
            dropped: counter("hookbox.telemetry.dropped", "{item}", "Events and spans that were not sent."),
            chain: seconds(&meter, "hookbox.chain.duration", "How long all hooks of an event took."),
            duration: seconds(&meter, "hookbox.hook.duration", "How long one hook took."),
            fuel: histogram(&meter, "hookbox.hook.fuel", "{fuel}", "Fuel that a component used.", &FUEL),
            memory: histogram(
                &meter,
                "hookbox.hook.memory",
                "By",
                "The most memory that a component held.",
                &BYTES,
            ),
            provider,
            endpoint: endpoint.clone(),
            counted: 0,
            failure,
        })
    }

    pub(super) fn record(&self, record: &Record) {
        let event = KeyValue::new("hookbox.event", said(&record.event));
        self.events.add(1, &[event.clone(), KeyValue::new("hookbox.verdict", record.verdict)]);
        self.chain.record(record.duration.as_secs_f64(), std::slice::from_ref(&event));
        for hook in &record.hooks {
            self.hook(hook, &event);
        }
        for (_, told) in &record.on_error {
            self.record(told);
        }
    }

    fn hook(&self, hook: &Ran, event: &KeyValue) {
        let by = [KeyValue::new("hookbox.hook", said(&hook.name)), event.clone()];
        let with = |more: KeyValue| [by.as_slice(), &[more]].concat();
        let kind = KeyValue::new("hookbox.hook.kind", hook.kind);
        let status = KeyValue::new("hookbox.status", hook.status.as_str());
        self.runs.add(1, &[by.as_slice(), &[kind.clone(), status]].concat());
        if hook.status == Status::Blocked {
            self.blocks.add(1, &by);
        }
        if let Some(cause) = hook.cause {
            self.failures.add(1, &with(KeyValue::new("error.type", cause)));
        }
        for right in &hook.denied {
            self.denials.add(1, &with(KeyValue::new("hookbox.right", said(right))));
        }
        for change in &hook.changes {
            self.changes.add(1, &with(KeyValue::new("hookbox.change.what", change.what)));
        }
        // What did not run took no time.
        if hook.duration > Duration::ZERO {
            self.duration.record(hook.duration.as_secs_f64(), &with(kind));
        }
        if let Some(fuel) = hook.fuel {
            self.fuel.record(fuel, &by);
        }
        if let Some(bytes) = hook.memory_peak {
            self.memory.record(bytes, &by);
        }
    }

    /// Sends everything counted so far; `dropped` is the number of all that was ever dropped.
    pub(super) fn send(&mut self, dropped: u64) -> Result<(), String> {
        self.dropped.add(dropped.saturating_sub(self.counted), &[]);
        self.counted = dropped;
        self.provider.force_flush().map_err(|error| {
            let why = self.failure.lock().unwrap_or_else(PoisonError::into_inner).take();
            export::failed(&self.endpoint, &why.unwrap_or_else(|| error.to_string()))
        })
    }
}

fn seconds(meter: &Meter, name: &'static str, what: &'static str) -> Histogram<f64> {
    let builder = meter.f64_histogram(name).with_unit("s").with_description(what);
    builder.with_boundaries(SECONDS.to_vec()).build()
}

fn histogram(
    meter: &Meter,
    name: &'static str,
    unit: &'static str,
    what: &'static str,
    bounds: &[f64],
) -> Histogram<u64> {
    let builder = meter.u64_histogram(name).with_unit(unit).with_description(what);
    builder.with_boundaries(bounds.to_vec()).build()
}
