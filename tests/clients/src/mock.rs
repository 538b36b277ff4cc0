//! The model that the clients speak to: on loopback, on a port that the kernel chose.

use std::io::{BufReader, BufWriter};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use std::{io, thread};

use serde_json::{Value, json};

use crate::api::Wish;
use crate::{api, http};

/// The longest silence of a connection.
const IDLE: Duration = Duration::from_secs(120);

/// A request that was read, as it is kept.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) path: String,
    pub(crate) body: Value,
}

/// The mock model. Its threads end with the program.
pub(crate) struct Mock {
    port: u16,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Mock {
    /// A model that wants shell lines to be run. `between` is called before each answer.
    pub(crate) fn start(wish: Wish, between: impl Fn() + Send + Sync + 'static) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (wish, between, record) = (Arc::new(wish), Arc::new(between), Arc::clone(&seen));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (wish, between, record) = (Arc::clone(&wish), Arc::clone(&between), Arc::clone(&record));
                // A client that goes away in the middle is its own business.
                thread::spawn(move || serve(&stream, &wish, &*between, &record));
            }
        });
        Ok(Self { port, seen })
    }

    /// Returns the address, such as `http://127.0.0.1:4711`.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The requests so far.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Adds what a client that asks no model keeps of its session.
    pub(crate) fn see(&self, path: &str, body: Value) {
        let seen = Seen { path: path.to_owned(), body };
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).push(seen);
    }

    /// Returns whether a model got this text.
    pub(crate) fn was_told(&self, text: &str) -> bool {
        self.seen().iter().any(|seen| api::holds(&seen.body, text))
    }
}

fn serve(stream: &TcpStream, wish: &Wish, between: &dyn Fn(), seen: &Mutex<Vec<Seen>>) -> io::Result<()> {
    stream.set_read_timeout(Some(IDLE))?;
    let (mut from, mut to) = (BufReader::new(stream), BufWriter::new(stream));
    while let Some(request) = http::read(&mut from)? {
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        between();
        let answer = api::answer(&request.path, &body, wish).filter(|_| request.method != "HEAD");
        if request.method == "POST" {
            let seen_now = Seen { path: request.path, body };
            seen.lock().unwrap_or_else(PoisonError::into_inner).push(seen_now);
        }
        match answer {
            Some(answer) => http::write(&mut to, 200, answer.kind, &answer.text)?,
            None if request.method == "HEAD" => http::write(&mut to, 200, "text/plain", "")?,
            None => {
                let text = json!({"error": {"message": "the mock model has no such path"}}).to_string();
                http::write(&mut to, 404, "application/json", &text)?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read as _, Write as _};

    #[test]
    fn what_the_model_is_told_is_kept() {
        let wish = Wish::new(vec!["echo hi".to_owned()]);
        let mock = Mock::start(wish, || {}).unwrap();
        let mut stream = TcpStream::connect(("127.0.0.1", mock.port)).unwrap();
        let body = r#"{"messages":[{"role":"user","content":"the reason"}],"stream":true}"#;
        write!(stream, "POST /v1/messages HTTP/1.1\r\ncontent-length: {}\r\n\r\n{body}", body.len()).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200") && answer.contains(api::DONE), "{answer}");
        assert!(mock.was_told("the reason") && !mock.was_told("another"));
        assert_eq!(mock.seen().len(), 1);
    }
}
