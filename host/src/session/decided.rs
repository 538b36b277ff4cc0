//! An event after the verdict: what still follows from it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::Session;
use crate::chain::{self, Clocks, Fired, Ruled};
use crate::event::{ErrorEvent, ErrorSource, Event, EventData, EventName};
use crate::hook::Hook;
use crate::manager::Snapshot;
use crate::outcome::{MAX_CONTEXT, Warning};
use crate::report::{FailureReport, HookReport};

/// How many failures of one event `on_error` hooks are told of.
const MAX_TOLD: usize = 8;

/// An event on which there is a verdict. What follows ([`Decided::follow_up`]) may add context and warnings to it, and
/// changes nothing else: whoever has to answer in time answers first.
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
    /// What the hooks left of the time of the event.
    pub(super) clocks: Clocks,
    pub(super) ruled: Ruled,
}

impl fmt::Debug for Decided {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decided").field("ruled", &self.ruled).finish_non_exhaustive()
    }
}

impl Decided {
    /// The same where the hooks that are told of failures may take only so long together, as
    /// [`ChainOptions::within`](crate::chain::ChainOptions::within) shares it out (default: as the session says).
    pub fn within(mut self, total: Duration) -> Self {
        self.session = self.session.within(total);
        self
    }

    /// The event, its verdict and its report so far.
    pub fn fired(&self) -> &Fired {
        &self.ruled.fired
    }

    /// The event, its verdict and its report, also where what follows was cut short.
    pub fn into_fired(self) -> Fired {
        self.ruled.fired
    }

    #[cfg_attr(not(feature = "bridge"), allow(dead_code, reason = "the bridge has more to say of an event"))]
    pub(crate) fn fired_mut(&mut self) -> &mut Fired {
        &mut self.ruled.fired
    }

    /// Runs what follows: hooks that observe what was blocked, `on_error` for hooks that failed, telemetry. All of
    /// `on_error` together has the clocks of one event.
    pub async fn follow_up(&mut self) {
        self.ruled.observe(&mut self.clocks).await;
        self.tell_of_failures().await;
        #[cfg(feature = "otel")]
        self.tell_telemetry().await;
    }

    /// Records the event; what was recorded is sent at the end of a session, in bounded time.
    #[cfg(feature = "otel")]
    async fn tell_telemetry(&self) {
        let Some(telemetry) = &self.session.chain_options().telemetry else { return };
        telemetry.record(self.fired());
        if self.fired().report.event == EventName::SessionEnd {
            telemetry.flush(crate::telemetry::FLUSH).await;
        }
    }

    /// Sends `on_error` for hooks that failed, but never for one that failed in `on_error`, and never for what the user
    /// has not trusted: it could make the user's hooks run without end. Nor does what the user has not trusted hear of it:
    /// a failure of others is no reason to run it.
    async fn tell_of_failures(&mut self) {
        let fired = &mut self.ruled.fired;
        if fired.report.event == EventName::OnError {
            return;
        }
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
            // What these hooks inject reaches the model only where the event itself takes text, and counts as its own.
            let injects = fired.report.event.allows().inject;
            let held: usize = if injects { fired.verdict.context.iter().map(String::len).sum() } else { 0 };
            let room = MAX_CONTEXT.saturating_sub(held);
            let mut told = chain::rule(&hooks, event, &mut clocks, options, room).await;
            told.observe(&mut clocks).await;
            let Fired { verdict, report, .. } = told.fired;
            if injects {
                fired.verdict.context.extend(verdict.context);
            }
            // That a hook failed here as well stands in its report; here it would only be said twice.
            let heard = |warning: &Warning| {
                let Some(name) = &warning.hook else { return true };
                report.hooks.iter().any(|hook| &hook.name == name && hook.cause.is_none())
            };
            fired.verdict.warnings.extend(verdict.warnings.into_iter().filter(heard));
            fired.report.on_error.push(FailureReport { of, report });
        }
    }
}

/// The failure of a hook as an event.
fn error_event(hook: &HookReport) -> (String, ErrorEvent) {
    let error = ErrorEvent {
        source: ErrorSource::Hook(hook.name.clone()),
        message: hook.message.clone().unwrap_or_default(),
        kind: hook.cause.map(|cause| cause.as_str().to_owned()),
        attempt: None,
    };
    (hook.name.clone(), error)
}
