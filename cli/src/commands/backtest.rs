//! `hookbox backtest`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, ValueHint};
use hookbox::{Hook, Kind, Runtime, escape};
use hookbox_agents::Agent;
use hookbox_journal::backtest::{
    self, Backtest as Tried, HookTally, Options, Progress, SessionFile, Source, Verdicts, by_frequency,
};
use hookbox_journal::session_files::{Format, JOURNAL};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::error::{InputError, hint, warn};
use crate::interrupt::unless_interrupted;
use crate::{compiler, input, options, output, progress};

/// Try hooks on the tool calls of past sessions.
///
/// Reads the session files that agents keep, and shows what your hooks would have decided. Nothing is sent anywhere, and no call runs. Components and rules have no permissions meanwhile. Executables run only if you name one with --hook: they may do more than answer.
#[derive(Args, Debug)]
pub(crate) struct Backtest {
    /// An agent (claude, codex, copilot, gemini, pi, qoder), `journal`, a session file, or a directory of them [default: all agents].
    #[arg(value_name = "SOURCE", value_hint = ValueHint::AnyPath)]
    sources: Vec<String>,
    /// Try this hook instead of yours: a component, rules, an executable, or a directory of components and rules; repeatable.
    #[arg(long, value_name = "FILE|DIR", value_hint = ValueHint::AnyPath)]
    hook: Vec<PathBuf>,
    /// Only calls since then: 30d, 12h, or a date such as 2026-01-31.
    #[arg(long, value_name = "TIME", value_parser = options::since)]
    since: Option<Timestamp>,
    /// Show this many commands of each hook; 0 shows all.
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,
    /// Print JSON: an object.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    discover: options::Discover,
}

/// Returns the formats of session files: the agents' and that of the journal.
fn formats() -> Vec<&'static Format> {
    std::iter::once(&JOURNAL).chain(Agent::session_formats()).collect()
}

/// Returns the formats of agents, in their order.
fn agents() -> impl Iterator<Item = &'static Format> {
    Agent::ALL.into_iter().filter_map(Agent::session_files)
}

