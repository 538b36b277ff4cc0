//! The journal of the program, which starts `hookbox log send` from time to time if the records go to a collector.

use std::error::Error;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use hookbox::journal::{Journal as Receiver, Record};
use hookbox_journal::journal::{Journal, begin_attempt, last_attempt};
use hookbox_system::mutex;

use crate::compiler::program;

/// The time between two attempts. An event after it starts a process, for which it does not wait.
const EVERY: Duration = Duration::from_secs(60);

/// A journal whose records are sent.
#[derive(Debug)]
pub(crate) struct SentJournal {
    journal: Journal,
    /// The last process that was started.
    sender: Mutex<Option<Child>>,
}

impl SentJournal {
    pub(crate) fn new(journal: Journal) -> Self {
        Self { journal, sender: Mutex::default() }
    }

    fn is_due(&self) -> bool {
        // After the clock went back, the time of the last attempt is in the future.
        let last = last_attempt(self.journal.directory());
        last.and_then(|last| last.elapsed().ok()).is_none_or(|since| since >= EVERY)
    }

    fn start(&self, home: Option<&Path>) {
        let mut sender = mutex::lock(&self.sender);
        // Also collects one that has ended.
        if sender.as_mut().is_some_and(|it| matches!(it.try_wait(), Ok(None))) {
            return;
        }
        let Some(program) = program() else { return };
        // Before the process, which may fail before it begins: then no event starts the next one within the time.
        if let Err(error) = begin_attempt(self.journal.directory()) {
            tracing::warn!(%error, "the records are not sent: the time of the attempt cannot be noted");
            return;
        }
        let mut command = Command::new(program);
        command.args(["log", "send"]).current_dir("/").process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if let Some(home) = home {
            command.arg("--home").arg(home);
        }
        match command.spawn() {
            Ok(child) => *sender = Some(child),
            Err(error) => tracing::warn!(%error, "the records are not sent: hookbox cannot be started"),
        }
    }
}

impl Receiver for SentJournal {
    fn record(&self, record: &Record<'_>) -> Result<(), Box<dyn Error + Send + Sync>> {
        self.journal.record(record)?;
        if record.settings.sends && self.is_due() {
            self.start(record.home);
        }
        Ok(())
    }
}
