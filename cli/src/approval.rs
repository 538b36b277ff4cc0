//! What the commands that trust and grant have in common: finding a hook, showing it, asking.

use std::collections::BTreeSet;
use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use hookbox::capability::Capability;
use hookbox::discovery::{Approvable, EntryStatus};
use hookbox::event::EventName;
use hookbox::manager::Manager;
use hookbox::report::Kind;
use hookbox::text::escape;
use hookbox::trust::{Place, Record, Records, TrustFile, TrustFileError, TrustFileErrorKind};
use hookbox::{Digest, OnFailure};

use crate::error::{InputError, say};

/// No hook can change what guards: what a hook started is refused.
pub(crate) fn not_from_a_hook() -> Result<(), InputError> {
    if hookbox::native::depth() == 0 {
        return Ok(());
    }
    Err(InputError::new(
        "a hook can neither trust nor grant nor install",
        "run this command yourself, in a terminal",
    ))
}

/// The trust file.
pub(crate) fn trust_file(manager: &Manager) -> Result<TrustFile, InputError> {
    manager.trust_file().ok_or_else(|| {
        let problems = manager.problems();
        let problem = problems.iter().find(|it| it.message.contains("nothing is trusted"));
        let what = problem.map_or_else(
            || "expected a private data directory, found none".to_owned(),
            |problem| problem.to_string(),
        );
        InputError::new(what, "set HOME or XDG_DATA_HOME to a directory of your own, outside the repository")
    })
}

/// What the trust file holds.
pub(crate) fn read(file: &TrustFile) -> anyhow::Result<Records> {
    file.read().map_err(broken)
}

/// Changes the trust file.
pub(crate) fn update<T>(file: &TrustFile, change: impl FnOnce(&mut Records) -> T) -> anyhow::Result<T> {
    file.update(change).map_err(broken)
}

/// A file that holds something else is the user's to look at; anything else is a failure of the system.
fn broken(error: TrustFileError) -> anyhow::Error {
    match &error.kind {
        TrustFileErrorKind::Io(_) | TrustFileErrorKind::Locked => error.into(),
        _ => {
            let path = escape(&error.path.to_string_lossy(), 4096);
            InputError::new(error.to_string(), format!("move it aside: mv {path} {path}.old")).into()
        }
    }
}

/// The hook of this name or path.
pub(crate) fn find(manager: &Manager, word: &str) -> Result<Approvable, InputError> {
    let hooks = manager.approvable();
    let path = absolute(word);
    if let Some(hook) = hooks.iter().find(|hook| hook.reference == path) {
        return Ok(hook.clone());
    }
    // A file that declares several hooks is none of them; a component of the user's own is one, whoever names it.
    let mut at_path = hooks.iter().filter(|hook| hook.path == path);
    if let Some(hook) = at_path.next() {
        let others: Vec<&Approvable> = at_path.filter(|it| it.key != hook.key).collect();
        if others.is_empty() {
            return Ok(hook.clone());
        }
        return Err(ambiguous(word, [hook].into_iter().chain(others).map(|hook| hook.reference.as_path())));
    }
    let named: Vec<&Approvable> = hooks.iter().filter(|hook| hook.name == word).collect();
    match named.as_slice() {
        [hook] => Ok((*hook).clone()),
        [] => {
            let known: Vec<String> = hooks.iter().take(20).map(|hook| escape(&hook.name, 100)).collect();
            let hint = match known.as_slice() {
                [] => "there are no hooks here; see `hookbox list`".to_owned(),
                _ => format!("the hooks here are: {}", known.join(", ")),
            };
            Err(InputError::new(format!("{}: no hook has this name or path", escape(word, 1024)), hint))
        }
        several => Err(ambiguous(word, several.iter().map(|hook| hook.reference.as_path()))),
    }
}

