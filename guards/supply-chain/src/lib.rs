//! Stops code that nobody has read: pipes from the net into a shell, unknown registries, and hook files.
//!
//! See the README for what it stops in each preset.

mod net;
mod packages;
mod writes;

use hookbox_sdk::prelude::*;
use hookbox_shell::runs::{Known, runs};

/// The hook.
pub struct SupplyChain;

/// The schema of the settings, which hookbox checks before the hook runs.
const SCHEMA: &str = include_str!("../settings.schema.json");

/// How much the guard stops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
enum Preset {
    /// Code from the net that runs at once.
    Relaxed,
    /// Unknown registries and hook files as well.
    #[default]
    Standard,
    /// Edits of CI as well.
    Strict,
}

/// The user's settings. A misspelled one is an error, because a guard must not do less than its user asked for.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Settings {
    /// How much the guard stops.
    preset: Preset,
    /// Further hosts of packages that are trusted.
    hosts: Vec<String>,
    /// Command lines that pass, as a whole and to the letter.
    allow: Vec<String>,
}

/// The reason to stop a line.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    /// The loosest preset that stops it.
    from: Preset,
    /// What the line does, and why that is dangerous, as sentences.
    what: &'static str,
    /// A command that does no harm.
    safer: &'static str,
}

impl Settings {
    fn objection(&self, line: &str) -> Option<String> {
        if self.allow.iter().any(|allowed| allowed.trim() == line.trim()) {
            return None;
        }
        let reading = runs(line, &Known::default());
        let mut found = net::judge(&reading, line).into_iter();
        let each = reading.runs.iter().enumerate().flat_map(|(at, run)| {
            [packages::judge(run, &self.hosts), writes::judge(&reading, at, run)].into_iter().flatten()
        });
        let exported = packages::exported(line, &self.hosts);
        found.by_ref().chain(exported).chain(each).find_map(|it| self.reason(&it))
    }

    fn reason(&self, finding: &Finding) -> Option<String> {
        let Finding { from, what, safer } = finding;
        (self.preset >= *from).then(|| format!("{what} Safer: `{safer}`, or ask the user."))
    }
}

impl Hook for SupplyChain {
    fn manifest() -> Manifest {
        Manifest::new("supply-chain", env!("CARGO_PKG_VERSION"), env!("CARGO_PKG_DESCRIPTION"))
            .on(Event::BeforeToolCall)
            // Late, so that it judges what other hooks have made of the call.
            .priority(90)
            .on_failure_block()
    }

    fn before_tool_call(_cx: &Context, call: &ToolCall) -> Result<Answer, Error> {
        let settings: Settings = settings()?;
        let written = match call.kind {
            ToolKind::Write | ToolKind::Edit => call.paths.iter().find_map(|it| writes::of_path(&it.path)),
            _ => None,
        };
        let lines = match (&call.command, call.kind) {
            (Some(line), _) => vec![line.clone()],
            // Input in an unknown shape is checked text by text: odd input must not skip a guard.
            (None, ToolKind::Shell) => texts(&call.input),
            // An unknown tool, or one of an MCP server, may be a shell by another name.
            (None, ToolKind::Other | ToolKind::Mcp) => commands(&call.input),
            (None, _) => Vec::new(),
        };
        let reason = written.and_then(|it| settings.reason(&it));
        let reason = reason.or_else(|| lines.iter().find_map(|line| settings.objection(line)));
        Ok(reason.map_or_else(Answer::pass, Answer::block))
    }
}

/// Returns the command lines from the fields in which shells have them.
fn commands(input: &Document) -> Vec<String> {
    let text = |field: &str| input.get::<String>(field).ok().flatten();
    ["/command", "/cmd", "/script"].into_iter().filter_map(text).collect()
}

/// Returns every text in an input.
fn texts(input: &Document) -> Vec<String> {
    let Ok(value) = input.parse::<Value>() else { return vec![input.text()] };
    let (mut found, mut waiting) = (Vec::new(), vec![value]);
    while let Some(value) = waiting.pop() {
        match value {
            Value::String(text) => found.push(text),
            Value::Array(values) => waiting.extend(values),
            Value::Object(fields) => waiting.extend(fields.into_iter().map(|(_, value)| value)),
            _ => {}
        }
    }
    found
}

hookbox_sdk::export_hook!(SupplyChain, settings: SCHEMA);

#[cfg(test)]
mod tests;
