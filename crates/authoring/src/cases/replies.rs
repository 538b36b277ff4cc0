//! Answers to the HTTP requests of components: those of the case, and never those of the network.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use hookbox::Network;
use hookbox_system::limits;
use serde::Deserialize;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};

/// The largest request that is read, in bytes.
const MAX_REQUEST: usize = 5 << 20;

/// A recorded answer.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reply {
    /// The request: its method and its URL, such as `POST https://example.com/hook`.
    pub request: String,
    /// The status (default: 200).
    #[serde(default = "ok")]
    pub status: u16,
    /// The fields of the head, beside the length.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// The body (default: empty).
    #[serde(default)]
    pub body: String,
}

fn ok() -> u16 {
    200
}

impl Reply {
    /// Returns true if it can be written as an answer.
    pub(super) fn is_valid(&self) -> bool {
        let is_line = |text: &str| !text.contains(char::is_control);
        let is_name = |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        self.request.split_once(' ').is_some_and(|(_, url)| url.contains("://"))
            && (100..=599).contains(&self.status)
            && self.headers.iter().all(|(name, value)| is_name(name) && is_line(value))
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut text = format!("HTTP/1.1 {} recorded\r\nconnection: close\r\n", self.status);
        self.headers.iter().for_each(|(name, value)| text.push_str(&format!("{name}: {value}\r\n")));
        text.push_str(&format!("content-length: {}\r\n\r\n{}", self.body.len(), self.body));
        text.into_bytes()
    }
}

/// The requests of a case: each one's method, URL and body.
#[derive(Clone, Debug, Default)]
pub(super) struct Requests(Arc<Mutex<Vec<Request>>>);

/// A request that came.
#[derive(Clone, Debug)]
struct Request {
    text: String,
    is_answered: bool,
}

impl Requests {
    /// Returns the requests, and the problems of those that have no recorded answer.
    pub(super) fn take(&self) -> (Vec<String>, Vec<String>) {
        let all = std::mem::take(&mut *hookbox_system::mutex::lock(&self.0));
        let unanswered = all.iter().filter(|it| !it.is_answered);
        let problems =
            unanswered.map(|it| format!("no recorded answer for the request {}", it.text)).collect();
        (all.into_iter().map(|it| it.text).collect(), problems)
    }

    fn push(&self, text: String, is_answered: bool) {
        hookbox_system::mutex::lock(&self.0).push(Request { text, is_answered });
    }
}

/// Returns a network that answers with these replies, and the requests that will come.
pub(super) fn network(replies: &[Reply]) -> (Network, Requests) {
    let (replies, requests): (Arc<[Reply]>, _) = (replies.into(), Requests::default());
    let seen = requests.clone();
    let network = Network::new().with_peer(move |origin| {
        let (ours, theirs) = tokio::io::duplex(limits::CHUNK);
        tokio::spawn(answer(ours, origin.to_string(), Arc::clone(&replies), seen.clone()));
        theirs
    });
    (network, requests)
}

/// Answers the request of a connection. One without an answer is cut off.
async fn answer(mut connection: DuplexStream, origin: String, replies: Arc<[Reply]>, requests: Requests) {
    let Some((line, body)) = read(&mut connection).await else { return };
    let mut words = line.split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let request = format!("{method} {origin}{target}");
    let reply = replies.iter().find(|reply| reply.request == request);
    let body = String::from_utf8_lossy(&body);
    requests.push(format!("{request} {body}").trim_end().to_owned(), reply.is_some());
    if let Some(reply) = reply {
        let _ = connection.write_all(&reply.to_bytes()).await;
    }
}

/// Reads the first line and the body of a request.
async fn read(connection: &mut DuplexStream) -> Option<(String, Vec<u8>)> {
    let mut bytes = Vec::new();
    loop {
        if let Some(request) = parse(&bytes) {
            return Some(request);
        }
        if bytes.len() > MAX_REQUEST || connection.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}

/// Parses a request that is complete.
fn parse(bytes: &[u8]) -> Option<(String, Vec<u8>)> {
    let end = bytes.windows(4).position(|it| it == b"\r\n\r\n")?;
    let (head, rest) = (String::from_utf8_lossy(bytes.get(..end)?), bytes.get(end + 4..)?);
    let field = |wanted: &str| {
        let mut fields = head.lines().skip(1).filter_map(|line| line.split_once(':'));
        fields.find(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, value)| value.trim().to_owned())
    };
    let line = head.lines().next()?.to_owned();
    if field("transfer-encoding").is_some_and(|value| value.eq_ignore_ascii_case("chunked")) {
        return Some((line, chunks(rest)?));
    }
    let length = field("content-length").map_or(Some(0), |length| length.parse().ok())?;
    Some((line, rest.get(..length)?.to_vec()))
}

/// Joins the chunks of a body that is complete.
fn chunks(mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let end = rest.windows(2).position(|it| it == b"\r\n")?;
        let size = usize::from_str_radix(std::str::from_utf8(rest.get(..end)?).ok()?.trim(), 16).ok()?;
        rest = rest.get(end + 2..)?;
        if size == 0 {
            return Some(body);
        }
        body.extend_from_slice(rest.get(..size)?);
        rest = rest.get(size.checked_add(2)?..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_read_when_it_is_complete() {
        for (bytes, want) in [
            ("GET /a HTTP/1.1\r\nhost: x\r\n\r\n", Some("")),
            ("GET /a HTTP/1.1\r\nhost: x\r\n", None),
            ("GET /a HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", Some("abc")),
            ("GET /a HTTP/1.1\r\nContent-Length: 3\r\n\r\nab", None),
            (
                "GET /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n",
                Some("abc"),
            ),
            ("GET /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n", None),
            ("GET /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n", None),
        ] {
            let want = want.map(|body| ("GET /a HTTP/1.1".to_owned(), body.as_bytes().to_vec()));
            assert_eq!(parse(bytes.as_bytes()), want, "{bytes}");
        }
    }
}
