//! `wasi:http` of one call: requests go through [`Network`](crate::network::Network), to granted origins.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http_body_util::BodyExt as _;
use tokio::sync::Semaphore;
use wasmtime::component::ResourceTable;
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody, WasiHttpCtx, WasiHttpCtxView, WasiHttpHooks};

use crate::capability::{Capability, Origin};
use crate::network::{MAX_BODY, MAX_HEAD, Network, NetworkError, Rules, Timeouts};
use crate::wasm::access::Access;
use crate::wasm::output::Denials;
use crate::wasm::output::Log;
use crate::wasm::tape::Tape;
use hookbox_system::limits;

mod tape;

/// The number of requests of one call at once, until their answers are read.
const MAX_REQUESTS: usize = 4;

/// `wasi:http` of one call.
pub(in crate::wasm) struct Http {
    ctx: WasiHttpCtx,
    sender: Sender,
}

struct Sender {
    access: Arc<Access>,
    tape: Tape,
    denials: Denials,
    log: Log,
    /// The end of the call, if a clock can reach it.
    deadline: Option<Instant>,
    slots: Option<Arc<Semaphore>>,
}

impl Http {
    pub(in crate::wasm) fn new(
        access: Arc<Access>,
        tape: Tape,
        denials: Denials,
        log: Log,
        deadline: Option<Instant>,
    ) -> Self {
        let mut ctx = WasiHttpCtx::new();
        ctx.set_field_size_limit(MAX_HEAD);
        Self { ctx, sender: Sender { access, tape, denials, log, deadline, slots: None } }
    }

    pub(in crate::wasm) fn view<'a>(&'a mut self, table: &'a mut ResourceTable) -> WasiHttpCtxView<'a> {
        WasiHttpCtxView { ctx: &mut self.ctx, table, hooks: &mut self.sender }
    }
}

type Io = Box<dyn Future<Output = Result<(), Error>> + Send>;
type Answer = wasmtime_wasi_http::Result<(::http::Response<WasiBody>, Io)>;

impl WasiHttpHooks for Sender {
    fn send_request(
        &mut self,
        request: ::http::Request<WasiBody>,
        options: Option<RequestOptions>,
        _: Io,
    ) -> Box<dyn Future<Output = Answer> + Send> {
        let rules = Rules {
            origins: origins(self.access.rights.effective()),
            listed: origins(self.access.rights.granted()),
            timeouts: timeouts(options, self.left()),
        };
        // Noted at once: the guest may end before the request is handled.
        if let Ok(origin) = Network::origin(request.uri())
            && !rules.origins.contains(&origin)
        {
            note(&NetworkError::NotGranted(origin), &self.access, &self.denials, &self.log);
            return Box::new(std::future::ready(Err(Error::HttpRequestDenied)));
        }
        let network = match (&self.access.network, self.tape.is_played()) {
            (Some(network), false) => Some(network.clone()),
            (None, false) => return Box::new(std::future::ready(Err(Error::HttpRequestDenied))),
            (_, true) => None,
        };
        let slots = self.slots.get_or_insert_with(|| Arc::new(Semaphore::new(MAX_REQUESTS)));
        // It does not wait for a slot: the guest may hold all four itself.
        let Ok(slot) = Arc::clone(slots).try_acquire_owned() else {
            return Box::new(std::future::ready(Err(Error::ConnectionLimitReached)));
        };
        let (access, denials, log) = (Arc::clone(&self.access), self.denials.clone(), self.log.clone());
        let asked = if self.tape.is_on() { tape::question(&request) } else { String::new() };
        let Some(network) = network else {
            // The call itself reports a difference.
            let Ok(got) = self.tape.play::<serde_json::Value>(&asked) else {
                return Box::new(std::future::ready(Err(Error::HttpRequestDenied)));
            };
            return Box::new(async move {
                let answer = tape::play(request, &got, &denials, &log).await?;
                let hold = move |error| {
                    let _slot = &slot;
                    error
                };
                Ok((answer.map(|body| body.map_err(hold).boxed_unsync()), done()))
            });
        };
        let recorded = self.tape.is_on().then(|| tape::Exchange::begin(&self.tape, asked));
        Box::new(async move {
            let answer = network.send(request, &rules).await.map_err(|error| {
                note(&error, &access, &denials, &log);
                if let Some(recorded) = &recorded {
                    recorded.failed(&error);
                }
                failure(&error)
            })?;
            if let Some(recorded) = &recorded {
                recorded.head(&answer);
            }
            let body = answer.map(|body| {
                let after = recorded.clone();
                let frame = move |frame| {
                    if let Some(recorded) = &recorded {
                        recorded.frame(&frame);
                    }
                    frame
                };
                let error = move |error| {
                    // The slot is free when the body is dropped.
                    let _slot = &slot;
                    if let Some(recorded) = &after {
                        recorded.broken(&error);
                    }
                    failure(&error)
                };
                body.map_frame(frame).map_err(error).boxed_unsync()
            });
            Ok((body, done()))
        })
    }

