//! Answers one event of another agent.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::known::Known;
use super::steps::{Answer, Steps};
use super::twice::is_judged_by_own_entry;
use crate::agent::{Agent, ReadError, Request};
use crate::event::Context;
use crate::manager::Manager;
use crate::text;

/// Answers one event of an agent.
///
/// ```
/// use hookbox_agents::bridge::Bridge;
/// use hookbox_agents::Agent;
/// use hookbox::manager::Manager;
/// use hookbox::{EventName, Outcome};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let bridge = Bridge::new(Agent::Codex, None);
/// let stdin = br#"{"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash", "tool_input": {"command": "ls"}}"#;
/// let no_hooks = async |_: &std::path::Path| Ok::<_, std::io::Error>(Manager::empty());
/// let answer = bridge.answer(stdin, no_hooks).await;
/// assert_eq!((answer.reply.exit_code, answer.reply.stdout.as_str()), (0, "")); // write it here
/// answer.follow_up().await;
/// # }
/// ```
#[derive(Debug)]
pub struct Bridge {
    event: Option<String>,
    project: Option<PathBuf>,
    known: Known,
}

impl Bridge {
    /// The default time for an event: less than the agents wait by default, and less than the 20 or 30 s of
    /// many configurations.
    pub const DEADLINE: Duration = Duration::from_secs(15);

    /// Creates a bridge for an agent, and starts its clock. `event` is the agent's own name of the event,
    /// from the command line.
    pub fn new(agent: Agent, event: Option<String>) -> Self {
        let known = Known::new(agent, event.as_deref(), Self::DEADLINE);
        Self { event, project: None, known }
    }

    /// Sets the time to the answer (default: [`Bridge::DEADLINE`]). At the end of a session it is less:
    /// Claude Code and Codex wait 1.5 and 3 s then.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.known.deadline = deadline;
        self
    }

    /// Sets the directory of the agent's project ([`Agent::project_variable`]), from which hooks are found. A
    /// model that changes the directory of its shell must not escape the repository's guards. The default is
    /// the working directory of the event, then that of the process. A path that is not a directory is
    /// ignored, with a warning.
    #[must_use]
    pub fn project(self, directory: Option<PathBuf>) -> Self {
        Self { project: directory, ..self }
    }

    /// Returns the facts about the event so far, to answer it if [`Bridge::answer`] does not, and its clock.
    pub fn known(&self) -> &Known {
        &self.known
    }

    /// Answers the event that the agent wrote. `manager` finds the hooks from a directory.
    ///
    /// An event that the agent has and hookbox has not gets an empty answer; an unknown name is a failure. A
    /// failure and a timeout are answered by the failure policy of the hooks. Hooks that only observe run in
    /// [`Answer::follow_up`], when the agent has its reply.
    pub async fn answer<M, E>(&self, payload: &[u8], manager: M) -> Answer
    where
        M: AsyncFnOnce(&Path) -> Result<Manager, E>,
        E: fmt::Display,
    {
        let (agent, given) = (self.known.agent(), self.event.as_deref());
        let here = std::env::current_dir().unwrap_or_default();
        let defaults = Context::new("", here.to_string_lossy());
        let own = agent.event_of(payload, given);
        self.known.set(|state| state.event = own);
        let request = match agent.read(payload, given, &defaults) {
            Ok(Some(request)) => Ok(request),
            Ok(None) => return agent.nothing().into(),
            Err(error) => {
                if let ReadError::OtherEvent { .. } = error {
                    // It may be either of the two: the reply has to hold at both.
                    self.known.set(|state| state.event = None);
                }
                Err(error)
            }
        };
        let answer = self.answer_request(payload, request, &here, manager);
        let answer = tokio::time::timeout(self.known.left(), answer).await;
        answer.unwrap_or_else(|_| {
            let what = format!("no answer of the hooks within {:?}", self.known.whole());
            self.known.failed(&what).into()
        })
    }

    async fn answer_request<M, E>(
        &self,
        payload: &[u8],
        request: Result<Request, ReadError>,
        here: &Path,
        manager: M,
    ) -> Answer
    where
        M: AsyncFnOnce(&Path) -> Result<Manager, E>,
        E: fmt::Display,
    {
        let says = request.as_ref().ok().map(|request| PathBuf::from(&request.event.context.cwd));
        let root = request.as_ref().ok().and_then(|request| request.root.clone());
        let directory = self.directory(root.as_deref().or(says.as_deref())).unwrap_or(here);
        let manager = match manager(directory).await {
            Ok(manager) => manager,
            Err(error) => {
                return self.known.failed(&format!("hookbox cannot find the hooks: {error}")).into();
            }
        };
        let event = self.known.event().map(|event| event.event.event_name());
        self.known.set(|state| state.policy = manager.on_failure(event.as_ref()));
        // Not if the user's hooks may be elsewhere: this entry then says so.
        if manager.problems().is_empty() && is_judged_by_own_entry(self.known.agent(), payload) {
            return self.known.agent().nothing().into();
        }
        let request = match request {
            Ok(request) => request,
            Err(error) => return self.known.failed(&error.to_string()).into(),
        };
        Steps::new(&self.known, &manager, request).answer(self.stale(says.as_deref()), directory).await
    }

    /// Returns the directory from which hooks are looked for, if the agent names one. A directory that is
    /// gone still names the repository around it: removing a subdirectory must not take the repository's
    /// guards away.
    fn directory<'a>(&'a self, says: Option<&'a Path>) -> Option<&'a Path> {
        let named = |it: &&Path| it.is_absolute();
        let project = self.project.as_deref().filter(named);
        project.filter(|it| it.is_dir()).or_else(|| says.filter(named)).or(project)
    }

    /// Returns the problem with the directory of the project. The agent sets the variable for each command,
    /// so it is trusted; only at the start of a session the working directory must be in it.
    fn stale(&self, says: Option<&Path>) -> Option<String> {
        let (project, variable) =
            (self.project.as_deref()?, self.known.agent().project_variable().unwrap_or("the project"));
        let shown = |path: &Path| text::escape(&path.to_string_lossy(), 500);
        if !project.is_dir() {
            return Some(format!("{variable} is {:?}, which is not a directory: not used", shown(project)));
        }
        let says = says.filter(|says| self.known.begins_session() && says.is_dir())?;
        let whole = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if whole(says).starts_with(whole(project)) {
            return None;
        }
        let (project, says) = (shown(project), shown(says));
        Some(format!("hooks are looked for from {project} ({variable}), and the session begins in {says}"))
    }
}
