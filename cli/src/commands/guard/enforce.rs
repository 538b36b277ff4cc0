//! `hookbox guard enforce`.

use std::process::ExitCode;

use hookbox::Mode;
use hookbox_guards::Guard;
use serde_json::json;

use super::own::{Own, explained};
use crate::{human, options, output};

/// Ends the shadow mode of guards. Without names, of those that are in place.
pub(super) fn run(
    locate: &options::Locate,
    names: &[&'static Guard],
    as_json: bool,
) -> anyhow::Result<ExitCode> {
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
    if as_json {
        let row = |(guard, before): &(&Guard, Mode)| json!({ "name": guard.name, "mode": Mode::Enforce, "before": before });
        return output::json(&rows.iter().map(row).collect::<Vec<_>>());
    }
    for (guard, before) in &rows {
        let was = if *before == Mode::Enforce { "as before" } else { "before in shadow mode" };
        output::line(&format!("{}: enforce, {was}", guard.name))?;
    }
    Ok(ExitCode::SUCCESS)
}
