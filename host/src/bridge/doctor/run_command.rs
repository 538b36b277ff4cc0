//! Runs a configured command line as its agent does.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::time::Duration;

use tokio::time::Instant;

use crate::dialect::agent::{Agent, AgentEvent, Effect, Printed};
use crate::native::process::Process;
use crate::native::{DEPTH_VARIABLE, depth};
use crate::report::Cause;
use crate::text;

/// How long is waited for a command, also where the agent waits longer.
const PATIENCE: Duration = Duration::from_secs(60);

/// How much it may print, in bytes.
const OUTPUT: usize = 4 << 20;

/// How much of its standard error is kept, in bytes.
const LOG: usize = 64 << 10;

/// What a command did.
pub(super) struct CommandResult {
    exit_code: Option<i32>,
    stdout: String,
    stderr: String,
    /// Why it did not end by itself.
    failure: Option<String>,
}

impl CommandResult {
    fn failed(why: String, stderr: String) -> Self {
        Self { exit_code: None, stdout: String::new(), stderr, failure: Some(why) }
    }

    /// What the agent makes of it.
    pub(super) fn effect(&self, agent: Agent, event: &AgentEvent) -> Effect {
        match &self.failure {
            Some(failure) => Effect::Runs(failure.clone()),
            None => agent.effect(
                event,
                Printed { exit_code: self.exit_code, stdout: &self.stdout, stderr: &self.stderr },
            ),
        }
    }

    /// The first line of standard output, where it succeeded.
    pub(super) fn line(&self) -> Option<&str> {
        self.stdout.lines().next().filter(|_| self.exit_code == Some(0))
    }

    /// Whether the shell found no program, or could not execute it.
    pub(super) fn is_not_found(&self) -> bool {
        matches!(self.exit_code, Some(126 | 127))
    }

    /// The first words of standard error, else why it failed.
    pub(super) fn said(&self) -> String {
        let first = self.stderr.lines().find(|line| !line.trim().is_empty());
        let first = first.map(|line| text::escape(line, 300)).or_else(|| self.failure.clone());
        first.unwrap_or_else(|| match self.exit_code {
            Some(0) | None => "it said nothing".to_owned(),
            Some(code) => format!("it ended with exit code {code}"),
        })
    }
}

/// How an agent runs a command line.
pub(super) struct CommandRun<'a> {
    pub(super) agent: Agent,
    /// The directory of the project.
    pub(super) project: &'a Path,
    /// Where the command runs.
    pub(super) directory: &'a Path,
    /// Variables that the configuration sets for it.
    pub(super) variables: &'a [(String, String)],
    /// How long the agent waits.
    pub(super) wall: Duration,
    /// When the whole examination has to be over.
    pub(super) until: Instant,
}

impl CommandRun<'_> {
    /// Runs a line by `sh`, with this on standard input.
    pub(super) async fn shell(&self, line: &str, input: &str) -> CommandResult {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return CommandResult::failed(
                "the examination took too long, and ended before it".to_owned(),
                String::new(),
            );
        }
        let wall = self.wall.min(PATIENCE).min(left);
        let depth = OsString::from(depth().to_string());
        let mut variables: Vec<(&str, &OsStr)> =
            self.variables.iter().map(|(name, value)| (name.as_str(), OsStr::new(value))).collect();
        variables.push((DEPTH_VARIABLE, &depth));
        if let Some(name) = self.agent.project_variable() {
            variables.push((name, self.project.as_os_str()));
            // The agents that have a variable of their own set this one, too.
            variables.push(("CLAUDE_PROJECT_DIR", self.project.as_os_str()));
        }
        // A payload that only asks is no event to report to a collector; and no variable of an agent around this one counts.
        let is_given = |name: &String| !name.starts_with("OTEL_") && !name.ends_with("_PROJECT_DIR");
        let names: Vec<String> =
            std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()).filter(is_given).collect();
        let process = Process {
            program: Path::new("/bin/sh"),
            args: &["-c", line],
            environment: Some(&names),
            variables: &variables,
            directory: Some(self.directory),
            stdin: Some(input.as_bytes().to_vec()),
            wall,
            output: OUTPUT,
            log: LOG,
        };
        match process.end().await {
            Ok(ended) => CommandResult {
                exit_code: Some(ended.status),
                stdout: String::from_utf8_lossy(&ended.printed.stdout).into_owned(),
                stderr: ended.printed.log,
                failure: None,
            },
            Err(error) => {
                let why = match error.cause {
                    Cause::Timeout => format!("no answer within {wall:?}, and the agent goes on"),
                    _ => format!("the command {}", error.message),
                };
                CommandResult::failed(why, error.spent.log)
            }
        }
    }
}
