//! The connection to the collector, and the state that recording and sending share.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use opentelemetry::{InstrumentationScope, Key, KeyValue};
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{Protocol, RetryPolicy, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use reqwest::blocking;
use tokio_rustls::rustls::RootCertStore;

use super::options::Endpoint;
use crate::redact;
use hookbox_system::{mutex, text, tls};

/// The pauses between three attempts: a program that ends waits for them.
const RETRY: Duration = Duration::from_millis(50);

/// Sends requests and notes their results.
#[derive(Debug)]
struct Client {
    signal: &'static str,
    endpoint: Endpoint,
    state: Arc<State>,
    /// Made by the first request, in a thread of OpenTelemetry: it blocks, and reading certificates takes
    /// time.
    client: OnceLock<Result<blocking::Client, String>>,
}

#[async_trait]
impl HttpClient for Client {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let result = match self.client.get_or_init(|| client(&self.endpoint)) {
            Ok(client) => client.send_bytes(request).await,
            Err(error) => Err(error.clone().into()),
        };
        let sent = match &result {
            Ok(response) if response.status().is_success() => Ok(()),
            Ok(response) => Err(self.failed(&format!("status {}", response.status()))),
            Err(error) => Err(self.failed(&text::innermost(&**error))),
        };
        self.state.note(self.signal, sent);
        result
    }
}

impl Client {
    fn failed(&self, error: &str) -> String {
        let url = text::escape(&redact::text(&self.endpoint.url), 200);
        let error = text::escape(&redact::text(error), 200);
        format!(
            "failed to send to the collector at {url}: {error}; hint: start it, or unset OTEL_EXPORTER_OTLP_ENDPOINT"
        )
    }
}

pub(super) fn client(endpoint: &Endpoint) -> Result<blocking::Client, String> {
    let needs_tls = endpoint.url.starts_with("https:");
    let config = if needs_tls { tls::system_roots() } else { tls::config(RootCertStore::empty()) };
    let client = blocking::Client::builder()
        .tls_backend_preconfigured(config?)
        // The headers may contain a key.
        .redirect(reqwest::redirect::Policy::none())
        .http1_only()
        .timeout(endpoint.timeout)
        .build();
    client.map_err(|error| error.to_string())
}

/// Configures the exporter of one signal.
pub(super) fn configure<B: WithExportConfig + WithHttpConfig>(
    builder: B,
    signal: &'static str,
    endpoint: &Endpoint,
    state: &Arc<State>,
) -> B {
    let retry =
        RetryPolicy::disabled().with_max_retries(2).with_initial_delay(RETRY).with_max_delay(2 * RETRY);
    let client = OnceLock::new();
    builder
        .with_http_client(Client { signal, endpoint: endpoint.clone(), state: Arc::clone(state), client })
        .with_endpoint(endpoint.url.as_str())
        .with_timeout(endpoint.timeout)
        .with_protocol(Protocol::HttpBinary)
        .with_retry_policy(retry)
}

/// Returns the service, as the environment names it, and this process.
pub(super) fn resource(service: &str) -> Resource {
    let pid = i64::from(std::process::id());
    let given = Resource::builder().with_attribute(KeyValue::new("process.pid", pid)).build();
    let name = given.get(&Key::from_static_str("service.name"));
    if name.is_some_and(|name| !name.as_str().starts_with("unknown_service")) {
        return given;
    }
    let builder = Resource::builder().with_attribute(KeyValue::new("process.pid", pid));
    builder.with_service_name(service.to_owned()).build()
}

/// Returns the name of this library, which makes the spans and metrics.
pub(super) fn scope() -> InstrumentationScope {
    InstrumentationScope::builder("hookbox").with_version(env!("CARGO_PKG_VERSION")).build()
}

/// The number of spans that wait for the collector at most; an event that does not fit is dropped.
pub(super) const MAX_WAITING: usize = 2_048;

/// The state that recording and sending share.
#[derive(Debug, Default)]
pub(super) struct State {
    waiting: AtomicUsize,
    dropped: AtomicU64,
    /// The last failure of each signal; a success removes it.
    problems: Mutex<BTreeMap<&'static str, String>>,
}

impl State {
    /// Reserves room for the spans of one event in the queue. Counts the event as dropped if there is none.
    pub(super) fn reserve(&self, spans: usize) -> bool {
        let reserve = |waiting: usize| waiting.checked_add(spans).filter(|sum| *sum <= MAX_WAITING);
        let reserved = self.waiting.fetch_update(Ordering::Relaxed, Ordering::Relaxed, reserve).is_ok();
        if !reserved {
            self.drop_items(1);
        }
        reserved
    }

    /// Frees the room of spans that left the queue.
    pub(super) fn release(&self, spans: usize) {
        self.waiting.fetch_sub(spans, Ordering::Relaxed);
    }

    pub(super) fn drop_items(&self, count: usize) {
        self.dropped.fetch_add(u64::try_from(count).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    pub(super) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    pub(super) fn problem(&self) -> Option<String> {
        let problems = mutex::lock(&self.problems);
        problems.values().next().cloned()
    }

    /// Notes the result of sending a signal. Logs the first failure, and the end of all failures.
    pub(super) fn note(&self, signal: &'static str, result: Result<(), String>) {
        let mut problems = mutex::lock(&self.problems);
        let was_well = problems.is_empty();
        match result {
            Ok(()) => {
                problems.remove(signal);
                if !was_well && problems.is_empty() {
                    tracing::info!("telemetry: the collector takes it again");
                }
            }
            Err(problem) => {
                if was_well {
                    tracing::warn!("telemetry: {problem}");
                }
                problems.insert(signal, problem);
            }
        }
    }
}
