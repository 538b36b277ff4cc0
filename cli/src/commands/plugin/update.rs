//! `hookbox plugin update`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use hookbox::text::escape;
use hookbox_plugins::{
    Contents, Difference, Files, Locked, PluginError, PluginErrorKind, Plugins, Replace, Source,
};
use serde_json::{Value, json};

use super::arrival::{Arrived, Wanted, is_interrupt};
use super::consent::{Answer, Consent};
use super::how::How;
use super::place::{self, Here, There};
use super::standing::Standing;
use super::trusting::Said;
use super::{failed, row};
use crate::error::{EXIT_FAILED, complain, say, warn};
use crate::{human, options, output};

/// Bring plugins up to what their sources have now, and show what that changes.
///
/// What changed needs a new yes: trust and grants hold for bytes.
#[derive(Args, Debug)]
pub(crate) struct Update {
    /// The plugins, as ORG/REPO [default: all that plugins.lock names].
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Those of the home directory instead of the repository.
    #[arg(long)]
    global: bool,
    /// Show what would change, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Go over to this branch, tag or commit of a git repository.
    #[arg(long = "ref", value_name = "REF", requires = "names")]
    reference: Option<String>,
    /// Replace what was changed by hand since it was installed, too.
    #[arg(long)]
    force: bool,
    /// Verify cosign's signature of an OCI artifact against this public key.
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// Speak to registries without TLS.
    #[arg(long)]
    plain_http: bool,
    /// Print what was done as JSON: an array of objects.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    consent: Consent,
    #[command(flatten)]
    locate: options::Locate,
}

/// A plugin that is to be updated.
struct Old {
    there: There,
    locked: Locked,
    contents: Contents,
}

