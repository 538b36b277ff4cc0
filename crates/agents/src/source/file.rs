//! Reads the hooks of an agent's configuration, in the shapes of Claude Code's settings and of Cursor's
//! hooks.json, which the other agents share.

mod handler;
mod variables;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::agent::{Agent, Level};
use crate::agent_hooks::event_name;
use crate::config::{
    Switch, hooks_json, switches, toml_settings, toml_settings_hooks, toml_switches, without_comments,
};
use crate::text;
use hookbox::discovery::document::{Document, Fault, Form, Member, Node, Reader, at, unknown, wrong};
use hookbox::discovery::{Declared, MAX_FILES, MAX_HOOKS};

/// The file of an agent that declares hooks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Outside {
    pub(super) agent: Agent,
    /// The file in the names of its hooks, such as `.claude/settings.json`.
    pub(super) shown: String,
    /// The file.
    pub(super) path: PathBuf,
    /// The level.
    pub(super) level: Level,
    /// The directory of the plugin whose hooks they are.
    pub(super) plugin: Option<PathBuf>,
    /// The kind of the file.
    pub(super) within: Within,
}

/// The kind of a file with hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Within {
    /// Settings of any kind.
    Settings,
    /// Nothing but hooks.
    Hooks,
    /// A plugin's manifest, whose `hooks` may be the hooks, or names of files.
    Manifest,
}

/// The contents of such a file.
#[derive(Debug, Default)]
pub(super) struct ForeignFile {
    pub(super) hooks: Vec<Declared>,
    pub(super) faults: Vec<Fault>,
    /// The setting that switches all hooks off.
    pub(super) switches_off: Option<&'static str>,
    /// The number of entries that call hookbox itself: it would start itself again and again.
    pub(super) own: usize,
    /// Variables that it sets for all hooks.
    pub(super) env: Vec<(String, String)>,
    /// Plugins that it switches on or off.
    pub(super) plugins: Vec<(String, bool)>,
    /// Further files with hooks that a manifest names.
    pub(super) files: Vec<String>,
    /// The plugin's name in its manifest.
    pub(super) name: Option<String>,
}

/// Reads the text of a file.
///
/// # Errors
///
/// The reason why it is not JSON.
pub(super) fn parse(text: &str, outside: &Outside) -> Result<ForeignFile, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let takes_comments = outside.agent.spec().config.reads_comments;
    let is_settings = outside.path.extension().is_some_and(|it| it == "toml");
    let mut off = None;
    let text = match &outside.agent.spec().config {
        config if is_settings && !config.is_toml => {
            let settings = toml_settings(text.as_bytes()).map_err(|error| error.what)?;
            off = toml_switches(&settings).into_iter().find_map(|it| match it {
                Switch::All(setting) => Some(setting),
                _ => None,
            });
            Cow::Owned(toml_settings_hooks(&settings))
        }
        config if config.is_toml => {
            Cow::Owned(hooks_json(outside.agent.spec(), text).map_err(|error| error.what)?)
        }
        _ if takes_comments => without_comments(text),
        _ => Cow::Borrowed(text),
    };
    let document = Document::parse(&text).map_err(|why| {
        let has_comments = !takes_comments && without_comments(&text) != text;
        let agent = outside.agent.title();
        if has_comments { format!("{why} (it has comments, which {agent} does not take)") } else { why }
    })?;
    let mut file = File {
        outside,
        reader: Reader::default(),
        found: ForeignFile::default(),
        disabled: Vec::new(),
        counts: BTreeMap::new(),
        left_out: 0,
        runs: true,
    };
    file.whole(document.root());
    file.found.switches_off = file.found.switches_off.or(off);
    Ok(file.finish())
}

struct File<'f> {
    outside: &'f Outside,
    reader: Reader,
    found: ForeignFile,
    /// The names and command lines of the hooks that are switched off.
    disabled: Vec<String>,
    /// The number of hooks of each event.
    counts: BTreeMap<String, usize>,
    left_out: usize,
    /// True if its hooks run at all.
    runs: bool,
}

