//! `hookbox plugin update`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use hookbox::escape;
use hookbox_plugins::{
    Contents, Difference, Files, Hosts, Locked, PluginError, PluginErrorKind, Plugins, Replace, Source,
};
use serde_json::{Value, json};

use super::carried_trust::TrustChanges;
use super::consent::Consent;
use super::fetch_options::FetchOptions;
use super::fetched::{FetchRequest, FetchedPlugin, summary};
use super::locations::{self, Environment, KnownPlugin};
use super::record_trust::Decision;
use super::{Results, row};
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

/// The installed plugin.
struct Old {
    known: KnownPlugin,
    locked: Locked,
    contents: Contents,
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
        let mut known = Vec::new();
        for plugins in all {
            known.extend(locations::plugins(plugins)?.into_iter().map(|it| (plugins, it)));
        }
        if self.names.is_empty() {
            known.retain(|(_, it)| it.locked.is_some());
            return Ok(known);
        }
        let mut found = Vec::new();
        for word in &self.names {
            let Some(at) = known.iter().position(|(_, it)| it.name == *word) else {
                let error =
                    PluginError::new(locations::name(word)?.to_string(), PluginErrorKind::NotInstalled);
                let hint = match self.global {
                    false => "see `hookbox plugin list`; --global updates those of your home directory",
                    true => "see `hookbox plugin list`",
                };
                return Err(error.hint(hint).into());
            };
            found.push(known.remove(at));
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
        let Some(locked) = known.locked.clone() else {
            let what = "was not installed by hookbox, so its source is not known".to_owned();
            let error = PluginError::new(&known.name, PluginErrorKind::Unexpected(what));
            return Err(error.hint("install it: hookbox plugin add SOURCE --force").into());
        };
        if !known.is_here {
            return Err(known.missing(plugins).into());
        }
        let name = locked.name.clone();
        // The path of a directory is relative to the base.
        let source = Source::parse(&locked.source, &Hosts::new(plugins.base()))?;
        let reference = self.reference.as_deref().or(locked.reference.as_deref());
        let source = source.at(reference)?;
        // A key on the command line is for the plugins that it names.
        let verified = Some(&locked).filter(|it| it.key.is_some() || self.names.is_empty());
        let key = options.key(&source, verified)?;
        let fetched = FetchRequest { name, source, locked: None, key }.fetch(env, plugins, options).await?;
        let contents = Contents::look(&known.path, &known.dir, plugins.location(), &env.runtime).await;
        self.replace(env, plugins, Old { known, locked, contents }, fetched).await
    }

    /// Shows the differences, asks, and replaces the plugin.
    async fn replace(
        &self,
        env: &Environment<'_>,
        plugins: &Plugins,
        old: Old,
        fetched: FetchedPlugin,
    ) -> anyhow::Result<Value> {
        let name = fetched.name.to_string();
        let now = hookbox_plugins::digest(&old.known.path, Some(&old.locked))?;
        let by_hand = now != old.locked.tree;
        let same_bytes = now == *fetched.tree();
        let new = fetched.locked.clone();
        let is_current =
            same_bytes && revision(&old.locked) == revision(&new) && old.locked.reference == new.reference;
        let difference = difference(&old, &fetched);
        let row = |updated: bool, trusted: Option<bool>| {
            json!({
                "name": name, "location": plugins.location().as_str(), "updated": updated, "current": is_current,
                "from": {"commit": old.locked.commit, "digest": old.locked.manifest, "tree": now},
                "to": {"commit": new.commit, "digest": new.manifest, "tree": new.tree},
                "difference": difference, "trusted": trusted,
            })
        };
        if is_current {
            self.print(&format!("{name} is up to date"))?;
            return Ok(row(false, None));
        }
        let (from, to) = (revision(&old.locked), revision(&new));
        let mut lines = vec![format!("{name}: {from} -> {to}")];
        let shown = difference.to_string();
        lines.extend((!shown.is_empty()).then_some(shown));
        if same_bytes {
            lines.push("  the same bytes: trust and grants stay".to_owned());
        } else if difference.is_empty() {
            lines.push("  other files of it".to_owned());
        }
        let manager = env.manager().await?;
        let trusted = row::of(plugins, &old.known, &old.contents, &manager)?;
        let is_trusted = |hook: &str| trusted.is_trusted(hook);
        let changes = TrustChanges::between(&old.contents, &fetched.contents, same_bytes, is_trusted);
        if by_hand {
            warn(format_args!("{name} was changed by hand since it was installed, and an update loses that"));
        }
        if self.dry_run {
            lines.extend(changes.lines());
            self.print(&lines.join("\n"))?;
            return Ok(row(false, None));
        }
        if by_hand && !self.force {
            let what = "was changed by hand since it was installed".to_owned();
            let error = PluginError::new(&name, PluginErrorKind::Mismatch(what));
            let hint = "give --force to replace it; what is switched off in hookbox.toml stays so, what is renamed to .disable does not";
            return Err(error.hint(hint).into());
        }
        lines.iter().for_each(say);
        let trust = if changes.is_asked() {
            fetched.show();
            changes.lines().iter().for_each(say);
            let grant = if self.consent.grant { ", and grant what they ask for" } else { "" };
            let question = format!(
                "Trust the hooks of {name} that need a new yes, as shown{grant}? It is updated either way."
            );
            self.consent.ask(question).await?
        } else {
            false
        };
        let besides = changes.besides();
        // The same bytes keep their records.
        let decision = Decision { trust, grant: self.consent.grant && changes.is_asked(), besides: &besides };
        let decision = (!same_bytes).then_some(decision);
        let installed = fetched.install(env, plugins, Replace::Yes, decision).await?;
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

/// Returns the differences, with those of the files if they can be read.
fn difference(old: &Old, fetched: &FetchedPlugin) -> Difference {
    let files = Files::of(&old.known.path).and_then(|before| Ok((before, fetched.files()?)));
    match files {
        Ok((before, after)) => Difference::of_files((&old.contents, &before), (&fetched.contents, &after)),
        Err(error) => {
            warn(error);
            Difference::between(&old.contents, &fetched.contents)
        }
    }
}

/// Returns the revision of a plugin: its commit, manifest or tree.
fn revision(locked: &Locked) -> String {
    match (&locked.commit, &locked.manifest) {
        (Some(commit), _) => commit.clone(),
        (None, Some(manifest)) => manifest.to_string(),
        (None, None) => locked.tree.to_string(),
    }
}
