//! `hookbox run`.

use std::process::ExitCode;
use std::time::Duration;

use crate::interrupt::unless_interrupted;
use clap::{Args, ValueEnum};
use hookbox::dialect::Dialect;
use hookbox::dialect::exact::{self, Exact};
use hookbox::manager::{Manager, SwitchedOff};
use hookbox::outcome::Warning;
use hookbox::report::Report;
use hookbox::session::{Fired, Session};
use hookbox::{Context, Event, EventData, EventName};
use hookbox_agents::bridge::above;
use hookbox_system::text;
use serde_json::{Map, Value, json};

use crate::error::{InputError, note, warn, warn_of_problems};
use crate::help::page;
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
    #[arg(long, value_name = "D", value_parser = options::duration)]
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
        let name = event_name(&self.event)?;
        self.discover.enter()?;
        let given = input::object_from_stdin()?;
        let defaults = context();
        let Given { mut event, warnings } = event(&name, given.object, &defaults).map_err(|error| {
            InputError::new(
                format!("standard input: {error}"),
                format!("see the data of {name} in {}", page("events.md")),
            )
        })?;
        exact::restore(&mut event, &given.text);
        let begins = event.name() == EventName::SessionStart;
        let manager = unless_interrupted(self.discover.running(self.timeout, begins)).await??;
        warn_of_problems(&manager);
        // A user who gave the flag needs no note.
        if let Some(why) = manager.switched_off().filter(|why| *why != SwitchedOff::Asked) {
            warn(why);
        }
        let session = session(&manager, &event, &defaults);
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
        tell(&fired);
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

/// Reads an event's name in either spelling, or in that of Claude Code.
pub(crate) fn event_name(name: &str) -> Result<EventName, InputError> {
    let own = match name {
        "Stop" | "SubagentStop" => "agent_stop",
        "UserPromptSubmit" => "user_message_send",
        other => other,
    };
    own.parse().map_err(|unknown: hookbox::event::UnknownEvent| {
        InputError::new(
            format!("expected the name of an event, found \"{}\"", text::escape(&unknown.name, 80)),
            format!("did you mean {}?", unknown.nearest),
        )
    })
}

/// Returns the context of an event that does not name its conversation or directory. The id distinguishes runs
/// in a log.
pub(crate) fn context() -> Context {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let id = format!("run-{:x}-{:x}", now.as_nanos(), std::process::id());
    // A guard runs also if somebody removed the working directory, which is a problem of the manager's.
    let cwd = std::env::current_dir().unwrap_or_default().to_string_lossy().into_owned();
    Context::new(id, cwd)
}

/// Returns the session of an event, which has no name if the event does not name it.
pub(crate) fn session(manager: &Manager, event: &Event, defaults: &Context) -> Session {
    let id = &event.context.conversation_id;
    let session = manager.session(id.clone());
    if *id == defaults.conversation_id { session.unnamed() } else { session }
}

/// An event that a caller gave, and the warnings about its data.
pub(crate) struct Given {
    pub(crate) event: Event,
    pub(crate) warnings: Vec<String>,
}

/// Reads an event's data: kodelet's fields, or Base Coat's envelope. A field that the event does not have is a warning.
///
/// # Errors
///
/// Data that cannot be read, without the tool, its input or the message that the event is about, or with a field that is
/// nearly one of the event's: a misspelt name would hide the tool or its input from every guard.
pub(crate) fn event(name: &EventName, data: Map<String, Value>, defaults: &Context) -> Result<Given, String> {
    let decoded = Dialect::of(name, &data).decode(name, data, defaults).map_err(|error| error.to_string())?;
    for field in &decoded.unknown {
        if let Some(meant) = meant(field) {
            return Err(format!(
                "{name} has no field {:?}: did you mean {meant:?}?",
                text::escape(field, 80)
            ));
        }
    }
    let missing = match &decoded.event.data {
        EventData::BeforeToolCall(call) if call.name.is_empty() => Some("tool_name"),
        EventData::AfterToolCall(result) if result.call.name.is_empty() => Some("tool_name"),
        EventData::BeforeToolCall(call) if call.input.value().is_null() => Some("tool_input"),
        EventData::UserMessageSend { message: None } => Some("message"),
        _ => None,
    };
    if let Some(field) = missing {
        return Err(format!("{field}: expected it in the data of {name}, found none"));
    }
    let unknown = |field: &String| format!("{name} has no field {:?}: ignored", text::escape(field, 80));
    Ok(Given { warnings: decoded.unknown.iter().map(unknown).collect(), event: decoded.event })
}

/// The fields of a tool call, and the other words for them.
const FIELDS: [(&str, &[&str]); 3] = [
    ("tool_name", &["tool", "name"]),
    ("tool_input", &["input", "arguments", "args", "parameters", "params"]),
    ("tool_output", &["output", "result", "tool_response"]),
];

/// Returns the field that was probably meant.
fn meant(field: &str) -> Option<&'static str> {
    let plain = |name: &str| name.replace(['_', '-'], "").to_ascii_lowercase();
    let given = plain(text::prefix(field, 64));
    let is_meant = |name: &str| {
        let known = plain(name);
        known == given || known.len() > 5 && text::distance(&known, &given) <= 2
    };
    let of = |(name, words): &(&'static str, &[&str])| {
        // A field of another event is one that is not misspelt.
        (field != *name && is_meant(name) || words.contains(&given.as_str())).then_some(*name)
    };
    FIELDS.iter().find_map(of).or_else(|| (field != "message" && is_meant("message")).then_some("message"))
}

/// Prints what is not in the verdict: failures, and the text of hooks that the model must not see.
pub(crate) fn tell(fired: &Fired) {
    for warning in &fired.verdict.warnings {
        warn(text::escape(&warning.shown(), 4_000));
    }
    let rulings = fired.verdict.block.iter().chain(&fired.verdict.ask);
    for ruling in rulings.filter(|ruling| !ruling.trusted && !ruling.for_user().is_empty()) {
        warn(format_args!("{} (not trusted) says: {}", ruling.by, ruling.for_user()));
    }
}

/// Returns the verdict with the report of each hook, in a documented form.
fn with_report(verdict: Value, report: &Report, event: &Event) -> Value {
    let facts = event.call_facts().map(|it| it.to_json());
    let head = json!({ "verdict": verdict, "event": report.event, "facts": facts });
    output::joined(head, report.to_json())
}
