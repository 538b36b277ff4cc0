//! Recording trust in the hooks of an installed plugin, in the state that was shown.

use std::path::{Path, PathBuf};

use hookbox::capability::Capability;
use hookbox::escape;
use hookbox::manager::Entry;
use hookbox::manager::EntryStatus;
use hookbox::manager::Manager;
use hookbox::trust::{Record, Scope};
use hookbox_plugins::{Contents, Installed, Location, Plugins};

use crate::approval;
use crate::commands::trust;
use crate::error::{InputError, hint, say, warn};

/// The user's decision.
#[derive(Clone, Copy)]
pub(super) struct Decision<'a> {
    /// True to trust the hooks as shown.
    pub(super) trust: bool,
    /// True to grant the rights that the hooks ask for.
    pub(super) grant: bool,
    /// The full names of the hooks that the user was not asked about. Their records stay.
    pub(super) besides: &'a [String],
}

/// Returns the approvable hooks of a plugin.
pub(super) fn hooks<'m>(all: &'m [Entry], plugin: &Path) -> impl Iterator<Item = &'m Entry> {
    let plugin: PathBuf = plugin.to_owned();
    all.iter().filter(move |hook| hook.found.reference.starts_with(&plugin))
}

/// Records trust in the hooks of a plugin that was just installed. Digests are computed in the plugins
/// directory, and nothing is recorded if the plugin has changed since it was shown.
pub(super) fn record(
    manager: &Manager,
    installed: &Installed,
    shown: &Contents,
    decision: &Decision<'_>,
) -> anyhow::Result<()> {
    let file = approval::trust_file(manager)?;
    let all = manager.entries();
    is_as_shown(installed)?;
    let mut records: Vec<Record> = Vec::new();
    let mut namesakes = Vec::new();
    let asked =
        |hook: &&Entry| hook.status != EntryStatus::Disabled && !decision.besides.contains(&hook.name);
    for hook in hooks(&all, &installed.path).filter(asked) {
        match of(manager, hook, &installed.path, shown, decision.grant) {
            Ok(record) => {
                namesakes.extend(
                    hook.found.namesakes.iter().map(|it| (hook.name.as_str(), it.key.clone(), &it.reference)),
                );
                records.push(record);
            }
            Err(error) => {
                warn(&error);
                hint(error.hint());
            }
        }
    }
    is_as_shown(installed)?;
    approval::update(&file, |held| {
        for record in &mut records {
            // The same bytes keep their grants, and the hooks that they replace.
            let kept = held.current(&record.scope, &record.path, &record.digest).filter(|it| it.trusted);
            let kept = kept.cloned();
            record.grants.extend(kept.iter().flat_map(|it| it.grants.iter().cloned()));
            record.grants.sort();
            record.grants.dedup();
            record.replaces = kept.map(|it| it.replaces.clone()).unwrap_or_default();
            held.insert(record.clone());
        }
    })?;
    for record in &records {
        let granted = if record.asked.is_empty() && record.grants.is_empty() {
            String::new()
        } else {
            format!(" (granted: {})", approval::list(&record.grants))
        };
        say(format_args!("trusted {}{granted}", escape(&record.name, 200)));
    }
    for (name, key, other) in namesakes {
        if records.iter().any(|it| it.name == name && !it.replaces.contains(&key)) {
            let (name, other) = (escape(name, 200), escape(&other.to_string_lossy(), 1024));
            warn(format_args!("{name}: {other} has the same name, and both run"));
            hint("`hookbox trust --replace` shows what it takes the place of, and asks");
        }
    }
    Ok(())
}

