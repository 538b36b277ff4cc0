//! The user's consent to trust the hooks of a plugin.

use crate::interrupt::{Interrupted, unless_interrupted};
use clap::Args;

use crate::approval;
use crate::error::say;

/// The consent on the command line.
#[derive(Args, Debug)]
pub(super) struct Consent {
    /// Grant the shown rights that the hooks ask for; together with a yes on the terminal, or with --yes.
    #[arg(long = "grant-all", alias = "grant", conflicts_with = "no_trust")]
    pub(super) grant: bool,
    /// Trust the hooks that are shown, without a question; this grants nothing.
    #[arg(short, long, conflicts_with = "no_trust")]
    yes: bool,
    /// Trust nothing, and do not ask.
    #[arg(long)]
    no_trust: bool,
}

impl Consent {
    /// Returns true if the user has to be asked.
    pub(super) fn asks(&self) -> bool {
        !self.yes && !self.no_trust
    }

    /// Returns true if the user trusts what is shown. Asks on the terminal; without one, and without `--yes`,
    /// the answer is no.
    pub(super) async fn ask(&self, question: String) -> Result<bool, Interrupted> {
        if !self.asks() {
            return Ok(self.yes);
        }
        if !approval::has_terminal() {
            say("there is no terminal to ask on: nothing is trusted (--yes trusts what is shown)");
            return Ok(false);
        }
        // On another thread, so that a signal ends the wait.
        let asked = async { tokio::task::spawn_blocking(move || approval::ask(&question)).await };
        Ok(unless_interrupted(asked).await?.unwrap_or(false))
    }
}
