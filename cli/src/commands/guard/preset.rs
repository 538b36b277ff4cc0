//! `hookbox guard preset`.

use std::process::ExitCode;

use hookbox_guards::{Guard, Preset};
use serde_json::json;

use super::own::{Own, explained, preset_of};
use crate::error::say;
use crate::{approval, human, options, output};

/// Sets the preset of guards. Without names, of those that are in place.
pub(super) fn set(
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
    if as_json {
        let rows = rows.iter().map(
            |(guard, before)| json!({ "name": guard.name, "preset": preset.as_str(), "before": before }),
        );
        return output::json(&rows.collect::<Vec<_>>());
    }
    for (guard, before) in &rows {
        let line = match *before == preset.as_str() {
            true => format!("{}: {preset}, as before", guard.name),
            false => format!("{}: {preset}, before {before}", guard.name),
        };
        output::line(&line)?;
    }
    Ok(ExitCode::SUCCESS)
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
