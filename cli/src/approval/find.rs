//! Finding a hook, a plugin or a record by its name or path.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use hookbox::escape;
use hookbox::manager::{Entry, EntryStatus, Manager};
use hookbox::trust::{Record, Records, Scope};
use hookbox_system::{account, text};

use crate::error::InputError;

/// Returns the hooks that were found in files.
fn in_files(manager: &Manager) -> Vec<Entry> {
    manager.entries().iter().filter(|hook| hook.found.is_in_file()).cloned().collect()
}

/// Finds the hook of this name or path.
pub(crate) fn find(manager: &Manager, word: &str) -> Result<Entry, InputError> {
    let hooks = in_files(manager);
    let path = absolute(word);
    if let Some(hook) = hooks.iter().find(|hook| is_at(&hook.found.reference, &path)) {
        return Ok(hook.clone());
    }
    // A file that declares several hooks is ambiguous. A component of the user is one hook, however many
    // entries name it.
    let mut at_path = hooks.iter().filter(|hook| hook.path.as_ref().is_some_and(|it| is_at(it, &path)));
    if let Some(hook) = at_path.next() {
        let others: Vec<&Entry> = at_path.filter(|it| it.found.key != hook.found.key).collect();
        if others.is_empty() {
            return Ok(hook.clone());
        }
        return Err(ambiguous(
            word,
            [hook].into_iter().chain(others).map(|hook| hook.found.reference.as_path()),
        ));
    }
    let named: Vec<&Entry> = hooks.iter().filter(|hook| hook.name == word).collect();
    match named.as_slice() {
        [hook] => Ok((*hook).clone()),
        [] => {
            let known: Vec<String> = hooks.iter().take(20).map(|hook| escape(&hook.name, 100)).collect();
            let meant = text::did_you_mean(text::nearest(word, hooks.iter().map(|hook| hook.name.as_str())));
            let hint = meant.unwrap_or_else(|| match known.as_slice() {
                [] => "there are no hooks here; see `hookbox list`".to_owned(),
                _ => format!("the hooks here are: {}", known.join(", ")),
            });
            Err(InputError::new(format!("{}: no hook has this name or path", escape(word, 1024)), hint))
        }
        several => Err(ambiguous(word, several.iter().map(|hook| hook.found.reference.as_path()))),
    }
}

/// Finds the usable hooks of the plugin of this name that need trust. `None` if there is no such plugin, or a
/// hook has this name.
pub(crate) fn find_plugin(manager: &Manager, word: &str) -> Result<Option<Vec<Entry>>, InputError> {
    let hooks = in_files(manager);
    if hooks.iter().any(|hook| hook.name == word) {
        return Ok(None);
    }
    let of_plugin: Vec<(PathBuf, Entry)> = hooks
        .iter()
        .filter_map(|hook| Some((plugin_of(&hook.found.reference, word)?.to_owned(), hook.clone())))
        .collect();
    let dirs: BTreeSet<&Path> = of_plugin.iter().map(|(dir, _)| dir.as_path()).collect();
    if dirs.len() > 1 {
        let dirs: Vec<String> = dirs.iter().map(|dir| text::shown_path(dir)).collect();
        let what = format!("{}: expected one plugin, found {}", escape(word, 1024), dirs.join(" and "));
        return Err(InputError::new(what, "give the paths of its hooks, one by one"));
    }
    if of_plugin.is_empty() {
        return Ok(None);
    }
    let usable = |hook: &Entry| {
        !matches!(hook.status, EntryStatus::Disabled | EntryStatus::Invalid) && hook.found.needs_trust
    };
    Ok(Some(of_plugin.into_iter().map(|(_, hook)| hook).filter(usable).collect()))
}

/// Returns the records of the hooks of the plugin of this name.
pub(crate) fn records_of_plugin(manager: &Manager, records: &Records, word: &str) -> Vec<Record> {
    let repo = manager.repository().and_then(|repo| repo.canonicalize().ok());
    let is_here = |record: &&Record| record.scope.repository().is_none_or(|it| Some(it) == repo.as_deref());
    records.iter().filter(is_here).filter(|it| plugin_of(&it.path, word).is_some()).cloned().collect()
}

