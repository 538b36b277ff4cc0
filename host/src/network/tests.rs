//! Requests to servers that behave in one way or another, on this machine. A server ends with its test's runtime.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::atomic::AtomicUsize;
use std::task::{Context, Poll};

use http::header::LOCATION;
use http_body::Frame;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::*;
use crate::capability::Capability;

const LONG: Duration = Duration::from_secs(600);
const SHORT: Duration = Duration::from_millis(200);

fn origin(text: &str) -> Origin {
    match format!("http:{text}").parse() {
        Ok(Capability::Http(origin)) => origin,
        other => panic!("{text}: {other:?}"),
    }
}

fn rules(origins: &[String]) -> Rules {
    let origins: Arc<[Origin]> = origins.iter().map(|it| origin(it)).collect();
    let timeouts = Timeouts { connect: LONG, first_byte: LONG, between_bytes: LONG, total: LONG };
    Rules { listed: Arc::clone(&origins), origins, timeouts }
}

fn get(uri: &str) -> Request<String> {
    Request::get(uri).body(String::new()).unwrap()
}

/// A server that reads the head of each request and then does this; its origin.
async fn server<F, R>(deed: F) -> String
where
    F: Fn(String, TcpStream) -> R + Send + Sync + 'static,
    R: Future<Output = io::Result<()>> + Send,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                match stream.read_u8().await {
                    Ok(byte) => head.push(byte),
                    Err(_) => break,
                }
            }
            // The client may be gone: the test checks that itself.
            let _ = deed(String::from_utf8(head).unwrap(), stream).await;
        }
    });
    format!("http://{address}")
}

/// A server that answers with these bytes and closes.
async fn says(answer: &'static [u8]) -> String {
    server(move |_, mut stream| async move { stream.write_all(answer).await }).await
}

async fn whole(origin: String, timeouts: Timeouts) -> Result<Bytes, NetworkError> {
    let rules = Rules { timeouts, ..rules(std::slice::from_ref(&origin)) };
    let answer = Network::new().send(get(&origin), &rules).await?;
    answer.into_body().read().await
}

#[tokio::test]
async fn a_request_is_sent_as_a_path_to_its_host() {
    let origin = server(|head, mut stream| async move {
        let mut body = [0; 2];
        stream.read_exact(&mut body).await?;
        let answer = format!("{head}{}", String::from_utf8_lossy(&body));
        stream.write_all(format!("HTTP/1.1 200 OK\r\n\r\n{answer}").as_bytes()).await
    })
    .await;
    let request = Request::post(format!("{origin}/a?b=c")).header("x-y", "z").body("hi".to_owned()).unwrap();
    let answer = Network::new().send(request, &rules(std::slice::from_ref(&origin))).await.unwrap();
    let seen = answer.into_body().read().await.unwrap();
    let seen = String::from_utf8_lossy(&seen);
    let (line, rest) = seen.split_once("\r\n").unwrap();
    assert_eq!(line, "POST /a?b=c HTTP/1.1");
    let host = origin.strip_prefix("http://").unwrap();
    for field in [&format!("host: {host}"), "connection: close", "x-y: z", "content-length: 2"] {
        assert_eq!(rest.lines().filter(|line| *line == field).count(), 1, "{field} in {rest}");
    }
    assert!(rest.ends_with("\r\n\r\nhi"));
}

