//! `hookbox inspect`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use hookbox::text::escape;
use hookbox::wasm::{Allocation, Component, Runtime};
use serde_json::{Value, json};

use crate::{input, output};

/// Say what a component is: digest, size, interface version, what it asks for and what it can reach.
///
/// The component is asked `describe` in a sandbox with nothing granted; nothing else of it runs.
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
        let runtime = Runtime::new(Allocation::OnDemand, None);
        let component = runtime.load(bytes).await.map_err(|error| input::no_component(&self.file, &error))?;
        if self.json { output::json(&describe(&component)) } else { output::line(&account(&component)) }
    }
}

fn describe(component: &Component) -> Value {
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
        "imports": component.imports(),
        "capabilities": manifest.capabilities,
    })
}

/// The same for a person. What the component says of itself is escaped.
fn account(component: &Component) -> String {
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
    for wanted in &manifest.subscriptions {
        let tools = if wanted.tools.is_empty() {
            String::new()
        } else {
            format!(", only for {}", escape(&wanted.tools.join(" "), 200))
        };
        let observe = if wanted.observe { ", observing" } else { "" };
        lines.push(format!("  {} (priority {}{observe}{tools})", wanted.event, wanted.priority));
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
        lines.push(format!("  {} ({means}; not granted)", escape(&capability.to_string(), 200)));
    }
    lines.push(String::new());
    lines.push("imports".to_owned());
    for import in component.imports() {
        lines.push(format!("  {} ({})", escape(import.as_str(), 100), import.explain()));
    }
    lines.join("\n")
}
