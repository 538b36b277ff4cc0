//! A fetched plugin, which the user sees before anything of it is installed.

use std::path::PathBuf;

use super::record_trust::{forget, record};
use super::{
    Contents, Difference, Files, KnownPlugin, Locked, PluginError, PluginErrorKind, PluginName, Plugins,
    Replace, Silent, Staged, TrustChanges, digest, install,
};
use hookbox::Runtime;
use hookbox::hook::Digest;
use hookbox::manager::Manager;
use hookbox::trust::Record;

/// A plugin that was fetched and checked, and is not installed. Dropping this removes it.
#[derive(Debug)]
pub struct Preview<'p> {
    /// The source, escaped, without a password.
    pub source: String,
    /// The entry for the lock file.
    pub locked: Locked,
    /// Its skills, recipes and hooks.
    pub contents: Contents,
    /// True if its signature was verified now. A lock file can claim anything.
    pub is_signed: bool,
    /// A fact that the user should know before the decision.
    pub warning: Option<String>,
    pub(super) plugins: &'p Plugins,
    pub(super) replace: Replace,
    pub(super) staged: Staged,
}

/// The user's decision about the hooks of a plugin that was shown. Default: a no.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// True trusts the hooks as shown; false takes back earlier trust and grants.
    pub trust: bool,
    /// True grants the rights that trusted hooks ask for.
    pub grant: bool,
    /// The full names of the hooks that the user was not asked about. Their records stay.
    pub besides: Vec<String>,
}

/// An installed plugin, and the changes of trust in its hooks.
#[derive(Debug)]
pub struct Accepted {
    /// The plugin.
    pub installed: KnownPlugin,
    /// Its skills, recipes and hooks, as they were shown.
    pub contents: Contents,
    /// The hooks that were discovered after the installation.
    pub manager: Manager,
    /// The new records of trusted hooks.
    pub trusted: Vec<Record>,
    /// The records that were removed.
    pub forgotten: Vec<Record>,
    /// The hooks that are not trusted in spite of a yes, with the reasons, and other facts about trusted ones.
    pub warnings: Vec<PluginError>,
}

impl Preview<'_> {
    /// Returns the name under which it will be installed.
    pub fn name(&self) -> &PluginName {
        &self.locked.name
    }

    /// Returns true if it has hooks to trust.
    pub fn has_hooks(&self) -> bool {
        self.contents.enabled().next().is_some()
    }

    /// Installs the plugin and records the decision. Without a decision all records stay, which is right for the same bytes.
    ///
    /// `discover` finds the hooks after the installation: a [`Manager`] with the settings of the agent.
    ///
    /// # Errors
    ///
    /// [`PluginErrorKind::Untrusted`] and [`PluginErrorKind::Trust`] if the plugin is installed, and nothing of it could be
    /// trusted; an error of `discover`, after the installation; those of [`install()`], before it.
    pub async fn accept<E: From<PluginError>>(
        self,
        decision: Option<&Decision>,
        discover: impl Future<Output = Result<Manager, E>>,
    ) -> Result<Accepted, E> {
        let Self { locked, contents, plugins, replace, staged, .. } = self;
        let installed = install(&plugins.lock_exclusively()?, staged, locked, replace, &Silent)?;
        let manager = discover.await?;
        let (mut trusted, mut forgotten, mut warnings) = (Vec::new(), Vec::new(), Vec::new());
        match decision {
            Some(decision) if decision.trust && contents.enabled().next().is_none() => {}
            Some(decision) if decision.trust => {
                trusted = record(&manager, &installed, &contents, decision, &mut warnings)?;
            }
            Some(decision) => forgotten = forget(&manager, plugins, &installed.path, &decision.besides)?,
            None => {}
        }
        Ok(Accepted { installed, contents, manager, trusted, forgotten, warnings })
    }

    /// Compares the plugin with the installed one that it updates.
    ///
    /// # Errors
    ///
    /// An error if the installed plugin cannot be read, or hookbox did not install it.
    pub async fn update(&self, known: &KnownPlugin, runtime: &Runtime) -> Result<Update, PluginError> {
        let not_installed = || PluginError::new(&known.name, PluginErrorKind::NotInstalled);
        let old = known.locked.clone().ok_or_else(not_installed)?;
        let before = Contents::look(&known.path, &known.dir, self.plugins.location(), runtime).await;
        let tree = digest(&known.path, Some(&old))?;
        let same_bytes = tree == *self.staged.digest();
        let files = Files::of(&known.path).and_then(|files| Ok((files, Files::of(&self.staged.path())?)));
        let (difference, problem) = match files {
            Ok((old, new)) => (Difference::of_files((&before, &old), (&self.contents, &new)), None),
            Err(error) => (Difference::between(&before, &self.contents), Some(error)),
        };
        let is_current =
            same_bytes && revision(&old) == revision(&self.locked) && old.reference == self.locked.reference;
        let by_hand = tree != old.tree;
        let path = known.path.clone();
        Ok(Update { old, tree, by_hand, same_bytes, is_current, difference, problem, before, path })
    }
}

/// The way from an installed plugin to a fetched one.
#[derive(Debug)]
pub struct Update {
    /// The entry of the installed plugin in the lock file.
    pub old: Locked,
    /// The digest that the installed plugin has now.
    pub tree: Digest,
    /// True if somebody has changed the plugin since it was installed. An update loses that.
    pub by_hand: bool,
    /// True if all files are the same.
    pub same_bytes: bool,
    /// True if the revision and the reference are the same, too.
    pub is_current: bool,
    /// The differences; without those of files if there is a `problem`.
    pub difference: Difference,
    /// The reason why the files could not be compared.
    pub problem: Option<PluginError>,
    before: Contents,
    path: PathBuf,
}

impl Update {
    /// Returns the hooks that keep their trust, and those that need a new yes. The manager has to be a new one.
    pub fn trust(&self, preview: &Preview<'_>, manager: &Manager) -> TrustChanges {
        let all = manager.entries();
        let is_its = |name: &str| {
            all.iter().any(|it| it.name == name && it.found.reference.starts_with(&self.path) && it.trusted)
        };
        TrustChanges::between(&self.before, &preview.contents, self.same_bytes, is_its)
    }

    /// Returns the revisions before and after: a commit, a manifest or the digest of the files.
    pub fn revisions(&self, preview: &Preview<'_>) -> (String, String) {
        (revision(&self.old), revision(&preview.locked))
    }

    /// Checks that the update loses no change that was made by hand.
    ///
    /// # Errors
    ///
    /// [`PluginErrorKind::Mismatch`] if it does, unless `force`.
    pub fn check_by_hand(&self, force: bool) -> Result<(), PluginError> {
        if !self.by_hand || force {
            return Ok(());
        }
        let what = "was changed by hand since it was installed".to_owned();
        let error = PluginError::new(self.old.name.to_string(), PluginErrorKind::Mismatch(what));
        Err(error.hint("give --force to replace it; what is switched off in hookbox.toml stays so, what is renamed to .disable does not"))
    }
}

/// Returns the revision of a plugin: its commit, manifest or tree.
fn revision(locked: &Locked) -> String {
    match (&locked.commit, &locked.manifest) {
        (Some(commit), _) => commit.clone(),
        (None, Some(manifest)) => manifest.to_string(),
        (None, None) => locked.tree.to_string(),
    }
}
