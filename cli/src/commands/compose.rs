//! `hookbox compose`.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;
use hookbox::hook::{Digest, Manifest};
use hookbox::manager::Progress;
use hookbox::{OnFailure, Subscription, escape};
use hookbox_authoring::service::{Parts, compose};
use hookbox_guards::parts;
use serde_json::{Value, json};

use crate::error::{InputError, hint, note};
use crate::help::page;
use crate::options::Locate;
use crate::progress::looking;
use crate::{compiler, input, output};

/// Make an HTTP service of hooks that are components.
///
/// The service is one component, for `wasmtime serve` and other servers of wasi:http. It answers `POST /NAME` for each
/// hook, with the hook's own name. A hook that needs more than the event of a tool call is refused: files, state,
/// requests. Prints the tables for the hookbox.toml of the machines that ask it.
#[derive(Args, Debug)]
pub(crate) struct Compose {
    /// The components (.wasm).
    #[arg(required = true, value_name = "HOOK")]
    hooks: Vec<PathBuf>,
    /// Make a component of the world wasi:http/proxy.
    #[arg(long, required = true)]
    http: bool,
    /// The file of the service.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// The parts that the program carries.
const PARTS: Parts<'_> =
    Parts { adapter: parts::ADAPTER, provider: parts::PROVIDER, surroundings: parts::SURROUNDINGS };

impl Compose {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        let runtime = compiler::cached_runtime(&Locate::default().discovery()?);
        let mut hooks = Vec::new();
        for file in &self.hooks {
            let bytes = input::component(file)?;
            let loading = input::load(&runtime, file, bytes.clone());
            hooks.push((looking(&Progress::default(), loading).await?, bytes));
        }
        let given: Vec<_> = hooks.iter().map(|(hook, bytes)| (hook, bytes.as_slice())).collect();
        let service = compose(&PARTS, &given).map_err(|(place, error)| {
            let file = self.hooks.get(place).map(|it| it.display().to_string()).unwrap_or_default();
            InputError::refused(format!("{file}: {error}"), error.hint)
        })?;
        // Any program may read it.
        output::file(&self.output, 0o666, |mut file| {
            file.write_all(&service).with_context(|| format!("{}: cannot be written", self.output.display()))
        })?;
        let manifests: Vec<_> = hooks.iter().map(|(hook, _)| hook.manifest()).collect();
        for manifest in manifests.iter().filter(|it| !it.capabilities.is_empty()) {
            let name = escape(&manifest.name, 100);
            note(format_args!("{name} works without `work-tree`: in a service no file is known to git"));
        }
        if self.json {
            let hooks = hooks.iter().map(|(hook, _)| {
                let path = path(hook.manifest());
                json!({ "name": hook.manifest().name, "path": path, "digest": hook.digest() })
            });
            return output::json(&json!({
                "path": self.output,
                "size": service.len(),
                "digest": Digest::of(&service),
                "hooks": hooks.collect::<Vec<Value>>(),
            }));
        }
        output::line(&manifests.into_iter().flat_map(tables).collect::<Vec<_>>().join("\n\n"))?;
        hint(format_args!("to serve it, see {}", page("http.md#a-guard-as-a-service")));
        Ok(ExitCode::SUCCESS)
    }
}

fn path(manifest: &Manifest) -> String {
    format!("/{}", manifest.name)
}

/// Returns the tables of a hook for a caller's hookbox.toml, one for each event. One that only a setting needs is a comment.
fn tables(manifest: &Manifest) -> Vec<String> {
    let table = |(at, it): (usize, &Subscription)| {
        let more = if at == 0 { String::new() } else { format!("-{}", it.event) };
        let mut http = vec![format!("event = \"{}\"", it.event)];
        let settings = it.tools.iter().map(|it| it.split_once(" if ").map(|(_, setting)| setting));
        let setting = settings.collect::<Option<Vec<_>>>().unwrap_or_default().first().copied();
        if !it.tools.is_empty() {
            // The words that a line must name, and settings that must be true, are for components.
            let kind =
                |it: &str| it.split(' ').next().filter(|it| it.starts_with("kind:")).map(str::to_owned);
            let tools = it.tools.iter().map(|it| kind(it).unwrap_or_else(|| it.clone()));
            http.push(format!("matcher = {}", json!(tools.collect::<Vec<_>>())));
        }
        http.push(format!("url = \"https://HOST{}\"", path(manifest)));
        let on_failure = manifest.on_failure.unwrap_or(OnFailure::Pass).as_str();
        let table = format!("[hooks.\"{}{more}\"]", manifest.name);
        let table = format!("{table}\nhttp = {{ {} }}\non_failure = \"{on_failure}\"", http.join(", "));
        setting.map_or_else(
            || table.clone(),
            |it| format!("# With the setting `{it}`:\n# {}", table.replace('\n', "\n# ")),
        )
    };
    manifest.subscriptions.iter().enumerate().map(table).collect()
}
