//! Publishing: a component as other WebAssembly tools do, a plugin directory in the form of our own.

use std::collections::BTreeMap;

use bytes::Bytes;
use oci_client::client::{Config, ImageLayer};
use oci_client::manifest::{IMAGE_LAYER_GZIP_MEDIA_TYPE, OCI_IMAGE_MEDIA_TYPE, OciImageManifest};
use oci_wasm::{ToConfig as _, WasmConfig};
use serde_json::json;

use super::artifact::{PLUGIN_ARTIFACT_TYPE, PLUGIN_CONFIG_MEDIA_TYPE};
use super::connection::Access;
use super::repository::Repository;
use super::{Registry, pack, too_slow};
use crate::hook::Digest;
use crate::plugin::{Observer, OciReference, PluginError, PluginErrorKind, PluginName, Staged, Step};
use crate::text::escape;

/// Of which form the configuration of a published plugin directory is.
const FORMAT: u32 = 1;

/// What is said of an artifact in its annotations (OCI image specification, "Pre-Defined Annotation Keys"). What is
/// empty is not said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Description {
    /// What it is called.
    pub title: String,
    /// Its version.
    pub version: String,
    /// What it does, in a sentence.
    pub description: String,
    /// Where its source code is, an address.
    pub source: String,
}

impl Description {
    fn annotations(&self) -> BTreeMap<String, String> {
        let said = [
            ("title", &self.title),
            ("version", &self.version),
            ("description", &self.description),
            ("source", &self.source),
        ];
        said.into_iter()
            .filter(|(_, value)| !value.is_empty())
            .map(|(key, value)| (format!("org.opencontainers.image.{key}"), value.clone()))
            .collect()
    }
}

impl Registry {
    /// Publishes a component under a tag, as `wkg` does, and says what its manifest is called. The same component with
    /// the same description has the same name everywhere: the time of creation is 1970.
    ///
    /// # Errors
    ///
    /// Where the bytes are no component, the reference has a digest, or the registry cannot be reached or refuses it.
    pub async fn push_component(
        &self,
        reference: &OciReference,
        component: Vec<u8>,
        description: &Description,
        observer: &dyn Observer,
    ) -> Result<Digest, PluginError> {
        let no_component = |error: String| {
            let what = format!("expected a component, found bytes that are none: {}", escape(&error, 200));
            PluginError::new(reference.to_string(), PluginErrorKind::Unexpected(what))
        };
        let (mut config, layer) = WasmConfig::from_raw_component(component, None)
            .map_err(|error| no_component(error.to_string()))?;
        config.created = Default::default();
        let config = config.to_config().map_err(|error| no_component(error.to_string()))?;
        let mut manifest =
            OciImageManifest::build(std::slice::from_ref(&layer), &config, Some(description.annotations()));
        manifest.media_type = Some(OCI_IMAGE_MEDIA_TYPE.to_owned());
        self.push(reference, layer, config, &manifest, observer).await
    }

    /// Publishes a plugin directory under a tag, and says what its manifest is called. What was staged has passed all
    /// rules for plugins. The same plugin with the same description has the same name everywhere.
    ///
    /// # Errors
    ///
    /// Where it cannot be read, the reference has a digest, or the registry cannot be reached or refuses it.
    pub async fn push_directory(
        &self,
        reference: &OciReference,
        name: &PluginName,
        plugin: &Staged,
        description: &Description,
        observer: &dyn Observer,
    ) -> Result<Digest, PluginError> {
        let layer = ImageLayer::new(pack::pack(plugin)?, IMAGE_LAYER_GZIP_MEDIA_TYPE.to_owned(), None);
        let contents: BTreeMap<&str, Vec<String>> = pack::contents(plugin)?.into_iter().collect();
        let config = json!({"format": FORMAT, "name": name.to_string(), "contents": contents});
        let config = Config::new(config.to_string(), PLUGIN_CONFIG_MEDIA_TYPE.to_owned(), None);
        let mut manifest =
            OciImageManifest::build(std::slice::from_ref(&layer), &config, Some(description.annotations()));
        manifest.media_type = Some(OCI_IMAGE_MEDIA_TYPE.to_owned());
        manifest.artifact_type = Some(PLUGIN_ARTIFACT_TYPE.to_owned());
        self.push(reference, layer, config, &manifest, observer).await
    }

    async fn push(
        &self,
        reference: &OciReference,
        layer: ImageLayer,
        config: Config,
        manifest: &OciImageManifest,
        observer: &dyn Observer,
    ) -> Result<Digest, PluginError> {
        let wrong = |kind: PluginErrorKind| PluginError::new(reference.to_string(), kind);
        if reference.digest.is_some() {
            let what = "expected a tag to publish under, found a digest";
            return Err(wrong(PluginErrorKind::Source(what.to_owned())).hint("write oci://HOST/ORG/NAME:TAG"));
        }
        let manifest = serde_json::to_vec(manifest)
            .map_err(|error| wrong(PluginErrorKind::Unexpected(error.to_string())))?;
        let tag = reference.tag.as_deref().unwrap_or("latest");
        let total = (layer.data.len() + config.data.len() + manifest.len()) as u64;
        let pushed = async {
            observer.step(&Step::Resolving);
            let mut repository = Repository::new(reference, Access::Push, &self.options).await?;
            let mut done = 0;
            for content in [layer.data, config.data] {
                observer.step(&Step::Fetching { done, total: Some(total) });
                done += content.len() as u64;
                repository.upload(content).await?;
            }
            let digest = Digest::of(&manifest);
            repository.put_manifest(tag, Bytes::from(manifest)).await?;
            observer.step(&Step::Fetching { done: total, total: Some(total) });
            Ok(digest)
        };
        let whole = self.options.timeouts.whole;
        tokio::time::timeout(whole, pushed).await.unwrap_or_else(|_| Err(too_slow(reference, whole)))
    }
}