/// The hooks of the plugin of this name that need the user's word and can be used, where there is such a plugin and no
/// hook that is called so.
pub(crate) fn find_plugin(manager: &Manager, word: &str) -> Result<Option<Vec<Approvable>>, InputError> {
    let hooks = manager.approvable();
    let path = absolute(word);
    if hooks.iter().any(|hook| hook.name == word || hook.path == path || hook.reference == path) {
        return Ok(None);
    }
    let of_it: Vec<(PathBuf, Approvable)> = hooks
        .iter()
        .filter_map(|hook| Some((plugin_of(&hook.reference, word)?.to_owned(), hook.clone())))
        .collect();
    let dirs: BTreeSet<&Path> = of_it.iter().map(|(dir, _)| dir.as_path()).collect();
    if dirs.len() > 1 {
        let dirs: Vec<String> = dirs.iter().map(|dir| escape(&dir.to_string_lossy(), 1024)).collect();
        let what = format!("{}: expected one plugin, found {}", escape(word, 1024), dirs.join(" and "));
        return Err(InputError::new(what, "give the paths of its hooks, one by one"));
    }
    if of_it.is_empty() {
        return Ok(None);
    }
    let usable = |hook: &Approvable| {
        !matches!(hook.status, EntryStatus::Disabled | EntryStatus::Invalid) && hook.needs_trust
    };
    Ok(Some(of_it.into_iter().map(|(_, hook)| hook).filter(usable).collect()))
}

/// What was recorded here of the hooks of the plugin of this name.
pub(crate) fn records_of_plugin(manager: &Manager, records: &Records, word: &str) -> Vec<Record> {
    let repo = manager.repository().and_then(|repo| repo.canonicalize().ok());
    let is_here = |record: &&Record| record.place.repository().is_none_or(|it| Some(it) == repo.as_deref());
    records.iter().filter(is_here).filter(|it| plugin_of(&it.path, word).is_some()).cloned().collect()
}

/// The directory of the plugin of this name that a path leads into, if it does: `plugins/org@repo` below a root.
fn plugin_of<'p>(path: &'p Path, word: &str) -> Option<&'p Path> {
    path.ancestors().skip(1).find(|dir| {
        let is_beside = dir.parent().and_then(Path::file_name).is_some_and(|it| it == "plugins");
        let name = dir.file_name().and_then(|it| it.to_str());
        is_beside && name.is_some_and(|name| name.replacen('@', "/", 1) == word)
    })
}

/// What was recorded of the hook of this name or path, also where its file is gone.
pub(crate) fn find_record(manager: &Manager, records: &Records, word: &str) -> Result<Record, InputError> {
    let repo = manager.repository().and_then(|repo| repo.canonicalize().ok());
    let hooks = manager.approvable();
    let path = absolute(word);
    let by_path = hooks.iter().find(|hook| hook.reference == path).and_then(|hook| hook.key.as_ref());
    if let Some(record) = by_path.and_then(|(place, path)| records.get(place, path)) {
        return Ok(record.clone());
    }
    let file = |record: &Record| match &record.place {
        Place::Repository(repo) => repo.join(&record.path),
        Place::Global => std::env::home_dir().unwrap_or_default().join(&record.path),
    };
    if let Some(record) = records.iter().find(|record| file(record) == path) {
        return Ok(record.clone());
    }
    // A component of the user's own is recorded once, under the name of one of the entries that declare it.
    let mut of_name: Vec<&Record> = Vec::new();
    let keys = hooks.iter().filter(|hook| hook.name == word).filter_map(|hook| hook.key.as_ref());
    for record in keys.filter_map(|(place, path)| records.get(place, path)) {
        if !of_name.contains(&record) {
            of_name.push(record);
        }
    }
    let is_here = |record: &&Record| record.place.repository().is_none_or(|it| Some(it) == repo.as_deref());
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
    let paths: Vec<String> = paths.map(|path| escape(&path.to_string_lossy(), 1024)).collect();
    let what = format!("{}: expected one hook, found {}", escape(word, 1024), paths.len());
    InputError::new(what, format!("give one of the paths: {}", paths.join(", ")))
}

