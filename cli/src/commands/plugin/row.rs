//! A plugin as data: an object of `plugin list --json`.

use std::path::PathBuf;

use hookbox::capability::Capability;
use hookbox::discovery::{Approvable, Entry, EntryStatus};
use hookbox::manager::Manager;
use hookbox::text::escape;
use hookbox::trust::{Record, Records};
use hookbox::{Digest, EventName, Kind, OnFailure, Subscription};
use hookbox_plugins::{Contents, PluginHook, Plugins};
use serde::Serialize;
use serde_json::{Value, json};

use super::place::{self, Here, Place, There};
use super::{account, trusting};
use crate::approval;
use crate::error::{hint, warn};

/// An installed plugin.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) location: &'static str,
    pub(super) path: String,
    /// The root that it stands in.
    #[serde(skip)]
    pub(super) root: String,
    skills: Vec<String>,
    recipes: Vec<String>,
    hooks: Vec<String>,
    pub(super) details: Details,
}

/// What else there is to say.
#[derive(Debug, Serialize)]
pub(super) struct Details {
    pub(super) source: Option<String>,
    #[serde(rename = "ref")]
    pub(super) reference: Option<String>,
    pub(super) commit: Option<String>,
    pub(super) digest: Option<String>,
    pub(super) tree: Option<String>,
    pub(super) installed: Option<String>,
    /// Whether it has other bytes than those that were installed.
    pub(super) changed: bool,
    /// Whether all of its hooks are trusted that are not disabled and can be used.
    pub(super) trusted: bool,
    pub(super) hooks: Vec<HookRow>,
}

/// A hook of it.
#[derive(Debug, Serialize)]
pub(super) struct HookRow {
    name: String,
    full_name: String,
    file: PathBuf,
    kind: Kind,
    status: EntryStatus,
    trusted: bool,
    events: Vec<EventName>,
    priority: i32,
    on_failure: OnFailure,
    observe: bool,
    answers: Vec<&'static str>,
    asks: Vec<Capability>,
    granted: Vec<Capability>,
    runs: Option<String>,
    description: Option<String>,
    digest: Option<Digest>,
    problem: Option<String>,
}

/// What is known of all hooks here.
struct Known<'a> {
    entries: &'a [Entry],
    approvable: &'a [Approvable],
    records: &'a Records,
}

/// The row of a plugin that is there, by what the user has said of its hooks.
pub(super) fn of(
    plugins: &Plugins,
    there: &There,
    contents: &Contents,
    manager: &Manager,
    records: &Records,
) -> Row {
    let (entries, approvable) = (manager.entries(), manager.approvable());
    let known = Known { entries: &entries, approvable: &approvable, records };
    let hooks: Vec<HookRow> = contents.hooks.iter().map(|it| HookRow::of(it, there, &known)).collect();
    let locked = there.locked.as_ref();
    let is_what_was_locked =
        |tree: &Digest| hookbox_plugins::digest(&there.path).is_ok_and(|now| now == *tree);
    Row {
        name: there.name.clone(),
        location: plugins.location().as_str(),
        path: there.path.to_string_lossy().into_owned(),
        root: plugins.root().to_owned(),
        skills: contents.skills.clone(),
        recipes: contents.recipes.clone(),
        hooks: contents.enabled().map(|hook| hook.name.clone()).collect(),
        details: Details {
            source: locked.map(|it| it.source.clone()),
            reference: locked.and_then(|it| it.reference.clone()),
            commit: locked.and_then(|it| it.commit.clone()),
            digest: locked.and_then(|it| it.manifest.as_ref().map(ToString::to_string)),
            tree: locked.map(|it| it.tree.to_string()),
            installed: locked.map(|it| it.installed.clone()),
            changed: locked.is_some_and(|it| !is_what_was_locked(&it.tree)),
            trusted: hooks.iter().all(|it| it.trusted || !it.counts()),
            hooks,
        },
    }
}

/// One plugin that is there, looked into now; what is wrong with it is a warning.
pub(super) async fn one(
    here: &Here<'_>,
    plugins: &Plugins,
    there: &There,
) -> anyhow::Result<(Row, Contents)> {
    let manager = here.manager().await?;
    let contents = Contents::look_in(&there.path, &there.dir, &here.runtime).await;
    account::problems(&escape(&there.name, 200), &contents);
    let row = of(plugins, there, &contents, &manager, &records(&manager)?);
    Ok((row, contents))
}

/// All plugins of these places, in the order of their roots and names.
pub(super) async fn all(here: &Here<'_>, places: Vec<Place>) -> anyhow::Result<Vec<Row>> {
    let all = here.all(places);
    all.iter().for_each(place::repair);
    let mut rows = Vec::new();
    let manager = here.manager().await?;
    let records = records(&manager)?;
    for plugins in &all {
        let there = match place::plugins(plugins) {
            Ok(there) => there,
            // One place that cannot be read hides no other.
            Err(error) => {
                warn(error);
                continue;
            }
        };
        for plugin in &there {
            if !plugin.is_here {
                let error = plugin.missing(plugins);
                warn(&error);
                error.hint.iter().for_each(hint);
                continue;
            }
            let contents = Contents::look_in(&plugin.path, &plugin.dir, &here.runtime).await;
            // What is called otherwise may be anything.
            if plugin.id.is_none() && contents.is_empty() {
                continue;
            }
            account::problems(&escape(&plugin.name, 200), &contents);
            rows.push(of(plugins, plugin, &contents, &manager, &records));
        }
    }
    Ok(rows)
}

