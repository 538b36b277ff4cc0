//! A collector that keeps its requests, on a loopback address of its own.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value::Value as Any};
use opentelemetry_proto::tonic::logs::v1::LogRecord;
use opentelemetry_proto::tonic::metrics::v1::{metric::Data, number_data_point};
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;

/// The largest request that it takes, in bytes.
const MAX_BODY: usize = 8 << 20;

/// The longest wait for a request that was sent.
const PATIENCE: Duration = Duration::from_secs(60);

/// One request: path, head and body.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) path: String,
    pub(crate) head: String,
    body: Vec<u8>,
}

#[derive(Default)]
struct Requests {
    all: Mutex<Vec<Request>>,
    arrived: Condvar,
}

pub(crate) struct Collector {
    address: SocketAddr,
    requests: Arc<Requests>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// Returns the name and the value of an attribute as text.
fn said(value: &KeyValue) -> (String, String) {
    let text = match value.value.as_ref().and_then(|value| value.value.as_ref()) {
        Some(Any::StringValue(text)) => text.clone(),
        Some(Any::IntValue(number)) => number.to_string(),
        Some(Any::BoolValue(yes)) => yes.to_string(),
        other => format!("{other:?}"),
    };
    (value.key.clone(), text)
}

pub(crate) fn attributes(values: &[KeyValue]) -> BTreeMap<String, String> {
    values.iter().map(said).collect()
}

impl Collector {
    /// One that answers every request with this status; `None` answers none at all.
    pub(crate) fn start(status: Option<u16>) -> Self {
        match status {
            Some(status) => Self::judging(move |_| Some(status)),
            None => Self::judging(|_| None),
        }
    }

    /// One that answers a request with the status for its body, or not at all.
    pub(crate) fn judging(judge: impl Fn(&[u8]) -> Option<u16> + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (requests, stop) = (Arc::<Requests>::default(), Arc::<AtomicBool>::default());
        let (kept, stopped) = (Arc::clone(&requests), Arc::clone(&stop));
        let thread = std::thread::spawn(move || {
            let mut silent = Vec::new();
            for stream in listener.incoming() {
                if stopped.load(Ordering::Relaxed) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                silent.extend(answer(stream, &judge, &kept).flatten());
            }
        });
        Self { address, requests, stop, thread: Some(thread) }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.all.lock().unwrap().clone()
    }

    /// Returns the bodies of the requests to a path. Waits for the first one.
    fn bodies(&self, path: &str) -> Vec<Vec<u8>> {
        let Requests { all, arrived } = &*self.requests;
        let has_none = |all: &mut Vec<Request>| all.iter().all(|it| it.path != path);
        let (all, wait) = arrived.wait_timeout_while(all.lock().unwrap(), PATIENCE, has_none).unwrap();
        assert!(!wait.timed_out(), "no request to {path}");
        all.iter().filter(|it| it.path == path).map(|it| it.body.clone()).collect()
    }

    /// The spans that have arrived, and the attributes of the service that sent them.
    pub(crate) fn spans(&self) -> (Vec<Span>, BTreeMap<String, String>) {
        let (mut spans, mut resource) = (Vec::new(), BTreeMap::new());
        for body in self.bodies("/v1/traces") {
            for part in ExportTraceServiceRequest::decode(body.as_slice()).unwrap().resource_spans {
                resource.append(&mut attributes(&part.resource.unwrap().attributes));
                spans.extend(part.scope_spans.into_iter().flat_map(|scope| scope.spans));
            }
        }
        (spans, resource)
    }

    /// The log records of each request that has arrived, and the attributes of the service that sent them.
    pub(crate) fn logs(&self) -> (Vec<Vec<LogRecord>>, BTreeMap<String, String>) {
        let (mut requests, mut resource) = (Vec::new(), BTreeMap::new());
        for body in self.bodies("/v1/logs") {
            let mut records = Vec::new();
            for part in ExportLogsServiceRequest::decode(body.as_slice()).unwrap().resource_logs {
                resource.append(&mut attributes(&part.resource.unwrap().attributes));
                records.extend(part.scope_logs.into_iter().flat_map(|scope| scope.log_records));
            }
            requests.push(records);
        }
        (requests, resource)
    }

    /// The last value of every metric: `name{attribute=value,…}` and a sum, or the count of a distribution.
    pub(crate) fn metrics(&self) -> BTreeMap<String, (u64, String)> {
        let mut found = BTreeMap::new();
        let name = |name: &str, values: &[KeyValue]| {
            let values: Vec<String> =
                attributes(values).into_iter().map(|(key, value)| format!("{key}={value}")).collect();
            format!("{name}{{{}}}", values.join(","))
        };
        for body in self.bodies("/v1/metrics") {
            let request = ExportMetricsServiceRequest::decode(body.as_slice()).unwrap();
            let scopes = request.resource_metrics.into_iter().flat_map(|part| part.scope_metrics);
            for metric in scopes.flat_map(|scope| scope.metrics) {
                match metric.data.unwrap() {
                    Data::Sum(sum) => {
                        for point in sum.data_points {
                            let Some(number_data_point::Value::AsInt(value)) = point.value else {
                                panic!("{point:?}")
                            };
                            let value = (u64::try_from(value).unwrap(), metric.unit.clone());
                            found.insert(name(&metric.name, &point.attributes), value);
                        }
                    }
                    Data::Histogram(histogram) => {
                        for point in histogram.data_points {
                            let value = (point.count, metric.unit.clone());
                            found.insert(name(&metric.name, &point.attributes), value);
                        }
                    }
                    other => panic!("{other:?}"),
                }
            }
        }
        found
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Keeps a request, and then answers it: the program may end with the answer. Returns a connection without an answer.
fn answer(
    stream: TcpStream,
    judge: &impl Fn(&[u8]) -> Option<u16>,
    kept: &Requests,
) -> Option<Option<TcpStream>> {
    stream.set_read_timeout(Some(Duration::from_secs(10))).ok()?;
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 || head.len() > 64 << 10 {
            return None;
        }
    }
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    let mut body = vec![0; length?.min(MAX_BODY)];
    reader.read_exact(&mut body).ok()?;
    let path = head.split(' ').nth(1)?.to_owned();
    let status = judge(&body);
    kept.all.lock().unwrap().push(Request { path, head, body });
    kept.arrived.notify_all();
    let Some(status) = status else { return Some(Some(reader.into_inner())) };
    let reply = format!("HTTP/1.1 {status} x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    reader.into_inner().write_all(reply.as_bytes()).ok()?;
    Some(None)
}
