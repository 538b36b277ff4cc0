//! The readable narration of a session: each event with its hooks, and what the agent did differently because of them.

use std::collections::HashSet;
use std::io::Write as _;
use std::path::Path;

use anstyle::{AnsiColor, Style};
use hookbox::manager::Manager;
use hookbox::{Report, Status, escape};
use hookbox_agent::Step;

/// Writes a line of the narration; a reader that went away (`| head`) ends nothing.
macro_rules! say {
    ($($line:tt)*) => {{
        let _ = writeln!(anstream::stdout(), $($line)*);
    }};
}

const EVENT: Style = AnsiColor::Cyan.on_default().bold();
const AGENT: Style = AnsiColor::Green.on_default().bold();
const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Red.on_default();
const QUIET: Style = Style::new().dimmed();

/// The narrator. It knows the warnings and untrusted hooks so far: they are in the report of every event, but told once.
pub(crate) struct Narration(HashSet<String>);

impl Narration {
    /// Begins with the hooks.
    pub(crate) fn begin(manager: &Manager, work: &Path) -> Self {
        say!("\nAn agent works in {}, with these hooks:\n", work.display());
        for entry in manager.entries().iter() {
            let (kind, tier, status) = (entry.kind.as_str(), entry.tier.as_str(), entry.status.as_str());
            say!("  {:<24} {kind:<10} {tier:<7} {status}", entry.name);
        }
        Self(HashSet::new())
    }

    pub(crate) fn step(&mut self, step: &Step<'_>) {
        match step {
            Step::Said(text) => say!("\n{AGENT}model{AGENT:#} {}", escape(text, 300)),
            Step::Wants(name, input) => say!("{AGENT}wants{AGENT:#} {name} {}", escape(input.text(), 200)),
            Step::Ran(name, output) => say!("{AGENT}ran{AGENT:#}   {name}: {}", escape(output.trim(), 100)),
            Step::Event(report) => self.event(report),
            Step::Warning(text) => {
                if self.0.insert((*text).to_owned()) {
                    say!("    {QUIET}warning: {}{QUIET:#}", escape(text, 300));
                }
            }
            Step::Code(code) => say!("    {QUIET}only the user sees: hookbox allow {code}{QUIET:#}"),
            Step::Because(what) => say!("    {GOOD}→ {}{GOOD:#}", escape(what, 300)),
            Step::Conversation(_) => {}
        }
    }

    fn event(&mut self, report: &Report) {
        say!("  {EVENT}{}{EVENT:#} {QUIET}{:.1?}{QUIET:#}", report.event, report.duration);
        for hook in &report.hooks {
            if hook.status == Status::Untrusted && !self.0.insert(hook.name.clone()) {
                continue;
            }
            let style = match hook.status {
                Status::Blocked | Status::Failed | Status::Untrusted => BAD,
                Status::Changed | Status::Asked => GOOD,
                _ => QUIET,
            };
            let cost = match (hook.fuel, hook.memory_peak) {
                (Some(fuel), Some(memory)) => format!("  fuel {fuel}, {} KiB", memory / 1024),
                _ => String::new(),
            };
            let (kind, status) = (hook.kind.as_str(), hook.status.as_str());
            let took = format!("{:.1?}", hook.duration);
            say!(
                "    {:<24} {kind:<10} {style}{status:<9}{style:#} {took:>9}{QUIET}{cost}{QUIET:#}",
                hook.name
            );
            for line in hook.log.lines().take(3) {
                say!("      {QUIET}log: {line}{QUIET:#}");
            }
        }
        for failure in &report.on_error {
            self.event(&failure.report);
        }
    }
}
