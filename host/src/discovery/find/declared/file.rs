//! A whole file: its version, its events, and the servers of an mcp.json.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::document::{
    Document, Fault, Form, Member, Node, Object, Reader, address, at, map, members, twice, unknown, word,
    wrong,
};
use super::entry::hides_guard;
use super::group::{self, CommandForm, Runs};
use super::{Declared, Handler, Service, Source, WiredCommand};
use crate::dialect::Wire;
use crate::dialect::claude::{self, ClaudeWire, Matcher};
use crate::discovery::find::MAX_CANDIDATES;
use crate::event::EventName;
use crate::hook::OnFailure;
use crate::mcp::Transport;
use hookbox_system::text;

/// The version of the format.
const VERSION: &str = "1";

/// The contents of a file.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    pub(crate) hooks: Vec<Declared>,
    pub(crate) servers: Servers,
    pub(crate) faults: Vec<Fault>,
    /// True if it has commands in Claude Code's shape.
    pub(crate) has_groups: bool,
    /// The further files with hooks that a manifest names.
    pub(crate) files: Vec<String>,
}

/// Reads the declarations in a text.
///
/// # Errors
///
/// The reason why it is not JSON, so that its hooks are not known.
pub(crate) fn parse(text: &str, source: Source) -> Result<Contents, String> {
    let document = Document::parse(text)?;
    let mut file = File::new(source, String::new());
    match source {
        Source::Manifest => file.manifest(document.root()),
        _ => file.whole(document.root()),
    }
    Ok(file.finish())
}

/// Reads the declarations in a file that a manifest names. Its name without the ending is a part of those of its hooks.
///
/// # Errors
///
/// As for [`parse`].
pub(crate) fn parse_further(text: &str, path: &Path) -> Result<Contents, String> {
    let document = Document::parse(text)?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let mut file = File::new(Source::Manifest, format!("{}:", text::plain_name(text::prefix(&name, 64))));
    file.whole(document.root());
    Ok(file.finish())
}

/// Reads the service that the table of the hook `name` declares, in this line of `hookbox.toml`, as JSON.
///
/// # Errors
///
/// As for [`parse`].
pub(crate) fn parse_table(name: &str, line: usize, json: &str) -> Result<Contents, String> {
    // The positions are those of the JSON, which nobody sees.
    let here = |text: String| match text.split_once(": ") {
        Some((at, what)) if at.starts_with("line ") => format!("line {line}: http: {what}"),
        _ => format!("line {line}: http: {text}"),
    };
    let mut entry: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(json).map_err(|error| error.to_string())?;
    let event = entry.remove("event").and_then(|it| it.as_str().map(str::to_owned));
    let event = event.ok_or_else(|| here("expected event, found none".to_owned()))?;
    entry.insert("name".to_owned(), name.into());
    let text = serde_json::json!({ "hooks": { event: [entry] } }).to_string();
    let mut contents = parse(&text, Source::Settings)?;
    for hook in &mut contents.hooks {
        hook.label = name.to_owned();
        hook.spot = format!("line {line}");
        hook.handler = std::mem::replace(&mut hook.handler, Err(String::new())).map_err(here);
    }
    contents.faults.iter_mut().for_each(|fault| fault.message = here(std::mem::take(&mut fault.message)));
    Ok(contents)
}

/// Returns true if a key names an event, in either shape.
fn is_event(key: &str) -> bool {
    in_claude(key).is_some() || key.parse::<EventName>().is_ok()
}

/// Returns the event of this key, if Claude Code has it, and Claude Code's name. A key in snake case stands for all of its
/// names.
fn in_claude(key: &str) -> Option<(EventName, Option<String>)> {
    if let Some(event) = claude::event_name(key) {
        return Some((event, Some(key.to_owned())));
    }
    let event: EventName = key.parse().ok()?;
    let is_other = matches!(event, EventName::Other(_));
    (is_other || !claude::names(&event).is_empty()).then_some((event, None))
}

struct File {
    source: Source,
    /// The beginning of the names of its hooks.
    prefix: String,
    contents: Contents,
    reader: Reader,
    /// The number of entries beyond the limit.
    left_out: usize,
    /// The entry that fails for all guards that are left out.
    guard: Option<Declared>,
    /// The number of entries of each event so far.
    counts: HashMap<String, usize>,
}

impl File {
    fn new(source: Source, prefix: String) -> Self {
        Self {
            source,
            prefix,
            contents: Contents::default(),
            reader: Reader::default(),
            left_out: 0,
            guard: None,
            counts: HashMap::new(),
        }
    }

    /// Reads a plugin's manifest. Its other keys are those of the plugin.
    fn manifest(&mut self, node: Node<'_>) {
        if let Form::Object(Object { members, again }) = node.form() {
            for member in members.iter().chain(&again).filter(|it| it.name == "hooks") {
                self.manifest_hooks(member.value);
            }
        }
    }

