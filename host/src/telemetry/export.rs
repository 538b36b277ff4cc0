//! The way to the collector.

use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use opentelemetry::{InstrumentationScope, Key, KeyValue};
use opentelemetry_otlp::{
    MetricExporter, Protocol, RetryPolicy, SpanExporter, WithExportConfig as _, WithHttpConfig as _,
};
use opentelemetry_sdk::Resource;
use reqwest::blocking::Client;
use tokio_rustls::rustls::RootCertStore;

use super::options::{Endpoint, Options};
use crate::{redact, text, tls};

/// What sends requests. It belongs to the thread that sends: it would block a runtime.
pub(super) fn client(options: &Options) -> Result<Client, String> {
    let endpoints = || options.traces.iter().chain(&options.metrics);
    let timeout = endpoints().map(|it| it.timeout).max().unwrap_or_default();
    // Without TLS no certificate is looked for, which takes longer than all else.
    let needs_tls = endpoints().any(|it| it.url.starts_with("https:"));
    let config = if needs_tls { tls::system_roots() } else { tls::config(RootCertStore::empty()) };
    let client = Client::builder()
        .tls_backend_preconfigured(config?)
        // The headers may hold a key.
        .redirect(reqwest::redirect::Policy::none())
        .http1_only()
        .timeout(timeout)
        .build();
    client.map_err(|error| format!("cannot send: {error}"))
}

/// One attempt at a time: what could not be sent waits here, and is sent with what comes later.
pub(super) fn spans(endpoint: &Endpoint, client: &Client) -> Result<SpanExporter, String> {
    let builder = SpanExporter::builder()
        .with_http()
        .with_http_client(client.clone())
        .with_endpoint(endpoint.url.as_str())
        .with_timeout(endpoint.timeout)
        .with_protocol(Protocol::HttpBinary)
        .with_retry_policy(RetryPolicy::disabled());
    builder.build().map_err(|error| error.to_string())
}

pub(super) fn metrics(endpoint: &Endpoint, client: &Client) -> Result<MetricExporter, String> {
    let builder = MetricExporter::builder()
        .with_http()
        .with_http_client(client.clone())
        .with_endpoint(endpoint.url.as_str())
        .with_timeout(endpoint.timeout)
        .with_protocol(Protocol::HttpBinary)
        .with_retry_policy(RetryPolicy::disabled());
    builder.build().map_err(|error| error.to_string())
}

/// What sends: the service, as the environment names it, and this process.
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

/// Who makes the spans and metrics.
pub(super) fn scope() -> InstrumentationScope {
    InstrumentationScope::builder("hookbox").with_version(env!("CARGO_PKG_VERSION")).build()
}

/// A failure to send, in words.
pub(super) fn failed(endpoint: &Endpoint, error: &dyn std::fmt::Display) -> String {
    let url = text::escape(&redact::text(&endpoint.url), 200);
    let error = error.to_string();
    let error = text::escape(error.strip_prefix("Operation failed: ").unwrap_or(&error), 200);
    format!(
        "expected a collector that takes OTLP at {url}, found: {error}; hint: start it, or unset OTEL_EXPORTER_OTLP_ENDPOINT"
    )
}

/// The result of a future that never waits for another task: the client blocks.
pub(super) fn finish<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(result) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return result;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}
