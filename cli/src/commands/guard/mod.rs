//! `hookbox guard`: the guards that the program carries.

mod add;
mod enforce;
mod git;
mod list;
mod own;
mod preset;
mod remove;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use hookbox_guards::{GUARDS, Guard, Preset};

pub(crate) use self::add::{Chosen, add};
pub(crate) use self::git::{fix_git, warn_of_no_git};
pub(crate) use self::own::{Own, explained};
use crate::{named, options};

/// List, add, remove or set the guards that hookbox comes with.
///
/// They are components that stop an agent before it destroys, loses or gives away what is yours. Those that you add guard every project of yours.
#[derive(Args, Debug)]
pub(crate) struct GuardCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the guards, and which of them you have.
    List {
        /// Print JSON: an array of objects, one per guard.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        locate: options::Locate,
    },
    /// Put guards among your hooks, or update them. Your settings stay.
    Add {
        #[command(flatten)]
        which: Which,
        /// Set this preset [default: that of your settings, else standard].
        #[arg(long, value_name = "PRESET", value_parser = named::preset())]
        preset: Option<Preset>,
        /// Put them into shadow mode: they record what they would stop, and stop nothing.
        #[arg(long)]
        observe: bool,
        /// Replace files of the same names that hookbox did not write.
        #[arg(long)]
        force: bool,
        /// Do not ask.
        #[arg(short, long)]
        yes: bool,
        /// Print JSON: an array of objects, one per guard.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        locate: options::Locate,
    },
    /// Remove guards from your hooks.
    Remove {
        #[command(flatten)]
        which: Which,
        /// Remove their settings as well.
        #[arg(long)]
        settings: bool,
        /// Remove files that hookbox did not write, or that were changed.
        #[arg(long)]
        force: bool,
        /// Do not ask.
        #[arg(short, long)]
        yes: bool,
        /// Print JSON: an array of objects, one per guard.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        locate: options::Locate,
    },
    /// End the shadow mode of guards: they stop what they only recorded.
    Enforce {
        #[command(flatten)]
        which: Which,
        /// Print JSON: an array of objects, one per guard.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        locate: options::Locate,
    },
    /// Set how much guards stop.
    Preset {
        /// The preset.
        #[arg(value_name = "PRESET", value_parser = named::preset())]
        preset: Preset,
        /// The guards [default: those that you have].
        #[arg(value_name = "NAME", value_parser = named::guard())]
        names: Vec<&'static Guard>,
        /// Do not ask.
        #[arg(short, long)]
        yes: bool,
        /// Print JSON: an array of objects, one per guard.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        locate: options::Locate,
    },
}

/// The selection of guards.
#[derive(Args, Debug)]
struct Which {
    /// The guards.
    #[arg(value_name = "NAME", value_parser = named::guard(), required_unless_present = "all", conflicts_with = "all")]
    names: Vec<&'static Guard>,
    /// Every guard.
    #[arg(long)]
    all: bool,
}

impl Which {
    /// Returns the guards, each once.
    fn guards(&self) -> Vec<&'static Guard> {
        if self.all { GUARDS.iter().collect() } else { once(&self.names) }
    }
}

impl GuardCommand {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        match self.action {
            Action::List { json, locate } => list::list(&locate, json),
            Action::Add { which, preset, observe, force, yes, json, locate } => {
                let chosen = Chosen { guards: which.guards(), preset, observe, force };
                add::run(&locate, &chosen, yes, json).await
            }
            Action::Remove { which, settings, force, yes, json, locate } => {
                remove::Remove { settings, force, yes, json }.run(&locate, which.guards())
            }
            // All: those that are in place.
            Action::Enforce { which, json, locate } => enforce::run(&locate, &once(&which.names), json),
            Action::Preset { preset, names, yes, json, locate } => {
                preset::set(&locate, preset, &once(&names), yes, json)
            }
        }
    }
}

/// Returns guards in the order of the table, each once.
fn once(names: &[&'static Guard]) -> Vec<&'static Guard> {
    GUARDS.iter().filter(|guard| names.iter().any(|it| it.name == guard.name)).collect()
}
