//! `hookbox plugin publish`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use hookbox::{Digest, escape, shown_path};
use hookbox_plugins::registry::{Description, Options, Registry};
use hookbox_plugins::{
    Contents, Hosts, Location, OciReference, PluginName, Plugins, Silent, Source, Stage, Staged, fetch,
};
use serde_json::json;

use super::row;
use crate::error::{InputError, say};
use crate::interrupt::unless_interrupted;
use crate::{approval, compiler, input, output};

/// Publish a component, or a directory with skills, recipes and hooks, to an OCI registry.
///
/// A component has to be a hook, and a directory has to be a plugin that can be installed. Credentials are
/// those of docker (`docker login HOST`).
#[derive(Args, Debug)]
pub(crate) struct Publish {
    /// A component (.wasm), or a directory with skills/, recipes/ or hooks/.
    #[arg(value_name = "FILE|DIR")]
    path: PathBuf,
    /// The target: oci://HOST[:PORT]/ORG/NAME:TAG.
    #[arg(value_name = "REFERENCE")]
    reference: String,
    /// Speak to the registry without TLS: others on the network can read and change everything.
    #[arg(long)]
    plain_http: bool,
    /// The address of its source code, kept beside it in the registry.
    #[arg(long, value_name = "URL")]
    source: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl Publish {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        approval::not_from_a_hook()?;
        // A signal removes the staging directory.
        unless_interrupted(self.publish()).await?
    }

    async fn publish(&self) -> anyhow::Result<ExitCode> {
        // The error of `Source::parse` would be about the sources of `add`.
        if !self.reference.starts_with("oci://") {
            return Err(self.no_reference());
        }
        let source = Source::parse(&self.reference, &Hosts::new("/"))?;
        let name = source.name()?;
        let Source::Oci(reference) = source else {
            return Err(self.no_reference());
        };
        if let Err(error) = self.path.metadata() {
            let path = shown_path(&self.path);
            let what = format!("{path}: expected a component or a directory, found: {error}");
            let hint = "give a component (.wasm), or a directory with skills/, recipes/ or hooks/";
            return Err(InputError::new(what, hint).into());
        }
        let registry = Registry::new(Options { plain_http: self.plain_http, ..Options::default() });
        let source = self.source.clone().unwrap_or_default();
        let (kind, digest) = if self.path.is_dir() {
            let scratch = tempfile::tempdir()?;
            let plugin = staged(&self.path, &name, scratch.path()).await?;
            let title = name.to_string();
            let description = Description { title, source, ..Description::default() };
            let pushed = registry.push_directory(&reference, &name, &plugin, &description, &Silent).await;
            ("directory", pushed?)
        } else {
            let bytes = input::component(&self.path)?;
            let description = Description { source, ..described(&self.path, bytes.clone()).await? };
            let pushed = registry.push_component(&reference, bytes, &description, &Silent).await;
            ("component", pushed?)
        };
        self.say(&reference, kind, digest)
    }

    fn no_reference(&self) -> anyhow::Error {
        let what = format!("{}: expected a place in a registry", escape(&self.reference, 1024));
        InputError::new(what, "write oci://HOST/ORG/NAME:TAG").into()
    }

    fn say(&self, reference: &OciReference, kind: &str, digest: Digest) -> anyhow::Result<ExitCode> {
        let tag = reference.tag.as_deref().unwrap_or("latest");
        let exact = OciReference { tag: None, digest: Some(digest.clone()), ..reference.clone() };
        if self.json {
            return output::json(&json!({
                "reference": exact.to_string(), "kind": kind, "tag": tag, "digest": digest,
            }));
        }
        say(format_args!("published a {kind} as {tag}; install it: hookbox plugin add {exact}"));
        output::line(&exact.to_string())
    }
}

/// Checks that a component is a hook, and returns its description.
async fn described(path: &Path, bytes: Vec<u8>) -> anyhow::Result<Description> {
    let component = input::load(&compiler::runtime(None), path, bytes).await?;
    let manifest = component.manifest();
    Ok(Description {
        title: manifest.name.clone(),
        version: manifest.version.clone(),
        description: manifest.description.clone(),
        ..Description::default()
    })
}

/// Stages a directory, and checks that `add` would install it and that all its components are hooks.
async fn staged(path: &Path, name: &PluginName, scratch: &Path) -> anyhow::Result<Staged> {
    let plugins = Plugins::open(Location::Local, scratch, ".hookbox")?;
    let mut stage = Stage::new(&plugins, &Silent)?;
    let path = path.canonicalize()?;
    fetch::directory(&path, &mut stage, &Silent)?;
    let shown = shown_path(&path);
    let staged = stage.finish().map_err(|error| error.of_source(&shown))?;
    let hooks = staged.path().join("hooks");
    let mut components = Vec::new();
    for entry in hooks.read_dir().into_iter().flatten() {
        let name = entry?.file_name();
        if Path::new(&name).extension().is_some_and(|extension| extension == "wasm") {
            components.push(name);
        }
    }
    components.sort();
    let runtime = compiler::runtime(None);
    for file in components {
        let bytes = input::component(&hooks.join(&file))?;
        input::load(&runtime, &path.join("hooks").join(&file), bytes).await?;
    }
    let contents = Contents::look(&staged.path(), &name.dir(), Location::Local, &runtime).await;
    contents.check(&shown)?;
    row::problems(&shown, &contents);
    if !contents.others.is_empty() {
        say(format_args!("publishing everything in {shown}, also {}", row::list(&contents.others)));
    }
    Ok(staged)
}
