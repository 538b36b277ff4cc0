//! A plugin as data, which is an object of `plugin list --json`, and as text.

use hookbox::capability::Capability;
use hookbox::hook::Budget;
use hookbox::manager::{Entry, EntryStatus, Manager};
use hookbox::trust::{Record, Records};
use hookbox::{EventName, Kind, OnFailure, Subscription, escape};
use hookbox_plugins::{Contents, KnownPlugin, Locked, PluginHook, Plugins, entries_of, known};
use hookbox_system::units::show_duration;
use serde::Serialize;
use serde_json::{Value, json};

use super::locations::{self, Base, Environment};
use crate::error::{say, warn, warn_with_hint};
use crate::{approval, output};

/// An installed plugin.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) location: &'static str,
    pub(super) path: String,
    /// The name of its root.
    #[serde(skip)]
    pub(super) root: String,
    skills: Vec<String>,
    recipes: Vec<String>,
    hooks: Vec<String>,
    pub(super) details: Details,
}

/// The details of a plugin.
#[derive(Debug, Serialize)]
pub(super) struct Details {
    /// The entries at the top beside skills, recipes and hooks.
    others: Vec<String>,
    pub(super) source: Option<String>,
    #[serde(rename = "ref")]
    pub(super) reference: Option<String>,
    pub(super) commit: Option<String>,
    pub(super) digest: Option<String>,
    pub(super) tree: Option<String>,
    pub(super) installed: Option<String>,
    /// True if its bytes are not those that were installed.
    pub(super) changed: bool,
    /// The entries that came into its directory later, of which no digest knows.
    pub(super) added: Vec<String>,
    /// True if all of its usable hooks are trusted.
    pub(super) trusted: bool,
    pub(super) hooks: Vec<HookRow>,
}

/// A hook of a plugin.
#[derive(Debug, Serialize)]
pub(super) struct HookRow {
    /// The hook, with the settings that apply to it here.
    #[serde(flatten)]
    hook: PluginHook,
    trusted: bool,
    events: Vec<EventName>,
    granted: Vec<Capability>,
}

/// Returns the tier of plugins at this location, for a person.
pub(super) fn tier(location: &str) -> &str {
    if location == "local" { "repo" } else { location }
}

/// Returns the row of a plugin.
pub(super) fn of(
    plugins: &Plugins,
    known: &KnownPlugin,
    contents: &Contents,
    manager: &Manager,
) -> anyhow::Result<Row> {
    let entries = manager.entries();
    // Without a private directory there are no records.
    let records = manager.trust_file().map(|file| approval::read(&file)).transpose()?.unwrap_or_default();
    let hooks = contents.hooks.iter();
    let hooks: Vec<HookRow> = hooks.map(|it| HookRow::of(it, known, &entries, &records)).collect();
    let locked = known.locked.as_ref();
    let is_changed =
        |it: &Locked| hookbox_plugins::digest(&known.path, Some(it)).map_or(true, |now| now != it.tree);
    Ok(Row {
        name: known.name.clone(),
        location: plugins.location().as_str(),
        path: known.path.to_string_lossy().into_owned(),
        root: plugins.root().to_owned(),
        skills: contents.skills.clone(),
        recipes: contents.recipes.clone(),
        hooks: contents.enabled().map(|hook| hook.name.clone()).collect(),
        details: Details {
            others: contents.others.clone(),
            source: locked.map(|it| it.source.clone()),
            reference: locked.and_then(|it| it.reference.clone()),
            commit: locked.and_then(|it| it.commit.clone()),
            digest: locked.and_then(|it| it.manifest.as_ref().map(ToString::to_string)),
            tree: locked.map(|it| it.tree.to_string()),
            installed: locked.map(|it| it.installed.clone()),
            changed: locked.is_some_and(is_changed),
            added: locked.map(|it| hookbox_plugins::added(&known.path, it)).unwrap_or_default(),
            trusted: hooks.iter().all(|it| it.trusted || !it.is_usable()),
            hooks,
        },
    })
}

