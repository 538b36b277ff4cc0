//! The time that hooks have together, and one hook within its part of it.

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use super::options::ChainOptions;
use crate::event::Event;
use crate::hook::{Budget, Cause, Descriptor, Hook, HookError, Kind, Origin};
use crate::outcome::{Author, Outcome};
use hookbox_system::text;

tokio::task_local! {
    /// Set while a hook of this task runs.
    static INSIDE_A_HOOK: ();
}

/// The result of one hook.
pub(super) struct Ran {
    pub(super) result: Result<Outcome, HookError>,
    pub(super) duration: Duration,
    /// The hook's own condition that excluded the event. It did not run.
    pub(super) passed_over: Option<&'static str>,
}

impl Ran {
    fn not(result: Result<Outcome, HookError>) -> Self {
        Self { result, duration: Duration::ZERO, passed_over: None }
    }
}

/// The time that is left to each group of hooks. One group never uses up another's time.
#[derive(Debug)]
pub(crate) struct Clocks {
    managed: Clock,
    untrusted: Clock,
    repo: Clock,
    others: Clock,
    /// True inside a hook: no hook is started there.
    is_nested: bool,
}

/// The time that is left to one group of hooks.
#[derive(Debug)]
struct Clock {
    left: Duration,
    /// The hooks of the group that have not had their turn.
    waiting: u32,
    /// The hook that took the longest, and its time.
    slowest: Option<(String, Duration)>,
}

impl Clock {
    fn new(left: Duration) -> Self {
        Self { left, waiting: 0, slowest: None }
    }

    /// Returns how long the next hook may take: half of what is left while others wait, so that a hook that
    /// hangs leaves time for them.
    fn part(&self) -> Duration {
        if self.waiting == 0 { self.left } else { self.left / 2 }
    }

    /// Names the slowest hook, if it took longer than this part.
    fn used_by(&self, part: Duration) -> String {
        let slowest = self.slowest.as_ref().filter(|(_, used)| *used > part);
        let named = |(name, used): &(String, Duration)| {
            format!("; {} took {:?} of it", Author::trusted(name).shown(), rounded(*used))
        };
        slowest.map(named).unwrap_or_default()
    }

    /// Records the time of a hook.
    fn spend(&mut self, descriptor: &Descriptor, used: Duration) {
        self.left = self.left.saturating_sub(used);
        if self.slowest.as_ref().is_none_or(|(_, most)| used > *most) {
            self.slowest = Some((descriptor.name.clone(), used));
        }
    }
}

/// Names a group's time in messages.
const ALL_TIME: &str = "the time that the hooks have together";

/// Rounds a time down to whole milliseconds, for messages.
fn rounded(time: Duration) -> Duration {
    time - Duration::from_nanos(u64::from(time.subsec_nanos() % 1_000_000))
}

impl Clocks {
    pub(crate) fn new(options: &ChainOptions) -> Self {
        Self {
            managed: Clock::new(Duration::ZERO),
            untrusted: Clock::new(options.untrusted_deadline),
            repo: Clock::new(options.repo_deadline),
            others: Clock::new(options.deadline),
            is_nested: !options.allow_nested && (options.depth > 0 || INSIDE_A_HOOK.try_get().is_ok()),
        }
    }

    /// Returns true inside a hook.
    pub(crate) fn is_nested(&self) -> bool {
        self.is_nested
    }

    /// Returns the clock of a hook. A built-in hook has none: it must judge even if no time is left.
    fn of(&mut self, descriptor: &Descriptor) -> Option<&mut Clock> {
        match (descriptor.kind, descriptor.trusted, descriptor.tier.origin()) {
            (Kind::Builtin, ..) => None,
            (_, false, _) => Some(&mut self.untrusted),
            (_, true, Origin::Managed) => Some(&mut self.managed),
            (_, true, Origin::Repo) => Some(&mut self.repo),
            (_, true, Origin::User | Origin::Host) => Some(&mut self.others),
        }
    }

