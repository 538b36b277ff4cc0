//! A plugin that somebody wants. It is fetched and checked before anybody decides about it.

use super::{
    Contents, Hosts, InstalledFiles, KnownPlugin, Location, Locked, Observer, PluginError, PluginErrorKind,
    PluginName, Plugins, Preview, Replace, Resolved, Source, Stage, check_name, digest, fetch, installed,
};
use hookbox::Runtime;
use hookbox::hook::Digest;

#[cfg(feature = "oci")]
use super::registry::{Options, PublicKey, Registry};

/// A plugin to fetch, and the rules for it.
#[derive(Clone, Debug)]
pub struct Request {
    /// The name under which it is installed.
    pub name: PluginName,
    /// Its source.
    pub source: Source,
    /// The treatment of an installed plugin of this name. [`Replace::No`].
    pub replace: Replace,
    /// Use registries without TLS. `false`.
    pub plain_http: bool,
    /// The entry of the lock file that the plugin has to match.
    pinned: Option<Locked>,
    /// The digest of the key in its entry of the lock file.
    recorded: Option<Digest>,
    /// The key to verify its signature with.
    #[cfg(feature = "oci")]
    key: Option<PublicKey>,
}

impl Request {
    /// Makes a request for a new plugin. Without a name, it gets that of its source.
    ///
    /// # Errors
    ///
    /// [`PluginErrorKind::Source`] if the address has a password; an error if the source gives no name.
    pub fn new(source: Source, name: Option<PluginName>) -> Result<Self, PluginError> {
        if source.has_password() {
            let what = "expected an address without a password: plugins.lock would contain it".to_owned();
            return Err(PluginError::new(source.shown(), PluginErrorKind::Source(what))
                .hint("let git keep it, with a credential helper"));
        }
        Ok(Self {
            name: name.map_or_else(|| source.name(), Ok)?,
            source,
            replace: Replace::No,
            plain_http: false,
            pinned: None,
            recorded: None,
            #[cfg(feature = "oci")]
            key: None,
        })
    }

    /// Makes the request for a plugin of the lock file in exactly the state that the file names. `None` if it is installed
    /// in this state.
    ///
    /// # Errors
    ///
    /// [`PluginErrorKind::Mismatch`] if it is installed in another state and `replace` is `No`, or has other hooks than the
    /// lock file says; an error of the file system.
    pub async fn restore(
        plugins: &Plugins,
        locked: &Locked,
        replace: Replace,
        runtime: &Runtime,
    ) -> Result<Option<Self>, PluginError> {
        if let Some(installed) =
            installed(plugins)?.into_iter().find(|it| it.id.as_ref() == Some(&locked.name))
        {
            let now = digest(&installed.path, Some(locked))?;
            if now == locked.tree {
                let contents =
                    Contents::look(&installed.path, &installed.dir, plugins.location(), runtime).await;
                check_locked(locked, &Locked { hooks: contents.locked(), ..locked.clone() })?;
                return Ok(None);
            }
            if replace == Replace::No {
                let what = format!(
                    "is installed with other bytes than plugins.lock says: expected {}, found {now}",
                    locked.tree
                );
                let error = PluginError::new(locked.name.to_string(), PluginErrorKind::Mismatch(what));
                return Err(error.hint("give --force to replace it by what plugins.lock says"));
            }
        }
        let request = Self::of_locked(plugins, locked, locked.reference.as_deref())?;
        Ok(Some(Self { pinned: Some(locked.clone()), replace, ..request }))
    }

    /// Makes the request for the present state of an installed plugin's source, at another branch, tag or commit if
    /// `reference` names one.
    ///
    /// # Errors
    ///
    /// [`PluginErrorKind::Unexpected`] if hookbox did not install it, or only the lock file names it.
    pub fn update(
        plugins: &Plugins,
        known: &KnownPlugin,
        reference: Option<&str>,
    ) -> Result<Self, PluginError> {
        let Some(locked) = &known.locked else {
            let what = "was not installed by hookbox, so its source is not known".to_owned();
            let error = PluginError::new(&known.name, PluginErrorKind::Unexpected(what));
            return Err(error.hint("install it: hookbox plugin add SOURCE --force"));
        };
        if !known.is_here {
            return Err(known.missing(plugins));
        }
        let request = Self::of_locked(plugins, locked, reference.or(locked.reference.as_deref()))?;
        Ok(Self { replace: Replace::Yes, ..request })
    }

    fn of_locked(plugins: &Plugins, locked: &Locked, reference: Option<&str>) -> Result<Self, PluginError> {
        // The path of a directory is relative to the base.
        let source = Source::parse(&locked.source, &Hosts::new(plugins.base()))?.at(reference)?;
        let request = Self::new(source, Some(locked.name.clone()))?;
        Ok(Self { recorded: locked.key.clone(), ..request })
    }

