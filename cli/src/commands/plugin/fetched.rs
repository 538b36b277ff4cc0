//! A plugin on its way: fetched and looked into, not installed yet.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::interrupt::{Interrupted, unless_interrupted};
use hookbox::Digest;
use hookbox::text::{escape, shell_word};
use hookbox_plugins::registry::{self, PublicKey, Registry};
use hookbox_plugins::{
    Contents, Files, Locked, PluginError, PluginErrorKind, PluginName, Plugins, Replace, Resolved, Silent,
    Source, Stage, Staged,
};
use tokio::sync::watch;

use super::account::{self, Origin};
use super::consent::Answer;
use super::how::How;
use super::place::{Here, There};
use super::row::{self, Row};
use super::trusting::{self, Said, Shown};
use super::{failed, of_source, place};
use crate::error::{hint, say};
use crate::progress::Progress;

/// How long a fetch may take to end that was interrupted.
const GRACE: Duration = Duration::from_secs(3);

/// What is to be fetched.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    pub(super) name: PluginName,
    pub(super) source: Source,
    /// What it has to be, where a lock file says.
    pub(super) locked: Option<Locked>,
    /// The key that its signature is verified against: see [`How::key`].
    pub(super) key: Option<PublicKey>,
}

/// A plugin that was fetched, with what it holds.
pub(super) struct Arrived {
    pub(super) name: PluginName,
    shown: String,
    pub(super) locked: Locked,
    pub(super) contents: Contents,
    staged: Staged,
    /// Whether a signature was verified just now, whatever a lock file says.
    signed: bool,
}

/// What came from a source.
struct Fetched {
    resolved: Resolved,
    staged: Staged,
}

impl Wanted {
    /// Fetches it, checks it against the lock file where that names it, and looks into it.
    pub(super) async fn fetch(
        self,
        here: &Here<'_>,
        plugins: &Arc<Plugins>,
        how: &How,
    ) -> anyhow::Result<Arrived> {
        let shown = self.source.shown();
        let fetched = self.stage(plugins, how).await;
        let Fetched { resolved, staged } = fetched.map_err(|error| of_source(error, &shown))?;
        let Self { name, source, locked: pinned, key } = self;
        let contents = unless_interrupted(Contents::look(&staged.path(), &name, &here.runtime)).await?;
        is_something(&contents, &shown)?;
        let (commit, manifest) = match resolved {
            Resolved::Commit(commit) => (Some(commit), None),
            Resolved::Manifest(digest) => (None, Some(digest)),
            Resolved::Directory => (None, None),
        };
        let came = Locked {
            name: name.clone(),
            source: source.text(plugins.base()),
            reference: source.reference().map(str::to_owned),
            commit,
            manifest,
            tree: staged.digest().clone(),
            key: key.as_ref().map(PublicKey::fingerprint),
            installed: hookbox::trust::now(),
            hooks: contents.locked(),
        };
        let locked = match pinned {
            Some(pinned) => {
                is_what_was_locked(&pinned, &came).map_err(failed)?;
                pinned
            }
            None => came,
        };
        let signed = key.is_some();
        Ok(Arrived { shown, name, locked, contents, staged, signed })
    }

    /// Fetches it into a staging directory, on a thread of its own: git blocks, and a signal has to end the wait.
    async fn stage(&self, plugins: &Arc<Plugins>, how: &How) -> anyhow::Result<Fetched> {
        let Self { name, source, locked, key } = self.clone();
        let (plugins, how) = (Arc::clone(plugins), how.clone());
        let pin = locked.and_then(|it| match (it.commit, it.manifest) {
            (Some(commit), _) => Some(Resolved::Commit(commit)),
            (None, Some(digest)) => Some(Resolved::Manifest(digest)),
            (None, None) => None,
        });
        let (stop, mut stopped) = watch::channel(false);
        let scratch: Arc<Mutex<Option<PathBuf>>> = Arc::default();
        let runtime = tokio::runtime::Handle::current();
        let work = {
            let scratch = Arc::clone(&scratch);
            move || -> Result<Option<Fetched>, PluginError> {
                let progress = Progress::new(&name.to_string());
                let mut stage = Stage::new(&plugins, &progress)?;
                *scratch.lock().unwrap_or_else(PoisonError::into_inner) = Some(stage.scratch().to_owned());
                let resolved = runtime.block_on(async {
                    tokio::select! {
                        resolved = fetch(&source, &name, pin.as_ref(), &how, key.as_ref(), &mut stage, &progress) => resolved.map(Some),
                        _ = stopped.wait_for(|stop| *stop) => Ok(None),
                    }
                })?;
                let Some(resolved) = resolved else { return Ok(None) };
                Ok(Some(Fetched { resolved, staged: stage.finish()? }))
            }
        };
        // It begins once signals are listened for.
        let mut begun = None;
        let done = unless_interrupted(async { begun.insert(tokio::task::spawn_blocking(work)).await }).await;
        let done = match done {
            Ok(done) => done?,
            Err(interrupted) => {
                // Either of these ends the fetch: git gives up when its staging directory is gone.
                stop.send_replace(true);
                let remove = || {
                    let path = scratch.lock().unwrap_or_else(PoisonError::into_inner);
                    path.iter().for_each(|path| drop(std::fs::remove_dir_all(path)));
                };
                remove();
                if let Some(work) = begun {
                    drop(tokio::time::timeout(GRACE, work).await);
                }
                remove();
                return Err(interrupted.into());
            }
        };
        let fetched = done.map_err(failed)?;
        fetched.ok_or_else(|| anyhow::anyhow!("{}: was not fetched", self.name))
    }
}

