//! The notes of an answer: who decided, and what is wrong with the hooks.

use std::path::Path;

use crate::hook::{Cause, Kind};
use crate::manager::{Entry, EntryStatus, Manager};
use crate::outcome::{Ruling, Verdict, Warning};
use crate::session::Fired;
use crate::text;

/// Adds to the reason of a block or a question who decided it, and the file in which the user changes that.
/// A built-in hook says it itself, and the model reads no word about an untrusted hook.
pub(super) fn signed(verdict: &mut Verdict, manager: &Manager) {
    let entries = manager.entries();
    let blocks = verdict.block.iter_mut().map(|it| (it.needed_for_model(), it));
    let asks = verdict.ask.iter_mut().map(|it| (it.for_user().to_owned(), it));
    for (reason, ruling) in blocks.chain(asks).filter(|(_, it)| it.trusted) {
        let is_it = |entry: &&Entry| entry.name == ruling.by && entry.kind != Kind::Builtin;
        let Some(entry) = entries.iter().find(is_it).filter(|_| !reason.trim().is_empty()) else { continue };
        let name = text::escape(&ruling.by, 200);
        let file = match &entry.plugin {
            // A change of its files would end the trust in them.
            Some(plugin) => format!("; it is of the plugin {}", text::escape(plugin, 200)),
            None => entry.settings_file().map_or_else(String::new, |file| {
                format!("; the user can change it in {}", text::escape(&from_home(&file), 1000))
            }),
        };
        let mut signed = Ruling::trusted(ruling.by.as_str(), format!("{reason} (hookbox: {name}{file})"));
        signed.code = ruling.code.take();
        *ruling = signed;
    }
}

/// Returns a path as the user would type it: `~` is the home directory.
fn from_home(path: &Path) -> String {
    let rest = std::env::home_dir().and_then(|home| path.strip_prefix(home).ok());
    rest.map_or_else(|| path.to_string_lossy().into_owned(), |rest| format!("~/{}", rest.to_string_lossy()))
}

/// Returns the problems of finding the hooks: those by which a hook of the user is off, or all others.
pub(super) fn problems(manager: &Manager, is_off: bool) -> Vec<String> {
    let with_hint = |problem: &crate::manager::Problem| match &problem.hint {
        Some(hint) => text::escape(&format!("{problem}; hint: {hint}"), 1000),
        None => text::escape(&problem.to_string(), 1000),
    };
    manager.problems().iter().filter(|it| it.is_off == is_off).map(with_hint).collect()
}

/// Takes out the warnings about untrusted hooks, which the chain repeats at every event, and returns one note for all hooks
/// that wait for trust: the user may count on a guard among them, also before its event comes. A hook that lost its trust
/// since the hooks were found keeps its warning.
pub(super) fn untrusted(fired: &mut Fired, manager: &Manager) -> Option<String> {
    let (hooks, found) = (&fired.report.hooks, manager.entries());
    let is_trusted = |name: &str| found.iter().any(|it| it.name == name && it.trusted);
    let is_standing = |warning: &Warning| {
        let Some(name) = &warning.hook else { return false };
        let mut of = hooks.iter().filter(|hook| hook.name == *name).peekable();
        of.peek().is_some() && of.all(|hook| hook.cause == Some(Cause::Untrusted)) && !is_trusted(name)
    };
    fired.verdict.warnings.retain(|warning| !is_standing(warning));
    // One that has changed has a problem of its own.
    let waits = |it: &&Entry| it.status == EntryStatus::Untrusted && it.found.record.is_none();
    let count = found.iter().filter(waits).count();
    match count {
        0 => None,
        1 => Some("a hook does not run, because you have not trusted it: see `hookbox list`, and `hookbox trust NAME`".to_owned()),
        _ => Some(format!(
            "{count} hooks do not run, because you have not trusted them: see `hookbox list`, and `hookbox trust NAME`"
        )),
    }
}
