//! The narrowest change with which a blocked event would pass.

use std::env;
use std::path::PathBuf;
use std::process::ExitCode;

use hookbox::manager::Manager;
use hookbox::report::Status;
use hookbox::rules::{Exception, MAX_FILE, exception};
use hookbox::session::{ExplainedHook, Explanation, Session};
use hookbox::{Cause, Kind, escape};
use hookbox_system::{text, toml_value as toml};
use serde_json::{Map, Value, json};

use crate::account::place;
use crate::{input, output};

/// The metadata in which a hook that blocks names the settings that would let the event pass.
const SETTINGS_TO_PASS: &str = "settings_to_pass";

/// A way to let a blocked event pass.
pub(super) struct WayThrough {
    hook: String,
    /// The file in which the hook has its settings.
    file: PathBuf,
    /// The settings as TOML, or `None` if the hook names none and can only be switched off.
    settings: Option<String>,
    /// The line of its table in that file, if it has one.
    line: Option<usize>,
    /// The names of its other settings, which have to stay.
    others: Vec<String>,
    /// The exception for the rule that decided, with the rule's name, escaped, and its line.
    exception: Option<(String, usize, Exception)>,
}

impl WayThrough {
    /// Shows it. The lines to copy are not broken.
    pub(super) fn show(&self) -> anyhow::Result<ExitCode> {
        output::line("")?;
        for line in self.lines().lines() {
            if line.starts_with("  ") { output::line(line) } else { output::text(line) }?;
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Describes it for a person. The lines to copy begin with blanks.
    fn lines(&self) -> String {
        let name = text::escape_toml(&json!(self.hook).to_string());
        if let Some((rule, line, exception)) = &self.exception {
            let what = if exception.replaces { "replace the exceptions of" } else { "add to" };
            return format!(
                "To let this one pass, {what} the rule \"{rule}\" in {}:\n  {}",
                place(&self.file, Some(*line), None),
                text::escape_toml(&exception.row)
            );
        }
        let file = place(&self.file, self.line, None);
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
        let exception = self.exception.as_ref().map(|(rule, line, exception)| {
            let unless = text::escape_toml(&exception.unless);
            let row = text::escape_toml(&exception.row);
            json!({ "rule": rule, "line": line, "unless": unless, "row": row, "replaces": exception.replaces })
        });
        json!({
            "hook": self.hook,
            "file": self.file.to_string_lossy(),
            "settings": self.settings,
            "settings_line": self.line,
            "exception": exception,
        })
    }
}

/// A rule that matched the event.
pub(super) struct MatchedRule {
    /// Its name, escaped.
    pub(super) name: String,
    /// Its line in the file.
    pub(super) line: usize,
    /// The command, path or tool that it matched, escaped.
    pub(super) on: String,
    /// The status of a hook with its answer, if it blocks or asks.
    decides: Option<Status>,
    /// The condition that names what it matched and nothing else.
    unless: Option<Value>,
}

/// Returns the rules of a rules file that matched the event.
pub(super) fn matched_rules(hook: &ExplainedHook) -> Vec<MatchedRule> {
    let metadata = hook.report.as_ref().map(|report| &report.metadata);
    let rules =
        metadata.and_then(|it| it.get("rules")?.as_array()).filter(|_| hook.entry.kind == Kind::Rules);
    let read = |rule: &Value| {
        let text = |key: &str| rule.get(key).and_then(Value::as_str);
        Some(MatchedRule {
            name: escape(text("name")?, 200),
            line: usize::try_from(rule.get("line")?.as_u64()?).ok()?,
            on: escape(text("on")?, 200),
            decides: match text("answer") {
                Some("block") => Some(Status::Blocked),
                Some("ask") => Some(Status::Asked),
                _ => None,
            },
            unless: rule.get("exception").cloned(),
        })
    };
    rules.into_iter().flatten().filter_map(read).collect()
}

/// Returns the narrowest setting with which the hook that decided would let the event pass. It was tried. The words of a
/// hook that the user does not trust are no advice.
pub(super) async fn way_through(
    explanation: &Explanation,
    manager: &Manager,
    session: &Session,
) -> Option<WayThrough> {
    let verdict = &explanation.fired.verdict;
    let ruling = verdict.block.as_ref().or(verdict.ask.as_ref()).filter(|ruling| ruling.trusted)?;
    let status = if verdict.block.is_some() { Status::Blocked } else { Status::Asked };
    let is_it = |hook: &&ExplainedHook| {
        hook.report.as_ref().is_some_and(|it| it.status == status && it.trusted && it.name == ruling.by)
    };
    let hook = explanation.hooks.iter().find(is_it)?;
    // It will judge the event once it is compiled.
    if hook.report.as_ref().is_some_and(|it| it.cause == Some(Cause::Compiling)) {
        return None;
    }
    if let (Kind::Rules, Some(file)) = (hook.entry.kind, &hook.entry.path) {
        let rule = matched_rules(hook).into_iter().find(|rule| rule.decides == Some(status))?;
        input::regular_file(file).ok()?;
        let bytes = input::bounded_file(file, MAX_FILE).ok()?;
        let event = &explanation.fired.event;
        let exception = exception(&bytes, rule.line, &rule.unless?, event, env::home_dir())?;
        return Some(WayThrough {
            hook: ruling.by.clone(),
            file: file.clone(),
            settings: None,
            line: None,
            others: Vec::new(),
            exception: Some((rule.name, rule.line, exception)),
        });
    }
    let declared = hook.entry.kind.is_declared();
    let file = hook.entry.settings_file().filter(|_| !declared && manager.hook(&ruling.by).is_some())?;
    let named = hook.report.as_ref().and_then(|it| it.metadata.get(SETTINGS_TO_PASS)?.as_object());
    let others =
        hook.entry.found.settings.keys().filter(|name| named.is_some_and(|it| !it.contains_key(*name)));
    let others = others.cloned().collect();
    let settings = match named.filter(|it| !it.is_empty()) {
        Some(named) => Some(tried(named, hook, explanation, session).await?),
        None => None,
    };
    let (hook, line) = (ruling.by.clone(), hook.entry.found.settings_line);
    Some(WayThrough { hook, file, settings, line, others, exception: None })
}

/// Returns these settings as TOML, if the hook lets the event pass with them.
async fn tried(
    named: &Map<String, Value>,
    hook: &ExplainedHook,
    explanation: &Explanation,
    session: &Session,
) -> Option<String> {
    // The repository's value would win.
    if hook.entry.tightened.iter().any(|it| named.contains_key(&it.setting)) {
        return None;
    }
    let mut settings = hook.entry.found.settings.clone();
    for (name, value) in named {
        // A hook gets a value that is not a text as JSON.
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        settings.insert(name.clone(), value);
    }
    let table = toml::inline(&Value::Object(named.clone()))?;
    let rows = table.strip_prefix("{ ")?.strip_suffix(" }")?;
    session.would_pass(explanation, hook, &settings).await.then(|| text::escape_toml(rows))
}
