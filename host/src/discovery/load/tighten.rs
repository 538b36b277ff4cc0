//! Settings of the user's hooks that repositories make stricter.
//!
//! A repository may do it untrusted: a stricter guard blocks more, and a block runs nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::JudgedScan;
use super::entry::Tightened;
use super::judged::Judged;
use crate::discovery::Problem;
use crate::discovery::find::candidate::{Candidate, State};
use crate::discovery::find::roots::RootDir;
use crate::discovery::find::settings::Table;
use crate::hook::{Kind, Origin, Settings, SettingsSchema, Tighter};

/// The settings that repositories have for components of the user's, by name.
#[derive(Default)]
pub(super) struct Wishes(BTreeMap<String, Vec<Table>>);

impl Wishes {
    /// Finds the settings in all scans; the last one has the user's hooks.
    pub(super) fn of(scans: &[JudgedScan]) -> Self {
        let mut wishes: BTreeMap<String, Vec<Table>> = BTreeMap::new();
        let is_tightened = |it: &Candidate, name: &str| it.name == name && can_be_tightened(it);
        let users = scans.last().map(|it| it.judged.as_slice()).unwrap_or_default();
        for JudgedScan { scan, judged, .. } in scans {
            for root in scan.roots.iter().filter(|root| root.origin == Origin::Repo) {
                for (name, table) in &root.tables {
                    let is_users = || users.iter().any(|it| is_tightened(&it.candidate, name));
                    if !table.settings.is_empty() && !has(judged, root, name) && is_users() {
                        wishes.entry(name.clone()).or_default().push(table.clone());
                    }
                }
            }
        }
        Self(wishes)
    }

    /// Returns true if a repository's table has nothing but settings for the user's hook of this name.
    pub(super) fn covers(&self, name: &str, table: &Table) -> bool {
        let only = Table {
            line: table.line,
            settings: table.settings.clone(),
            settings_lines: table.settings_lines.clone(),
            file: table.file.clone(),
            ..Table::default()
        };
        *table == only && self.0.get(name).is_some_and(|tables| tables.contains(table))
    }

    /// Applies the settings to those of the user's hook, the strictest of each. The problems name what a repository
    /// cannot set.
    pub(super) fn apply(
        &self,
        candidate: &Candidate,
        schema: Option<&SettingsSchema>,
        settings: &mut Settings,
    ) -> (Vec<Tightened>, Vec<Problem>) {
        let (mut tightened, mut problems) = (BTreeMap::new(), Vec::new());
        let tables = self.0.get(&candidate.name).filter(|_| can_be_tightened(candidate));
        let none = SettingsSchema::default();
        let schema = schema.unwrap_or(&none);
        for table in tables.into_iter().flatten() {
            let mut refused = Vec::new();
            for (key, value) in &table.settings {
                let line = table.settings_lines.get(key).copied().unwrap_or(table.line);
                match schema.tighter(key, settings.get(key).map(String::as_str), value) {
                    Ok(None) => {}
                    Ok(Some(tighter)) => {
                        let (setting, file) = (key.clone(), table.file.clone());
                        let Tighter { rank, value, before } = tighter;
                        let row = (rank, Tightened { setting, value, instead_of: before, file, line });
                        let kept = tightened.entry(key.clone()).or_insert_with(|| row.clone());
                        if kept.0 < row.0 {
                            *kept = row;
                        }
                    }
                    Err(why) => refused.push((line, why)),
                }
            }
            problems.extend(problem(candidate, table, &refused));
        }
        let tightened: Vec<Tightened> = tightened.into_values().map(|(_, row)| row).collect();
        for row in &tightened {
            settings.insert(row.setting.clone(), row.value.clone());
        }
        (tightened, problems)
    }
}

/// Returns the problem of a table. It is one for all its settings, because a repository could name any number of them.
fn problem(candidate: &Candidate, table: &Table, refused: &[(usize, String)]) -> Option<Problem> {
    let (line, why) = refused.first()?;
    let more = match refused.len() - 1 {
        0 => String::new(),
        more => format!("; and {more} more of its settings have no effect"),
    };
    let message = format!("line {line}: {why}{more}");
    let hint =
        "a repository can only make the settings of your hook stricter that the hook names: take it out";
    Some(Problem::new(&table.file, message).of(&candidate.name).hint(hint))
}

/// Returns true for a component of the user's that can run.
fn can_be_tightened(candidate: &Candidate) -> bool {
    candidate.kind == Kind::Component
        && candidate.dir.tier.origin() == Origin::User
        && matches!(candidate.state, State::Usable)
}

/// Returns true if a root has a hook of this name.
pub(super) fn has(judged: &[Arc<Judged>], root: &RootDir, name: &str) -> bool {
    judged.iter().any(|it| it.candidate.name == name && it.candidate.is_of(root))
}
