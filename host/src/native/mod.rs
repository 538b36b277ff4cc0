//! Native hooks: executables that speak the kodelet protocol over standard input and output.
//!
//! `<hook> hook` prints the name of its event, `<hook> run` reads an event and prints an answer. A hook runs
//! with the user's rights, in the directory and with the environment of the process that embeds hookbox; the
//! `cwd` of an event is data.

pub(crate) mod combine;
pub mod command;
pub(crate) mod group;
pub(crate) mod output;
#[doc(hidden)]
pub mod process;
pub(crate) mod start;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use serde_json::{Map, Value};
use tokio::time::timeout;

use crate::dialect::exact::{self, Exact};
use crate::dialect::{agent_hooks, kodelet};
use crate::event::{Event, EventName};
use crate::hook::{Budget, Cause, Descriptor, Hook, HookError, Settings};
use crate::native::process::Process;
use crate::outcome::Outcome;
use hookbox_system::{limits, text};

pub use crate::native::start::{DEPTH_VARIABLE, depth};

/// Holds a hook's own settings, a JSON object, when its table of hookbox.toml has some.
pub const SETTINGS_VARIABLE: &str = "HOOKBOX_SETTINGS";

/// The variables with the repository and the branch of an event, if they are known.
pub(crate) const CHECKOUT_VARIABLES: [&str; 2] = ["HOOKBOX_REPOSITORY", "HOOKBOX_BRANCH"];

/// Checks a hook just before its process starts; an error prevents the start. It may block.
pub(crate) type Verify = Arc<dyn Fn() -> Result<(), HookError> + Send + Sync>;

/// An executable in a hooks directory.
#[derive(Clone)]
pub struct NativeHook {
    descriptor: Descriptor,
    program: PathBuf,
    settings: Option<String>,
    environment: Option<Vec<String>>,
    verify: Option<Verify>,
}

debug_by!(NativeHook, program);

impl NativeHook {
    /// Makes a hook of the file `program`, which is never searched for on `PATH`.
    pub fn new(descriptor: Descriptor, program: PathBuf) -> Self {
        Self { descriptor, program, settings: None, environment: None, verify: None }
    }

    /// Checks the hook before each run: its files may have changed since it was trusted. Some milliseconds
    /// pass between the check and the start, in which a user who may write to a file can still replace it.
    #[must_use]
    pub fn with_verify(mut self, verify: Option<Verify>) -> Self {
        self.verify = verify;
        self
    }

    /// Passes these settings to the hook, in [`SETTINGS_VARIABLE`]. Without settings the environment is that
    /// of this process, and [`DEPTH_VARIABLE`].
    #[must_use]
    pub fn with_settings(mut self, settings: &Settings) -> Self {
        self.settings = as_json(settings);
        self
    }

    /// Passes only these variables of this process, by name; a variable that is not set stays so. `None`, the
    /// default, passes all of them. [`DEPTH_VARIABLE`] is always added, and [`SETTINGS_VARIABLE`] if there
    /// are settings.
    #[must_use]
    pub fn with_environment(mut self, names: Option<Vec<String>>) -> Self {
        self.environment = names;
        self
    }
}

#[async_trait]
impl Hook for NativeHook {
    fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }

    fn tried_with(&self, settings: &Settings) -> Option<Arc<dyn Hook>> {
        Some(Arc::new(Self { settings: as_json(settings), ..self.clone() }))
    }

    /// Runs `<program> run` with the event as kodelet's JSON on standard input, within `budget.wall`,
    /// `budget.output` and `budget.log`. What it prints counts only if it then ends with status 0.
    async fn run(&self, event: &Event, budget: &Budget) -> Result<Outcome, HookError> {
        let wall = verified_within(self.verify.as_ref(), budget.wall).await?;
        let settings = self.settings.as_deref().map(OsStr::new);
        let settings = settings.map(|settings| (SETTINGS_VARIABLE, settings));
        let no_bytecode = no_bytecode(self.verify.as_ref());
        let variables: Vec<_> = settings.into_iter().chain(checkout(event)).chain(no_bytecode).collect();
        let process = Process {
            program: &self.program,
            args: &["run"],
            environment: self.environment.as_deref(),
            variables: &variables,
            directory: None,
            stdin: Some(Exact { value: &kodelet::encode(event), event }.text().into_bytes()),
            wall,
            output: budget.output,
            log: budget.log,
        };
        let printed = process.run().await?;
        with_log(answer(event, &printed.stdout), printed.log)
    }
}

