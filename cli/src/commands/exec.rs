//! `hookbox exec`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{bail, ensure};
use clap::{Args, ValueEnum};
use hookbox::Known;
use hookbox::dialect::{exact, kodelet};
use hookbox::hook::Subscription;
use hookbox::internal::facts;
use hookbox::{
    Action, Cause, Context, Descriptor, Digest, Event, EventName, FunctionHook, Hook, HookError, Kind,
    OnFailure, Outcome,
};

use crate::error::{InputError, say, warn};
use crate::given::event_name;
use crate::options::Locate;
use crate::{compiler, input, named, output};

/// Call one hook through the kodelet protocol.
///
/// A component so serves a host that only runs executables. The named file is trusted, and nothing is granted
/// to it: a component has no file, variable, network or store; the counters of rules end with the command; an
/// executable has your own rights. A failure of the hook is exit code 1. If a component or a rules file asks to block
/// when it fails, its failure is a block.
#[derive(Args, Debug)]
pub(crate) struct Exec {
    /// The hook: an executable, a component (.wasm) or rules (.rules.toml).
    file: PathBuf,
    /// `hook` prints the event that it wants to see; `run` answers one event from standard input.
    #[arg(value_enum)]
    verb: Verb,
    /// The event, for a component that subscribes to several [default: the payload's `event`, else the
    /// first].
    #[arg(long, value_name = "EVENT", value_parser = named::event(), hide_possible_values = true)]
    event: Option<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Verb {
    Hook,
    Run,
}

impl Exec {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        let requested = self.event.as_deref().map(event_name).transpose()?;
        let hook = self.load().await?;
        let requested =
            requested.map(|requested| self.subscribed(hook.descriptor(), requested)).transpose()?;
        let first = hook.descriptor().subscriptions.first().map(|first| first.event.clone());
        let Some(event) = requested.clone().or(first) else {
            bail!("{} subscribes to nothing", self.file.display());
        };
        match self.verb {
            Verb::Hook => output::line(event.as_str()),
            Verb::Run => self.answer(hook.as_ref(), requested, event).await,
        }
    }

    /// Returns an event if the hook subscribes to it.
    fn subscribed(&self, descriptor: &Descriptor, event: EventName) -> Result<EventName, InputError> {
        if descriptor.subscribes_to(&event) {
            return Ok(event);
        }
        let names: Vec<&str> = descriptor.subscriptions.iter().map(|it| it.event.as_str()).collect();
        let what = format!("{} does not subscribe to {event}", self.file.display());
        Err(InputError::new(what, format!("it subscribes to {}", names.join(", "))))
    }

    async fn load(&self) -> anyhow::Result<Arc<dyn Hook>> {
        if let Some(hook) = input::plain_hook(&self.file).await? {
            return Ok(hook);
        }
        let bytes = input::component(&self.file)?;
        let runtime = compiler::cached_runtime(&Locate::default().discovery()?);
        let digest = Digest::of(&bytes);
        let component = match runtime.load_for_event(bytes).await {
            Err(error) if error.cause == Cause::Compiling => {
                return self.compiling(input::hook_name(&self.file), runtime.known(&digest), error);
            }
            loaded => input::loaded(&self.file, loaded)?,
        };
        Ok(input::component_hook(&self.file, component))
    }

    /// Returns a hook that fails until its component is compiled: by its last description, else as a guard.
    fn compiling(&self, name: String, known: Known, error: HookError) -> anyhow::Result<Arc<dyn Hook>> {
        let error = error.until_compiled(&std::path::absolute(&self.file)?);
        let policy = known.on_failure.unwrap_or(OnFailure::Block);
        let mut subscriptions = known.subscriptions();
        if subscriptions.is_empty() && matches!(self.verb, Verb::Hook) {
            bail!("{name}: {}", error.message);
        }
        if subscriptions.is_empty() {
            subscriptions = EventName::ALL.into_iter().map(Subscription::to).collect();
        }
        let mut descriptor = Descriptor::new(name, Kind::Component);
        descriptor.subscriptions = subscriptions;
        descriptor.on_failure = policy;
        let failed = move |_| std::future::ready(Err(error.clone()));
        Ok(Arc::new(FunctionHook::with(descriptor, failed)))
    }

    async fn answer(
        &self,
        hook: &dyn Hook,
        requested: Option<EventName>,
        default: EventName,
    ) -> anyhow::Result<ExitCode> {
        let given = input::object_from_stdin()?;
        let named = given.object.get("event").and_then(|event| event.as_str());
        let name = match (requested, named) {
            (Some(requested), _) => requested,
            (None, Some(named)) => self.subscribed(hook.descriptor(), event_name(named)?)?,
            (None, None) => default,
        };
        let cwd = std::env::current_dir().unwrap_or_default();
        let defaults = Context::new("exec", cwd.to_string_lossy());
        let decoded = kodelet::decode(&name, given.object, &defaults).map_err(|error| {
            InputError::new(format!("standard input: {error}"), "pass the payload that kodelet sends")
        })?;
        let mut event: Event = decoded.event;
        exact::restore(&mut event, &given.text);
        let directory = PathBuf::from(&event.context.cwd);
        let home = std::env::home_dir();
        if let Some(call) = event.tool_call_mut() {
            call.facts = Arc::new(facts::of(&call.name, &call.input, &directory, home.as_deref()));
        }
        let descriptor = hook.descriptor();
        if !descriptor.subscriptions.iter().any(|it| it.matches(&event)) || hook.passes_over(&event).is_some()
        {
            // Another event, or a tool or a line that it does not want to see.
            return output::json(&kodelet::answer(&name, &Outcome::pass()));
        }
        let blocks = descriptor.on_failure == OnFailure::Block && name.allows().block;
        let mut outcome = match hook.run(&event, &descriptor.budget).await {
            Ok(outcome) => outcome,
            Err(error) => {
                show_log(&error.spent.log);
                let what = format!("{} failed ({}): {}", descriptor.name, error.cause, error.message);
                ensure!(blocks, what);
                // A guard blocks also for a host that treats a failure as a pass.
                warn(&what);
                return output::json(&kodelet::answer(&name, &Outcome::block(what)));
            }
        };
        show_log(&outcome.spent.log);
        let refused = outcome.restrict(descriptor.answers);
        if refused != hookbox::Answers::NONE {
            let answers = refused.names().join(", ");
            let what = format!("{} failed (denied): does not declare {answers}", descriptor.name);
            warn(&what);
            if blocks && !matches!(outcome.action, Action::Block(_)) {
                outcome = Outcome::block(what);
            }
        }
        output::json(&kodelet::answer(&name, &outcome))
    }
}

fn show_log(log: &str) {
    if !log.is_empty() {
        say(hookbox::escape_lines(log, 64 << 10).trim_end());
    }
}
