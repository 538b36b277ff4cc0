//! `hookbox guard`: the guards that the program carries.

mod add;
mod own;
mod remove;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use hookbox::Mode;
use hookbox_guards::{GUARDS, Guard, Preset, Status};
use serde_json::json;

pub(crate) use self::add::{Added, Chosen, Plan, add};
use self::own::preset_of;
pub(crate) use self::own::{Own, explained, fix_git, warn_of_no_git};
pub(crate) use self::remove::remove_all;
use crate::error::{hint, note, say};
use crate::{approval, human, named, options, output};

/// List, add, remove or set the guards that hookbox comes with.
///
/// They are components that stop an agent before it destroys files, loses commits or leaks secrets. Those that you add guard every project of yours.
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
        /// The guards [default: those that you have].
        #[arg(value_name = "NAME", value_parser = named::guard())]
        names: Vec<&'static Guard>,
        /// Every guard that you have.
        #[arg(long, conflicts_with = "names")]
        all: bool,
        #[command(flatten)]
        yes: options::Yes,
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
            Action::List { json, locate } => list(&locate, json),
            Action::Add { which, preset, observe, force, yes, json, locate } => {
                let chosen = Chosen { guards: which.guards(), preset, observe, force };
                add::run(&locate, &chosen, yes, json).await
            }
            Action::Remove { which, settings, force, yes, json, locate } => {
                remove::Remove { settings, force, yes, json }.run(&locate, which.guards())
            }
            Action::Enforce { names, json, locate, .. } => enforce(&locate, &once(&names), json),
            Action::Preset { preset, names, yes, json, locate } => {
                set_preset(&locate, preset, &once(&names), yes, json)
            }
        }
    }
}

