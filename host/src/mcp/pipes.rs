//! JSON-RPC over the standard input and output of a process, one message a line. Unlike the transport of
//! rmcp, it answers for a message that cannot be read, and reads only while a call waits.

use std::collections::HashSet;
use std::io;
use std::sync::Arc;

use rmcp::RoleClient;
use rmcp::model::{ErrorCode, ErrorData, RequestId, ServerJsonRpcMessage};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::Mutex;

use crate::mcp::byte_limit::ByteLimit;
use crate::mcp::process::ServerProcess;
use hookbox_system::{json, limits, text};

/// The error code of an unreadable answer, outside of the range of JSON-RPC.
pub(super) const UNREADABLE: ErrorCode = ErrorCode(1_000_000_001);

/// The pipes of a server.
pub(super) struct Pipes {
    stdin: Arc<Mutex<Option<ChildStdin>>>,
    stdout: ChildStdout,
    /// Bytes after the last complete line.
    read: Vec<u8>,
    /// The number of these bytes that were searched for the end of a line.
    searched: usize,
    bytes: Arc<ByteLimit>,
    process: Arc<ServerProcess>,
}

impl Pipes {
    pub(super) fn new(
        stdin: ChildStdin,
        stdout: ChildStdout,
        bytes: Arc<ByteLimit>,
        process: Arc<ServerProcess>,
    ) -> Self {
        let stdin = Arc::new(Mutex::new(Some(stdin)));
        Self { stdin, stdout, read: Vec::new(), searched: 0, bytes, process }
    }

    /// Returns the next line that is not blank; `None` at the end, and if the limit is exceeded. Reads
    /// nothing while no call waits. Loses nothing if this future is dropped.
    async fn line(&mut self) -> Option<Vec<u8>> {
        loop {
            let rest = self.read.get(self.searched..).unwrap_or_default();
            if let Some(at) = rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.read.drain(..=self.searched + at).collect();
                self.searched = 0;
                if !line.trim_ascii().is_empty() {
                    return Some(line);
                }
                continue;
            }
            self.searched = self.read.len();
            self.bytes.until_call().await;
            self.read.reserve(limits::CHUNK);
            let mut chunk = (&mut self.stdout).take(limits::CHUNK as u64);
            let n = chunk.read_buf(&mut self.read).await.unwrap_or(0);
            if n == 0 || !self.bytes.count(n) {
                return None;
            }
        }
    }
}

impl Transport<RoleClient> for Pipes {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let stdin = Arc::clone(&self.stdin);
        async move {
            let mut line = serde_json::to_vec(&item)?;
            line.push(b'\n');
            match stdin.lock().await.as_mut() {
                Some(stdin) => stdin.write_all(&line).await,
                None => Err(io::ErrorKind::BrokenPipe.into()),
            }
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let line = self.line().await?;
            match message(&line) {
                Some(message) => return Some(message),
                None => self.process.note_stray_line(&line),
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        *self.stdin.lock().await = None;
        Ok(())
    }
}

/// Parses a message. An unreadable answer becomes an error, so that its caller does not wait for it; `None` for
/// anything that is not a message.
pub(super) fn message(line: &[u8]) -> Option<ServerJsonRpcMessage> {
    // If a name is there twice, one reader takes the first value, and another the last one.
    let repeated = str::from_utf8(line).ok().and_then(|line| repeated(line, 16));
    let wrong = match (serde_json::from_slice(line), repeated) {
        (Ok(message), None) => return Some(message),
        (Ok(_), Some(name)) => format!("{:?} is there twice", text::escape(&name, 80)),
        (Err(wrong), _) => wrong.to_string(),
    };
    let id = Answer::deserialize(&mut serde_json::Deserializer::from_slice(line))
        .ok()
        .and_then(|answer| answer.id());
    let error = ErrorData::new(UNREADABLE, wrong, None);
    id.map(|id| ServerJsonRpcMessage::error(error, Some(id)))
}

/// Returns a name that an object in this JSON has twice. Deeper levels are not searched, because each is read once more.
fn repeated(raw: &str, levels: usize) -> Option<String> {
    let deeper = levels.checked_sub(1)?;
    if let Ok(json::Members(members)) = serde_json::from_str(raw) {
        let mut seen = HashSet::new();
        let mut names = members.iter().map(|(name, _)| json::text(name.get()));
        let twice = names.find(|name| !seen.insert(name.clone()));
        return twice.or_else(|| members.iter().find_map(|(_, it)| repeated(it.get(), deeper)));
    }
    let items = serde_json::from_str::<Vec<&RawValue>>(raw).ok()?;
    items.into_iter().find_map(|it| repeated(it.get(), deeper))
}

/// The parts of an answer that name its request.
#[derive(Deserialize)]
struct Answer<'a> {
    id: RequestId,
    method: Option<serde::de::IgnoredAny>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

impl Answer<'_> {
    fn id(self) -> Option<RequestId> {
        (self.method.is_none() && (self.result.is_some() || self.error.is_some())).then_some(self.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rmcp::model::JsonRpcMessage;

    #[test]
    fn an_answer_that_cannot_be_read_is_an_error_of_its_request() {
        let deep = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
        for (line, want) in [
            (r#"{"jsonrpc":"2.0","id":7,"result":{"content":[]}}"#.to_owned(), Some(None)),
            (r#"{"jsonrpc":"2.0","id":7,"result":7}"#.to_owned(), Some(None)),
            (format!(r#"{{"jsonrpc":"2.0","id":7,"result":{deep}}}"#), Some(Some(7))),
            (r#"{"jsonrpc":"2.0","id":7,"error":7}"#.to_owned(), Some(Some(7))),
            (
                r#"{"jsonrpc":"2.0","id":7,"result":{"content":[],"structuredContent":{"blocked":true,"blocked":false}}}"#
                    .to_owned(),
                Some(Some(7)),
            ),
            ("Listening on stdio".to_owned(), None),
            ("{}".to_owned(), None),
            ("[1,2]".to_owned(), None),
            (deep, None),
        ] {
            let found = message(line.as_bytes()).map(|message| match message {
                JsonRpcMessage::Error(error) if error.error.code == UNREADABLE => match error.id {
                    Some(RequestId::Number(id)) => Some(id),
                    _ => panic!("no id"),
                },
                _ => None,
            });
            assert_eq!(found, want, "{}", line.get(..60).unwrap_or(&line));
        }
    }
}
