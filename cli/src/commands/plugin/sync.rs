//! `hookbox plugin sync`.

use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use hookbox::discovery::{ManagedDir, PluginPolicy};
use hookbox::escape;
use hookbox_plugins::registry::PublicKey;
use hookbox_plugins::{Hosts, Location, Plugins, Request, Source, known};
use serde_json::json;

use super::{Results, locations};
use crate::error::{InputError, note};
use crate::interrupt::unless_interrupted;
use crate::progress::Progress;
use crate::{compiler, output};

/// The public key in the administrator's directory.
const KEY: &str = "cosign.pub";

/// The largest key file, in bytes.
const MAX_KEY: u64 = 64 << 10;

/// Bring the plugins that the administrator's hookbox.toml pins; as root.
///
/// Each plugin is fetched, verified and tried on a call before it replaces the old one. If anything fails, the old one
/// stays. Without a network, what is there stays.
#[derive(Args, Debug)]
pub(crate) struct Sync {
    /// In the administrator's directory.
    #[arg(long, required = true)]
    managed: bool,
    /// Speak to registries without TLS.
    #[arg(long)]
    plain_http: bool,
    /// Print JSON: an array of objects, one per pinned plugin.
    #[arg(long)]
    json: bool,
}

impl Sync {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        let managed = ManagedDir::of_system();
        let policy = PluginPolicy::read(&managed).map_err(|problem| {
            InputError::refused(problem.to_string(), "repair it: hookbox doctor --managed")
        })?;
        let key = key(&managed)?;
        let (Some(base), Some(root)) =
            (managed.path.parent(), managed.path.file_name().and_then(|it| it.to_str()))
        else {
            return Ok(ExitCode::SUCCESS);
        };
        // Every user reads what is installed.
        rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
        let plugins = Plugins::open(Location::Global, base, root)?;
        locations::repair(&plugins);
        let runtime = compiler::runtime(None);
        let mut done = Results::new(self.json);
        for source in &policy.pinned {
            let synced = async {
                let source = Source::parse(source, &Hosts::new(base))?;
                let is_oci = matches!(source, Source::Oci(_));
                let mut request = Request::new(source, None)?;
                request.plain_http = self.plain_http;
                let request = request.verify(key.as_ref().filter(|_| is_oci))?;
                let (name, progress) = (request.name.to_string(), Progress::new(&request.name.to_string()));
                let synced = request.sync(&plugins, &managed, &runtime, &progress);
                anyhow::Ok((name, unless_interrupted(synced).await??.is_some()))
            };
            match synced.await {
                Ok((name, is_new)) => {
                    let state = if is_new { "installed" } else { "current" };
                    if !self.json {
                        output::line(&format!("{name}: {state}"))?;
                    }
                    done.rows.push(json!({ "name": name, "source": source, "state": state }));
                }
                Err(error) => {
                    done.rows
                        .push(json!({ "source": source, "state": "kept", "error": format!("{error:#}") }));
                    done.failed(
                        error,
                        true,
                        format!("{}: what is there stays in force", escape(source, 1024)),
                    )?;
                }
            }
        }
        for other in known(&plugins)?.iter().filter(|it| !is_pinned(&policy, &it.name, base)) {
            note(format_args!("{} is installed and not pinned: it stays in force", escape(&other.name, 200)));
        }
        done.finish(Ok(()))
    }
}

fn is_pinned(policy: &PluginPolicy, name: &str, base: &Path) -> bool {
    let mut named =
        policy.pinned.iter().filter_map(|it| Source::parse(it, &Hosts::new(base)).ok()?.name().ok());
    named.any(|it| it.to_string() == name)
}

/// Reads the key beside the settings, if there is one.
fn key(managed: &ManagedDir) -> anyhow::Result<Option<PublicKey>> {
    let file = managed.path.join(KEY);
    let wrong = |what: String| {
        InputError::refused(
            format!("{}: {what}", file.display()),
            "give the public key in PEM, such as cosign.pub",
        )
    };
    let Some(read) = managed.access().read_if_exists(&file, MAX_KEY) else { return Ok(None) };
    let bytes = read.map_err(|error| wrong(hookbox_system::files::explain(&error)))?;
    let key =
        PublicKey::from_pem(&String::from_utf8_lossy(&bytes)).map_err(|error| wrong(error.to_string()))?;
    Ok(Some(key))
}
