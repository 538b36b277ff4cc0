//! A server that answers as a test tells it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hookbox::Digest;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// The part of an answer behind its head.
#[derive(Clone, Debug)]
pub(super) enum Body {
    /// These bytes, with their length in the head.
    Whole(Vec<u8>),
    /// These bytes and then the end, where the head promised more.
    Cut { promised: u64, bytes: Vec<u8> },
    /// These bytes again and again, without a length.
    Endless(Vec<u8>),
    /// A byte now and then, without an end.
    Drip,
    /// Not even a head.
    Silent,
}

/// An answer.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Body,
}

impl Answer {
    pub(super) fn ok(bytes: impl Into<Vec<u8>>) -> Self {
        Self { status: 200, headers: Vec::new(), body: Body::Whole(bytes.into()) }
    }

    pub(super) fn body(body: Body) -> Self {
        Self { status: 200, headers: Vec::new(), body }
    }

    pub(super) fn status(status: u16) -> Self {
        Self { status, ..Self::ok("") }
    }

    pub(super) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

/// The answers, by path. Other paths are answered by 404.
pub(super) type Answers = HashMap<String, Answer>;

/// The server, and the heads of the requests that it has read, with their bodies.
pub(super) struct Server {
    pub(super) address: String,
    answers: Arc<Mutex<Answers>>,
    /// The line that the head of a request must have; other requests are asked to log in.
    guard: Arc<Mutex<Option<&'static str>>>,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Server {
    pub(super) async fn new(answers: Answers) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (answers, heads) = (Arc::new(Mutex::new(answers)), Arc::new(Mutex::new(Vec::new())));
        let guard = Arc::new(Mutex::new(None));
        let (told, seen, asks) = (Arc::clone(&answers), Arc::clone(&heads), Arc::clone(&guard));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&told), Arc::clone(&seen), Arc::clone(&asks)));
            }
        });
        Self { address, answers, guard, heads }
    }

    /// Answers from now on only who shows this in the head of a request.
    pub(super) fn guard(&self, field: &'static str) {
        *self.guard.lock().unwrap() = Some(field);
    }

    /// Answers this path so from now on.
    pub(super) fn answer(&self, path: &str, answer: Answer) {
        self.answers.lock().unwrap().insert(path.to_owned(), answer);
    }

    /// The requests so far: method and path, header fields, body.
    pub(super) fn requests(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }

    /// Returns true if this path was requested.
    pub(super) fn was_asked_for(&self, what: &str) -> bool {
        self.requests().iter().any(|head| head.lines().next().unwrap_or_default().contains(what))
    }
}

async fn serve(
    stream: TcpStream,
    answers: Arc<Mutex<Answers>>,
    seen: Arc<Mutex<Vec<String>>>,
    guard: Arc<Mutex<Option<&'static str>>>,
) -> Option<()> {
    let mut stream = BufReader::new(stream);
    loop {
        let (mut head, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            stream.read_line(&mut line).await.ok().filter(|read| *read > 0)?;
            if line.trim().is_empty() {
                break;
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            head.push_str(&line);
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body).await.ok()?;
        let target = head.split(' ').nth(1)?.to_owned();
        let path = target.split('?').next()?;
        seen.lock().unwrap().push(format!("{head}\n{}", String::from_utf8_lossy(&body)));
        let is_asked = guard.lock().unwrap().is_some_and(|field| !head.contains(field));
        if is_asked {
            let answer = Answer::status(401).header("WWW-Authenticate", "Basic realm=\"x\"");
            send(&mut stream, answer).await?;
            continue;
        }
        let answer = answers.lock().unwrap().get(path).cloned().unwrap_or_else(|| Answer::status(404));
        send(&mut stream, answer).await?;
    }
}

async fn send(stream: &mut BufReader<TcpStream>, answer: Answer) -> Option<()> {
    let fields: String = answer.headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let head = |length: &str| format!("HTTP/1.1 {} x\r\n{fields}{length}\r\n", answer.status);
    let (head, body) = match &answer.body {
        Body::Silent => {
            // Until the client goes.
            let _ = stream.read(&mut [0]).await;
            return None;
        }
        Body::Whole(bytes) => (head(&format!("content-length: {}\r\n", bytes.len())), bytes.clone()),
        Body::Cut { promised, bytes } => (head(&format!("content-length: {promised}\r\n")), bytes.clone()),
        Body::Endless(bytes) => (head(""), bytes.clone()),
        Body::Drip => (head(""), Vec::new()),
    };
    stream.write_all(head.as_bytes()).await.ok()?;
    stream.write_all(&body).await.ok()?;
    match answer.body {
        Body::Whole(_) => return Some(()),
        Body::Endless(_) => loop {
            stream.write_all(&body).await.ok()?;
        },
        Body::Drip => loop {
            stream.write_all(b" ").await.ok()?;
            tokio::time::sleep(Duration::from_millis(20)).await;
        },
        Body::Cut { .. } | Body::Silent => {}
    }
    stream.shutdown().await.ok()?;
    None
}

pub(super) fn descriptor(media_type: &str, bytes: &[u8]) -> Value {
    json!({"mediaType": media_type, "digest": Digest::of(bytes), "size": bytes.len()})
}

/// The path of a blob.
pub(super) fn blob(bytes: &[u8]) -> String {
    format!("/v2/org/name/blobs/{}", Digest::of(bytes))
}

/// The path of the manifest.
pub(super) const MANIFEST: &str = "/v2/org/name/manifests/1";
