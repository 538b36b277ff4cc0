//! `hookbox guard remove`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use hookbox::trust::{Scope, TrustFile};
use hookbox_guards::{Guard, Status};
use serde_json::{Value, json};

use super::own::{Own, explained};
use crate::error::{EXIT_FAILED, hint, say, warn};
use crate::{approval, human, options, output};

/// The options of the command.
#[allow(clippy::struct_excessive_bools, reason = "options of a command line")]
pub(super) struct Remove {
    pub(super) settings: bool,
    pub(super) force: bool,
    pub(super) yes: bool,
    pub(super) json: bool,
}

impl Remove {
    pub(super) fn run(
        self,
        locate: &options::Locate,
        guards: Vec<&'static Guard>,
    ) -> anyhow::Result<ExitCode> {
        locate.enter()?;
        human::required(locate, &[], !self.yes)?;
        let own = Own::find(locate)?;
        let mut settings = own.settings()?;
        let (mut taken, mut rows, mut has_kept) = (Vec::new(), Vec::new(), false);
        for guard in guards {
            let has_settings = self.settings && settings.forget(guard);
            let change = match own.status(guard)? {
                Status::Missing => "missing",
                Status::Changed if !self.force => "kept",
                _ => "removed",
            };
            has_kept |= change == "kept";
            if matches!(change, "kept" | "missing") {
                own.shelf.forget(guard).map_err(explained)?;
            }
            rows.push(row(&own, guard, change, has_settings));
            if change == "removed" || has_settings {
                taken.push((guard, change == "removed", has_settings));
            }
            if change == "kept" {
                let path = own.shown(&own.path(guard));
                warn(format_args!("{path}: this is not what hookbox wrote: it stays"));
                hint(format_args!("to remove it: hookbox guard remove {} --force", guard.name));
            }
        }
        let own = if taken.is_empty() { own } else { self.take(own.open(locate)?, &taken)? };
        if self.settings {
            settings.write().map_err(explained)?;
        }
        if self.json {
            output::json(&rows)?;
        } else {
            self.show_done(&own, &taken)?;
        }
        Ok(if has_kept { ExitCode::from(EXIT_FAILED) } else { ExitCode::SUCCESS })
    }

    /// Asks, and removes the files with their grants.
    fn take(&self, own: Own, taken: &[(&'static Guard, bool, bool)]) -> anyhow::Result<Own> {
        say(format_args!("to remove from {}:", own.directory()));
        for (guard, has_file, _) in taken {
            let what = if *has_file { "remove" } else { "settings" };
            say(format_args!("  {:<12}  {what:<8}  {}", guard.name, guard.protects_from));
        }
        approval::confirm("Remove these?", self.yes)?;
        for (guard, _, _) in taken.iter().filter(|(_, has_file, _)| *has_file) {
            own.shelf.remove(guard).map_err(explained)?;
            revoke(&own, guard)?;
        }
        Ok(own)
    }

    fn show_done(&self, own: &Own, taken: &[(&'static Guard, bool, bool)]) -> anyhow::Result<()> {
        if taken.is_empty() {
            say("nothing was removed");
        }
        for (guard, has_file, has_settings) in taken {
            let path = own.shown(&own.path(guard));
            let what = match (has_file, has_settings) {
                (true, true) => format!("removed {path} and its settings"),
                (true, false) => format!("removed {path}"),
                _ => format!("removed the settings of {}", guard.hook()),
            };
            output::text(&what)?;
        }
        Ok(())
    }
}

/// Removes every guard that hookbox wrote, and the settings that commands wrote. Returns the paths of files that hookbox did not
/// write, or that were changed: they stay.
pub(crate) fn remove_all(locate: &options::Locate) -> anyhow::Result<Vec<PathBuf>> {
    let own = Own::find(locate)?;
    let mut settings = own.settings()?;
    settings.forget_all();
    settings.write_or_remove().map_err(explained)?;
    let mut kept = Vec::new();
    for guard in own.present()? {
        if own.status(guard)? == Status::Changed {
            warn(format_args!("{}: this is not what hookbox wrote: it stays", own.shown(&own.path(guard))));
            kept.push(own.path(guard));
        } else {
            own.shelf.remove(guard).map_err(explained)?;
            revoke(&own, guard)?;
        }
    }
    // Only empty directories go.
    for directory in own.shelf.directory().ancestors().take(2) {
        let _ = std::fs::remove_dir(directory);
    }
    Ok(kept)
}

/// Takes back what was granted to a guard.
fn revoke(own: &Own, guard: &Guard) -> anyhow::Result<()> {
    let file = TrustFile::new(&own.data);
    let path = own.path(guard);
    let Some(relative) = own.below_home(&path).map(Path::to_owned) else { return Ok(()) };
    if approval::read(&file)?.get(&Scope::Global, &relative).is_some() {
        approval::update(&file, |records| records.remove(&Scope::Global, &relative))?;
    }
    Ok(())
}

fn row(own: &Own, guard: &Guard, change: &str, has_settings: bool) -> Value {
    json!({
        "name": guard.name,
        "path": own.path(guard),
        "change": change,
        "settings": if has_settings { "removed" } else { "unchanged" },
    })
}
