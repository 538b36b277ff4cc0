//! The options of telemetry, as the environment gives them.

use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue, Uri};
use percent_encoding::percent_decode_str;

use crate::redact;
use hookbox_system::{Hint, limits, text};

/// The signals to send, and their addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The address for spans; `None` sends none.
    pub traces: Option<Endpoint>,
    /// The address for metrics; `None` sends none.
    pub metrics: Option<Endpoint>,
    /// The service's name, if `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` give none.
    pub service: String,
    /// The parent of the spans of events: a W3C `traceparent`.
    pub parent: Option<String>,
    /// The time between sending spans. 5 s.
    pub spans_every: Duration,
    /// The time between sending metrics. 60 s.
    pub metrics_every: Duration,
}

/// The address of one signal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The whole address, such as `http://localhost:4318/v1/traces`.
    pub url: String,
    /// The longest time of one request. 10 s.
    pub timeout: Duration,
}

/// The reason why telemetry cannot be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TelemetryError {
    /// A variable has something other than an address of HTTP.
    #[error("{variable}: expected the address of a collector, found \"{found}\"")]
    Address {
        /// The name of the variable.
        variable: String,
        /// Its value, escaped and without secrets.
        found: String,
    },
    /// A variable asks for another protocol.
    #[error("{variable}: expected http/protobuf, found \"{found}\"")]
    Protocol {
        /// The name of the variable.
        variable: String,
        /// Its value, escaped.
        found: String,
    },
    /// The exporter cannot be made.
    #[error("cannot send telemetry: {}", text::escape(&redact::text(&.0.to_string()), limits::EXCERPT))]
    Exporter(#[from] opentelemetry_otlp::ExporterBuildError),
    /// The certificates of the system cannot be read, or TLS cannot be used.
    #[error("cannot send records: {}", text::escape(.0, limits::EXCERPT))]
    Client(String),
}

impl TelemetryError {
    /// Returns the next step for the user.
    pub fn hint(&self) -> Hint {
        Hint::from(match self {
            Self::Address { .. } => "give one such as http://localhost:4318",
            Self::Protocol { .. } => "collectors take http/protobuf, mostly on port 4318",
            Self::Client(_) => "SSL_CERT_FILE and SSL_CERT_DIR name certificates",
            Self::Exporter(_) => "check the variables OTEL_EXPORTER_OTLP_*",
        })
    }
}

impl Options {
    /// Sends both signals to the collector at this address, such as `http://localhost:4318`.
    ///
    /// # Errors
    ///
    /// If it is not an address of HTTP.
    pub fn to(endpoint: &str, service: &str) -> Result<Self, TelemetryError> {
        let get = |name: &str| (name == "OTEL_EXPORTER_OTLP_ENDPOINT").then(|| endpoint.to_owned());
        Self::of(service, get)
    }

    /// Reads the environment. `None` if it names no endpoint, or switches telemetry off.
    ///
    /// This reads `OTEL_SDK_DISABLED`, `OTEL_EXPORTER_OTLP_ENDPOINT`, `OTEL_EXPORTER_OTLP_TIMEOUT`,
    /// `OTEL_EXPORTER_OTLP_PROTOCOL` and the same for `TRACES` and `METRICS` alone, `OTEL_TRACES_EXPORTER`
    /// and `OTEL_METRICS_EXPORTER` (`none`), `OTEL_BSP_SCHEDULE_DELAY`, `OTEL_METRIC_EXPORT_INTERVAL`,
    /// `TRACEPARENT`. OpenTelemetry reads `OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES`,
    /// `OTEL_EXPORTER_OTLP_HEADERS` (and for one signal), `OTEL_TRACES_SAMPLER`,
    /// `OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE`. An empty variable counts as absent.
    ///
    /// # Errors
    ///
    /// An address that is not one of HTTP, or a protocol other than `http/protobuf`.
    pub fn from_env(service: &str) -> Result<Option<Self>, TelemetryError> {
        Self::read(service, |name| std::env::var(name).ok())
    }

