//! `hookbox explain`.

mod way_through;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use hookbox::internal::dialect::{Dialect, exact};
use hookbox::internal::discovery::show_duration;
use hookbox::internal::text;
use hookbox::manager::SwitchedOff;
use hookbox::outcome::Ruling;
use hookbox::session::{Asked, ExplainedHook, Explanation};
use hookbox::{Event, EventData, EventName, Kind, ToolCall, escape};
use indicatif::HumanBytes;
use serde_json::{Value, json};

use self::way_through::{MatchedRule, WayThrough, matched_rules, way_through};
use super::run;
use crate::error::{InputError, warn, warn_with_hint};
use crate::interrupt::unless_interrupted;
use crate::{input, options, output};

/// Explain which hooks an event or a shell command meets, and what they answer.
///
/// The hooks run, with all that they do beside their answer.
#[derive(Args, Debug)]
pub(crate) struct Explain {
    /// A shell command, such as 'git push --force', or an event, such as before_tool_call.
    #[arg(value_name = "COMMAND|EVENT")]
    what: String,
    /// The file with the data of the event, one JSON object [default: standard input].
    file: Option<PathBuf>,
    /// Print JSON: an object.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    discover: options::Discover,
}

impl Explain {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        let file = self.file.as_deref().filter(|it| it.as_os_str() != "-");
        let file = file.map(std::path::absolute).transpose()?;
        self.discover.enter()?;
        let event = event(&self.what, file.as_deref(), self.file.is_some())?;
        let begins = event.name() == EventName::SessionStart;
        let manager = unless_interrupted(self.discover.running(None, begins)).await??;
        for problem in manager.problems().iter() {
            warn_with_hint(problem, problem.hint.as_ref());
        }
        if let Some(why) = manager.switched_off().filter(|why| *why != SwitchedOff::Asked) {
            warn(why);
        }
        let session = manager.session(event.context.conversation_id.clone());
        let explanation = unless_interrupted(session.explain(event)).await?;
        let pass = way_through(&explanation, &manager);
        if self.json {
            return output::json(&as_json(&explanation, pass.as_ref()));
        }
        output::line(&account(&explanation, pass.as_ref()))
    }
}

/// Reads the event: by its name, with data from the file or standard input, or as the call of a shell.
fn event(what: &str, file: Option<&Path>, has_data: bool) -> Result<Event, InputError> {
    let context = run::context();
    let name = match run::event_name(what) {
        Ok(name) => name,
        // A command has more than one word, or another name than an event.
        Err(error) if has_data || is_misspelt(what) => return Err(error),
        Err(_) => {
            let call = ToolCall::new("bash", json!({ "command": what }));
            return Ok(Event { context: context.into(), data: EventData::BeforeToolCall(call) });
        }
    };
    let given = match file {
        Some(path) => input::object_from_file(path),
        None => input::object_from_stdin(),
    }?;
    let mut event = run::event(&name, given.object, &context)
        .map_err(|error| InputError::new(error.to_string(), "see the data of the event in events.md"))?;
    exact::restore(&mut event, &given.text);
    Ok(event)
}

/// Returns true for one word that is nearly the name of an event.
fn is_misspelt(word: &str) -> bool {
    let unknown = word.parse::<EventName>().err();
    unknown.is_some_and(|it| word.len() > 8 && text::distance(word, it.nearest) <= 3)
}

/// Returns the word and the reason for a hook that was not asked.
fn why_not(hook: &ExplainedHook, explanation: &Explanation) -> Option<(&'static str, String)> {
    let fired = &explanation.fired;
    Some(match &hook.asked {
        Asked::Yes => return None,
        Asked::PassedOver(reason) => {
            let rule = hook.condition.as_ref().or(hook.matcher.as_ref());
            let rule = rule.map(|it| format!(": {}", escape(it, 200))).unwrap_or_default();
            ("passed_over", format!("{reason}{rule}"))
        }
        Asked::AfterBlock => {
            let by = fired.verdict.block.as_ref().map_or("another hook", |ruling| ruling.by.as_str());
            ("after_block", format!("{} had blocked before its turn", escape(by, 200)))
        }
        Asked::Untrusted => {
            ("untrusted", problem(hook, "a repository brought it, and you have not trusted it"))
        }
        Asked::OtherEvent if hook.entry.events.is_empty() => ("other_event", "it is for no event".to_owned()),
        Asked::OtherEvent => {
            let events: Vec<&str> = hook.entry.events.iter().map(EventName::as_str).collect();
            ("other_event", format!("it is for {}", escape(&events.join(", "), 400)))
        }
        Asked::OtherTools(tools) => {
            let tool = fired.event.tool_call().map_or("another tool", |call| call.name.as_str());
            let tools = escape(&tools.join(", "), 400);
            ("other_tools", format!("it is for {tools}, and the tool is {}", escape(tool, 100)))
        }
        Asked::Disabled => {
            let file = hook.entry.settings_file();
            let at = file.map(|file| format!(" in {}", place(&file, hook.settings_line, None)));
            ("disabled", format!("switched off{}", at.unwrap_or_default()))
        }
        Asked::Shadowed(by) => {
            let by = by.as_ref().map(|by| format!(": {}", escape(&by.to_string_lossy(), 4096)));
            ("shadowed", format!("another hook of its name runs in its place{}", by.unwrap_or_default()))
        }
        Asked::Invalid => ("invalid", problem(hook, "it cannot be used")),
        _ => ("other", "it does not run".to_owned()),
    })
}

