//! `hookbox plugin update`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use hookbox::escape;
use hookbox_plugins::{KnownPlugin, PluginError, PluginErrorKind, Plugins, Preview, Request, known};
use serde_json::{Value, json};

use super::Results;
use super::fetch::{Consent, FetchOptions, fetch, install, show, summary};
use super::locations::{self, Environment};
use crate::error::{say, warn};
use crate::{human, options, output};

/// Update plugins from their sources, and show the changes.
///
/// Changed hooks need a new yes: trust and grants are bound to bytes.
#[derive(Args, Debug)]
pub(crate) struct Update {
    /// The plugins, as ORG/REPO [default: all that plugins.lock names].
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Update plugins of the home directory instead of the repository.
    #[arg(short, long, visible_alias = "user")]
    global: bool,
    /// Show the changes without making them.
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Change to this branch, tag or commit of a git repository.
    #[arg(long = "ref", value_name = "REF", requires = "names")]
    reference: Option<String>,
    /// Replace a plugin also if it was changed by hand.
    #[arg(long)]
    force: bool,
    /// Verify cosign's signature of an OCI artifact against this public key.
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// Speak to registries without TLS.
    #[arg(long)]
    plain_http: bool,
    /// Print the results as JSON: an array of objects.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    consent: Consent,
    #[command(flatten)]
    locate: options::Locate,
}

impl Update {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        self.locate.enter()?;
        if !self.dry_run {
            human::required(&self.locate, &[], self.consent.asks())?;
        }
        let env = Environment::new(&self.locate)?;
        let options = FetchOptions::new(self.plain_http, self.key.as_deref())?;
        let all = env.all([env.base(self.global)?]);
        all.iter().for_each(locations::repair);
        let found = self.find(&all)?;
        if found.is_empty() {
            say("plugins.lock names no plugin here");
        }
        // With several plugins, the others are updated all the same.
        let (several, mut results, mut ended) = (found.len() > 1, Results::new(self.json), Ok(()));
        for (plugins, known) in found {
            let name = escape(&known.name, 200);
            match self.one(&env, plugins, known, &options).await {
                Ok(row) => results.rows.push(row),
                Err(error) => {
                    ended = results.failed(error, several, format_args!("{name} was not updated"));
                }
            }
            if ended.is_err() {
                break;
            }
        }
        results.finish(ended)
    }

    /// Returns the named plugins, or all that have a source.
    fn find<'p>(&self, all: &'p [Plugins]) -> anyhow::Result<Vec<(&'p Plugins, KnownPlugin)>> {
        let mut all_known = Vec::new();
        for plugins in all {
            all_known.extend(known(plugins)?.into_iter().map(|it| (plugins, it)));
        }
        if self.names.is_empty() {
            all_known.retain(|(_, it)| it.locked.is_some());
            return Ok(all_known);
        }
        let mut found = Vec::new();
        for word in &self.names {
            let Some(at) = all_known.iter().position(|(_, it)| it.name == *word) else {
                let error =
                    PluginError::new(locations::name(word)?.to_string(), PluginErrorKind::NotInstalled);
                let hint = match self.global {
                    false => "see `hookbox plugin list`; --global updates those of your home directory",
                    true => "see `hookbox plugin list`",
                };
                return Err(error.hint(hint).into());
            };
            found.push(all_known.remove(at));
        }
        Ok(found)
    }

    async fn one(
        &self,
        env: &Environment<'_>,
        plugins: &Plugins,
        known: KnownPlugin,
        options: &FetchOptions,
    ) -> anyhow::Result<Value> {
        let request = Request::update(plugins, &known, self.reference.as_deref())?;
        let request = match &known.locked {
            // A key on the command line is for the plugins that it names.
            Some(locked) if self.names.is_empty() => options.apply_to_one_of_all(request, locked)?,
            _ => options.apply(request)?,
        };
        self.replace(env, plugins, &known, fetch(request, env, plugins).await?).await
    }

    /// Shows the differences, asks, and replaces the plugin.
    async fn replace(
        &self,
        env: &Environment<'_>,
        plugins: &Plugins,
        known: &KnownPlugin,
        preview: Preview<'_>,
    ) -> anyhow::Result<Value> {
        let name = preview.name().to_string();
        let update = preview.update(known, &env.runtime).await?;
        update.problem.iter().for_each(warn);
        let (old, new) = (&update.old, preview.locked.clone());
        let row = |updated: bool, trusted: Option<bool>| {
            json!({
                "name": name, "location": plugins.location().as_str(),
                "updated": updated, "current": update.is_current,
                "from": {"commit": old.commit, "digest": old.manifest, "tree": update.tree},
                "to": {"commit": new.commit, "digest": new.manifest, "tree": new.tree},
                "difference": update.difference, "trusted": trusted,
            })
        };
        if update.is_current {
            self.print(&format!("{name} is up to date"))?;
            return Ok(row(false, None));
        }
        let (from, to) = update.revisions(&preview);
        let mut lines = vec![format!("{name}: {from} -> {to}")];
        let shown = update.difference.to_string();
        lines.extend((!shown.is_empty()).then_some(shown));
        if update.same_bytes {
            lines.push("  the same bytes: trust and grants stay".to_owned());
        } else if update.difference.is_empty() {
            lines.push("  other files of it".to_owned());
        }
        let changes = update.trust(&preview, &env.manager().await?);
        if update.by_hand {
            warn(format_args!("{name} was changed by hand since it was installed, and an update loses that"));
        }
        if self.dry_run {
            lines.extend(changes.lines());
            self.print(&lines.join("\n"))?;
            return Ok(row(false, None));
        }
        update.check_by_hand(self.force)?;
        lines.iter().for_each(say);
        let trust = if changes.is_asked() {
            show(&preview);
            changes.lines().iter().for_each(say);
            let grant = if self.consent.grant { ", and grant what they ask for" } else { "" };
            let question = format!(
                "Trust the hooks of {name} that need a new yes, as shown{grant}? It is updated either way."
            );
            self.consent.ask(question).await?
        } else {
            false
        };
        // The same bytes keep their records.
        let decision = (!update.same_bytes).then(|| changes.decision(trust, self.consent.grant));
        let installed = install(preview, env, plugins, decision).await?;
        self.print(&summary("Updated", &installed))?;
        Ok(row(true, Some(installed.details.trusted)))
    }

    /// Prints text, unless JSON is wanted.
    fn print(&self, text: &str) -> anyhow::Result<()> {
        if !self.json {
            output::line(text)?;
        }
        Ok(())
    }
}
