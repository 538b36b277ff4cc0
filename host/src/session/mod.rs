//! A session: one conversation of one agent, with a typed method for every event.

mod decided;
mod explain;
mod memory;
mod monitor;
mod tool;
mod verdict;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

pub use self::decided::Decided;
pub use self::explain::{Asked, ExplainedHook, Explanation};
use self::memory::{Attempts, Told};
pub use self::monitor::BudgetMonitor;
pub use self::tool::{PermittedCall, ToolRun};
use self::verdict::TypedVerdict;
pub use self::verdict::{
    Decision, ErrorVerdict, GateVerdict, MessageVerdict, Noted, Notes, OutputDecision, OutputVerdict,
    StopVerdict, ToolDecision, ToolVerdict, Turn, TurnVerdict,
};

pub use crate::chain::Fired;
use crate::chain::{self, ChainOptions, Clocks, Door, Opens};
use crate::event::{
    AfterTurn, AgentStop, Context, Document, ErrorEvent, ErrorSource, Event, EventData, EventName, InvokedBy,
    TokenBudget, ToolCall, ToolResult, Usage, now_ms,
};
pub use crate::facts::Checkout;
use crate::live::Live;
use crate::outcome::Verdict;
use crate::report::Report;
pub use crate::thresholds::{AtThreshold, Thresholds};
use crate::trust::AllowanceFile;
use hookbox_system::mutex;

/// The number of times in a row that hooks of `agent_stop` may make an agent go on.
pub const MAX_FOLLOW_UPS: u32 = 8;

/// One conversation. Cheap to clone; clones share the counts of follow-ups and attempts, and the budget monitor. The
/// warning about an untrusted hook is in the first verdict only; each report has it. A
/// subagent gets a session of its own with [`Session::subagent`].
///
/// Its sending methods run the hooks in the calling task, one after another, on a tokio runtime with time and I/O
/// enabled. They never fail: the report has the failures. If the future is dropped, the hook that runs is ended, the
/// hooks after it do not run, and no verdict exists: the agent must not take the action.
#[derive(Clone, Debug)]
pub struct Session {
    live: Arc<Live>,
    context: Arc<Context>,
    follow_ups: Arc<AtomicU32>,
    monitor: Arc<Mutex<BudgetMonitor>>,
    attempts: Arc<Mutex<Attempts>>,
    told: Arc<Mutex<Told>>,
    /// Limits that replace the manager's.
    chain: Option<Arc<ChainOptions>>,
    /// The user's allowances that count.
    opens: Opens,
    /// True if events are only explained: they use up no allowance and make no code.
    looks: bool,
}

impl Session {
    pub(crate) fn new(live: Arc<Live>, conversation_id: String) -> Self {
        let cwd = live.cwd.to_string_lossy().into_owned();
        Self {
            live,
            context: Arc::new(Context::new(conversation_id, cwd)),
            follow_ups: Arc::default(),
            monitor: Arc::default(),
            attempts: Arc::default(),
            told: Arc::default(),
            chain: None,
            opens: Opens::default(),
            looks: false,
        }
    }

    fn with(mut self, set: impl FnOnce(&mut Context)) -> Self {
        set(Arc::make_mut(&mut self.context));
        self
    }

    /// Returns the session with this working directory of the agent (default: the manager's).
    #[must_use]
    pub fn cwd(self, cwd: impl Into<String>) -> Self {
        self.with(|context| context.cwd = cwd.into())
    }

    /// Returns the session with this recipe.
    #[must_use]
    pub fn recipe(self, name: impl Into<String>) -> Self {
        self.with(|context| context.recipe_name = Some(name.into()))
    }

    /// Returns the session with this name of the agent.
    #[must_use]
    pub fn agent(self, name: impl Into<String>) -> Self {
        self.with(|context| context.agent = Some(name.into()))
    }

    /// Returns the session in this repository, on this branch. [`Checkout::of`] finds both.
    #[must_use]
    pub fn repository(self, repository: impl Into<String>, branch: Option<String>) -> Self {
        self.with(|context| {
            context.repository = Some(repository.into());
            context.branch = branch;
        })
    }

    /// Returns the session in this mode of the agent.
    #[must_use]
    pub fn mode(self, mode: impl Into<String>) -> Self {
        self.with(|context| context.mode = Some(mode.into()))
    }

