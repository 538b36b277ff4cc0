//! Plugins in OCI registries: pulled into a [`Stage`], pushed, and checked against cosign's signatures.
//!
//! Two kinds of artifacts are installed. A *component*, as `wkg` and other WebAssembly tools publish it (configuration
//! `application/vnd.wasm.config.v0+json`, one layer `application/wasm`), becomes a plugin with one hook. A *plugin
//! directory* (artifact type [`PLUGIN_ARTIFACT_TYPE`], one layer with a tar archive) becomes what the archive holds.
//!
//! A registry is not believed. What it sends has limits in bytes and in time; the manifest is what its digest says,
//! and everything else what the manifest says. Nothing leads from HTTPS to HTTP, and credentials are sent to nobody but
//! the registry and the token service that it names.

mod address;
mod archive;
mod artifact;
mod challenge;
mod connection;
mod credentials;
mod login;
mod manifest;
mod pack;
mod push;
mod repository;
mod signature;

use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;

pub use artifact::PLUGIN_ARTIFACT_TYPE;
pub use push::Description;
pub use signature::PublicKey;

use self::artifact::{Artifact, Blob, Mismatch};
use self::connection::Access;
use self::repository::Repository;
use super::{Observer, OciReference, PluginError, PluginErrorKind, PluginName, Resolved, Stage, Step, fetch};
use hookbox::hook::Digest;

/// How large the configuration of a component may be, in bytes: the names of its imports and exports.
const MAX_CONFIG: u64 = 1 << 20;
/// How much a tar archive has beside the bytes of its files, in bytes for each of them: headers, a long name, padding.
const ARCHIVE_OVERHEAD: u64 = 4096;

/// How long a registry may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// To take a connection. 10 s.
    pub connect: Duration,
    /// To say the next thing, be it a byte. 30 s.
    pub read: Duration,
    /// For everything that belongs to one plugin. 10 min.
    pub whole: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            read: Duration::from_secs(30),
            whole: Duration::from_secs(600),
        }
    }
}

/// How registries are spoken to.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Speak plain HTTP to every registry. Without it, to registries on this machine only (`localhost`, 127.0.0.0/8,
    /// `::1`), and HTTPS to all others; there is no way back from HTTPS. Whoever is on the way can read the
    /// credentials then, and can answer in the registry's place. `false`.
    pub plain_http: bool,
    /// The directory of docker's configuration, for credentials. `None`: `DOCKER_CONFIG`, else `~/.docker`.
    pub docker_config: Option<PathBuf>,
    /// How long a registry may take.
    pub timeouts: Timeouts,
}

/// Where artifacts are pulled from and pushed to: any registry, in one way.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    options: Options,
}

impl Registry {
    /// Speaks to registries with these options.
    pub fn new(options: Options) -> Self {
        Self { options }
    }

    /// Writes what a reference names into a stage. Of a component, the hook is called as the second part of `name`.
    ///
    /// With a `pin`, the artifact with this manifest and no other is pulled, whatever the tag names by now. With a
    /// `key`, its signature is checked before anything but its manifest is fetched. Unpacking blocks: on a runtime
    /// of one thread, nothing else goes on meanwhile.
    ///
    /// # Errors
    ///
    /// [`PluginErrorKind::Fetch`] where the registry cannot be reached, denies it, has no such thing, or one that is no
    /// plugin; [`PluginErrorKind::Mismatch`] where it sends other bytes than it should, or a signature is missing;
    /// [`PluginErrorKind::TooLarge`]; [`PluginErrorKind::Hostile`] and others of the stage for what is in the archive.
    pub async fn pull(
        &self,
        reference: &OciReference,
        name: &PluginName,
        pin: Option<&Digest>,
        key: Option<&PublicKey>,
        stage: &mut Stage<'_>,
        observer: &dyn Observer,
    ) -> Result<Resolved, PluginError> {
        let whole = self.options.timeouts.whole;
        let fetched = self.fetch(reference, pin, key, stage, observer);
        let Ok(fetched) = tokio::time::timeout(whole, fetched).await else {
            return Err(too_slow(reference, whole));
        };
        let (digest, artifact) = fetched?;
        fetch::blocking(|| artifact.write(name, stage))?;
        Ok(Resolved::Manifest(digest))
    }

