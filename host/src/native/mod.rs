//! Native hooks: executables that speak the kodelet protocol over standard input and output.
//!
//! `<hook> hook` prints the event that it wants to see, `<hook> run` reads an event and prints an answer
//! (seed: kodelet's HOOKS.md). A hook runs with the user's rights, in the directory and with the environment of
//! the process that embeds hookbox; the `cwd` of an event is data.

pub mod command;
mod leash;
mod parts;
pub(crate) mod process;
pub(crate) mod start;

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use serde_json::{Map, Value};
use tokio::time::timeout;

use crate::dialect::kodelet;
use crate::event::{Event, EventName};
use crate::hook::{Budget, Descriptor, Hook, HookError, Settings};
use crate::native::process::Process;
use crate::outcome::Outcome;
use crate::report::Cause;
use crate::text;

pub use crate::native::start::{DEPTH_VARIABLE, depth};

/// Holds a hook's own settings, a JSON object, when its table of hookbox.toml has some.
pub const SETTINGS_VARIABLE: &str = "HOOKBOX_SETTINGS";

/// How much an answer to `hook` may hold, in bytes; the longest event has 18.
const MAX_NAME: usize = 4096;

/// How much of what a hook said is repeated in a message, in bytes.
const EXCERPT: usize = 80;

/// Looks at what a hook is, just before its process starts; an error keeps it from starting. It may block.
pub type Verify = Arc<dyn Fn() -> Result<(), HookError> + Send + Sync>;

/// An executable in a hooks directory.
pub struct NativeHook {
    descriptor: Descriptor,
    program: PathBuf,
    settings: Option<String>,
    environment: Option<Vec<String>>,
    verify: Option<Verify>,
}

impl fmt::Debug for NativeHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NativeHook").field("program", &self.program).finish_non_exhaustive()
    }
}

impl NativeHook {
    /// The hook that is the file `program`; it is never looked for on `PATH`.
    pub fn new(descriptor: Descriptor, program: PathBuf) -> Self {
        Self { descriptor, program, settings: None, environment: None, verify: None }
    }

    /// The same hook, looked at before each run: what belongs to it may have changed since it was trusted. Between
    /// the look and the start of the process some milliseconds pass in which a file can still be replaced by
    /// somebody who may write it.
    #[must_use]
    pub fn with_verify(mut self, verify: Verify) -> Self {
        self.verify = Some(verify);
        self
    }

    /// The same hook with these settings, which it finds in [`SETTINGS_VARIABLE`]. Without any its environment is
    /// that of this process, and nothing more but [`DEPTH_VARIABLE`].
    #[must_use]
    pub fn with_settings(mut self, settings: &Settings) -> Self {
        self.settings = as_json(settings);
        self
    }

    /// The same hook with only these variables of this process, by name; one that is not set stays so. `None`, the
    /// default, gives it all of them. [`DEPTH_VARIABLE`], and [`SETTINGS_VARIABLE`] where it has settings, come on
    /// top either way.
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

    /// Runs `<program> run` with the event as kodelet's JSON on standard input, within `budget.wall`,
    /// `budget.output` and `budget.log`. What it prints counts only if it then ends with status 0.
    async fn run(&self, event: &Event, budget: &Budget) -> Result<Outcome, HookError> {
        let wall = verified_within(self.verify.as_ref(), budget.wall).await?;
        let settings = self.settings.as_deref().map(OsStr::new);
        let variables: Vec<_> = settings.map(|settings| (SETTINGS_VARIABLE, settings)).into_iter().collect();
        let process = Process {
            program: &self.program,
            args: &["run"],
            environment: self.environment.as_deref(),
            variables: &variables,
            directory: None,
            stdin: Some(kodelet::encode(event).to_string().into_bytes()),
            wall,
            output: budget.output,
            log: budget.log,
        };
        let printed = process.run().await?;
        with_log(kodelet::outcome(&event.name(), &printed.stdout), printed.log)
    }
}

/// What a hook's table of hookbox.toml has under `settings`, as one JSON object; `None` where it has nothing.
fn as_json(settings: &Settings) -> Option<String> {
    let value = |text: &String| serde_json::from_str(text).unwrap_or_else(|_| Value::from(text.as_str()));
    let object: Map<String, Value> = settings.iter().map(|(key, text)| (key.clone(), value(text))).collect();
    (!object.is_empty()).then(|| Value::Object(object).to_string())
}

/// An answer, or the failure to give one, with what the hook wrote to standard error.
fn with_log(answer: Result<Outcome, HookError>, log: String) -> Result<Outcome, HookError> {
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

/// Looks at a hook if there is something to look at; the time that is left of `wall`.
async fn verified_within(verify: Option<&Verify>, wall: Duration) -> Result<Duration, HookError> {
    let Some(verify) = verify else { return Ok(wall) };
    let begin = Instant::now();
    verified(verify, wall).await?;
    Ok(wall.saturating_sub(begin.elapsed()))
}

/// Looks at a hook within `wall`, where that does not hold up other tasks.
pub(crate) async fn verified(verify: &Verify, wall: Duration) -> Result<(), HookError> {
    let verify = Arc::clone(verify);
    match timeout(wall, tokio::task::spawn_blocking(move || verify())).await {
        Ok(Ok(result)) => result,
        Ok(Err(_)) => Err(HookError::new(Cause::Internal, "could not be looked at before it runs")),
        Err(_) => Err(HookError::timeout(wall)),
    }
}

/// Asks an executable which event it wants to see: `<program> hook`, with nothing on standard input, within
/// `wall` and with the variables of this process that `environment` names (`None`: all). The answer is one name in either spelling; white space around it does not count.
///
/// # Errors
///
/// `incompatible` when the answer is not exactly one event's name, else why the program could not be asked.
pub async fn query(
    program: &Path,
    environment: Option<&[String]>,
    wall: Duration,
) -> Result<EventName, HookError> {
    let process = Process {
        program,
        args: &["hook"],
        environment,
        variables: &[],
        directory: None,
        stdin: None,
        wall,
        output: MAX_NAME,
        log: MAX_NAME,
    };
    let printed = process.run().await?;
    let answer = String::from_utf8_lossy(printed.stdout.trim_ascii()).into_owned();
    let name = answer.parse::<EventName>().map_err(|unknown| {
        let message = if answer.is_empty() {
            "printed nothing when asked for its event (`hook`); it should print a name such as \
             before_tool_call"
                .to_owned()
        } else {
            let shown = text::escape(&answer, EXCERPT);
            format!(
                "named {shown:?} when asked for its event (`hook`), which is no event's name; the nearest is {}",
                unknown.nearest
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
