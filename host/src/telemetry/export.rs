//! The connection to the collector.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use opentelemetry::{InstrumentationScope, Key, KeyValue};
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{Protocol, RetryPolicy, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use reqwest::blocking;
use tokio_rustls::rustls::RootCertStore;

use super::options::Endpoint;
use super::state::State;
use crate::redact;
use hookbox_system::{text, tls};

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
