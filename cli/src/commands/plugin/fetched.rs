//! Fetching a plugin, and installing a fetched one.

use hookbox::Digest;
use hookbox::escape;
use hookbox_plugins::registry::{Options, PublicKey, Registry};
use hookbox_plugins::{
    Contents, Files, InstalledFiles, Location, Locked, PluginError, PluginErrorKind, PluginName, Plugins,
    Replace, Resolved, Silent, Source, Stage, Staged,
};
use hookbox_system::text::shell_word;

use super::describe;
use super::fetch_options::FetchOptions;
use super::locations::{Environment, KnownPlugin};
use super::record_trust::{self, Decision};
use super::row::{self, Row};
use super::{locations, of_source};
use crate::error::{hint, say};
use crate::interrupt::{Interrupted, unless_interrupted};
use crate::progress::{Progress, looking};

/// A plugin to fetch.
#[derive(Clone, Debug)]
pub(super) struct FetchRequest {
    pub(super) name: PluginName,
    pub(super) source: Source,
    /// The entry of the lock file that the plugin has to match.
    pub(super) locked: Option<Locked>,
    /// The key to verify its signature with: see [`FetchOptions::key`].
    pub(super) key: Option<PublicKey>,
}

/// A fetched plugin, and its contents.
pub(super) struct FetchedPlugin {
    pub(super) name: PluginName,
    /// The source, escaped, without a password.
    shown: String,
    pub(super) locked: Locked,
    pub(super) contents: Contents,
    staged: Staged,
    /// True if its signature was verified now. A lock file can claim anything.
    signed: bool,
}

impl FetchRequest {
    /// Fetches the plugin, compares it with the lock file if that names it, and reads its contents.
    pub(super) async fn fetch(
        self,
        env: &Environment<'_>,
        plugins: &Plugins,
        options: &FetchOptions,
    ) -> anyhow::Result<FetchedPlugin> {
        let shown = self.source.shown();
        let (resolved, staged) =
            self.stage(plugins, options).await?.map_err(|error| of_source(error, &shown))?;
        let Self { name, source, locked: pinned, key } = self;
        let staged = match &pinned {
            Some(pinned) => staged.as_locked(&pinned.tree)?,
            None => staged,
        };
        let (path, dir) = (staged.path(), name.dir());
        let look = Contents::look(&path, &dir, plugins.location(), &env.runtime);
        let contents = unless_interrupted(looking(&hookbox::manager::Progress::default(), look)).await?;
        check_contents(&contents, &shown)?;
        let (commit, manifest) = match resolved {
            Resolved::Commit(commit) => (Some(commit), None),
            Resolved::Manifest(digest) => (None, Some(digest)),
            Resolved::Directory => (None, None),
        };
        let fetched = Locked {
            name: name.clone(),
            source: source.text(plugins.base()),
            reference: source.reference().map(str::to_owned),
            commit,
            manifest,
            tree: staged.digest().clone(),
            key: key.as_ref().map(PublicKey::fingerprint),
            installed: hookbox::trust::now(),
            files: match plugins.location() {
                Location::Global => staged.files().clone(),
                Location::Local => InstalledFiles::default(),
            },
            hooks: contents.locked(),
        };
        let locked = match pinned {
            Some(pinned) => {
                check_locked(&pinned, &fetched)?;
                Locked { files: fetched.files, ..pinned }
            }
            None => fetched,
        };
        Ok(FetchedPlugin { shown, name, locked, contents, staged, signed: key.is_some() })
    }

    /// Fetches the plugin into a staging directory. A signal ends this, and removes the directory.
    async fn stage(
        &self,
        plugins: &Plugins,
        options: &FetchOptions,
    ) -> Result<Result<(Resolved, Staged), PluginError>, Interrupted> {
        unless_interrupted(async {
            let progress = Progress::new(&self.name.to_string());
            let mut stage = Stage::new(plugins, &progress)?;
            let resolved = self.fetch_into(&mut stage, options, &progress).await?;
            let staged = stage.finish()?;
            // A signal that arrived during blocking work is noticed here.
            tokio::task::yield_now().await;
            Ok((resolved, staged))
        })
        .await
    }

    async fn fetch_into(
        &self,
        stage: &mut Stage<'_>,
        options: &FetchOptions,
        progress: &Progress,
    ) -> Result<Resolved, PluginError> {
        let (commit, manifest) =
            self.locked.as_ref().map_or((None, None), |it| (it.commit.clone(), it.manifest.clone()));
        if let Source::Oci(reference) = &self.source {
            let options = Options { plain_http: options.plain_http, ..Options::default() };
            let (registry, key) = (Registry::new(options), self.key.as_ref());
            return registry.pull(reference, &self.name, manifest.as_ref(), key, stage, progress).await;
        }
        let pin = commit.map(Resolved::Commit).or(manifest.map(Resolved::Manifest));
        hookbox_plugins::fetch::fetch(&self.source, pin.as_ref(), stage, progress).await
    }
}

/// Checks that a plugin has anything usable, and the files that its commands run. Prints its problems if it is empty.
pub(super) fn check_contents(contents: &Contents, shown: &str) -> anyhow::Result<()> {
    if !contents.is_empty() {
        return Ok(contents.check_command_files(shown)?);
    }
    describe::problems(shown, contents);
    let hint = "expected skills/NAME/SKILL.md, recipes/NAME.md, or hooks/NAME with an execute bit, .wasm or .rules.toml";
    // The source is escaped already.
    Err(PluginError { what: shown.to_owned(), kind: PluginErrorKind::Empty, hint: Some(hint.into()) }.into())
}

