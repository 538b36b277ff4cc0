//! A server: started by its first call and kept. A server that has ended is started again, once for each
//! event.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

use rmcp::model::CallToolResult;
use serde_json::{Map, Value};
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout, timeout_at};

use crate::event::{Context, Event};
use crate::hook::{Budget, Cause, HookError};
use crate::mcp::ServerConfig;
use crate::mcp::connection::{Connection, Failed};
use crate::mcp::process::ServerProcess;
use crate::outcome::Spent;
use hookbox_system::{mutex, text};

/// The longest start of a server. A call waits only for its own limit; the start goes on, so that a slow
/// server serves a later event.
const START: Duration = Duration::from_secs(30);

/// The time for which a restart for an event is remembered: longer than a chain takes. It is forgotten sooner
/// if the event is over.
const REMEMBERED: Duration = Duration::from_secs(120);

/// A server. The first call of one of its tools starts it.
pub struct Server {
    config: ServerConfig,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    current: Option<Arc<Run>>,
    /// The events that caused a restart, by their contexts: an event shares its context only with its
    /// `on_error`.
    restarted: Vec<(Weak<Context>, Instant)>,
    /// The failure of the last call after which the server took no further calls.
    why: Option<HookError>,
}

/// The result of a call.
pub(super) struct Answered {
    pub(super) result: CallToolResult,
    /// The server's standard error since the call before.
    pub(super) log: String,
}

debug_by!(Server, config.name);

impl Server {
    pub(super) fn new(config: ServerConfig) -> Self {
        Self { config, state: Mutex::default() }
    }

    /// Makes a server that several hooks share. Starts nothing.
    pub(crate) fn shared(config: ServerConfig) -> Result<Arc<Self>, HookError> {
        Ok(Arc::new(Self::new(config)))
    }

    /// The configuration.
    pub fn config(&self) -> &ServerConfig {
        &self.config
    }

    fn state(&self) -> MutexGuard<'_, State> {
        mutex::lock(&self.state)
    }

    /// Ends the server now, with its process group. The next call starts it again.
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
                return Ok(Answered { result, log: run.process.take_log(budget.log) });
            }
            Ok(Err(Failed { error, over })) => {
                call.finish(over.then(|| error.clone()));
                error
            }
            Err(_) => {
                let mut error = HookError::timeout(budget.wall);
                error.message = match run.is_started() {
                    true => run.process.explain(error.message),
                    false => run.process.explain(format!("{}: its server is still starting", error.message)),
                };
                error
            }
        };
        let spent = Spent { log: run.process.take_log(budget.log), ..Spent::default() };
        Err(failed.spent(spent))
    }

    /// Begins a call on the running server, or starts one.
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
    /// Notes a restart for this event.
    ///
    /// # Errors
    ///
    /// If there was one already: with the cause of the last failure.
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

/// A call that waits. If it is dropped without an answer, its server gets no further calls: a late answer
/// belongs to no call, and a server that hangs costs one event.
struct Call<'a> {
    server: &'a Server,
    run: Arc<Run>,
    finished: bool,
}

impl Call<'_> {
    /// Ends the call: with an answer, or with the reason why its server gets no further calls.
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
        // Under the lock, so that no call begins on a server that ends here.
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

/// One run of a server.
struct Run {
    process: Arc<ServerProcess>,
    opened: watch::Receiver<Opened>,
    task: AbortHandle,
    /// The number of calls that wait.
    calls: AtomicUsize,
    /// It gets no further calls.
    retired: AtomicBool,
}

impl Run {
    fn start(config: ServerConfig, limit: usize) -> Self {
        let process = Arc::new(ServerProcess::default());
        let (sender, opened) = watch::channel(None);
        let begun = Arc::clone(&process);
        let task = tokio::spawn(async move {
            let opening = Connection::open(&config, Arc::clone(&begun), limit);
            let result = timeout(START, opening).await.unwrap_or_else(|_| Err(HookError::timeout(START)));
            let result = result.map(Arc::new).inspect_err(|_| begun.kill());
            sender.send_replace(Some(result));
        });
        Self {
            process,
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

    /// Returns the failure of the start.
    fn failure(&self) -> Option<HookError> {
        self.opened.borrow().as_ref().and_then(|opened| opened.as_ref().err().cloned())
    }

    /// Returns whether it takes no further calls.
    fn is_over(&self) -> bool {
        let opened = match &*self.opened.borrow() {
            Some(Ok(connection)) => connection.is_over(),
            Some(Err(_)) => true,
            // Its task ended with its runtime.
            None => self.opened.has_changed().is_err(),
        };
        opened || self.retired.load(Ordering::Relaxed)
    }

    fn end(&self) {
        self.task.abort();
        if let Some(Ok(connection)) = &*self.opened.borrow() {
            connection.end();
        }
        self.process.kill();
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.end();
    }
}