/// Reads all plugins of these bases, in the order of their roots and names.
pub(super) async fn all(env: &Environment<'_>, bases: Vec<Base>) -> anyhow::Result<Vec<Row>> {
    let all = env.all(bases);
    all.iter().for_each(locations::repair);
    let mut rows = Vec::new();
    let manager = env.manager().await?;
    for plugins in &all {
        let known = match known(plugins) {
            Ok(known) => known,
            // The plugins of the other directories are listed all the same.
            Err(error) => {
                warn(error);
                continue;
            }
        };
        for plugin in &known {
            if !plugin.is_here {
                let error = plugin.missing(plugins);
                warn_with_hint(&error, error.hint.as_ref());
                continue;
            }
            let contents = Contents::look(&plugin.path, &plugin.dir, plugins.location(), &env.runtime).await;
            // A directory with another name need not be a plugin.
            if plugin.id.is_none() && contents.is_empty() {
                continue;
            }
            problems(&escape(&plugin.name, 200), &contents);
            rows.push(of(plugins, plugin, &contents, &manager)?);
        }
    }
    Ok(rows)
}

impl Row {
    /// Returns the numbers of skills, recipes and hooks for a table.
    pub(super) fn counts(&self) -> (String, String, String) {
        let is_disabled = |it: &&HookRow| it.hook.status == EntryStatus::Disabled;
        let hooks = match self.details.hooks.iter().filter(is_disabled).count() {
            0 => self.hooks.len().to_string(),
            disabled => format!("{} ({disabled} disabled)", self.hooks.len()),
        };
        (self.skills.len().to_string(), self.recipes.len().to_string(), hooks)
    }

    /// Returns the full names of the usable hooks that are not trusted.
    pub(super) fn untrusted(&self) -> impl Iterator<Item = &str> {
        let untrusted = self.details.hooks.iter().filter(|it| it.is_usable() && !it.trusted);
        untrusted.map(|it| it.hook.full_name.as_str())
    }

    /// Returns the trusted hooks that ask for rights without having them, with these rights.
    pub(super) fn without_grants(&self) -> impl Iterator<Item = (&str, Vec<&Capability>)> {
        let hooks = self.details.hooks.iter().filter(|it| it.is_usable() && it.trusted);
        let lacking = hooks.map(|it| {
            let missing = it.hook.asks.iter().filter(|right| !it.granted.contains(right));
            (it.hook.full_name.as_str(), missing.collect::<Vec<_>>())
        });
        lacking.filter(|(_, missing)| !missing.is_empty())
    }

    /// Returns the row as JSON, with the additional keys of `add` and `update`.
    pub(super) fn with_origin(&self) -> Value {
        let Details { source, commit, digest, trusted, .. } = &self.details;
        let origin = json!({ "trusted": trusted, "source": source, "commit": commit, "digest": digest });
        output::joined(json!(self), origin)
    }
}

impl HookRow {
    fn of(hook: &PluginHook, known: &KnownPlugin, entries: &[Entry], records: &Records) -> Self {
        let mut hook = hook.clone();
        let is_this = |it: &&Entry| it.name == hook.full_name && it.kind == hook.kind;
        let entry = entries_of(entries, &known.path).find(is_this);
        let record = entry.and_then(|it| current(it, records));
        let trusted = entry.is_some_and(|it| it.trusted) || record.is_some_and(|it| it.trusted);
        let mut events = hook.events();
        if let Some(entry) = entry {
            hook.status = entry.status;
            if hook.status == EntryStatus::Invalid {
                hook.problem = hook.problem.or_else(|| entry.problem.clone());
            }
            if !entry.events.is_empty() {
                events.clone_from(&entry.events);
                (hook.priority, hook.on_failure) = (entry.priority, entry.on_failure);
                hook.observe = entry.observe;
            }
        }
        // It may have been trusted after discovery.
        if hook.status == EntryStatus::Untrusted && trusted {
            hook.status = EntryStatus::Active;
        }
        Self { hook, trusted, events, granted: record.map(|it| it.grants.clone()).unwrap_or_default() }
    }

    /// Returns true if the hook can be trusted.
    fn is_usable(&self) -> bool {
        !matches!(self.hook.status, EntryStatus::Disabled | EntryStatus::Invalid)
    }