/// Brings a plugin from its source.
async fn fetch(
    source: &Source,
    name: &PluginName,
    pin: Option<&Resolved>,
    how: &How,
    key: Option<&PublicKey>,
    stage: &mut Stage<'_>,
    progress: &Progress,
) -> Result<Resolved, PluginError> {
    match source {
        Source::Oci(reference) => {
            let pin = match pin {
                Some(Resolved::Manifest(digest)) => Some(digest),
                _ => None,
            };
            let options = registry::Options { plain_http: how.plain_http, ..registry::Options::default() };
            let registry = Registry::new(options);
            registry.pull(reference, name, pin, key, stage, progress).await
        }
        _ => hookbox_plugins::fetch::fetch(source, pin, stage, progress).await,
    }
}

/// Checks that there is something in a plugin that anybody could use; says first what is wrong with what is there.
pub(super) fn is_something(contents: &Contents, shown: &str) -> anyhow::Result<()> {
    if !contents.is_empty() {
        return Ok(());
    }
    account::problems(shown, contents);
    let mut error = PluginError::new("", PluginErrorKind::Empty);
    // It is escaped already.
    error.what = shown.to_owned();
    let hint = "expected skills/NAME/SKILL.md, recipes/NAME.md, or hooks/NAME with an execute bit or .wasm";
    Err(failed(error.hint(hint)))
}

/// Checks that what came is what a lock file says, and names all that differs.
pub(super) fn is_what_was_locked(locked: &Locked, came: &Locked) -> Result<(), PluginError> {
    let mut differs: Vec<String> = Vec::new();
    let mut compare = |what: &str, locked: Option<String>, came: Option<String>| {
        if locked != came {
            let or_none = |it: Option<String>| it.unwrap_or_else(|| "none".to_owned());
            differs.push(format!("{what}: expected {}, found {}", or_none(locked), or_none(came)));
        }
    };
    compare("commit", locked.commit.clone(), came.commit.clone());
    let manifest = |it: &Locked| it.manifest.as_ref().map(ToString::to_string);
    compare("manifest", manifest(locked), manifest(came));
    compare("tree", Some(locked.tree.to_string()), Some(came.tree.to_string()));
    compare("key", locked.key.as_ref().map(ToString::to_string), came.key.as_ref().map(ToString::to_string));
    let digest = |it: &Locked, name: &str| {
        let hook = it.hooks.iter().find(|hook| hook.name == name)?;
        Some(format!("{} {}", hook.kind.as_str(), hook.digest))
    };
    let mut names: Vec<&str> =
        locked.hooks.iter().chain(&came.hooks).map(|hook| hook.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        compare(&format!("hook {}", escape(name, 200)), digest(locked, name), digest(came, name));
    }
    if differs.is_empty() {
        return Ok(());
    }
    let what = format!("is not what plugins.lock says: {}", differs.join("; "));
    let error = PluginError::new(locked.name.to_string(), PluginErrorKind::Mismatch(what));
    let name = &locked.name;
    Err(error.hint(format!("find out why; `hookbox plugin update {name}` takes what the source has now")))
}

impl Arrived {
    /// The digest of all of it.
    pub(super) fn tree(&self) -> &Digest {
        self.staged.digest()
    }

    /// All files of it.
    pub(super) fn files(&self) -> Result<Files, PluginError> {
        Files::of(&self.staged.path())
    }

    /// Shows it, on standard error.
    pub(super) fn show(&self) {
        let manifest = self.locked.manifest.as_ref().map(|it| format!("manifest {it}"));
        let commit = self.locked.commit.as_ref().map(|it| format!("commit {it}"));
        let origin = Origin { source: &self.shown, resolved: commit.or(manifest) };
        account::show(&self.name.to_string(), &origin, &self.contents);
        if self.signed {
            say("  signed  by the key that was given");
        }
    }

    /// Whether there is anything in it to trust.
    pub(super) fn has_hooks(&self) -> bool {
        self.contents.enabled().next().is_some()
    }