/// Reads what a hook printed.
pub(crate) fn answer(event: &Event, stdout: &[u8]) -> Result<Outcome, HookError> {
    if let Some(outcome) = agent_hooks::outcome(event, stdout) {
        return outcome;
    }
    let name = event.name();
    let mut outcome = kodelet::outcome(&name, stdout)?;
    exact::restore_answer(&mut outcome, &name, stdout);
    Ok(outcome)
}

/// Returns the variable that keeps Python from writing bytecode beside the modules of a hook whose files are checked. These
/// files would change the digest that the user trusted, and end the trust at the first event.
pub(crate) fn no_bytecode(verify: Option<&Verify>) -> Option<(&'static str, &'static OsStr)> {
    verify.map(|_| ("PYTHONDONTWRITEBYTECODE", OsStr::new("1")))
}

/// Returns the variables with the repository and the branch of an event. kodelet's payload has no such fields.
fn checkout(event: &Event) -> impl Iterator<Item = (&'static str, &OsStr)> {
    let names = [&event.context.repository, &event.context.branch];
    // A variable with a zero byte in it would keep the process from starting.
    let known = |value: &&String| !value.contains('\0');
    let variables = CHECKOUT_VARIABLES.into_iter().zip(names);
    variables.filter_map(move |(name, value)| Some((name, OsStr::new(value.as_ref().filter(known)?))))
}

/// Returns the `settings` of a hook's table in hookbox.toml as one JSON object; `None` if there are none.
fn as_json(settings: &Settings) -> Option<String> {
    let value = |text: &String| serde_json::from_str(text).unwrap_or_else(|_| Value::from(text.as_str()));
    let object: Map<String, Value> = settings.iter().map(|(key, text)| (key.clone(), value(text))).collect();
    (!object.is_empty()).then(|| Value::Object(object).to_string())
}

/// Adds the standard error of a hook to its answer or failure.
pub(crate) fn with_log(answer: Result<Outcome, HookError>, log: String) -> Result<Outcome, HookError> {
    match answer {
        Ok(mut outcome) => {
            outcome.spent.log = log;
            Ok(outcome)
        }
        Err(mut error) => {
            error.spent.log = log;
            Err(error)
        }
    }
}

/// Checks a hook, and returns the rest of `wall`.
pub(crate) async fn verified_within(verify: Option<&Verify>, wall: Duration) -> Result<Duration, HookError> {
    let Some(verify) = verify else { return Ok(wall) };
    let begin = Instant::now();
    verified(verify, wall).await?;
    Ok(wall.saturating_sub(begin.elapsed()))
}

/// Checks a hook within `wall`, without blocking other tasks.
pub(crate) async fn verified(verify: &Verify, wall: Duration) -> Result<(), HookError> {
    let verify = Arc::clone(verify);
    match timeout(wall, tokio::task::spawn_blocking(move || verify())).await {
        Ok(Ok(result)) => result,
        Ok(Err(_)) => Err(HookError::new(Cause::Internal, "could not be examined before it runs")),
        Err(_) => Err(HookError::timeout(wall)),
    }
}

/// The time in which a native hook names its event.
pub const QUERY: Duration = Duration::from_secs(5);

/// Asks an executable for its event: `<program> hook`, with empty standard input, within `wall`, with the
/// variables of this process that `environment` names (`None`: all), and with these `variables`. The answer is one
/// name in either spelling; white space around it does not count.
///
/// # Errors
///
/// `incompatible` if the answer is not exactly one event's name, else the reason why the program could not be
/// asked.
pub async fn query(
    program: &Path,
    environment: Option<&[String]>,
    variables: &[(&str, &OsStr)],
    wall: Duration,
) -> Result<EventName, HookError> {
    let process = Process {
        program,
        args: &["hook"],
        environment,
        variables,
        directory: None,
        stdin: None,
        wall,
        output: limits::PATH,
        log: limits::PATH,
    };
    let printed = process.run().await.map_err(|error| HookError {
        message: format!("did not answer when asked for its event (`hook`): {}", error.message),
        ..error
    })?;
    let answer = String::from_utf8_lossy(printed.stdout.trim_ascii()).into_owned();
    let name = answer.parse::<EventName>().map_err(|unknown| {
        let message = if answer.is_empty() {
            "printed nothing when asked for its event (`hook`); it should print a name such as \
             before_tool_call"
                .to_owned()
        } else {
            let shown = text::escape(&answer, limits::WORD);
            format!(
                "named {shown:?} when asked for its event (`hook`), which is not the name of an event{}",
                text::or_meant(unknown.nearest)
            )
        };
        HookError::new(Cause::Incompatible, message)
    });
    name.map_err(|mut error| {
        error.spent.log = printed.log;
        error
    })
}

#[cfg(test)]
mod tests;