/// Returns guards in the order of the table, each once.
fn once(names: &[&'static Guard]) -> Vec<&'static Guard> {
    GUARDS.iter().filter(|guard| names.iter().any(|it| it.name == guard.name)).collect()
}

fn list(locate: &options::Locate, as_json: bool) -> anyhow::Result<ExitCode> {
    locate.enter()?;
    let own = Own::find(locate)?;
    let settings = own.settings()?;
    let mut statuses = Vec::new();
    for guard in &GUARDS {
        statuses.push((guard, own.status(guard)?));
    }
    if as_json {
        let rows = statuses.iter().map(|(guard, status)| {
            json!({
                "name": guard.name,
                "path": own.path(guard),
                "status": status.as_str(),
                "version": version(status),
                "carried": { "version": Guard::VERSION, "digest": guard.digest() },
                "preset": settings.preset(guard).unwrap_or_else(|| preset_of(&settings, guard)),
                "mode": settings.mode(guard),
                "protects_from": guard.protects_from,
                "events": guard.events.iter().map(ToString::to_string).collect::<Vec<_>>(),
                "permissions": guard.permissions,
            })
        });
        return output::json(&rows.collect::<Vec<_>>());
    }
    let rows = statuses.iter().map(|(guard, status)| {
        let has = match status {
            Status::Missing => "-",
            Status::Current => Guard::VERSION,
            other => other.as_str(),
        };
        let preset = if *status == Status::Missing { "-".to_owned() } else { preset_of(&settings, guard) };
        vec![guard.name.to_owned(), has.to_owned(), preset, guard.protects_from.to_owned()]
    });
    output::line(&output::table(&["NAME", "YOU HAVE", "PRESET", "PROTECTS FROM"], rows))?;
    let is_one = |wanted: fn(&Status) -> bool| statuses.iter().any(|(_, status)| wanted(status));
    if !is_one(|it| *it != Status::Missing) {
        hint("you have none of them; add them: hookbox guard add --all");
    }
    let observes = |(guard, status): &&(&Guard, Status)| {
        *status != Status::Missing && settings.mode(guard) == Mode::Observe
    };
    let observing: Vec<&str> = statuses.iter().filter(observes).map(|(guard, _)| guard.name).collect();
    if !observing.is_empty() {
        note(format_args!("in shadow mode, so they stop nothing: {}", observing.join(", ")));
        hint(format_args!("shadow mode ends with: hookbox guard enforce {}", observing.join(" ")));
    }
    if is_one(|it| matches!(it, Status::Older(_))) {
        hint("older ones are updated by `hookbox guard add`; your settings stay");
    }
    if is_one(|it| *it == Status::Changed) {
        hint("the changed ones are not what hookbox wrote; `hookbox guard add --force` replaces them");
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the version of the file in the place of a guard, if hookbox wrote it.
fn version(status: &Status) -> Option<&str> {
    match status {
        Status::Current => Some(Guard::VERSION),
        Status::Older(version) => Some(version),
        _ => None,
    }
}

/// Ends the shadow mode of guards. Without names, of those that are in place.
fn enforce(locate: &options::Locate, names: &[&'static Guard], as_json: bool) -> anyhow::Result<ExitCode> {
    locate.enter()?;
    human::required(locate, &[], false)?;
    let own = Own::find(locate)?;
    let mut settings = own.settings()?;
    let mut rows = Vec::new();
    for guard in own.chosen(names)? {
        let before = settings.mode(guard);
        // A guard that guards needs no setting for it.
        if before != Mode::Enforce {
            settings.set_mode(guard, Mode::Enforce).map_err(explained)?;
        }
        rows.push((guard, before));
    }
    settings.write().map_err(explained)?;
    output::rows(
        as_json,
        &rows,
        |(guard, before)| json!({ "name": guard.name, "mode": Mode::Enforce, "before": before }),
        |(guard, before)| {
            let was =
                if *before == Mode::Enforce { "blocks already" } else { "now blocks (was in shadow mode)" };
            format!("{} {was}", guard.name)
        },
    )
}

/// Sets the preset of guards. Without names, of those that are in place.
fn set_preset(
    locate: &options::Locate,
    preset: Preset,
    names: &[&'static Guard],
    yes: bool,
    as_json: bool,
) -> anyhow::Result<ExitCode> {
    locate.enter()?;
    human::required(locate, &[], !yes)?;
    let own = Own::find(locate)?;
    let mut settings = own.settings()?;
    let mut rows = Vec::new();
    for guard in own.chosen(names)? {
        let before = preset_of(&settings, guard);
        settings.set_preset(guard, preset).map_err(explained)?;
        rows.push((guard, before));
    }
    let loosened: Vec<_> = rows.iter().filter(|(_, before)| loosens(before, preset)).collect();
    if !loosened.is_empty() {
        for (guard, before) in &loosened {
            say(format_args!("  {:<12}  {before} → {preset}", guard.name));
        }
        approval::confirm("Let these guards stop less?", yes)?;
    }
    settings.write().map_err(explained)?;
    output::rows(
        as_json,
        &rows,
        |(guard, before)| json!({ "name": guard.name, "preset": preset.as_str(), "before": before }),
        |(guard, before)| match *before == preset.as_str() {
            true => format!("{} has the preset {preset} already", guard.name),
            false => format!("{} now has the preset {preset} (was {before})", guard.name),
        },
    )
}

/// Returns true if a guard stops less with a preset than before. With a setting that is not a preset, it fails, and blocks
/// everything.
fn loosens(before: &str, preset: Preset) -> bool {
    before.parse().map_or(true, |before: Preset| preset < before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_looser_preset_is_told_from_a_stricter_one() {
        for (before, preset, want) in [
            ("strict", Preset::Standard, true),
            ("standard", Preset::Relaxed, true),
            ("standard", Preset::Standard, false),
            ("relaxed", Preset::Strict, false),
            ("strickt", Preset::Strict, true),
        ] {
            assert_eq!(loosens(before, preset), want, "{before} {preset}");
        }
    }
}
