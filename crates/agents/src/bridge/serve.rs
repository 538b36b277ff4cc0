//! Answers one event of another agent.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::follow_ups::FollowUps;
use super::notes::{problems, signed, untrusted};
use super::sessions::Note;
use super::told::Told;
use crate::agent::failed_calls::Withheld;
use crate::agent::{Agent, AgentEvent, EventKind, ReadError, Reply, Request};
use crate::event::{AgentStop, Context, Event, EventData, EventName, InvokedBy};
use crate::hook::OnFailure;
use crate::manager::Manager;
use crate::outcome::Warning;
use crate::session::Fired;
use crate::session::{Checkout, Decided, MAX_FOLLOW_UPS};
use crate::text;

/// The facts about an event so far, to answer it if [`Bridge::answer`] does not.
#[derive(Clone, Debug)]
pub struct Known {
    agent: Agent,
    state: Arc<Mutex<State>>,
}

#[derive(Clone, Debug)]
struct State {
    event: Option<&'static AgentEvent>,
    /// The failure policy of the hooks. Until they are found, there may be a guard among them.
    policy: OnFailure,
    /// True if outputs of failed calls wait for the hooks.
    withholds: bool,
    /// The decision of the hooks.
    ruling: Option<Reply>,
}

impl Known {
    fn new(agent: Agent, event: Option<&str>) -> Self {
        let event = event.and_then(|name| agent.event(name));
        let state = State { event, policy: OnFailure::Block, withholds: false, ruling: None };
        Self { agent, state: Arc::new(Mutex::new(state)) }
    }

    fn set(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn get(&self) -> State {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sets the reply that holds unless another one follows.
    pub(super) fn rule(&self, reply: Reply) {
        self.set(|state| state.ruling = Some(reply));
    }

    /// Returns the reply if [`Bridge::answer`] gave none, for this reason: the decision of the hooks, if
    /// there is one; otherwise the failure policy of the event's hooks, and a block before they are found.
    pub fn failed(&self, what: &str) -> Reply {
        let State { event, policy, withholds, ruling } = self.get();
        ruling.unwrap_or_else(|| match event.filter(|_| withholds) {
            Some(event) => self.agent.failed_batch(event, policy, what),
            None => self.agent.failed(event.map(|event| event.name), policy, what),
        })
    }
}

/// The reply to an agent, and the work that remains after it.
#[derive(Debug)]
#[must_use]
pub struct Answer {
    /// The reply.
    pub reply: Reply,
    rest: Vec<Decided>,
    /// The time for the rest.
    left: Duration,
}

impl Answer {
    /// Runs the hooks that follow an event ([`Decided::follow_up`]), in half of the time that is left,
    /// because the agent may wait for the end of the process. Returns their warnings for the user.
    pub async fn follow_up(self) -> Vec<String> {
        let until = Instant::now() + self.left / 2;
        let mut said = Vec::new();
        for rest in self.rest {
            let told = rest.fired().verdict.warnings.len();
            let left = until.saturating_duration_since(Instant::now());
            // The agent has its answer: these hooks cannot inject text.
            let mut rest = rest.within(left * 9 / 10);
            let _ = tokio::time::timeout(left, rest.follow_up()).await;
            let warnings = rest.into_fired().verdict.warnings.into_iter().skip(told);
            said.extend(warnings.map(|warning| text::escape(&warning.text, 4_000)));
        }
        said
    }
}

impl From<Reply> for Answer {
    fn from(reply: Reply) -> Self {
        Self { reply, rest: Vec::new(), left: Duration::ZERO }
    }
}

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
    agent: Agent,
    event: Option<String>,
    deadline: Duration,
    project: Option<PathBuf>,
    began: Instant,
    known: Known,
}

impl Bridge {
    /// The default time for an event: less than the agents wait by default, and less than the 20 or 30 s of
    /// many configurations.
    pub const DEADLINE: Duration = Duration::from_secs(15);

    /// Creates a bridge for an agent, and starts its clock. `event` is the agent's own name of the event,
    /// from the command line.
    pub fn new(agent: Agent, event: Option<String>) -> Self {
        let known = Known::new(agent, event.as_deref());
        Self { agent, event, deadline: Self::DEADLINE, project: None, began: Instant::now(), known }
    }

    /// Sets the time to the answer (default: [`Bridge::DEADLINE`]). At the end of a session it is less:
    /// Claude Code and Codex wait 1.5 and 3 s then.
    #[must_use]
    pub fn deadline(self, deadline: Duration) -> Self {
        Self { deadline, ..self }
    }

    /// Returns the agent.
    pub fn agent(&self) -> Agent {
        self.agent
    }

