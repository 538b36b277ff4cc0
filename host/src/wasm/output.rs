//! The output of a guest beside its answer: its log, its standard output and error, and the rights that it used without
//! having them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::AsyncWrite;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};

use crate::capability::Denial;
use hookbox_system::mutex;
use hookbox_system::text;

/// The log and the standard error of a call, cut at a limit.
#[derive(Clone)]
pub(super) struct Log(Arc<Mutex<LogInner>>);

struct LogInner {
    text: String,
    limit: usize,
    lost: usize,
}

impl Log {
    pub(super) fn new(limit: usize) -> Self {
        Self(Arc::new(Mutex::new(LogInner { text: String::new(), limit, lost: 0 })))
    }

    /// Adds a piece of text; what does not fit is counted and dropped.
    pub(super) fn push(&self, piece: &str) {
        let mut log = mutex::lock(&self.0);
        let kept = text::prefix(piece, log.limit.saturating_sub(log.text.len()));
        log.lost += piece.len() - kept.len();
        let kept = kept.len();
        log.text.push_str(piece.get(..kept).unwrap_or_default());
    }

    pub(super) fn text(&self) -> String {
        let log = mutex::lock(&self.0);
        match log.lost {
            0 => log.text.clone(),
            lost => format!("{}\n… ({lost} more bytes)", log.text),
        }
    }
}

/// The target of a guest's standard output or standard error. Both are always ready, so that writing never
/// waits.
#[derive(Clone)]
pub(super) struct Sink(SinkKind);

#[derive(Clone)]
enum SinkKind {
    /// Standard output: nothing reads it; what exceeds the limit ends the call.
    Counted { written: Arc<AtomicUsize>, limit: usize },
    /// Standard error: part of the log.
    Log(Log),
}

impl Sink {
    pub(super) fn counted(limit: usize) -> Self {
        Self(SinkKind::Counted { written: Arc::default(), limit })
    }

    pub(super) fn into_log(log: Log) -> Self {
        Self(SinkKind::Log(log))
    }

    pub(super) fn is_over(&self) -> bool {
        match &self.0 {
            SinkKind::Counted { written, limit } => written.load(Ordering::Relaxed) > *limit,
            SinkKind::Log(_) => false,
        }
    }

    pub(super) fn written(&self) -> usize {
        match &self.0 {
            SinkKind::Counted { written, .. } => written.load(Ordering::Relaxed),
            SinkKind::Log(_) => 0,
        }
    }

    /// Takes some bytes; `false` when the limit is passed.
    fn take(&self, bytes: &[u8]) -> bool {
        match &self.0 {
            SinkKind::Counted { written, .. } => {
                written.fetch_add(bytes.len(), Ordering::Relaxed);
                !self.is_over()
            }
            SinkKind::Log(log) => {
                log.push(&String::from_utf8_lossy(bytes));
                true
            }
        }
    }
}

impl IsTerminal for Sink {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Sink {
    /// Only WASI 0.3 uses it, which is not linked.
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(tokio::io::sink())
    }

    fn p2_stream(&self) -> Box<dyn wasmtime_wasi::p2::OutputStream> {
        Box::new(self.clone())
    }
}

#[async_trait::async_trait]
impl wasmtime_wasi::p2::Pollable for Sink {
    async fn ready(&mut self) {}
}

impl wasmtime_wasi::p2::OutputStream for Sink {
    fn write(&mut self, bytes: bytes::Bytes) -> wasmtime_wasi::p2::StreamResult<()> {
        if self.take(&bytes) {
            return Ok(());
        }
        Err(wasmtime_wasi::p2::StreamError::Trap(wasmtime::format_err!("standard output exceeds its limit")))
    }

    fn flush(&mut self) -> wasmtime_wasi::p2::StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> wasmtime_wasi::p2::StreamResult<usize> {
        Ok(64 << 10)
    }
}

/// The number of denied rights in the report of one call.
const MAX_DENIED: usize = 16;

/// The rights that a call used without having them, each once. Clones share them, because requests run beside
/// the call.
#[derive(Clone, Default)]
pub(super) struct Denials(Arc<Mutex<Vec<Denial>>>);

impl Denials {
    pub(super) fn push(&self, denial: Denial) {
        let mut denials = mutex::lock(&self.0);
        if denials.len() < MAX_DENIED && !denials.iter().any(|it| it.right == denial.right) {
            denials.push(denial);
        }
    }

    pub(super) fn all(&self) -> Vec<Denial> {
        mutex::lock(&self.0).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_cut_between_two_characters() {
        let log = Log::new(4);
        log.push("aé");
        log.push("éb");
        assert_eq!(log.text(), "aé\n… (3 more bytes)");
    }
}
