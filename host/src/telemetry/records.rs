//! Records of a journal as log records of OTLP.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use opentelemetry::Key;
use opentelemetry::trace::TraceContextExt as _;
use opentelemetry_proto::tonic::collector::logs::v1::{ExportLogsServiceRequest, ExportLogsServiceResponse};
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue, any_value::Value};
use opentelemetry_proto::tonic::logs::v1::{LogRecord, ResourceLogs, ScopeLogs, SeverityNumber};
use opentelemetry_proto::tonic::resource::v1::Resource;
use prost::Message as _;
use reqwest::blocking;

use super::options::{self, Endpoint};
use super::spans::parent;
use super::{TelemetryError, export};
use crate::redact;
use hookbox_system::{limits, text};

/// A record to send.
#[derive(Clone, Debug, Default)]
pub struct SentRecord {
    /// The time of the event.
    pub time: Option<SystemTime>,
    /// The record: a line of JSON without secrets.
    pub body: String,
    /// The attributes.
    pub attributes: Vec<(&'static str, String)>,
    /// True if the event was blocked.
    pub is_blocked: bool,
    /// The span of the event: a W3C `traceparent`.
    pub trace: Option<String>,
}

/// The reason why records were not sent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// The collector is away, busy, or does not know who sends: the same records may be sent later.
    #[error("the collector at {url} did not take the records: {reason}")]
    Later {
        /// The address, without secrets.
        url: String,
        /// The reason.
        reason: String,
    },
    /// The collector refused these records, and will refuse them again.
    #[error("the collector at {url} refused the records: {reason}")]
    Refused {
        /// The address, without secrets.
        url: String,
        /// The reason.
        reason: String,
    },
}

/// Sends records to a collector, over HTTP as protobuf. It blocks: it is not for a task.
pub struct RecordSender {
    endpoint: Endpoint,
    client: blocking::Client,
    headers: http::HeaderMap,
    resource: Resource,
}

debug_by!(RecordSender);

impl RecordSender {
    /// Makes a sender to the collector at this address, such as `http://localhost:4318`. `None` takes the whole address of
    /// `OTEL_EXPORTER_OTLP_LOGS_ENDPOINT`; without that variable there is no sender. Headers, time limit and attributes are
    /// those of the variables of OpenTelemetry.
    ///
    /// # Errors
    ///
    /// An address that is not one of HTTP, a protocol other than `http/protobuf`, or certificates that cannot be read.
    pub fn new(collector: Option<&str>, service: &str) -> Result<Option<Self>, TelemetryError> {
        let Some(endpoint) = options::logs(collector)? else { return Ok(None) };
        let client = export::client(&endpoint).map_err(TelemetryError::Client)?;
        let attributes = |resource: opentelemetry_sdk::Resource| -> Vec<KeyValue> {
            let host = resource.get(&Key::from_static_str("host.name")).is_none().then(host_name).flatten();
            let known =
                resource.iter().map(|(key, value)| attribute(key.as_str(), value.as_str().into_owned()));
            known.chain(host.map(|host| attribute("host.name", host))).collect()
        };
        let resource = Resource { attributes: attributes(export::resource(service)), ..Resource::default() };
        Ok(Some(Self { endpoint, client, headers: options::headers("LOGS"), resource }))
    }

    /// Sends records in one request, and waits for the answer. Returns the number of those that the collector refused, with
    /// its reason.
    ///
    /// # Errors
    ///
    /// [`SendError`]; none of the records counts as sent.
    pub fn send(&self, records: &[SentRecord]) -> Result<Option<(u64, String)>, SendError> {
        let observed = nanos(SystemTime::now());
        let scope = InstrumentationScope {
            name: "hookbox".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            ..InstrumentationScope::default()
        };
        let log_records = records.iter().map(|it| log_record(it, observed)).collect();
        let scope_logs = vec![ScopeLogs { scope: Some(scope), log_records, ..ScopeLogs::default() }];
        let all =
            ResourceLogs { resource: Some(self.resource.clone()), scope_logs, ..ResourceLogs::default() };
        let body = ExportLogsServiceRequest { resource_logs: vec![all] }.encode_to_vec();
        let request = self.client.post(&self.endpoint.url).headers(self.headers.clone());
        let request = request.header(http::header::CONTENT_TYPE, "application/x-protobuf").body(body);
        let answer = request.send().map_err(|error| self.later(&text::innermost(&error)))?;
        let status = answer.status();
        if status.is_success() {
            let bytes = answer.bytes().map_err(|error| self.later(&text::innermost(&error)))?;
            // An answer that cannot be read is one of a collector that took the records.
            let partial = ExportLogsServiceResponse::decode(bytes).ok().and_then(|it| it.partial_success);
            return Ok(partial.and_then(|it| {
                let refused = u64::try_from(it.rejected_log_records).ok().filter(|refused| *refused > 0)?;
                Some((refused, self.refused(&it.error_message).to_string()))
            }));
        }
        // A wrong key can be mended, and so can a wrong path. Anything else with 4xx is about these records.
        let later = [401, 403, 404, 405, 407, 408, 425, 429];
        let is_refused = status.is_client_error() && !later.contains(&status.as_u16());
        let reason = format!("status {status}");
        Err(if is_refused { self.refused(&reason) } else { self.later(&reason) })
    }

    fn url(&self) -> String {
        text::escape(&redact::text(&self.endpoint.url), 200)
    }

    fn later(&self, reason: &str) -> SendError {
        SendError::Later { url: self.url(), reason: text::escape(&redact::text(reason), limits::EXCERPT) }
    }

    fn refused(&self, reason: &str) -> SendError {
        SendError::Refused { url: self.url(), reason: text::escape(&redact::text(reason), limits::EXCERPT) }
    }
}

fn log_record(record: &SentRecord, observed: u64) -> LogRecord {
    let severity = if record.is_blocked { SeverityNumber::Warn } else { SeverityNumber::Info };
    let parent = parent(record.trace.as_deref());
    let span = parent.span().span_context().clone();
    let ids =
        span.is_valid().then(|| (span.trace_id().to_bytes().to_vec(), span.span_id().to_bytes().to_vec()));
    let (trace_id, span_id) = ids.unwrap_or_default();
    LogRecord {
        time_unix_nano: record.time.map_or(observed, nanos),
        observed_time_unix_nano: observed,
        severity_number: severity.into(),
        severity_text: if record.is_blocked { "WARN" } else { "INFO" }.to_owned(),
        body: text_value(record.body.clone()),
        attributes: record.attributes.iter().map(|(key, value)| attribute(key, value.clone())).collect(),
        event_name: "hookbox.record".to_owned(),
        trace_id,
        span_id,
        flags: span.trace_flags().to_u8().into(),
        ..LogRecord::default()
    }
}

fn nanos(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

fn attribute(key: &str, value: String) -> KeyValue {
    KeyValue { key: key.to_owned(), value: text_value(value), ..KeyValue::default() }
}

fn text_value(text: String) -> Option<AnyValue> {
    Some(AnyValue { value: Some(Value::StringValue(text)) })
}

/// Returns the name of this machine, if the system tells it in a file.
fn host_name() -> Option<String> {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    Some(name.trim().to_owned()).filter(|name| !name.is_empty() && name.len() <= limits::WORD)
}
