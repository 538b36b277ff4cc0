//! Metrics: counts and distributions.

use std::sync::Arc;
use std::time::Duration;

use opentelemetry::KeyValue;
use opentelemetry::metrics::{Counter, Histogram, Meter, MeterProvider as _};
use opentelemetry_otlp::MetricExporter;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::{PeriodicReader, SdkMeterProvider};

use super::export::State;
use super::options::{Endpoint, Options, TelemetryError};
use super::spans::verdict;
use super::{clean, export};
use crate::chain::Fired;
use crate::report::{HookReport, Report, Status};

/// Bounds of the buckets for times, in seconds: a component takes tens of microseconds, a script
/// milliseconds, and a chain a minute at most.
const SECONDS: [f64; 21] = [
    0.000_01, 0.000_025, 0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1,
    0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0,
];
/// For fuel: the default limit is 10⁹.
const FUEL: [f64; 13] = [1e3, 3e3, 1e4, 3e4, 1e5, 3e5, 1e6, 3e6, 1e7, 3e7, 1e8, 3e8, 1e9];
/// For memory, in bytes, 64 KiB (a page) to 256 MiB: the default limit is 64 MiB.
const BYTES: [f64; 7] =
    [65_536.0, 262_144.0, 1_048_576.0, 4_194_304.0, 16_777_216.0, 67_108_864.0, 268_435_456.0];

/// Adds to the metrics, which a thread sends.
pub(super) struct Metrics {
    provider: SdkMeterProvider,
    events: Counter<u64>,
    runs: Counter<u64>,
    blocks: Counter<u64>,
    failures: Counter<u64>,
    denials: Counter<u64>,
    changes: Counter<u64>,
    chain: Histogram<f64>,
    duration: Histogram<f64>,
    fuel: Histogram<u64>,
    memory: Histogram<u64>,
}

impl Metrics {
    pub(super) fn new(
        endpoint: &Endpoint,
        options: &Options,
        resource: &Resource,
        state: &Arc<State>,
    ) -> Result<Self, TelemetryError> {
        let builder = MetricExporter::builder().with_http();
        let exporter = export::configure(builder, "metrics", endpoint, state).build();
        let exporter = exporter?;
        let reader = PeriodicReader::builder(exporter).with_interval(options.metrics_every).build();
        let provider =
            SdkMeterProvider::builder().with_resource(resource.clone()).with_reader(reader).build();
        let meter = provider.meter_with_scope(export::scope());
        let counter =
            |name, unit, what| meter.u64_counter(name).with_unit(unit).with_description(what).build();
        let state = Arc::clone(state);
        // The provider keeps it.
        let _ = meter
            .u64_observable_counter("hookbox.telemetry.dropped")
            .with_unit("{item}")
            .with_description("Events and spans that were not sent.")
            .with_callback(move |dropped| dropped.observe(state.dropped(), &[]))
            .build();
        Ok(Self {
            events: counter("hookbox.events", "{event}", "Events that were fired."),
            runs: counter("hookbox.hook.runs", "{run}", "Hooks that an event reached, by status."),
            blocks: counter("hookbox.blocks", "{block}", "Blocks, by the hook that blocked."),
            failures: counter("hookbox.failures", "{failure}", "Hooks that failed, by cause."),
            denials: counter("hookbox.denials", "{denial}", "Rights that a hook used without having them."),
            changes: counter("hookbox.changes", "{change}", "Changes that hooks made."),
            chain: seconds(&meter, "hookbox.chain.duration", "Time of all hooks of an event."),
            duration: seconds(&meter, "hookbox.hook.duration", "Time of one hook."),
            fuel: histogram(&meter, "hookbox.hook.fuel", "{fuel}", "Fuel that a component used.", &FUEL),
            memory: histogram(
                &meter,
                "hookbox.hook.memory",
                "By",
                "The most memory that a component held.",
                &BYTES,
            ),
            provider,
        })
    }

    pub(super) fn record(&self, fired: &Fired) {
        self.report(&fired.report, verdict(&fired.verdict).0);
        for failure in &fired.report.on_error {
            self.report(&failure.report, "pass");
        }
    }

    fn report(&self, report: &Report, verdict: &'static str) {
        let event = KeyValue::new("hookbox.event", clean(report.event.as_str()));
        self.events.add(1, &[event.clone(), KeyValue::new("hookbox.verdict", verdict)]);
        self.chain.record(report.duration.as_secs_f64(), std::slice::from_ref(&event));
        for hook in &report.hooks {
            self.hook(hook, &event);
        }
    }

    fn hook(&self, hook: &HookReport, event: &KeyValue) {
        let by = [KeyValue::new("hookbox.hook", clean(&hook.name)), event.clone()];
        let with = |more: KeyValue| [by.as_slice(), &[more]].concat();
        let kind = KeyValue::new("hookbox.hook.kind", hook.kind.as_str());
        let status = KeyValue::new("hookbox.status", hook.status.as_str());
        self.runs.add(1, &[by.as_slice(), &[kind.clone(), status]].concat());
        if hook.status == Status::Blocked {
            self.blocks.add(1, &by);
        }
        if let Some(cause) = hook.cause {
            self.failures.add(1, &with(KeyValue::new("error.type", cause.as_str())));
        }
        for denial in &hook.denied {
            self.denials.add(1, &with(KeyValue::new("hookbox.right", clean(&denial.right))));
        }
        for change in hook.changes.iter().filter(|_| hook.would.is_none()) {
            self.changes.add(1, &with(KeyValue::new("hookbox.change.what", change.what)));
        }
        // A hook that did not run took no time.
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

    /// Sends all metrics now. Failures are noted where they happen.
    pub(super) fn flush(&self) {
        let _ = self.provider.force_flush();
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
