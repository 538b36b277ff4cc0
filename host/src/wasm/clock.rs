//! The wall clock of a call.
//!
//! It runs while the guest computes and while it waits. It stops while the guest could go on but other tasks
//! have the thread. Otherwise fifty endless hooks would make a correct guard beside them time out, and none
//! of them would reach the end of its fuel.

use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use tokio::time::Sleep;

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
    let mut clock = CallClock { left: wall, ready: Arc::default(), paused: None, alarm: None };
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
    ready: Arc<Ready>,
    /// The time at which the call last stopped.
    paused: Option<Instant>,
    /// Wakes the task when the time is up; made when the call first waits for something.
    alarm: Option<Pin<Box<Sleep>>>,
}

impl CallClock {
    fn poll<F: Future>(
        &mut self,
        call: Pin<&mut F>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<F::Output, Elapsed>> {
        let started = Instant::now();
        if let Some(paused) = self.paused.take() {
            let until = self.ready.since().unwrap_or(started);
            self.spend(until.saturating_duration_since(paused));
        }
        if self.left.is_zero() {
            return Poll::Ready(Err(Elapsed));
        }
        self.ready.begin(cx.waker());
        let waker = Waker::from(Arc::clone(&self.ready));
        if let Poll::Ready(output) = call.poll(&mut Context::from_waker(&waker)) {
            return Poll::Ready(Ok(output));
        }
        let now = Instant::now();
        self.spend(now.saturating_duration_since(started));
        self.paused = Some(now);
        if self.left.is_zero() {
            return Poll::Ready(Err(Elapsed));
        }
        if self.ready.since().is_some() {
            return Poll::Pending;
        }
        let end = tokio::time::Instant::from_std(now) + self.left;
        let alarm = self.alarm.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(end)));
        alarm.as_mut().reset(end);
        alarm.as_mut().poll(cx).map(|()| Err(Elapsed))
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
}

impl Ready {
    fn inner(&self) -> MutexGuard<'_, ReadyInner> {
        crate::mutex::lock(&self.0)
    }

    fn begin(&self, task: &Waker) {
        let mut inner = self.inner();
        inner.since = None;
        match &mut inner.task {
            Some(known) => known.clone_from(task),
            none => *none = Some(task.clone()),
        }
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
            inner.task.clone()
        };
        if let Some(task) = task {
            task.wake();
        }
    }
}

#[cfg(test)]
mod tests {
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
}