/// What the user said of hooks; nothing where there is no private directory.
pub(super) fn records(manager: &Manager) -> anyhow::Result<Records> {
    manager.trust_file().map_or_else(|| Ok(Records::default()), |file| approval::read(&file))
}

impl Row {
    /// How many skills, recipes and hooks it has, as a table shows it: disabled hooks stand apart.
    pub(super) fn counts(&self) -> (String, String, String) {
        let disabled = self.details.hooks.iter().filter(|it| it.status == EntryStatus::Disabled).count();
        let hooks = match disabled {
            0 => self.hooks.len().to_string(),
            disabled => format!("{} ({disabled} disabled)", self.hooks.len()),
        };
        (self.skills.len().to_string(), self.recipes.len().to_string(), hooks)
    }

    /// The full names of the hooks that are not trusted and could be.
    pub(super) fn untrusted(&self) -> impl Iterator<Item = &str> {
        self.details.hooks.iter().filter(|it| it.counts() && !it.trusted).map(|it| it.full_name.as_str())
    }

    /// Whether the hook of this full name is trusted now.
    pub(super) fn is_trusted(&self, hook: &str) -> bool {
        self.details.hooks.iter().any(|it| it.full_name == hook && it.trusted)
    }

    /// The hooks that are trusted and lack rights that they ask for, with these rights.
    pub(super) fn without_grants(&self) -> impl Iterator<Item = (&str, Vec<&Capability>)> {
        let hooks = self.details.hooks.iter().filter(|it| it.counts() && it.trusted);
        let lacking = hooks.map(|it| {
            let missing = it.asks.iter().filter(|right| !it.granted.contains(right));
            (it.full_name.as_str(), missing.collect::<Vec<_>>())
        });
        lacking.filter(|(_, missing)| !missing.is_empty())
    }

    /// The row with the keys that `add` and `update` have beside those of `list`.
    pub(super) fn with_origin(&self) -> anyhow::Result<Value> {
        let mut value = serde_json::to_value(self)?;
        if let Value::Object(object) = &mut value {
            let Details { source, commit, digest, trusted, .. } = &self.details;
            object.insert("trusted".to_owned(), json!(trusted));
            object.insert("source".to_owned(), json!(source));
            object.insert("commit".to_owned(), json!(commit));
            object.insert("digest".to_owned(), json!(digest));
        }
        Ok(value)
    }
}

impl HookRow {
    fn of(hook: &PluginHook, there: &There, known: &Known<'_>) -> Self {
        let found = trusting::hooks(known.approvable, &there.path)
            .find(|it| it.name == hook.full_name && it.kind == hook.kind);
        let record = found.and_then(|it| current(it, known.records));
        let trusted = found.is_some_and(|it| it.trusted) || record.is_some_and(|it| it.trusted);
        let file = there.path.join(&hook.file);
        let listed =
            known.entries.iter().find(|it| it.name == hook.full_name && it.path.as_ref() == Some(&file));
        let status = match listed.map_or(hook.status, |it| it.status) {
            // It was trusted after the look at all hooks.
            EntryStatus::Untrusted if trusted => EntryStatus::Active,
            status => status,
        };
        let listed = listed.filter(|it| !it.events.is_empty());
        Self {
            name: hook.name.clone(),
            full_name: hook.full_name.clone(),
            file: hook.file.clone(),
            kind: hook.kind,
            status,
            trusted,
            events: listed.map_or_else(|| hook.events(), |it| it.events.clone()),
            priority: listed.map_or(hook.priority, |it| it.priority),
            on_failure: listed.map_or(hook.on_failure, |it| it.on_failure),
            observe: listed.map_or(hook.observe, |it| it.observe),
            answers: hook.answers.clone(),
            asks: hook.asks.clone(),
            granted: record.map(|it| it.grants.clone()).unwrap_or_default(),
            runs: hook.runs.clone(),
            description: hook.description.clone(),
            digest: hook.digest.clone(),
            problem: hook.problem.clone(),
        }
    }

    /// Whether there is something to trust.
    fn counts(&self) -> bool {
        !matches!(self.status, EntryStatus::Disabled | EntryStatus::Invalid)
    }

    /// It in lines: what is known of the hook by now, and how the user has left it.
    pub(super) fn lines(&self, hook: &PluginHook) -> Vec<String> {
        let mut hook = hook.clone();
        hook.on_failure = self.on_failure;
        if hook.subscriptions.is_empty() {
            // A native hook has said by now what it sees.
            hook.subscriptions = self.events.iter().cloned().map(Subscription::to).collect();
            (hook.priority, hook.observe) = (self.priority, self.observe);
        }
        let mut lines = account::hook(&hook, self.trusted);
        lines.extend(self.standing().into_iter().map(|line| format!("      {line}")));
        lines
    }

    /// How the user has left it, in lines.
    fn standing(&self) -> Vec<String> {
        let mut lines = vec![format!("{:<8}{}", "status", self.status.as_str())];
        if self.counts() {
            lines.push(format!("{:<8}{}", "trusted", if self.trusted { "yes" } else { "no" }));
        }
        if !self.asks.is_empty() || !self.granted.is_empty() {
            lines.push(format!("{:<8}{}", "granted", approval::list(&self.granted)));
        }
        lines
    }
}

/// What the user said of the bytes that a hook has now.
fn current<'r>(hook: &Approvable, records: &'r Records) -> Option<&'r Record> {
    let (place, path) = hook.key.as_ref()?;
    let digest = hook.digest().ok()??;
    records.current(place, path, &digest)
}
