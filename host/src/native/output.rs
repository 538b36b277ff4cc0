//! The output of a process: its pipes, and the log of its standard error.

use std::future::pending;
use std::io;

use tokio::io::{AsyncRead, AsyncReadExt as _};

use crate::outcome::Spent;
use hookbox_system::{limits, text};

/// The reading end of a pipe, while it is open.
pub(super) struct Pipe<R> {
    end: Option<R>,
    chunk: Vec<u8>,
}

impl<R: AsyncRead + Unpin> Pipe<R> {
    pub(super) fn new(end: Option<R>) -> Self {
        Self { end, chunk: vec![0; limits::CHUNK] }
    }

    /// Returns whether the pipe is open.
    pub(super) fn is_open(&self) -> bool {
        self.end.is_some()
    }

    /// Reads once; never ready when the pipe is closed. Nothing is lost when this future is dropped.
    pub(super) async fn read(&mut self) -> io::Result<usize> {
        match &mut self.end {
            Some(end) => end.read(&mut self.chunk).await,
            None => pending().await,
        }
    }

    /// Returns the bytes of a read. An empty read closes the pipe.
    pub(super) fn take(&mut self, read: io::Result<usize>) -> &[u8] {
        let n = read.unwrap_or(0);
        if n == 0 {
            self.end = None;
        }
        self.chunk.get(..n).unwrap_or_default()
    }
}

/// Standard error: its beginning, for the log, and its end, for the message of a failure.
pub(crate) struct Log {
    keep: usize,
    head: Vec<u8>,
    tail: Vec<u8>,
}

impl Log {
    /// Makes an empty log that keeps the first `keep` bytes.
    pub(crate) fn new(keep: usize) -> Self {
        Self { keep, head: Vec::new(), tail: Vec::new() }
    }

    pub(crate) fn add(&mut self, bytes: &[u8]) {
        let room = self.keep.saturating_sub(self.head.len()).min(bytes.len());
        self.head.extend_from_slice(bytes.get(..room).unwrap_or_default());
        self.tail
            .extend_from_slice(bytes.get(bytes.len().saturating_sub(limits::MESSAGE)..).unwrap_or_default());
        self.tail.drain(..self.tail.len().saturating_sub(limits::MESSAGE));
    }

    pub(super) fn text(&self) -> String {
        let log = String::from_utf8_lossy(&self.head);
        text::prefix(&log, self.keep).to_owned()
    }

    pub(crate) fn spent(&self) -> Spent {
        Spent { log: self.text(), ..Spent::default() }
    }

    /// Adds the last lines of standard error to a message.
    pub(crate) fn explain(&self, what: String) -> String {
        let last = self.last_lines();
        if last.is_empty() { what } else { format!("{what}: {last}") }
    }

    /// Returns the last lines of standard error, escaped.
    pub(crate) fn last_lines(&self) -> String {
        text::last_lines(&String::from_utf8_lossy(&self.tail))
    }
}