    /// Brings an artifact into the stage's scratch directory, checked.
    async fn fetch(
        &self,
        reference: &OciReference,
        pin: Option<&Digest>,
        key: Option<&PublicKey>,
        stage: &Stage<'_>,
        observer: &dyn Observer,
    ) -> Result<(Digest, Fetched), PluginError> {
        observer.step(&Step::Resolving);
        let mut repository = Repository::new(reference, Access::Pull, &self.options).await?;
        let (digest, manifest) = resolve(&mut repository, reference, pin).await?;
        if let Some(key) = key {
            signature::verify(&mut repository, &digest, key).await?;
        }
        let named = format!("{}@{digest}", repository.name());
        let foreign = |Mismatch { expected, found, hint }: Mismatch| {
            let what = format!("expected {expected}, found {found}");
            let hint =
                hint.unwrap_or("publish a plugin with `hookbox plugin publish`, or a component with `wkg`");
            PluginError::new(&named, PluginErrorKind::Fetch(what)).hint(hint)
        };
        let (layer, limit, kind) = match Artifact::parse(&manifest).map_err(foreign)? {
            Artifact::Component { config, layer } => {
                let config = repository.bytes(&config, MAX_CONFIG).await?;
                artifact::check_component(&config).map_err(foreign)?;
                let limit = stage.limits().file;
                (layer, limit, FetchedKind::Component)
            }
            Artifact::Directory { layer, is_gzip } => {
                (layer, archive_limit(stage), FetchedKind::Archive { is_gzip })
            }
        };
        let path = stage.scratch().join("layer");
        let Blob { size, .. } = layer;
        observer.step(&Step::Fetching { done: 0, total: Some(size) });
        repository
            .file(&layer, limit, &path, |done| observer.step(&Step::Fetching { done, total: Some(size) }))
            .await?;
        Ok((digest, Fetched { path, size, kind }))
    }
}

/// How large an archive may be, packed or not, in bytes.
fn archive_limit(stage: &Stage<'_>) -> u64 {
    let limits = stage.limits();
    let entries = u64::try_from(limits.entries).unwrap_or(u64::MAX);
    limits.bytes.saturating_add(entries.saturating_mul(ARCHIVE_OVERHEAD))
}

/// A layer that was fetched and is what its digest says.
struct Fetched {
    path: PathBuf,
    /// In bytes.
    size: u64,
    kind: FetchedKind,
}

enum FetchedKind {
    Component,
    Archive { is_gzip: bool },
}

impl Fetched {
    /// Writes it into the stage.
    fn write(&self, name: &PluginName, stage: &mut Stage<'_>) -> Result<(), PluginError> {
        let file = std::fs::File::open(&self.path).map_err(|error| PluginError::io(&self.path, error))?;
        match self.kind {
            FetchedKind::Component => {
                let repo = name.repo();
                let file_name =
                    if repo.ends_with(".wasm") { repo.to_owned() } else { format!("{repo}.wasm") };
                let path = stage.path(format!("hooks/{file_name}").as_bytes())?;
                stage.file(&path, false, Some(self.size), file)
            }
            FetchedKind::Archive { is_gzip } => archive::unpack(file, is_gzip, archive_limit(stage), stage),
        }
    }
}

/// The manifest that a reference names, and its digest.
async fn resolve(
    repository: &mut Repository,
    reference: &OciReference,
    pin: Option<&Digest>,
) -> Result<(Digest, Bytes), PluginError> {
    if let (Some(pin), Some(digest)) = (pin, &reference.digest)
        && pin != digest
    {
        return Err(
            repository.mismatch(format!("expected the manifest {pin}, found a reference to {digest}"))
        );
    }
    let wanted = pin.or(reference.digest.as_ref());
    let asked = match wanted {
        Some(digest) => digest.to_string(),
        None => reference.tag.clone().unwrap_or_else(|| "latest".to_owned()),
    };
    let Some(manifest) = repository.manifest(&asked).await? else {
        return Err(repository
            .failed(format!("expected an artifact {asked}, found nothing"))
            .hint("check the name, the tag, and whether it is private: docker login"));
    };
    let digest = Digest::of(&manifest);
    match wanted {
        Some(wanted) if *wanted != digest => {
            Err(repository.mismatch(format!("expected the manifest {wanted}, found {digest}")))
        }
        _ => Ok((digest, manifest)),
    }
}

fn too_slow(reference: &OciReference, whole: Duration) -> PluginError {
    let what = format!("expected all of it within {whole:?}, found a registry that takes longer");
    PluginError::new(reference.to_string(), PluginErrorKind::Fetch(what)).hint("try again later")
}