    /// Puts it in its place, and records what the user said of it: a yes trusts what was shown, a no takes back what
    /// was said before. Without either, what is recorded stays as it is.
    pub(super) async fn install(
        self,
        here: &Here<'_>,
        plugins: &Plugins,
        replace: Replace,
        said: Option<Said<'_>>,
    ) -> anyhow::Result<Row> {
        let Self { name, locked, contents, staged, .. } = self;
        let tree = staged.digest().clone();
        let installed = {
            let guard = place::lock(plugins)?;
            hookbox_plugins::install(&guard, staged, locked, replace, &Silent).map_err(failed)?
        };
        let manager = here.manager().await?;
        match said {
            Some(said) if said.answer == Answer::Yes => {
                let shown = Shown { contents: &contents, tree: &tree };
                if contents.enabled().next().is_some()
                    && let Err(error) = trusting::record(&manager, &installed, &shown, &said)
                {
                    say(format_args!("{name} is installed, and nothing of it was trusted"));
                    return Err(error);
                }
            }
            Some(said) => drop(trusting::forget(&manager, plugins, &installed.path, said.besides)?),
            None => {}
        }
        let there = There::from(installed);
        let row = row::of(plugins, &there, &contents, &manager, &row::records(&manager)?);
        advise(&row, said.is_some_and(|it| it.grant));
        Ok(row)
    }
}

/// Says what the user can do next.
fn advise(row: &Row, granted: bool) {
    let name = &row.name;
    let untrusted: Vec<&str> = row.untrusted().collect();
    if !untrusted.is_empty() {
        say(format_args!(
            "{name}: {} of its hooks are not trusted, and run only as far as that allows",
            untrusted.len()
        ));
        hint(format_args!(
            "look at them with `hookbox plugin show {name}`, then `hookbox trust {name}`, or one by one: {}",
            untrusted.iter().take(20).map(|it| escape(&shell_word(it), 300)).collect::<Vec<_>>().join(" ")
        ));
    }
    if granted {
        return;
    }
    for (hook, missing) in row.without_grants() {
        let rights: Vec<String> = missing.iter().map(|right| shell_word(&right.to_string())).collect();
        let line = format!("hookbox grants add {} {}", shell_word(hook), rights.join(" "));
        hint(format_args!(
            "{} asks for what it does not have until you grant it: {}",
            escape(hook, 200),
            escape(&line, 4096)
        ));
    }
}

/// What `add` and `update` print of a plugin, without `--json` (ADR 029).
pub(super) fn summary(verb: &str, row: &Row) -> String {
    let (skills, recipes, hooks) = row.counts();
    format!("{verb} {}:\n  Skills:  {skills}\n  Recipes: {recipes}\n  Hooks:   {hooks}", row.name)
}

/// Whether the work was ended by a signal, so that nothing else is begun.
pub(super) fn is_interrupt(error: &anyhow::Error) -> bool {
    error.is::<Interrupted>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hookbox::Kind;
    use hookbox_plugins::LockedHook;

    fn locked() -> Locked {
        let hook = |name: &str, kind| LockedHook {
            name: name.to_owned(),
            kind,
            digest: Digest::of(name.as_bytes()),
        };
        Locked {
            name: "org/repo".parse().unwrap(),
            source: "https://example.com/org/repo".to_owned(),
            reference: None,
            commit: Some("0".repeat(40)),
            manifest: None,
            tree: Digest::of(b"tree"),
            key: None,
            installed: "2026-01-01T00:00:00Z".to_owned(),
            hooks: vec![hook("a", Kind::Native), hook("b.wasm", Kind::Component)],
        }
    }

    #[test]
    fn all_that_differs_from_the_lock_file_is_named() {
        type Change = fn(&mut Locked);
        let cases: [(Change, &[&str]); 10] = [
            (|_| {}, &[]),
            (|it| it.installed = "2026-02-01T00:00:00Z".to_owned(), &[]),
            (|it| it.commit = Some("1".repeat(40)), &["commit: expected 0000", "found 1111"]),
            (|it| it.commit = None, &["commit: expected 0000", "found none"]),
            (|it| it.manifest = Some(Digest::of(b"m")), &["manifest: expected none, found sha256:"]),
            (|it| it.tree = Digest::of(b"other"), &["tree: expected sha256:"]),
            (|it| it.key = Some(Digest::of(b"k")), &["key: expected none, found sha256:"]),
            (
                |it| it.hooks[0].kind = Kind::Component,
                &["hook a: expected native sha256:", "found component"],
            ),
            (|it| it.hooks[0].digest = Digest::of(b"x"), &["hook a: expected native sha256:"]),
            (
                |it| it.hooks[1].name = "evil\u{1b}.wasm".to_owned(),
                &[
                    "hook b.wasm: expected component sha256:",
                    "found none; hook evil\\u{1b}.wasm: expected none",
                ],
            ),
        ];
        for (change, want) in cases {
            let mut came = locked();
            change(&mut came);
            let checked = is_what_was_locked(&locked(), &came);
            assert_eq!(checked.is_ok(), want.is_empty(), "{want:?}");
            let text = checked.err().map(|error| error.to_string()).unwrap_or_default();
            for part in want {
                assert!(text.contains(part), "{part}: {text}");
            }
        }
    }
}
