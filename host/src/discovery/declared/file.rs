//! A whole file: its version, its servers, its events.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::Path;

use super::document::{Document, Form, Node, Object, Position};
use super::guard::hides_guard;
use super::reader::{Fault, Reader, at, twice, unknown, wrong};
use super::servers::Servers;
use super::{Declared, Source, claude_groups};
use crate::event::EventName;
use crate::files::{self, FileAccess};
use crate::hook::OnFailure;
use crate::text;

/// The size limit of a file, in bytes.
const MAX_FILE: u64 = 1 << 20;

/// The size limit of a file of another agent, in bytes.
const MAX_FOREIGN: u64 = 4 << 20;

/// The number of entries of a file that are used: as many as a hooks directory may hold hooks.
pub(super) const MAX_ENTRIES: usize = crate::discovery::limits::MAX_CANDIDATES;

/// The version of the format.
const VERSION: &str = "1";

/// The longest part of an unknown event's name that goes into the name of a hook, in bytes.
const MAX_LABEL: usize = 64;

/// The contents of a file.
#[derive(Debug, Default)]
pub(in crate::discovery) struct Contents {
    pub(in crate::discovery) hooks: Vec<Declared>,
    pub(in crate::discovery) servers: Servers,
    pub(in crate::discovery) faults: Vec<Fault>,
}

/// Reads the text of a file; `None` if there is no file.
///
/// # Errors
///
/// The reason why it cannot be read, in words that follow the path.
pub(in crate::discovery) fn read(place: &FileAccess, path: &Path) -> Option<Result<String, String>> {
    read_up_to(place, path, MAX_FILE)
}

/// Reads the text of a file of another agent, which may hold more than hooks.
pub(in crate::discovery) fn read_foreign(place: &FileAccess, path: &Path) -> Option<Result<String, String>> {
    read_up_to(place, path, MAX_FOREIGN)
}

