//! `hookbox plugin remove`.

use std::process::ExitCode;

use clap::Args;
use hookbox::escape;
use hookbox::manager::Manager;
use hookbox_plugins::{KnownPlugin, PluginError, PluginErrorKind, Plugins};
use serde_json::{Value, json};

use super::locations::{self, Environment};
use super::{Results, row};
use crate::{human, options, output};

/// Remove plugins, with the trust in their hooks and their grants.
#[derive(Args, Debug)]
pub(crate) struct Remove {
    /// The plugins: ORG/REPO, or the name of a directory in plugins/.
    #[arg(value_name = "NAME", required = true)]
    names: Vec<String>,
    /// Those of the home directory instead of the repository.
    #[arg(short, long, visible_alias = "user", conflicts_with = "local")]
    global: bool,
    /// Those of the repository, which is the default.
    #[arg(long = "project", alias = "local")]
    local: bool,
    #[command(flatten)]
    yes: options::Yes,
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
        let all = env.all(env.bases(self.global, !self.global));
        all.iter().for_each(locations::repair);
        // All plugins are found before the first one is removed.
        let found: anyhow::Result<Vec<_>> =
            self.names.iter().map(|name| self.find(&env, &all, name)).collect();
        let manager = env.manager().await?;
        let mut results = Results::new(self.json);
        for (plugins, known) in found? {
            match self.one(plugins, &known, &manager) {
                Ok(row) => results.rows.push(row),
                Err(error) => {
                    results.failed(
                        error,
                        true,
                        format_args!("{} was not removed", escape(&known.name, 200)),
                    )?;
                }
            }
        }
        results.finish(Ok(()))
    }

    fn one(&self, plugins: &Plugins, known: &KnownPlugin, manager: &Manager) -> anyhow::Result<Value> {
        let records = known.remove(plugins, manager)?;
        row::forgotten(&records);
        let location = plugins.location().as_str();
        if !self.json {
            output::line(&format!("Removed {} ({})", escape(&known.name, 200), row::tier(location)))?;
        }
        let untrusted: Vec<&str> = records.iter().map(|it| it.name.as_str()).collect();
        let path = known.path.to_string_lossy();
        Ok(json!({"name": known.name, "location": location, "path": path, "untrusted": untrusted}))
    }

    /// Finds the plugin of this name. A plugin in the home directory is found only with `--global`.
    fn find<'p>(
        &self,
        env: &Environment<'_>,
        all: &'p [Plugins],
        word: &str,
    ) -> anyhow::Result<(&'p Plugins, KnownPlugin)> {
        locations::find(all, word).map_err(|error| {
            let is_missing = error
                .downcast_ref::<PluginError>()
                .is_some_and(|it| matches!(it.kind, PluginErrorKind::NotInstalled));
            let is_global = || locations::find(&env.all(env.bases(true, false)), word).is_ok();
            if !is_missing || self.global || !is_global() {
                return error;
            }
            let error = PluginError::new(escape(word, 200), PluginErrorKind::NotInstalled);
            error.hint("it is in your home directory: give --global").into()
        })
    }
}
