//! `hookbox inspect`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use hookbox::capability::{Capability, Rights};
use hookbox::manager::Progress;
use hookbox::rules::Rules;
use hookbox::trust::{Record, Records, TrustFile};
use hookbox::{Component, Kind, Subscription, escape};
use hookbox_system::files::private_dir;
use serde_json::{Value, json};

use crate::error::warn;
use crate::options::Locate;
use crate::progress::looking;
use crate::{account, compiler, input, output};

/// Show the metadata of a component or a rules file.
///
/// Shows the digest, size and events; of a component the interface version, imports, and the permissions that it asks
/// for and has; of a rules file each rule. Only `describe` of a component runs, in a sandbox without grants.
#[derive(Args, Debug)]
pub(crate) struct Inspect {
    /// The component (.wasm), or the rules (.rules.toml).
    file: PathBuf,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl Inspect {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        if input::is_rules(&self.file) {
            let rules = input::rules(&self.file)?;
            let (json, text) = (describe_rules(&rules), account_of_rules(&self.file, &rules));
            return if self.json { output::json(&json) } else { output::text(&text) };
        }
        let bytes = input::component(&self.file)?;
        // A hook that was inspected is probably used next: the agent does not wait for its compilation.
        let runtime = compiler::cached_runtime(&Locate::default().discovery()?);
        let component = looking(&Progress::default(), input::load(&runtime, &self.file, bytes)).await?;
        let granted = granted(&self.file, &component);
        let rights = Rights::of(&component.manifest().capabilities, &granted);
        if self.json {
            output::json(&output::joined(describe(&component), json!({ "granted": rights.effective() })))
        } else {
            output::text(&account(&component, &rights))
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

/// Returns the metadata of rules as JSON.
pub(super) fn describe_rules(rules: &Rules) -> Value {
    let manifest = rules.manifest();
    let tables = rules.tables().map(|(name, line, table)| {
        output::joined(json!({ "name": name, "line": line }), Value::Object(table.clone()))
    });
    json!({
        "kind": Kind::Rules,
        "digest": rules.digest(),
        "size": rules.size(),
        "description": manifest.description,
        "subscriptions": manifest.subscriptions,
        "answers": manifest.answers.names(),
        "on_failure": manifest.on_failure,
        "rules": tables.collect::<Vec<Value>>(),
    })
}

/// Describes rules for a person. Their own texts are escaped.
pub(super) fn account_of_rules(file: &Path, rules: &Rules) -> String {
    let manifest = rules.manifest();
    let mut lines = vec![
        escape(&file.file_name().unwrap_or_default().to_string_lossy(), 200),
        format!("  {}", escape(&manifest.description, 300)),
        String::new(),
        format!("digest     {}", rules.digest()),
        format!("size       {} bytes", rules.size()),
        format!("on failure {}", manifest.on_failure.unwrap_or_default().as_str()),
        String::new(),
        "runs at".to_owned(),
    ];
    lines.extend(manifest.subscriptions.iter().map(|it| format!("  {}", runs_at(it))));
    for (name, line, table) in rules.tables() {
        lines.push(String::new());
        lines.push(format!("{} (line {line})", escape(name, 200)));
        for (key, value) in table {
            let shown = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            lines.push(format!("  {key:<9}{}", escape(&shown, 1_000)));
        }
    }
    lines.join("\n")
}

/// Returns the metadata of a component as JSON.
pub(super) fn describe(component: &Component) -> Value {
    let manifest = component.manifest();
    json!({
        "kind": Kind::Component,
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
    })
}

/// Describes a component for a person. Its own texts are escaped.
fn account(component: &Component, rights: &Rights) -> String {
    let manifest = component.manifest();
    let mut lines = vec![
        format!("{} {}", escape(&manifest.name, 100), escape(&manifest.version, 40)),
        format!("  {}", escape(&manifest.description, 300)),
        String::new(),
        format!("size       {} bytes", component.size()),
        format!("interface  hookbox:hook@{}", component.wit_version()),
        format!("on failure {}", manifest.on_failure.unwrap_or_default().as_str()),
    ];
    let mut part = |title: &str, rows: Vec<String>| {
        lines.extend([String::new(), title.to_owned()]);
        lines.extend(rows.into_iter().map(|row| format!("  {row}")));
    };
    part("digest", vec![component.digest().to_string()]);
    part("runs at", manifest.subscriptions.iter().map(runs_at).collect());
    let own = manifest.answers.names().into_iter().map(str::to_owned);
    part(
        "may answer",
        std::iter::once("pass, block, ask, warn (every hook may)".to_owned()).chain(own).collect(),
    );
    let asked = manifest.capabilities.iter().map(|capability| {
        let means = escape(&capability.explain(), 200);
        let standing = if rights.lacking().contains(capability) { "not granted" } else { "granted" };
        format!("{} ({means}; {standing})", escape(&capability.to_string(), 200))
    });
    let nothing = manifest.capabilities.is_empty().then(|| "nothing".to_owned());
    part("asks for", nothing.into_iter().chain(asked).collect());
    if let Some(schema) = &manifest.settings {
        let rows = schema.properties.iter().map(|(key, schema)| {
            let means = schema.description.as_deref().map(|it| format!(": {}", escape(it, 300)));
            format!("{} ({schema}){}", escape(key, 80), means.unwrap_or_default())
        });
        part("settings", rows.collect());
    }
    let imports = component.imports().iter();
    part("imports", imports.map(|it| format!("{} ({})", escape(it.as_str(), 100), it.explain())).collect());
    lines.join("\n")
}

/// Describes a subscription for a person.
fn runs_at(subscription: &Subscription) -> String {
    let tools = match subscription.tools.as_slice() {
        [] => String::new(),
        tools => format!(", only for {}", account::tools(tools)),
    };
    let observe = if subscription.observe { ", observing" } else { "" };
    format!("{} (priority {}{observe}{tools})", subscription.event, subscription.priority)
}
