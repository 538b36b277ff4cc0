//! `hookbox plugin remove`.

use std::process::ExitCode;

use clap::Args;
use hookbox::plugin::{Location, Silent};
use hookbox::text::escape;
use serde_json::json;

use super::place::{self, Here};
use super::{failed, trusting};
use crate::error::say;
use crate::{approval, options, output};

/// Remove plugins, with the trust in their hooks and all that was granted to them.
#[derive(Args, Debug)]
pub(crate) struct Remove {
    /// The plugins, as ORG/REPO.
    #[arg(value_name = "NAME", required = true)]
    names: Vec<String>,
    /// Those of the home directory.
    #[arg(long, conflicts_with = "local")]
    global: bool,
    /// Those of the repository.
    #[arg(long)]
    local: bool,
    /// Print what was removed as JSON: an array of objects.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    locate: options::Locate,
}

impl Remove {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        approval::not_from_a_hook()?;
        self.locate.enter()?;
        let here = Here::new(&self.locate)?;
        let all = here.all(place::places(&here, self.global, self.local));
        // All of them are found before one is removed.
        let found: anyhow::Result<Vec<_>> = self.names.iter().map(|name| place::find(&all, name)).collect();
        let mut removed = Vec::new();
        for (plugins, installed) in found? {
            {
                let guard = place::lock(plugins)?;
                hookbox::plugin::remove(&guard, &installed.name, &Silent).map_err(failed)?;
            }
            let is_global = plugins.location() == Location::Global;
            let manager = here.manager().await?;
            let records = trusting::forget(&manager, plugins.base(), &installed.path, is_global)?;
            for record in &records {
                say(format_args!("took back trust and grants of {}", escape(&record.name, 200)));
            }
            let location = plugins.location().as_str();
            if self.json {
                let untrusted: Vec<&str> = records.iter().map(|it| it.name.as_str()).collect();
                let path = installed.path.to_string_lossy();
                removed.push(json!({
                    "name": installed.name.to_string(), "location": location, "path": path, "untrusted": untrusted,
                }));
            } else {
                output::line(&format!("Removed {} ({location})", installed.name))?;
            }
        }
        if self.json { output::json(&removed) } else { Ok(ExitCode::SUCCESS) }
    }
}
