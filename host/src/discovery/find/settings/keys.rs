//! The keys of `hookbox.toml`. Reading, messages, the list in the book and the JSON Schema come from these tables.

use std::num::{NonZeroU32, NonZeroU64};
use std::ops::Range;
use std::path::PathBuf;

use serde_json::Value;

use super::{Reader, Table, Top};
use crate::capability::Capability;
use crate::hook::{Digest, Mode, OnFailure};
use crate::thresholds::is_threshold;
use hookbox_system::toml_value::{SpannedValue, found, to_json, typed};
use hookbox_system::{text, units};

/// A key that sets something of a `T`.
#[cfg_attr(not(test), expect(dead_code, reason = "a test writes the book and the schema from these fields"))]
pub(super) struct Key<T: 'static> {
    pub(super) name: &'static str,
    pub(super) form: Form,
    /// The default, in Markdown.
    pub(super) default: &'static str,
    /// The meaning, in Markdown.
    pub(super) meaning: &'static str,
    /// Sets the value. Returns false if it has another form.
    set: fn(&mut T, &mut Reader, &SpannedValue<'_>) -> bool,
}

/// The form of a value.
#[cfg_attr(not(test), expect(dead_code, reason = "a test writes the schema"))]
pub(super) struct Form {
    /// The form in words, for messages.
    expected: &'static str,
    /// The form as JSON Schema.
    pub(super) schema: &'static str,
    /// The stricter value that a wrong one is taken as: its author wanted something else than the default.
    taken_as: Option<&'static str>,
}

impl Form {
    const fn of(expected: &'static str, schema: &'static str) -> Self {
        Self { expected, schema, taken_as: None }
    }

    const fn taken_as(self, strict: &'static str) -> Self {
        Self { taken_as: Some(strict), ..self }
    }
}

