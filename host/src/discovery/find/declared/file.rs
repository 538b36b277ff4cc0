//! A whole file: its version, its servers, its events.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use super::document::{Document, Form, Member, Node, Object};
use super::guard::hides_guard;
use super::reader::{Fault, Reader, at, twice, unknown, wrong};
use super::servers::Servers;
use super::{Declared, Source, claude_groups};
use crate::event::EventName;
use crate::files::{self, FileAccess};
use crate::hook::OnFailure;
use crate::text;

/// The size limit of a file, in bytes.
pub(crate) const MAX_FILE: u64 = 1 << 20;

/// The number of entries of a file that are used: as many as a hooks directory may hold hooks.
pub(super) const MAX_ENTRIES: usize = crate::discovery::find::limits::MAX_CANDIDATES;

/// The version of the format.
const VERSION: &str = "1";

/// The contents of a file.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    pub(crate) hooks: Vec<Declared>,
    pub(crate) servers: Servers,
    pub(crate) faults: Vec<Fault>,
}

/// Reads the text of a file; `None` if it does not exist.
///
/// # Errors
///
/// The reason why it cannot be read, in words that follow the path.
pub(crate) fn read(access: &FileAccess, path: &Path, max: u64) -> Option<Result<String, String>> {
    let bytes = access.read_if_exists(path, max)?.map_err(|error| files::explain(&error));
    Some(bytes.and_then(|bytes| String::from_utf8(bytes).map_err(|_| "is not UTF-8 text".to_owned())))
}

