//! One connection: its calls, its sessions, and the hooks, which are read again after a change.

use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hookbox::dialect::Dialect;
use hookbox::event::InvokedBy;
use hookbox::manager::{Manager, Reload, Watcher};
use hookbox::outcome::Warning;
use hookbox::session::{MAX_FOLLOW_UPS, Session};
use hookbox::{Context, EventName, HookReport, Kind};
use hookbox_system::{json, text};
use serde_json::{Map, Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::unix::OwnedWriteHalf;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{AbortHandle, Id, JoinError, JoinSet};
use tokio::time::{Instant, timeout_at};

use super::messages::{
    BROKEN, BUSY, INVALID, LATE, LEVELS, NO_METHOD, UNREADABLE, WRONG_PARAMS, content, failure, initialized,
    log, success, tool, wrong,
};
use super::verdict;
use crate::error::warn_with_hint;
use crate::given::{self, Given};
use crate::input::MAX_EVENT;
use crate::output;

/// The number of calls that are answered at the same time. Each may hold an instance, or a process.
const MAX_CALLS: usize = 256;

/// The number of those calls of one session, which wait for each other: they must not take the places of all others.
const MAX_OF_SESSION: usize = 64;

/// The number of open sessions. Beyond it the session that was used least recently is closed.
const MAX_SESSIONS: usize = 10_000;

/// The keys of a call's `_meta`.
const DEADLINE: &str = "hookbox/deadline_ms";
const PARENT: &str = "hookbox/parent";

/// A request that cannot be answered: the code, and the message.
type Refusal = (i64, String);

pub(super) struct Server {
    client: Client,
    manager: Manager,
    watcher: Option<Watcher>,
    /// True after a hook that may have changed hooks: the watcher hears of it too late for an event that follows at once.
    is_unsettled: Arc<AtomicBool>,
    /// The context of an event that does not name its conversation or directory.
    defaults: Context,
    sessions: HashMap<String, Open>,
    /// The number of calls so far.
    count: u64,
    calls: JoinSet<()>,
    running: HashMap<Id, Running>,
    /// The answers in their order, each with the changes of the hooks before it.
    answers: (mpsc::UnboundedSender<Answer>, mpsc::UnboundedReceiver<Answer>),
    /// The least severe level that the client wants to read; `None` before `initialize`, when it expects only answers.
    level: Option<usize>,
}

type Answer = (Value, Option<Reload>);

/// A call that has no answer yet.
struct Running {
    /// The id of its request.
    id: Value,
    call: AbortHandle,
    session: String,
    /// The number of the call, if it ends the session.
    ends: Option<u64>,
}

/// The place of an event among those of its session.
struct Turn {
    /// Ends with the event before; `None` if it is over.
    before: Option<oneshot::Receiver<()>>,
    /// Its end lets the next event run.
    done: Option<oneshot::Sender<()>>,
}

impl Turn {
    /// Waits for the event before. Returns false if it is not over by then.
    async fn comes(&mut self, end: Option<Instant>) -> bool {
        let Some(before) = &mut self.before else { return true };
        // The receiver ends with an error, because nothing is sent.
        let is_over = match end {
            Some(end) => timeout_at(end, before).await.is_ok(),
            None => before.await.is_err(),
        };
        self.before = self.before.take().filter(|_| !is_over);
        is_over
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        // The next event of one that was cancelled while it waited waits for the one before.
        if let (Some(before), Some(done)) = (self.before.take(), self.done.take()) {
            tokio::spawn(async move {
                before.await.ok();
                drop(done);
            });
        }
    }
}

/// An open session.
struct Open {
    session: Session,
    /// Ends with the last event of this session: its events are answered in their order.
    last: oneshot::Receiver<()>,
    /// The number of the last call.
    used: u64,
}

impl Server {
    pub(super) fn new(client: Client, manager: Manager) -> Self {
        // If the system cannot watch files, hooks are read again before each event.
        let watcher = manager.watch().ok();
        let (sessions, calls, running) = (HashMap::new(), JoinSet::new(), HashMap::new());
        Self {
            client,
            manager,
            watcher,
            is_unsettled: Arc::default(),
            defaults: given::context(),
            sessions,
            count: 0,
            calls,
            running,
            answers: mpsc::unbounded_channel(),
            level: None,
        }
    }

    /// Answers messages until the client has closed the connection and each of its calls has an answer.
    pub(super) async fn serve(
        mut self,
        mut lines: mpsc::Receiver<io::Result<Vec<u8>>>,
    ) -> anyhow::Result<()> {
        let mut is_open = true;
        while is_open || !self.calls.is_empty() || !self.answers.1.is_empty() {
            tokio::select! {
                biased;
                Some((answer, reload)) = self.answers.1.recv() => {
                    if let Some(reload) = reload {
                        self.tell(&reload).await?;
                    }
                    self.client.say(&answer).await?;
                }
                Some(done) = self.calls.join_next_with_id() => {
                    if let Some(answer) = self.ended(done) {
                        self.client.say(&answer).await?;
                    }
                }
                line = lines.recv(), if is_open => match line {
                    None => is_open = false,
                    Some(Err(error)) => {
                        self.client.say(&failure(&Value::Null, UNREADABLE, &error.to_string())).await?;
                    }
                    Some(Ok(line)) => {
                        if let Some(answer) = self.receive(&line) {
                            self.client.say(&answer).await?;
                        }
                    }
                },
                reload = next(&mut self.watcher) => self.tell(&reload).await?,
            }
        }
        Ok(())
    }

    /// Answers a message, or begins its call. A notification and an answer of the client get none.
    fn receive(&mut self, line: &[u8]) -> Option<Value> {
        if line.trim_ascii().is_empty() {
            return None;
        }
        let message = match json::object(line) {
            Ok(message) => message,
            Err(error) => {
                // JSON that is not a request has a code of its own.
                let code = serde_json::from_slice::<Value>(line).map_or(UNREADABLE, |_| INVALID);
                return Some(failure(&Value::Null, code, &error.to_string()));
            }
        };
        let field = |name: &str| message.iter().rev().find(|(found, _)| found == name).map(|(_, raw)| raw);
        let method = field("method").map(|raw| json::value(raw));
        let params = field("params").and_then(|raw| json::object(raw.get().as_bytes()).ok());
        let params: Map<String, Value> =
            params.unwrap_or_default().iter().map(|(name, raw)| (name.clone(), json::value(raw))).collect();
        let Some(id) = field("id").map(|raw| json::value(raw)) else {
            if method.as_ref().and_then(Value::as_str) == Some("notifications/cancelled") {
                self.cancel(params.get("requestId"));
            }
            return None;
        };
        let Some(method) = method.as_ref().and_then(Value::as_str) else {
            let is_answer = field("result").is_some() || field("error").is_some();
            return (!is_answer).then(|| failure(&id, INVALID, "the message has no method"));
        };
        let result = match method {
            "initialize" => Ok(self.initialize(&params)),
            "ping" => Ok(json!({})),
            "logging/setLevel" => self.set_level(&params),
            "tools/list" => Ok(json!({ "tools": EventName::ALL.iter().map(tool).collect::<Vec<_>>() })),
            "tools/call" => match self.call(&id, params) {
                Ok(None) => return None,
                Ok(Some(result)) => Ok(result),
                Err(refusal) => Err(refusal),
            },
            _ => Err((NO_METHOD, format!("this server has no method {:?}", text::escape(method, 80)))),
        };
        Some(match result {
            Ok(result) => success(&id, result),
            Err((code, message)) => failure(&id, code, &message),
        })
    }

    /// Notes the agent, and describes this server.
    fn initialize(&mut self, params: &Map<String, Value>) -> Value {
        let client = params.get("clientInfo").and_then(|it| it.get("name")).and_then(Value::as_str);
        self.defaults.agent = client.map(|it| text::escape(it, 80));
        self.level = Some(0);
        let about = json!({
            "verdict_version": verdict::VERSION,
            "directory": self.defaults.cwd,
            "repository": self.manager.repository(),
            "hooks": self.manager.hooks().len(),
            "problems": self.manager.problems().len(),
            "limits": {
                "calls": MAX_CALLS,
                "calls_of_session": MAX_OF_SESSION,
                "sessions": MAX_SESSIONS,
                "message_bytes": MAX_EVENT,
                "follow_ups": MAX_FOLLOW_UPS,
            },
        });
        initialized(params, about)
    }

    fn set_level(&mut self, params: &Map<String, Value>) -> Result<Value, Refusal> {
        let level = params.get("level").and_then(Value::as_str);
        let found = level.and_then(|level| LEVELS.iter().position(|it| *it == level));
        let wrong = || (WRONG_PARAMS, format!("level: expected one of {}", LEVELS.join(", ")));
        self.level = Some(found.ok_or_else(wrong)?);
        Ok(json!({}))
    }

    /// Begins the event that a tool is named after, and returns the result if it has one already. Data that is not the
    /// event's is an error of the tool: the agent must not go on, because no hook ran.
    fn call(&mut self, id: &Value, mut params: Map<String, Value>) -> Result<Option<Value>, Refusal> {
        if self.calls.len() >= MAX_CALLS {
            return Err((BUSY, format!("{MAX_CALLS} calls are not answered yet: call again later")));
        }
        let tool = params.get("name").and_then(Value::as_str).unwrap_or_default();
        let Some(name) = EventName::ALL.into_iter().find(|name| name.as_str() == tool) else {
            return Err((WRONG_PARAMS, format!("there is no tool {:?}", text::escape(tool, 80))));
        };
        let data = match params.remove("arguments") {
            Some(Value::Object(data)) => data,
            None | Some(Value::Null) => Map::new(),
            Some(_) => return Err((WRONG_PARAMS, "the arguments are not an object".to_owned())),
        };
        let meta = |name: &str| params.get("_meta").and_then(|it| it.get(name));
        let deadline = match meta(DEADLINE).map(Value::as_u64) {
            None => None,
            Some(Some(ms @ 1..)) => Some(Duration::from_millis(ms)),
            Some(_) => return Err((WRONG_PARAMS, format!("{DEADLINE}: expected milliseconds, 1 or more"))),
        };
        let Given { mut event, warnings } = match given::event(&name, data, &self.defaults) {
            Ok(given) => given,
            Err(error) => return Ok(Some(wrong(&error))),
        };
        let id_of_session = event.context.conversation_id.clone();
        if self.running.values().filter(|it| it.session == id_of_session).count() >= MAX_OF_SESSION {
            let message =
                format!("{MAX_OF_SESSION} calls of this session are not answered yet: call again later");
            return Err((BUSY, message));
        }
        let parent = match meta(PARENT).map(Value::as_str) {
            None => None,
            // It is not open if the process has started again while its subagent works.
            Some(Some(parent)) => Some(self.open(parent, None).session.clone()),
            Some(None) => return Err((WRONG_PARAMS, format!("{PARENT}: expected the id of a session"))),
        };
        if parent.is_some() {
            Arc::make_mut(&mut event.context).invoked_by = InvokedBy::Subagent;
        }
        let ends = event.name() == EventName::SessionEnd
            && event.context.conversation_id != self.defaults.conversation_id;
        let open = self.open(&id_of_session, parent);
        let (session, ends) = (open.session.clone(), ends.then_some(open.used));
        let (done, last) = oneshot::channel();
        let mut turn = Turn { before: Some(std::mem::replace(&mut open.last, last)), done: Some(done) };
        let end = deadline.and_then(|deadline| Instant::now().checked_add(deadline));
        let latest = self.watcher.as_ref().map(|it| it.latest(&self.manager));
        let manager = self.manager.clone();
        let (is_unsettled, answers) = (Arc::clone(&self.is_unsettled), self.answers.0.clone());
        let request = id.clone();
        let call = self.calls.spawn(async move {
            if !turn.comes(end).await {
                let message = "the deadline passed while another event of the session ran: block the call";
                answers.send((failure(&request, LATE, message), None)).ok();
                return;
            }
            let left = end.map(|end| end.saturating_duration_since(Instant::now()));
            let session = left.into_iter().fold(session, Session::within);
            let reload = match latest {
                Some(latest) if !is_unsettled.swap(false, Ordering::SeqCst) => latest.catch_up().await,
                _ => Some(manager.reload().await),
            };
            let mut fired = session.fire_event(event).await;
            let is_sandboxed =
                |it: &HookReport| matches!(it.kind, Kind::Component | Kind::Rules | Kind::Builtin);
            if !fired.report.hooks.iter().all(is_sandboxed) {
                is_unsettled.store(true, Ordering::SeqCst);
            }
            fired.verdict.warnings.extend(warnings.into_iter().map(Warning::new));
            given::tell(&fired, &manager.problems());
            let verdict = Dialect::Kodelet.verdict(&fired.verdict, &fired.event);
            let content = [content(&verdict.to_string())];
            let result = json!({ "content": content, "structuredContent": verdict::of(&fired) });
            // An error means that the server ends.
            answers.send((success(&request, result), reload)).ok();
            drop(turn);
        });
        self.running.insert(call.id(), Running { id: id.clone(), call, session: id_of_session, ends });
        Ok(None)
    }

    /// Returns the session of this id for one more use. Opens it if it is not open, below this parent.
    fn open(&mut self, id: &str, parent: Option<Session>) -> &mut Open {
        self.count += 1;
        if !self.sessions.contains_key(id) && self.sessions.len() >= MAX_SESSIONS {
            // One whose event runs is not closed: its next event would not wait for it.
            let busy: HashSet<&String> = self.running.values().map(|it| &it.session).collect();
            let idle = self.sessions.iter().filter(|(id, _)| !busy.contains(id));
            if let Some(oldest) = idle.min_by_key(|(_, open)| open.used).map(|(id, _)| id.clone()) {
                self.sessions.remove(&oldest);
            }
        }
        let (manager, used) = (&self.manager, self.count);
        let open = self.sessions.entry(id.to_owned()).or_insert_with(|| {
            let session = parent.map_or_else(|| manager.session(id), |it| it.subagent(id));
            // No event is before the first one: the receiver without a sender is ready at once.
            Open { session, last: oneshot::channel().1, used }
        });
        open.used = used;
        open
    }

    /// Tells the user of problems, and the client of changes.
    async fn tell(&mut self, reload: &Reload) -> anyhow::Result<()> {
        for problem in &reload.problems {
            warn_with_hint(problem, problem.hint.as_ref());
        }
        if reload.is_empty() {
            return Ok(());
        }
        let level = if reload.problems.is_empty() { "info" } else { "warning" };
        let is_wanted = LEVELS.iter().position(|it| *it == level) >= self.level && self.level.is_some();
        if is_wanted { self.client.say(&log(level, &reload.to_string())).await } else { Ok(()) }
    }

    /// Ends a call that the client does not wait for any more, and the hook that runs. It gets no answer.
    fn cancel(&mut self, id: Option<&Value>) {
        for running in self.running.values().filter(|it| Some(&it.id) == id) {
            running.call.abort();
        }
    }

    /// Forgets a call that is over, and its session if it was the last one. Returns the answer if it has none.
    fn ended(&mut self, done: Result<(Id, ()), JoinError>) -> Option<Value> {
        let task = done.as_ref().map_or_else(JoinError::id, |(task, ())| *task);
        let Running { id, session, ends, .. } = self.running.remove(&task)?;
        if ends.is_some_and(|number| self.sessions.get(&session).is_some_and(|it| it.used == number)) {
            self.sessions.remove(&session);
        }
        let has_failed = done.is_err_and(|error| error.is_panic());
        has_failed.then(|| failure(&id, BROKEN, "the call failed inside hookbox"))
    }
}

/// Waits for the next change of the hooks.
async fn next(watcher: &mut Option<Watcher>) -> Reload {
    if let Some(watcher) = watcher
        && let Some(reload) = watcher.next().await
    {
        return reload;
    }
    std::future::pending().await
}

/// The way of the answers to the client.
pub(super) enum Client {
    Stdout,
    Socket(OwnedWriteHalf),
}

impl Client {
    /// Sends a message in one line. A client of a socket that does not read holds up its own answers only.
    pub(super) async fn say(&mut self, message: &Value) -> anyhow::Result<()> {
        let line = text::escape_json(&message.to_string());
        match self {
            Self::Stdout => output::line(&line).map(drop),
            Self::Socket(socket) => Ok(socket.write_all(format!("{line}\n").as_bytes()).await?),
        }
    }
}
