//! An event that an agent sends twice: to its own entry, and to that of another agent, whose files it reads as well.

use std::path::Path;

use crate::agent::bridge_command::Installed;
use crate::agent::{Agent, Surroundings};
use crate::config::{Level, file, read};
use crate::finding::{Examination, contents_of};
use crate::spec::Conditions;

/// Returns true if the payload that reached the entry of this agent is of another agent, whose own entry judges it. In doubt
/// both judge it.
///
/// Only the user's entry counts: its agent runs that in every folder. The sign is a field of the payload, which no
/// repository can add. A repository may be able to set a variable for the hooks in its settings, so one that moves the
/// agent's files is a doubt.
pub(super) fn is_judged_by_own_entry(agent: Agent, payload: &[u8]) -> bool {
    own_entry(agent, payload).unwrap_or_default()
}

fn own_entry(agent: Agent, payload: &[u8]) -> Option<bool> {
    let others = || Agent::ALL.into_iter().filter(|it| *it != agent);
    let field = |it: Agent| it.spec().config.own_field;
    // Most payloads are not read a second time.
    let is_in = |name: &str| payload.windows(name.len()).any(|it| it == name.as_bytes());
    let sender = others().find(|it| field(*it).is_some_and(is_in))?;
    agent.object(payload).ok()?.get(field(sender)?)?;
    if sender.home_variable().is_some_and(|name| std::env::var_os(name).is_some()) {
        return None;
    }
    let around = Surroundings { home: std::env::home_dir(), ..Surroundings::new("") };
    let event = sender.event_of(payload, None)?;
    let file = file(sender, Level::User, &around)?;
    let entries = read(sender, &contents_of(&file).ok()?).ok()?.entries;
    let runs = |line: &str| {
        Installed::of(line).is_some_and(|it| it.agent == sender && Path::new(&it.program).is_file())
    };
    let entry = entries.iter().find(|it| it.event == event.name && runs(&it.command))?;
    let (mut found, settings) = (Examination::default(), toml::Table::new());
    let conditions = Conditions {
        level: Level::User,
        file: &file,
        entry,
        place: "",
        settings: &settings,
        surroundings: &around,
    };
    (sender.spec().doctor.check)(&conditions, &mut found);
    Some(entry.matcher.is_none() && found.findings.is_empty())
}