const BOOLEAN: Form = Form::of("true or false", r#"{"type": "boolean"}"#);
const PRIORITY: Form = Form::of(
    "a whole number of 32 bits",
    r#"{"type": "integer", "minimum": -2147483648, "maximum": 2147483647}"#,
);
const ON_FAILURE: Form =
    Form::of("\"pass\" or \"block\"", r#"{"enum": ["pass", "block"]}"#).taken_as("\"block\"");
const MODE: Form =
    Form::of("\"enforce\" or \"observe\"", r#"{"enum": ["enforce", "observe"]}"#).taken_as("\"enforce\"");
const TIME: Form = Form::of(
    "a time in quotes such as \"2s\", \"500ms\" or \"1m\"",
    r#"{"type": "string", "pattern": "^[0-9]*[1-9][0-9]*\\s*(ms|s|m)\\s*$"}"#,
);
const COUNT: Form = Form::of("a whole number above zero", r#"{"type": "integer", "minimum": 1}"#);
const SIZE: Form = Form::of(
    "a size such as \"64MiB\", or a number of bytes",
    r#"{"type": ["string", "integer"], "minimum": 1, "pattern": "^[0-9]*[1-9][0-9]*\\s*([KMG]i?)?B\\s*$"}"#,
);
const VARIABLES: Form = Form::of(
    "a list of names of variables such as [\"PATH\", \"HOME\"]",
    r#"{"type": "array", "items": {"type": "string", "pattern": "^[^=\\u0000]+$"}}"#,
)
.taken_as("[]");
const RIGHTS: Form = Form::of(
    "a list of permissions such as [\"store\", \"read:$REPO\"]",
    r#"{"type": "array", "items": {"type": "string"}}"#,
)
.taken_as("[]");
pub(super) const HOOKS: Form = Form::of("a table for each hook", r#"{"type": "object"}"#);
const SERVICE: Form = Form::of(
    "a table with event and url",
    r#"{"type": "object", "required": ["event", "url"], "properties": {"event": {"type": "string"}, "url": {"type": "string", "pattern": "^https?://."}, "headers": {"type": "object"}, "allowedEnvVars": {"type": "array"}, "addresses": {"type": "array"}, "matcher": {}, "fallback": {"type": "string"}}, "additionalProperties": false}"#,
);
const TABLE: Form = Form::of("a table", r#"{"type": "object"}"#);
const COMMANDS: Form = Form::of(
    "a list of commands such as [\"commit\", \"pr\"]",
    r#"{"type": "array", "items": {"type": "string", "minLength": 1}}"#,
);
const PLUGINS: Form = Form::of(
    "a list of sources such as [\"oci://registry.example.com/guards\"]",
    r#"{"type": "array", "items": {"type": "string", "minLength": 1}}"#,
)
.taken_as("[]");
const DIGESTS: Form = Form::of(
    "a list of digests such as [\"sha256:…\"]",
    r#"{"type": "array", "items": {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"}}"#,
)
.taken_as("[]");
const SHARE: Form = Form::of(
    "a share of the context window above 0 and at most 1, such as 0.7",
    r#"{"type": "number", "exclusiveMinimum": 0, "maximum": 1}"#,
);
const AT_THRESHOLD: Form = Form::of("\"compact\" or \"rotate\"", r#"{"enum": ["compact", "rotate"]}"#);
const PROGRAM: Form = Form::of(
    "an absolute path such as \"/opt/git/bin/git\"",
    r#"{"type": "string", "pattern": "^([/\\\\]|[A-Za-z]:)"}"#,
);
const DAYS: Form =
    Form::of("a number of days above 0", r#"{"type": "integer", "minimum": 1, "maximum": 4294967295}"#);
const ADDRESS: Form = Form::of(
    "an address such as \"https://github.com\"",
    r#"{"type": "string", "pattern": "^(https?|ssh|file)://(/+[^\\s?#\\\\/]|[^-\\s?#\\\\/])[^\\s?#\\\\]*$"}"#,
);

const COLLECTOR: Form = Form::of(
    "an address such as \"http://localhost:4318\"",
    r#"{"type": "string", "pattern": "^https?://[^\\s?#]+$"}"#,
);

/// Makes a table of keys. A row has the key's name, form, default, meaning and setter.
macro_rules! keys {
    ($($name:literal $form:ident $default:literal $meaning:literal $set:expr;)*) => {
        &[$(Key { name: $name, form: $form, default: $default, meaning: $meaning, set: $set }),*]
    };
}

/// The keys of a hook's table.
pub(super) const HOOK: &[Key<Table>] = keys! {
    "enabled" BOOLEAN "`true`" "`false` switches the hook off"
        |it, _, value| put(&mut it.enabled, typed(value));
    "priority" PRIORITY "the hook's declaration, else 50" "lower runs first; for all events of the hook"
        |it, _, value| put(&mut it.priority, typed(value));
    "on_failure" ON_FAILURE "the hook's declaration, else `\"pass\"`"
        "result if the hook fails: `\"block\"` fails closed, `\"pass\"` fails open with a warning"
        |it, _, value| put_or(&mut it.on_failure, typed(value), OnFailure::Block);
    "mode" MODE "`\"enforce\"`" "`\"observe\"` is [shadow mode](#shadow-mode)"
        |it, _, value| put_or(&mut it.mode, typed(value), Mode::Enforce);
    "allow" BOOLEAN "`false`" "`true` lets a hook without a sandbox give the answer [allow](answers.md#allow). Only in **your own** file"
        |it, _, value| put(&mut it.allow, typed(value));
    "allow_once" BOOLEAN "`false`" "`true` lets users [allow](allow-once.md) once what the hook blocks. Only in [the administrator's](managed.md) file"
        |it, _, value| put(&mut it.allow_once, typed(value));
    "grants" RIGHTS "none" "components: a list of the [permissions](component-hooks.md#permissions) that the hook has. Only in the administrator's file"
        |it, reader, value| {
            let items = value.get_ref().as_array();
            let names = reader.names("grants", "permission", items.into_iter().flatten(), |it| it.parse::<Capability>().is_ok());
            it.grants = Some(names.iter().filter_map(|it| it.parse().ok()).collect());
            items.is_some()
        };
    "timeout" TIME "the [declaration](declared-hooks.md), else `\"30s\"` for native hooks, `\"3s\"` for others"
        "wall time of one call, in `ms`, `s` or `m`"
        |it, _, value| put(&mut it.limits.timeout, value.get_ref().as_str().and_then(|it| units::parse_duration(it).ok()));
    "fuel" COUNT "1 000 000 000" "components: about one unit per instruction"
        |it, _, value| put(&mut it.limits.fuel, count(value));
    "memory" SIZE "`\"64MiB\"`" "components: all memories of one call together"
        |it, _, value| put(&mut it.limits.memory, size(value));
    "output" SIZE "`\"4MiB\"`" "the hook's standard output"
        |it, _, value| put(&mut it.limits.output, size(value));
    "log" SIZE "`\"64KiB\"`" "how much of stderr and the log is kept"
        |it, _, value| put(&mut it.limits.log, size(value));
    "copies" SIZE "`\"4MiB\"`" "components: data that host calls and the answer copy out"
        |it, _, value| put(&mut it.limits.copies, size(value));
    "handles" COUNT "1 000" "components: resources open at once"
        |it, _, value| put(&mut it.limits.handles, count(value));
    "tables" COUNT "100 000" "components: elements of all tables"
        |it, _, value| put(&mut it.limits.tables, count(value));
    "env" VARIABLES "all variables"
        "native hooks and commands: a list of the environment variables that the hook gets, next to those of hookbox"
        |it, reader, value| {
            let items = value.get_ref().as_array();
            it.environment = Some(reader.names("env", "variable", items.into_iter().flatten(), is_variable));
            items.is_some()
        };
    "http" SERVICE "none" "declares this hook: an [HTTP service](http.md#in-hookboxtoml) with `event`, `url` and the other keys of one"
        |it, _, value| put(&mut it.http, value.get_ref().is_table().then(|| to_json(value.get_ref()).to_string()));
    "settings" TABLE "empty" "a table: the hook's own settings"
        |it, reader, value| {
            for (key, value) in value.get_ref().as_table().into_iter().flatten() {
                it.settings.insert(key.get_ref().to_string(), as_text(value));
                it.settings_lines.insert(key.get_ref().to_string(), reader.line(&key.span()));
            }
            value.get_ref().is_table()
        };
};

/// The keys beside the tables of hooks.
pub(super) const ALL_HOOKS: &[Key<Top>] = keys! {
    "no_hooks" BOOLEAN "`false`"
        "`true` runs no hook, not even built-in ones and the agent's own; like the flag `--no-hooks`"
        |it, _, value| put(&mut it.no_hooks, typed(value));
    "skip_commands" COMMANDS "`[\"commit\", \"pr\"]`"
        "commands of the embedding agent that get no hooks. The agent passes its command as `--agent-command NAME` or `Builder::command`"
        |it, reader, value| {
            let items = value.get_ref().as_array();
            let names = items.map(|items| reader.names("skip_commands", "command", items, |name| !name.is_empty()));
            put(&mut it.skip_commands, names)
        };
    "redact_context" BOOLEAN "`true`" "removes [secrets](chains.md#secrets) from the text that hooks give the model"
        |it, _, value| put(&mut it.redact_context, typed(value));
    "only_managed" BOOLEAN "`false`" "`true` runs no hooks of users and repositories. Only in [the administrator's](managed.md) file"
        |it, _, value| put(&mut it.only_managed, typed(value));
    "plugin_sources" PLUGINS "all" "sources that plugins of users and repositories may have: whole ones, or their beginnings before a `/`. Only in the administrator's file"
        |it, reader, value| list(&mut it.plugin_sources, reader, value, "plugin_sources", "source", |it| !it.is_empty());
    "plugin_digests" DIGESTS "all" "digests that these plugins may have (`tree` of `plugins.lock`). Only in the administrator's file"
        |it, reader, value| list(&mut it.plugin_digests, reader, value, "plugin_digests", "digest", |it| it.parse::<Digest>().is_ok());
    "pinned_plugins" PLUGINS "none" "the plugins that [`plugin sync --managed`](managed.md#plugins) brings. Only in the administrator's file"
        |it, reader, value| list(&mut it.pinned_plugins, reader, value, "pinned_plugins", "source", |it| !it.is_empty());
};

/// The tables beside those of hooks, with their keys.
pub(super) const TABLES: &[(&str, &[Key<Top>])] = &[
    (
        "budget",
        keys! {
            "warn" SHARE "0.7" "share of the context window, at most 1, at which `on_budget_exceeded` is first sent"
                |it, _, value| put(&mut it.warn, typed(value).filter(|share| is_threshold(*share)));
            "rotate" SHARE "0.8" "share at which it is time to compact or to rotate"
                |it, _, value| put(&mut it.rotate, typed(value).filter(|share| is_threshold(*share)));
            "at_threshold" AT_THRESHOLD "`\"compact\"`"
                "the action at that share, or `\"rotate\"` ([built-in hooks](built-in-hooks.md#when-a-threshold-is-crossed))"
                |it, _, value| put(&mut it.at, typed(value));
        },
    ),
    (
        "git",
        keys! {
            "program" PROGRAM "the system's" "absolute path of the git that [guards ask](guards.md#the-git-that-guards-ask)"
                |it, _, value| put(&mut it.git, typed(value).filter(|path: &PathBuf| path.is_absolute()));
        },
    ),
    (
        "journal",
        keys! {
            "enabled" BOOLEAN "`false`" "records each event with its verdict ([the journal](journal.md))"
                |it, _, value| put(&mut it.journal, typed(value));
            "keep_days" DAYS "90" "days after which records are removed"
                |it, _, value| put(&mut it.keep_days, typed::<NonZeroU32>(value));
            "max_size" SIZE "`\"1GiB\"`" "size of all records above which the oldest are removed"
                |it, _, value| put(&mut it.journal_size, size(value));
            "collector" COLLECTOR "none" "address of the OpenTelemetry collector to which [records are sent](journal.md#send-records-to-a-collector)"
                |it, _, value| put(&mut it.collector, value.get_ref().as_str().filter(|it| is_http(it)).map(str::to_owned));
        },
    ),
    (
        "plugins",
        keys! {
            "git_host" ADDRESS "`\"https://github.com\"`"
                "address (`https://`, `http://`, `ssh://` or `file://`) from which `hookbox plugin add org/repo` fetches [plugins](plugins.md)"
                |it, _, value| put(&mut it.git_host, value.get_ref().as_str().and_then(host).map(str::to_owned));
        },
    ),
];

/// Returns a string as it is, and another value as JSON.
fn as_text(value: &SpannedValue<'_>) -> String {
    match to_json(value.get_ref()) {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

/// Sets a field to a value that was read, if it was.
fn put<V>(field: &mut Option<V>, read: Option<V>) -> bool {
    *field = read;
    field.is_some()
}

/// Sets a field to the names of a list; without a list, to none.
fn list(
    field: &mut Option<Vec<String>>,
    reader: &mut Reader,
    value: &SpannedValue<'_>,
    key: &str,
    thing: &str,
    is_name: fn(&str) -> bool,
) -> bool {
    let items = value.get_ref().as_array();
    *field = Some(reader.names(key, thing, items.into_iter().flatten(), is_name));
    items.is_some()
}

/// Sets a field to a value that was read, else to the stricter one.
fn put_or<V>(field: &mut Option<V>, read: Option<V>, strict: V) -> bool {
    let is_read = put(field, read);
    field.get_or_insert(strict);
    is_read
}

/// Reads a whole number above zero.
fn count<V: TryFrom<u64>>(value: &SpannedValue<'_>) -> Option<V> {
    V::try_from(typed::<NonZeroU64>(value)?.get()).ok()
}

/// Reads a size in bytes above zero.
fn size<V: TryFrom<u64>>(value: &SpannedValue<'_>) -> Option<V> {
    match value.get_ref().as_str() {
        Some(text) => V::try_from(units::parse_size(text).ok()?).ok(),
        None => count(value),
    }
}

/// Returns the address without a slash at its end, if names of repositories can follow it.
fn host(text: &str) -> Option<&str> {
    let host = text.trim_end_matches('/');
    let rest =
        ["https://", "http://", "ssh://", "file://"].iter().find_map(|scheme| host.strip_prefix(scheme))?;
    let is_plain = |c: char| !c.is_whitespace() && !c.is_control() && !"?#\\".contains(c);
    let fits = !rest.is_empty() && !rest.starts_with('-') && rest.chars().all(is_plain);
    fits.then_some(host)
}

/// Returns true for an address of HTTP to which a path can be added.
fn is_http(text: &str) -> bool {
    let rest = ["https://", "http://"].iter().find_map(|scheme| text.strip_prefix(scheme));
    rest.is_some_and(|rest| {
        !rest.is_empty() && !rest.contains(|c: char| c.is_whitespace() || "?#".contains(c))
    })
}

/// Returns true if a variable of an environment can have this name.
fn is_variable(name: &str) -> bool {
    !name.is_empty() && !name.contains(['=', '\0'])
}

/// Returns the names as in "a, b or c".
fn any_of(mut names: Vec<String>) -> String {
    let last = names.pop().unwrap_or_default();
    if names.is_empty() { last } else { format!("{} or {last}", names.join(", ")) }
}

fn names_of<T>(keys: &[Key<T>]) -> Vec<String> {
    keys.iter().map(|key| key.name.to_owned()).collect()
}

impl Reader {
    /// Reads the table of this hook.
    pub(super) fn hook(&mut self, name: &str, value: &SpannedValue<'_>) -> Option<Table> {
        // The name is shown in messages, also if no hook can have it.
        self.hook = Some(text::escape(name, 255));
        let mut table = Table { line: self.line(&value.span()), ..Table::default() };
        let is_table = self.table(HOOK, name, "", &mut table, value);
        let entries = value.get_ref().as_table().into_iter().flatten();
        let known = entries.filter(|(key, _)| HOOK.iter().any(|it| it.name == key.get_ref()));
        table.texts = known
            .filter(|(key, _)| key.get_ref() != "settings")
            .map(|(key, value)| (key.get_ref().to_string(), as_text(value)))
            .chain(table.settings.iter().map(|(key, value)| (format!("settings.{key}"), value.clone())))
            .collect();
        if !is_table {
            self.breaks(&value.span(), format!("{} is not a table", text::escape(name, 80)));
        }
        self.hook = None;
        is_table.then_some(table)
    }

    /// Reads a key beside the tables of hooks.
    pub(super) fn top(&mut self, top: &mut Top, name: &str, at: Range<usize>, value: &SpannedValue<'_>) {
        let line = self.line(&at);
        if let Some(key) = ALL_HOOKS.iter().find(|key| key.name == name) {
            top.keys.push((key.name, line));
            self.set(key, name, top, value);
        } else if let Some((table, keys)) = TABLES.iter().find(|(table, _)| *table == name) {
            top.keys.push((table, line));
            self.table(keys, name, &format!("{name}."), top, value);
        } else {
            let mut known = vec!["[hooks.\"NAME\"]".to_owned()];
            known.extend(names_of(ALL_HOOKS));
            known.extend(TABLES.iter().map(|(table, _)| format!("[{table}]")));
            self.unknown(at, name, known);
        }
    }

    /// Reads a table with these keys, whose names in messages begin with `before`. Returns false if it is not a table.
    fn table<T>(
        &mut self,
        keys: &[Key<T>],
        name: &str,
        before: &str,
        into: &mut T,
        value: &SpannedValue<'_>,
    ) -> bool {
        let Some(entries) = value.get_ref().as_table() else {
            self.wrong_type(name, &TABLE, value);
            return false;
        };
        for (key, value) in entries {
            let (at, key) = (key.span(), key.get_ref().as_ref());
            let shown = format!("{before}{key}");
            match keys.iter().find(|known| known.name == key) {
                Some(known) => self.set(known, &shown, into, value),
                None => self.unknown(at, &shown, names_of(keys)),
            }
        }
        true
    }

    fn set<T>(&mut self, key: &Key<T>, shown: &str, into: &mut T, value: &SpannedValue<'_>) {
        if !(key.set)(into, self, value) {
            self.wrong_type(shown, &key.form, value);
        }
    }

    /// Reads a list of names of things. An item that cannot be a name is a fault and is left out.
    fn names<'v, 'i: 'v>(
        &mut self,
        key: &str,
        thing: &str,
        items: impl IntoIterator<Item = &'v SpannedValue<'i>>,
        is_name: fn(&str) -> bool,
    ) -> Vec<String> {
        let mut names = Vec::new();
        for item in items {
            match item.get_ref().as_str().filter(|name| is_name(name)) {
                Some(name) => names.push(name.to_owned()),
                None => {
                    let found = found(item.get_ref());
                    let message =
                        format!("{key}: expected the name of a {thing}, found {found}, which is left out");
                    self.fault(item.span(), message);
                }
            }
        }
        names
    }

    pub(super) fn wrong_type(&mut self, key: &str, form: &Form, value: &SpannedValue<'_>) {
        let taken = form.taken_as.map(|strict| format!("; taken as {strict}")).unwrap_or_default();
        let (key, found) = (text::escape(key, 80), found(value.get_ref()));
        self.fault(value.span(), format!("{key}: expected {}, found {found}{taken}", form.expected));
    }

    fn unknown(&mut self, at: Range<usize>, key: &str, known: Vec<String>) {
        let (key, known) = (text::escape(key, 80), any_of(known));
        self.fault(at, format!("unknown key {key:?}, which is left out: expected {known}"));
    }
}