/// Returns the directory of the plugin of this name, `plugins/org@repo` below a root, if the path is in it.
fn plugin_of<'p>(path: &'p Path, word: &str) -> Option<&'p Path> {
    path.ancestors().skip(1).find(|dir| {
        let is_beside = dir.parent().and_then(Path::file_name).is_some_and(|it| it == "plugins");
        let name = dir.file_name().and_then(|it| it.to_str());
        is_beside && name.is_some_and(|name| name.replacen('@', "/", 1) == word)
    })
}

/// Finds the record of the hook of this name or path, also if its file is gone. `home` is the home directory of the manager.
pub(crate) fn find_record(
    manager: &Manager,
    home: Option<PathBuf>,
    records: &Records,
    word: &str,
) -> Result<Record, InputError> {
    let repo = manager.repository().and_then(|repo| repo.canonicalize().ok());
    let hooks = in_files(manager);
    let path = absolute(word);
    // In a linked working tree the record may be that of the main one.
    let key = |hook: &Entry| {
        let of_record = hook.found.record.as_ref().map(|record| (record.scope.clone(), record.path.clone()));
        of_record.or_else(|| hook.found.key.clone())
    };
    let by_path = hooks.iter().find(|hook| is_at(&hook.found.reference, &path)).and_then(key);
    if let Some(record) = by_path.and_then(|(scope, path)| records.get(&scope, &path)) {
        return Ok(record.clone());
    }
    let file = |record: &Record| match &record.scope {
        Scope::Repository(repo) => repo.join(&record.path),
        Scope::Global => home.as_deref().unwrap_or(Path::new("")).join(&record.path),
    };
    if let Some(record) = records.iter().find(|record| is_at(&file(record), &path)) {
        return Ok(record.clone());
    }
    // A component of the user has one record, with the name of one of the entries that declare it.
    let mut of_name: Vec<&Record> = Vec::new();
    let keys = hooks.iter().filter(|hook| hook.name == word).filter_map(key);
    for record in keys.filter_map(|(scope, path)| records.get(&scope, &path)) {
        if !of_name.contains(&record) {
            of_name.push(record);
        }
    }
    let is_here = |record: &&Record| record.scope.repository().is_none_or(|it| Some(it) == repo.as_deref());
    let recorded = || records.iter().filter(is_here).filter(|it| it.name == word).collect();
    let named: Vec<&Record> = if of_name.is_empty() { recorded() } else { of_name };
    match named.as_slice() {
        [record] => Ok((*record).clone()),
        [] => {
            let what =
                format!("{}: nothing is recorded of a hook with this name or path", escape(word, 1024));
            Err(InputError::new(what, "see `hookbox grants`"))
        }
        several => {
            let paths: Vec<PathBuf> = several.iter().map(|record| file(record)).collect();
            Err(ambiguous(word, paths.iter().map(PathBuf::as_path)))
        }
    }
}

fn ambiguous<'a>(word: &str, paths: impl Iterator<Item = &'a Path>) -> InputError {
    let paths: Vec<String> = paths.map(text::shown_path).collect();
    let what = format!("{}: expected one hook, found {}", escape(word, 1024), paths.len());
    InputError::new(what, format!("give one of the paths: {}", paths.join(", ")))
}

fn absolute(word: &str) -> PathBuf {
    std::path::absolute(word).unwrap_or_else(|_| PathBuf::from(word))
}

/// Returns true if a path leads to a hook, perhaps through links and `..`.
fn is_at(hook: &Path, path: &Path) -> bool {
    let dirs = hook.parent().zip(path.parent());
    hook.file_name() == path.file_name() && dirs.is_some_and(|(one, other)| account::is_same(one, other))
}

#[cfg(test)]
pub(super) mod tests {
    use std::fs;

    use hookbox::{Digest, OnFailure};

    use super::*;

    #[test]
    fn a_path_leads_into_a_plugin_by_the_name_of_its_directory() {
        for (path, word, want) in [
            (".hookbox/plugins/a@b/hooks/x", "a/b", Some(".hookbox/plugins/a@b")),
            ("/r/.kodelet/plugins/a@b/hooks/hooks.json#Stop[0]", "a/b", Some("/r/.kodelet/plugins/a@b")),
            ("/r/.hookbox/plugins/mine/hooks/x", "mine", Some("/r/.hookbox/plugins/mine")),
            ("/r/.hookbox/plugins/a@b/hooks/x", "a", None),
            ("/r/.hookbox/plugins/a@bc/hooks/x", "a/b", None),
            ("/r/.hookbox/plugins/a/b/hooks/x", "a/b", None),
            ("/r/a@b/hooks/x", "a/b", None),
            ("/r/.hookbox/hooks/x", "a/b", None),
        ] {
            assert_eq!(plugin_of(Path::new(path), word), want.map(Path::new), "{path} {word}");
        }
    }

