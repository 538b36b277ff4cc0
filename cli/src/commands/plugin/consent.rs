//! The user's consent to trust the hooks of a plugin.

use crate::interrupt::{Interrupted, unless_interrupted};
use clap::Args;

use crate::approval;
use crate::error::say;

/// The consent on the command line.
#[derive(Args, Debug)]
pub(super) struct Consent {
    /// Grant the shown rights that the hooks ask for; together with a yes on the terminal, or with --yes.
    #[arg(long, conflicts_with = "no_trust")]
    pub(super) grant: bool,
    /// Trust the hooks that are shown, without a question; this grants nothing.
    #[arg(long, conflicts_with = "no_trust")]
    yes: bool,
    /// Trust nothing, and do not ask.
    #[arg(long)]
    no_trust: bool,
}

/// The user's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// Trust the hooks as shown.
    Yes,
    /// Trust none of them.
    No,
}

impl Consent {
    /// Returns true if the user has to be asked.
    pub(super) fn asks(&self) -> bool {
        !self.yes && !self.no_trust
    }

    /// Asks on the terminal. Without one, and without `--yes`, the answer is no.
    pub(super) async fn ask(&self, question: String) -> Result<Answer, Interrupted> {
        if self.yes {
            return Ok(Answer::Yes);
        }
        if self.no_trust {
            return Ok(Answer::No);
        }
        if !approval::has_terminal() {
            say("there is no terminal to ask on: nothing is trusted (--yes trusts what is shown)");
            return Ok(Answer::No);
        }
        // On another thread, so that a signal ends the wait.
        let asked = async { tokio::task::spawn_blocking(move || approval::ask(&question)).await };
        let is_yes = unless_interrupted(asked).await?.unwrap_or(false);
        Ok(if is_yes { Answer::Yes } else { Answer::No })
    }
}
