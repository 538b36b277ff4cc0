//! The thread that makes spans and metrics of records and sends them.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use super::metrics::Metrics;
use super::options::Options;
use super::record::Record;
use super::spans::Spans;
use super::{Message, State, export};

pub(super) fn spawn(options: Options, queue: Receiver<Message>, state: Arc<State>) -> io::Result<()> {
    let run = move || match Worker::new(&options, Arc::clone(&state)) {
        Ok(worker) => worker.run(&queue),
        Err(what) => {
            state.note("client", Err(what));
            // Nobody waits for what cannot be done.
            for message in &queue {
                match message {
                    Message::Record(_) => state.drop_records(1),
                    Message::Flush(done) => drop(done),
                }
            }
        }
    };
    thread::Builder::new().name("hookbox-telemetry".to_owned()).spawn(run).map(drop)
}

struct Worker {
    state: Arc<State>,
    spans: Option<(Spans, Clock)>,
    metrics: Option<(Metrics, Clock)>,
}

/// When something is due.
struct Clock {
    every: Duration,
    due: Instant,
}

impl Clock {
    fn new(every: Duration) -> Self {
        // A day is as good as never, and no overflow.
        let every = every.min(Duration::from_secs(24 * 60 * 60));
        Self { every, due: Instant::now() + every }
    }

    /// Whether it is due; then the next time is set.
    fn strikes(&mut self, now: bool) -> bool {
        let strikes = now || Instant::now() >= self.due;
        if strikes {
            self.due = Instant::now() + self.every;
        }
        strikes
    }
}

impl Worker {
    fn new(options: &Options, state: Arc<State>) -> Result<Self, String> {
        let client = export::client(options)?;
        let resource = export::resource(&options.service);
        let spans = options.traces.as_ref().map(|endpoint| Spans::new(endpoint, options, &client, &resource));
        let metrics = options.metrics.as_ref().map(|endpoint| Metrics::new(endpoint, &client, &resource));
        Ok(Self {
            state,
            spans: spans.transpose()?.map(|spans| (spans, Clock::new(options.spans_every))),
            metrics: metrics.transpose()?.map(|metrics| (metrics, Clock::new(options.metrics_every))),
        })
    }

    fn run(mut self, queue: &Receiver<Message>) {
        loop {
            let now = Instant::now();
            let clocks = self.spans.iter().map(|it| &it.1).chain(self.metrics.iter().map(|it| &it.1));
            let next = clocks.map(|clock| clock.due).min().unwrap_or(now + Duration::from_secs(60));
            match queue.recv_timeout(next.saturating_duration_since(now)) {
                Ok(Message::Record(record)) => self.record(&record),
                Ok(Message::Flush(done)) => {
                    self.send(true);
                    // Who waited may have gone.
                    let _ = done.send(());
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return self.send(true),
            }
            self.send(false);
        }
    }

    fn record(&mut self, record: &Record) {
        if let Some((spans, _)) = &mut self.spans {
            self.state.drop_records(spans.record(record));
        }
        if let Some((metrics, _)) = &self.metrics {
            metrics.record(record);
        }
    }

    /// Sends what is due, or everything.
    fn send(&mut self, everything: bool) {
        if let Some((spans, clock)) = &mut self.spans
            && clock.strikes(everything)
        {
            let result = spans.send().map_err(|(what, given_up)| {
                self.state.drop_records(given_up);
                what
            });
            self.state.note("spans", result);
        }
        if let Some((metrics, clock)) = &mut self.metrics
            && clock.strikes(everything)
        {
            let result = metrics.send(self.state.dropped.load(Ordering::Relaxed));
            self.state.note("metrics", result);
        }
    }
}