#[tokio::test]
async fn a_name_is_resolved_once_and_only_for_what_is_granted() {
    let origin = says(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await;
    let port = origin.rsplit_once(':').unwrap().1;
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let network = Network::new().with_resolver(move |host| {
        count.fetch_add(1, Ordering::Relaxed);
        async move {
            assert_eq!(host, "name.test");
            Ok(vec!["127.0.0.1".parse().unwrap()])
        }
    });
    let named = format!("http://name.test:{port}");
    let refused = network.send(get("http://other.test"), &rules(std::slice::from_ref(&named))).await;
    assert_eq!(refused.unwrap_err(), NetworkError::NotGranted(self::origin("http://other.test")));
    assert_eq!(asked.load(Ordering::Relaxed), 0);

    let refused = network.send(get(&named), &rules(std::slice::from_ref(&named))).await.unwrap_err();
    assert_eq!(refused.missing().unwrap().to_string(), format!("http:{origin}"));
    assert_eq!(asked.load(Ordering::Relaxed), 1);

    // Listed, but not an origin of its own.
    let listed = Rules { listed: [self::origin(&origin)].into(), ..rules(std::slice::from_ref(&named)) };
    let answer = network.send(get(&named), &listed).await.unwrap();
    assert_eq!(answer.into_body().read().await.unwrap(), "ok");
    assert_eq!(asked.load(Ordering::Relaxed), 2);
    let refused = network.send(get(&origin), &listed).await.unwrap_err();
    assert!(matches!(refused, NetworkError::NotGranted(_)), "{refused}");
}

#[tokio::test]
async fn a_name_that_is_inside_is_refused() {
    for address in ["127.0.0.1", "169.254.169.254", "::ffff:127.0.0.1", "::1", "10.0.0.1", "0.0.0.0"] {
        let network = Network::new()
            .with_resolver(move |_| async move { Ok(vec![address.parse().unwrap(), "::".parse().unwrap()]) });
        let refused = network.send(get("https://a.org"), &rules(&["https://a.org".to_owned()])).await;
        let want =
            NetworkError::Prohibited { origin: origin("https://a.org"), address: address.parse().unwrap() };
        assert_eq!(refused.unwrap_err(), want, "{address}");
    }
}

#[tokio::test]
async fn a_name_that_nobody_resolves_ends_in_time() {
    let network = Network::new().with_resolver(|_| std::future::pending());
    let mut rules = rules(&["https://a.org".to_owned()]);
    rules.timeouts.connect = SHORT;
    let failed = network.send(get("https://a.org"), &rules).await.unwrap_err();
    assert_eq!(failed, NetworkError::ResolveTimeout("a.org".to_owned()));
    let network = Network::new().with_resolver(|_| async { Err(io::Error::other("no\u{1b}[31m")) });
    let failed = network.send(get("https://a.org"), &rules).await.unwrap_err();
    assert!(matches!(&failed, NetworkError::Resolve { reason, .. } if reason == "no\\u{1b}[31m"), "{failed}");
}

#[tokio::test]
async fn a_redirect_is_an_answer_and_following_it_is_checked() {
    let origin = says(b"HTTP/1.1 302 Found\r\nlocation: http://169.254.169.254/latest\r\n\r\n").await;
    let rules = rules(std::slice::from_ref(&origin));
    let answer = Network::new().send(get(&origin), &rules).await.unwrap();
    assert_eq!(answer.status(), 302);
    let to = answer.headers()[LOCATION].to_str().unwrap();
    let refused = Network::new().send(get(to), &rules).await.unwrap_err();
    assert_eq!(refused, NetworkError::NotGranted(self::origin("http://169.254.169.254")));
}

#[tokio::test]
async fn an_answer_without_end_is_cut_off() {
    let timeouts = rules(&[]).timeouts;
    let piece = |head: &'static str, piece: &'static str| async move {
        let piece = piece.repeat(1000);
        server(move |_, mut stream| {
            let piece = piece.clone();
            async move {
                stream.write_all(head.as_bytes()).await?;
                // More than any limit, and not without end.
                for _ in 0..10_000 {
                    stream.write_all(piece.as_bytes()).await?;
                }
                Ok(())
            }
        })
        .await
    };
    let chunks = piece("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", "4\r\nabcd\r\n").await;
    assert_eq!(whole(chunks, timeouts).await, Err(NetworkError::ResponseTooLarge));
    let bytes = piece("HTTP/1.1 200 OK\r\n\r\n", "abcd").await;
    assert_eq!(whole(bytes, timeouts).await, Err(NetworkError::ResponseTooLarge));
    let field = piece("HTTP/1.1 200 OK\r\nx: ", "abcd").await;
    assert_eq!(whole(field, timeouts).await, Err(NetworkError::HeadTooLarge));
    let fields = piece("HTTP/1.1 200 OK\r\n", "x: y\r\n").await;
    assert_eq!(whole(fields, timeouts).await, Err(NetworkError::HeadTooLarge));
    let trailers =
        piece("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\n", "x: y\r\n").await;
    assert!(whole(trailers, timeouts).await.is_err());
    let informed = piece("", "HTTP/1.1 103 Early Hints\r\n\r\n").await;
    assert!(whole(informed, Timeouts { total: SHORT, ..timeouts }).await.is_err());
    let announced = says(b"HTTP/1.1 200 OK\r\ncontent-length: 4194305\r\n\r\n").await;
    assert_eq!(whole(announced, timeouts).await, Err(NetworkError::ResponseTooLarge));
}

#[tokio::test]
async fn a_server_that_ends_early_or_speaks_otherwise_is_a_failure() {
    let timeouts = rules(&[]).timeouts;
    for (answer, incomplete) in [
        (&b""[..], true),
        (b"HTTP/1.1 200 OK\r\nx: ", true),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nab", true),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nab", true),
        (b"SSH-2.0-OpenSSH_9.9\r\n", false),
        (b"HTTP/1.1 200 OK\r\nx y: z\r\n\r\n", false),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab", false),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", false),
    ] {
        let failed = whole(says(answer).await, timeouts).await.unwrap_err();
        assert_eq!(failed == NetworkError::Incomplete, incomplete, "{}: {failed}", answer.escape_ascii());
    }
}

