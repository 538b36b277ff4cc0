//! Requests, sent by the program `curl`: the standard library has no TLS.

use std::env;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::Error;
use crate::http::types::{Request, Response, Target};

/// The head of an answer may be this long, in bytes.
const HEAD: usize = 64 * 1024;

/// The longest part of curl's messages that is kept, in bytes.
const MAX_MESSAGE: u64 = 1024;

pub(crate) fn send(request: &Request, target: &Target<'_>) -> Result<Response, Error> {
    let body = if request.body.is_empty() { None } else { Some(BodyFile::create(&request.body)?) };
    let config = config(request, target, body.as_ref().map(|file| file.0.as_path()))?;
    // `-q` first, to ignore the user's own settings of curl. Everything else goes over standard input, since
    // other users can see a command line.
    let started = Command::new("curl")
        .args(["-q", "-K", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = started.map_err(|error| match error.kind() {
        ErrorKind::NotFound => {
            Error::new("the program `curl` is not on PATH; a native hook needs it for HTTP")
        }
        _ => Error::from(error).within("failed to start curl"),
    })?;
    let answer = talk(&mut child, &config, HEAD.saturating_add(request.limit));
    if answer.is_err() {
        // curl may wait for a reader.
        drop(child.kill());
    }
    let message = message(&mut child);
    let status = child.wait()?;
    let answer = answer?;
    if !status.success() {
        return Err(Error::new(message));
    }
    let response = parse(&answer).ok_or_else(|| Error::new("curl printed no HTTP answer"))?;
    if response.body.len() > request.limit {
        return Err(too_long(request.limit));
    }
    Ok(response)
}

fn too_long(limit: usize) -> Error {
    Error::new(format!("the answer's body is longer than {limit} bytes"))
}

/// Sends curl its settings, and reads its output.
fn talk(child: &mut Child, config: &str, limit: usize) -> Result<Vec<u8>, Error> {
    let (Some(mut stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(Error::new("curl has no input or output"));
    };
    stdin.write_all(config.as_bytes())?;
    drop(stdin);
    let mut answer = Vec::new();
    stdout.take(limit as u64 + 1).read_to_end(&mut answer)?;
    if answer.len() > limit { Err(too_long(limit.saturating_sub(HEAD))) } else { Ok(answer) }
}

/// Returns the first line that curl wrote to standard error.
fn message(child: &mut Child) -> String {
    let mut bytes = Vec::new();
    if let Some(stderr) = child.stderr.take() {
        drop(stderr.take(MAX_MESSAGE).read_to_end(&mut bytes));
    }
    let text = String::from_utf8_lossy(&bytes);
    text.lines().next().filter(|line| !line.is_empty()).unwrap_or("curl failed").to_owned()
}

/// Returns the configuration of curl for one request.
fn config(request: &Request, target: &Target<'_>, body: Option<&Path>) -> Result<String, Error> {
    let mut lines = vec![
        "silent".to_owned(),
        "show-error".to_owned(),
        "include".to_owned(),
        "suppress-connect-headers".to_owned(),
        "globoff".to_owned(),
        "path-as-is".to_owned(),
        format!("proto = {}", quoted(&format!("={}", target.scheme()))),
        format!("max-time = {}", quoted(&format!("{:.3}", request.timeout.as_secs_f64().max(0.001)))),
        format!("url = {}", quoted(&format!("{}://{}{}", target.scheme(), target.authority, target.path))),
    ];
    if request.method == "HEAD" {
        lines.push("head".to_owned());
    } else {
        lines.push(format!("request = {}", quoted(&request.method)));
    }
    // curl would add these by itself.
    for name in ["Expect", "Content-Type"] {
        if !request.headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name)) {
            lines.push(format!("header = {}", quoted(&format!("{name}:"))));
        }
    }
    for (name, value) in &request.headers {
        // An empty value has another form: a plain colon takes the header away.
        let line = if value.trim().is_empty() { format!("{name};") } else { format!("{name}: {value}") };
        lines.push(format!("header = {}", quoted(&line)));
    }
    if let Some(path) = body {
        let path = path
            .to_str()
            .ok_or_else(|| Error::new("the temporary directory has a name that is not UTF-8"))?;
        lines.push(format!("data-binary = {}", quoted(&format!("@{path}"))));
    }
    Ok(lines.join("\n") + "\n")
}

/// A text in quotes, as curl's settings have it.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

/// The answer in what curl prints: heads, of which the last one counts, and the body.
fn parse(mut bytes: &[u8]) -> Option<Response> {
    loop {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
        let (head, rest) = bytes.split_at_checked(end)?;
        let body = rest.get(4..)?;
        let head = String::from_utf8_lossy(head);
        let mut lines = head.split("\r\n");
        let status = lines.next()?.strip_prefix("HTTP/")?.split(' ').nth(1)?.parse().ok()?;
        // 100 and its like announce another head.
        if (100..200).contains(&status) && status != 101 {
            bytes = body;
            continue;
        }
        let header = |line: &str| {
            let (name, value) = line.split_once(':')?;
            Some((name.to_ascii_lowercase(), value.trim().to_owned()))
        };
        return Some(Response { status, headers: lines.filter_map(header).collect(), body: body.to_vec() });
    }
}

/// The body of a request, in a file that only this user can read and that is removed on drop: curl does not
/// take zero bytes and long lines in its settings.
struct BodyFile(PathBuf);

impl BodyFile {
    fn create(body: &[u8]) -> Result<Self, Error> {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let name = format!("hookbox-http-{}-{}", std::process::id(), now.as_nanos());
        let path = env::temp_dir().join(name);
        let mut options = OpenOptions::new();
        // A file or symlink that another user has put there is an error.
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&path)?;
        let created = Self(path);
        file.write_all(body)?;
        Ok(created)
    }
}