/// Reads the declarations in a text.
///
/// # Errors
///
/// The reason why it is not JSON, so that its hooks are not known.
pub(crate) fn parse(text: &str, source: Source) -> Result<Contents, String> {
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
    /// The number of entries beyond the limit.
    left_out: usize,
    /// The entry that fails for all guards that are left out.
    guard: Option<Declared>,
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
            guard: None,
            counts: HashMap::new(),
        }
    }

    fn whole(&mut self, node: Node<'_>) {
        let (example, known) = match self.source {
            Source::McpJson => {
                ("{\"mcpServers\": {…}, \"hooks\": {…}}", &["mcpServers", "hooks", "version"][..])
            }
            _ => ("{\"version\": 1, \"hooks\": {…}}", &["version", "hooks"][..]),
        };
        let Form::Object(Object { members, again }) = node.form() else {
            let expected = format!("an object such as {example}");
            self.reader.fault(|| wrong(self.source.file(), &expected, node));
            return self.leave_out(node);
        };
        if let Some(version) = members.iter().find(|it| it.name == "version" && it.value.raw() != VERSION) {
            let found = version.value.shown();
            let what = format!("version: expected 1, found {found}: none of its hooks run");
            self.reader.fault(|| at(version.value.spot(), &what));
            return self.leave_out(node);
        }
        let has_hooks = members.iter().any(|it| it.name == "hooks");
        let has_bare_events = !has_hooks && members.iter().any(|it| is_event(&it.name));
        if has_bare_events {
            self.reader.push(|| Fault {
                message: at(node.spot(), "has events outside of \"hooks\": none of its hooks run"),
                hint: Some(format!("write {example}").into()),
            });
        } else if !has_hooks && self.source == Source::HooksJson {
            self.reader.fault(|| at(node.spot(), "expected \"hooks\", found none"));
        }
        for member in &members {
            match member.name.as_str() {
                "hooks" => self.events(member.value),
                "mcpServers" if self.source == Source::McpJson => {
                    self.servers = self.reader.servers(member.value);
                }
                "version" | "$schema" | "description" => {}
                name => {
                    if !has_bare_events || !is_event(name) {
                        self.reader.fault(|| format!("{}; it is left out", unknown(member, known)));
                    }
                    self.leave_out(member.value);
                }
            }
        }
        self.leave_out_twice(&again);
    }

    /// Reads the events of `hooks`.
    fn events(&mut self, value: Node<'_>) {
        let Form::Object(Object { members, again }) = value.form() else {
            self.reader.fault(|| wrong("hooks", "an object with a list for each event", value));
            return self.leave_out(value);
        };
        for event in &members {
            self.event(event);
        }
        self.leave_out_twice(&again);
    }

    fn leave_out_twice(&mut self, again: &[Member<'_>]) {
        for member in again {
            self.reader.fault(|| twice(member));
            self.leave_out(member.value);
        }
    }

    /// Leaves out a value. If it hides a guard, one entry of the file fails in every event.
    fn leave_out(&mut self, node: Node<'_>) {
        if self.guard.is_none() && hides_guard(node.raw()) {
            let label = "file[left out]".to_owned();
            self.guard = Some(Declared {
                on_failure: Some(OnFailure::Block),
                spot: node.spot().to_string(),
                text: "a guard that is left out".to_owned(),
                handler: Err(at(node.spot(), "\"on_failure\" is in a part that is left out")),
                ..Declared::new(self.source, usize::MAX, label, None)
            });
        }
    }

    /// Reads the entries of one event.
    fn event(&mut self, member: &Member<'_>) {
        let (key, value) = (member.name.as_str(), member.value);
        let Form::Array(items) = value.form() else {
            self.reader.fault(|| format!("{}; its hooks do not run", wrong(key, "a list of hooks", value)));
            return self.leave_out(value);
        };
        let flat = key.parse::<EventName>().ok();
        let (in_claude, name) = claude_groups::event(key).unzip();
        let Some(event) = flat.clone().or_else(|| in_claude.clone()) else {
            self.reader.fault(|| {
                let (shown, nearest) = (text::escape(key, 80), EventName::nearest(key));
                let what =
                    format!("unknown event \"{shown}\": the nearest is {nearest}; its hooks do not run");
                at(member.at.spot(), &what)
            });
            return self.leave_out(value);
        };
        for item in items {
            if self.source == Source::HooksJson && claude_groups::is_group(item) {
                let event = in_claude.clone().unwrap_or_else(|| event.clone());
                let group = self.reader.group(item, Declared::new(self.source, 0, key.to_owned(), None));
                if group.commands.is_empty() {
                    self.leave_out(item);
                }
                for command in &group.commands {
                    let Some(hook) = self.hook(key, &event, *command) else { continue };
                    let mut hook = self.reader.nested(&group, name.clone().flatten(), *command, hook);
                    if in_claude.is_none() {
                        let what =
                            format!("Claude Code has no event {key}, so its shape cannot be used here");
                        hook.handler = hook.handler.and_then(|_| Err(at(command.spot(), &what)));
                    }
                    self.hooks.push(hook);
                }
            } else {
                let Some(hook) = self.hook(key, &event, item) else { continue };
                let mut hook = self.reader.entry(self.source, item, hook);
                if flat.is_none() {
                    let what =
                        format!("only Claude Code's shape has the event {key}: a group with \"hooks\" in it");
                    hook.handler = hook.handler.and_then(|_| Err(at(item.spot(), &what)));
                }
                self.hooks.push(hook);
            }
        }
    }

    /// Returns the next entry, if the file may have one more; else leaves this one out.
    fn hook(&mut self, key: &str, event: &EventName, node: Node<'_>) -> Option<Declared> {
        if self.hooks.len() == MAX_ENTRIES {
            self.left_out += 1;
            self.leave_out(node);
            return None;
        }
        let n = self.counts.entry(key.to_owned()).or_default();
        let label = format!("{key}[{n}]");
        *n += 1;
        Some(Declared::new(self.source, self.hooks.len(), label, Some(event.clone())))
    }

    fn finish(mut self) -> Contents {
        if self.left_out > 0 {
            let message = format!(
                "has more than {MAX_ENTRIES} hooks: only the first {MAX_ENTRIES} are used, and {} are left out",
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
        self.hooks.extend(self.guard);
        Contents { hooks: self.hooks, servers: self.servers, faults: self.reader.finish() }
    }
}
