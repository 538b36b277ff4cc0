//! `hookbox test`.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anstyle::{AnsiColor, Style};
use anyhow::Context as _;
use clap::Args;
use hookbox::dialect::{Wire as _, claude};
use hookbox::internal::facts;
use hookbox::outcome::Verdict;
use hookbox::{Event, Outcome, escape, escape_lines, shown_path};
use hookbox_agents::Agent;
use hookbox_agents::agent::Request;
use hookbox_agents::agent_hooks::AgentHook;
use hookbox_authoring::cases::{self, CaseError, Difference, Found, Played, Player, Sent, Wire};
use serde_json::{Value, json};

use crate::error::{EXIT_FAILED, InputError, is_coloured, warn};
use crate::interrupt::unless_interrupted;
use crate::options::{self, Locate};
use crate::{compiler, input, named, output};
use hookbox_system::limits;

/// The longest name of a case in the table, in characters.
const NAME: usize = 50;

/// The largest number of lines of one difference.
const LINES: usize = 60;

/// Test hooks with the cases beside them.
///
/// A case is a table of a file cases/*.toml: an event, and the answer that must come. Each case runs in a process
/// of its own, with an empty home directory and only the grants of the case. The hook is trusted, because you name
/// it. Exit code 1: a case failed; 2: a case file is wrong, or there are no cases.
#[derive(Args, Debug)]
pub(crate) struct Test {
    /// The directory of the hook, the hook, or a file with cases.
    #[arg(value_name = "DIR|FILE", default_value = ".")]
    paths: Vec<PathBuf>,
    /// The hook, if it is not beside its cases.
    #[arg(long, value_name = "FILE")]
    hook: Option<PathBuf>,
    /// Write the answers that came into the case files, for the cases that differ.
    #[arg(long)]
    update: bool,
    #[arg(
        help = format!(
            "Send the events through the wire of this agent, and the answers back: {}",
            options::names(Agent::with_commands())
        ),
        long,
        value_name = "AGENT",
        value_parser = named::agent(),
        hide_possible_values = true,
        conflicts_with = "update"
    )]
    dialect: Option<Agent>,
    /// Print JSON: an object with the cases.
    #[arg(long)]
    json: bool,
    /// Also write the results into this file, in JUnit's format.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
}

impl Test {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        if let Some(file) = &self.junit {
            refuse_symlink(file)?;
            // A server must not read the results of an earlier run if this one has an error.
            remove(file)?;
        }
        let mut found = Vec::new();
        for path in &self.paths {
            found.extend(cases::find(path, self.hook.as_deref()).map_err(wrong)?);
        }
        if !self.update {
            refuse_missing_answers(&found)?;
        }
        let outdated = outdated(&found);
        outdated.iter().for_each(|sentence| warn(format_args!("{sentence}")));
        let player = player(self.dialect)?;
        compile(&player, &found).await?;
        let played = unless_interrupted(player.play_all(&found)).await?.map_err(wrong)?;
        let updated = if self.update { update(&found, &played)? } else { 0 };
        if let Some(file) = &self.junit {
            fs::write(file, cases::junit(&played))
                .with_context(|| format!("cannot write {}", file.display()))?;
        }
        let failed = count(&played, "failed", self.update);
        if self.json {
            output::json(&as_json(&played, &outdated, failed, updated))?;
        } else {
            output::line(&shown(&played, failed, self.update.then_some(updated)))?;
        }
        Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::from(EXIT_FAILED) })
    }
}

/// Runs one case, if the command line asks for it: the work of a process that `hookbox test` starts.
pub(crate) fn play() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next()? != PLAY || arguments.next().is_some() {
        return None;
    }
    Some(match play_case() {
        Ok(code) => code,
        Err(error) => crate::error::report(&error),
    })
}

/// The argument to run one case, from standard input to standard output. It is not a command for users.
const PLAY: &str = "play-case";

fn play_case() -> anyhow::Result<ExitCode> {
    let task: cases::Task = serde_json::from_reader(std::io::stdin().lock())?;
    let runtime = compiler::runtime(task.cache.as_deref());
    let work = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let agent: Option<Agent> = task.dialect.as_deref().map(str::parse).transpose()?;
    let wire = agent.map(AgentWire);
    let wire = wire.as_ref().map(|wire| wire as &dyn cases::Wire);
    let came = work.block_on(cases::play(&task, &runtime, wire)).map_err(wrong)?;
    // A compilation that took too long may still be at work.
    work.shutdown_background();
    output::json(&came)
}