    pub(super) fn read(
        service: &str,
        get: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<Self>, TelemetryError> {
        if get("OTEL_SDK_DISABLED").is_some_and(|disabled| disabled.trim().eq_ignore_ascii_case("true")) {
            return Ok(None);
        }
        Ok(Some(Self::of(service, get)?).filter(|it| it.traces.is_some() || it.metrics.is_some()))
    }

    /// Reads the variables. The default times are those of the specifications of the exporter, of the batching span
    /// processor and of the periodic metric reader.
    fn of(service: &str, get: impl Fn(&str) -> Option<String>) -> Result<Self, TelemetryError> {
        let get =
            |name: &str| get(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        Ok(Self {
            traces: endpoint("TRACES", "v1/traces", &get)?,
            metrics: endpoint("METRICS", "v1/metrics", &get)?,
            service: service.to_owned(),
            parent: get("TRACEPARENT"),
            spans_every: millis(get("OTEL_BSP_SCHEDULE_DELAY"), 5_000),
            metrics_every: millis(get("OTEL_METRIC_EXPORT_INTERVAL"), 60_000),
        })
    }
}

/// Returns the endpoint for records: of the collector that the user's settings name, whatever the environment says; else
/// of the variable for logs alone. The variable for all signals does not count, because records have more in them.
pub(super) fn logs(collector: Option<&str>) -> Result<Option<Endpoint>, TelemetryError> {
    let get = |name: &str| match name {
        "OTEL_EXPORTER_OTLP_ENDPOINT" => collector.map(str::to_owned),
        "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT" | "OTEL_LOGS_EXPORTER" if collector.is_some() => None,
        _ => std::env::var(name).ok().filter(|value| !value.trim().is_empty()),
    };
    endpoint("LOGS", "v1/logs", &get)
}

/// Returns the header fields that the environment has for a signal: `NAME=VALUE,…`, in which a value may have `%20` and
/// the like.
pub(super) fn headers(signal: &str) -> HeaderMap {
    let names = [format!("OTEL_EXPORTER_OTLP_{signal}_HEADERS"), "OTEL_EXPORTER_OTLP_HEADERS".to_owned()];
    let text = names.iter().find_map(|name| std::env::var(name).ok().filter(|it| !it.trim().is_empty()));
    let field = |pair: &str| {
        let (name, value) = pair.split_once('=')?;
        let mut value =
            HeaderValue::from_bytes(&percent_decode_str(value.trim()).collect::<Vec<u8>>()).ok()?;
        value.set_sensitive(true);
        Some((HeaderName::try_from(name.trim()).ok()?, value))
    };
    text.unwrap_or_default().split(',').filter_map(field).collect()
}

/// Reads the endpoint of a signal. Its own variables go before the common ones.
fn endpoint(
    signal: &str,
    path: &str,
    get: &impl Fn(&str) -> Option<String>,
) -> Result<Option<Endpoint>, TelemetryError> {
    if get(&format!("OTEL_{signal}_EXPORTER")).is_some_and(|exporter| exporter == "none") {
        return Ok(None);
    }
    let own = |what: &str| format!("OTEL_EXPORTER_OTLP_{signal}_{what}");
    let common = |what: &str| format!("OTEL_EXPORTER_OTLP_{what}");
    let (name, url) = match (get(&own("ENDPOINT")), get(&common("ENDPOINT"))) {
        (Some(url), _) => (own("ENDPOINT"), url),
        (None, Some(base)) => {
            let url = format!("{}/{path}", base.trim_end_matches('/'));
            (common("ENDPOINT"), url)
        }
        (None, None) => return Ok(None),
    };
    let uri = url.parse::<Uri>().ok();
    let is_http =
        uri.is_some_and(|uri| matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some());
    if !is_http {
        let found = text::escape(&redact::text(&url), 200);
        return Err(TelemetryError::Address { variable: name, found });
    }
    if let Some(protocol) = get(&own("PROTOCOL")).or_else(|| get(&common("PROTOCOL")))
        && protocol != "http/protobuf"
    {
        let (variable, found) = (common("PROTOCOL"), text::escape(&protocol, limits::WORD));
        return Err(TelemetryError::Protocol { variable, found });
    }
    let timeout = millis(get(&own("TIMEOUT")).or_else(|| get(&common("TIMEOUT"))), 10_000);
    Ok(Some(Endpoint { url, timeout }))
}

/// Reads a number of milliseconds. Anything else, and zero, is the default.
fn millis(value: Option<String>, default: u64) -> Duration {
    let value = value.and_then(|value| value.parse().ok()).filter(|millis| *millis > 0);
    Duration::from_millis(value.unwrap_or(default))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Option<Options>, TelemetryError> {
        let get = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        Options::read("hookbox", get)
    }

    /// The addresses and timeouts (ms) of traces and metrics.
    fn endpoints(variables: &[(&str, &str)]) -> [Option<(String, u128)>; 2] {
        let options = read(variables).unwrap().unwrap();
        [options.traces, options.metrics].map(|it| it.map(|it| (it.url, it.timeout.as_millis())))
    }

    const BASE: (&str, &str) = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318/");

    #[test]
    fn nothing_is_sent_unless_an_endpoint_is_named() {
        for variables in [
            &[][..],
            &[("OTEL_EXPORTER_OTLP_ENDPOINT", "")],
            &[("OTEL_EXPORTER_OTLP_ENDPOINT", " ")],
            &[BASE, ("OTEL_SDK_DISABLED", "true")],
            &[BASE, ("OTEL_SDK_DISABLED", "TRUE")],
            &[BASE, ("OTEL_TRACES_EXPORTER", "none"), ("OTEL_METRICS_EXPORTER", "none")],
            &[("OTEL_SERVICE_NAME", "x"), ("TRACEPARENT", "x")],
        ] {
            assert_eq!(read(variables).unwrap(), None, "{variables:?}");
        }
    }

    #[test]
    fn a_signals_own_variables_go_before_the_common_ones() {
        let traces = Some(("http://c:4318/v1/traces".to_owned(), 10_000));
        let metrics = Some(("http://c:4318/v1/metrics".to_owned(), 10_000));
        let own = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://t/x");
        let (of_own, common) =
            (("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "5"), ("OTEL_EXPORTER_OTLP_TIMEOUT", "7"));
        assert_eq!(endpoints(&[BASE]), [traces.clone(), metrics.clone()]);
        assert_eq!(endpoints(&[own]), [Some(("https://t/x".to_owned(), 10_000)), None]);
        assert_eq!(
            endpoints(&[BASE, own, of_own, common]),
            [Some(("https://t/x".to_owned(), 5)), Some(("http://c:4318/v1/metrics".to_owned(), 7))]
        );
        assert_eq!(endpoints(&[BASE, ("OTEL_METRICS_EXPORTER", "none")]), [traces, None]);
        assert_eq!(
            endpoints(&[BASE, ("OTEL_TRACES_EXPORTER", "none"), ("OTEL_EXPORTER_OTLP_TIMEOUT", "soon")]),
            [None, metrics]
        );
    }

    #[test]
    fn what_cannot_be_done_says_what_to_do_and_shows_no_password() {
        for (variables, expected) in [
            (
                &[("OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4318")][..],
                "OTEL_EXPORTER_OTLP_ENDPOINT: expected the address of a collector, found \"localhost:4318/v1/traces\"; hint: give one such as http://localhost:4318",
            ),
            (
                &[("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "ftp://me:hunter2@host")],
                "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: expected the address of a collector, found \"ftp://me:[REDACTED:url]@host\"; hint: give one such as http://localhost:4318",
            ),
            (
                &[BASE, ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")],
                "OTEL_EXPORTER_OTLP_PROTOCOL: expected http/protobuf, found \"grpc\"; hint: collectors take http/protobuf, mostly on port 4318",
            ),
        ] {
            let error = read(variables).unwrap_err();
            assert_eq!(format!("{error}; hint: {}", error.hint()), expected);
        }
    }
}