    /// Reads the hooks of a manifest: events, perhaps in a wrapper of their own, or names of files.
    fn manifest_hooks(&mut self, value: Node<'_>) {
        match value.form() {
            Form::Text(path) => self.contents.files.push(path),
            Form::Array(items) => items.into_iter().for_each(|item| self.manifest_hooks(item)),
            Form::Object(object) if object.members.iter().any(|it| it.name == "hooks") => {
                self.manifest(value);
            }
            _ => self.events(value),
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
        } else if !has_hooks && self.source != Source::McpJson {
            self.reader.fault(|| at(node.spot(), "expected \"hooks\", found none"));
        }
        for member in &members {
            match member.name.as_str() {
                "hooks" => self.events(member.value),
                "mcpServers" if self.source == Source::McpJson => {
                    self.contents.servers = self.reader.servers(member.value);
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
                ..Declared::of_root(self.source, usize::MAX, label, None)
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
        let (in_claude, name) = in_claude(key).unzip();
        let Some(event) = flat.clone().or_else(|| in_claude.clone()) else {
            self.reader.fault(|| {
                let (shown, meant) = (text::escape(key, 80), text::or_meant(EventName::nearest(key)));
                at(member.at, &format!("unknown event \"{shown}\"{meant}; its hooks do not run"))
            });
            return self.leave_out(value);
        };
        for item in items {
            if !matches!(self.source, Source::McpJson | Source::Settings) && group::is_group(item) {
                self.contents.has_groups = true;
                let event = in_claude.clone().unwrap_or_else(|| event.clone());
                let group = self.reader.group(item, &CommandForm::OWN);
                let parse = |pattern: &str| Matcher::parse(pattern).map_err(|error| error.to_string());
                let wire =
                    ClaudeWire { name: name.clone().flatten(), matcher: self.reader.matcher(&group, parse) };
                let wire: Arc<dyn Wire> = Arc::new(wire);
                if group.commands.is_empty() {
                    self.leave_out(item);
                }
                for node in &group.commands {
                    let Some(hook) = self.hook(key, &event, *node) else { continue };
                    let command = self.reader.command(&group, *node, &CommandForm::OWN, hook);
                    let runs = command.runs.and_then(|runs| match &in_claude {
                        Some(_) => Ok(runs),
                        None => {
                            let what =
                                format!("Claude Code has no event {key}, so its shape cannot be used here");
                            Err(at(node.spot(), &what))
                        }
                    });
                    let wire = Arc::clone(&wire);
                    let handler = runs.map(|runs| match runs {
                        Runs::Line(line) => Handler::Wired(Box::new(WiredCommand::new(line, wire))),
                        Runs::Service(it) => Handler::Http(Box::new(Service { wire: Some(wire), ..it })),
                    });
                    self.contents.hooks.push(Declared { handler, ..command.hook });
                }
            } else {
                let Some(hook) = self.hook(key, &event, item) else { continue };
                let mut hook = self.reader.entry(self.source, item, hook);
                if flat.is_none() {
                    let what =
                        format!("only Claude Code's shape has the event {key}: a group with \"hooks\" in it");
                    hook.handler = hook.handler.and_then(|_| Err(at(item.spot(), &what)));
                }
                self.contents.hooks.push(hook);
            }
        }
    }

    /// Returns the next entry, if the file may have one more; else leaves this one out.
    fn hook(&mut self, key: &str, event: &EventName, node: Node<'_>) -> Option<Declared> {
        if self.contents.hooks.len() == MAX_CANDIDATES {
            self.left_out += 1;
            self.leave_out(node);
            return None;
        }
        let n = self.counts.entry(key.to_owned()).or_default();
        let label = format!("{}{key}[{n}]", self.prefix);
        *n += 1;
        Some(Declared::of_root(self.source, self.contents.hooks.len(), label, Some(event.clone())))
    }

    fn finish(mut self) -> Contents {
        if self.left_out > 0 {
            let message = format!(
                "has more than {MAX_CANDIDATES} hooks: only the first {MAX_CANDIDATES} are used, and {} are left out",
                self.left_out
            );
            self.reader.fault(|| message);
        }
        let mut names = HashSet::new();
        for hook in &mut self.contents.hooks {
            // Of two hooks with one name, one would never run.
            if let Some(name) = hook.name.take_if(|name| !names.insert(name.clone())) {
                let message = format!("{} has the name {name:?} of another hook of this file", hook.label);
                self.reader.fault(|| format!("{message}: it is named {}", hook.position_name()));
            }
        }
        self.contents.hooks.extend(self.guard);
        Contents { faults: self.reader.finish(), ..self.contents }
    }
}

/// The keys of a server.
const SERVER_KEYS: [&str; 6] = ["type", "command", "args", "env", "url", "headers"];

/// A server, as it is declared: variables in it are not expanded, and it has no directory yet.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Server {
    pub(crate) transport: Transport,
    /// Its text in the file.
    pub(crate) text: String,
}

impl Server {
    /// Returns the command line or address, for people; not escaped.
    pub(super) fn runs(&self) -> String {
        match &self.transport {
            Transport::Stdio { command, args, .. } => {
                let words = std::iter::once(command).chain(args);
                words.map(|word| text::shell_word(word)).collect::<Vec<_>>().join(" ")
            }
            Transport::Http { url, .. } => url.clone(),
        }
    }

    /// Returns the texts that may name files: the command, its arguments, and the values of its variables.
    pub(super) fn words(&self) -> Vec<String> {
        match &self.transport {
            Transport::Stdio { command, args, env, .. } => {
                std::iter::once(command).chain(args).chain(env.values()).cloned().collect()
            }
            Transport::Http { .. } => Vec::new(),
        }
    }
}

/// The servers of a file by name, or the reason why one cannot be used.
pub(crate) type Servers = BTreeMap<String, Result<Server, String>>;

impl Reader {
    pub(super) fn servers(&mut self, node: Node<'_>) -> Servers {
        let mut servers = Servers::new();
        let Some(members) = self.object("mcpServers", "an object with a server for each name", node) else {
            return servers;
        };
        for member in members {
            let server = server(member.value);
            if let Err(message) = &server {
                self.fault(|| message.clone());
            }
            servers.insert(member.name, server);
        }
        servers
    }
}

fn server(node: Node<'_>) -> Result<Server, String> {
    let members = members("mcpServers", "an object with a command or a url", node)?;
    let (mut kind, mut command, mut url) = (None, None, None);
    let (mut args, mut env, mut headers) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
    for member in &members {
        let value = member.value;
        match member.name.as_str() {
            "type" => {
                let is_known = |text: &String| matches!(text.as_str(), "stdio" | "http" | "streamable-http");
                let text = value.text().filter(is_known);
                kind = Some((text.ok_or_else(|| wrong("type", "\"stdio\" or \"http\"", value))?, value));
            }
            "command" => command = Some(word("command", "a program", value)?),
            "url" => url = Some(address(value)?),
            "args" => {
                let items = value.items().ok_or_else(|| wrong("args", "a list of texts", value))?;
                args = items.into_iter().map(|item| text_of("args", item)).collect::<Result<_, _>>()?;
            }
            "env" => env = map("env", value)?,
            "headers" => headers = map("headers", value)?,
            _ => return Err(unknown(member, &SERVER_KEYS)),
        }
    }
    let transport = match (command, url) {
        (Some(command), None) => Transport::Stdio { command, args, env, directory: PathBuf::new() },
        (None, Some(url)) => Transport::Http { url, headers },
        (None, None) => return Err(at(node.spot(), "expected a command or a url, found neither")),
        (Some(_), Some(_)) => return Err(at(node.spot(), "expected a command or a url, found both")),
    };
    if let Some((kind, value)) = kind {
        let is_stdio = matches!(transport, Transport::Stdio { .. });
        if is_stdio != (kind == "stdio") {
            let what = if is_stdio { "\"stdio\" with a command" } else { "\"http\" with a url" };
            return Err(wrong("type", what, value));
        }
    }
    Ok(Server { transport, text: node.raw().to_owned() })
}

fn text_of(key: &str, value: Node<'_>) -> Result<String, String> {
    value.text().filter(|text| !text.contains('\0')).ok_or_else(|| wrong(key, "a text", value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_a_command_or_an_address() {
        for (text, want) in [
            (r#"{"command": "x", "args": ["1"], "env": {"A": "b"}}"#, None),
            (r#"{"type": "stdio", "command": "x"}"#, None),
            (r#"{"type": "http", "url": "http://x", "headers": {"A": "b"}}"#, None),
            (r"5", Some("line 1, column 1: mcpServers: expected an object with a command or a url, found 5")),
            (r"{}", Some("line 1, column 1: expected a command or a url, found neither")),
            (
                r#"{"command": "x", "url": "http://y"}"#,
                Some("line 1, column 1: expected a command or a url, found both"),
            ),
            (r#"{"url": "${BASE}/mcp"}"#, None),
            (
                r#"{"url": "ftp://x"}"#,
                Some(
                    "line 1, column 9: url: expected an address that begins with http:// or https://, found \"ftp://x\"",
                ),
            ),
            (
                r#"{"url": "http://x", "headers": {"A(b)": "c"}}"#,
                Some("line 1, column 33: headers: \"A(b)\" cannot be a name"),
            ),
            (r#"{"comand": "x"}"#, Some("line 1, column 2: unknown key \"comand\" (did you mean command?)")),
            (
                r#"{"command": "x", "type": "http"}"#,
                Some("line 1, column 26: type: expected \"stdio\" with a command, found \"http\""),
            ),
            (
                r#"{"command": "x", "args": "y"}"#,
                Some("line 1, column 26: args: expected a list of texts, found \"y\""),
            ),
            (r#"{"command": "x", "env": {"A": 5}}"#, Some("line 1, column 31: A: expected a text, found 5")),
            (
                r#"{"command": "x", "command": "y"}"#,
                Some("line 1, column 18: \"command\" appears twice: the first one counts"),
            ),
        ] {
            assert_eq!(server(Document::parse(text).unwrap().root()).err().as_deref(), want, "{text}");
        }
    }
}
