//! Publishing a component, in the form of other WebAssembly tools, or a plugin directory, in hookbox's form.

use std::collections::BTreeMap;
use std::io;

use bytes::Bytes;
use serde_json::json;

use super::artifact::{PLUGIN_ARTIFACT_TYPE, PLUGIN_CONFIG_MEDIA_TYPE};
use super::connection::{Access, Repository};
use super::manifest::{self, ComponentConfig, Content, Manifest};
use super::{Registry, pack, too_slow};
use crate::{Observer, OciReference, PluginError, PluginErrorKind, PluginName, Staged, Step};
use hookbox::escape;
use hookbox::hook::Digest;

/// The version of the configuration of a plugin directory.
const FORMAT: u32 = 1;

/// The annotations of an artifact (OCI image specification, "Pre-Defined Annotation Keys"). Empty ones are
/// left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Description {
    /// The title.
    pub title: String,
    /// The version.
    pub version: String,
    /// A sentence about its purpose.
    pub description: String,
    /// The address of its source code.
    pub source: String,
}

impl Description {
    fn annotations(&self) -> BTreeMap<String, String> {
        let fields = [
            ("title", &self.title),
            ("version", &self.version),
            ("description", &self.description),
            ("source", &self.source),
        ];
        fields
            .into_iter()
            .filter(|(_, value)| !value.is_empty())
            .map(|(key, value)| (format!("org.opencontainers.image.{key}"), value.clone()))
            .collect()
    }
}

impl Registry {
    /// Publishes a component under a tag, as `wkg` does, and returns the digest of its manifest. The same
    /// component with the same description has the same digest everywhere: the time of creation is 1970.
    ///
    /// # Errors
    ///
    /// An error if the bytes are not a component, the reference has a digest, or the registry fails or
    /// refuses.
    pub async fn push_component(
        &self,
        reference: &OciReference,
        component: Vec<u8>,
        description: &Description,
        observer: &dyn Observer,
    ) -> Result<Digest, PluginError> {
        let (about, annotations) = (reference.to_string(), description.annotations());
        let ready = move || {
            let not_a_component = |error: String| {
                let what = format!("is not a component: {}", escape(&error, 200));
                PluginError::new(&about, PluginErrorKind::Unexpected(what))
            };
            let config = ComponentConfig::new(&component).map_err(not_a_component)?;
            let config = Content::new(manifest::WASM_CONFIG, json(&about, &config)?);
            let layer = Content::new(manifest::WASM, component);
            let manifest = Manifest::new(&layer, &config, None, annotations);
            Ok(([layer, config], json(&about, &manifest)?))
        };
        self.push(reference, ready, observer).await
    }

    /// Publishes a staged plugin under a tag, and returns the digest of its manifest. The same plugin with
    /// the same description has the same digest everywhere.
    ///
    /// # Errors
    ///
    /// An error if the plugin cannot be read, the reference has a digest, or the registry fails or refuses.
    pub async fn push_directory(
        &self,
        reference: &OciReference,
        name: &PluginName,
        plugin: &Staged,
        description: &Description,
        observer: &dyn Observer,
    ) -> Result<Digest, PluginError> {
        let (about, annotations) = (reference.to_string(), description.annotations());
        let (name, top) = (name.to_string(), plugin.path());
        let ready = move || {
            let layer = Content::new(manifest::TAR_GZIP, pack::pack(&top)?);
            let contents: BTreeMap<&str, Vec<String>> = pack::contents(&top)?.into_iter().collect();
            let config = json!({"format": FORMAT, "name": name, "contents": contents});
            let config = Content::new(PLUGIN_CONFIG_MEDIA_TYPE, config.to_string());
            let manifest = Manifest::new(&layer, &config, Some(PLUGIN_ARTIFACT_TYPE), annotations);
            Ok(([layer, config], json(&about, &manifest)?))
        };
        self.push(reference, ready, observer).await
    }

    /// Publishes the content and the manifest that `ready` makes. That runs on another thread, because packing and hashing
    /// block.
    async fn push(
        &self,
        reference: &OciReference,
        ready: impl FnOnce() -> Result<([Content; 2], Bytes), PluginError> + Send + 'static,
        observer: &dyn Observer,
    ) -> Result<Digest, PluginError> {
        if reference.digest.is_some() {
            let what = PluginErrorKind::Source("expected a tag to publish under, found a digest".to_owned());
            return Err(PluginError::new(reference.to_string(), what).hint("write oci://HOST/ORG/NAME:TAG"));
        }
        let tag = reference.tag.as_deref().unwrap_or("latest");
        let pushed = async {
            let (contents, manifest) = tokio::task::spawn_blocking(ready).await.map_err(|error| {
                PluginError::new(reference.to_string(), PluginErrorKind::Io(io::Error::other(error)))
            })??;
            let bytes = contents.iter().map(|it| &it.bytes).chain([&manifest]);
            let total = bytes.map(|it| it.len() as u64).sum();
            observer.step(&Step::Resolving);
            let mut repository = Repository::new(reference, Access::Push, &self.options).await?;
            let mut done = 0;
            for content in contents {
                observer.step(&Step::Fetching { done, total: Some(total) });
                done += content.bytes.len() as u64;
                repository.upload(content).await?;
            }
            let digest = Digest::of(&manifest);
            repository.put_manifest(tag, manifest).await?;
            observer.step(&Step::Fetching { done: total, total: Some(total) });
            Ok(digest)
        };
        let whole = self.options.timeouts.whole;
        tokio::time::timeout(whole, pushed).await.unwrap_or_else(|_| Err(too_slow(reference, whole)))
    }
}

fn json(about: &str, document: &impl serde::Serialize) -> Result<Bytes, PluginError> {
    serde_json::to_vec(document)
        .map(Bytes::from)
        .map_err(|error| PluginError::new(about, PluginErrorKind::Unexpected(error.to_string())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Hosts, Location, Plugins, Source, Stage};
    use std::io::Read as _;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[derive(Default)]
    struct Packed(AtomicBool);

    impl Observer for Packed {
        fn step(&self, step: &Step<'_>) {
            self.0.fetch_or(*step == Step::Resolving, Ordering::SeqCst);
        }
    }

    #[tokio::test]
    async fn other_tasks_go_on_while_a_plugin_is_packed() {
        let temp = tempfile::tempdir().unwrap();
        let plugins = Plugins::open(Location::Local, temp.path(), ".hookbox").unwrap();
        let mut stage = Stage::new(&plugins, &crate::Silent).unwrap();
        let file = stage.path(b"skills/a/SKILL.md").unwrap();
        stage.file(&file, false, None, std::io::repeat(7).take(8 << 20)).unwrap();
        let staged = stage.finish().unwrap();

        let Ok(Source::Oci(reference)) = Source::parse("oci://localhost:1/a/b:1", &Hosts::new("/")) else {
            panic!("no reference");
        };
        let (registry, packed) = (Registry::default(), Packed::default());
        let (name, description) = ("a/b".parse().unwrap(), Description::default());
        let push = registry.push_directory(&reference, &name, &staged, &description, &packed);
        let (pushed, before) = tokio::join!(push, async { packed.0.load(Ordering::SeqCst) });
        assert!(matches!(pushed.unwrap_err().kind, PluginErrorKind::Fetch(_)), "nobody listens there");
        assert!(packed.0.load(Ordering::SeqCst) && !before);
    }
}
