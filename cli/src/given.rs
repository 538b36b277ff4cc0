//! The event that a caller gives: its name, its data and its session.

use std::time::Duration;

use hookbox::dialect::Dialect;
use hookbox::manager::{Manager, Problem, SwitchedOff};
use hookbox::session::{Fired, Session};
use hookbox::{Context, Event, EventData, EventName};
use hookbox_system::text;
use serde_json::{Map, Value};

use crate::error::{InputError, warn, warn_of_problems};
use crate::help::page;
use crate::interrupt::unless_interrupted;
use crate::options;

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
            meant_event(unknown.nearest),
        )
    })
}

/// Returns the hint after a name that is not an event's.
pub(crate) fn meant_event(nearest: Option<&str>) -> String {
    text::did_you_mean(nearest).unwrap_or_else(|| format!("the events are in {}", page("events.md")))
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

/// Finds the hooks for an event, and returns them with its session, which has no name if the event does not name it.
pub(crate) async fn session(
    discover: &options::Discover,
    timeout: Option<Duration>,
    event: &Event,
    defaults: &Context,
) -> anyhow::Result<(Manager, Session)> {
    let begins = event.name() == EventName::SessionStart;
    let manager = unless_interrupted(discover.running(timeout, begins)).await??;
    warn_of_problems(&manager);
    // A user who gave the flag needs no note.
    if let Some(why) = manager.switched_off().filter(|why| *why != SwitchedOff::Asked) {
        warn(why);
    }
    let id = &event.context.conversation_id;
    let session = manager.session(id.clone());
    let session = if *id == defaults.conversation_id { session.unnamed() } else { session };
    Ok((manager, session))
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
                "{name} has no field {:?}{}",
                text::escape(field, 80),
                text::or_meant(Some(meant))
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

/// Prints what is not in the verdict: failures, and the text of hooks that the model must not see. The problems of finding
/// hooks were printed before.
pub(crate) fn tell(fired: &Fired, problems: &[Problem]) {
    for warning in fired.verdict.warnings.iter().filter(|warning| !problems.iter().any(|it| it.says(warning)))
    {
        warn(text::escape(&warning.shown(), 4_000));
    }
    let rulings = fired.verdict.block.iter().chain(&fired.verdict.ask);
    for ruling in rulings.filter(|ruling| !ruling.trusted && !ruling.for_user().is_empty()) {
        warn(format_args!("{} (not trusted) says: {}", ruling.by, ruling.for_user()));
    }
}