#[tokio::test]
async fn a_server_that_waits_ends_in_time() {
    let timeouts = rules(&[]).timeouts;
    let silent = || {
        server(|_, stream| async move {
            let _open = stream;
            std::future::pending().await
        })
    };
    let first_byte = Timeouts { first_byte: SHORT, ..timeouts };
    assert_eq!(whole(silent().await, first_byte).await, Err(NetworkError::FirstByteTimeout));
    let total = Timeouts { total: SHORT, ..timeouts };
    assert_eq!(whole(silent().await, total).await, Err(NetworkError::FirstByteTimeout));

    let head: &'static [u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\na";
    let stops = || {
        server(move |_, mut stream| async move {
            stream.write_all(head).await?;
            std::future::pending().await
        })
    };
    let between_bytes = Timeouts { between_bytes: SHORT, ..timeouts };
    assert_eq!(whole(stops().await, between_bytes).await, Err(NetworkError::BodyTimeout));
    // Each byte comes in time, and the body never ends.
    let drips = server(move |_, mut stream| async move {
        stream.write_all(head).await?;
        for _ in 0..1000 {
            tokio::time::sleep(Duration::from_millis(20)).await;
            stream.write_all(b"a").await?;
        }
        Ok(())
    })
    .await;
    assert_eq!(whole(drips, total).await, Err(NetworkError::BodyTimeout));
}

#[tokio::test]
async fn nobody_listening_is_refused() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    assert_eq!(whole(origin, rules(&[]).timeouts).await, Err(NetworkError::Refused));
}

/// A body without end whose size nobody knows.
struct Endless;

impl Body for Endless {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(&[b'x'; 4096])))))
    }
}

#[tokio::test]
async fn a_request_without_end_is_cut_off() {
    let origin = server(|_, mut stream| async move {
        tokio::io::copy(&mut stream, &mut tokio::io::sink()).await?;
        Ok(())
    })
    .await;
    let rules = rules(std::slice::from_ref(&origin));
    let request = Request::post(&origin).body(Endless).unwrap();
    let failed = Network::new().send(request, &rules).await.unwrap_err();
    assert_eq!(failed, NetworkError::RequestTooLarge);
    let request = Request::post(&origin).body("x".repeat((4 << 20) + 1)).unwrap();
    let failed = Network::new().send(request, &rules).await.unwrap_err();
    assert_eq!(failed, NetworkError::RequestTooLarge);
}

#[tokio::test]
async fn a_request_that_is_given_up_ends_its_connection() {
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    let origin = server(move |_, mut stream| {
        let tell = tell.clone();
        async move {
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\na").await?;
            let ended = stream.read_u8().await;
            tell.send(ended.is_err()).map_err(io::Error::other)
        }
    })
    .await;
    let rules = rules(std::slice::from_ref(&origin));
    let answer = Network::new().send(get(&origin), &rules).await.unwrap();
    drop(answer);
    let ended = tokio::time::timeout(LONG, told.recv()).await.unwrap();
    assert_eq!(ended, Some(true));
}