impl Update {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        self.locate.enter()?;
        if !self.dry_run {
            human::required(&self.locate, &[], self.consent.asks())?;
        }
        let here = Here::new(&self.locate)?;
        let how = How::new(self.plain_http, self.key.as_deref())?;
        let all: Vec<Arc<Plugins>> = here.all([here.place(self.global)?]).into_iter().map(Arc::new).collect();
        all.iter().for_each(|plugins| place::repair(plugins));
        let found = self.find(&all)?;
        if found.is_empty() {
            say("plugins.lock names no plugin here");
        }
        let (several, mut rows, mut failures) = (found.len() > 1, Vec::new(), 0);
        let mut ended = Ok(());
        for (plugins, there) in found {
            let name = there.name.clone();
            match self.one(&here, &plugins, there, &how).await {
                Ok(row) => rows.push(row),
                Err(error) if !several || is_interrupt(&error) => {
                    ended = Err(error);
                    break;
                }
                // One that cannot be updated keeps no other from it.
                Err(error) => {
                    complain(&error);
                    say(format_args!("{} was not updated", escape(&name, 200)));
                    failures += 1;
                }
            }
        }
        // What was done before something failed is data as well.
        if self.json && (ended.is_ok() || !rows.is_empty()) {
            output::json(&rows)?;
        }
        ended?;
        Ok(if failures == 0 { ExitCode::SUCCESS } else { ExitCode::from(EXIT_FAILED) })
    }

    /// The plugins that are named, or all that can be updated.
    fn find(&self, all: &[Arc<Plugins>]) -> anyhow::Result<Vec<(Arc<Plugins>, There)>> {
        let mut there = Vec::new();
        for plugins in all {
            there.extend(place::plugins(plugins)?.into_iter().map(|it| (Arc::clone(plugins), it)));
        }
        if self.names.is_empty() {
            there.retain(|(_, it)| it.locked.is_some());
            return Ok(there);
        }
        let mut found = Vec::new();
        for word in &self.names {
            let Some(at) = there.iter().position(|(_, it)| it.name == *word) else {
                let error = PluginError::new(place::name(word)?.to_string(), PluginErrorKind::NotInstalled);
                let hint = match self.global {
                    false => "see `hookbox plugin list`; --global updates those of your home directory",
                    true => "see `hookbox plugin list`",
                };
                return Err(failed(error.hint(hint)));
            };
            found.push(there.remove(at));
        }
        Ok(found)
    }

    async fn one(
        &self,
        here: &Here<'_>,
        plugins: &Arc<Plugins>,
        there: There,
        how: &How,
    ) -> anyhow::Result<Value> {
        let Some(locked) = there.locked.clone() else {
            let what = "was not installed by hookbox, so that nobody knows its source".to_owned();
            let error = PluginError::new(&there.name, PluginErrorKind::Unexpected(what));
            return Err(failed(error.hint("install it: hookbox plugin add SOURCE --force")));
        };
        if !there.is_here {
            return Err(failed(there.missing(plugins)));
        }
        let name = locked.name.clone();
        // Directories are named from the place.
        let source = Source::parse(&locked.source, &here.hosts(plugins.base())).map_err(failed)?;
        let reference = self.reference.as_deref().or(locked.reference.as_deref());
        let source = source.at(reference).map_err(failed)?;
        // Who names a plugin means it with the key.
        let verified = Some(&locked).filter(|it| it.key.is_some() || self.names.is_empty());
        let key = how.key(&source, verified)?;
        let arrived = Wanted { name, source, locked: None, key }.fetch(here, plugins, how).await?;
        let contents = Contents::look_in(&there.path, &there.dir, &here.runtime).await;
        self.replace(here, plugins, Old { there, locked, contents }, arrived).await
    }

    /// Shows what differs, asks, and replaces.
    async fn replace(
        &self,
        here: &Here<'_>,
        plugins: &Arc<Plugins>,
        old: Old,
        arrived: Arrived,
    ) -> anyhow::Result<Value> {
        let name = arrived.name.to_string();
        let now = hookbox_plugins::digest(&old.there.path).map_err(failed)?;
        let by_hand = now != old.locked.tree;
        let same_bytes = now == *arrived.tree();
        let new = arrived.locked.clone();
        let is_current =
            same_bytes && revision(&old.locked) == revision(&new) && old.locked.reference == new.reference;
        let difference = difference(&old, &arrived);
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
        let manager = here.manager().await?;
        let trusted = row::of(plugins, &old.there, &old.contents, &manager, &row::records(&manager)?);
        let is_trusted = |hook: &str| trusted.is_trusted(hook);
        let standing = Standing::between(&old.contents, &arrived.contents, same_bytes, is_trusted);
        if by_hand {
            warn(format_args!("{name} was changed by hand since it was installed, and an update loses that"));
        }
        if self.dry_run {
            lines.extend(standing.lines());
            self.print(&lines.join("\n"))?;
            return Ok(row(false, None));
        }
        if by_hand && !self.force {
            let what = "was changed by hand since it was installed".to_owned();
            let error = PluginError::new(&name, PluginErrorKind::Mismatch(what));
            let hint = "give --force to replace it; what is switched off in hookbox.toml stays so, what is renamed to .disable does not";
            return Err(failed(error.hint(hint)));
        }
        lines.iter().for_each(say);
        let answer = if standing.is_asked() {
            arrived.show();
            standing.lines().iter().for_each(say);
            let grant = if self.consent.grant { ", and grant what they ask for" } else { "" };
            let question = format!(
                "Trust the hooks of {name} that need a new yes, as shown{grant}? It is updated either way."
            );
            self.consent.ask(question).await?
        } else {
            Answer::No
        };
        let besides = standing.besides();
        // The same bytes keep all that was said of them.
        let said = Said { answer, grant: self.consent.grant && standing.is_asked(), besides: &besides };
        let said = (!same_bytes).then_some(said);
        let installed = arrived.install(here, plugins, Replace::Yes, said).await?;
        self.print(&super::arrival::summary("Updated", &installed))?;
        Ok(row(true, Some(installed.details.trusted)))
    }

    /// Prints a line of data, where JSON is not wanted.
    fn print(&self, text: &str) -> anyhow::Result<()> {
        if !self.json {
            output::line(text)?;
        }
        Ok(())
    }
}

/// What differs, down to the files where these can be read.
fn difference(old: &Old, arrived: &Arrived) -> Difference {
    let files = Files::of(&old.there.path).and_then(|before| Ok((before, arrived.files()?)));
    match files {
        Ok((before, after)) => Difference::of_files((&old.contents, &before), (&arrived.contents, &after)),
        Err(error) => {
            warn(error);
            Difference::between(&old.contents, &arrived.contents)
        }
    }
}

/// What a plugin was at its source, in a word: commit, manifest or tree.
fn revision(locked: &Locked) -> String {
    match (&locked.commit, &locked.manifest) {
        (Some(commit), _) => commit.clone(),
        (None, Some(manifest)) => manifest.to_string(),
        (None, None) => locked.tree.to_string(),
    }
}
