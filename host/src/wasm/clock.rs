//! The wall clock of a call.
//!
//! It runs while the guest computes and while it waits. The time in which the guest could go on but other tasks have the
//! thread counts as well, once the guest has computed for a hundredth of its limit. So a short guard beside fifty
//! endless hooks does not time out, and the fifty end when their limit is over, not one after another.

use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use tokio::time::Sleep;

/// The part of its limit, one in so many, for which a guest may compute before the time of other tasks counts.
const SHARE: u32 = 100;

/// The time for which a guest computes before other tasks have the thread. Its fuel makes it yield more often, and only
/// its clock looks then: a turn of the runtime costs microseconds.
const SLICE: Duration = Duration::from_micros(100);

/// The time of a call was up.
#[derive(Debug)]
pub(super) struct Elapsed;

/// Runs a call for at most `wall`.
///
/// # Errors
///
/// [`Elapsed`] if it took longer; the call is dropped then.
pub(super) async fn within<F: Future>(wall: Duration, call: F) -> Result<F::Output, Elapsed> {
    let mut call = pin!(call);
    let mut clock = CallClock::new(wall);
    std::future::poll_fn(|cx| clock.poll(call.as_mut(), cx)).await
}

/// Lets other tasks run. Unlike tokio's own function it wakes itself at once, so that the time of other tasks
/// is not on the clock of this call.
pub(super) async fn give_way() {
    let mut gave_way = false;
    std::future::poll_fn(|cx| {
        if std::mem::replace(&mut gave_way, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

struct CallClock {
    left: Duration,
    /// The computing time that is left until the time of other tasks counts, too.
    share: Duration,
    /// The time that other tasks had the thread and that does not count yet.
    others: Duration,
    ready: Arc<Ready>,
    /// The time at which the call last stopped.
    paused: Option<Instant>,
    /// Wakes the task when the time is up; made when the call first waits for something.
    alarm: Option<Pin<Box<Sleep>>>,
}

impl CallClock {
    fn new(wall: Duration) -> Self {
        Self {
            left: wall,
            share: wall / SHARE,
            others: Duration::ZERO,
            ready: Arc::default(),
            paused: None,
            alarm: None,
        }
    }

    fn poll<F: Future>(
        &mut self,
        mut call: Pin<&mut F>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<F::Output, Elapsed>> {
        let started = Instant::now();
        if let Some(paused) = self.paused.take() {
            // A guest that was woken while it computed could go on when it stopped: its computing counts already.
            let until = self.ready.since().unwrap_or(started).max(paused);
            self.spend(until - paused);
            self.others += started.saturating_duration_since(until);
        }
        let waker = Waker::from(Arc::clone(&self.ready));
        let mut turn = started;
        while !self.left.is_zero() {
            self.ready.begin(cx.waker());
            if let Poll::Ready(output) = call.as_mut().poll(&mut Context::from_waker(&waker)) {
                return Poll::Ready(Ok(output));
            }
            let now = Instant::now();
            self.compute(now.saturating_duration_since(turn));
            turn = now;
            let goes_on = self.ready.end();
            if goes_on && now.saturating_duration_since(started) < SLICE {
                continue;
            }
            self.paused = Some(now);
            if goes_on {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            if self.left.is_zero() {
                break;
            }
            let end = tokio::time::Instant::from_std(now) + self.left;
            let alarm = self.alarm.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(end)));
            alarm.as_mut().reset(end);
            return alarm.as_mut().poll(cx).map(|()| Err(Elapsed));
        }
        Poll::Ready(Err(Elapsed))
    }

    /// Records computing time.
    fn compute(&mut self, time: Duration) {
        self.spend(time);
        self.share = self.share.saturating_sub(time);
        if self.share.is_zero() {
            let others = std::mem::take(&mut self.others);
            self.spend(others);
        }
    }

    fn spend(&mut self, time: Duration) {
        self.left = self.left.saturating_sub(time);
    }
}

/// Wakes the task of a call, and notes since when the call could go on.
#[derive(Default)]
struct Ready(Mutex<ReadyInner>);

#[derive(Default)]
struct ReadyInner {
    task: Option<Waker>,
    since: Option<Instant>,
    /// True while the call is polled. Its clock wakes the task afterwards, if it has to.
    is_polled: bool,
}

impl Ready {
    fn inner(&self) -> MutexGuard<'_, ReadyInner> {
        hookbox_system::mutex::lock(&self.0)
    }

    fn begin(&self, task: &Waker) {
        let mut inner = self.inner();
        (inner.since, inner.is_polled) = (None, true);
        match &mut inner.task {
            Some(known) => known.clone_from(task),
            none => *none = Some(task.clone()),
        }
    }

    /// Ends a poll, and returns true if the call can go on.
    fn end(&self) -> bool {
        let mut inner = self.inner();
        inner.is_polled = false;
        inner.since.is_some()
    }

    fn since(&self) -> Option<Instant> {
        self.inner().since
    }
}

impl Wake for Ready {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let task = {
            let mut inner = self.inner();
            inner.since.get_or_insert_with(Instant::now);
            if inner.is_polled { None } else { inner.task.clone() }
        };
        if let Some(task) = task {
            task.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    const SHORT: Duration = Duration::from_millis(50);
    const LONG: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn waiting_is_on_the_clock() {
        let started = Instant::now();
        assert!(within(SHORT, std::future::pending::<()>()).await.is_err());
        assert!(started.elapsed() >= SHORT);
        assert!(within(SHORT, tokio::time::sleep(LONG)).await.is_err());
        assert!(within(LONG, tokio::time::sleep(SHORT)).await.is_ok());
    }

    #[tokio::test]
    async fn computing_is_on_the_clock() {
        let endless = async {
            loop {
                std::hint::black_box(0);
                give_way().await;
            }
        };
        assert!(within(SHORT, endless).await.is_err());
    }

    #[test]
    fn computing_after_the_wake_up_is_not_the_time_of_others() {
        let stopped = std::cell::Cell::new(None);
        let mut call = pin!(std::future::poll_fn(|cx| {
            if stopped.get().is_some() {
                return Poll::Ready(());
            }
            cx.waker().wake_by_ref();
            std::thread::sleep(SHORT);
            stopped.set(Some(Instant::now()));
            Poll::Pending
        }));
        let (mut clock, mut cx) = (CallClock::new(LONG), Context::from_waker(Waker::noop()));
        assert!(clock.poll(call.as_mut(), &mut cx).is_pending());
        assert!(clock.poll(call.as_mut(), &mut cx).is_ready());
        assert!(clock.others <= stopped.get().unwrap().elapsed());
    }

    #[tokio::test(flavor = "current_thread")]
    async fn what_others_do_with_the_thread_is_not() {
        let others = tokio::spawn(async {
            for _ in 0..10 {
                std::thread::sleep(SHORT / 5);
                tokio::task::yield_now().await;
            }
        });
        let call = within(SHORT, async {
            for _ in 0..10 {
                give_way().await;
            }
        });
        assert!(call.await.is_ok());
        others.await.unwrap();
    }

    #[tokio::test(flavor = "current_thread")]
    async fn what_others_do_with_the_thread_is_for_a_call_that_computes_much() {
        const CALLS: usize = 20;
        const TURN: Duration = Duration::from_millis(1);
        static SLICES: AtomicUsize = AtomicUsize::new(0);
        let endless = || {
            within(SHORT, async {
                loop {
                    SLICES.fetch_add(1, Ordering::Relaxed);
                    std::thread::sleep(TURN);
                    give_way().await;
                }
            })
        };
        let calls: Vec<_> =
            (0..CALLS).map(|_| tokio::spawn(async move { endless().await.is_err() })).collect();
        for call in calls {
            assert!(call.await.unwrap());
        }
        // If only its own slices counted, each call would have fifty. A busy machine makes them longer, and fewer.
        let slices = SLICES.load(Ordering::Relaxed);
        assert!(slices < CALLS * 25, "{slices}");
    }
}
