//! `hookbox plugin update`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use hookbox::Kind;
use hookbox::discovery::EntryStatus;
use hookbox::plugin::{
    Contents, Difference, Installed, Locked, PluginError, PluginErrorKind, Plugins, Replace, Source,
};
use hookbox::text::escape;
use serde_json::{Value, json};

use super::arrival::{Arrived, How, Wanted};
use super::consent::{Answer, Consent};
use super::failed;
use super::place::{self, Here};
use crate::error::{say, warn};
use crate::{approval, options, output};

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
    installed: Installed,
    locked: Locked,
    contents: Contents,
}

impl Update {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        approval::not_from_a_hook()?;
        self.locate.enter()?;
        let here = Here::new(&self.locate)?;
        let how = How::new(self.plain_http, self.key.as_deref())?;
        let all: Vec<Arc<Plugins>> = here.all([here.place(self.global)?]).into_iter().map(Arc::new).collect();
        all.iter().for_each(|plugins| place::repair(plugins));
        let found = self.find(&all)?;
        if found.is_empty() {
            say("plugins.lock names no plugin here");
        }
        let mut rows = Vec::new();
        for (plugins, installed) in found {
            rows.push(self.one(&here, &plugins, installed, &how).await?);
        }
        if self.json { output::json(&rows) } else { Ok(ExitCode::SUCCESS) }
    }

    /// The plugins that are named, or all that can be updated.
    fn find(&self, all: &[Arc<Plugins>]) -> anyhow::Result<Vec<(Arc<Plugins>, Installed)>> {
        let mut there = Vec::new();
        for plugins in all {
            let installed = hookbox::plugin::installed(plugins).map_err(failed)?;
            there.extend(installed.into_iter().map(|it| (Arc::clone(plugins), it)));
        }
        if self.names.is_empty() {
            there.retain(|(_, it)| it.locked.is_some());
            return Ok(there);
        }
        let mut found = Vec::new();
        for word in &self.names {
            let name = place::name(word)?;
            let Some(at) = there.iter().position(|(_, it)| it.name == name) else {
                let error = PluginError::new(word, PluginErrorKind::NotInstalled);
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
        installed: Installed,
        how: &How,
    ) -> anyhow::Result<Value> {
        let name = installed.name.clone();
        let Some(locked) = installed.locked.clone() else {
            let what = "was not installed by hookbox, so that nobody knows its source".to_owned();
            let error = PluginError::new(name.to_string(), PluginErrorKind::Unexpected(what));
            return Err(failed(error.hint("install it: hookbox plugin add SOURCE --force")));
        };
        // Directories are named from the place.
        let source = Source::parse(&locked.source, &here.hosts(plugins.base())).map_err(failed)?;
        let reference = self.reference.as_deref().or(locked.reference.as_deref());
        let source = source.at(reference).map_err(failed)?;
        // Who names a plugin means it with the key.
        let verified = Some(&locked).filter(|it| it.key.is_some() || self.names.is_empty());
        let key = how.key(&source, verified)?;
        let arrived = Wanted { name, source, locked: None, key }.fetch(here, plugins, how).await?;
        let contents = Contents::look(&installed.path, &installed.name, &here.runtime).await;
        self.replace(here, plugins, Old { installed, locked, contents }, arrived).await
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
        let now = hookbox::plugin::digest(&old.installed.path).map_err(failed)?;
        let by_hand = now != old.locked.tree;
        let same_bytes = now == *arrived.tree();
        let new = arrived.locked.clone();
        let is_current =
            same_bytes && revision(&old.locked) == revision(&new) && old.locked.reference == new.reference;
        let difference = Difference::between(&old.contents, &arrived.contents);
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
        let (kept, asked) = standing(&old.contents, &arrived.contents, same_bytes);
        if by_hand {
            warn(format_args!("{name} was changed by hand since it was installed, and an update loses that"));
        }
        if self.dry_run {
            lines.extend(account(&kept, &asked));
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
        let answer = if asked.is_empty() {
            Answer::No
        } else {
            arrived.show();
            account(&kept, &asked).iter().for_each(say);
            let grant = if self.consent.grant { ", and grant what it asks for" } else { "" };
            self.consent
                .ask(format!("Trust the hooks of {name} as shown{grant}? It is updated either way."))
                .await?
        };
        let installed = arrived.install(here, plugins, Replace::Yes, answer, &self.consent).await?;
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

/// What a plugin was at its source, in a word: commit, manifest or tree.
fn revision(locked: &Locked) -> String {
    match (&locked.commit, &locked.manifest) {
        (Some(commit), _) => commit.clone(),
        (None, Some(manifest)) => manifest.to_string(),
        (None, None) => locked.tree.to_string(),
    }
}

/// Which hooks keep the trust that they have, and which need a new yes: a component is its bytes, anything else every
/// file of the plugin.
fn standing(before: &Contents, after: &Contents, same_bytes: bool) -> (Vec<String>, Vec<String>) {
    let is_kept = |name: &str, kind: Kind, digest: &Option<hookbox::Digest>| {
        let same = before.hooks.iter().find(|it| it.name == name);
        same_bytes
            || (kind == Kind::Component && same.is_some_and(|it| it.digest == *digest && digest.is_some()))
    };
    let usable = after.enabled().filter(|it| it.status != EntryStatus::Invalid);
    let (kept, asked): (Vec<_>, Vec<_>) = usable.partition(|it| is_kept(&it.name, it.kind, &it.digest));
    let names =
        |hooks: Vec<&hookbox::plugin::PluginHook>| hooks.iter().map(|it| it.full_name.clone()).collect();
    (names(kept), names(asked))
}

/// The same in lines.
fn account(kept: &[String], asked: &[String]) -> Vec<String> {
    let list = |names: &[String]| names.iter().map(|name| escape(name, 200)).collect::<Vec<_>>().join(" ");
    let mut lines = Vec::new();
    if !kept.is_empty() {
        lines.push(format!("  unchanged byte for byte, so that trust and grants stay: {}", list(kept)));
    }
    if !asked.is_empty() {
        lines.push(format!("  new or changed, so that a new yes is needed: {}", list(asked)));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use hookbox::plugin::PluginHook;
    use hookbox::{Digest, OnFailure};

    fn hook(name: &str, kind: Kind, bytes: &[u8]) -> PluginHook {
        PluginHook {
            name: name.to_owned(),
            full_name: format!("o/r/{name}"),
            file: name.into(),
            kind,
            status: EntryStatus::Active,
            subscriptions: Vec::new(),
            priority: 50,
            on_failure: OnFailure::Pass,
            observe: false,
            answers: Vec::new(),
            asks: Vec::new(),
            runs: None,
            may_use_more: false,
            description: None,
            digest: Some(Digest::of(bytes)),
            problem: None,
        }
    }

    #[test]
    fn only_an_unchanged_component_keeps_its_trust_when_anything_changes() {
        let of = |hooks| Contents { hooks, ..Contents::default() };
        let before = of(vec![
            hook("a.wasm", Kind::Component, b"1"),
            hook("b.wasm", Kind::Component, b"1"),
            hook("guard", Kind::Native, b"1"),
        ]);
        let after = of(vec![
            hook("a.wasm", Kind::Component, b"1"),
            hook("b.wasm", Kind::Component, b"2"),
            hook("c.wasm", Kind::Component, b"1"),
            hook("guard", Kind::Native, b"1"),
            PluginHook { status: EntryStatus::Disabled, ..hook("off.disable", Kind::Native, b"1") },
            PluginHook { status: EntryStatus::Invalid, ..hook("bad.wasm", Kind::Component, b"1") },
        ]);
        let names = |names: &[&str]| names.iter().map(|it| format!("o/r/{it}")).collect::<Vec<_>>();
        let (kept, asked) = standing(&before, &after, false);
        assert_eq!((kept, asked), (names(&["a.wasm"]), names(&["b.wasm", "c.wasm", "guard"])));
        let (kept, asked) = standing(&before, &before, true);
        assert_eq!((kept, asked), (names(&["a.wasm", "b.wasm", "guard"]), vec![]));
    }
}