    /// Counts the hooks that will have a turn.
    pub(super) fn expect<'a>(&mut self, hooks: impl Iterator<Item = &'a Descriptor>) {
        for clock in [&mut self.managed, &mut self.untrusted, &mut self.repo, &mut self.others] {
            clock.waiting = 0;
        }
        for descriptor in hooks {
            if let Some(clock) = self.of(descriptor) {
                clock.waiting += 1;
            }
        }
        // A part of its own, so that no hook of a user's can use up the time of the administrator's.
        if self.managed.waiting > 0 && self.managed.left.is_zero() {
            self.managed.left = self.others.left / 2;
            self.others.left -= self.managed.left;
        }
    }

    /// Records that a hook will have no turn.
    pub(super) fn skip(&mut self, descriptor: &Descriptor) {
        if let Some(clock) = self.of(descriptor) {
            clock.waiting = clock.waiting.saturating_sub(1);
        }
    }

    pub(super) async fn run(&mut self, hook: &dyn Hook, event: &Event) -> Ran {
        let descriptor = hook.descriptor();
        let passed_over = hook.passes_over(event);
        if passed_over.is_some() {
            self.skip(descriptor);
            return Ran { passed_over, ..Ran::not(Ok(Outcome::pass())) };
        }
        let is_nested = self.is_nested;
        let Some(clock) = self.of(descriptor) else {
            let budget = descriptor.budget;
            return bounded(hook, event, &budget, budget.wall).await;
        };
        clock.waiting = clock.waiting.saturating_sub(1);
        let is_confined = descriptor.kind.is_one_file() && descriptor.tier.origin() == Origin::Managed;
        // A variable of the user's does not switch off what cannot start a program.
        if is_nested && !is_confined {
            let what = "hooks are not run from inside a hook";
            return Ran::not(Err(HookError::new(Cause::Denied, what)));
        }
        let part = rounded(clock.part());
        if part.is_zero() {
            let what = format!("did not run: {ALL_TIME} was up{}", clock.used_by(part));
            return Ran::not(Err(HookError::new(Cause::Timeout, what)));
        }
        let budget = descriptor.budget.within(part);
        // Executables and components keep their wall-clock limit themselves, to end what they started and to
        // report what it used; waiting for a free slot is not on a component's clock. Nothing outlasts its
        // part.
        let wall = match descriptor.kind {
            // It ends by its own clock, which pauses while other tasks have the thread.
            Kind::Component if descriptor.budget.wall <= part => clock.left,
            Kind::Native | Kind::Command | Kind::Component => part,
            _ => budget.wall,
        };
        let mut ran = bounded(hook, event, &budget, wall).await;
        if let Err(error) = &mut ran.result
            && error.cause == Cause::Timeout
            && part < descriptor.budget.wall
            // A hook that could not be loaded in time fails at once, and not for want of this time.
            && ran.duration >= part / 2
        {
            error.message.push_str(&format!(", its part of {ALL_TIME}{}", clock.used_by(part)));
        }
        clock.spend(descriptor, ran.duration);
        ran
    }
}

/// Runs a hook for so long at most.
async fn bounded(hook: &dyn Hook, event: &Event, budget: &Budget, wall: Duration) -> Ran {
    let started = Instant::now();
    let run = INSIDE_A_HOOK.scope((), catch_panic(hook.run(event, budget)));
    // The grace lets the hook's own deadline come first where both are the same.
    let result = tokio::time::timeout(wall + Duration::from_millis(100), run)
        .await
        .unwrap_or_else(|_| Err(HookError::timeout(wall)));
    Ran { result, duration: started.elapsed(), passed_over: None }
}

/// Turns a panic of a hook from code into a failure, so that it does not end the agent.
async fn catch_panic(run: impl Future<Output = Result<Outcome, HookError>>) -> Result<Outcome, HookError> {
    let mut run = pin!(run);
    std::future::poll_fn(|cx| {
        std::panic::catch_unwind(AssertUnwindSafe(|| run.as_mut().poll(cx))).unwrap_or_else(|panic| {
            let message = panic.downcast_ref::<&str>().copied().map(str::to_owned);
            let message = message.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
            let message = format!("panicked: {}", text::escape(&message, 200));
            Poll::Ready(Err(HookError::new(Cause::Trap, message)))
        })
    })
    .await
}
