//! Stops code that nobody has read: pipes from the net into a shell, unknown registries, and hook files.
//!
//! See the README for what it stops in each preset.

mod net;
mod packages;
mod writes;

use hookbox_judge::{Preset, allows};
use hookbox_sdk::prelude::*;
use hookbox_shell::{Known, runs};

/// The hook.
pub struct SupplyChain;

/// The schema of the settings, which hookbox checks before the hook runs.
const SCHEMA: &str = include_str!("../settings.schema.json");

/// The user's settings. A misspelled one is an error, because a guard must not do less than its user asked for.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Settings {
    /// The strictness.
    preset: Preset,
    /// Further hosts of packages that are trusted.
    hosts: Vec<String>,
    /// Command lines that pass.
    allow: Vec<String>,
}

/// The reason to stop a line.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    /// The loosest preset that stops it.
    from: Preset,
    /// The danger, in sentences: the deed, and its effect.
    what: &'static str,
    /// A command that does no harm.
    safer: &'static str,
}

impl Settings {
    fn objection(&self, line: &str) -> Option<Finding> {
        if self.allow.iter().any(|allowed| allows(allowed, line)) {
            return None;
        }
        let reading = runs(line, &Known::default());
        let mut found = net::judge(&reading, line).into_iter();
        let each = reading.runs.iter().enumerate().flat_map(|(at, run)| {
            [packages::judge(run, &self.hosts), writes::judge(&reading, at, run)].into_iter().flatten()
        });
        let exported = packages::exported(&reading, &self.hosts);
        found.by_ref().chain(exported).chain(each).find(|it| self.stops(it))
    }

    fn stops(&self, finding: &Finding) -> bool {
        self.preset >= finding.from
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
        let found = written.filter(|it| settings.stops(it));
        let found = found.or_else(|| call.command_lines().iter().find_map(|line| settings.objection(line)));
        Ok(found.map_or_else(Answer::pass, |Finding { what, safer, .. }| {
            Answer::block(format!("{what} Safer: `{safer}`, or ask the user.")).metadata("safer", safer)
        }))
    }
}

hookbox_sdk::export_hook!(SupplyChain, settings: SCHEMA);

#[cfg(test)]
mod tests;
