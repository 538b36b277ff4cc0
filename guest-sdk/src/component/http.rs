//! Requests, over `wasi:http`.

use super::bindings::wasi::clocks::monotonic_clock;
use super::bindings::wasi::http::outgoing_handler;
use super::bindings::wasi::http::types::{
    ErrorCode, Fields, FutureIncomingResponse, IncomingResponse, Method, OutgoingBody, OutgoingRequest,
    RequestOptions, Scheme, http_error_code,
};
use super::bindings::wasi::io::poll::{self, Pollable};
use super::bindings::wasi::io::streams::StreamError;
use crate::Error;
use crate::http::types::{Request, Response, Target};

/// The largest `blocking-write-and-flush`.
const CHUNK: usize = 4096;

/// The size of one read.
const READ: u64 = 64 * 1024;

pub(crate) fn send(request: &Request, target: &Target<'_>) -> Result<Response, Error> {
    let nanoseconds = u64::try_from(request.timeout.as_nanos()).unwrap_or(u64::MAX);
    let timer = Timer(monotonic_clock::subscribe_duration(nanoseconds));
    let (outgoing, body) = outgoing(request, target)?;
    let options = RequestOptions::new();
    for set in [
        RequestOptions::set_connect_timeout,
        RequestOptions::set_first_byte_timeout,
        RequestOptions::set_between_bytes_timeout,
    ] {
        // A host that has no such limit still has the timer here.
        let _ = set(&options, Some(nanoseconds));
    }
    let future = outgoing_handler::handle(outgoing, Some(options)).map_err(|code| error(&code))?;
    // A server may answer before it has read everything, and the future reports a refusal: it is asked first.
    let written = write(body, &request.body, &timer);
    let response = wait(&future, &timer)?;
    let answered = read(&response, request.limit, &timer)?;
    if answered.status < 400 {
        written?;
    }
    Ok(answered)
}

fn outgoing(request: &Request, target: &Target<'_>) -> Result<(OutgoingRequest, OutgoingBody), Error> {
    let mut headers: Vec<(String, Vec<u8>)> = request
        .headers
        .iter()
        .map(|(name, value)| (name.to_ascii_lowercase(), value.clone().into_bytes()))
        .collect();
    let has_length = headers.iter().any(|(name, _)| name == "content-length");
    if !has_length
        && (!request.body.is_empty() || matches!(request.method.as_str(), "POST" | "PUT" | "PATCH"))
    {
        headers.push(("content-length".to_owned(), request.body.len().to_string().into_bytes()));
    }
    let headers = Fields::from_list(&headers).map_err(|error| Error::new(format!("headers: {error:?}")))?;
    let outgoing = OutgoingRequest::new(headers);
    let scheme = if target.https { Scheme::Https } else { Scheme::Http };
    let set = outgoing
        .set_method(&method(&request.method))
        .and_then(|()| outgoing.set_scheme(Some(&scheme)))
        .and_then(|()| outgoing.set_authority(Some(target.authority)))
        .and_then(|()| outgoing.set_path_with_query(Some(&target.path)));
    set.and_then(|()| outgoing.body())
        .map(|body| (outgoing, body))
        .map_err(|()| Error::new("the host takes no such request"))
}

fn method(name: &str) -> Method {
    match name {
        "GET" => Method::Get,
        "HEAD" => Method::Head,
        "POST" => Method::Post,
        "PUT" => Method::Put,
        "DELETE" => Method::Delete,
        "OPTIONS" => Method::Options,
        "PATCH" => Method::Patch,
        other => Method::Other(other.to_owned()),
    }
}

/// Writes the body. Where that fails it is dropped, which ends the request.
fn write(body: OutgoingBody, bytes: &[u8], timer: &Timer) -> Result<(), Error> {
    {
        let stream = body.write().map_err(|()| Error::new("the body cannot be written"))?;
        for chunk in bytes.chunks(CHUNK) {
            timer.wait(&stream.subscribe())?;
            stream.blocking_write_and_flush(chunk).map_err(|error| stream_error(&error))?;
        }
    }
    OutgoingBody::finish(body, None).map_err(|code| error(&code))
}

fn wait(future: &FutureIncomingResponse, timer: &Timer) -> Result<IncomingResponse, Error> {
    timer.wait(&future.subscribe())?;
    match future.get() {
        Some(Ok(Ok(response))) => Ok(response),
        Some(Ok(Err(code))) => Err(error(&code)),
        Some(Err(())) | None => Err(Error::new("the host gave no answer")),
    }
}

fn read(response: &IncomingResponse, limit: usize, timer: &Timer) -> Result<Response, Error> {
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let headers = response.headers().entries().into_iter().map(|(name, value)| (name, text(value))).collect();
    let mut answered = Response { status: response.status(), headers, body: Vec::new() };
    let taken = || Error::new("the answer's body cannot be read");
    let body = response.consume().map_err(|()| taken())?;
    let stream = body.stream().map_err(|()| taken())?;
    loop {
        timer.wait(&stream.subscribe())?;
        match stream.read(READ) {
            Ok(bytes) => answered.body.extend(bytes),
            Err(StreamError::Closed) => return Ok(answered),
            Err(error) => return Err(stream_error(&error)),
        }
        if answered.body.len() > limit {
            return Err(Error::new(format!("the answer's body is longer than {limit} bytes")));
        }
    }
}

/// The end of the time that the request has.
struct Timer(Pollable);

impl Timer {
    /// Waits until this is ready.
    fn wait(&self, pollable: &Pollable) -> Result<(), Error> {
        // Indexes of the list: 0 is `pollable`.
        if poll::poll(&[pollable, &self.0]).contains(&0) {
            Ok(())
        } else {
            Err(Error::new("no answer in time"))
        }
    }
}

fn stream_error(failed: &StreamError) -> Error {
    match failed {
        StreamError::Closed => Error::new("the connection was closed"),
        StreamError::LastOperationFailed(cause) => match http_error_code(cause) {
            Some(code) => error(&code),
            None => Error::new(cause.to_debug_string()),
        },
    }
}

fn error(code: &ErrorCode) -> Error {
    Error::new(match code {
        ErrorCode::HttpRequestDenied => "the right to send requests there was not granted".to_owned(),
        ErrorCode::DestinationIpProhibited => "the host refuses the address of that name".to_owned(),
        ErrorCode::ConnectionRefused => "the connection was refused".to_owned(),
        ErrorCode::DnsError(_) | ErrorCode::DestinationNotFound => "the name was not found".to_owned(),
        ErrorCode::TlsCertificateError => "the certificate is not trusted".to_owned(),
        ErrorCode::ConnectionTimeout | ErrorCode::ConnectionReadTimeout | ErrorCode::HttpResponseTimeout => {
            "no answer in time".to_owned()
        }
        ErrorCode::InternalError(Some(text)) => text.clone(),
        other => format!("{other:?}"),
    })
}
