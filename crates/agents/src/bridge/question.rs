//! A hook's question to the user of an agent that cannot ask: `hookbox approve` in another terminal answers it.
//!
//! Both ends are processes of the same user, and they meet at a socket in the private data directory. The question is one
//! line of JSON, and so is its answer, on the same connection: an answer is of no use for another question.

use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;

use super::above;
use crate::outcome::Ruling;

/// The name of the socket.
pub(super) const SOCKET: &str = "approve.sock";

/// The longest line with a question, in bytes.
pub(super) const MAX_QUESTION: usize = 64 << 10;

/// The longest line with an answer, in bytes.
const MAX_ANSWER: u64 = 16;

/// A tool call about which a hook asks the user. No text of it is escaped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// The agent's name in a sentence.
    pub agent: String,
    /// The name of the tool.
    pub tool: String,
    /// The input that the tool gets, as JSON.
    pub input: String,
    /// The working directory of the agent.
    pub directory: String,
    /// The conversation.
    pub session: String,
    /// The hook that asks.
    pub hook: String,
    /// True if the user trusts the hook.
    pub is_trusted: bool,
    /// The reason of the hook.
    pub reason: String,
    /// The time for the answer, in milliseconds.
    pub time_ms: u64,
}

/// The end of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The user said yes or no.
    Answered(bool),
    /// The user was asked, and said nothing in time.
    Unanswered,
    /// The user was not asked, for this reason if one has to be told.
    Unasked(Option<String>),
}

impl Question {
    /// Asks the user, for the time of the question at most. `data` is the private data directory.
    pub(super) async fn ask(&self, data: &Path) -> End {
        let Ok(line) = serde_json::to_string(self) else { return End::Unasked(None) };
        if line.len() >= MAX_QUESTION {
            return End::Unasked(Some("the call is too long to be shown by `hookbox approve`".to_owned()));
        }
        let Ok(stream) = UnixStream::connect(data.join(SOCKET)).await else { return End::Unasked(None) };
        if let Some(why) = not_the_users(&stream, data) {
            return End::Unasked(Some(format!("{SOCKET} is not used: {why}")));
        }
        let answer = tokio::time::timeout(Duration::from_millis(self.time_ms), answer(stream, line));
        answer.await.ok().flatten().map_or(End::Unanswered, End::Answered)
    }
}

/// Sends a question and reads its answer. `None` if the other end goes away or writes anything else.
async fn answer(mut stream: UnixStream, line: String) -> Option<bool> {
    stream.write_all(format!("{line}\n").as_bytes()).await.ok()?;
    let mut answer = String::new();
    BufReader::new(stream.take(MAX_ANSWER)).read_line(&mut answer).await.ok()?;
    serde_json::from_str(answer.strip_suffix('\n')?).ok()
}

/// Returns the reason why the process at the other end is not `hookbox approve` of this user, as far as the system tells.
fn not_the_users(stream: &UnixStream, data: &Path) -> Option<String> {
    let Ok(peer) = stream.peer_cred() else { return Some("its owner is not known".to_owned()) };
    if peer.uid() != rustix::process::geteuid().as_raw() {
        return Some(format!("another user listens there (uid {})", peer.uid()));
    }
    let process = peer.pid().and_then(|id| u32::try_from(id).ok()).filter(|id| *id > 0)?;
    let agent = above::agent_over(process, &[data.to_owned()])?;
    Some(format!("{agent}, and not its user, listens there"))
}

/// Returns the block in place of a question, with this ending of the reason.
pub(super) fn refused(asked: &Ruling, why: &str) -> Ruling {
    let Ruling { by, known_as, trusted, .. } = asked;
    let reason = asked.for_user();
    match (trusted, reason.trim().is_empty()) {
        (true, true) => Ruling::trusted(by, format!("{by}: {why}")),
        (true, false) => Ruling::trusted(by, format!("{reason} ({why})")),
        // The model reads no word of the hook's own.
        (false, _) => Ruling::untrusted(by, format!("{known_as}: {why}"), reason),
    }
}

#[cfg(test)]
#[path = "question_tests.rs"]
mod tests;
