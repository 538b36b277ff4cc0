//! A hook's question to the user of an agent that cannot ask: `hookbox approve` in another terminal answers it.
//!
//! Both ends are processes of the same user, and they meet at a socket in the private data directory. The question is one
//! line of JSON, and so is its answer, on the same connection: an answer is of no use for another question.

use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::termios::{QueueSelector, tcflush};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};

use super::above;
use crate::files::{FileLock, LockError, private_dir};
use crate::outcome::Ruling;

/// The name of the socket.
const SOCKET: &str = "approve.sock";

/// The longest line with a question, in bytes.
const MAX_QUESTION: usize = 64 << 10;

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
    BufReader::new(stream.take(MAX_QUESTION as u64)).read_line(&mut answer).await.ok()?;
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

/// The file that a process locks while it answers.
const LOCK: &str = "approve.lock";

/// The time in which a question has to arrive whole.
const ARRIVING: Duration = Duration::from_secs(10);

/// The longest line that is read from the terminal, in bytes.
const MAX_KEYS: usize = 4096;

/// The reason why questions cannot be answered here.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ApproverError {
    /// Another process answers them.
    #[error("another `hookbox approve` runs already")]
    Busy,
    /// The socket or its lock cannot be made.
    #[error("{path}: {error}", path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error.
        #[source]
        error: io::Error,
    },
}

/// The other end of a [`Question`], and the one process that answers the questions of a user: the terminal on which
/// `hookbox approve` runs.
#[derive(Debug)]
pub struct Approver {
    listener: UnixListener,
    socket: PathBuf,
    /// Kept until the socket is gone.
    _lock: FileLock,
}

/// A question with the connection on which it came, and on which its answer goes back.
#[derive(Debug)]
struct Asked {
    question: Question,
    stream: std::os::unix::net::UnixStream,
}

/// The end of the wait for the user.
#[derive(Debug, PartialEq, Eq)]
enum Heard {
    /// A line, without its end.
    Line(String),
    /// The end of the terminal's input.
    End,
    /// The process that asked has gone.
    Withdrawn,
}

impl Approver {
    /// Listens in a private data directory. Call it in a tokio runtime.
    ///
    /// # Errors
    ///
    /// Another process listens, or the socket cannot be made: its path may be too long for the system.
    pub fn listen(data: &Path) -> Result<Self, ApproverError> {
        let failed = |name: &str| {
            let path = data.join(name);
            move |error| ApproverError::Io { path, error }
        };
        let lock = private_dir::create_file(&data.join(LOCK)).map_err(failed(LOCK))?;
        let lock = FileLock::exclusive(lock, Duration::ZERO).map_err(|error| match error {
            LockError::Io(error) => failed(LOCK)(error),
            _ => ApproverError::Busy,
        })?;
        let socket = data.join(SOCKET);
        // Nobody listens at one that is there: its process would have the lock.
        let listener = match fs::remove_file(&socket) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => UnixListener::bind(&socket),
        };
        Ok(Self { listener: listener.map_err(failed(SOCKET))?, socket, _lock: lock })
    }

    /// Asks the user each question that comes, one at a time, until the end of the input; with `once`, only the first.
    ///
    /// `keys` are the lines that the user types, and `show` returns the text of a question. What was typed before a question is
    /// on the screen does not count. A question that is withdrawn gets no answer.
    ///
    /// # Errors
    ///
    /// The screen, the keys or the socket fail.
    pub async fn serve(
        &self,
        mut keys: impl Read + AsFd,
        screen: &mut impl Write,
        show: impl Fn(&Question) -> String,
        once: bool,
    ) -> io::Result<()> {
        loop {
            let asked = self.next().await?;
            if asked.is_withdrawn()? {
                continue;
            }
            discard(&mut keys)?;
            write!(screen, "{}\nLet this run? [y/N] ", show(&asked.question))?;
            screen.flush()?;
            let heard = asked.wait(&mut keys)?;
            let is_heard = match &heard {
                Heard::Line(line) => asked.answer(is_yes(line)),
                Heard::End => asked.answer(false),
                Heard::Withdrawn => false,
            };
            if !matches!(heard, Heard::Line(_)) {
                writeln!(screen)?;
            }
            if !is_heard {
                writeln!(screen, "The agent no longer waits: the call is blocked.")?;
            }
            screen.flush()?;
            if once || heard == Heard::End {
                return Ok(());
            }
        }
    }

    /// Waits for the next question. A connection of another user, or with anything else, is closed.
    async fn next(&self) -> io::Result<Asked> {
        loop {
            let (mut stream, _) = self.listener.accept().await?;
            let is_own =
                stream.peer_cred().is_ok_and(|peer| peer.uid() == rustix::process::geteuid().as_raw());
            if !is_own {
                continue;
            }
            let mut line = String::new();
            let mut limited = BufReader::new((&mut stream).take(MAX_QUESTION as u64));
            let read = tokio::time::timeout(ARRIVING, limited.read_line(&mut line)).await;
            let line = line.strip_suffix('\n').filter(|_| matches!(read, Ok(Ok(_))));
            if let Some(question) = line.and_then(|line| serde_json::from_str(line).ok()) {
                return Ok(Asked { question, stream: stream.into_std()? });
            }
        }
    }
}

