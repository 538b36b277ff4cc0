//! Servers over streamable HTTP, on this machine.

use std::sync::Arc;
use std::sync::Mutex;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

use super::*;

/// The server's answer to the call of a tool.
#[derive(Clone, Debug)]
enum Mode {
    Json,
    Sse,
    /// A stream whose answer has a name twice.
    Twice,
    /// An event that never ends.
    Flood,
    /// Many small events.
    Chatter,
    Large,
    Silent,
    Status(&'static str),
    RedirectTo(String),
}

/// A server, and the heads and bodies of the requests that it has read.
struct Served {
    url: String,
    requests: Arc<Mutex<Vec<(String, Value)>>>,
}

impl Served {
    async fn new(mode: Mode) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, mode.clone(), Arc::clone(&seen)));
            }
        });
        Self { url, requests }
    }

    fn servers(&self, headers: &[(&str, &str)]) -> Servers {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let transport = Transport::Http { url: self.url.clone(), headers };
        Servers::new(vec![ServerConfig { name: "remote".to_owned(), transport }])
    }

    fn methods(&self) -> Vec<String> {
        let requests = self.requests.lock().unwrap();
        requests.iter().map(|(_, body)| body["method"].as_str().unwrap_or("none").to_owned()).collect()
    }
}

async fn serve(stream: TcpStream, mode: Mode, seen: Arc<Mutex<Vec<(String, Value)>>>) -> Option<()> {
    let mut stream = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.ok().filter(|n| *n > 0)?;
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
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    seen.lock().unwrap().push((head, body.clone()));
    let id = &body["id"];
    let result = |result: Value| json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string();
    let json = |body: String| {
        format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nmcp-session-id: s1\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    let stream_head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
    let block = json!({"content": [], "structuredContent": {"action": "block", "reason": "remote"}});
    let answer = match body["method"].as_str() {
        Some("initialize") => json(result(
            json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "r", "version": "1"}}),
        )),
        Some("tools/call") => match mode {
            Mode::Json => json(result(block)),
            Mode::Sse => {
                let note = json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": 1}});
                format!("{stream_head}: hello\n\ndata: {note}\n\nevent: message\ndata: {}\n\n", result(block))
            }
            Mode::Twice => {
                let twice = result(block).replace(r#""reason""#, r#""action":"passThrough","reason""#);
                format!("{stream_head}data: {twice}\n\n")
            }
            Mode::Large => json(result(json!({"content": [{"type": "text", "text": "x".repeat(5 << 20)}]}))),
            Mode::Silent => std::future::pending().await,
            Mode::Status(status) => format!("HTTP/1.1 {status}\r\ncontent-length: 3\r\n\r\nno!"),
            Mode::RedirectTo(to) => {
                format!("HTTP/1.1 307 Temporary Redirect\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n")
            }
            Mode::Flood | Mode::Chatter => {
                let (first, piece) = match mode {
                    Mode::Flood => ("data: ", "x".repeat(64 << 10)),
                    _ => ("", "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":1}}\n\n".repeat(500)),
                };
                stream.write_all(stream_head.as_bytes()).await.ok()?;
                stream.write_all(first.as_bytes()).await.ok()?;
                loop {
                    stream.write_all(piece.as_bytes()).await.ok()?;
                }
            }
        },
        Some("tools/list") => {
            json(result(json!({"tools": [{"name": "guard", "inputSchema": {"type": "object"}}]})))
        }
        _ => "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n".to_owned(),
    };
    stream.write_all(answer.as_bytes()).await.ok()?;
    stream.shutdown().await.ok()
}

async fn ask(servers: &Servers, wall: Duration) -> (Option<Cause>, String) {
    let env = TestEnvironment::new();
    let report = call(&guards(&env, servers, &[("guard", wall)]).await).await;
    (only(&report).cause, only(&report).message.clone().unwrap_or_default())
}

