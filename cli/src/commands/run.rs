//! `hookbox run`.

use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, ValueEnum};
use hookbox::Event;
use hookbox::dialect::Dialect;
use hookbox::dialect::exact::{self, Exact};
use hookbox::outcome::Warning;
use hookbox::report::Report;
use hookbox_agents::bridge::above;
use hookbox_system::units::parse_duration;
use serde_json::{Value, json};

use crate::error::{InputError, note};
use crate::given::{self, Given};
use crate::help::page;
use crate::interrupt::unless_interrupted;
use crate::{input, named, options, output};

/// The exit code of `--exit-code` for an event that must not simply go on.
const EXIT_HELD: u8 = 2;

/// Run one event through the hooks and print the verdict.
///
/// The event's data is one JSON object on standard input: kodelet's fields, or Base Coat's event envelope if
/// it has a `hook`. Absent `conv_id`, `cwd` and `invoked_by` are filled in. The verdict is one JSON object,
/// and the exit code is 0 also if a hook blocked, unless --exit-code is given.
#[derive(Args, Debug)]
pub(crate) struct Run {
    /// The event, such as before_tool_call or PreToolUse.
    #[arg(value_parser = named::event(), hide_possible_values = true)]
    event: String,
    /// The timeout of each hook, such as 500ms or 2s.
    #[arg(long, value_name = "D", value_parser = parse_duration)]
    timeout: Option<Duration>,
    /// The dialect of the printed verdict.
    #[arg(long, value_enum, default_value = "kodelet")]
    dialect: Printed,
    /// Print also what each hook did.
    #[arg(long)]
    report: bool,
    /// End with exit code 2 if a hook blocks or asks the user, as hooks of agents do.
    #[arg(long)]
    exit_code: bool,
    #[command(flatten)]
    discover: options::Discover,
}

/// The dialects that the verdict can be printed in.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Printed {
    Kodelet,
    BaseCoat,
}

impl From<Printed> for Dialect {
    fn from(printed: Printed) -> Self {
        match printed {
            Printed::Kodelet => Self::Kodelet,
            Printed::BaseCoat => Self::BaseCoat,
        }
    }
}

impl Run {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        let name = given::event_name(&self.event)?;
        self.discover.enter()?;
        let data = input::object_from_stdin()?;
        let defaults = given::context();
        let Given { mut event, warnings } = given::event(&name, data.object, &defaults).map_err(|error| {
            InputError::new(
                format!("standard input: {error}"),
                format!("see the data of {name} in {}", page("events.md")),
            )
        })?;
        exact::restore(&mut event, &data.text);
        let (manager, session) = given::session(&self.discover, self.timeout, &event, &defaults).await?;
        let mut decided = unless_interrupted(session.decide(event)).await?;
        // A request to end the process while failures are reported still gets the verdict.
        let _ = unless_interrupted(decided.follow_up()).await;
        let mut fired = decided.into_fired();
        fired.verdict.warnings.extend(warnings.into_iter().map(Warning::new));
        let verdict = Dialect::from(self.dialect).verdict(&fired.verdict, &fired.event);
        // The verdict comes first, because the caller needs it.
        let done = if self.report {
            output::json(&Exact {
                value: &with_report(verdict, &fired.report, &fired.event),
                event: &fired.event,
            })
        } else {
            output::json(&Exact { value: &verdict, event: &fired.event })
        };
        given::tell(&fired, &manager.problems());
        // A caller that gives this option, or is an agent, may give the model what is on standard error.
        let code = fired.verdict.block.as_ref().and_then(|block| block.code.as_deref());
        let data = || manager.trust_file().map(|file| file.directory().to_owned());
        if let Some(code) = code.filter(|_| !self.exit_code && above::agent(data().as_slice()).is_none()) {
            note(format_args!(
                "to let this call through once, run in your own terminal: hookbox allow {code}"
            ));
        }
        let holds = fired.verdict.block.is_some() || fired.verdict.ask.is_some();
        if self.exit_code && holds { done.map(|_| ExitCode::from(EXIT_HELD)) } else { done }
    }
}

/// Returns the verdict with the report of each hook, in a documented form.
fn with_report(verdict: Value, report: &Report, event: &Event) -> Value {
    let facts = event.call_facts().map(|it| it.to_json());
    let head = json!({ "verdict": verdict, "event": report.event, "facts": facts });
    output::joined(head, report.to_json())
}
