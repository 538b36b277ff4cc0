//! An event after the verdict, with the work that follows from it.

use std::sync::Arc;
use std::time::Duration;

use super::Session;
use crate::chain::{self, Clocks, Fired, Ruled};
use crate::event::{ErrorEvent, ErrorSource, Event, EventData, EventName};
use crate::hook::Hook;
use crate::journal::Record;
use crate::live::Snapshot;
use crate::outcome::Warning;
use crate::report::{FailureReport, HookReport};
use hookbox_system::text;

/// The largest number of failures of one event that are sent to `on_error` hooks.
const MAX_TOLD: usize = 8;

/// An event with its verdict. [`Decided::follow_up`] may add context and warnings and changes nothing else,
/// so an agent that has to answer in time answers first.
///
/// ```
/// use hookbox::manager::Manager;
/// use hookbox::{Context, Event, EventData, ToolCall};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let session = Manager::empty().session("c");
/// let call = ToolCall::new("bash", serde_json::json!({"command": "ls"}));
/// let event = Event { context: Context::new("c", "/").into(), data: EventData::BeforeToolCall(call) };
/// let mut decided = session.decide(event).await;
/// println!("{:?}", decided.fired().verdict); // answer here
/// decided.follow_up().await;
/// println!("{:?}", decided.into_fired().report);
/// # }
/// ```
#[must_use]
pub struct Decided {
    pub(super) session: Session,
    pub(super) snapshot: Arc<Snapshot>,
    /// The time of the event that is left.
    pub(super) clocks: Clocks,
    pub(super) ruled: Ruled,
    /// The event as the agent sent it, if a journal records it.
    pub(super) asked: Option<Event>,
}

debug_by!(Decided, ruled);

impl Decided {
    /// Limits the time of the `on_error` hooks together, shared out as [`Session::within`] does (default: the
    /// session's time).
    pub fn within(mut self, total: Duration) -> Self {
        self.session = self.session.within(total);
        self
    }

    /// Returns the event, its verdict and its report so far.
    pub fn fired(&self) -> &Fired {
        &self.ruled.fired
    }

    /// Returns the event, its verdict and its report, also if [`Decided::follow_up`] was cut short.
    pub fn into_fired(self) -> Fired {
        *self.ruled.fired
    }

    #[doc(hidden)]
    pub fn fired_mut(&mut self) -> &mut Fired {
        &mut self.ruled.fired
    }

    /// Runs the hooks that observe a block, sends `on_error` for hooks that failed, and records the event.
    /// All `on_error` events together have the clocks of one event.
    ///
    /// Each part is boxed, because most events need none: their future stays small, and it is moved.
    pub async fn follow_up(&mut self) {
        if self.ruled.has_observers() {
            Box::pin(self.ruled.observe(&mut self.clocks)).await;
        }
        if self.has_failures() {
            Box::pin(self.tell_of_failures()).await;
        }
        #[cfg(feature = "otel")]
        let trace = self.session.live.telemetry.as_ref().and_then(|it| it.record(self.fired()));
        #[cfg(not(feature = "otel"))]
        let trace = None;
        self.record(trace);
        #[cfg(feature = "otel")]
        if let Some(telemetry) = &self.session.live.telemetry {
            Box::pin(self.tell(telemetry)).await;
        }
    }

    /// Gives the event to the journal, once.
    fn record(&mut self, trace: Option<String>) {
        let Some((journal, asked)) = self.session.live.journal.get().zip(self.asked.take()) else { return };
        let fired = &*self.ruled.fired;
        let record = Record {
            event: &asked,
            fired,
            hooks: fired.report.hooks.iter().map(|hook| self.snapshot.recorded(hook)).collect(),
            home: self.session.chain_options().home.as_deref(),
            settings: self.snapshot.found.global.journal,
            trace,
        };
        if let Err(error) = journal.record(&record) {
            let text = format!("the event is not in the journal: {}", text::escape(&error.to_string(), 500));
            tracing::warn!("{text}");
            self.ruled.fired.verdict.warnings.push(Warning { hook: None, text });
        }
    }

    /// Sends telemetry of the event. The end of a session sends everything that was recorded, in bounded time.
    #[cfg(feature = "otel")]
    async fn tell(&self, telemetry: &crate::telemetry::Telemetry) {
        if self.fired().report.event == EventName::SessionEnd {
            telemetry.flush(crate::telemetry::FLUSH).await;
        }
    }

    /// Returns true if a hook failed, at another event than `on_error`.
    fn has_failures(&self) -> bool {
        let report = &self.fired().report;
        report.event != EventName::OnError && report.hooks.iter().any(|hook| hook.cause.is_some())
    }

    /// Sends `on_error` for hooks that failed. Never for a hook that failed in `on_error`, nor for a hook
    /// that the user does not trust: it could make the user's hooks run without end. A hook that the user
    /// does not trust gets no `on_error`.
    async fn tell_of_failures(&mut self) {
        let fired = &mut self.ruled.fired;
        let hooks: Vec<Arc<dyn Hook>> =
            self.snapshot.hooks.iter().filter(|hook| hook.descriptor().trusted).cloned().collect();
        if !chain::concerns(&hooks, &EventName::OnError) {
            return;
        }
        let options = self.session.chain_options();
        let mut clocks = Clocks::new(options);
        let failed = fired.report.hooks.iter().filter(|hook| hook.cause.is_some() && hook.trusted);
        let errors: Vec<(String, ErrorEvent)> = failed.take(MAX_TOLD).map(error_event).collect();
        for (of, error) in errors {
            let event = Event { context: Arc::clone(&fired.event.context), data: EventData::OnError(error) };
            // Their context reaches the model only if the event takes text, and counts as the event's own.
            let injects = fired.report.event.allows().inject;
            let held: usize = if injects { fired.verdict.context.iter().map(String::len).sum() } else { 0 };
            let mut rules = self.snapshot.text_rules();
            rules.room = rules.room.saturating_sub(held);
            let mut told = chain::rule(&hooks, event, &mut clocks, options, rules, None).await;
            told.observe(&mut clocks).await;
            let Fired { verdict, report, .. } = *told.fired;
            if injects {
                fired.verdict.context.extend(verdict.context);
            }
            // The report has the failures of these hooks; a warning would repeat them.
            let heard = |warning: &Warning| {
                let Some(name) = &warning.hook else { return true };
                report.hooks.iter().any(|hook| &hook.name == name && hook.cause.is_none())
            };
            fired.verdict.warnings.extend(verdict.warnings.into_iter().filter(heard));
            fired.report.on_error.push(FailureReport { of, report });
        }
    }
}

/// Creates the event for the failure of a hook.
fn error_event(hook: &HookReport) -> (String, ErrorEvent) {
    let error = ErrorEvent {
        source: ErrorSource::Hook(hook.name.clone()),
        message: hook.message.clone().unwrap_or_default(),
        kind: hook.cause.map(|cause| cause.as_str().to_owned()),
        attempt: None,
    };
    (hook.name.clone(), error)
}