    /// Describes the hook, its trust and its grants, in lines. `declared` is the hook without the user's
    /// settings.
    pub(super) fn lines(&self, declared: &PluginHook) -> Vec<String> {
        let mut hook = declared.clone();
        hook.on_failure = self.hook.on_failure;
        if hook.subscriptions.is_empty() {
            // Discovery has asked a trusted native hook for its events.
            hook.subscriptions = self.events.iter().cloned().map(Subscription::to).collect();
            (hook.priority, hook.observe) = (self.hook.priority, self.hook.observe);
        }
        let mut lines = hook_lines(&hook, self.trusted);
        let mut field = |name: &str, value: &str| lines.push(format!("      {name:<8}{value}"));
        field("status", self.hook.status.as_str());
        if self.is_usable() {
            field("trusted", if self.trusted { "yes" } else { "no" });
        }
        if !hook.asks.is_empty() || !self.granted.is_empty() {
            field("granted", &approval::list(&self.granted));
        }
        lines
    }
}

/// Returns the user's record of the bytes that a hook has now.
fn current<'r>(hook: &Entry, records: &'r Records) -> Option<&'r Record> {
    let (scope, path) = hook.found.key.as_ref()?;
    let digest = hook.trust_digest().ok()??;
    records.current(scope, path, &digest)
}

/// Warns about the problems of a plugin.
pub(super) fn problems(name: &str, contents: &Contents) {
    for problem in &contents.problems {
        warn_with_hint(format_args!("{name}: {problem}"), problem.hint.as_ref());
    }
}

/// Tells which hooks are no longer trusted.
pub(super) fn forgotten(records: &[Record]) {
    for record in records {
        say(format_args!("revoked trust and grants of {}", escape(&record.name, 200)));
    }
}

/// Describes one hook, in lines.
pub(super) fn hook_lines(hook: &PluginHook, trusted: bool) -> Vec<String> {
    let status = match hook.status {
        EntryStatus::Disabled => ", disabled",
        EntryStatus::Invalid => ", cannot be used",
        _ => "",
    };
    let mut lines = vec![format!("    {} ({}{status})", escape(&hook.name, 200), hook.kind.as_str())];
    let mut field = |name: &str, value: &str| lines.push(format!("      {name:<8}{value}"));
    if let Some(description) = &hook.description {
        field("says", &escape(description, 300));
    }
    if let Some(runs) = &hook.runs {
        field("runs", &approval::line(runs));
    }
    let events = hook.events();
    let events: Vec<&str> = events.iter().map(|event| event.as_str()).collect();
    match events.as_slice() {
        [] if hook.kind == Kind::Native && !trusted => {
            field("events", "not known: it is asked once it is trusted");
        }
        [] => {}
        events => {
            let observes = if hook.observe { ", observing" } else { "" };
            let text = format!("{} (priority {}{observes})", events.join(" "), hook.priority);
            field("events", &escape(&text, 1024));
        }
    }
    for subscription in hook.subscriptions.iter().filter(|it| !it.tools.is_empty()) {
        let text = format!("only {} at {}", subscription.tools.join(" "), subscription.event.as_str());
        field("tools", &escape(&text, 1024));
    }
    let usual = show_duration(Budget::for_kind(hook.kind).wall);
    if hook.timeout != usual && hook.kind != Kind::Native {
        field("timeout", &format!("{} instead of {usual}", hook.timeout));
    }
    if hook.on_failure == OnFailure::Block {
        field("fails", "by blocking");
    }
    if hook.kind.is_one_file() && !events.is_empty() {
        field("answers", &approval::answers(&hook.answers));
    }
    for right in &hook.asks {
        field("asks", &format!("to {} ({})", approval::means(right), escape(&right.to_string(), 1024)));
    }
    if let Some(problem) = &hook.problem {
        field("problem", &escape(problem, 1024));
    }
    lines
}

/// Returns the numbers of hooks, by kind.
pub(super) fn counts(contents: &Contents) -> String {
    let mut parts: Vec<String> = Vec::new();
    for kind in [Kind::Native, Kind::Component, Kind::Rules, Kind::Command, Kind::Tool, Kind::Http] {
        match contents.enabled().filter(|it| it.kind == kind).count() {
            0 => {}
            count => parts.push(format!("{count} {}", kind.as_str())),
        }
    }
    match contents.disabled() {
        0 => {}
        count => parts.push(format!("{count} disabled")),
    }
    if parts.is_empty() { "none".to_owned() } else { parts.join(", ") }
}

/// Returns names in one line.
pub(super) fn list(names: &[String]) -> String {
    match names {
        [] => "none".to_owned(),
        names => names.iter().map(|name| escape(name, 200)).collect::<Vec<_>>().join(" "),
    }
}
