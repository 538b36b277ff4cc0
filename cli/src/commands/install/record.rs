//! The question of `hookbox install` whether events are recorded.

use clap::Args;

use super::which::Which;
use crate::approval;
use crate::commands::guard::{Own, explained};
use crate::error::{note, say};

/// The offer of the journal.
#[derive(Args, Debug)]
pub(super) struct Recording {
    /// Record each event with its verdict on this machine, for `hookbox log` [default: as you answer; without a terminal no].
    #[arg(long, conflicts_with_all = ["project", "system"])]
    journal: bool,
    /// Record nothing, and do not ask.
    #[arg(long, conflicts_with = "journal")]
    no_journal: bool,
}

impl Recording {
    /// Writes the answer into the user's settings, unless they have one. Returns true if events are recorded from now on.
    pub(super) fn accept(&self, which: &Which, asks: bool) -> anyhow::Result<bool> {
        if !which.is_users() {
            return Ok(false);
        }
        let own = Own::find(&which.locate)?;
        let mut settings = own.settings()?;
        if settings.has_journal() {
            if self.journal {
                note("your hookbox.toml has a table [journal] already: it stays as it is");
            }
            return Ok(false);
        }
        let asks = asks && !self.journal && !self.no_journal && approval::has_terminal();
        if which.dry_run || !(self.journal || asks) {
            return Ok(false);
        }
        if asks {
            say("hookbox can record each event with its verdict, without secrets, for `hookbox log`.");
        }
        let enabled = self.journal || approval::ask_with("Record events on this machine?", true);
        settings.set_journal(enabled);
        settings.write().map_err(explained)?;
        Ok(enabled)
    }
}
