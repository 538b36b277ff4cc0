//! Keeps keys, tokens and credential stores out of the conversation, and off the net.
//!
//! See the README for what it stops in each preset.

mod code;
mod hides;
mod line;
mod pipeline;
mod places;
mod printers;
mod programs;

use hookbox_judge::{Denial, Preset, Settings};
use hookbox_sdk::prelude::*;

use line::{Finding, Risk};

/// The hook.
pub struct SecretsGuard;

/// The schema of the settings, which hookbox checks before the hook runs.
const SCHEMA: &str = include_str!("../settings.schema.json");

/// Returns true if a preset stops this.
fn stops(preset: Preset, risk: Risk) -> bool {
    match risk {
        Risk::Sends => true,
        Risk::Shows => preset != Preset::Relaxed,
        Risk::Touches => preset == Preset::Strict,
    }
}

/// Returns the reason to stop a use of a secret.
fn denial(settings: &Settings, finding: Option<Finding>) -> Option<Denial> {
    let Finding { risk, what, safer } = finding.filter(|it| stops(settings.preset, it.risk))?;
    let why = match risk {
        Risk::Sends => "A secret that leaves this machine must be replaced everywhere.",
        Risk::Shows => "What a tool prints goes to the model, and into its logs.",
        Risk::Touches => "The preset `strict` keeps every command away from files with secrets.",
    };
    Some(Denial::new(what, why, safer))
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
        let found = match (&call.command, call.kind) {
            (Some(line), _) if settings.allows(line) => None,
            (Some(line), _) => denial(&settings, line::judge(line)),
            (None, ToolKind::Read | ToolKind::Search) => denial(&settings, of_paths(call)),
            // A file tool, one with a shell line in an unknown shape, or one that may be a shell by another name.
            (None, kind) => {
                let may_run = matches!(kind, ToolKind::Other | ToolKind::Mcp);
                let lines = if may_run { call.command_lines() } else { Vec::new() };
                let run = lines.iter().find_map(|line| denial(&settings, line::judge(line)));
                run.or_else(|| {
                    texts(&call.input).iter().find_map(|text| denial(&settings, of_text(call, text)))
                })
            }
        };
        Ok(found.map_or_else(Answer::pass, |Denial { what, why, safer }| {
            Answer::block(format!("{what}. {why} Safer: `{safer}`, or ask the user."))
                .metadata("safer", safer)
        }))
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
