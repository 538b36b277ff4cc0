//! The documents of a registry: manifests, indexes, and the configuration of a component. No I/O.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use wasmparser::{Encoding, Parser, Payload};

use hookbox::hook::Digest;

/// Media types (OCI image specification 1.1, Docker's manifest specification 2.2).
pub(super) const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
pub(super) const DOCKER_MANIFEST: &str = "application/vnd.docker.distribution.manifest.v2+json";
pub(super) const INDEX: &str = "application/vnd.oci.image.index.v1+json";
pub(super) const DOCKER_INDEX: &str = "application/vnd.docker.distribution.manifest.list.v2+json";
pub(super) const IMAGE_CONFIG: &str = "application/vnd.oci.image.config.v1+json";
pub(super) const DOCKER_CONFIG: &str = "application/vnd.docker.container.image.v1+json";
pub(super) const TAR: &str = "application/vnd.oci.image.layer.v1.tar";
pub(super) const TAR_GZIP: &str = "application/vnd.oci.image.layer.v1.tar+gzip";

/// Media types of a component (CNCF, Wasm OCI Artifact Layout).
pub(super) const WASM: &str = "application/wasm";
pub(super) const WASM_CONFIG: &str = "application/vnd.wasm.config.v0+json";

/// A reference to content.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Descriptor {
    pub(super) media_type: String,
    pub(super) digest: Digest,
    pub(super) size: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) annotations: Option<BTreeMap<String, String>>,
}

impl Descriptor {
    fn new(content: &Content) -> Self {
        Self {
            media_type: content.media_type.to_owned(),
            digest: content.digest.clone(),
            size: content.bytes.len() as u64,
            annotations: None,
        }
    }
}

/// The manifest of one artifact.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Manifest {
    pub(super) schema_version: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) media_type: Option<String>,
    pub(super) config: Descriptor,
    pub(super) layers: Vec<Descriptor>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) artifact_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) annotations: Option<BTreeMap<String, String>>,
}

/// An index: a list of manifests.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Index {
    pub(super) manifests: Vec<Listed>,
}

/// A manifest of an index.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Listed {
    /// A digest of any algorithm.
    pub(super) digest: String,
    pub(super) artifact_type: Option<String>,
}

/// Content to publish.
#[derive(Clone, Debug)]
pub(super) struct Content {
    pub(super) media_type: &'static str,
    pub(super) digest: Digest,
    pub(super) bytes: Bytes,
}

impl Content {
    pub(super) fn new(media_type: &'static str, bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        Self { media_type, digest: Digest::of(&bytes), bytes }
    }
}

impl Manifest {
    /// Describes an artifact of one layer.
    pub(super) fn new(
        layer: &Content,
        config: &Content,
        artifact_type: Option<&str>,
        annotations: BTreeMap<String, String>,
    ) -> Self {
        Self {
            schema_version: 2,
            media_type: Some(MANIFEST.to_owned()),
            config: Descriptor::new(config),
            layers: vec![Descriptor::new(layer)],
            artifact_type: artifact_type.map(str::to_owned),
            annotations: Some(annotations),
        }
    }
}

/// The configuration of a component, in the form of `wkg` and other WebAssembly tools.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ComponentConfig {
    created: String,
    author: Option<String>,
    architecture: String,
    pub(super) os: String,
    layer_digests: Vec<String>,
    pub(super) component: Option<World>,
}

/// The names of a component's imports and exports.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
pub(super) struct World {
    pub(super) exports: Vec<String>,
    imports: Vec<String>,
    target: Option<String>,
}

impl ComponentConfig {
    /// Describes a component. The time is fixed, so that the same component gets the same configuration
    /// everywhere.
    ///
    /// # Errors
    ///
    /// A sentence about bytes that are not a component.
    pub(super) fn new(component: &[u8]) -> Result<Self, String> {
        Ok(Self {
            created: "1970-01-01T00:00:00Z".to_owned(),
            author: None,
            architecture: "wasm".to_owned(),
            os: "wasip2".to_owned(),
            layer_digests: vec![Digest::of(component).to_string()],
            component: Some(World::of(component)?),
        })
    }
}

impl World {
    /// Reads the imports and exports of the outermost component.
    fn of(component: &[u8]) -> Result<Self, String> {
        let mut world = Self::default();
        let mut depth = 0_usize;
        for payload in Parser::new(0).parse_all(component) {
            match payload.map_err(|error| error.to_string())? {
                Payload::Version { encoding: Encoding::Module, .. } if depth == 0 => {
                    return Err("a core module".to_owned());
                }
                Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
                Payload::End(_) => depth = depth.saturating_sub(1),
                Payload::ComponentImportSection(imports) if depth == 0 => {
                    for import in imports {
                        world.imports.push(import.map_err(|error| error.to_string())?.name.name.to_owned());
                    }
                }
                Payload::ComponentExportSection(exports) if depth == 0 => {
                    for export in exports {
                        world.exports.push(export.map_err(|error| error.to_string())?.name.name.to_owned());
                    }
                }
                _ => {}
            }
        }
        Ok(world)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_component_is_described_and_nothing_else() {
        for (bytes, is_component) in [
            (&b"\0asm\x0d\0\x01\0"[..], true),
            (b"\0asm\x01\0\0\0", false),
            (b"#!/bin/sh", false),
            (b"", false),
        ] {
            assert_eq!(ComponentConfig::new(bytes).is_ok(), is_component, "{bytes:?}");
        }
        let config = ComponentConfig::new(b"\0asm\x0d\0\x01\0").unwrap();
        let json = serde_json::to_value(&config).unwrap();
        assert_eq!(json["created"], "1970-01-01T00:00:00Z");
        assert_eq!(json["component"], serde_json::json!({"exports": [], "imports": [], "target": null}));
    }
}