    fn p2_outgoing_body_chunk_size(&mut self) -> usize {
        limits::CHUNK
    }
}

impl Sender {
    /// Returns the rest of the call's time.
    fn left(&self) -> Duration {
        let now = Instant::now();
        self.deadline.map_or(Duration::MAX, |deadline| deadline.saturating_duration_since(now))
    }
}

fn origins(rights: &[Capability]) -> Arc<[Origin]> {
    let origin = |right: &Capability| match right {
        Capability::Http(origin) => Some(origin.clone()),
        _ => None,
    };
    rights.iter().filter_map(origin).collect()
}

/// Returns the guest's timeouts, within the rest of its time.
fn timeouts(options: Option<RequestOptions>, left: Duration) -> Timeouts {
    let options = options.unwrap_or_default();
    let default = Timeouts::default();
    let within = |wanted: Option<Duration>, default: Duration| wanted.unwrap_or(default).min(left);
    Timeouts {
        connect: within(options.connect_timeout, default.connect),
        first_byte: within(options.first_byte_timeout, default.first_byte),
        between_bytes: within(options.between_bytes_timeout, default.between_bytes),
        total: left,
    }
}

/// Reports the reason of a failed request: the guest only gets a code.
fn note(error: &NetworkError, access: &Access, denials: &Denials, log: &Log) {
    log.push(&format!("warn http: {error}\n"));
    match error {
        // A literal address counts even if the hook does not ask for it.
        NetworkError::Prohibited { .. } => {
            error.missing().map(|right| denials.push(access.denial_of_granted(&right)))
        }
        _ => error.missing().map(|right| denials.push(access.denial(&right))),
    };
}

/// Returns the end of an exchange that has nothing more to do.
fn done() -> Io {
    Box::new(std::future::ready(Ok(())))
}

/// The error of a failure, for the guest.
fn failure(error: &NetworkError) -> Error {
    error_of(code(error))
}

/// The name of a failure in a record.
fn code(error: &NetworkError) -> &'static str {
    match error {
        NetworkError::Invalid(_) => "invalid",
        NetworkError::TargetTooLong => "target_too_long",
        NetworkError::NotGranted(_) => "not_granted",
        NetworkError::Prohibited { .. } => "prohibited",
        NetworkError::Resolve { .. } => "resolve",
        NetworkError::ResolveTimeout(_) => "resolve_timeout",
        NetworkError::Busy => "busy",
        NetworkError::Refused => "refused",
        NetworkError::Connect(_) => "connect",
        NetworkError::ConnectTimeout => "connect_timeout",
        NetworkError::Certificate(_) => "certificate",
        NetworkError::Tls(_) => "tls",
        NetworkError::FirstByteTimeout => "first_byte_timeout",
        NetworkError::BodyTimeout => "body_timeout",
        NetworkError::RequestTooLarge => "request_too_large",
        NetworkError::ResponseTooLarge => "response_too_large",
        NetworkError::HeadTooLarge => "head_too_large",
        NetworkError::Incomplete => "incomplete",
        NetworkError::Protocol(_) => "protocol",
    }
}

/// The error of a failure with this name.
fn error_of(code: &str) -> Error {
    match code {
        "invalid" => Error::HttpRequestUriInvalid,
        "target_too_long" => Error::HttpRequestUriTooLong,
        "not_granted" => Error::HttpRequestDenied,
        "prohibited" => Error::DestinationIpProhibited,
        "resolve" => Error::DnsError { rcode: None, info_code: None },
        "resolve_timeout" => Error::DnsTimeout,
        "busy" => Error::ConnectionLimitReached,
        "refused" => Error::ConnectionRefused,
        "connect" => Error::DestinationUnavailable,
        "connect_timeout" => Error::ConnectionTimeout,
        "certificate" => Error::TlsCertificateError,
        "tls" => Error::TlsProtocolError,
        "first_byte_timeout" => Error::HttpResponseTimeout,
        "body_timeout" => Error::ConnectionReadTimeout,
        "request_too_large" => Error::HttpRequestBodySize(Some(MAX_BODY)),
        "response_too_large" => Error::HttpResponseBodySize(Some(MAX_BODY)),
        "head_too_large" => Error::HttpResponseHeaderSectionSize(None),
        "incomplete" => Error::HttpResponseIncomplete,
        _ => Error::HttpProtocolError,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_shortens_its_timeouts_and_lengthens_none() {
        let seconds = Duration::from_secs;
        let options = RequestOptions {
            connect_timeout: Some(seconds(1)),
            first_byte_timeout: Some(seconds(100)),
            between_bytes_timeout: None,
        };
        let got = timeouts(Some(options), seconds(3));
        let [connect, first_byte, between_bytes, total] = [1, 3, 3, 3].map(seconds);
        assert_eq!(got, Timeouts { connect, first_byte, between_bytes, total });
        assert_eq!(timeouts(None, Duration::ZERO).connect, Duration::ZERO);
    }
}
