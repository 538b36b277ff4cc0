//! The artifact that a manifest describes. No I/O.

use serde::Deserialize;

use super::manifest::{self, ComponentConfig, Descriptor, Manifest};
use hookbox::escape;

/// The type of an artifact that is a plugin directory: skills, recipes and hooks in one archive.
pub const PLUGIN_ARTIFACT_TYPE: &str = "application/vnd.hookbox.plugin.v1";
/// The media type of the configuration of such an artifact.
pub(super) const PLUGIN_CONFIG_MEDIA_TYPE: &str = "application/vnd.hookbox.plugin.config.v1+json";

/// The interface that a hook exports, without its version.
const HOOK: &str = "hookbox:hook/hook@";

/// An artifact that can be installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Artifact {
    /// A component in the form of `wkg` and other WebAssembly tools.
    Component { config: Descriptor, layer: Descriptor },
    /// A packed plugin directory.
    Directory { layer: Descriptor, is_gzip: bool },
}

/// An error: something else was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mismatch {
    pub(super) expected: String,
    pub(super) found: String,
    pub(super) hint: Option<&'static str>,
}

impl Mismatch {
    pub(super) fn new(expected: impl Into<String>, found: impl Into<String>) -> Self {
        Self { expected: expected.into(), found: found.into(), hint: None }
    }
}

/// The fields that distinguish the kinds of manifests.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Kind {
    schema_version: u32,
    media_type: Option<String>,
    manifests: Option<serde::de::IgnoredAny>,
}

/// The artifacts that can be installed, for errors.
const INSTALLABLE: &str = "a hook component or a hookbox plugin";

impl Artifact {
    /// Reads a manifest.
    pub(super) fn parse(manifest: &[u8]) -> Result<Self, Mismatch> {
        let manifest = image_manifest(manifest)?;
        let config_type = manifest.config.media_type.as_str();
        let is_plugin = manifest.artifact_type.as_deref() == Some(PLUGIN_ARTIFACT_TYPE)
            || config_type == PLUGIN_CONFIG_MEDIA_TYPE;
        if is_plugin {
            let layer = one_layer(&manifest, "a hookbox plugin with one layer")?;
            let is_gzip = match layer.media_type.as_str() {
                manifest::TAR_GZIP => true,
                manifest::TAR => false,
                other => {
                    let expected = format!("a layer of type {} or {}", manifest::TAR_GZIP, manifest::TAR);
                    return Err(Mismatch::new(expected, show(other)));
                }
            };
            return Ok(Self::Directory { layer, is_gzip });
        }
        if config_type == manifest::WASM_CONFIG {
            let layer = one_layer(&manifest, "a component in one layer")?;
            if layer.media_type != manifest::WASM {
                let expected = format!("a layer of type {}", manifest::WASM);
                return Err(Mismatch::new(expected, show(&layer.media_type)));
            }
            return Ok(Self::Component { config: manifest.config.clone(), layer });
        }
        Err(Mismatch::new(INSTALLABLE, foreign(&manifest)))
    }
}

/// Reads the manifest of one artifact.
pub(super) fn image_manifest(bytes: &[u8]) -> Result<Manifest, Mismatch> {
    let unreadable = |error: serde_json::Error| {
        Mismatch::new("a manifest of OCI", format!("something else: {}", escape(&error.to_string(), 200)))
    };
    let kind: Kind = serde_json::from_slice(bytes).map_err(unreadable)?;
    if kind.schema_version != 2 {
        let found = format!("one with the schema version {}", kind.schema_version);
        return Err(Mismatch::new("a manifest with the schema version 2", found));
    }
    let is_index = [manifest::INDEX, manifest::DOCKER_INDEX];
    if kind.manifests.is_some() || kind.media_type.as_deref().is_some_and(|it| is_index.contains(&it)) {
        let hint = Some("name one of its manifests by digest: oci://HOST/NAME@sha256:…");
        return Err(Mismatch {
            hint,
            ..Mismatch::new(INSTALLABLE, "an image index, which lists several manifests")
        });
    }
    serde_json::from_slice(bytes).map_err(unreadable)
}

/// Returns the only layer.
fn one_layer(manifest: &Manifest, expected: &str) -> Result<Descriptor, Mismatch> {
    match manifest.layers.as_slice() {
        [layer] => Ok(layer.clone()),
        layers => Err(Mismatch::new(expected, format!("{} layers", layers.len()))),
    }
}

/// Describes an artifact that cannot be installed.
fn foreign(manifest: &Manifest) -> String {
    let config = manifest.config.media_type.as_str();
    let artifact = manifest.artifact_type.as_deref().unwrap_or_default();
    match (config, artifact) {
        (manifest::IMAGE_CONFIG | manifest::DOCKER_CONFIG, "") => "a container image".to_owned(),
        ("application/vnd.cncf.helm.config.v1+json", _) => "a Helm chart".to_owned(),
        (_, "") => format!("an artifact with a configuration of type {}", show(config)),
        (_, artifact) => format!("an artifact of type {}", show(artifact)),
    }
}