fn player(dialect: Option<Agent>) -> Result<Player, InputError> {
    if let Some(agent) = dialect.filter(|agent| !agent.runs_commands()) {
        let hint = format!("give one of {}", options::names(Agent::with_commands()));
        return Err(InputError::new(format!("{} has no command hooks", agent.title()), hint));
    }
    Ok(Player {
        program: compiler::program().unwrap_or_else(|| "hookbox".into()),
        arguments: vec![PLAY.to_owned()],
        cache: compiler::cache(&Locate::default().discovery()?),
        dialect: dialect.map(|agent| agent.as_str().to_owned()),
        jobs: std::thread::available_parallelism().map_or(1, usize::from),
    })
}

/// Compiles the components, so that no case waits for it. A broken one is wrong input.
async fn compile(player: &Player, found: &[Found]) -> anyhow::Result<()> {
    let mut hooks: Vec<&Path> = found.iter().map(|it| it.hook.as_path()).collect();
    hooks.sort_unstable();
    hooks.dedup();
    hooks.retain(|hook| input::is_wasm(hook));
    if hooks.is_empty() {
        return Ok(());
    }
    let runtime = compiler::runtime(player.cache.as_deref());
    for hook in hooks {
        input::load(&runtime, hook, input::component(hook)?).await?;
    }
    Ok(())
}

fn refuse_missing_answers(found: &[Found]) -> anyhow::Result<()> {
    for found in found {
        if let Some(case) = found.file.cases.iter().find(|case| case.expect.is_none()) {
            let message = format!("{:?} does not have the answer that must come", escape(&case.name, 80));
            let hint = Some("add [case.expect], or let --update write the answer that comes now".to_owned());
            let kind = cases::CaseErrorKind::Fault { line: None, message, hint };
            return Err(wrong(CaseError { path: found.file.path.clone(), kind }));
        }
    }
    Ok(())
}

/// Refuses to write through a symlink: it may lead out of the repository whose hooks are tested.
fn refuse_symlink(file: &Path) -> Result<(), InputError> {
    if file.is_symlink() {
        let what = format!("{} is a symlink", shown_path(file));
        return Err(InputError::new(what, "give --junit the file itself"));
    }
    Ok(())
}

/// Removes a file, if there is one.
fn remove(file: &Path) -> anyhow::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot replace {}", file.display()))
        }
        _ => Ok(()),
    }
}

/// Returns a sentence for each component that is older than its sources.
fn outdated(found: &[Found]) -> Vec<String> {
    let hooks: BTreeSet<&Path> = found.iter().map(|it| it.hook.as_path()).collect();
    let sentence = |hook: &Path| {
        let source = escape(&cases::newer_source(hook)?.to_string_lossy(), 200);
        let hook = escape(&hook.file_name()?.to_string_lossy(), 200);
        Some(format!("{hook} is older than {source}; run `hookbox build`"))
    };
    hooks.into_iter().filter_map(sentence).collect()
}

fn update(found: &[Found], played: &[Played]) -> anyhow::Result<usize> {
    found.iter().map(|found| cases::update(&found.file.path, played).map_err(wrong)).sum()
}

/// Turns an error of the library into one for people.
fn wrong(error: CaseError) -> anyhow::Error {
    let what = error.to_string();
    match (error.is_usage(), error.hint()) {
        (true, hint) => {
            let hint = hint.unwrap_or_else(|| "see `hookbox test --help`".to_owned());
            InputError::new(what, hint).into()
        }
        (false, Some(hint)) => InputError::refused(what, hint).into(),
        (false, None) => error.into(),
    }
}

fn status(played: &Played, is_update: bool) -> &'static str {
    let differences = &played.differences;
    match (differences.is_empty(), is_update) {
        (true, _) if played.came.skipped.is_some() => "skipped",
        (true, _) => "passed",
        (false, true) if differences.iter().all(|it| it.is_writable) => "updated",
        (false, _) => "failed",
    }
}

/// The table, the differences, and the numbers.
fn shown(played: &[Played], failed: usize, updated: Option<usize>) -> String {
    let rows = played.iter().map(|it| {
        let file = it.file.file_name().unwrap_or_default().to_string_lossy();
        let status = status(it, updated.is_some()).to_owned();
        vec![cut(&it.case.name), status, escape(&file, 200)]
    });
    let mut text = output::fitting(&["CASE", "STATUS", "FILE"], &["FILE"], rows);
    let is_coloured = is_coloured(&std::io::stdout());
    if failed > 0 {
        text.push_str("\n\n- is expected, + is what came");
    }
    for it in played.iter().filter(|it| status(it, updated.is_some()) == "failed") {
        let _ = write!(text, "\n\n{}", failure(it, is_coloured));
    }
    let skipped = count(played, "skipped", false);
    let _ = write!(text, "\n\n{} passed, {failed} failed", count(played, "passed", false));
    if skipped > 0 {
        let _ = write!(text, ", {skipped} skipped: the agent does not send their events");
    }
    if let Some(updated) = updated {
        let _ = write!(text, ", {updated} updated");
    }
    text
}