fn absolute(word: &str) -> PathBuf {
    std::path::absolute(word).unwrap_or_else(|_| PathBuf::from(word))
}

/// The digest that is shown and recorded. It is taken once.
pub(crate) fn digest(hook: &Approvable) -> Result<Digest, InputError> {
    let name = escape(&hook.name, 200);
    let hint = "see `hookbox list`";
    if hook.kind == Kind::Component && hook.manifest.is_none() {
        let what = format!(
            "{name}: expected a component that can be used, found one that is {}",
            hook.status.as_str()
        );
        return Err(InputError::new(what, hint));
    }
    match hook.digest() {
        Ok(Some(digest)) => Ok(digest),
        Ok(None) => {
            Err(InputError::new(format!("{name}: was not looked into ({})", hook.status.as_str()), hint))
        }
        Err(error) => {
            let hint = "move what does not belong to the hook out of its directory";
            Err(InputError::new(format!("{name}: cannot be trusted: {error}"), hint))
        }
    }
}

/// The longest command line that can be trusted, in bytes: what nobody reads, nobody approves.
const MAX_LINE: usize = 4096;

/// From how many spaces on they are counted instead of shown, so that they push nothing out of sight.
const MAX_SPACES: usize = 8;

/// Checks that all that the hook runs can be shown.
pub(crate) fn showable(hook: &Approvable) -> Result<(), InputError> {
    match hook.runs.as_ref().map_or(0, String::len) {
        0..=MAX_LINE => Ok(()),
        len => {
            let name = escape(&hook.name, 200);
            let what = format!(
                "{name}: cannot be trusted: expected a command line of at most {MAX_LINE} bytes, found {len}"
            );
            Err(InputError::new(what, "put it into a script, and name the script in the command line"))
        }
    }
}

/// A command line in one line: whole, or cut where it is too long to be trusted.
pub(crate) fn line(runs: &str) -> String {
    if runs.len() > MAX_LINE { escape(runs, MAX_LINE) } else { whole(runs) }
}

/// A command line in one line, whole: nothing of it is out of sight. Line breaks and tabs are written out, and many spaces as their number.
fn whole(line: &str) -> String {
    // A letter without ink is as good as a space to hide what follows.
    let is_blank = |c: char| {
        (c.is_whitespace() && !c.is_control())
            || matches!(c, '\u{ad}' | '\u{115f}' | '\u{1160}' | '\u{2800}' | '\u{3164}' | '\u{ffa0}')
    };
    let mut out = String::new();
    let mut rest = line;
    while !rest.is_empty() {
        let after = rest.trim_start_matches(is_blank);
        let (blank, _) = rest.split_at(rest.len() - after.len());
        match blank.chars().count() {
            count if count > MAX_SPACES => out.push_str(&format!(" … ({count} spaces) … ")),
            _ => out.push_str(blank),
        }
        let (text, next) = after.split_at(after.find(is_blank).unwrap_or(after.len()));
        out.push_str(&escape(text, usize::MAX));
        rest = next;
    }
    out
}

/// What the hook asks for.
pub(crate) fn asked(hook: &Approvable) -> Vec<Capability> {
    hook.manifest.as_ref().map(|it| it.capabilities.clone()).unwrap_or_default()
}

/// What the trust file calls the hook.
pub(crate) fn key(hook: &Approvable) -> Result<(Place, PathBuf), InputError> {
    hook.key.clone().ok_or_else(|| {
        InputError::new("the path of the repository cannot be read", "work in a directory that you may read")
    })
}