impl Backtest {
    /// Makes the command that a report needs.
    pub(super) fn for_report(
        sources: Vec<String>,
        hook: Vec<PathBuf>,
        since: Option<Timestamp>,
        discover: options::Discover,
    ) -> Self {
        Self { sources, hook, since, top: 0, json: true, discover }
    }

    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        match self.tried().await? {
            None => Ok(ExitCode::SUCCESS),
            Some(result) if self.json => output::json(&result),
            Some(result) => output::line(&self.account(&result)),
        }
    }

    /// Returns the object of `--json`.
    pub(super) async fn json(&self) -> anyhow::Result<Value> {
        Ok(self.tried().await?.map_or(Value::Null, |result| json!(result)))
    }

    /// Tries the hooks. Without session files there is no result, unless the result is to be JSON.
    async fn tried(&self) -> anyhow::Result<Option<Tried>> {
        let absolute = |path: &PathBuf| std::path::absolute(path);
        let named: Vec<PathBuf> = self.hook.iter().map(absolute).collect::<Result<_, _>>()?;
        let sources = self.sources()?;
        self.discover.enter()?;
        let files = self.files(&sources)?;
        if files.is_empty() && !self.json {
            return Ok(None);
        }
        let hooks = match named.is_empty() {
            true => self.own_hooks().await?,
            false => self.named_hooks(&named).await?,
        };
        if hooks.is_empty() {
            return Err(InputError::new(
                "expected a hook to try, found none",
                "name one: hookbox backtest --hook FILE; or add guards: hookbox guard add --all",
            )
            .into());
        }
        let bytes = files.iter().map(|it| it.bytes).sum();
        let (done, since) = (Arc::new(Progress::default()), self.since);
        let work = tokio::task::spawn_blocking({
            let done = Arc::clone(&done);
            move || {
                let options = Options { formats: &formats(), since, threads: None };
                backtest::run(&hooks, &files, options, &done)
            }
        });
        let shown = progress::measured("reading past calls", bytes, || done.bytes(), work);
        let result = unless_interrupted(shown).await???;
        for it in &result.problems {
            warn(format_args!("{}: cannot be read: {}", it.path, escape(&it.reason, 200)));
        }
        Ok(Some(result))
    }

    fn sources(&self) -> Result<Vec<Source>, InputError> {
        let source = |text: &String| {
            if let Some(format) = formats().into_iter().find(|it| it.name == text) {
                return Ok(Source::Format(format));
            }
            let path = std::path::absolute(text).unwrap_or_else(|_| text.into());
            if path.exists() {
                return Ok(Source::Path(path));
            }
            let what = format!("{}: expected an agent, `journal`, a file or a directory", escape(text, 200));
            Err(InputError::new(
                what,
                format!("agents: {}", agents().map(|it| it.name).collect::<Vec<_>>().join(", ")),
            ))
        };
        if self.sources.is_empty() {
            return Ok(agents().map(Source::Format).collect());
        }
        self.sources.iter().map(source).collect()
    }

    fn files(&self, sources: &[Source]) -> anyhow::Result<Vec<SessionFile>> {
        let home = self.discover.discovery()?.home.unwrap_or_default();
        let variable = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|it| it.is_absolute());
        let mut files = Vec::new();
        for source in sources {
            let found = source.files(&home, variable);
            files.extend(found.map_err(|error| InputError::new(error.to_string(), "check the path"))?);
        }
        files.sort();
        files.dedup();
        if files.is_empty() {
            hint("no session files were found; give a file, a directory or an agent");
        }
        Ok(files)
    }

    /// Finds the hooks that would run here, except those that may do more than answer.
    async fn own_hooks(&self) -> anyhow::Result<Vec<Arc<dyn Hook>>> {
        let manager = unless_interrupted(self.discover.trying(self.runtime()?)).await??;
        let is_safe = |it: &&Arc<dyn Hook>| {
            matches!(it.descriptor().kind, Kind::Component | Kind::Rules | Kind::Builtin)
        };
        let all = manager.hooks();
        let hooks: Vec<_> = all.iter().filter(is_safe).cloned().collect();
        let left_out = all.len() - hooks.len();
        if left_out > 0 {
            warn(format_args!("hooks that are programs, and were not tried: {left_out}"));
            hint("name one to run it for every past call: hookbox backtest --hook FILE");
        }
        Ok(hooks)
    }

    async fn named_hooks(&self, named: &[PathBuf]) -> anyhow::Result<Vec<Arc<dyn Hook>>> {
        let (runtime, mut hooks) = (self.runtime()?, Vec::new());
        for path in named {
            let is_hook = |it: &Path| input::is_wasm(it) || input::is_rules(it);
            for file in input::hook_files(path, "components (.wasm) or rules (.rules.toml)", is_hook)? {
                hooks.push(match input::plain_hook(&file).await? {
                    Some(hook) => hook,
                    None => {
                        let loading = runtime.load(input::component(&file)?);
                        let loaded = unless_interrupted(progress::working("compiling", loading)).await?;
                        input::component_hook(&file, input::loaded(&file, loaded)?)
                    }
                });
            }
        }
        Ok(hooks)
    }

    /// Makes an engine for many calls.
    fn runtime(&self) -> Result<Runtime, InputError> {
        Ok(compiler::pooled_runtime(&self.discover.discovery()?))
    }

    fn account(&self, result: &Tried) -> String {
        let rows = result.sources.iter().map(|(format, it)| {
            vec![
                (*format).to_owned(),
                number(it.files),
                number(it.calls),
                number(it.shell_calls),
                number(it.not_read),
            ]
        });
        let mut parts = vec![output::table(&["SOURCE", "FILES", "CALLS", "SHELL CALLS", "NOT READ"], rows)];
        let Verdicts { pass, block, ask, modify } = result.verdicts;
        parts.push(format!(
            "Calls: {pass} would have passed, {block} blocked, {ask} asked about, {modify} changed."
        ));
        let rows = result.hooks.iter().map(|(name, it)| {
            let mean = it.time.checked_div(u32::try_from(it.calls).unwrap_or(u32::MAX)).unwrap_or_default();
            vec![
                if it.observes { format!("{name} (observes)") } else { name.clone() },
                number(it.block),
                number(it.ask),
                number(it.modify),
                number(it.failed),
                format!("{} µs", mean.as_micros()),
            ]
        });
        parts.push(output::table(&["HOOK", "BLOCKED", "ASKED", "CHANGED", "FAILED", "A CALL"], rows));
        for (name, tally) in &result.hooks {
            if !tally.groups.is_empty() {
                parts.push(self.groups(name, tally));
            }
        }
        if !result.past_hooks.is_empty() {
            let rows = result.past_hooks.iter().map(|((name, command), it)| {
                vec![
                    name.clone(),
                    number(it.runs),
                    number(it.failed),
                    format!("{} ms", it.total_ms / it.runs.max(1)),
                    escape(command, 60),
                ]
            });
            parts.push(output::table(&["HOOK OF THE AGENT", "RUNS", "FAILED", "A RUN", "COMMAND"], rows));
        }
        parts.join("\n\n")
    }

    /// Lists the most frequent commands that a hook did not let pass.
    fn groups(&self, name: &str, tally: &HookTally) -> String {
        let groups = by_frequency(&tally.groups);
        let shown = if self.top == 0 { groups.len() } else { self.top.min(groups.len()) };
        let mut lines = vec![format!("{name}:")];
        for ((tool, command), group) in groups.iter().take(shown) {
            let answer = match group.answer {
                "block" => "blocked",
                "ask" => "asked",
                "modify" => "changed",
                other => other,
            };
            lines.push(format!("  {:>5} {answer:<7} {tool} {command}", group.count));
            lines.push(format!("                {}", escape(&group.reason, 300)));
            if let Some((tool, command)) = &group.next {
                lines.push(format!("                next: {tool} {}", escape(command, 120)));
            }
        }
        let rest: u64 = groups.iter().skip(shown).map(|(_, it)| it.count).sum::<u64>() + tally.other_groups;
        if rest > 0 {
            lines.push(format!("  {rest:>5} more calls (--top 0 shows all)"));
        }
        lines.join("\n")
    }
}

fn number(it: u64) -> String {
    it.to_string()
}
