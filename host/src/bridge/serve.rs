//! One event of another agent: from what it wrote to what it gets.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::dialect::agent::{Agent, AgentEvent, ReadError, Reply, Request};
use crate::event::{Context, EventName};
use crate::hook::OnFailure;
use crate::manager::Manager;
use crate::outcome::Warning;
use crate::text;

/// What is known of an event so far; who waits for the answer can answer with it where no answer comes.
#[derive(Clone, Debug)]
pub struct Known {
    agent: Agent,
    state: Arc<Mutex<State>>,
}

#[derive(Clone, Copy, Debug)]
struct State {
    event: Option<&'static AgentEvent>,
    /// What the hooks ask for. Until they are found nobody knows that there is no guard among them.
    policy: OnFailure,
}

impl Known {
    fn new(agent: Agent, event: Option<&str>) -> Self {
        let state = State { event: event.and_then(|name| agent.event(name)), policy: OnFailure::Block };
        Self { agent, state: Arc::new(Mutex::new(state)) }
    }

    fn set(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// The reply where there is no verdict, for this reason: by the failure policy of the hooks that are concerned, and
    /// a block where they were not found yet.
    pub fn failed(&self, what: &str) -> Reply {
        let State { event, policy } = *self.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.agent.failed(event.map(|event| event.name), policy, what)
    }
}

/// Answers one event of an agent.
///
/// ```
/// use hookbox::bridge::Bridge;
/// use hookbox::dialect::agent::Agent;
/// use hookbox::manager::Manager;
/// use hookbox::{EventName, Outcome};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let bridge = Bridge::new(Agent::Codex, None);
/// let stdin = br#"{"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash", "tool_input": {"command": "ls"}}"#;
/// let no_hooks = async |_: &std::path::Path| Ok::<_, std::io::Error>(Manager::empty());
/// let reply = bridge.answer(stdin, no_hooks).await;
/// assert_eq!((reply.exit_code, reply.stdout.as_str()), (0, ""));
/// # }
/// ```
#[derive(Debug)]
pub struct Bridge {
    agent: Agent,
    event: Option<String>,
    deadline: Duration,
    project: Option<PathBuf>,
    began: Instant,
    known: Known,
}

impl Bridge {
    /// How long an event may take where nobody says otherwise: less than the agents wait by default, and than the 20
    /// or 30 s that many configurations say.
    pub const DEADLINE: Duration = Duration::from_secs(15);

    /// For an agent; `event` is its own name of the event, where the command line says it. The clock starts here.
    pub fn new(agent: Agent, event: Option<String>) -> Self {
        let known = Known::new(agent, event.as_deref());
        let deadline = match (agent, event.as_deref()) {
            // These wait no longer, whatever the configuration says of a hook.
            (Agent::Claude, Some("SessionEnd")) => Duration::from_millis(1200),
            (Agent::Codex, Some("SessionEnd")) => Duration::from_millis(2500),
            _ => Self::DEADLINE,
        };
        Self { agent, event, deadline, project: None, began: Instant::now(), known }
    }

    /// How long it may take to the answer (default: [`Bridge::DEADLINE`], less at the end of a session).
    #[must_use]
    pub fn deadline(self, deadline: Duration) -> Self {
        Self { deadline, ..self }
    }

    /// The directory of the agent's project, from which hooks are looked for: a shell in which the model has changed the
    /// directory must not lead away from the repository's guards (default: the working directory that the event names).
    #[must_use]
    pub fn project(self, directory: Option<PathBuf>) -> Self {
        Self { project: directory, ..self }
    }

    /// What is known so far, for who has to answer where [`Bridge::answer`] does not.
    pub fn known(&self) -> Known {
        self.known.clone()
    }

    /// How much time is left.
    pub fn left(&self) -> Duration {
        self.deadline.saturating_sub(self.began.elapsed())
    }

    /// Answers the event that the agent wrote. `manager` looks for the hooks, from a directory.
    ///
    /// An event that hookbox does not have is answered by nothing. What fails, and what is not ready when the time is up,
    /// is answered by the failure policy of the hooks.
    pub async fn answer<M, E>(&self, payload: &[u8], manager: M) -> Reply
    where
        M: AsyncFnOnce(&Path) -> Result<Manager, E>,
        E: fmt::Display,
    {
        let given = self.event.as_deref();
        let here = std::env::current_dir().unwrap_or_default();
        let defaults = Context::new("", here.to_string_lossy());
        let own = self.agent.event_of(payload, given);
        self.known.set(|state| state.event = own);
        let request = match self.agent.read(payload, given, &defaults) {
            Ok(Some(request)) => Ok(request),
            Ok(None) => return self.agent.nothing(),
            Err(error @ ReadError::UnknownEvent { .. }) => {
                let nothing = self.agent.nothing();
                return Reply { stderr: format!("hookbox: {error}\n"), ..nothing };
            }
            Err(error) => Err(error),
        };
        let answer = self.answer_request(request, &here, manager);
        match tokio::time::timeout(self.left(), answer).await {
            Ok(reply) => reply,
            Err(_) => self.known.failed(&format!("no answer of the hooks within {:?}", self.deadline)),
        }
    }

    async fn answer_request<M, E>(
        &self,
        request: Result<Request, ReadError>,
        here: &Path,
        manager: M,
    ) -> Reply
    where
        M: AsyncFnOnce(&Path) -> Result<Manager, E>,
        E: fmt::Display,
    {
        let says = request.as_ref().ok().map(|request| PathBuf::from(&request.event.context.cwd));
        let directory = self.project.clone().or(says).filter(|it| it.is_absolute() && it.is_dir());
        let manager = match manager(directory.as_deref().unwrap_or(here)).await {
            Ok(manager) => manager,
            Err(error) => return self.known.failed(&format!("the hooks cannot be looked for: {error}")),
        };
        let event: Option<EventName> =
            self.known.state.lock().unwrap_or_else(PoisonError::into_inner).event.map(AgentEvent::event_name);
        self.known.set(|state| state.policy = manager.on_failure(event.as_ref()));
        let request = match request {
            Ok(request) => request,
            Err(error) => return self.known.failed(&error.to_string()),
        };
        let session = manager.session(request.event.context.conversation_id.clone());
        let mut fired = session.fire_event(request.event.clone()).await;
        let noted = request.notes.iter().cloned().chain(problems(&manager, &request));
        fired.verdict.warnings.extend(noted.map(|text| Warning { hook: None, text }));
        request.answer(&fired.verdict, &fired.event)
    }
}

/// What went wrong while the hooks were looked for: once a session, for the user.
fn problems(manager: &Manager, request: &Request) -> Vec<String> {
    if request.event.name() != EventName::SessionStart {
        return Vec::new();
    }
    let with_hint = |problem: &crate::discovery::Problem| match &problem.hint {
        Some(hint) => text::escape(&format!("{problem}; hint: {hint}"), 1000),
        None => text::escape(&problem.to_string(), 1000),
    };
    manager.problems().iter().map(with_hint).collect()
}