impl File<'_> {
    fn whole(&mut self, node: Node<'_>) {
        let shown = self.outside.shown.clone();
        let expected = "an object such as {\"hooks\": {…}}";
        let Some(members) = self.members(&shown, expected, node, |name| name == "hooks") else { return };
        let spec = self.outside.agent.spec();
        let config = &spec.config;
        if let Form::Object(root) = node.form() {
            for switch in switches(spec, &root, &mut self.reader) {
                match switch {
                    Switch::All(setting) => self.found.switches_off = Some(setting),
                    // It counts only in the settings of an organization.
                    Switch::AllButManaged(_) => {}
                    Switch::Named { name, .. } => self.disabled.push(name),
                }
            }
        }
        let is_settings = self.outside.within == Within::Settings;
        let mut has_hooks = false;
        for member in &members {
            match member.name.as_str() {
                "hooks" => {
                    has_hooks = true;
                    self.hooks(member.value);
                }
                name if config.disable_settings.iter().any(|it| it.within == Some(name)) => {
                    self.members(name, "an object", member.value, |_| false);
                }
                name if is_settings && config.env_key == Some(name) => {
                    self.found.env = self.settings_env(member);
                }
                name if config.plugins_key == Some(name) => self.plugins(member),
                "name" if self.outside.within == Within::Manifest => {
                    self.found.name = match member.value.form() {
                        Form::Text(name) => Some(name),
                        _ => None,
                    };
                }
                "version" if config.entry.has_version && member.value.raw() != "1" => {
                    let found = member.value.shown();
                    let what = format!("version: expected 1, found {found}: none of its hooks run");
                    self.reader.fault(|| at(member.value.spot(), &what));
                    self.runs = false;
                }
                name => {
                    let looks_so = name != "hooks"
                        && text::distance(&text::prefix(name, 16).to_ascii_lowercase(), "hooks") <= 1;
                    if looks_so {
                        self.reader.fault(|| format!("{}; it is left out", unknown(member, &["hooks"])));
                    }
                }
            }
        }
        let outside_of_hooks = members.iter().any(|it| event_name(self.outside.agent, &it.name).is_ok());
        if !has_hooks && outside_of_hooks {
            self.reader.push(|| Fault {
                message: at(node.spot(), "has events outside of \"hooks\": none of its hooks run"),
                hint: Some("write {\"hooks\": {…}}".into()),
            });
        } else if !has_hooks && self.outside.within == Within::Hooks {
            self.reader.fault(|| at(node.spot(), "expected \"hooks\", found none"));
        }
    }

    fn plugins(&mut self, member: &Member<'_>) {
        let Some(members) = self.members("enabledPlugins", "an object", member.value, |_| false) else {
            return;
        };
        for plugin in members {
            match plugin.value.form() {
                Form::Boolean(on) => self.found.plugins.push((plugin.name, on)),
                // A list of versions switches it on.
                Form::Array(_) | Form::Object(_) => self.found.plugins.push((plugin.name, true)),
                _ => self.reader.fault(|| wrong("enabledPlugins", "true or false", plugin.value)),
            }
        }
    }

    /// Reads the hooks: an object with a list for each event; in a manifest also names of files.
    fn hooks(&mut self, value: Node<'_>) {
        let is_manifest = self.outside.within == Within::Manifest;
        match value.form() {
            Form::Text(path) if is_manifest => self.found.files.push(path),
            Form::Array(items) if is_manifest => {
                for item in items.into_iter().take(MAX_FILES) {
                    match item.form() {
                        Form::Text(path) => self.found.files.push(path),
                        _ => self.events(item),
                    }
                }
            }
            _ => self.events(value),
        }
    }

    fn events(&mut self, value: Node<'_>) {
        let expected = "an object with a list for each event";
        let Some(members) = self.members("hooks", expected, value, |_| true) else { return };
        for member in &members {
            match member.name.as_str() {
                // In a manifest the hooks may have a wrapper of their own.
                "hooks" if self.outside.within == Within::Manifest => self.events(member.value),
                "description" | "$schema" | "version" => {}
                name if self.outside.agent.spec().config.former_settings.contains(&name) => {}
                _ => self.event(member),
            }
        }
    }

    /// Reads the entries of one event.
    fn event(&mut self, member: &Member<'_>) {
        let (key, value) = (member.name.as_str(), member.value);
        let event = event_name(self.outside.agent, key);
        let mut why = event.as_ref().err().map(|error| at(member.at, &error.to_string()));
        let items = match value.form() {
            Form::Array(items) => items,
            _ => {
                why = why.or_else(|| Some(wrong(key, "a list of hooks", value)));
                vec![value]
            }
        };
        if let Some(why) = &why {
            self.reader.fault(|| format!("{why}; its hooks do not run"));
        } else if !self.runs {
            why = Some("is in a file that cannot be used".to_owned());
        }
        let label = if event.is_ok() { key.to_owned() } else { text::plain_name(key) };
        let mut count = self.counts.get(&label).copied().unwrap_or(0);
        for item in items {
            let group = self.reader.group(item, &self.form());
            for command in &group.commands {
                let label = format!("{label}[{count}]");
                let Some(mut hook) = self.handler(key, event.as_ref().ok(), &group, *command, label) else {
                    self.found.own += 1;
                    continue;
                };
                count += 1;
                if self.found.hooks.len() >= MAX_HOOKS {
                    self.left_out += 1;
                    continue;
                }
                if let Some(why) = &why {
                    hook.handler = Err(why.clone());
                    hook.is_reported = true;
                }
                self.found.hooks.push(hook);
            }
        }
        self.counts.insert(label, count);
    }

    /// Returns the members of an object, each name once, but for names of hooks, of which all count: agents differ there,
    /// and no hook may be lost. `None`, with a fault, for anything else.
    fn members<'a>(
        &mut self,
        key: &str,
        expected: &str,
        value: Node<'a>,
        holds_hooks: impl Fn(&str) -> bool,
    ) -> Option<Vec<Member<'a>>> {
        let Form::Object(object) = value.form() else {
            self.reader.fault(|| wrong(key, expected, value));
            return None;
        };
        let form = self.form();
        Some(self.reader.members(object, &form, holds_hooks))
    }

    fn finish(mut self) -> ForeignFile {
        if self.left_out > 0 {
            let message = format!(
                "has more than {MAX_HOOKS} hooks: only the first {MAX_HOOKS} are used, and {} are left out",
                self.left_out
            );
            self.reader.fault(|| message);
        }
        self.found.faults = self.reader.finish();
        self.found
    }
}

#[cfg(test)]
mod tests;
