//! `hookbox guard list`.

use std::process::ExitCode;

use hookbox::Mode;
use hookbox_guards::{GUARDS, Guard, Status};
use serde_json::json;

use super::own::{Own, preset_of};
use crate::error::{hint, note};
use crate::{options, output};

pub(super) fn list(locate: &options::Locate, as_json: bool) -> anyhow::Result<ExitCode> {
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
        hint("shadow mode ends with: hookbox guard enforce --all");
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
