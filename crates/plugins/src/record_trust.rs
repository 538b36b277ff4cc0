//! Recording trust in the hooks of an installed plugin, in the state that was shown.

use std::path::{Path, PathBuf};

use super::{Contents, Decision, KnownPlugin, Location, PluginError, PluginErrorKind, Plugins, digest};
use hookbox::capability::Capability;
use hookbox::manager::{Entry, EntryStatus, Manager};
use hookbox::trust::{PrivateFileError, PrivateFileErrorKind, Record, Scope};
use hookbox::{Hint, escape, shown_path};

/// The next step after a change that the user has not seen.
const AGAIN: &str = "look at what has changed, then `hookbox trust`";

/// Returns the hooks of the plugin in this directory.
pub fn entries_of<'m>(all: &'m [Entry], plugin: &Path) -> impl Iterator<Item = &'m Entry> {
    let plugin = plugin.to_owned();
    all.iter().filter(move |hook| hook.found.reference.starts_with(&plugin))
}

/// Records trust in the hooks of a plugin that was just installed, and returns the records. Digests are computed in the
/// plugins directory, and nothing is recorded if the plugin has changed since it was shown.
pub(super) fn record(
    manager: &Manager,
    installed: &KnownPlugin,
    shown: &Contents,
    decision: &Decision,
    warnings: &mut Vec<PluginError>,
) -> Result<Vec<Record>, PluginError> {
    let no_file = || {
        untrusted(&installed.name, "there is no private data directory, so that nothing of it is trusted")
            .hint("set HOME or XDG_DATA_HOME to a directory of your own, outside the repository")
    };
    let file = manager.trust_file().ok_or_else(no_file)?;
    let all = manager.entries();
    check_shown(installed)?;
    let (mut records, mut namesakes) = (Vec::new(), Vec::new());
    let asked =
        |hook: &&Entry| hook.status != EntryStatus::Disabled && !decision.besides.contains(&hook.name);
    for hook in entries_of(&all, &installed.path).filter(asked) {
        match record_of(manager, hook, &installed.path, shown, decision.grant, warnings) {
            Ok(record) => {
                namesakes.extend(hook.found.namesakes.iter().map(|it| (&hook.name, &it.key, &it.reference)));
                records.push(record);
            }
            Err(error) => warnings.push(error),
        }
    }
    check_shown(installed)?;
    file.update(|held| {
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
    for (name, key, other) in namesakes {
        if records.iter().any(|it| it.name == *name && !it.replaces.contains(key)) {
            let other = shown_path(other);
            let kind = PluginErrorKind::Unexpected(format!("{other} has the same name, and both run"));
            let warning = PluginError::new(name, kind);
            warnings
                .push(warning.hint("`hookbox trust --replace` shows what it takes the place of, and asks"));
        }
    }
    Ok(records)
}

/// Makes the record of one hook.
fn record_of(
    manager: &Manager,
    hook: &Entry,
    plugin: &Path,
    shown: &Contents,
    grant: bool,
    warnings: &mut Vec<PluginError>,
) -> Result<Record, PluginError> {
    let no = |why: String, hint: &'static str| untrusted(&hook.name, &why).hint(hint);
    let listed = "see `hookbox list`";
    let len = hook.found.runs.as_ref().map_or(0, String::len);
    if len > Entry::MAX_LINE {
        let most = Entry::MAX_LINE;
        let why = format!("cannot be trusted: expected a command line of at most {most} bytes, found {len}");
        return Err(no(why, "put it into a script, and name the script in the command line"));
    }
    let looked = shown.hooks.iter().find(|it| it.full_name == hook.name && it.kind == hook.kind);
    let looked = looked.ok_or_else(|| no("was not shown".to_owned(), AGAIN))?;
    if let Some(problem) = &looked.problem {
        return Err(no(format!("cannot be trusted: {}", escape(problem, 1024)), listed));
    }
    if let Some(why) = not_shown(manager, hook, looked.runs.as_deref(), plugin) {
        return Err(no(format!("is not trusted: {why}"), "`hookbox trust` shows it, and asks"));
    }
    let unread = || no("was not examined".to_owned(), listed);
    let now = hook.trust_digest().map_err(|error| {
        let hint = "move what does not belong to the hook out of its directory";
        no(format!("cannot be trusted: {error}"), hint)
    });
    let digest = if hook.kind.is_one_file() {
        // The digest of the shown bytes, also if another hook of this name is found first.
        let digest = hook.found.digest_of(looked.digest.as_ref().ok_or_else(unread)?);
        if now.ok().flatten().is_some_and(|now| now != digest) {
            return Err(no("has changed since it was shown".to_owned(), AGAIN));
        }
        digest
    } else {
        now?.ok_or_else(unread)?
    };
    let mut grants: Vec<Capability> = Vec::new();
    for right in looked.asks.iter().filter(|_| grant) {
        match manager.protected().conflict(right) {
            None => grants.push(right.clone()),
            Some(path) => {
                let (right, path) = (escape(&right.to_string(), 1024), shown_path(path));
                let why = format!("{right}: cannot be granted: with it a hook could write {path}");
                let hint =
                    "grant a directory that contains neither hookbox's own files nor hooks, or nothing";
                warnings.push(no(why, hint));
            }
        }
    }
    hook.approved(digest, looked.asks.clone(), grants).ok_or_else(|| {
        no("the path of the repository cannot be read".to_owned(), "work in a directory that you may read")
    })
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
fn check_shown(installed: &KnownPlugin) -> Result<(), PluginError> {
    // A file that came since it was shown counts, too.
    let now = digest(&installed.path, None);
    if now.is_ok_and(|now| installed.locked.as_ref().is_some_and(|it| it.tree == now)) {
        return Ok(());
    }
    let name = &installed.name;
    Err(untrusted(name, "has changed since it was shown, so that nothing of it is trusted").hint(AGAIN))
}

fn untrusted(what: &str, why: &str) -> PluginError {
    PluginError::new(what, PluginErrorKind::Untrusted(why.to_owned()))
}

/// Removes the records of all hooks of a plugin but those of these names, also of hooks whose files are gone. Returns the
/// removed records.
pub(super) fn forget(
    manager: &Manager,
    plugins: &Plugins,
    plugin: &Path,
    besides: &[String],
) -> Result<Vec<Record>, PluginError> {
    // Without a private directory there are no records.
    let Some(file) = manager.trust_file() else { return Ok(Vec::new()) };
    let base = plugins.base();
    let place = match plugins.location() {
        Location::Global => Scope::Global,
        Location::Local => Scope::Repository(base.canonicalize().unwrap_or_else(|_| base.to_owned())),
    };
    let all = manager.entries();
    let kept = entries_of(&all, plugin).filter(|hook| besides.contains(&hook.name));
    let kept: Vec<_> = kept.filter_map(|hook| hook.found.key.as_ref()).collect();
    let beneath = plugin.strip_prefix(base).unwrap_or(plugin);
    let is_taken = |record: &&Record| {
        let is_kept = kept.iter().any(|(place, path)| *place == record.scope && *path == record.path);
        record.scope == place && record.path.starts_with(beneath) && !is_kept
    };
    if !file.read()?.iter().any(|record| is_taken(&record)) {
        return Ok(Vec::new());
    }
    Ok(file.update(|records| {
        let taken: Vec<Record> = records.iter().filter(is_taken).cloned().collect();
        for record in &taken {
            records.remove(&record.scope, &record.path);
        }
        taken
    })?)
}

impl From<PrivateFileError> for PluginError {
    fn from(error: PrivateFileError) -> Self {
        let path = shown_path(&error.path);
        let hint = match error.kind {
            PrivateFileErrorKind::Io(_) | PrivateFileErrorKind::Locked(_) => None,
            _ => Some(Hint::from(error.advice())),
        };
        Self { what: path, kind: error.kind.into(), hint }
    }
}
