//! A server: started at its first use and kept; started again when it has ended, but once for an event.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use rmcp::model::CallToolResult;
use serde_json::{Map, Value};
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout, timeout_at};

use crate::event::{Context, Event};
use crate::hook::{Budget, HookError};
use crate::mcp::ServerConfig;
use crate::mcp::connection::{Connection, Failed};
use crate::mcp::life::Life;
use crate::outcome::Spent;
use crate::report::Cause;
use crate::text;

/// How long a server may take to start. A call waits for it only as long as its own limit; but the start goes on, so
/// that a slow server is there for a later event.
const START: Duration = Duration::from_secs(30);

/// For how long it is remembered that a server was started again for an event: longer than a chain takes. It is
/// forgotten sooner when the event is over.
const REMEMBERED: Duration = Duration::from_secs(120);

/// A server. It starts when a tool of it is called first.
pub struct Server {
    config: ServerConfig,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    current: Option<Arc<Run>>,
    /// The events for which it was started again: by their contexts, which every event has of its own and shares with
    /// the `on_error` that follows from it.
    restarted: Vec<(Weak<Context>, Instant)>,
    /// Why it was of no use when it was used last.
    why: Option<HookError>,
}

/// What a call brought.
pub(super) struct Answered {
    pub(super) result: CallToolResult,
    /// What the server wrote to standard error since the call before.
    pub(super) log: String,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Server").field(&self.config.name).finish()
    }
}

impl Server {
    pub(super) fn new(config: ServerConfig) -> Self {
        Self { config, state: Mutex::default() }
    }

    /// A server that several hooks share. Nothing is started.
    pub(crate) fn shared(config: ServerConfig) -> Result<Arc<Self>, HookError> {
        Ok(Arc::new(Self::new(config)))
    }

    /// How it is reached.
    pub fn config(&self) -> &ServerConfig {
        &self.config
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends it now, with its process group; it is started anew when it is used again.
    pub fn end(&self) {
        let current = self.state().current.take();
        if let Some(run) = current {
            run.end();
        }
    }

    /// Calls a tool until the deadline, which covers the start of the server.
    pub(super) async fn call(
        &self,
        event: &Event,
        tool: &str,
        arguments: Map<String, Value>,
        budget: &Budget,
        deadline: Instant,
    ) -> Result<Answered, HookError> {
        let call = self.begin(event, budget.output)?;
        let run = Arc::clone(&call.run);
        let called = timeout_at(deadline, async {
            let connection = run.ready().await.map_err(|error| Failed { error, over: true })?;
            connection.call(tool, arguments, budget.output).await
        });
        let failed = match called.await {
            Ok(Ok(result)) => {
                call.finish(None);
                return Ok(Answered { result, log: run.life.take_log(budget.log) });
            }
            Ok(Err(Failed { error, over })) => {
                call.finish(over.then(|| error.clone()));
                error
            }
            Err(_) => {
                let mut error = HookError::timeout(budget.wall);
                error.message = match run.is_started() {
                    true => run.life.explain(error.message),
                    false => run.life.explain(format!("{}: its server is still starting", error.message)),
                };
                error
            }
        };
        let spent = Spent { log: run.life.take_log(budget.log), ..Spent::default() };
        Err(failed.spent(spent))
    }

    /// A call on the server that runs, or on one that is started now.
    fn begin(&self, event: &Event, limit: usize) -> Result<Call<'_>, HookError> {
        let mut state = self.state();
        let run = match &state.current {
            Some(run) if !run.is_over() => Arc::clone(run),
            Some(run) => {
                let why = run.failure().or_else(|| state.why.take());
                state.note_restart(event, why)?;
                self.start(&mut state, limit)
            }
            None => self.start(&mut state, limit),
        };
        run.calls.fetch_add(1, Ordering::Relaxed);
        Ok(Call { server: self, run, finished: false })
    }

    fn start(&self, state: &mut State, limit: usize) -> Arc<Run> {
        tracing::debug!(server = %text::escape(&self.config.name, 80), "starting an MCP server");
        let run = Arc::new(Run::start(self.config.clone(), limit));
        state.current = Some(Arc::clone(&run));
        run
    }
}

