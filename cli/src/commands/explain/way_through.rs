//! The narrowest change with which a blocked event would pass.

use std::path::PathBuf;

use hookbox::internal::text;
use hookbox::manager::Manager;
use hookbox::report::Status;
use hookbox::session::{ExplainedHook, Explanation};
use hookbox::{Kind, escape};
use serde_json::{Value, json};

/// The metadata in which a hook that blocks names the settings that would let the event pass.
const SETTINGS_TO_PASS: &str = "settings_to_pass";

/// A way to let a blocked event pass.
pub(super) struct WayThrough {
    hook: String,
    /// The file in which the hook has its settings.
    file: PathBuf,
    /// The settings as TOML, or `None` if the hook names none and can only be switched off.
    settings: Option<String>,
    /// The names of its other settings, which have to stay.
    others: Vec<String>,
    /// The exception for the rule that decided, as TOML, with the rule's name and line.
    exception: Option<(String, u64, String)>,
}

impl WayThrough {
    /// Describes it for a person.
    pub(super) fn lines(&self) -> String {
        let name = text::escape_toml(&json!(self.hook).to_string());
        let file = escape(&self.file.to_string_lossy(), 4096);
        if let Some((rule, line, unless)) = &self.exception {
            return format!(
                "To let this one pass, add to the rule {rule:?} in {file}, line {line}:\n  unless = {unless}"
            );
        }
        let Some(settings) = &self.settings else {
            return format!(
                "{} names no setting that lets this one pass. To switch it off, set in {file}:\n  \
                 [hooks.{name}]\n  enabled = false",
                escape(&self.hook, 200)
            );
        };
        let keep = if self.others.is_empty() { "" } else { "\nKeep its other settings: " };
        let others = escape(&self.others.join(", "), 400);
        format!(
            "To let this one pass, set in {file}:\n  [hooks.{name}]\n  settings = {{ {settings} }}{keep}{others}"
        )
    }

    /// Returns it as JSON.
    pub(super) fn json(&self) -> Value {
        let exception = self.exception.as_ref();
        json!({
            "hook": self.hook,
            "file": self.file.to_string_lossy(),
            "settings": self.settings,
            "exception": exception.map(|(rule, line, unless)| json!({ "rule": rule, "line": line, "unless": unless })),
        })
    }
}

/// A rule that matched the event.
pub(super) struct MatchedRule {
    /// Its name, escaped.
    pub(super) name: String,
    /// Its line in the file.
    pub(super) line: u64,
    /// The command, path or tool that it matched, escaped.
    pub(super) on: String,
    /// The status of a hook with its answer, if it blocks or asks.
    decides: Option<Status>,
    /// The exception that would let the event pass, as TOML.
    unless: Option<String>,
}

/// Returns the rules of a rules file that matched the event.
pub(super) fn matched_rules(hook: &ExplainedHook) -> Vec<MatchedRule> {
    let metadata = hook.report.as_ref().map(|report| &report.metadata);
    let rules =
        metadata.and_then(|it| it.get("rules")?.as_array()).filter(|_| hook.entry.kind == Kind::Rules);
    let read = |rule: &Value| {
        let text = |key: &str| rule.get(key).and_then(Value::as_str);
        let (key, value) = rule.get("exception").and_then(|it| it.as_object()?.iter().next()).unzip();
        let unless = key.zip(value).and_then(|(key, value)| Some(format!("{{ {key} = {} }}", toml(value)?)));
        Some(MatchedRule {
            name: escape(text("name")?, 200),
            line: rule.get("line")?.as_u64()?,
            on: escape(text("on")?, 200),
            decides: match text("answer") {
                Some("block") => Some(Status::Blocked),
                Some("ask") => Some(Status::Asked),
                _ => None,
            },
            unless: unless.map(|it| text::escape_toml(&it)),
        })
    };
    rules.into_iter().flatten().filter_map(read).collect()
}

/// Returns the narrowest setting with which the hook that decided would let the event pass. The words of a hook that
/// the user does not trust are no advice.
pub(super) fn way_through(explanation: &Explanation, manager: &Manager) -> Option<WayThrough> {
    let verdict = &explanation.fired.verdict;
    let ruling = verdict.block.as_ref().or(verdict.ask.as_ref()).filter(|ruling| ruling.trusted)?;
    let status = if verdict.block.is_some() { Status::Blocked } else { Status::Asked };
    let is_it = |hook: &&ExplainedHook| {
        hook.report.as_ref().is_some_and(|it| it.status == status && it.trusted && it.name == ruling.by)
    };
    let hook = explanation.hooks.iter().find(is_it)?;
    if let (Kind::Rules, Some(file)) = (hook.entry.kind, &hook.entry.path) {
        let rule = matched_rules(hook).into_iter().find(|rule| rule.decides == Some(status))?;
        let exception = (rule.name, rule.line, rule.unless?);
        let (hook, file) = (ruling.by.clone(), file.clone());
        return Some(WayThrough {
            hook,
            file,
            settings: None,
            others: Vec::new(),
            exception: Some(exception),
        });
    }
    let declared = matches!(hook.entry.kind, Kind::Command | Kind::Tool);
    let file = hook.entry.settings_file().filter(|_| !declared && manager.hook(&ruling.by).is_some())?;
    let named = hook.report.as_ref().and_then(|it| it.metadata.get(SETTINGS_TO_PASS)?.as_object());
    let others = hook.settings.keys().filter(|name| named.is_some_and(|it| !it.contains_key(*name)));
    let others = others.cloned().collect();
    let settings = named.and_then(|settings| {
        let rows: Option<Vec<String>> =
            settings.iter().map(|(name, value)| Some(format!("{} = {}", key(name)?, toml(value)?))).collect();
        rows.filter(|rows| !rows.is_empty()).map(|rows| text::escape_toml(&rows.join(", ")))
    });
    Some(WayThrough { hook: ruling.by.clone(), file, settings, others, exception: None })
}

/// Returns a name that is a key of TOML as it stands.
fn key(name: &str) -> Option<&str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    (!name.is_empty() && name.chars().all(is_plain)).then_some(name)
}

/// Writes texts, numbers and lists of them as TOML, which has them in JSON's form.
fn toml(value: &Value) -> Option<String> {
    match value {
        Value::Null | Value::Object(_) => None,
        Value::Array(values) => {
            let values: Option<Vec<String>> = values.iter().map(toml).collect();
            values.map(|values| format!("[{}]", values.join(", ")))
        }
        Value::Bool(_) | Value::Number(_) | Value::String(_) => Some(value.to_string()),
    }
}