    /// Returns the session with this token budget, until [`Session::observe_usage`] replaces it.
    #[must_use]
    pub fn budget(self, budget: TokenBudget) -> Self {
        self.with(|context| context.budget = Some(budget))
    }

    /// Returns the session with a limit on the time of all hooks of an event together: half of it for the
    /// user's and the agent's hooks, a third for those of a repository that the user trusts, a sixth, at most
    /// 5 s, for those that the user does not trust (default: the manager's limits).
    #[must_use]
    pub fn within(mut self, total: Duration) -> Self {
        self.chain = Some(Arc::new(self.chain_options().clone().within(total)));
        self
    }

    /// Returns the session with this much less time for hooks that the user does not trust.
    #[doc(hidden)]
    pub fn untrusted_took(mut self, used: Duration) -> Self {
        let mut options = self.chain_options().clone();
        options.untrusted_deadline = options.untrusted_deadline.saturating_sub(used);
        self.chain = Some(Arc::new(options));
        self
    }

    /// Returns the session whose conversation has a made-up id: no other event has it.
    #[doc(hidden)]
    pub fn unnamed(mut self) -> Self {
        self.opens = Opens::ForNone;
        self
    }

    /// Returns the session for calls that nobody wants to make: without the user's allowances, without codes for its blocks,
    /// and without records in the journal.
    #[doc(hidden)]
    pub fn for_trials(mut self) -> Self {
        self.opens = Opens::Never;
        self
    }

    fn chain_options(&self) -> &ChainOptions {
        self.chain.as_deref().unwrap_or(&self.live.chain)
    }

    /// Creates a session of a subagent: the same hooks, directory, repository, recipe, agent and mode;
    /// another conversation, with a context window, a budget monitor and counts of follow-ups and attempts of
    /// its own.
    #[must_use]
    pub fn subagent(&self, conversation_id: impl Into<String>) -> Self {
        let mut session = self.clone().with(|context| {
            context.conversation_id = conversation_id.into();
            context.invoked_by = InvokedBy::Subagent;
            context.budget = None;
        });
        session.follow_ups = Arc::default();
        session.monitor = Arc::default();
        session.attempts = Arc::default();
        session
    }

    /// Returns the context of its events, with the token budget that was given, not with usage that was
    /// observed since.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Sends `session_start`: the session begins.
    pub async fn session_start(&self, source: &str) -> Noted {
        self.send(EventData::SessionStart { source: Some(source.to_owned()) }).await
    }

    /// Sends `session_end`: the session ends.
    pub async fn session_end(&self, reason: &str) -> Noted {
        self.send(EventData::SessionEnd { reason: Some(reason.to_owned()) }).await
    }

    /// Sends `user_message_send`: the user sends a message.
    pub async fn user_message_send(&self, message: impl Into<String>) -> MessageVerdict {
        self.send(EventData::UserMessageSend { message: Some(message.into()) }).await
    }

    /// Sends `before_tool_call`: a tool is about to run.
    pub async fn before_tool_call(&self, call: ToolCall) -> ToolVerdict {
        self.send(EventData::BeforeToolCall(call)).await
    }

    /// Sends `after_tool_call`: a tool has run, or was blocked ([`ToolResult::blocked`]).
    pub async fn after_tool_call(&self, result: ToolResult) -> OutputVerdict {
        self.send(EventData::AfterToolCall(result)).await
    }

    /// Sends `on_error`: a tool or a turn failed. The session counts the attempts of a tool call that has none:
    /// the same call, with the same input, since it last succeeded or the user sent a message.
    pub async fn on_error(&self, error: ErrorEvent) -> ErrorVerdict {
        self.send(EventData::OnError(error)).await
    }

    /// Sends `after_turn`: the model has answered.
    pub async fn after_turn(&self, turn: AfterTurn) -> TurnVerdict {
        self.send(EventData::AfterTurn(turn)).await
    }

    /// Sends `turn_end`: a turn of the user is over.
    pub async fn turn_end(&self, response: impl Into<String>, turn_number: u64) -> Noted {
        self.send(EventData::TurnEnd { response: Some(response.into()), turn_number: Some(turn_number) })
            .await
    }

    /// Sends `agent_stop`: the agent would stop. After [`MAX_FOLLOW_UPS`] rounds in a row no follow-up is
    /// applied.
    pub async fn agent_stop(&self, stop: AgentStop) -> StopVerdict {
        self.send(EventData::AgentStop(stop)).await
    }

