//! What git says on standard error: how far it is, and what went wrong.

use std::collections::VecDeque;
use std::io::Read;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How much of one line is kept, in bytes.
const MAX_LINE: usize = 1024;

/// How many bytes of lines are kept; the last ones, since git says last what it fails of.
const MAX_KEPT: usize = 4096;

/// What was said so far. It is read by a thread of its own: a daemon that git's helpers leave behind (of ssh, of the
/// credential cache) may hold the pipe open long after git has ended.
#[derive(Clone, Default)]
pub(super) struct Said(Arc<(Mutex<State>, Condvar)>);

#[derive(Default)]
struct State {
    lines: VecDeque<String>,
    kept: usize,
    progress: Option<(u64, u64)>,
    is_closed: bool,
}

impl Said {
    /// Listens to this until it is closed.
    pub(super) fn listen(from: impl Read + Send + 'static) -> Self {
        let said = Self::default();
        let there = said.clone();
        std::thread::spawn(move || there.read(from));
        said
    }

    fn read(&self, mut from: impl Read) {
        let mut buffer = [0; 4096];
        let mut line = Vec::new();
        loop {
            let read = match from.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(_) => break,
            };
            for byte in buffer.get(..read).unwrap_or_default() {
                match byte {
                    b'\n' | b'\r' => self.line(&std::mem::take(&mut line)),
                    _ if line.len() < MAX_LINE => line.push(*byte),
                    _ => {}
                }
            }
        }
        self.line(&line);
        self.state().is_closed = true;
        self.0.1.notify_all();
    }

    fn line(&self, line: &[u8]) {
        let line = String::from_utf8_lossy(line);
        let line = line.trim_end();
        let mut state = self.state();
        if let Some(progress) = progress(line) {
            state.progress = progress.or(state.progress);
            return;
        }
        if line.is_empty() {
            return;
        }
        state.kept += line.len();
        state.lines.push_back(line.to_owned());
        while state.kept > MAX_KEPT {
            let Some(first) = state.lines.pop_front() else { break };
            state.kept -= first.len();
        }
    }

    /// How far git is with what it receives, in objects: how many of how many.
    pub(super) fn progress(&self) -> Option<(u64, u64)> {
        self.state().progress
    }

    /// Waits until nothing more can be said, or so long.
    pub(super) fn wait(&self, time: Duration) {
        let state = self.state();
        let waited = self.0.1.wait_timeout_while(state, time, |state| !state.is_closed);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    /// The last lines, without those that only say how far git is.
    pub(super) fn lines(&self) -> Vec<String> {
        self.state().lines.iter().cloned().collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a line only says how far git is; for what is received also how far: `Receiving objects:  45% (9/20), 1 MiB`.
fn progress(line: &str) -> Option<Option<(u64, u64)>> {
    let line = line.strip_prefix("remote: ").unwrap_or(line);
    if line.starts_with("Total ") {
        return Some(None);
    }
    let (what, rest) = line.split_once(": ")?;
    let counts = ["Enumerating objects", "Counting objects", "Compressing objects", "Resolving deltas"];
    let receives = matches!(what, "Receiving objects" | "Unpacking objects");
    if !receives {
        return counts.contains(&what).then_some(None);
    }
    let (_, count) = rest.split_once('(')?;
    let (done, total) = count.split_once(')')?.0.split_once('/')?;
    Some(Some((done.parse().ok()?, total.parse().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_far_git_is_or_something_else() {
        for (line, is) in [
            ("Receiving objects:  45% (9/20), 1.20 MiB | 2 MiB/s", Some(Some((9, 20)))),
            ("Receiving objects: 100% (20/20), done.", Some(Some((20, 20)))),
            ("remote: Counting objects:  10% (1/10)", Some(None)),
            ("remote: Total 10 (delta 0), reused 0 (delta 0)", Some(None)),
            ("Resolving deltas: 100% (3/3)", Some(None)),
            ("Receiving objects: all", None),
            ("Receiving objects: 1% (x/y)", None),
            ("Receiving objects: 1% (1/99999999999999999999)", None),
            ("fatal: couldn't find remote ref x", None),
            ("", None),
        ] {
            assert_eq!(progress(line), is, "{line}");
        }
    }

    #[test]
    fn however_much_is_said_the_last_lines_are_kept() {
        let mut text = b"first\r\n".to_vec();
        text.extend(b"x".repeat(100_000));
        text.extend(b"\nReceiving objects: 1% (1/9)\rReceiving objects: 2% (2/9)\r");
        (0..1000).for_each(|n| text.extend(format!("line {n}\n").bytes()));
        text.extend(b"fatal: \xff end");
        let said = Said::listen(std::io::Cursor::new(text));
        said.wait(Duration::from_secs(60));
        let lines = said.lines();
        assert_eq!(lines.last().unwrap(), "fatal: \u{fffd} end");
        assert!(lines.iter().map(String::len).sum::<usize>() <= MAX_KEPT);
        assert_eq!(said.progress(), Some((2, 9)));
    }
}
