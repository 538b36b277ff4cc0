//! A whole file: its version, its servers, its events.

use std::collections::HashSet;
use std::io;
use std::path::Path;

use super::document::{Form, Node};
use super::reader::{Fault, Reader, at, unknown, wrong};
use super::servers::Servers;
use super::{Declared, Source, nested};
use crate::event::EventName;
use crate::place::{self, Place};
use crate::text;

/// A file beyond this size is not read.
const MAX_FILE: u64 = 1 << 20;

/// How many entries of a file are used: as many as a hooks directory may hold hooks.
pub(super) const MAX_ENTRIES: usize = crate::discovery::scan::MAX_CANDIDATES;

/// The version of the format.
const VERSION: &str = "1";

/// How much of an event's name that nobody knows stands in the name of a hook, in bytes.
const MAX_LABEL: usize = 64;

/// What a file holds.
#[derive(Debug, Default)]
pub(in crate::discovery) struct Contents {
    pub(in crate::discovery) hooks: Vec<Declared>,
    pub(in crate::discovery) servers: Servers,
    pub(in crate::discovery) faults: Vec<Fault>,
}

/// Reads a file. `None` where there is none.
pub(in crate::discovery) fn read(place: &Place, path: &Path, source: Source) -> Option<Contents> {
    let fault = |message: String| {
        Some(Contents { faults: vec![Fault { message, hint: None }], ..Contents::default() })
    };
    match place.read(path, MAX_FILE) {
        Ok(bytes) => match str::from_utf8(&bytes) {
            Ok(text) => Some(parse(text, source)),
            Err(_) => fault("is not UTF-8 text: none of its hooks run".to_owned()),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound && !place.is_symlink(path) => None,
        Err(error) => fault(format!("{}: none of its hooks run", place::explain(&error))),
    }
}

/// What a text says.
pub(super) fn parse(text: &str, source: Source) -> Contents {
    let mut file =
        File { source, reader: Reader::default(), hooks: Vec::new(), servers: Servers::new(), left_out: 0 };
    match Node::of(text) {
        Ok(node) => file.whole(node),
        Err((spot, what)) => {
            file.reader.fault(at(spot, &format!("is no JSON: {what}: none of its hooks run")))
        }
    }
    file.finish()
}

struct File {
    source: Source,
    reader: Reader,
    hooks: Vec<Declared>,
    servers: Servers,
    left_out: usize,
}

impl File {
    fn whole(&mut self, node: Node<'_>) {
        let example = match self.source {
            Source::McpJson => "{\"mcpServers\": {…}, \"hooks\": {…}}",
            _ => "{\"version\": 1, \"hooks\": {…}}",
        };
        let Some(members) =
            self.reader.object(self.source.file(), &format!("an object such as {example}"), node)
        else {
            return;
        };
        let known: &[&str] = match self.source {
            Source::McpJson => &["mcpServers", "hooks", "version"],
            _ => &["version", "hooks"],
        };
        let mut runs = true;
        if let Some(version) = members.iter().find(|it| it.name == "version")
            && version.value.raw() != VERSION
        {
            let found = version.value.shown();
            let what = format!("version: expected 1, found {found}: none of its hooks run");
            self.reader.fault(at(version.value.spot(), &what));
            runs = false;
        }
        let is_wrapped = members.iter().any(|it| it.name == "hooks");
        let is_event = |name: &str| name.parse::<EventName>().is_ok() || nested::event(name).is_some();
        if !is_wrapped && members.iter().any(|it| is_event(&it.name)) {
            self.reader.push(Fault {
                message: at(node.spot(), "has events outside of \"hooks\": none of its hooks run"),
                hint: Some(format!("write {example}")),
            });
            // A guard in it is a guard all the same.
            for member in members.iter().filter(|it| is_event(&it.name)) {
                self.event(&member.name, member.at, member.value, false);
            }
            return;
        }
        for member in &members {
            match member.name.as_str() {
                "hooks" => {
                    let events =
                        self.reader.object("hooks", "an object with a list for each event", member.value);
                    for event in events.unwrap_or_default() {
                        self.event(&event.name, event.at, event.value, runs);
                    }
                }
                "mcpServers" if self.source == Source::McpJson => {
                    self.servers = self.reader.servers(member.value)
                }
                "version" | "$schema" | "description" => {}
                _ => self.reader.fault(format!("{}; it is left out", unknown(member, known))),
            }
        }
        let says_something =
            members.iter().any(|it| !matches!(it.name.as_str(), "version" | "$schema" | "description"));
        if !says_something && self.source == Source::HooksJson {
            self.reader.fault(at(node.spot(), "expected \"hooks\", found none"));
        }
    }

    /// The entries of one event.
    fn event(&mut self, key: &str, at_key: Node<'_>, value: Node<'_>, runs: bool) {
        let Form::Array(items) = value.form() else {
            self.reader.fault(wrong(key, "a list of hooks", value));
            return;
        };
        let flat = key.parse::<EventName>().ok();
        let in_claude = nested::event(key);
        let mut why = None;
        if flat.is_none() && in_claude.is_none() {
            let nearest = EventName::nearest(key);
            let shown = text::escape(key, 80);
            why = Some(at(at_key.spot(), &format!("unknown event \"{shown}\": the nearest is {nearest}")));
        }
        let is_known = why.is_none();
        if let Some(why) = &why {
            self.reader.fault(format!("{why}; its hooks do not run"));
        }
        if !runs {
            why = why.or_else(|| Some("stands in a file that cannot be used".to_owned()));
        }
        let label = if is_known { key.to_owned() } else { text::plain_name(text::prefix(key, MAX_LABEL)) };
        let mut n = 0;
        for item in items {
            if self.source == Source::HooksJson && nested::is_group(item) {
                let group = self.reader.group(item);
                let event = in_claude.as_ref().map(|(event, _)| event.clone());
                let name = in_claude.as_ref().and_then(|(_, name)| name.clone());
                for command in &group.commands {
                    let Some(hook) = self.hook(&label, &mut n, event.clone().or_else(|| flat.clone())) else {
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
            } else {
                let Some(hook) = self.hook(&label, &mut n, flat.clone()) else { continue };
                let mut hook = self.reader.entry(self.source, item, hook);
                if flat.is_none() && is_known {
                    let what = format!(
                        "unknown event \"{key}\": the nearest is {}; only Claude Code's shape has this one",
                        EventName::nearest(key)
                    );
                    hook.handler = hook.handler.and_then(|_| Err(at(item.spot(), &what)));
                }
                self.keep(hook, why.as_deref());
            }
        }
    }

    /// The next entry, if the file may have one more.
    fn hook(&mut self, label: &str, n: &mut usize, event: Option<EventName>) -> Option<Declared> {
        if self.hooks.len() == MAX_ENTRIES {
            self.left_out += 1;
            return None;
        }
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
            self.reader.fault(message);
        }
        let mut names = HashSet::new();
        for hook in &mut self.hooks {
            // Of two hooks of one name one would never run.
            if let Some(name) = hook.name.take_if(|name| !names.insert(name.clone())) {
                let message = format!("{} has the name {name:?} of another hook of this file", hook.label);
                self.reader.fault(format!("{message}: it is named {}", hook.position_name()));
            }
        }
        Contents { hooks: self.hooks, servers: self.servers, faults: self.reader.finish() }
    }
}