/// Checks that the hook can be given these rights.
pub(crate) fn grantable(
    manager: &Manager,
    hook: &Approvable,
    rights: &[Capability],
) -> Result<(), InputError> {
    let asked = asked(hook);
    for right in rights {
        let shown = escape(&right.to_string(), 1024);
        // An address of a private network has to be listed, whatever the hook calls it.
        let is_address = matches!(right, Capability::Http(origin) if origin.address().is_some());
        if !is_address && !asked.iter().any(|asked| right.intersect(asked).is_some()) {
            let what = format!("{shown}: {} does not ask for this", escape(&hook.name, 200));
            return Err(InputError::new(what, format!("it asks for: {}", list(&asked))));
        }
        if let Some(error) = never_grantable(manager, right) {
            return Err(error);
        }
    }
    Ok(())
}

/// Why this right is given to no hook, if it is not.
pub(crate) fn never_grantable(manager: &Manager, right: &Capability) -> Option<InputError> {
    let protected = manager.protected();
    let path = protected.conflict(right)?;
    let (right, path) = (escape(&right.to_string(), 1024), escape(&path.to_string_lossy(), 1024));
    let what = format!("{right}: cannot be granted: with it a hook could write {path}");
    let hint = "grant a directory that holds neither hookbox's own files nor hooks, or --no-grants";
    Some(InputError::new(what, hint))
}

/// Rights in one line.
pub(crate) fn list(rights: &[Capability]) -> String {
    if rights.is_empty() {
        return "nothing".to_owned();
    }
    let rights: Vec<String> = rights.iter().map(|right| escape(&right.to_string(), 1024)).collect();
    rights.join(" ")
}

/// Shows what a hook is, on standard error.
pub(crate) fn show(hook: &Approvable, digest: &Digest, asked: &[Capability], grants: &[Capability]) {
    say(format_args!("{} ({}, {})", escape(&hook.name, 200), hook.kind.as_str(), hook.tier.as_str()));
    say(format_args!("  file    {}", escape(&hook.path.to_string_lossy(), 4096)));
    if let Some(runs) = &hook.runs {
        say(format_args!("  runs    {}", whole(runs)));
    }
    say(format_args!("  digest  {digest}"));
    match &hook.manifest {
        Some(manifest) => {
            let asked = manifest.subscriptions.iter().map(|it| EventName::as_str(&it.event));
            let declared = hook.events.iter().map(EventName::as_str);
            let events: Vec<&str> = if hook.events.is_empty() { asked.collect() } else { declared.collect() };
            say(format_args!("  says    {}", escape(&manifest.description, 300)));
            say(format_args!("  events  {}", events.join(" ")));
            let mut answers = vec!["pass", "block", "ask", "warn"];
            answers.extend(manifest.answers.names());
            say(format_args!("  answers {}", answers.join(" ")));
        }
        None if hook.needs_trust => {
            let events = hook.events.iter().map(EventName::as_str).collect::<Vec<_>>().join(" ");
            if !events.is_empty() {
                say(format_args!("  events  {events}"));
            }
            say("  runs with all your rights, with every file in its directory");
            for path in hook.names() {
                say(format_args!("  with    {}", escape(&path.to_string_lossy(), 1024)));
            }
            if hook.may_use_more() {
                say("  not all files that it uses can be known, and trust does not end where those change");
            }
        }
        None => say("  runs with all your rights"),
    }
    if !hook.tools.is_empty() {
        say(format_args!("  tools   {}", escape(&hook.tools.join(" "), 1024)));
    }
    if hook.observe {
        say("  only observes");
    }
    if hook.on_failure == OnFailure::Block {
        say("  blocks where it fails");
    }
    for (key, value) in hook.settings() {
        say(format_args!("  set to  {} = {}", escape(key, 200), whole(value)));
    }
    for right in asked {
        say(format_args!("  asks to {}", means(right)));
    }
    for right in grants {
        say(format_args!("  granted {}: {}", escape(&right.to_string(), 1024), means(right)));
    }
    if hook.manifest.is_some() && grants.is_empty() {
        say("  granted nothing");
    }
}

