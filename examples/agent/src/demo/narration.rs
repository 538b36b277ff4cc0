//! The readable narration of an agent and its hooks.

use std::cell::RefCell;
use std::collections::HashSet;
use std::io::Write as _;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use hookbox::escape;
use hookbox::manager::Manager;
use hookbox::report::HookReport;
use hookbox::{Kind, Report, Status};
use hookbox_agent::Step;

/// Writes a line of the narration; a reader that went away (`| head`) ends nothing.
macro_rules! say {
    ($($line:tt)*) => {{
        let _ = writeln!(anstream::stdout(), $($line)*);
    }};
}

const EVENT: Style = AnsiColor::Cyan.on_default().bold();
const AGENT: Style = AnsiColor::Green.on_default().bold();
pub(super) const GOOD: Style = AnsiColor::Green.on_default();
pub(super) const BAD: Style = AnsiColor::Red.on_default();
pub(super) const QUIET: Style = Style::new().dimmed();

/// The readable narration: the effect and time of each event and each hook, and what the agent did
/// differently because of it.
#[derive(Default)]
pub(super) struct Narration {
    components: Vec<Duration>,
    processes: Vec<Duration>,
    /// The lines so far: a hook that is not trusted is reported in every event, but narrated once.
    narrated: HashSet<String>,
}

impl Narration {
    pub(super) fn shared() -> Rc<RefCell<Self>> {
        Rc::default()
    }

    /// Adds the steps of an agent to the narration.
    pub(super) fn watch(narration: &Rc<RefCell<Self>>) -> impl FnMut(Step<'_>) + 'static {
        let narration = Rc::clone(narration);
        move |step| narration.borrow_mut().step(&step)
    }

    pub(super) fn begin(&self, manager: &Manager, work: &Path) {
        say!("An agent works in {}, with these hooks:\n", work.display());
        for entry in manager.entries().iter() {
            let status = entry.status.as_str();
            say!("  {:<24} {:<10} {:<7} {status}", entry.name, entry.kind.as_str(), entry.tier.as_str());
        }
        for hook in manager.hooks().iter().map(|hook| hook.descriptor()).filter(|it| it.kind == Kind::Code) {
            say!("  {:<24} {:<10} {:<7} active", hook.name, "code", "code");
        }
        say!("");
    }

    pub(super) fn step(&mut self, step: &Step<'_>) {
        match step {
            Step::Said(text) => say!("\n{AGENT}model{AGENT:#} {}", escape(text, 300)),
            Step::Wants(name, input) => {
                say!("{AGENT}wants{AGENT:#} {name} {}", escape(input.text(), 200));
            }
            Step::Ran(name, output) => {
                say!("{AGENT}ran{AGENT:#}   {name}: {}", escape(output.trim(), 100));
            }
            Step::Event(report) => self.event(report),
            Step::Warning(text) => {
                if self.narrated.insert((*text).to_owned()) {
                    say!("    {QUIET}warning: {}{QUIET:#}", escape(text, 300));
                }
            }
            Step::Code(code) => say!("    {QUIET}only the user sees: hookbox allow {code}{QUIET:#}"),
            Step::Because(what) => say!("    {GOOD}→ {}{GOOD:#}", escape(what, 300)),
        }
    }

    fn event(&mut self, report: &Report) {
        say!("  {EVENT}{}{EVENT:#} {QUIET}{}{QUIET:#}", report.event, time(report.duration));
        for hook in &report.hooks {
            self.hook(hook);
        }
        for failure in &report.on_error {
            self.event(&failure.report);
        }
    }

    fn hook(&mut self, hook: &HookReport) {
        if hook.status == Status::Untrusted && !self.narrated.insert(hook.name.clone()) {
            return;
        }
        match (hook.status, hook.kind) {
            (Status::Untrusted | Status::Skipped, _) => {}
            (_, Kind::Component) => self.components.push(hook.duration),
            (_, Kind::Native) => self.processes.push(hook.duration),
            _ => {}
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
        let kind = hook.kind.as_str();
        let status = hook.status.as_str();
        let took = time(hook.duration);
        say!("    {:<24} {kind:<10} {style}{status:<9}{style:#} {took:>9}{QUIET}{cost}{QUIET:#}", hook.name);
        for line in hook.log.lines().take(3) {
            say!("      {QUIET}log: {line}{QUIET:#}");
        }
    }

    pub(super) fn end(&self) {
        say!("\n{} calls into components, median {};", self.components.len(), median(&self.components));
        say!(
            "{} processes started for native hooks, median {}.",
            self.processes.len(),
            median(&self.processes)
        );
        say!("A debug build spends longer on its own side of a call: `cargo bench` has the comparison.");
    }
}

fn median(times: &[Duration]) -> String {
    let mut times = times.to_vec();
    times.sort();
    times.get(times.len() / 2).map_or_else(|| "-".to_owned(), |duration| time(*duration))
}

fn time(duration: Duration) -> String {
    match duration.as_micros() {
        micros @ 0..10_000 => format!("{micros} µs"),
        micros => format!("{} ms", micros / 1000),
    }
}

/// Writes a line of the narration.
pub(super) fn line(text: &str) {
    say!("{text}");
}

/// Writes the result of a step.
pub(super) fn verdict(good: bool, what: &str, bad: &str) {
    if good {
        line(&format!("  {GOOD}ok{GOOD:#}      {what}"));
    } else {
        line(&format!("  {BAD}{bad:<7}{BAD:#} {what}"));
    }
}