impl State {
    /// Notes that the server is started again for this event.
    ///
    /// # Errors
    ///
    /// Where it was already: with the cause for which the server was of no use.
    fn note_restart(&mut self, event: &Event, why: Option<HookError>) -> Result<(), HookError> {
        let now = Instant::now();
        self.restarted.retain(|(event, at)| event.strong_count() > 0 && now - *at < REMEMBERED);
        let this = Arc::downgrade(&event.context);
        if self.restarted.iter().any(|(event, _)| event.ptr_eq(&this)) {
            let what = "its server has ended, and was started again for this event already";
            self.why.clone_from(&why);
            return Err(match why {
                Some(why) => HookError::new(why.cause, format!("{what}: {}", why.message)),
                None => HookError::new(Cause::Spawn, what),
            });
        }
        self.restarted.push((this, now));
        Ok(())
    }
}

/// A call that waits. One that is dropped unfinished has no answer yet: its server gets no further calls, so that a late
/// answer is nobody's, and a server that hangs costs one event.
struct Call<'a> {
    server: &'a Server,
    run: Arc<Run>,
    finished: bool,
}

impl Call<'_> {
    /// The call has an answer, or its server is of no use any more for this reason.
    fn finish(mut self, over: Option<HookError>) {
        self.finished = true;
        if let Some(error) = over {
            self.run.retired.store(true, Ordering::Relaxed);
            self.server.state().why = Some(error);
        }
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        // Under the lock, so that nobody begins a call on what is ended here.
        let mut state = self.server.state();
        if !self.finished && self.run.is_started() {
            self.run.retired.store(true, Ordering::Relaxed);
            state.why = Some(HookError::new(Cause::Timeout, "it gave no answer"));
        }
        let last = self.run.calls.fetch_sub(1, Ordering::Relaxed) == 1;
        if last && self.run.retired.load(Ordering::Relaxed) {
            self.run.end();
        }
    }
}

type Opened = Option<Result<Arc<Connection>, HookError>>;

/// A server that was started once.
struct Run {
    life: Arc<Life>,
    opened: watch::Receiver<Opened>,
    task: AbortHandle,
    /// How many calls wait.
    calls: AtomicUsize,
    /// It gets no further calls.
    retired: AtomicBool,
}

impl Run {
    fn start(config: ServerConfig, limit: usize) -> Self {
        let life = Arc::new(Life::default());
        let (sender, opened) = watch::channel(None);
        let begun = Arc::clone(&life);
        let task = tokio::spawn(async move {
            let opening = Connection::open(&config, Arc::clone(&begun), limit);
            let result = timeout(START, opening).await.unwrap_or_else(|_| Err(HookError::timeout(START)));
            let result = result.map(Arc::new).inspect_err(|_| begun.end());
            sender.send_replace(Some(result));
        });
        Self {
            life,
            opened,
            task: task.abort_handle(),
            calls: AtomicUsize::new(0),
            retired: AtomicBool::new(false),
        }
    }

    /// Waits until the server has started.
    async fn ready(&self) -> Result<Arc<Connection>, HookError> {
        let mut opened = self.opened.clone();
        let found = opened.wait_for(Option::is_some).await.ok().and_then(|found| (*found).clone());
        found.unwrap_or_else(|| Err(HookError::new(Cause::Exit, "its server was ended while it started")))
    }

    fn is_started(&self) -> bool {
        self.opened.borrow().is_some()
    }

    /// Why it could not be started.
    fn failure(&self) -> Option<HookError> {
        self.opened.borrow().as_ref().and_then(|opened| opened.as_ref().err().cloned())
    }

    /// Whether it takes no further calls.
    fn is_over(&self) -> bool {
        let opened = match &*self.opened.borrow() {
            Some(Ok(connection)) => connection.is_over(),
            Some(Err(_)) => true,
            // Its task is gone with the runtime that it ran on.
            None => self.opened.has_changed().is_err(),
        };
        opened || self.retired.load(Ordering::Relaxed)
    }

    fn end(&self) {
        self.task.abort();
        if let Some(Ok(connection)) = &*self.opened.borrow() {
            connection.end();
        }
        self.life.end();
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.end();
    }
}