    /// Sets the key to verify the signature with. A plugin that was verified with a key needs that key again.
    ///
    /// # Errors
    ///
    /// [`PluginErrorKind::Source`] if the key is missing, or the source is not in a registry;
    /// [`PluginErrorKind::Mismatch`] if the lock file names another key.
    #[cfg(feature = "oci")]
    pub fn verify(mut self, key: Option<&PublicKey>) -> Result<Self, PluginError> {
        self.key = key.cloned();
        self.check_key().map(|()| self)
    }

    fn check_key(&self) -> Result<(), PluginError> {
        let (kind, hint) = match (self.fingerprint(), &self.recorded) {
            (Some(key), Some(recorded)) if key != *recorded => (
                PluginErrorKind::Mismatch(format!(
                    "is verified against another key: plugins.lock names {recorded}, --key is {key}"
                )),
                "give the same key, or take the new one: hookbox plugin add … --force --key FILE",
            ),
            (None, Some(_)) => (
                PluginErrorKind::Source(
                    "expected --key: its signature was verified when it was installed".to_owned(),
                ),
                "give the public key again, so that what comes now is verified as well",
            ),
            (Some(_), None) if !matches!(self.source, Source::Oci(_)) => (
                PluginErrorKind::Source(
                    "expected a source of oci:// for --key: no other is signed".to_owned(),
                ),
                "leave out --key",
            ),
            _ => return Ok(()),
        };
        Err(PluginError::new(self.source.shown(), kind).hint(hint))
    }

    /// Fetches the plugin into its plugins directory, under a name that no agent reads, and checks it: its name, its files,
    /// its signature, its entry of the lock file, and the files that its commands run. Nothing of it runs but `describe` of
    /// its components, in a sandbox without grants.
    ///
    /// # Errors
    ///
    /// Those of `verify`, and any error about the source, the files and the lock file. Nothing has changed then, as after dropping the future.
    pub async fn prepare<'p>(
        self,
        plugins: &'p Plugins,
        runtime: &Runtime,
        observer: &dyn Observer,
    ) -> Result<Preview<'p>, PluginError> {
        self.check_key()?;
        check_name(plugins, &self.name, self.replace)?;
        let before = plugins.lock()?.get(&self.name).and_then(|it| it.key.clone());
        let source = self.source.shown();
        let mut stage = Stage::new(plugins, observer)?;
        let resolved = self.fetch(&mut stage, observer).await.map_err(|error| error.of_source(&source))?;
        let staged = stage.finish().map_err(|error| error.of_source(&source))?;
        let key = self.fingerprint();
        let Self { name, source: from, replace, pinned, .. } = self;
        let staged = match &pinned {
            Some(pinned) => staged.as_locked(&pinned.tree)?,
            None => staged,
        };
        // A caller who gave up during the blocking work is noticed here.
        tokio::task::yield_now().await;
        let contents = Contents::look(&staged.path(), &name.dir(), plugins.location(), runtime).await;
        contents.check(&source)?;
        let (commit, manifest) = match resolved {
            Resolved::Commit(commit) => (Some(commit), None),
            Resolved::Manifest(digest) => (None, Some(digest)),
            Resolved::Directory => (None, None),
        };
        let warning = before.filter(|before| key.as_ref() != Some(before)).map(|before| {
            format!("{name} was verified against the key {before}, and what replaces it is not")
        });
        let is_signed = key.is_some();
        let fetched = Locked {
            name,
            source: from.text(plugins.base()),
            reference: from.reference().map(str::to_owned),
            commit,
            manifest,
            tree: staged.digest().clone(),
            key,
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
        Ok(Preview { source, locked, contents, is_signed, warning, plugins, replace, staged })
    }

    async fn fetch(&self, stage: &mut Stage<'_>, observer: &dyn Observer) -> Result<Resolved, PluginError> {
        let pinned = self.pinned.as_ref();
        let (commit, manifest) = pinned.map_or((None, None), |it| (it.commit.clone(), it.manifest.clone()));
        #[cfg(feature = "oci")]
        if let Source::Oci(reference) = &self.source {
            let options = Options { plain_http: self.plain_http, ..Options::default() };
            let (registry, key) = (Registry::new(options), self.key.as_ref());
            return registry.pull(reference, &self.name, manifest.as_ref(), key, stage, observer).await;
        }
        let pin = commit.map(Resolved::Commit).or(manifest.map(Resolved::Manifest));
        fetch::fetch(&self.source, pin.as_ref(), stage, observer).await
    }

    /// Returns the digest of the key that verifies its signature.
    pub(super) fn fingerprint(&self) -> Option<Digest> {
        #[cfg(feature = "oci")]
        return self.key.as_ref().map(PublicKey::fingerprint);
        #[cfg(not(feature = "oci"))]
        None
    }
}

/// Checks that a plugin matches its entry of the lock file. The error lists all differences.
fn check_locked(locked: &Locked, found: &Locked) -> Result<(), PluginError> {
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
        names.iter().map(|name| {
            (format!("hook {}", hookbox::escape(name, 200)), hook(locked, name), hook(found, name))
        }),
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