fn read_up_to(place: &FileAccess, path: &Path, max: u64) -> Option<Result<String, String>> {
    match place.read(path, max) {
        Ok(bytes) => Some(String::from_utf8(bytes).map_err(|_| "is not UTF-8 text".to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound && !place.is_symlink(path) => None,
        Err(error) => Some(Err(files::explain(&error))),
    }
}

/// Reads the declarations in a text.
///
/// # Errors
///
/// The reason why it is not JSON, so that its hooks are not known.
pub(in crate::discovery) fn parse(text: &str, source: Source) -> Result<Contents, String> {
    let document = Document::parse(text).map_err(|(spot, what)| at(spot, &what))?;
    let mut file = File::new(source);
    file.whole(document.root());
    Ok(file.finish())
}

/// Returns true if a key names an event, in either shape.
fn is_event(key: &str) -> bool {
    claude_groups::event(key).is_some() || key.parse::<EventName>().is_ok()
}

struct File {
    source: Source,
    reader: Reader,
    hooks: Vec<Declared>,
    servers: Servers,
    left_out: usize,
    /// The events that have an entry for a guard that was left out; `None` means every event.
    guarded: HashSet<Option<EventName>>,
    /// The number of entries of each event so far.
    counts: HashMap<String, usize>,
}

impl File {
    fn new(source: Source) -> Self {
        Self {
            source,
            reader: Reader::default(),
            hooks: Vec::new(),
            servers: Servers::new(),
            left_out: 0,
            guarded: HashSet::new(),
            counts: HashMap::new(),
        }
    }

    fn whole(&mut self, node: Node<'_>) {
        let example = match self.source {
            Source::McpJson => "{\"mcpServers\": {…}, \"hooks\": {…}}",
            _ => "{\"version\": 1, \"hooks\": {…}}",
        };
        let Form::Object(object) = node.form() else {
            let expected = format!("an object such as {example}");
            self.reader.fault(|| wrong(self.source.file(), &expected, node));
            self.left_out(node, "file", None);
            return;
        };
        let Object { members, again } = object;
        for member in &again {
            self.reader.fault(|| twice(member));
        }
        let known: &[&str] = match self.source {
            Source::McpJson => &["mcpServers", "hooks", "version"],
            _ => &["version", "hooks"],
        };
        let mut runs = true;
        if let Some(version) = members.iter().find(|it| it.name == "version")
            && version.value.raw() != VERSION
        {
            self.reader.fault(|| {
                let found = version.value.shown();
                let what = format!("version: expected 1, found {found}: none of its hooks run");
                at(version.value.spot(), &what)
            });
            runs = false;
        }
        let is_wrapped = members.iter().any(|it| it.name == "hooks");
        if !is_wrapped && members.iter().any(|it| is_event(&it.name)) {
            self.reader.push(|| Fault {
                message: at(node.spot(), "has events outside of \"hooks\": none of its hooks run"),
                hint: Some(format!("write {example}")),
            });
        }
        for member in &members {
            match member.name.as_str() {
                "hooks" => self.events(member.value, runs),
                "mcpServers" if self.source == Source::McpJson => {
                    self.servers = self.reader.servers(member.value);
                    if self.servers.values().any(Result::is_err) {
                        self.left_out(member.value, "mcpServers", None);
                    }
                }
                "version" | "$schema" | "description" => {}
                // A guard in it still guards.
                name if is_event(name) => {
                    if is_wrapped {
                        let what = format!("{name} stands beside \"hooks\": its hooks do not run");
                        self.reader.fault(|| at(member.at.spot(), &what));
                    }
                    self.event(name, member.at, member.value, false);
                }
                name => {
                    self.reader.fault(|| format!("{}; it is left out", unknown(member, known)));
                    self.misplaced(name, member.value);
                }
            }
        }
        for member in &again {
            self.misplaced(&member.name, member.value);
        }
        let says_something =
            members.iter().any(|it| !matches!(it.name.as_str(), "version" | "$schema" | "description"));
        if !says_something && self.source == Source::HooksJson {
            self.reader.fault(|| at(node.spot(), "expected \"hooks\", found none"));
        }
    }

    /// Reads a value in a position in which nothing runs. A guard in it still guards.
    fn misplaced(&mut self, key: &str, value: Node<'_>) {
        let is_hooks = text::distance(&text::prefix(key, 16).trim().to_ascii_lowercase(), "hooks") <= 2;
        match value.form() {
            Form::Object(_) if is_hooks => self.events(value, false),
            Form::Array(_) | Form::Object(_) if is_event(key) => {
                self.event(key, value.position(), value, false)
            }
            _ => self.left_out(value, "file", None),
        }
    }

    /// Reads the events of `hooks`.
    fn events(&mut self, value: Node<'_>, runs: bool) {
        let object = match value.form() {
            Form::Object(object) => object,
            form => {
                self.reader.fault(|| wrong("hooks", "an object with a list for each event", value));
                let items = if let Form::Array(items) = form { items } else { vec![value] };
                for item in items {
                    match item.form() {
                        Form::Object(Object { members, again })
                            if members.iter().any(|it| is_event(&it.name)) =>
                        {
                            for member in members.iter().chain(&again) {
                                self.misplaced(&member.name, member.value);
                            }
                        }
                        _ => self.left_out(item, "hooks", None),
                    }
                }
                return;
            }
        };
        for event in &object.members {
            self.event(&event.name, event.at, event.value, runs);
        }
        // A guard in it still guards.
        for event in &object.again {
            self.reader.fault(|| twice(event));
            self.event(&event.name, event.at, event.value, false);
        }
    }

    /// Adds an entry that fails, if a guard is left out. Each event has at most one, which is not counted
    /// among the others.
    fn left_out(&mut self, node: Node<'_>, label: &str, event: Option<EventName>) {
        if self.guarded.contains(&event) || !hides_guard(node.raw()) {
            return;
        }
        self.guarded.insert(event.clone());
        let mut hook = Declared::new(self.source, self.hooks.len(), format!("{label}[left out]"), event);
        hook.on_failure = Some(OnFailure::Block);
        hook.place = node.spot().to_string();
        hook.text = "a guard that is left out".to_owned();
        hook.handler = Err(at(node.spot(), "\"on_failure\" stands in what is left out"));
        self.hooks.push(hook);
    }

    /// Reads the entries of one event.
    fn event(&mut self, key: &str, at_key: Position<'_>, value: Node<'_>, runs: bool) {
        let mut why = None;
        let items = match value.form() {
            Form::Array(items) => items,
            _ => {
                why = Some(wrong(key, "a list of hooks", value));
                vec![value]
            }
        };
        let flat = key.parse::<EventName>().ok();
        let in_claude = claude_groups::event(key);
        let is_known = flat.is_some() || in_claude.is_some();
        if !is_known && why.is_none() {
            let nearest = EventName::nearest(key);
            let shown = text::escape(key, 80);
            why = Some(at(at_key.spot(), &format!("unknown event \"{shown}\": the nearest is {nearest}")));
        }
        if let Some(why) = &why {
            self.reader.fault(|| format!("{why}; its hooks do not run"));
        }
        if !runs {
            why = why.or_else(|| Some("stands in a file that cannot be used".to_owned()));
        }
        let label = if is_known { key.to_owned() } else { text::plain_name(text::prefix(key, MAX_LABEL)) };
        for item in items {
            if self.source == Source::HooksJson && claude_groups::is_group(item) {
                let policy = Declared::new(self.source, 0, label.clone(), None);
                let group = self.reader.group(item, policy);
                let event = in_claude.as_ref().map(|(event, _)| event.clone());
                let name = in_claude.as_ref().and_then(|(_, name)| name.clone());
                let event = event.or_else(|| flat.clone());
                let mut is_whole = !group.commands.is_empty();
                for command in &group.commands {
                    let Some(hook) = self.hook(&label, event.clone()) else {
                        is_whole = false;
                        continue;
                    };
                    let mut hook = self.reader.nested(&group, name.clone(), *command, hook);
                    if in_claude.is_none() && is_known {
                        let what =
                            format!("Claude Code has no event {key}, so its shape cannot be used here");
                        hook.handler = hook.handler.and_then(|_| Err(at(command.spot(), &what)));
                    }
                    self.keep(hook, why.as_deref());
                }
                if !is_whole {
                    self.left_out(item, &label, event);
                }
            } else {
                let event = flat.clone().or_else(|| in_claude.as_ref().map(|(event, _)| event.clone()));
                let Some(hook) = self.hook(&label, event.clone()) else {
                    self.left_out(item, &label, event);
                    continue;
                };
                let mut hook = self.reader.entry(self.source, item, hook);
                if flat.is_none() && is_known {
                    let what =
                        format!("only Claude Code's shape has the event {key}: a group with \"hooks\" in it");
                    hook.handler = hook.handler.and_then(|_| Err(at(item.spot(), &what)));
                }
                self.keep(hook, why.as_deref());
            }
        }
    }

    /// Returns the next entry, if the file may have one more.
    fn hook(&mut self, label: &str, event: Option<EventName>) -> Option<Declared> {
        if self.hooks.len() - self.guarded.len() >= MAX_ENTRIES {
            self.left_out += 1;
            return None;
        }
        let n = self.counts.entry(label.to_owned()).or_default();
        let label = format!("{label}[{n}]");
        *n += 1;
        Some(Declared::new(self.source, self.hooks.len(), label, event))
    }

    fn keep(&mut self, mut hook: Declared, why: Option<&str>) {
        if let Some(why) = why {
            hook.handler = Err(why.to_owned());
            hook.told = true;
        }
        self.hooks.push(hook);
    }

    fn finish(mut self) -> Contents {
        if self.left_out > 0 {
            let message = format!(
                "holds more than {MAX_ENTRIES} hooks: only the first {MAX_ENTRIES} are used, and {} are left out",
                self.left_out
            );
            self.reader.fault(|| message);
        }
        let mut names = HashSet::new();
        for hook in &mut self.hooks {
            // Of two hooks with one name, one would never run.
            if let Some(name) = hook.name.take_if(|name| !names.insert(name.clone())) {
                let message = format!("{} has the name {name:?} of another hook of this file", hook.label);
                self.reader.fault(|| format!("{message}: it is named {}", hook.position_name()));
            }
        }
        Contents { hooks: self.hooks, servers: self.servers, faults: self.reader.finish() }
    }
}
