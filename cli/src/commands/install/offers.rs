//! The guards that `hookbox install` offers, and its question whether events are recorded.

use clap::Args;
use hookbox_guards::{GUARDS, Guard, Preset};

use super::which::Which;
use crate::approval;
use crate::commands::guard::{Chosen, Own, add, explained};
use crate::error::{note, say, warn_with_hint};
use crate::named::{self, Guards};

/// The offer of the guards that hookbox comes with.
#[derive(Args, Debug)]
pub(super) struct Offer {
    /// The guards to put among your hooks: all, none, or names such as git,secrets [default: all; none if you have one of
    /// them, and with --project and --system].
    #[arg(long, value_name = "NAMES", value_parser = named::guards(), conflicts_with_all = ["project", "system"])]
    guards: Option<Guards>,
    /// The preset of these guards: relaxed, standard or strict [default: standard].
    #[arg(long, value_name = "PRESET", value_parser = named::preset(), hide_possible_values = true, conflicts_with_all = ["project", "system"])]
    preset: Option<Preset>,
    /// Do not ask about the guards and the journal.
    #[arg(short, long)]
    yes: bool,
}

impl Offer {
    /// Returns true if the user may be asked.
    pub(super) fn asks(&self) -> bool {
        !self.yes
    }

    /// Puts the guards into their places, unless the user says no. Returns the names of those that are new or updated.
    pub(super) async fn accept(self, which: &Which) -> anyhow::Result<Vec<&'static str>> {
        // Those who share a project or the machine have other home directories.
        if !which.is_users() {
            return Ok(Vec::new());
        }
        let is_chosen = self.guards.is_some();
        let wanted = match self.guards {
            Some(Guards(guards)) => guards,
            None => {
                let present = Own::find(&which.locate)?.present()?;
                if present.is_empty() {
                    GUARDS.iter().collect()
                } else {
                    note_left_out(&present);
                    Vec::new()
                }
            }
        };
        if wanted.is_empty() {
            if let Some(preset) = self.preset {
                let next = format!("to set it: hookbox guard preset {preset}").into();
                warn_with_hint("--preset: no guard is added, and the presets stay", Some(&next));
            }
            return Ok(Vec::new());
        }
        if which.dry_run {
            note(format_args!("would add the guards {}", names(&wanted).join(", ")));
            return Ok(Vec::new());
        }
        let asks = !self.yes && !is_chosen && approval::has_terminal();
        let mut is_declined = false;
        let chosen = Chosen { guards: wanted, preset: self.preset, observe: false, force: false };
        let ask = |question: &str| {
            if asks {
                is_declined = !approval::ask_with(question, true);
            } else if !is_chosen {
                note("--guards none leaves them out");
            }
            Ok(!is_declined)
        };
        let added = add(&which.locate, &chosen, ask).await?;
        let new: Vec<&'static Guard> = added.iter().filter(|it| it.is_written()).map(|it| it.guard).collect();
        Ok(names(&new))
    }
}

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
    /// Makes the choice to record events.
    pub(super) fn on() -> Self {
        Self { journal: true, no_journal: false }
    }

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

/// Tells a user who chose some guards before which others there are.
pub(super) fn note_left_out(present: &[&'static Guard]) {
    let is_absent = |guard: &&Guard| !present.iter().any(|it| it.name == guard.name);
    let absent: Vec<&'static Guard> = GUARDS.iter().filter(is_absent).collect();
    if !absent.is_empty() {
        let left_out = names(&absent).join(", ");
        note(format_args!("guards that you do not have: {left_out}; to add them: hookbox guard add --all"));
    }
}

/// Says that the guards outlive hookbox in an agent.
pub(super) fn say_they_stay(which: &Which) -> anyhow::Result<()> {
    let own = Own::find(&which.locate)?;
    if which.is_users() && !own.present()?.is_empty() {
        say(format_args!(
            "your guards stay in {}; to remove them: hookbox guard remove --all",
            own.directory()
        ));
    }
    Ok(())
}

fn names(guards: &[&'static Guard]) -> Vec<&'static str> {
    guards.iter().map(|guard| guard.name).collect()
}
