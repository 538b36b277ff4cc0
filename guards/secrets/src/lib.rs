//! Keeps keys, tokens and credential stores out of the conversation, and off the net.
//!
//! See the README for what it stops in each preset.

mod code;
mod line;
mod places;
mod printers;
mod programs;

use hookbox_sdk::prelude::*;

use line::{Finding, Risk};

/// The hook.
pub struct SecretsGuard;

/// The schema of the settings, which hookbox checks before the hook runs.
const SCHEMA: &str = include_str!("../settings.schema.json");

/// How much the guard stops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
enum Preset {
    /// Sending secrets, and writing them.
    Relaxed,
    /// Reading them as well.
    #[default]
    Standard,
    /// Any use of a file with secrets.
    Strict,
}

impl Preset {
    fn stops(self, risk: Risk) -> bool {
        match risk {
            Risk::Sends => true,
            Risk::Shows => self != Self::Relaxed,
            Risk::Touches => self == Self::Strict,
        }
    }
}

/// The user's settings. A misspelled one is an error, because a guard must not do less than its user asked for.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Settings {
    /// How much the guard stops.
    preset: Preset,
    /// Command lines that pass, as a whole and to the letter; `*` at the end stands for any rest of words.
    allow: Vec<String>,
}

impl Settings {
    fn allows(&self, line: &str) -> bool {
        let line = line.trim();
        self.allow.iter().any(|allowed| match allowed.trim().strip_suffix('*') {
            // A rest with an operator could be another command.
            Some(start) => line
                .strip_prefix(start)
                .is_some_and(|rest| !rest.contains(['|', '&', ';', '`', '$', '\n', '<', '>'])),
            None => allowed.trim() == line,
        })
    }

    fn reason(&self, finding: Option<Finding>) -> Option<String> {
        let Finding { risk, what, safer } = finding.filter(|it| self.preset.stops(it.risk))?;
        let why = match risk {
            Risk::Sends => "A secret that leaves this machine must be replaced everywhere.",
            Risk::Shows => "What a tool prints goes to the model, and into its logs.",
            Risk::Touches => "The preset `strict` keeps every command away from files with secrets.",
        };
        Some(format!("{what}. {why} Safer: `{safer}`, or ask the user."))
    }
}

impl Hook for SecretsGuard {
    fn manifest() -> Manifest {
        Manifest::new("secrets", env!("CARGO_PKG_VERSION"), env!("CARGO_PKG_DESCRIPTION"))
            .on(Event::BeforeToolCall)
            // Late, so that it judges what other hooks have made of the call.
            .priority(90)
            .on_failure_block()
    }

    fn before_tool_call(_cx: &Context, call: &ToolCall) -> Result<Answer, Error> {
        let settings: Settings = settings()?;
        let reason = match (&call.command, call.kind) {
            (Some(line), _) if settings.allows(line) => None,
            (Some(line), _) => settings.reason(line::judge(line)),
            (None, ToolKind::Read | ToolKind::Search) => settings.reason(of_paths(call)),
            // A file tool, one with a shell line in an unknown shape, or one that may be a shell by another name.
            (None, kind) => {
                let may_run = matches!(kind, ToolKind::Other | ToolKind::Mcp);
                let lines = if may_run { commands(&call.input) } else { Vec::new() };
                let run = lines.iter().find_map(|line| settings.reason(line::judge(line)));
                run.or_else(|| {
                    texts(&call.input).iter().find_map(|text| settings.reason(of_text(call, text)))
                })
            }
        };
        Ok(reason.map_or_else(Answer::pass, Answer::block))
    }
}

/// Judges the files that a tool reads.
fn of_paths(call: &ToolCall) -> Option<Finding> {
    let path = call.paths.iter().map(|it| it.path.as_str()).find(|path| places::is_secret_path(path))?;
    Some(line::shows_file(path))
}

/// Judges a text of a tool's input: what it writes, or a command of a tool that may be a shell.
fn of_text(call: &ToolCall, text: &str) -> Option<Finding> {
    if places::has_token(text) {
        return Some(line::writes_token());
    }
    if call.kind == ToolKind::Shell { line::judge(text) } else { None }
}

/// Returns the command lines from the fields in which shells have them.
fn commands(input: &Document) -> Vec<String> {
    let text = |field: &str| input.get::<String>(field).ok().flatten();
    ["/command", "/cmd", "/script"].into_iter().filter_map(text).collect()
}

/// Returns every text in an input, but those that an edit removes.
fn texts(input: &Document) -> Vec<String> {
    let Ok(value) = input.parse::<Value>() else { return vec![input.text()] };
    let (mut found, mut waiting) = (Vec::new(), vec![value]);
    while let Some(value) = waiting.pop() {
        match value {
            Value::String(text) => found.push(text),
            Value::Array(values) => waiting.extend(values),
            Value::Object(fields) => {
                let kept =
                    fields.into_iter().filter(|(key, _)| !matches!(key.as_str(), "old_string" | "old_str"));
                waiting.extend(kept.map(|(_, value)| value));
            }
            _ => {}
        }
    }
    found
}

hookbox_sdk::export_hook!(SecretsGuard, settings: SCHEMA);

#[cfg(test)]
mod tests;