    /// Sets the directory of the agent's project ([`Agent::project_variable`]), from which hooks are found. A
    /// model that changes the directory of its shell must not escape the repository's guards. The default is
    /// the working directory of the event, then that of the process. A path that is not a directory is
    /// ignored, with a warning.
    #[must_use]
    pub fn project(self, directory: Option<PathBuf>) -> Self {
        Self { project: directory, ..self }
    }

    /// Returns the facts about the event so far, to answer it if [`Bridge::answer`] does not.
    pub fn known(&self) -> Known {
        self.known.clone()
    }

    /// Returns true if the event is the start of a session, as far as it was read.
    pub fn begins_session(&self) -> bool {
        self.known.get().event.is_some_and(|event| event.event == EventKind::SessionStart)
    }

    /// Returns the time that is left.
    pub fn left(&self) -> Duration {
        self.whole().saturating_sub(self.began.elapsed())
    }

    /// Returns the time for this event.
    fn whole(&self) -> Duration {
        let brief = self.known.get().event.and_then(|event| self.agent.spec().brief_wait(event.name));
        // A fifth is for the start of the process.
        brief.map_or(self.deadline, |brief| self.deadline.min(brief * 4 / 5))
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
        let given = self.event.as_deref();
        let here = std::env::current_dir().unwrap_or_default();
        let defaults = Context::new("", here.to_string_lossy());
        let own = self.agent.event_of(payload, given);
        self.known.set(|state| state.event = own);
        let request = match self.agent.read(payload, given, &defaults) {
            Ok(Some(request)) => Ok(request),
            Ok(None) => return self.agent.nothing().into(),
            Err(error) => {
                if let ReadError::OtherEvent { .. } = error {
                    // It may be either of the two: the reply has to hold at both.
                    self.known.set(|state| state.event = None);
                }
                Err(error)
            }
        };
        let answer = self.answer_request(request, &here, manager);
        match tokio::time::timeout(self.left(), answer).await {
            Ok(answer) => answer,
            Err(_) => self.known.failed(&format!("no answer of the hooks within {:?}", self.whole())).into(),
        }
    }