impl Drop for BodyFile {
    fn drop(&mut self) {
        drop(fs::remove_file(&self.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    /// Sends one request to a server with this answer. Returns the request as the server got it, and the
    /// result.
    fn exchange(
        answer: &'static [u8],
        request: impl FnOnce(String) -> Request,
    ) -> (String, Result<Response, Error>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/p[1]?q={{a}}", listener.local_addr().unwrap()).replace(['{', '}'], "");
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut seen = Vec::new();
            let mut buffer = [0; 4096];
            while !seen.ends_with(b"\0end") {
                match stream.read(&mut buffer).unwrap() {
                    0 => break,
                    n => seen.extend_from_slice(&buffer[..n]),
                }
            }
            stream.write_all(answer).unwrap();
            String::from_utf8(seen).unwrap()
        });
        let sent = request(url).send();
        (server.join().unwrap(), sent)
    }

    #[test]
    fn a_request_is_sent_as_it_is_and_a_redirect_is_an_answer() {
        let answer = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 2\r\n\r\nno";
        let (seen, sent) = exchange(answer, |url| {
            Request::post(url)
                .header("X-Quoted", "a \"b\" \\ c")
                .header("X-Empty", "")
                .body("@/etc/passwd\r\n\0end")
        });
        let lower = seen.to_ascii_lowercase();
        assert!(seen.starts_with("POST /p[1]?q=a HTTP/1.1\r\n"), "{seen}");
        assert!(seen.contains("X-Quoted: a \"b\" \\ c\r\n") && seen.contains("X-Empty:"), "{seen}");
        assert!(!lower.contains("expect:") && !lower.contains("content-type:"), "{seen}");
        assert!(seen.ends_with("\r\n\r\n@/etc/passwd\r\n\0end"), "{seen}");
        let response = sent.unwrap();
        assert_eq!((response.status, response.body.as_slice()), (302, &b"no"[..]));
        assert_eq!(response.header("LOCATION"), Some("http://127.0.0.1:1/"));
    }

    #[test]
    fn a_body_beyond_the_limit_is_an_error() {
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
        let send = |limit| exchange(answer, move |url| Request::post(url).body("\0end").limit(limit)).1;
        assert_eq!(send(5).unwrap().body, b"hello");
        assert!(send(4).unwrap_err().to_string().ends_with("the answer's body is longer than 4 bytes"));
    }

    #[test]
    fn what_curl_says_is_the_error_without_the_path() {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let error = Request::get(format!("http://127.0.0.1:{port}/secret")).send().unwrap_err().to_string();
        assert!(error.starts_with(&format!("http://127.0.0.1:{port}: curl: (7)")), "{error}");
        assert!(!error.contains("secret"), "{error}");
    }
}