    /// Sends `pre_compact`: the conversation is about to be compacted.
    pub async fn pre_compact(&self, trigger: &str, usage: Option<Usage>, messages: Document) -> GateVerdict {
        self.send(EventData::PreCompact { trigger: Some(trigger.to_owned()), usage, messages }).await
    }

    /// Sends `post_compact`: the conversation has been compacted.
    pub async fn post_compact(&self, trigger: &str, summary: &str, usage: Option<Usage>) -> Noted {
        let (trigger, summary) = (Some(trigger.to_owned()), Some(summary.to_owned()));
        self.send(EventData::PostCompact { trigger, summary, usage }).await
    }

    /// Sends `on_budget_exceeded`: the token budget has passed a threshold.
    pub async fn on_budget_exceeded(&self, usage: Usage, threshold: f64) -> GateVerdict {
        self.send(EventData::OnBudgetExceeded { usage: Some(usage), threshold: Some(threshold) }).await
    }

    /// Records the usage of the context window. From now on it is the token budget of every event of this
    /// session. When it first reaches one of the manager's [`Thresholds`], `on_budget_exceeded` is sent with
    /// that threshold, and again only after it has fallen below. Of two thresholds that are reached at once
    /// the higher one is sent. Returns `None` if no threshold was crossed.
    ///
    /// An agent calls it after each answer of the model, before `after_turn`. A window of unknown size
    /// (`max_context_window` 0) changes nothing.
    pub async fn observe_usage(&self, usage: Usage) -> Option<GateVerdict> {
        let crossed = self.monitor().observe(usage, self.live.snapshot().found.global.thresholds);
        match crossed {
            Some(threshold) => Some(self.on_budget_exceeded(usage, threshold).await),
            None => None,
        }
    }

    /// Arms the thresholds again: the next [`Session::observe_usage`] that reaches one sends
    /// `on_budget_exceeded`, even if the usage has not fallen below it. Sends nothing itself.
    ///
    /// An agent calls it if the compaction or rotation that a hook asked for did not happen (it failed, or
    /// `pre_compact` blocked it): otherwise nobody would ask again while the window fills up.
    pub fn rearm_budget(&self) {
        self.monitor().rearm();
    }