/// Checks that a plugin matches its entry of the lock file. The error lists all differences.
pub(super) fn check_locked(locked: &Locked, found: &Locked) -> Result<(), PluginError> {
    let text = |digest: &Option<Digest>| digest.as_ref().map(ToString::to_string);
    let hook = |it: &Locked, name: &str| {
        let hook = it.hooks.iter().find(|hook| hook.name == name)?;
        Some(format!("{} {}", hook.kind.as_str(), hook.digest))
    };
    let mut names: Vec<&str> =
        locked.hooks.iter().chain(&found.hooks).map(|hook| hook.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let mut fields = vec![
        ("commit".to_owned(), locked.commit.clone(), found.commit.clone()),
        ("manifest".to_owned(), text(&locked.manifest), text(&found.manifest)),
        ("tree".to_owned(), Some(locked.tree.to_string()), Some(found.tree.to_string())),
        ("key".to_owned(), text(&locked.key), text(&found.key)),
    ];
    fields.extend(
        names
            .iter()
            .map(|name| (format!("hook {}", escape(name, 200)), hook(locked, name), hook(found, name))),
    );
    let or_none = |it: Option<String>| it.unwrap_or_else(|| "none".to_owned());
    let differences: Vec<String> = fields
        .into_iter()
        .filter(|(_, locked, found)| locked != found)
        .map(|(what, locked, found)| {
            format!("{what}: expected {}, found {}", or_none(locked), or_none(found))
        })
        .collect();
    if differences.is_empty() {
        return Ok(());
    }
    let name = &locked.name;
    let what = format!("is not what plugins.lock says: {}", differences.join("; "));
    let error = PluginError::new(name.to_string(), PluginErrorKind::Mismatch(what));
    Err(error.hint(format!("find out why; `hookbox plugin update {name}` takes what the source has now")))
}

impl FetchedPlugin {
    /// Returns the digest of the plugin.
    pub(super) fn tree(&self) -> &Digest {
        self.staged.digest()
    }

    /// Lists its files.
    pub(super) fn files(&self) -> Result<Files, PluginError> {
        Files::of(&self.staged.path())
    }

    /// Describes the plugin on standard error: its origin, its contents, and the rights that its hooks ask
    /// for.
    pub(super) fn show(&self) {
        let (name, contents) = (self.name.to_string(), &self.contents);
        say(&name);
        say(format_args!("  source  {}", self.shown));
        if let Some(commit) = &self.locked.commit {
            say(format_args!("  is      commit {commit}"));
        } else if let Some(manifest) = &self.locked.manifest {
            say(format_args!("  is      manifest {manifest}"));
        }
        say(format_args!("  skills  {}", describe::list(&contents.skills)));
        say(format_args!("  recipes {}", describe::list(&contents.recipes)));
        say(format_args!("  hooks   {}", describe::counts(contents)));
        if !contents.others.is_empty() {
            say(format_args!("  others  {}", describe::list(&contents.others)));
        }
        contents.hooks.iter().flat_map(|it| describe::hook(it, false)).for_each(say);
        if contents.enabled().any(|it| !it.kind.is_one_file()) {
            say("  once they are trusted, native hooks and commands run with all your rights");
            say("  trust covers the installed files; in a repository, a new file beside them ends it");
        }
        describe::problems(&name, contents);
        if self.signed {
            say("  signed  by the key that was given");
        }
    }

    /// Returns true if it has hooks to trust.
    pub(super) fn has_hooks(&self) -> bool {
        self.contents.enabled().next().is_some()
    }

    /// Installs the plugin and records the user's decision: a yes trusts the shown hooks, a no removes
    /// earlier trust. Without a decision the records stay.
    pub(super) async fn install(
        self,
        env: &Environment<'_>,
        plugins: &Plugins,
        replace: Replace,
        decision: Option<Decision<'_>>,
    ) -> anyhow::Result<Row> {
        let Self { name, locked, contents, staged, .. } = self;
        let installed = {
            let lock = locations::lock(plugins)?;
            hookbox_plugins::install(&lock, staged, locked, replace, &Silent)?
        };
        let manager = env.manager().await?;
        match decision {
            Some(decision) if decision.trust => {
                if contents.enabled().next().is_some()
                    && let Err(error) = record_trust::record(&manager, &installed, &contents, &decision)
                {
                    say(format_args!("{name} is installed, and nothing of it was trusted"));
                    return Err(error);
                }
            }
            Some(decision) => {
                record_trust::forget(&manager, plugins, &installed.path, decision.besides)?;
            }
            None => {}
        }
        let known = KnownPlugin::from(installed);
        let row = row::of(plugins, &known, &contents, &manager)?;
        advise(&row, decision.is_some_and(|it| it.grant));
        Ok(row)
    }
}

/// Prints the next steps for hooks that are not trusted or lack grants.
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

/// Returns the text that `add` and `update` print for a plugin.
pub(super) fn summary(verb: &str, row: &Row) -> String {
    let (skills, recipes, hooks) = row.counts();
    format!("{verb} {}:\n  Skills:  {skills}\n  Recipes: {recipes}\n  Hooks:   {hooks}", row.name)
}