    /// Makes a repository with these entries, and finds its hooks.
    pub(crate) async fn found(hooks: &str) -> (tempfile::TempDir, Manager) {
        let temp = tempfile::tempdir().unwrap();
        let repo = temp.path().join("repo");
        fs::create_dir_all(repo.join(".git")).unwrap();
        fs::create_dir_all(repo.join(".hookbox")).unwrap();
        fs::write(repo.join(".hookbox/hooks.json"), format!("{{\"hooks\": {{\"PreToolUse\": {hooks}}}}}"))
            .unwrap();
        fs::write(repo.join("g.wasm"), "").unwrap();
        let builder = Manager::builder().cwd(&repo).home(temp.path().join("home"));
        let manager = builder.cache(None).data(None).build().await;
        (temp, manager)
    }

    #[tokio::test]
    async fn a_hook_is_found_by_every_way_to_its_path() {
        let (temp, manager) = found(r#"[{"component": "g.wasm", "name": "g1"}, {"command": "true"}]"#).await;
        let at = |path: &str| temp.path().join(path).to_str().unwrap().to_owned();
        fs::create_dir(at("repo/sub")).unwrap();
        std::os::unix::fs::symlink(at("repo"), at("link")).unwrap();
        for (word, want) in [
            ("g1", Some("g1")),
            (&at("repo/sub/../g.wasm"), Some("g1")),
            (&at("link/g.wasm"), Some("g1")),
            (&at("link/.hookbox/hooks.json#PreToolUse[1]"), Some("hooks.json#PreToolUse[1]")),
            (&at("repo/sub/../.hookbox/./hooks.json#PreToolUse[0]"), Some("g1")),
            (&at("repo/sub/g.wasm"), None),
            (&at("nowhere/g.wasm"), None),
            (".", None),
        ] {
            assert_eq!(find(&manager, word).ok().map(|hook| hook.name).as_deref(), want, "{word}");
        }
    }

    #[tokio::test]
    async fn the_record_of_a_missing_file_is_found_below_the_home_directory_that_is_given() {
        let (temp, manager) = found("[]").await;
        let mut records = Records::default();
        records.insert(Record {
            scope: Scope::Global,
            path: ".hookbox/hooks/gone.wasm".into(),
            name: "gone.wasm".to_owned(),
            kind: hookbox::Kind::Component,
            digest: Digest::of(b""),
            trusted: true,
            grants: Vec::new(),
            asked: Vec::new(),
            on_failure: OnFailure::Pass,
            replaces: Vec::new(),
            when: hookbox::trust::now(),
        });
        let path = temp.path().join("home/.hookbox/hooks/gone.wasm");
        for (home, is_found) in [(temp.path().join("home"), true), (temp.path().join("other"), false)] {
            let record = find_record(&manager, Some(home), &records, path.to_str().unwrap());
            assert_eq!(record.is_ok(), is_found);
        }
    }

    #[tokio::test]
    async fn the_record_of_an_entry_is_found_by_its_name_only() {
        let (_temp, manager) =
            found(r#"[{"component": "g.wasm", "name": "g1"}, {"component": "g.wasm"}]"#).await;
        let hook = find(&manager, "g1").unwrap();
        let (scope, path) = hook.found.key.clone().unwrap();
        let mut records = Records::default();
        records.insert(Record {
            scope,
            path,
            name: hook.name.clone(),
            kind: hook.kind,
            digest: Digest::of(b""),
            trusted: true,
            grants: Vec::new(),
            asked: Vec::new(),
            on_failure: OnFailure::Pass,
            replaces: Vec::new(),
            when: hookbox::trust::now(),
        });
        for (name, is_found) in [("g1", true), ("hooks.json#PreToolUse[1]", false), ("g2", false)] {
            assert_eq!(find_record(&manager, None, &records, name).is_ok(), is_found, "{name}");
        }
    }
}
