//! Requests on the tape of a call.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response};
use http_body::{Body, Frame};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use wasmtime_wasi_http::{Error, WasiBody};

use super::{code, error_of};
use crate::capability::Denial;
use crate::network::NetworkError;
use crate::wasm::output::Denials;
use crate::wasm::output::Log;
use crate::wasm::tape::{Named, Slot, Tape, Taped as _};

/// The name of a request on the tape.
pub(super) fn question<B>(request: &Request<B>) -> String {
    format!("http {} {}", request.method(), request.uri())
}

/// A request and its answer, of which the tape gets each part when it comes.
#[derive(Clone)]
pub(super) struct Exchange {
    tape: Tape,
    slot: Slot,
}

impl Exchange {
    pub(super) fn begin(tape: &Tape, asked: String) -> Self {
        Self { tape: tape.clone(), slot: tape.record(asked, Value::Null) }
    }

    pub(super) fn failed(&self, error: &NetworkError) {
        let lacked = error.missing().map(|right| right.to_string());
        let got = json!({ "failed": code(error), "log": error.to_string(), "lacked": lacked });
        self.tape.amend(self.slot, &got.clone(), |slot| *slot = got);
    }

    pub(super) fn head<B>(&self, answer: &Response<B>) {
        let head = json!({
            "status": answer.status().as_u16(), "headers": fields(answer.headers()).write(), "body": [],
        });
        self.tape.amend(self.slot, &head.clone(), |slot| *slot = head);
    }

    pub(super) fn frame(&self, frame: &Frame<Bytes>) {
        self.part(match (frame.data_ref(), frame.trailers_ref()) {
            (Some(data), _) => data.to_vec().write(),
            (None, Some(trailers)) => json!({ "trailers": fields(trailers).write() }),
            (None, None) => return,
        });
    }

    pub(super) fn broken(&self, error: &NetworkError) {
        self.part(json!({ "failed": code(error) }));
    }

    fn part(&self, part: Value) {
        self.tape.amend(self.slot, &part.clone(), |slot| {
            if let Some(Value::Array(body)) = slot.get_mut("body") {
                body.push(part);
            }
        });
    }
}

fn fields(headers: &HeaderMap) -> Named<Vec<u8>> {
    Named(headers.iter().map(|(name, value)| (name.to_string(), value.as_bytes().to_vec())).collect())
}

fn headers(got: Option<&Value>) -> Option<HeaderMap> {
    let Named(fields) = Named::<Vec<u8>>::read(got?)?;
    let field = |(name, value): (String, Vec<u8>)| {
        Some((HeaderName::try_from(name).ok()?, HeaderValue::try_from(value).ok()?))
    };
    let mut headers = HeaderMap::new();
    for (name, value) in fields.into_iter().map(field).collect::<Option<Vec<_>>>()? {
        headers.append(name, value);
    }
    Some(headers)
}

/// Takes a request, and returns the answer of the record.
pub(super) async fn play(
    request: Request<WasiBody>,
    got: &Value,
    denials: &Denials,
    log: &Log,
) -> Result<Response<WasiBody>, Error> {
    // The guest writes the body to its end, whatever the answer is.
    let _ = request.into_body().collect().await;
    if got.is_null() {
        // The recorded call ended before the answer came.
        return std::future::pending().await;
    }
    if let Some(code) = got.get("failed").and_then(Value::as_str) {
        let text = |key: &str| got.get(key).and_then(Value::as_str);
        log.push(&format!("warn http: {}\n", text("log").unwrap_or_default()));
        if let Some(right) = text("lacked") {
            denials.push(Denial { right: right.to_owned(), fix: String::new() });
        }
        return Err(error_of(code));
    }
    answer(got).ok_or(Error::HttpProtocolError)
}

fn answer(got: &Value) -> Option<Response<WasiBody>> {
    let frame = |part: &Value| {
        Some(match (part.get("failed").and_then(Value::as_str), part.get("trailers")) {
            (Some(code), _) => Err(code.to_owned()),
            (None, Some(trailers)) => Ok(Frame::trailers(headers(Some(trailers))?)),
            (None, None) => Ok(Frame::data(Bytes::from(Vec::read(part)?))),
        })
    };
    let frames = got.get("body")?.as_array()?.iter().map(frame).collect::<Option<VecDeque<_>>>()?;
    let mut answer = Response::new(Frames(frames).boxed_unsync());
    *answer.status_mut() = u16::try_from(got.get("status")?.as_u64()?).ok()?.try_into().ok()?;
    *answer.headers_mut() = headers(got.get("headers"))?;
    Some(answer)
}

/// A body of the record.
struct Frames(VecDeque<Result<Frame<Bytes>, String>>);

impl Body for Frames {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let frame = self.0.pop_front();
        Poll::Ready(frame.map(|frame| frame.map_err(|code| error_of(&code))))
    }
}
