//! Whether what a plugin brings is trusted: what the user says, once.

use crate::interrupt::{Interrupted, unless_interrupted};
use clap::Args;

use crate::approval;
use crate::error::say;

/// What the user says beforehand.
#[derive(Args, Debug)]
pub(super) struct Consent {
    /// Grant what the hooks ask for, after it was shown; together with a yes on the terminal, or with --yes.
    #[arg(long, conflicts_with = "no_trust")]
    pub(super) grant: bool,
    /// Trust the hooks that are shown, without a question; this grants nothing.
    #[arg(long, conflicts_with = "no_trust")]
    yes: bool,
    /// Trust nothing, and do not ask.
    #[arg(long)]
    no_trust: bool,
}

/// What the user said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// The hooks are trusted as they were shown.
    Yes,
    /// They are not.
    No,
}

impl Consent {
    /// Whether it is left to a question.
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
        // The answer is waited for on a thread of its own, so that a signal ends the wait.
        let asked = async { tokio::task::spawn_blocking(move || approval::ask(&question)).await };
        let said = unless_interrupted(asked).await?.unwrap_or(false);
        Ok(if said { Answer::Yes } else { Answer::No })
    }
}