/// The place of a case that failed, its differences, and the problems of its hook.
fn failure(played: &Played, is_coloured: bool) -> String {
    let (file, case) = (shown_path(&played.file), &played.case);
    let mut text = format!("{file}, line {}: {}", case.line, escape(&case.name, 200));
    for difference in &played.differences {
        text.push_str(&difference_lines(difference, is_coloured));
    }
    for problem in &played.came.problems {
        let _ = write!(text, "\n  problem: {}", escape(problem, limits::MESSAGE));
    }
    text
}

/// Returns the number of cases with a status.
fn count(played: &[Played], wanted: &str, is_update: bool) -> usize {
    played.iter().filter(|it| status(it, is_update) == wanted).count()
}

/// Shortens a long name.
fn cut(name: &str) -> String {
    let name = escape(name, 400);
    match name.char_indices().nth(NAME) {
        Some((at, _)) => format!("{}…", name.get(..at).unwrap_or_default()),
        None => name,
    }
}

fn difference_lines(difference: &Difference, is_coloured: bool) -> String {
    let mut text = format!("\n  {}", escape(&difference.what(), 200));
    let lines = difference.lines();
    for (sign, line) in lines.iter().take(LINES) {
        let colour = match sign {
            '-' if is_coloured => AnsiColor::Red.on_default(),
            '+' if is_coloured => AnsiColor::Green.on_default(),
            _ => Style::new(),
        };
        let _ = write!(text, "\n    {colour}{sign} {}{colour:#}", escape_lines(line, limits::MESSAGE));
    }
    if lines.len() > LINES {
        let _ = write!(text, "\n    and {} more lines", lines.len() - LINES);
    }
    text
}

fn as_json(played: &[Played], outdated: &[String], failed: usize, updated: usize) -> Value {
    let rows = played.iter().map(|it| {
        let difference =
            |it: &Difference| json!({ "what": it.what(), "expected": it.expected, "came": it.came });
        // The other keys have what is no answer.
        let mut came = json!(it.came);
        came.as_object_mut()
            .into_iter()
            .for_each(|came| came.retain(|key, _| key != "unfit" && key != "skipped"));
        json!({
            "name": it.case.name,
            "file": it.file.to_string_lossy(),
            "line": it.case.line,
            "hook": it.hook.to_string_lossy(),
            "event": it.case.event,
            "passed": status(it, false) == "passed",
            "skipped": it.came.skipped,
            "differences": it.differences.iter().map(difference).collect::<Vec<_>>(),
            "text": (!it.differences.is_empty()).then(|| failure(it, false)),
            "duration_us": u64::try_from(it.duration.as_micros()).unwrap_or(u64::MAX),
            "came": came,
        })
    });
    json!({
        "passed": count(played, "passed", false),
        "failed": failed,
        "skipped": count(played, "skipped", false),
        "updated": updated,
        "outdated": outdated,
        "cases": rows.collect::<Vec<_>>(),
    })
}

/// The wire of an agent: its own names of events and tools, its payloads and its answers.
struct AgentWire(Agent);

impl Wire for AgentWire {
    fn send(&self, event: &Event) -> Result<Option<Box<dyn Sent>>, String> {
        let Self(agent) = *self;
        let mut asked = event.clone();
        let directory = asked.context.cwd.clone();
        if let Some(call) = asked.tool_call_mut() {
            let home = std::env::home_dir();
            call.facts = Arc::new(facts::of(&call.name, &call.input, Path::new(&directory), home.as_deref()));
        }
        let names = agent.events().iter().chain(agent.other_events()).map(|it| it.name);
        let mut hooks = names.filter_map(|name| AgentHook::new(agent, name).ok().map(|hook| (name, hook)));
        let written = hooks.find_map(|(name, hook)| {
            let payload = AgentHook::encode(&hook, &asked, &claude::Session::default())?;
            Some((name, hook, payload))
        });
        let Some((name, hook, payload)) = written else { return Ok(None) };
        let read = agent.read(payload.to_string().as_bytes(), Some(name), &event.context);
        let Some(request) = read.map_err(|error| error.to_string())? else { return Ok(None) };
        Ok(Some(Box::new(SentEvent { asked, hook, request })))
    }
}

/// An event that the agent sent.
struct SentEvent {
    /// The event of the case.
    asked: Event,
    /// The agent's side.
    hook: AgentHook,
    /// The event as it came.
    request: Request,
}

impl Sent for SentEvent {
    fn event(&self) -> &Event {
        &self.request.event
    }

    fn outcome(&self, verdict: &Verdict, event: &Event) -> Result<Outcome, String> {
        let reply = self.request.answer(verdict, event);
        let code = i32::from(reply.exit_code);
        let read = self.hook.outcome(&self.asked, code, reply.stdout.as_bytes(), &reply.stderr);
        read.map_err(|error| error.to_string())
    }
}