/// Makes the record of one hook.
fn of(
    manager: &Manager,
    hook: &Entry,
    plugin: &Path,
    shown: &Contents,
    grant: bool,
) -> Result<Record, InputError> {
    approval::showable(hook)?;
    let name = || escape(&hook.name, 200);
    let looked = shown.hooks.iter().find(|it| it.full_name == hook.name && it.kind == hook.kind);
    let looked = looked.ok_or_else(|| InputError::new(format!("{}: was not shown", name()), AGAIN))?;
    if let Some(problem) = &looked.problem {
        let what = format!("{}: cannot be trusted: {}", name(), escape(problem, 1024));
        return Err(InputError::new(what, "see `hookbox list`"));
    }
    if let Some(what) = not_shown(manager, hook, looked.runs.as_deref(), plugin) {
        let what = format!("{}: is not trusted: {what}", name());
        return Err(InputError::new(what, "`hookbox trust` shows it, and asks"));
    }
    let digest = match hook.kind {
        // The digest of the shown bytes, also if another hook of this name is found first.
        kind if kind.is_one_file() => {
            let unread = || InputError::new(format!("{}: was not examined", name()), "see `hookbox list`");
            hook.found.digest_of(looked.digest.as_ref().ok_or_else(unread)?)
        }
        _ => approval::digest(hook)?,
    };
    if hook.kind.is_one_file() && hook.trust_digest().ok().flatten().is_some_and(|it| it != digest) {
        return Err(InputError::new(format!("{}: has changed since it was shown", name()), AGAIN));
    }
    let asked = looked.asks.clone();
    let mut grants: Vec<Capability> = Vec::new();
    for right in asked.iter().filter(|_| grant) {
        match approval::never_grantable(manager, right) {
            None => grants.push(right.clone()),
            Some(error) => {
                warn(format_args!("{}: {error}", name()));
                hint(error.hint());
            }
        }
    }
    trust::record(hook, digest, asked, grants)
}

/// Returns the part of a hook that the plugin alone does not show: the servers, files and settings of the
/// repository that it uses.
fn not_shown(manager: &Manager, hook: &Entry, runs: Option<&str>, plugin: &Path) -> Option<String> {
    if hook.found.runs.as_deref() != runs {
        let runs = hook.found.runs.as_deref().unwrap_or("nothing");
        return Some(format!("in this repository it runs {}, which was not shown", escape(runs, 300)));
    }
    let repository = manager.repository().unwrap_or_default();
    // The paths may have `..` and symlinks.
    let real = |path: &Path| path.canonicalize().ok();
    let outside = |path: &PathBuf| match (real(&repository.join(path)), real(plugin)) {
        (Some(path), Some(plugin)) => !path.starts_with(plugin),
        _ => true,
    };
    // A plugin in the home directory cannot use files of the repository.
    let is_local = hook.tier.origin() == hookbox::hook::Origin::Repo;
    if let Some(path) = hook.names().into_iter().find(|path| is_local && outside(path)) {
        let path = escape(&path.to_string_lossy(), 300);
        return Some(format!("it uses {path} of the repository, which was not shown"));
    }
    let settings = "the repository has settings for it, which were not shown";
    (is_local && hook.found.repository_settings().next().is_some()).then(|| settings.to_owned())
}

/// Checks that a plugin is in the state that was shown.
fn is_as_shown(installed: &Installed) -> anyhow::Result<()> {
    // A file that came since it was shown counts, too.
    let now = hookbox_plugins::digest(&installed.path, None)?;
    if installed.locked.as_ref().is_some_and(|it| it.tree == now) {
        return Ok(());
    }
    let what =
        format!("{}: has changed since it was shown, so that nothing of it is trusted", installed.name);
    Err(InputError::new(what, AGAIN).into())
}

const AGAIN: &str = "look at what has changed, then `hookbox trust`";

/// Removes the records of all hooks of a plugin but those of these names, also of hooks whose files are gone.
/// Prints and returns the removed records.
pub(super) fn forget(
    manager: &Manager,
    plugins: &Plugins,
    plugin: &Path,
    besides: &[String],
) -> anyhow::Result<Vec<Record>> {
    // Without a private directory there are no records.
    let Some(file) = manager.trust_file() else { return Ok(Vec::new()) };
    let base = plugins.base();
    let place = match plugins.location() {
        Location::Global => Scope::Global,
        Location::Local => Scope::Repository(base.canonicalize().unwrap_or_else(|_| base.to_owned())),
    };
    let all = manager.entries();
    let kept = hooks(&all, plugin).filter(|hook| besides.contains(&hook.name));
    let kept: Vec<_> = kept.filter_map(|hook| hook.found.key.as_ref()).collect();
    let beneath = plugin.strip_prefix(base).unwrap_or(plugin);
    let is_taken = |record: &&Record| {
        let is_kept = kept.iter().any(|(place, path)| *place == record.scope && *path == record.path);
        record.scope == place && record.path.starts_with(beneath) && !is_kept
    };
    if !approval::read(&file)?.iter().any(|record| is_taken(&record)) {
        return Ok(Vec::new());
    }
    let taken = approval::update(&file, |records| {
        let taken: Vec<Record> = records.iter().filter(is_taken).cloned().collect();
        for record in &taken {
            records.remove(&record.scope, &record.path);
        }
        taken
    })?;
    for record in &taken {
        say(format_args!("took back trust and grants of {}", escape(&record.name, 200)));
    }
    Ok(taken)
}