    fn monitor(&self) -> MutexGuard<'_, BudgetMonitor> {
        mutex::lock(&self.monitor)
    }

    /// Sends an event of the typed methods. If no hook wants it, it makes its verdict in place: no allocation, and no
    /// copy of the parts.
    async fn send<T: TypedVerdict>(&self, mut data: EventData) -> T {
        let name = data.name();
        self.count(&mut data);
        if self.live.is_unheard(&name) {
            self.pass_over(&name, &self.context, &data);
            return T::of(data, &mut Verdict::default(), Report::new(name));
        }
        let event = Event { context: Arc::clone(&self.context), data };
        Box::pin(self.fire_heard(self.dated(event))).await.into()
    }

    /// Sends any event and returns the untyped verdict.
    pub async fn fire(&self, data: EventData) -> Fired {
        self.fire_event(self.dated(Event { context: Arc::clone(&self.context), data })).await
    }

    /// Returns an event of this session with the time now and the newest token budget.
    fn dated(&self, mut event: Event) -> Event {
        let own = event.usage().filter(|usage| usage.share().is_some());
        let context = Arc::make_mut(&mut event.context);
        context.timestamp_ms = now_ms();
        if let Some(observed) = self.monitor().budget() {
            // The event's own usage is the newest.
            context.budget = Some(own.map_or(observed, TokenBudget::from));
        }
        event
    }

    /// Sends any event in a context of its own.
    pub async fn fire_event(&self, mut event: Event) -> Fired {
        let name = event.name();
        self.count(&mut event.data);
        if self.live.is_unheard(&name) {
            self.pass_over(&name, &event.context, &event.data);
            return Fired { verdict: Verdict::default(), report: Report::new(name), event };
        }
        Box::pin(self.fire_heard(event)).await
    }

    /// Counts what is in a row: follow-ups since the last message of the user, and failures of a call.
    fn count(&self, data: &mut EventData) {
        match data {
            EventData::UserMessageSend { .. } => {
                self.follow_ups.store(0, Ordering::Relaxed);
                mutex::lock(&self.attempts).clear();
            }
            EventData::AfterToolCall(result) if result.success == Some(true) => {
                mutex::lock(&self.attempts).succeeded(&result.call);
            }
            EventData::OnError(error) => {
                if let (ErrorSource::Tool(call), None) = (&error.source, error.attempt) {
                    error.attempt = Some(mutex::lock(&self.attempts).failed(call));
                }
            }
            _ => {}
        }
    }

    /// Passes over an event that no hook wants. At a stop that no hook sees, the follow-ups in a row are over.
    fn pass_over(&self, name: &EventName, context: &Context, data: &EventData) {
        // The log has every event.
        drop(chain::span(name, context));
        if matches!(data, EventData::AgentStop(_)) {
            self.follow_ups.store(0, Ordering::Relaxed);
        }
    }

    async fn fire_heard(&self, event: Event) -> Fired {
        let mut decided = self.decide(event).await;
        decided.follow_up().await;
        decided.into_fired()
    }

    /// Decides on an event, and leaves the rest to [`Decided::follow_up`]. For an agent that has to answer
    /// first.
    pub async fn decide(&self, mut event: Event) -> Decided {
        if let EventData::AgentStop(stop) = &mut event.data {
            stop.follow_ups = stop.follow_ups.max(self.follow_ups.load(Ordering::Relaxed));
        }
        // One set of hooks for the event and all that follows from it, even if a reload replaces them
        // meanwhile.
        let snapshot = self.live.snapshot();
        let options = self.chain_options();
        let mut clocks = Clocks::new(options);
        let is_recorded = !self.looks && self.opens != Opens::Never;
        let asked = self.live.journal.get().filter(|_| is_recorded).map(|_| event.clone());
        // A hook cannot use up what the user allowed the agent.
        let file = snapshot.trust_file.as_ref().filter(|_| options.allowances && !clocks.is_nested());
        let door = file.and_then(|it| Door::of(AllowanceFile::new(it.directory()), &event, self.opens));
        let door = door.map(|door| if self.looks { door.looking() } else { door });
        let written = chain::lines_of_files(&event, options);
        let mut ruled =
            chain::rule(&snapshot.hooks, event, &mut clocks, options, snapshot.text_rules(), door).await;
        if let (Some(lines), None) = (written, &ruled.fired.verdict.block) {
            // The same time for both.
            let (clocks, rules) = (&mut clocks, snapshot.text_rules());
            let door = file.and_then(|it| Door::of(AllowanceFile::new(it.directory()), &lines, self.opens));
            let door = door.map(|door| if self.looks { door.looking() } else { door });
            ruled.add(Box::pin(chain::rule(&snapshot.hooks, lines, clocks, options, rules, door)).await);
        }
        if let EventData::AgentStop(stop) = &ruled.fired.event.data {
            self.count_follow_ups(stop.follow_ups, &mut ruled.fired);
        }
        mutex::lock(&self.told).keep_new(&mut ruled.fired);
        Decided { session: self.clone(), snapshot, clocks, ruled, asked }
    }

    /// Runs an event as [`Session::fire_event`] does, and explains the part of every hook that was found: why it was
    /// asked or not, from where it comes, its limits, permissions and settings, and its answer.
    ///
    /// The hooks run, with all that they do beside their answer. A call that the user allowed passes, and the allowance is
    /// not used up.
    pub async fn explain(&self, event: Event) -> Explanation {
        let mut asked = event.clone();
        chain::work_out_facts(&mut asked, self.chain_options());
        let mut decided = Self { looks: true, ..self.clone() }.decide(event).await;
        decided.follow_up().await;
        let snapshot = Arc::clone(&decided.snapshot);
        Explanation::new(&snapshot, &asked, decided.into_fired())
    }

    /// Counts the follow-ups in a row, and drops those beyond the cap.
    fn count_follow_ups(&self, so_far: u32, fired: &mut Fired) {
        if fired.verdict.follow_ups.is_empty() {
            self.follow_ups.store(0, Ordering::Relaxed);
        } else if so_far >= MAX_FOLLOW_UPS {
            fired.verdict.drop_follow_ups(format!(
                "hooks made the agent go on {so_far} times in a row: no further follow-up is applied"
            ));
        } else {
            self.follow_ups.store(so_far + 1, Ordering::Relaxed);
        }
    }
}