/// Checks the configuration of a component before the component is fetched.
pub(super) fn check_component(config: &[u8]) -> Result<(), Mismatch> {
    let expected = format!("a hook: a component that exports {HOOK}…");
    let config = serde_json::from_slice::<ComponentConfig>(config).map_err(|error| {
        Mismatch::new("the configuration of a component", escape(&error.to_string(), 200))
    })?;
    let Some(component) = config.component else {
        return Err(Mismatch::new(
            expected,
            format!("WebAssembly for {} that is not a component", show(&config.os)),
        ));
    };
    if component.exports.iter().any(|export| export.starts_with(HOOK)) {
        return Ok(());
    }
    let exports: Vec<&str> = component.exports.iter().take(20).map(String::as_str).collect();
    let found = match exports.as_slice() {
        [] => "a component that exports nothing".to_owned(),
        exports => format!("a component that exports {}", escape(&exports.join(", "), 300)),
    };
    Err(Mismatch::new(expected, found))
}

fn show(text: &str) -> String {
    if text.is_empty() { "(empty)".to_owned() } else { escape(text, 120) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    const DIGEST: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    fn blob(media_type: &str) -> Value {
        json!({"mediaType": media_type, "digest": DIGEST, "size": 3})
    }

    fn manifest(config: &str, artifact_type: Option<&str>, layers: &[&str]) -> Value {
        let layers: Vec<Value> = layers.iter().map(|it| blob(it)).collect();
        let mut manifest = json!({"schemaVersion": 2, "config": blob(config), "layers": layers});
        if let Some(artifact_type) = artifact_type {
            manifest["artifactType"] = artifact_type.into();
        }
        manifest
    }

    fn parse(manifest: &Value) -> Result<Artifact, Mismatch> {
        Artifact::parse(manifest.to_string().as_bytes())
    }

    #[test]
    fn components_and_plugins_are_told_apart() {
        let component = parse(&manifest(manifest::WASM_CONFIG, None, &["application/wasm"]));
        assert!(matches!(component, Ok(Artifact::Component { .. })), "{component:?}");
        for (config, artifact_type, layer, want) in [
            (PLUGIN_CONFIG_MEDIA_TYPE, Some(PLUGIN_ARTIFACT_TYPE), manifest::TAR_GZIP, true),
            (PLUGIN_CONFIG_MEDIA_TYPE, None, manifest::TAR_GZIP, true),
            ("application/vnd.oci.empty.v1+json", Some(PLUGIN_ARTIFACT_TYPE), manifest::TAR, false),
        ] {
            let plugin = parse(&manifest(config, artifact_type, &[layer])).unwrap();
            assert!(matches!(plugin, Artifact::Directory { is_gzip, .. } if is_gzip == want), "{plugin:?}");
        }
    }

    #[test]
    fn anything_else_is_named() {
        let wasm = manifest::WASM_CONFIG;
        let plugin = Some(PLUGIN_ARTIFACT_TYPE);
        for (manifest, found) in [
            (manifest(manifest::IMAGE_CONFIG, None, &[manifest::TAR_GZIP]), "a container image"),
            (manifest("application/vnd.cncf.helm.config.v1+json", None, &["x"]), "a Helm chart"),
            (manifest("x/y", Some("a/b"), &["x"]), "an artifact of type a/b"),
            (manifest("x/y", None, &["x"]), "an artifact with a configuration of type x/y"),
            (manifest(wasm, None, &[]), "0 layers"),
            (manifest(wasm, None, &["application/wasm", "application/wasm"]), "2 layers"),
            (
                manifest(wasm, None, &["application/vnd.wasm.content.layer.v1+wasm"]),
                "application/vnd.wasm.content.layer.v1+wasm",
            ),
            (manifest("x", plugin, &["a", "b"]), "2 layers"),
            (manifest("x", plugin, &["application/zip"]), "application/zip"),
            (json!({"schemaVersion": 2, "manifests": []}), "an image index, which lists several manifests"),
            (json!({"schemaVersion": 1}), "one with the schema version 1"),
        ] {
            assert_eq!(parse(&manifest).unwrap_err().found, found, "{manifest}");
        }
        for (key, bad) in [("size", json!(-1)), ("digest", json!("md5:1"))] {
            let mut manifest = manifest(wasm, None, &["application/wasm"]);
            manifest["layers"][0][key] = bad;
            assert!(parse(&manifest).unwrap_err().found.starts_with("something else: "), "{key}");
        }
        for text in ["", "[]", "{", "null", &"[".repeat(100_000)] {
            assert!(Artifact::parse(text.as_bytes()).is_err());
        }
    }

    #[test]
    fn a_component_says_before_it_is_fetched_whether_it_is_a_hook() {
        let config = |component: Value| {
            json!({"created": "2026-01-01T00:00:00Z", "architecture": "wasm", "os": "wasip2",
                   "layerDigests": [DIGEST], "component": component})
            .to_string()
        };
        let exports = |exports: &[&str]| config(json!({"exports": exports, "imports": [], "target": null}));
        assert_eq!(check_component(exports(&["hookbox:hook/hook@0.2.0"]).as_bytes()), Ok(()));
        for (config, found) in [
            (exports(&["wasi:cli/run@0.2.0"]), "a component that exports wasi:cli/run@0.2.0"),
            (exports(&[]), "a component that exports nothing"),
            (config(Value::Null), "WebAssembly for wasip2 that is not a component"),
        ] {
            assert_eq!(check_component(config.as_bytes()).unwrap_err().found, found);
        }
        assert!(check_component(b"{}").is_err());
    }
}