fn problem(hook: &ExplainedHook, otherwise: &str) -> String {
    hook.entry.problem.as_ref().map_or_else(|| otherwise.to_owned(), |it| escape(it, 2_000))
}

/// Returns a place in a file, for a person.
fn place(file: &Path, line: Option<usize>, spot: Option<&str>) -> String {
    let mut place = escape(&file.to_string_lossy(), 4096);
    match (line, spot) {
        (Some(line), _) => place.push_str(&format!(", line {line}")),
        (None, Some(spot)) => place.push_str(&format!(", {spot}")),
        (None, None) => {}
    }
    place
}

/// The account for a person, to be read from top to bottom.
fn account(explanation: &Explanation, pass: Option<&WayThrough>) -> String {
    let event = &explanation.fired.event;
    let mut text = event.name().to_string();
    if let Some(call) = event.tool_call() {
        let _ = write!(text, ", tool {} ({})", escape(&call.name, 100), call.facts.kind.as_str());
        if let Some(command) = &call.facts.command {
            let _ = write!(text, "\n  command   {}", escape(command, 1_000));
        }
        for path in &call.facts.paths {
            let _ = write!(text, "\n  path      {}", escape(&path.path, 1_000));
        }
    }
    let (asked, others): (Vec<_>, Vec<_>) = explanation.hooks.iter().partition(|it| it.report.is_some());
    for (number, hook) in (1..).zip(asked) {
        let _ = write!(text, "\n\n{number}. {}", turn(hook, explanation));
    }
    if !others.is_empty() {
        text.push_str("\n\nNot for this event:");
        for hook in others {
            let why = why_not(hook, explanation).map(|(_, why)| why).unwrap_or_default();
            let _ = write!(text, "\n  {}: {why}", escape(&hook.entry.name, 200));
        }
    }
    let _ = write!(text, "\n\n{}", decision(explanation));
    if let Some(pass) = pass {
        let _ = write!(text, "\n{}", pass.lines());
    }
    text
}

