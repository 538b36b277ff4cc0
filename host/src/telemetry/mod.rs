//! Spans and metrics of events and hooks, sent to an OpenTelemetry collector (OTLP over HTTP, as protobuf).
//!
//! What is sent, under which names, stands in the book (`docs/src/telemetry.md`). Secrets are taken out before
//! ([`redact`](crate::redact)), and every text is escaped and cut.
//!
//! An event only puts a short record into a bounded queue; a thread of its own makes spans and metrics of it and sends
//! them. A collector that is slow or away delays no event and fails none: what finds no place is dropped and counted.
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
mod record;
mod spans;
mod worker;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

pub use self::options::{Endpoint, Options, TelemetryError};

use self::record::Record;
use crate::chain::Fired;

/// How long the end of a session, and a program that ends, wait for what was recorded to be sent. 1 s.
pub const FLUSH: Duration = Duration::from_secs(1);

/// How many events wait for the thread at most. A record has tens of kilobytes at most ([`record`]).
const QUEUE: usize = 512;

/// Where sessions report their events. Cheap to clone; when the last clone goes away, what is left is sent, without
/// anybody waiting for it.
#[derive(Clone)]
pub struct Telemetry {
    queue: SyncSender<Message>,
    state: Arc<State>,
}

/// What the thread is told.
enum Message {
    Record(Box<Record>),
    Flush(oneshot::Sender<()>),
}

/// What the thread and the others share.
#[derive(Default)]
struct State {
    dropped: AtomicU64,
    /// What goes wrong now, by what could not be sent.
    problems: Mutex<BTreeMap<&'static str, String>>,
}

impl State {
    fn drop_records(&self, count: usize) {
        self.dropped.fetch_add(u64::try_from(count).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Notes whether this could be sent; says so once when all was well before, and once when all is well again.
    fn note(&self, signal: &'static str, result: Result<(), String>) {
        let mut problems = self.problems.lock().unwrap_or_else(PoisonError::into_inner);
        let was_well = problems.is_empty();
        match result {
            Ok(()) => {
                problems.remove(signal);
                if !was_well && problems.is_empty() {
                    tracing::info!("telemetry: what is sent is taken again");
                }
            }
            Err(what) => {
                if was_well {
                    tracing::warn!("telemetry: {what}");
                }
                problems.insert(signal, what);
            }
        }
    }
}

impl fmt::Debug for Telemetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Telemetry").field("dropped", &self.dropped()).finish_non_exhaustive()
    }
}

impl Telemetry {
    /// Telemetry as the environment asks for it ([`Options::from_env`]); `None`, and nothing started, where it does
    /// not. `service` is the service's name where the environment gives none.
    ///
    /// # Errors
    ///
    /// Where the environment asks for something that cannot be done, such as an address that is none.
    pub fn from_env(service: &str) -> Result<Option<Self>, TelemetryError> {
        Options::from_env(service)?.map(Self::start).transpose()
    }

    /// Starts the thread that sends.
    ///
    /// # Errors
    ///
    /// Where the system has no thread left.
    pub fn start(options: Options) -> Result<Self, TelemetryError> {
        let (queue, waiting) = sync_channel(QUEUE);
        let state = Arc::new(State::default());
        worker::spawn(options, waiting, Arc::clone(&state)).map_err(TelemetryError::thread)?;
        Ok(Self { queue, state })
    }

    /// Records what became of an event. Never waits; sessions call it by themselves.
    pub fn record(&self, fired: &Fired) {
        if self.queue.try_send(Message::Record(Box::new(Record::of(fired)))).is_err() {
            self.state.drop_records(1);
        }
    }

    /// Waits until what was recorded so far is sent, at most this long. Says whether it was done in time; it is done
    /// also where the collector did not take it.
    pub async fn flush(&self, within: Duration) -> bool {
        let (done, is_done) = oneshot::channel();
        if self.queue.try_send(Message::Flush(done)).is_err() {
            return false;
        }
        matches!(tokio::time::timeout(within, is_done).await, Ok(Ok(())))
    }

    /// How many events and spans were dropped, because the collector was away or too slow.
    pub fn dropped(&self) -> u64 {
        self.state.dropped.load(Ordering::Relaxed)
    }

    /// Why the last attempt to send failed; `None` when all is well.
    pub fn problem(&self) -> Option<String> {
        let problems = self.state.problems.lock().unwrap_or_else(PoisonError::into_inner);
        problems.values().next().cloned()
    }
}
