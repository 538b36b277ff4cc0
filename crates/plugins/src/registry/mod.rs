//! Plugins in OCI registries: pulled into a [`Stage`], pushed, and checked against cosign's signatures.
//!
//! Two kinds of artifacts are installed. A *component*, as `wkg` and other WebAssembly tools publish it
//! (configuration `application/vnd.wasm.config.v0+json`, one layer `application/wasm`), becomes a plugin with
//! one hook. A *plugin directory* (artifact type [`PLUGIN_ARTIFACT_TYPE`], one layer with a tar archive) is
//! unpacked.
//!
//! A registry is not trusted. Everything that it sends has limits in bytes and in time. The manifest is
//! checked against its digest, and all content against the manifest. HTTPS is never left for HTTP, and only
//! the registry and its token service get credentials.

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
mod transport;

use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;

pub use artifact::PLUGIN_ARTIFACT_TYPE;
pub use push::Description;
pub use signature::PublicKey;

use self::artifact::{Artifact, Mismatch};
use self::connection::{Access, Repository};
use super::blocking::blocking;
use super::{Observer, OciReference, PluginError, PluginErrorKind, PluginName, Resolved, Stage, Step};
use hookbox::hook::Digest;

/// The bytes of a tar archive per entry, beside the content: headers, a long name, padding.
const ARCHIVE_OVERHEAD: u64 = 4096;

/// The time limits for a registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// To accept a connection. 10 s.
    pub connect: Duration,
    /// To send the next bytes. 30 s.
    pub read: Duration,
    /// For one plugin as a whole. 10 min.
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

/// The options for requests to registries.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Use plain HTTP for every registry. Others can then read the credentials, and can answer in the
    /// registry's place. If `false`, HTTP is for registries on this machine only (`localhost`, 127.0.0.0/8,
    /// `::1`). `false`.
    pub plain_http: bool,
    /// The directory of docker's configuration, for credentials. `None`: `DOCKER_CONFIG`, else `~/.docker`.
    pub docker_config: Option<PathBuf>,
    /// The time limits.
    pub timeouts: Timeouts,
}

/// A client that pulls artifacts from any registry, and pushes them.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    options: Options,
}

impl Registry {
    /// Makes a client with these options.
    pub fn new(options: Options) -> Self {
        Self { options }
    }

    /// Writes the artifact of a reference into a stage. The hook of a component is named after the second
    /// part of `name`.
    ///
    /// With a `pin`, the artifact with exactly this manifest is pulled, wherever the tag points now. With a
    /// `key`, the signature is checked before anything but the manifest is fetched. Unpacking blocks: on a
    /// runtime of one thread no other task runs meanwhile.
    ///
    /// # Errors
    ///
    /// * [`PluginErrorKind::Fetch`] if the registry cannot be reached, refuses, or has no plugin under this
    ///   reference;
    /// * [`PluginErrorKind::Mismatch`] if content has another digest, or the signature is missing;
    /// * [`PluginErrorKind::TooLarge`], [`PluginErrorKind::Hostile`] and other errors of the stage.
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
        blocking(|| write(&artifact, name, stage))?;
        Ok(Resolved::Manifest(digest))
    }

    /// Fetches an artifact into the stage's scratch directory, and checks it.
    async fn fetch(
        &self,
        reference: &OciReference,
        pin: Option<&Digest>,
        key: Option<&PublicKey>,
        stage: &Stage<'_>,
        observer: &dyn Observer,
    ) -> Result<(Digest, Artifact), PluginError> {
        observer.step(&Step::Resolving);
        let mut repository = Repository::new(reference, Access::Pull, &self.options).await?;
        let (digest, manifest) = resolve(&mut repository, reference, pin).await?;
        if let Some(key) = key {
            signature::verify(&mut repository, &digest, key).await?;
        }
        let named = format!("{}@{digest}", repository.transport.name);
        let foreign = |Mismatch { expected, found, hint }: Mismatch| {
            let what = format!("expected {expected}, found {found}");
            let hint =
                hint.unwrap_or("publish a plugin with `hookbox plugin publish`, or a component with `wkg`");
            PluginError::new(&named, PluginErrorKind::Fetch(what)).hint(hint)
        };
        let artifact = Artifact::parse(&manifest).map_err(foreign)?;
        let (layer, limit) = match &artifact {
            Artifact::Component { config, layer } => {
                let config = repository.bytes(config).await?;
                artifact::check_component(&config).map_err(foreign)?;
                (layer, stage.limits().file)
            }
            Artifact::Directory { layer, .. } => (layer, archive_limit(stage)),
        };
        let report = |done| observer.step(&Step::Fetching { done, total: Some(layer.size) });
        report(0);
        repository.file(layer, limit, &fetched_layer(stage), report).await?;
        Ok((digest, artifact))
    }
}

/// Returns the path of the fetched layer.
fn fetched_layer(stage: &Stage<'_>) -> PathBuf {
    stage.scratch().join("layer")
}

/// Returns the most bytes of an archive, packed or not.
fn archive_limit(stage: &Stage<'_>) -> u64 {
    let limits = stage.limits();
    let entries = u64::try_from(limits.entries).unwrap_or(u64::MAX);
    limits.bytes.saturating_add(entries.saturating_mul(ARCHIVE_OVERHEAD))
}

/// Writes the fetched layer of an artifact into the stage.
fn write(artifact: &Artifact, name: &PluginName, stage: &mut Stage<'_>) -> Result<(), PluginError> {
    let path = fetched_layer(stage);
    let file = std::fs::File::open(&path).map_err(|error| PluginError::io(&path, error))?;
    match artifact {
        Artifact::Component { layer, .. } => {
            let hook = name.repo().strip_suffix(".wasm").unwrap_or(name.repo());
            let path = stage.path(format!("hooks/{hook}.wasm").as_bytes())?;
            stage.file(&path, false, Some(layer.size), file)
        }
        Artifact::Directory { is_gzip, .. } => archive::unpack(file, *is_gzip, archive_limit(stage), stage),
    }
}

/// Gets the manifest of a reference, and its digest.
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
            .transport
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
