//! What the settings say of built-in hooks.

use super::entry::Problem;
use super::scan::RootDir;
use super::settings::Table;
use crate::builtin::{SELF_PROTECTION, Wishes};
use crate::hook::Origin;

/// What the user says of `builtin:self-protection`; the first root that says something of a key goes before the
/// others. A repository has no say in it.
pub(super) fn self_protection(roots: &[RootDir], problems: &mut Vec<Problem>) -> Wishes {
    let mut wishes = Wishes::default();
    for root in roots {
        let Some(table) = root.tables.get(SELF_PROTECTION) else { continue };
        let mut note = |message: &str| {
            let message = format!("line {}: {message}", table.line);
            problems.push(Problem::new(root.settings_file(), message).of(SELF_PROTECTION));
        };
        if root.origin != Origin::User {
            note("a repository has no say in a built-in hook: the table is left out");
            continue;
        }
        let Table { enabled, priority, .. } = *table;
        if *table != (Table { line: table.line, enabled, priority, ..Table::default() }) {
            note("a built-in hook has only enabled and priority: the other keys are left out");
        }
        wishes.enabled = wishes.enabled.or(enabled);
        wishes.priority = wishes.priority.or(priority);
    }
    wishes
}
