//! `hookbox plugin remove`.

use std::process::ExitCode;

use clap::Args;
use hookbox::escape;
use hookbox::internal::text::shell_word;
use hookbox::manager::Manager;
use hookbox_plugins::{PluginError, PluginErrorKind, PluginName, Plugins, Silent};
use serde_json::{Value, json};

use super::locations::{self, Environment, KnownPlugin};
use super::{Results, record_trust};
use crate::{human, options, output};

/// Remove plugins, with the trust in their hooks and their grants.
#[derive(Args, Debug)]
pub(crate) struct Remove {
    /// The plugins, as ORG/REPO.
    #[arg(value_name = "NAME", required = true)]
    names: Vec<String>,
    /// Those of the home directory.
    #[arg(short, long, visible_alias = "user", conflicts_with = "local")]
    global: bool,
    /// Those of the repository.
    #[arg(long = "project", alias = "local")]
    local: bool,
    /// Print the removed plugins as JSON: an array of objects.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    locate: options::Locate,
}

impl Remove {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        self.locate.enter()?;
        human::required(&self.locate, &[], false)?;
        let env = Environment::new(&self.locate)?;
        let all = env.all(env.bases(self.global, self.local));
        // All plugins are found before the first one is removed.
        let found: anyhow::Result<Vec<_>> = self.names.iter().map(|name| find(&all, name)).collect();
        let manager = env.manager().await?;
        let mut results = Results::new(self.json);
        for (plugins, known, name) in found? {
            match self.one(plugins, &known, &name, &manager) {
                Ok(row) => results.rows.push(row),
                Err(error) => results.failed(error, true, format_args!("{name} was not removed"))?,
            }
        }
        results.finish(Ok(()))
    }

    fn one(
        &self,
        plugins: &Plugins,
        known: &KnownPlugin,
        name: &PluginName,
        manager: &Manager,
    ) -> anyhow::Result<Value> {
        let records = {
            let lock = locations::lock(plugins)?;
            // In this order, because a kill in between must not leave trust without a plugin.
            let records = record_trust::forget(manager, plugins, &known.path, &[])?;
            hookbox_plugins::remove(&lock, name, &Silent)?;
            records
        };
        let location = plugins.location().as_str();
        if !self.json {
            output::line(&format!("Removed {name} ({location})"))?;
        }
        let untrusted: Vec<&str> = records.iter().map(|it| it.name.as_str()).collect();
        let path = known.path.to_string_lossy();
        Ok(json!({"name": name.to_string(), "location": location, "path": path, "untrusted": untrusted}))
    }
}

/// Finds the plugin of this name. Its directory must be `org@repo`.
fn find<'p>(all: &'p [Plugins], word: &str) -> anyhow::Result<(&'p Plugins, KnownPlugin, PluginName)> {
    let (plugins, known) = locations::find(all, word)?;
    match known.id.clone() {
        Some(name) => Ok((plugins, known, name)),
        None => {
            let what = "was put there by hand, under a name that is none of a plugin (org@repo)".to_owned();
            let path = shell_word(&known.path.to_string_lossy());
            let error = PluginError::new(&known.name, PluginErrorKind::Unexpected(what));
            Err(error.hint(format!("remove it yourself: rm -r {}", escape(&path, 4096))).into())
        }
    }
}
