//! `hookbox inspect`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use hookbox::capability::{Capability, Rights};
use hookbox::escape;
use hookbox::internal::discovery::Options;
use hookbox::internal::private_dir;
use hookbox::internal::wasm::Component;
use hookbox::manager::Progress;
use hookbox::trust::{Record, Records, TrustFile};
use serde_json::{Value, json};

use crate::compiler;
use crate::error::warn;
use crate::progress::looking;
use crate::{input, output};

/// Show a component's metadata.
///
/// Shows its digest, size, interface version, events, imports, and the permissions that it asks for and has.
/// Only `describe` runs, in a sandbox without grants.
#[derive(Args, Debug)]
pub(crate) struct Inspect {
    /// The component (.wasm).
    file: PathBuf,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl Inspect {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        let bytes = input::component(&self.file)?;
        // A hook that was inspected is probably used next: the agent does not wait for its compilation.
        let cwd = std::env::current_dir().unwrap_or_default();
        let runtime = compiler::cached_runtime(&Options::new(cwd, std::env::home_dir()));
        let component = looking(&Progress::default(), input::load(&runtime, &self.file, bytes)).await?;
        let granted = granted(&self.file, &component);
        let rights = Rights::of(&component.manifest().capabilities, &granted);
        if self.json {
            output::json(&describe(&component, &rights))
        } else {
            output::line(&account(&component, &rights))
        }
    }
}

/// Returns the user's grants to these bytes in this place.
fn granted(file: &Path, component: &Component) -> Vec<Capability> {
    let home = std::env::home_dir();
    let Some(data) = private_dir::default_data(home.as_deref()) else { return Vec::new() };
    let records = TrustFile::new(data).read().unwrap_or_else(|error| {
        warn(format_args!("{error}: nothing is granted"));
        Records::default()
    });
    let file = file.canonicalize().ok();
    let is_this = |record: &&Record| {
        let base = record.scope.repository().or(home.as_deref()).unwrap_or(Path::new("/"));
        record.digest == *component.digest() && base.join(&record.path).canonicalize().ok() == file
    };
    records.iter().find(is_this).map(|record| record.grants.clone()).unwrap_or_default()
}

fn describe(component: &Component, rights: &Rights) -> Value {
    let manifest = component.manifest();
    json!({
        "digest": component.digest(),
        "size": component.size(),
        "wit_version": component.wit_version(),
        "name": manifest.name,
        "version": manifest.version,
        "description": manifest.description,
        "subscriptions": manifest.subscriptions,
        "answers": manifest.answers.names(),
        "on_failure": manifest.on_failure,
        "settings": manifest.settings,
        "imports": component.imports(),
        "capabilities": manifest.capabilities,
        "granted": rights.effective(),
    })
}

/// Describes a component for a person. Its own texts are escaped.
fn account(component: &Component, rights: &Rights) -> String {
    let manifest = component.manifest();
    let mut lines = vec![
        format!("{} {}", escape(&manifest.name, 100), escape(&manifest.version, 40)),
        format!("  {}", escape(&manifest.description, 300)),
        String::new(),
        format!("digest     {}", component.digest()),
        format!("size       {} bytes", component.size()),
        format!("interface  hookbox:hook@{}", component.wit_version()),
        format!("on failure {}", manifest.on_failure.unwrap_or_default().as_str()),
        String::new(),
        "runs at".to_owned(),
    ];
    for subscription in &manifest.subscriptions {
        let tools = if subscription.tools.is_empty() {
            String::new()
        } else {
            format!(", only for {}", escape(&subscription.tools.join(" "), 200))
        };
        let observe = if subscription.observe { ", observing" } else { "" };
        lines.push(format!("  {} (priority {}{observe}{tools})", subscription.event, subscription.priority));
    }
    lines.push(String::new());
    lines.push("may answer".to_owned());
    lines.push("  pass, block, ask, warn (every hook may)".to_owned());
    lines.extend(manifest.answers.names().into_iter().map(|answer| format!("  {answer}")));
    lines.push(String::new());
    lines.push("asks for".to_owned());
    if manifest.capabilities.is_empty() {
        lines.push("  nothing".to_owned());
    }
    for capability in &manifest.capabilities {
        let means = escape(&capability.explain(), 200);
        let standing = if rights.lacking().contains(capability) { "not granted" } else { "granted" };
        lines.push(format!("  {} ({means}; {standing})", escape(&capability.to_string(), 200)));
    }
    if let Some(schema) = &manifest.settings {
        lines.push(String::new());
        lines.push("settings".to_owned());
        for (key, schema) in &schema.properties {
            let means = schema.description.as_deref().map(|it| format!(": {}", escape(it, 300)));
            lines.push(format!("  {} ({schema}){}", escape(key, 80), means.unwrap_or_default()));
        }
    }
    lines.push(String::new());
    lines.push("imports".to_owned());
    for import in component.imports() {
        lines.push(format!("  {} ({})", escape(import.as_str(), 100), import.explain()));
    }
    lines.join("\n")
}