impl Drop for Approver {
    fn drop(&mut self) {
        // One that stays is replaced by the next process.
        let _ = fs::remove_file(&self.socket);
    }
}

impl Asked {
    /// Returns true if the other end has gone: it writes nothing after its question.
    fn is_withdrawn(&self) -> io::Result<bool> {
        Ok(readable([self.stream.as_fd()], false)? == [true])
    }

    /// Waits for a line of the user, or for the end of the connection. The system is asked about both at once.
    fn wait(&self, mut keys: impl Read + AsFd) -> io::Result<Heard> {
        let mut typed = Vec::new();
        loop {
            let [has_gone, has_keys] = readable([self.stream.as_fd(), keys.as_fd()], true)?;
            if has_gone {
                return Ok(Heard::Withdrawn);
            }
            if !has_keys {
                continue;
            }
            let mut bytes = [0; MAX_KEYS];
            let read = keys.read(&mut bytes)?;
            typed.extend_from_slice(bytes.get(..read).unwrap_or_default());
            let line = typed.split(|byte| *byte == b'\n').next().unwrap_or_default();
            match line.len() < typed.len() || line.len() > MAX_KEYS {
                true => return Ok(Heard::Line(String::from_utf8_lossy(line).into_owned())),
                false if read == 0 => return Ok(Heard::End),
                false => {}
            }
        }
    }

    /// Writes the answer. Returns false if the other end has gone.
    fn answer(mut self, is_yes: bool) -> bool {
        self.stream.write_all(if is_yes { b"true\n" } else { b"false\n" }).is_ok()
    }
}

/// Returns which of these can be read, an end included. Waits for one of them, or not.
fn readable<const N: usize>(of: [BorrowedFd<'_>; N], waits: bool) -> io::Result<[bool; N]> {
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    let mut all = of.map(|it| PollFd::from_borrowed_fd(it, PollFlags::IN));
    loop {
        match poll(&mut all, (!waits).then_some(&at_once)) {
            Err(Errno::INTR) => {}
            done => {
                done?;
                return Ok(all.each_ref().map(|it| !it.revents().is_empty()));
            }
        }
    }
}

/// Takes what was typed so far.
fn discard(mut keys: impl Read + AsFd) -> io::Result<()> {
    // On a terminal this takes a line that has no end yet as well. Nothing else has such a queue.
    let _ = tcflush(&keys, QueueSelector::IFlush);
    while readable([keys.as_fd()], false)? == [true] && keys.read(&mut [0; MAX_KEYS])? > 0 {}
    Ok(())
}

/// Reads an answer; anything but a yes is a no.
fn is_yes(line: &str) -> bool {
    matches!(line.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

#[cfg(test)]
#[path = "question_tests.rs"]
mod tests;
