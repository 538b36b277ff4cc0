//! `hookbox explain`.

mod account;
mod way_through;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use hookbox::dialect::{Dialect, exact};
use hookbox::report::HookReport;
use hookbox::session::{Asked, ExplainedHook, Explanation};
use hookbox::{Context, Event, EventData, EventName, Kind, ToolCall, escape, shown_path};
use serde_json::{Value, json};

use self::account::account;
use self::way_through::{WayThrough, way_through};

use crate::account::place;
use crate::error::{InputError, warn};
use crate::interrupt::unless_interrupted;
use crate::{given, input, options, output};

/// Explain which hooks meet a command or an event, and their answers.
///
/// The hooks run, with all that they do beside their answer. --verbose describes every hook whole.
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
        let defaults = given::context();
        let event = event(&self.what, file.as_deref(), self.file.is_some(), &defaults)?;
        let (manager, session) = given::session(&self.discover, None, &event, &defaults).await?;
        let explanation = unless_interrupted(session.explain(event)).await?;
        let pass = unless_interrupted(way_through(&explanation, &manager, &session)).await?;
        if self.json {
            return output::json(&as_json(&explanation, pass.as_ref()));
        }
        output::text(&account(&explanation))?;
        pass.map_or(Ok(ExitCode::SUCCESS), |pass| pass.show())
    }
}

/// Reads the event: by its name, with data from the file or standard input, or as the call of a shell.
fn event(what: &str, file: Option<&Path>, has_data: bool, context: &Context) -> Result<Event, InputError> {
    let name = match given::event_name(what) {
        Ok(name) => name,
        // A command has more than one word, or another name than an event.
        Err(error) if is_misspelt(what) => return Err(error),
        Err(_) if has_data => {
            let what =
                format!("expected one argument for a command, found more behind \"{}\"", escape(what, 80));
            return Err(InputError::new(
                what,
                "put the command in quotes: hookbox explain 'git push --force'",
            ));
        }
        Err(_) => {
            let call = ToolCall::new("bash", json!({ "command": what }));
            return Ok(Event { context: context.clone().into(), data: EventData::BeforeToolCall(call) });
        }
    };
    let data = match file {
        Some(path) => input::object_from_file(path),
        None => input::object_from_stdin(),
    }?;
    let mut read = given::event(&name, data.object, context)
        .map_err(|error| InputError::new(error, "see the data of the event in events.md"))?;
    read.warnings.iter().for_each(warn);
    exact::restore(&mut read.event, &data.text);
    Ok(read.event)
}

/// Returns true for one word that is nearly the name of an event.
fn is_misspelt(word: &str) -> bool {
    word.parse::<EventName>().is_err_and(|it| word.len() > 8 && it.nearest.is_some())
}

/// Returns the word and the reason for a hook that was not asked. `listed` lists tools.
fn why_not(
    hook: &ExplainedHook,
    explanation: &Explanation,
    listed: fn(&[String]) -> String,
) -> Option<(&'static str, String)> {
    let fired = &explanation.fired;
    Some(match &hook.asked {
        Asked::Yes => return None,
        Asked::PassedOver(reason) => {
            let rule = hook.entry.found.condition.as_ref().or(hook.entry.found.matcher.as_ref());
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
            ("other_tools", format!("it is for {}, and the tool is {}", listed(tools), escape(tool, 100)))
        }
        Asked::Disabled => {
            let file = hook.entry.settings_file();
            let at = file.map(|file| format!(" in {}", place(&file, hook.entry.found.settings_line, None)));
            ("disabled", format!("switched off{}", at.unwrap_or_default()))
        }
        Asked::Shadowed(by) => {
            let by = by.as_ref().map(|by| format!(": {}", shown_path(by)));
            ("shadowed", format!("another hook of its name runs in its place{}", by.unwrap_or_default()))
        }
        Asked::Invalid => ("invalid", problem(hook, "it cannot be used")),
        _ => ("other", "it does not run".to_owned()),
    })
}

fn problem(hook: &ExplainedHook, otherwise: &str) -> String {
    hook.entry.problem.as_ref().map_or_else(|| otherwise.to_owned(), |it| escape(it, 2_000))
}

fn as_json(explanation: &Explanation, pass: Option<&WayThrough>) -> Value {
    let fired = &explanation.fired;
    let hooks: Vec<Value> = explanation
        .hooks
        .iter()
        .map(|hook| {
            let why = why_not(hook, explanation, |tools| escape(&tools.join(", "), 400));
            let subscription = hook.subscription.as_ref();
            let more = json!({
                "asked": hook.asked == Asked::Yes,
                "why": why.as_ref().map(|(word, _)| word),
                "explanation": why.as_ref().map(|(_, text)| text),
                "declared_at": hook.entry.found.declared_at,
                "matcher": hook.entry.found.matcher,
                "if": hook.entry.found.condition,
                "subscription": subscription,
                "limits": hook.budget.as_ref().map(|it| json!({
                    "wall_ms": u64::try_from(it.wall.as_millis()).unwrap_or(u64::MAX),
                    "fuel": (hook.entry.kind == Kind::Component).then_some(it.fuel),
                    "memory": (hook.entry.kind == Kind::Component).then_some(it.memory),
                })),
                "rights": hook.entry.rights(),
                "sandboxed": !hook.entry.kind.is_declared() && !matches!(hook.entry.kind, Kind::Native | Kind::Code),
                "settings": hook.entry.found.settings,
                "settings_file": hook.entry.settings_file().map(|it| it.to_string_lossy().into_owned()),
                "settings_line": hook.entry.found.settings_line,
                "report": hook.report.as_ref().map(HookReport::to_json),
            });
            output::joined(json!(hook.entry), more)
        })
        .collect();
    let call = fired.event.tool_call();
    json!({
        "event": fired.event.name(),
        "tool": call.map(|it| &it.name),
        "tool_kind": call.map(|it| it.facts.kind.as_str()),
        "command": call.and_then(|it| it.facts.command.as_ref()),
        "facts": fired.event.call_facts().map(|it| it.to_json()),
        "verdict": Dialect::Kodelet.verdict(&fired.verdict, &fired.event),
        "hooks": hooks,
        "to_pass": pass.map(WayThrough::json),
    })
}
