//! Runs a configured command line as its agent does.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::time::Duration;

use tokio::time::Instant;

use super::guard_probe::GuardProbe;
use crate::agent::{Agent, AgentEvent, Effect, Printed};
use crate::hook::Cause;
use crate::native::process::Process;
use crate::native::{DEPTH_VARIABLE, depth};
use crate::text;

/// The longest time that a command may take, even if the agent waits longer.
const PATIENCE: Duration = Duration::from_secs(60);

/// The largest output of a command, in bytes.
const OUTPUT: usize = 4 << 20;

/// The part of its standard error that is kept, in bytes.
const LOG: usize = 64 << 10;

/// The result of a command.
pub(super) struct CommandResult {
    exit_code: Option<i32>,
    stdout: String,
    stderr: String,
    /// The reason why it did not end by itself.
    failure: Option<String>,
}

impl CommandResult {
    fn failed(why: String, stderr: String) -> Self {
        Self { exit_code: None, stdout: String::new(), stderr, failure: Some(why) }
    }

    /// Returns what the agent does with the answer.
    pub(super) fn effect(&self, agent: Agent, event: &AgentEvent) -> Effect {
        match &self.failure {
            Some(failure) => Effect::Runs(failure.clone()),
            None => agent.effect(
                event,
                Printed { exit_code: self.exit_code, stdout: &self.stdout, stderr: &self.stderr },
            ),
        }
    }

    /// Returns the first line of standard output, if the command succeeded.
    pub(super) fn first_line(&self) -> Option<&str> {
        self.stdout.lines().next().filter(|_| self.exit_code == Some(0))
    }

    /// Returns true if the shell found no program, or could not execute it.
    pub(super) fn is_not_found(&self) -> bool {
        matches!(self.exit_code, Some(126 | 127))
    }

    /// Returns the first line of standard error.
    pub(super) fn first_error(&self) -> Option<String> {
        let first = self.stderr.lines().find(|line| !line.trim().is_empty());
        first.map(|line| format!("it says: {}", text::escape(line, 300)))
    }

    /// Returns the reason for a failure, in its own words if it has some.
    pub(super) fn trouble(&self) -> String {
        let failure = || self.failure.clone();
        self.first_error().or_else(failure).unwrap_or_else(|| match self.exit_code {
            Some(0) | None => "it prints no version".to_owned(),
            Some(code) => format!("it ended with exit code {code}"),
        })
    }
}

impl GuardProbe<'_> {
    /// Runs a line by `sh`, as the agent runs its command, with this on standard input.
    pub(super) async fn shell(&self, line: &str, input: &str) -> CommandResult {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            let why = "the examination took too long, and ended before it".to_owned();
            return CommandResult::failed(why, String::new());
        }
        let project = self.doctor.project();
        let wall = self.command.entry.timeout.min(PATIENCE).min(left);
        let depth = OsString::from(depth().to_string());
        let configured = self.command.variables(self.agent, self.configured);
        let mut variables: Vec<(&str, &OsStr)> =
            configured.iter().map(|(name, value)| (name.as_str(), OsStr::new(value))).collect();
        variables.push((DEPTH_VARIABLE, &depth));
        if let Some(name) = self.agent.project_variable() {
            variables.push((name, project.as_os_str()));
            // The agents that have a variable of their own set this one, too.
            variables.push(("CLAUDE_PROJECT_DIR", project.as_os_str()));
        }
        // A payload that only asks is not reported to a collector, and an agent around this one sets no
        // variable of it.
        let is_given = |name: &String| !name.starts_with("OTEL_") && !name.ends_with("_PROJECT_DIR");
        let names: Vec<String> =
            std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()).filter(is_given).collect();
        let process = Process {
            program: Path::new("/bin/sh"),
            args: &["-c", line],
            environment: Some(&names),
            variables: &variables,
            directory: Some(&self.command.directory(self.agent, project)),
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
