//! Answers HTTP requests with the answers of a hook: `POST /NAME`, with the name that the hook gives itself.
//!
//! A request for another path goes to the next adapter. An answer other than 200 is a failure for the caller, whose policy
//! for failures then decides.

// Its exports do not link on the host.
#![cfg(target_arch = "wasm32")]

use bindings::exports::wasi::http::incoming_handler::Guest;
use bindings::hookbox::hook::hook;
use bindings::hookbox::hook::types::{Action, Answers, Manifest, Response};
use bindings::hookbox::service::exchange;
use bindings::wasi::http::incoming_handler as next;
use bindings::wasi::http::types::{
    Fields, IncomingBody, IncomingRequest, Method, OutgoingBody, OutgoingResponse, ResponseOutparam,
};
use bindings::wasi::io::streams::StreamError;

#[allow(
    unsafe_code,
    missing_docs,
    unreachable_pub,
    clippy::all,
    clippy::pedantic,
    clippy::restriction,
    reason = "generated from wit/"
)]
mod bindings {
    wit_bindgen::generate!({
        path: ["../../../wit", "../wit"],
        world: "hookbox:service/adapter",
        generate_all,
    });
}

/// The component.
struct Adapter;

/// The largest body, in bytes: more than a tool's input or output has.
const MAX_BODY: usize = 16 << 20;

/// The size of one read.
const READ: u64 = 64 * 1024;

/// The largest `blocking-write-and-flush`.
const CHUNK: usize = 4096;

/// A status other than 200, and its text.
struct Refusal(u16, String);

impl Guest for Adapter {
    fn handle(request: IncomingRequest, out: ResponseOutparam) {
        let manifest = hook::describe();
        let path = request.path_with_query().unwrap_or_default();
        let path = path.split('?').next().and_then(|it| it.strip_prefix('/'));
        if path != Some(&manifest.name) {
            return next::handle(request, out);
        }
        match answer(&request, &manifest) {
            Ok(text) => respond(out, 200, "application/json", &text),
            Err(Refusal(status, text)) => respond(out, status, "text/plain; charset=utf-8", &text),
        }
    }
}

/// Asks the hook about the event in a request.
fn answer(request: &IncomingRequest, manifest: &Manifest) -> Result<String, Refusal> {
    if !matches!(request.method(), Method::Post) {
        return Err(Refusal(405, "send the event with POST".to_owned()));
    }
    let body = body(request)?;
    let subscribed: Vec<String> = manifest.subscriptions.iter().map(|it| it.event.clone()).collect();
    let (context, event) = exchange::read(&body, &subscribed).map_err(|error| Refusal(400, error))?;
    let response = hook::run(&context, event).map_err(|error| Refusal(500, error))?;
    declared(manifest.answers, &response)?;
    exchange::write(&response).map_err(|error| Refusal(500, error))
}

/// Refuses an answer that the hook does not declare.
fn declared(answers: Answers, response: &Response) -> Result<(), Refusal> {
    let modifies = matches!(response.action, Action::Modify(_)) && !answers.contains(Answers::MODIFY);
    let injects = !response.context.is_empty() && !answers.contains(Answers::INJECT);
    if modifies || injects {
        let text = "the hook gave an answer that it does not declare";
        return Err(Refusal(500, text.to_owned()));
    }
    Ok(())
}

fn body(request: &IncomingRequest) -> Result<Vec<u8>, Refusal> {
    let broken = || Refusal(400, "the body has no end".to_owned());
    let body: IncomingBody = request.consume().map_err(|()| broken())?;
    let stream = body.stream().map_err(|()| broken())?;
    let mut bytes = Vec::new();
    loop {
        match stream.blocking_read(READ) {
            Ok(read) => bytes.extend(read),
            Err(StreamError::Closed) => return Ok(bytes),
            Err(StreamError::LastOperationFailed(_)) => return Err(broken()),
        }
        if bytes.len() > MAX_BODY {
            return Err(Refusal(413, format!("the event has more than {MAX_BODY} bytes")));
        }
    }
}

/// Sends an answer. A caller that has gone away gets none.
fn respond(out: ResponseOutparam, status: u16, kind: &str, text: &str) {
    let headers = Fields::new();
    let _ = headers.append("content-type", kind.as_bytes());
    let _ = headers.append("content-length", text.len().to_string().as_bytes());
    let response = OutgoingResponse::new(headers);
    let _ = response.set_status_code(status);
    let body = response.body();
    ResponseOutparam::set(out, Ok(response));
    let Ok(body) = body else { return };
    if let Ok(stream) = body.write() {
        for chunk in text.as_bytes().chunks(CHUNK) {
            if stream.blocking_write_and_flush(chunk).is_err() {
                return;
            }
        }
    }
    let _ = OutgoingBody::finish(body, None);
}

#[allow(unsafe_code, reason = "a component's exports are functions with fixed names")]
mod exported {
    use super::{Adapter, bindings};

    bindings::export!(Adapter with_types_in bindings);
}
