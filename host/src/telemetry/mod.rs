//! Spans and metrics of events and hooks, sent to an OpenTelemetry collector (OTLP over HTTP, as protobuf).
//!
//! The book (`docs/src/telemetry.md`) lists them. Every text is cleared of secrets
//! (by `redact`), escaped and cut.
//!
//! An event only adds to the metrics and puts its spans into a bounded queue. Threads of OpenTelemetry send
//! both. A collector that is slow or away delays no event and fails none: an event that does not fit is
//! dropped and counted.
//!
//! ```no_run
//! use hookbox::manager::Manager;
//! use hookbox::telemetry::Telemetry;
//!
//! # async fn build() -> Result<(), hookbox::telemetry::TelemetryError> {
//! let mut builder = Manager::builder();
//! if let Some(telemetry) = Telemetry::from_env("my-agent")? {
//!     builder = builder.telemetry(telemetry); // OTEL_EXPORTER_OTLP_ENDPOINT is set
//! }
//! let manager = builder.build().await;
//! # let _ = manager; Ok(()) }
//! ```

mod export;
mod metrics;
mod options;
mod records;
mod spans;

use std::fmt;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{Mutex, oneshot};

pub use self::options::{Endpoint, Options, TelemetryError};
pub use self::records::{RecordSender, SendError, SentRecord};

use self::export::State;
use self::metrics::Metrics;
use self::spans::Spans;
use crate::chain::Fired;
use crate::redact;
use hookbox_system::{limits, text};

/// The longest wait for the collector at the end of a session, and of the program. 1 s.
pub const FLUSH: Duration = Duration::from_secs(1);

/// Spans and metrics of sessions. Cheap to clone; when the last clone is dropped, the rest is sent in the
/// background.
#[derive(Clone)]
pub struct Telemetry(Arc<Pipelines>);

struct Pipelines {
    spans: Option<Spans>,
    metrics: Option<Metrics>,
    state: Arc<State>,
    /// Held by the thread that flushes, so that a silent collector does not cause more and more threads.
    flushing: Arc<Mutex<()>>,
}

impl fmt::Debug for Telemetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Telemetry").field("dropped", &self.dropped()).finish_non_exhaustive()
    }
}

impl Drop for Pipelines {
    fn drop(&mut self) {
        // The providers wait for the collector when they are dropped.
        let providers = (self.spans.take(), self.metrics.take());
        let _ = thread::Builder::new().spawn(move || drop(providers));
    }
}

impl Telemetry {
    /// Starts telemetry if the environment asks for it ([`Options::from_env`]). `service` is the service's
    /// name if the environment has none.
    ///
    /// # Errors
    ///
    /// If the environment asks for something impossible, such as an address that is not one of HTTP.
    pub fn from_env(service: &str) -> Result<Option<Self>, TelemetryError> {
        Options::from_env(service)?.map(Self::start).transpose()
    }

    /// Starts the threads that send.
    ///
    /// # Errors
    ///
    /// If an address or a header of the environment is invalid.
    pub fn start(options: Options) -> Result<Self, TelemetryError> {
        let state = Arc::new(State::default());
        let resource = export::resource(&options.service);
        let spans = options.traces.as_ref().map(|endpoint| Spans::new(endpoint, &options, &resource, &state));
        let metrics =
            options.metrics.as_ref().map(|endpoint| Metrics::new(endpoint, &options, &resource, &state));
        let (spans, metrics) = (spans.transpose()?, metrics.transpose()?);
        Ok(Self(Arc::new(Pipelines { spans, metrics, state, flushing: Arc::default() })))
    }

    /// Records an event and its hooks, and returns the `traceparent` of the event's span. Never waits for the collector;
    /// sessions call it by themselves.
    pub fn record(&self, fired: &Fired) -> Option<String> {
        if let Some(metrics) = &self.0.metrics {
            metrics.record(fired);
        }
        self.0.spans.as_ref()?.record(fired)
    }

    /// Sends all that was recorded, and waits for it at most this long. Returns whether it was done in time,
    /// also if the collector refused it.
    pub async fn flush(&self, within: Duration) -> bool {
        let flush = async {
            let flushing = Arc::clone(&self.0.flushing).lock_owned().await;
            let (pipelines, (done, is_done)) = (Arc::clone(&self.0), oneshot::channel());
            // Not a task: the end of a runtime waits for tasks that block.
            let thread = thread::Builder::new().name("hookbox-flush".to_owned()).spawn(move || {
                pipelines.flush();
                drop(flushing);
                // The caller may have given up.
                let _ = done.send(());
            });
            thread.is_ok() && is_done.await.is_ok()
        };
        tokio::time::timeout(within, flush).await.unwrap_or(false)
    }

    /// Returns the number of events and spans that were dropped, because the collector was away or too slow.
    pub fn dropped(&self) -> u64 {
        self.0.state.dropped()
    }

    /// Returns the reason why the last attempt to send failed; `None` if it did not.
    pub fn problem(&self) -> Option<String> {
        self.0.state.problem()
    }
}

impl Pipelines {
    fn flush(&self) {
        if let Some(spans) = &self.spans {
            spans.flush();
        }
        if let Some(metrics) = &self.metrics {
            metrics.flush();
        }
    }
}

/// Prepares a text from outside for sending: without secrets, escaped, cut.
fn clean(text: &str) -> String {
    // Redacting mostly shortens: twice the length is enough to fill the line, and more would only cost time.
    redact::line(&Value::from(text::prefix(text, 4 * limits::EXCERPT)), limits::EXCERPT)
}