#[tokio::test]
async fn a_server_answers_with_json_or_with_a_stream() {
    for mode in [Mode::Json, Mode::Sse] {
        let served = Served::new(mode.clone()).await;
        let servers = served.servers(&[("x-key", "secret"), ("Authorization", "Bearer t")]);
        let env = TestEnvironment::new();
        let manager = guards(&env, &servers, &[("guard", LONG)]).await;
        for _ in 0..2 {
            let report = call(&manager).await;
            assert_eq!(only(&report).message.as_deref(), Some("remote"), "{mode:?} {report:#?}");
        }
        let methods = ["initialize", "notifications/initialized", "tools/call", "tools/call"];
        assert_eq!(served.methods(), methods, "one handshake, and no stream for what nobody asked for");
        let requests = served.requests.lock().unwrap();
        for (head, _) in &*requests {
            let head = head.to_ascii_lowercase();
            assert!(head.contains("x-key: secret") && head.contains("authorization: bearer t"), "{head}");
        }
        assert_eq!(requests[2].1["params"]["arguments"]["hook"], "PreToolUse");
        assert!(requests[2].0.to_ascii_lowercase().contains("mcp-session-id: s1"));
        assert!(!format!("{servers:?} {:?}", servers.get("remote").unwrap().config()).contains("secret"));
    }
}

#[tokio::test]
async fn every_failure_of_a_remote_server_has_its_cause() {
    for (mode, wall, cause, says) in [
        (Mode::Flood, LONG, Cause::OutputLimit, "printed more than"),
        (Mode::Chatter, LONG, Cause::OutputLimit, "printed more than"),
        (Mode::Large, LONG, Cause::OutputLimit, "printed more than"),
        (Mode::Twice, LONG, Cause::MalformedOutput, "is there twice"),
        (Mode::Silent, Duration::from_millis(700), Cause::Timeout, "did not answer within 700ms"),
        (Mode::Status("500 Internal Server Error"), LONG, Cause::Exit, "HTTP 500"),
        (Mode::Status("403 Forbidden"), LONG, Cause::Exit, "HTTP 403"),
    ] {
        let served = Served::new(mode.clone()).await;
        let (found, message) = ask(&served.servers(&[]), wall).await;
        assert!(found == Some(cause) && message.contains(says), "{mode:?}: {found:?} {message}");
    }
}

#[tokio::test]
async fn a_redirect_to_another_origin_is_not_followed() {
    let other = Served::new(Mode::Json).await;
    let served = Served::new(Mode::RedirectTo(other.url.clone())).await;
    let (cause, message) = ask(&served.servers(&[("x-key", "secret")]), LONG).await;
    assert!(cause == Some(Cause::Exit) && message.contains("307"), "{message}");
    assert_eq!(other.methods(), [""; 0]);
}

#[tokio::test]
async fn an_address_that_nobody_answers_at_is_a_failure_to_start() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    for (url, says) in [
        (format!("http://{address}/?key=secret"), "could not be reached"),
        ("ftp://example.org/?key=secret".to_owned(), "expected http:// or https://"),
        ("localhost".to_owned(), "expected http:// or https://"),
    ] {
        let transport = Transport::Http { url: url.clone(), headers: BTreeMap::new() };
        let servers = Servers::new(vec![ServerConfig { name: "r".to_owned(), transport }]);
        let (cause, message) = ask(&servers, LONG).await;
        assert!(cause == Some(Cause::Spawn) && message.contains(says), "{url}: {message}");
        assert!(!message.contains("secret"), "{message}");
    }
    let transport = Transport::Http {
        url: format!("http://{address}/"),
        headers: BTreeMap::from([("a b".to_owned(), "x".to_owned())]),
    };
    let servers = Servers::new(vec![ServerConfig { name: "r".to_owned(), transport }]);
    assert!(ask(&servers, LONG).await.1.contains("\"a b\" has no name of a header"));
}