/// Shows the hooks of the same name: those that it takes the place of, and those that run beside it.
pub(crate) fn show_namesakes(hook: &Approvable, replaces: &[(Place, PathBuf)]) {
    for it in &hook.namesakes {
        let blocks = if it.on_failure == Some(OnFailure::Block) { ", blocks where it fails" } else { "" };
        let shown =
            format!("{} ({}{blocks})", escape(&it.reference.to_string_lossy(), 4096), it.tier.as_str());
        if replaces.contains(&it.key) {
            say(format_args!("  takes the place of {shown}, which does not run then"));
        } else {
            say(format_args!("  has the name of {shown}: both run, unless you give --replace"));
        }
    }
}

/// What a right is, in words.
pub(crate) fn means(right: &Capability) -> String {
    escape(&right.explain(), 1024)
}

/// Asks on the terminal; without one it takes `--yes`.
pub(crate) fn confirm(question: &str, yes: bool) -> Result<(), InputError> {
    if yes {
        return Ok(());
    }
    if !has_terminal() {
        let what = "expected a terminal to ask on, found none";
        return Err(InputError::new(what, "give --yes to do this without a question"));
    }
    if ask(question) {
        return Ok(());
    }
    Err(InputError::new("not confirmed: nothing was recorded", "answer y, or give --yes"))
}

/// Whether there is somebody to ask.
pub(crate) fn has_terminal() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Asks on the terminal; anything but a yes is a no.
pub(crate) fn ask(question: &str) -> bool {
    // Where it cannot be asked, there is no answer either.
    let _ = write!(anstream::stderr(), "{question} [y/N] ");
    let mut answer = String::new();
    let read = std::io::stdin().lock().read_line(&mut answer);
    read.is_ok() && matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

/// The time, in RFC 3339.
pub(crate) fn now() -> String {
    hookbox::trust::now()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

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

    #[test]
    fn a_command_line_is_shown_whole() {
        let far = format!("true{};rm x", " ".repeat(4_000));
        let filled = format!("true{}rm", "\u{2800}".repeat(9));
        let long = "x".repeat(4_096);
        for (line, want) in [
            ("sh x", "sh x"),
            ("sh        x", "sh        x"),
            (&far, "true … (4000 spaces) … ;rm x"),
            (&filled, "true … (9 spaces) … rm"),
            ("true\n\n\n\n\n\n\n\n\n\nrm\u{1b}[2K", "true\\n\\n\\n\\n\\n\\n\\n\\n\\n\\nrm\\u{1b}[2K"),
            (&long, &long),
        ] {
            assert_eq!(whole(line), want);
        }
    }

    /// A repository that declares these entries, and what is found in it.
    async fn found(hooks: &str) -> (tempfile::TempDir, Manager) {
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
    async fn a_line_that_is_too_long_to_read_cannot_be_trusted() {
        for (len, is_fine) in [(4_096, true), (4_097, false)] {
            let (_temp, manager) = found(&format!("[{{\"command\": \"{}\"}}]", "x".repeat(len))).await;
            let hook = find(&manager, "hooks.json#PreToolUse[0]").unwrap();
            assert_eq!(showable(&hook).is_ok(), is_fine, "{len}");
        }
    }

    #[tokio::test]
    async fn what_is_recorded_of_an_entry_is_found_by_its_name_and_by_no_other_that_declares_the_same() {
        let (_temp, manager) =
            found(r#"[{"component": "g.wasm", "name": "g1"}, {"component": "g.wasm"}]"#).await;
        let hook = find(&manager, "g1").unwrap();
        let (place, path) = key(&hook).unwrap();
        let mut records = Records::default();
        records.insert(Record {
            place,
            path,
            name: hook.name.clone(),
            kind: hook.kind,
            digest: Digest::of(b""),
            trusted: true,
            grants: Vec::new(),
            asked: Vec::new(),
            on_failure: OnFailure::Pass,
            replaces: Vec::new(),
            when: now(),
        });
        for (name, is_found) in [("g1", true), ("hooks.json#PreToolUse[1]", false), ("g2", false)] {
            assert_eq!(find_record(&manager, &records, name).is_ok(), is_found, "{name}");
        }
    }
}