/// Describes the turn of a hook.
fn turn(hook: &ExplainedHook, explanation: &Explanation) -> String {
    let entry = &hook.entry;
    let mut text = format!("{}: ", escape(&entry.name, 200));
    let report = hook.report.as_ref();
    match (why_not(hook, explanation), report) {
        (Some((_, why)), _) => text.push_str(&format!("not asked: {why}")),
        (None, Some(report)) => text.push_str(report.status.as_str()),
        (None, None) => {}
    }
    let mut line = |label: &str, value: &str| {
        let _ = write!(text, "\n  {label:<9} {value}");
    };
    if let Some(report) = report {
        let message = report.message.as_ref().filter(|_| hook.asked == Asked::Yes);
        message.into_iter().for_each(|message| line("answer", message));
        for MatchedRule { name, line: at, on, .. } in matched_rules(hook) {
            line("rule", &format!("{name}, line {at}, on: {on}"));
        }
        for change in &report.changes {
            let value = |it: &Value| escape(&it.to_string(), 200);
            line(
                "changed",
                &format!("{}: {} to {}", change.what, value(&change.before), value(&change.after)),
            );
        }
        for denial in &report.denied {
            line("denied", &format!("{}; {}", escape(&denial.right, 200), escape(&denial.fix, 400)));
        }
        for logged in report.log.lines().take(20) {
            line("log", logged);
        }
    }
    let trusted = if entry.trusted { "" } else { ", not trusted" };
    let kind = format!("{}, {}{trusted}", entry.kind.as_str(), entry.tier.as_str());
    match &entry.path {
        Some(path) => line("from", &format!("{} ({kind})", place(path, None, hook.declared_at.as_deref()))),
        None if entry.kind == Kind::Builtin => line("from", "hookbox itself"),
        None => line("from", &kind),
    }
    if let Some(subscription) = &hook.subscription {
        let mut when = format!("{}, priority {}", subscription.event, subscription.priority);
        if !subscription.tools.is_empty() {
            let _ = write!(when, ", only for {}", escape(&subscription.tools.join(", "), 400));
        }
        if subscription.observe {
            when.push_str(", observing");
        }
        line("runs at", &when);
    }
    if let Some(budget) = &hook.budget {
        let mut limits = show_duration(budget.wall);
        if entry.kind == Kind::Component {
            let _ = write!(limits, ", {}, {} fuel", HumanBytes(budget.memory), budget.fuel);
        }
        let _ = write!(limits, "; on failure: {}", entry.on_failure.as_str());
        line("limits", &limits);
    }
    if let Some(report) = report.filter(|_| hook.asked == Asked::Yes) {
        let mut used = format!("{:.1} ms", report.duration.as_secs_f64() * 1e3);
        if let Some(memory) = report.memory_peak {
            let _ = write!(used, ", {}", HumanBytes(memory));
        }
        if let Some(fuel) = report.fuel {
            let _ = write!(used, ", {fuel} fuel");
        }
        line("used", &used);
    }
    let list = |rights: &[hookbox::capability::Capability]| {
        let rights: Vec<String> = rights.iter().map(|it| escape(&it.to_string(), 200)).collect();
        rights.join(", ")
    };
    if !hook.rights.is_empty() {
        line("rights", &list(&hook.rights));
    }
    if !entry.lacks.is_empty() {
        line("lacks", &list(&entry.lacks));
    }
    if !hook.settings.is_empty() {
        let rows: Vec<String> =
            hook.settings.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        let file = entry.settings_file().unwrap_or_default();
        let from = place(&file, hook.settings_line, None);
        line("settings", &format!("{} ({from})", escape(&rows.join(", "), 2_000)));
    }
    text
}

/// Describes the verdict.
fn decision(explanation: &Explanation) -> String {
    let verdict = &explanation.fired.verdict;
    let said = |ruling: &Ruling| {
        let reason = ruling.for_user();
        let reason = if reason.is_empty() { String::new() } else { format!(": {}", escape(reason, 2_000)) };
        format!("{}{reason}", escape(&ruling.by, 200))
    };
    match (&verdict.block, &verdict.ask) {
        (Some(ruling), _) => format!("Blocked by {}", said(ruling)),
        (None, Some(ruling)) => format!("The user is asked by {}", said(ruling)),
        (None, None) if verdict.modified => "Passes, changed.".to_owned(),
        (None, None) => "Passes.".to_owned(),
    }
}

fn as_json(explanation: &Explanation, pass: Option<&WayThrough>) -> Value {
    let fired = &explanation.fired;
    let hooks: Vec<Value> = explanation
        .hooks
        .iter()
        .map(|hook| {
            let mut row = json!(hook.entry);
            let why = why_not(hook, explanation);
            let subscription = hook.subscription.as_ref();
            let more = json!({
                "asked": hook.asked == Asked::Yes,
                "why": why.as_ref().map(|(word, _)| word),
                "explanation": why.as_ref().map(|(_, text)| text),
                "declared_at": hook.declared_at,
                "matcher": hook.matcher,
                "if": hook.condition,
                "subscription": subscription,
                "limits": hook.budget.as_ref().map(|it| json!({
                    "wall_ms": u64::try_from(it.wall.as_millis()).unwrap_or(u64::MAX),
                    "fuel": (hook.entry.kind == Kind::Component).then_some(it.fuel),
                    "memory": (hook.entry.kind == Kind::Component).then_some(it.memory),
                })),
                "rights": hook.rights,
                "settings": hook.settings,
                "settings_file": hook.entry.settings_file().map(|it| it.to_string_lossy().into_owned()),
                "settings_line": hook.settings_line,
                "report": hook.report.as_ref().map(run::hook),
            });
            if let (Value::Object(row), Value::Object(more)) = (&mut row, more) {
                row.extend(more);
            }
            row
        })
        .collect();
    let call = fired.event.tool_call();
    json!({
        "event": fired.event.name(),
        "tool": call.map(|it| &it.name),
        "tool_kind": call.map(|it| it.facts.kind.as_str()),
        "command": call.and_then(|it| it.facts.command.as_ref()),
        "verdict": Dialect::Kodelet.verdict(&fired.verdict, &fired.event),
        "hooks": hooks,
        "to_pass": pass.map(WayThrough::json),
    })
}