    async fn answer_request<M, E>(
        &self,
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
                return self.known.failed(&format!("the hooks cannot be looked for: {error}")).into();
            }
        };
        let event: Option<EventName> = self.known.get().event.map(|event| event.event.event_name());
        self.known.set(|state| state.policy = manager.on_failure(event.as_ref()));
        let mut request = match request {
            Ok(request) => request,
            Err(error) => return self.known.failed(&error.to_string()).into(),
        };
        let standing: Vec<String> =
            self.stale(says.as_deref()).into_iter().chain(problems(&manager, false)).collect();
        let off = problems(&manager, true);
        self.note_session(&manager, &request, directory);
        set_checkout(&mut request, directory);
        let count = self.follow_ups(&manager, &mut request);
        let id = request.event.context.conversation_id.clone();
        let is_try = id == super::doctor::SESSION;
        let session = manager.session(id);
        let session = if is_try { session.without_allowances() } else { session };
        // A tenth is for what comes before and after the hooks. The look into what is not trusted is on its
        // own clock.
        let look = manager.untrusted_time();
        let session = session.within((self.left() + look) * 9 / 10).untrusted_took(look);
        let mut decided = session.decide(request.event.clone()).await;
        let fired = decided.fired_mut();
        if let Some(count) = count {
            keep(&count, fired);
        }
        let data = manager.trust_file();
        let session = &request.event.context.conversation_id;
        let told = Told::of(data.as_ref().map(|file| file.directory()), self.agent, session);
        if let (EventData::BeforeToolCall(call), true) = (&fired.event.data, fired.verdict.block.is_some()) {
            told.block(call);
        }
        // A blocked call did not happen, and the batch has it among its failed ones.
        request.failed.retain(|result| !told.has_blocked(&result.call));
        let (withheld, mut rest) = self.judge_failed(&manager, &mut request, fired).await;
        let mut shown = request.notes.clone();
        // The user hears once in a session of an untrusted hook and of a broken file: each event finds them anew.
        let standing: Vec<String> = standing.into_iter().chain(untrusted(fired, &manager)).collect();
        if request.event.name() == EventName::SessionStart {
            told.forget();
            let warned = fired.verdict.warnings.iter().map(|warning| &warning.text);
            let _ = told.unheard(warned.chain(&standing).cloned().collect());
            shown.extend(standing);
        } else {
            shown.extend(told.unheard(standing));
        }
        let warning = |text: String| Warning::new(text);
        fired.verdict.warnings.extend(shown.into_iter().map(warning));
        // They are first, so that the others do not push them out of sight.
        fired.verdict.warnings.splice(0..0, off.into_iter().map(warning));
        signed(&mut fired.verdict, &manager);
        let data = data.as_ref().map(|file| file.directory()).filter(|_| !is_try);
        let asked = self.ask_elsewhere(data, &request, fired).await;
        let mut reply = request.answer_with(&fired.verdict, &fired.event, withheld);
        asked.iter().for_each(|note| reply.note(note));
        self.known.rule(reply.clone());
        rest.insert(0, decided);
        Answer { reply, rest, left: self.left() }
    }

    /// Lets the hooks after a call judge the failed calls of a batch. Their warnings and texts join those of the event.
    async fn judge_failed(
        &self,
        manager: &Manager,
        request: &mut Request,
        of_batch: &mut Fired,
    ) -> (Withheld, Vec<Decided>) {
        let (mut withheld, mut rest) = (Withheld::default(), Vec::new());
        let policy = manager.on_failure(Some(&EventName::AfterToolCall));
        for result in std::mem::take(&mut request.failed) {
            self.known.set(|state| (state.policy, state.withholds) = (policy, true));
            // The payload is one of the batch.
            let mut context = Context::clone(&request.event.context);
            context.payload = None;
            let session = manager.session(context.conversation_id.clone()).within(self.left() * 9 / 10);
            let decided = session
                .decide(Event { context: Arc::new(context), data: EventData::AfterToolCall(result) })
                .await;
            let fired = decided.fired();
            withheld.add(self.agent.spec(), &fired.verdict, &fired.event, policy);
            of_batch.verdict.warnings.extend(fired.verdict.warnings.iter().cloned());
            of_batch.verdict.context.extend(fired.verdict.context.iter().cloned());
            rest.push(decided);
        }
        (withheld, rest)
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
            (self.project.as_deref()?, self.agent.project_variable().unwrap_or("the project"));
        let shown = |path: &Path| text::escape(&path.to_string_lossy(), 500);
        if !project.is_dir() {
            return Some(format!("{variable} is {:?}, which is not a directory: not used", shown(project)));
        }
        let says = says.filter(|says| self.begins_session() && says.is_dir())?;
        let whole = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if whole(says).starts_with(whole(project)) {
            return None;
        }
        let (project, says) = (shown(project), shown(says));
        Some(format!("hooks are looked for from {project} ({variable}), and the session begins in {says}"))
    }

    /// Notes that the session is open, or that it has ended, for commands that ask whether an agent works
    /// here.
    fn note_session(&self, manager: &Manager, request: &Request, directory: &Path) {
        let Some(file) = manager.trust_file() else { return };
        let session = &request.event.context.conversation_id;
        let Some(note) = Note::of(file.directory(), self.agent, session) else { return };
        if request.event.name() == EventName::SessionEnd {
            return note.close();
        }
        let repository = manager.repository();
        note.open(repository.as_deref().unwrap_or(directory), self.begins_session());
    }

    /// Notes how often hooks made the agent go on so far, unless the agent counts that itself.
    fn follow_ups(&self, manager: &Manager, request: &mut Request) -> Option<FollowUps> {
        let context = &request.event.context;
        let EventData::AgentStop(AgentStop { follow_ups, .. }) = &mut request.event.data else { return None };
        let goes_on = request.goes_on;
        if self.agent.spec().counts_follow_ups {
            return None;
        }
        let data = manager.trust_file();
        let is_subagent = context.invoked_by == InvokedBy::Subagent;
        let data = data.as_ref().map(|file| file.directory());
        let count = FollowUps::of(data, self.agent, &context.conversation_id, is_subagent, goes_on);
        *follow_ups = count.so_far();
        Some(count)
    }
}

/// Sets the repository and branch of the directory from which hooks are looked for. The working directory of
/// the event follows the model's `cd`.
fn set_checkout(request: &mut Request, directory: &Path) {
    let context = Arc::make_mut(&mut request.event.context);
    let Checkout { repository, branch } = Checkout::of(directory);
    (context.repository, context.branch) = (repository, branch);
}

/// Counts that hooks make the agent go on. Messages that cannot be counted, or are too many, are not applied.
fn keep(count: &FollowUps, fired: &mut Fired) {
    if fired.verdict.follow_ups.is_empty() {
        return;
    }
    let why = match count.add() {
        Ok(number) if number <= MAX_FOLLOW_UPS => return,
        Ok(_) => format!("more than {MAX_FOLLOW_UPS} times in a row"),
        Err(error) => format!("and how often cannot be kept ({error})"),
    };
    fired.verdict.follow_ups.clear();
    let text = format!("a hook makes the agent go on, {why}: not applied");
    fired.verdict.warnings.push(Warning::new(text));
}
