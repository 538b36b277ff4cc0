//! As much of HTTP/1.1 as the clients speak to their model.

use std::io::{self, BufRead, Read as _, Write};

/// The most of a request that is read, in bytes: a conversation is not that long.
const MAX_BODY: u64 = 32 << 20;

/// The longest line, and the most lines, of a head.
const MAX_LINE: u64 = 64 << 10;
const MAX_LINES: usize = 200;

/// A request.
pub(crate) struct Request {
    pub(crate) method: String,
    /// Without what follows a question mark.
    pub(crate) path: String,
    pub(crate) body: Vec<u8>,
}

/// Reads the next request of a connection; `None` at its end.
pub(crate) fn read(stream: &mut impl BufRead) -> io::Result<Option<Request>> {
    let first = line(stream)?;
    let mut words = first.split(' ');
    let (Some(method), Some(target)) = (words.next(), words.next()) else { return Ok(None) };
    let path = target.split('?').next().unwrap_or_default().to_owned();
    let (mut length, mut is_chunked) = (0, false);
    for _ in 0..MAX_LINES {
        let field = line(stream)?.to_ascii_lowercase();
        match field.split_once(':').map(|(name, value)| (name, value.trim())) {
            Some(("content-length", value)) => length = value.parse().map_err(|_| odd("a length"))?,
            Some(("transfer-encoding", value)) => is_chunked = value.contains("chunked"),
            Some(_) => {}
            None => {
                let body = if is_chunked { chunks(stream)? } else { bytes(stream, length)? };
                return Ok(Some(Request { method: method.to_owned(), path, body }));
            }
        }
    }
    Err(odd("a head that ends"))
}

/// Writes an answer, and leaves the connection open.
pub(crate) fn write(stream: &mut impl Write, status: u16, kind: &str, body: &str) -> io::Result<()> {
    let length = body.len();
    let head = format!("HTTP/1.1 {status} x\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n");
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())?;
    stream.flush()
}

/// A line without its end; an empty one at the end of the stream.
fn line(stream: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    stream.by_ref().take(MAX_LINE).read_line(&mut line)?;
    Ok(line.trim_end().to_owned())
}

fn bytes(stream: &mut impl BufRead, length: u64) -> io::Result<Vec<u8>> {
    if length > MAX_BODY {
        return Err(odd("a smaller body"));
    }
    let mut body = Vec::new();
    stream.by_ref().take(length).read_to_end(&mut body)?;
    if body.len() as u64 == length { Ok(body) } else { Err(odd("the whole of the body")) }
}

fn chunks(stream: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let head = line(stream)?;
        let length = u64::from_str_radix(head.split(';').next().unwrap_or_default().trim(), 16);
        let length = length.map_err(|_| odd("the length of a chunk"))?;
        if length.saturating_add(body.len() as u64) > MAX_BODY {
            return Err(odd("a smaller body"));
        }
        body.extend(bytes(stream, length)?);
        line(stream)?;
        if length == 0 {
            return Ok(body);
        }
    }
}

fn odd(wanted: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("expected {wanted} in a request"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(text: &str) -> Option<(String, String, String)> {
        let request = read(&mut text.as_bytes()).ok()??;
        Some((request.method, request.path, String::from_utf8(request.body).unwrap()))
    }

    #[test]
    fn a_request_is_read_by_its_length_or_in_chunks_and_within_bounds() {
        let want = Some(("POST".to_owned(), "/v1/x".to_owned(), "{\"a\":1}".to_owned()));
        assert_eq!(body("POST /v1/x?y=1 HTTP/1.1\r\nContent-Length: 7\r\n\r\n{\"a\":1}"), want);
        let chunked =
            "POST /v1/x HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n3\r\n{\"a\r\n4;x\r\n\":1}\r\n0\r\n\r\n";
        assert_eq!(body(chunked), want);
        for odd in [
            "",
            "POST /v1/x HTTP/1.1\r\ncontent-length: 9\r\n\r\n{}",
            "POST /v1/x HTTP/1.1\r\ncontent-length: 99999999999\r\n\r\n",
            "POST /v1/x HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffff\r\n",
            "POST /v1/x HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        ] {
            assert_eq!(body(odd), None, "{odd:?}");
        }
        assert_eq!(body(&format!("GET / HTTP/1.1\r\n{}", "a: b\r\n".repeat(1000))), None);
    }
}
