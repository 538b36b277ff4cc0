//! Bodies with limits.

use std::error::Error as StdError;
use std::future::Future as _;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use tokio::sync::SemaphorePermit;
use tokio::task::JoinHandle;
use tokio::time::{Instant, Sleep, sleep_until};

use super::{MAX_BODY, NetworkError};

/// The body of a request. It fails beyond its limit.
pub(super) struct Limited<B> {
    body: B,
    left: u64,
    over: Arc<AtomicBool>,
}

impl<B: Body> Limited<B> {
    /// Returns the body, and a flag that is set if the body was larger than its limit.
    pub(super) fn new(body: B) -> Result<(Self, Arc<AtomicBool>), NetworkError> {
        if body.size_hint().lower() > MAX_BODY {
            return Err(NetworkError::RequestTooLarge);
        }
        let over = Arc::new(AtomicBool::new(false));
        Ok((Self { body, left: MAX_BODY, over: Arc::clone(&over) }, over))
    }
}

impl<B> Body for Limited<B>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<Box<dyn StdError + Send + Sync>>,
{
    type Data = Bytes;
    type Error = Box<dyn StdError + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let Some(frame) = ready!(Pin::new(&mut self.body).poll_frame(cx)) else { return Poll::Ready(None) };
        let frame = frame.map_err(Into::into)?;
        let size = frame.data_ref().map_or(0, Bytes::len) as u64;
        let Some(left) = self.left.checked_sub(size) else {
            self.over.store(true, Ordering::Release);
            return Poll::Ready(Some(Err(Box::new(NetworkError::RequestTooLarge))));
        };
        self.left = left;
        Poll::Ready(Some(Ok(frame)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The task of a connection. Dropping it ends the connection.
pub(super) struct Driver(pub(super) JoinHandle<()>);

impl Drop for Driver {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The resources of an answer that is read. Dropping them lets another request run, and ends the connection unless it is
/// kept elsewhere.
#[derive(Default)]
pub(super) struct Hold {
    pub(super) _driver: Option<Driver>,
    pub(super) _permit: Option<SemaphorePermit<'static>>,
}

/// The body of an answer: at most [`MAX_BODY`] bytes, within its time limits. The connection lives while it is read.
pub struct ResponseBody {
    incoming: Incoming,
    /// None once the body has ended.
    hold: Option<Hold>,
    left: u64,
    between: Duration,
    until: Instant,
    /// The earlier of the end of `between` and `until`.
    timer: Pin<Box<Sleep>>,
}

debug_by!(ResponseBody, left);

impl ResponseBody {
    pub(super) fn new(
        incoming: Incoming,
        hold: Hold,
        between: Duration,
        until: Instant,
    ) -> Result<Self, NetworkError> {
        if incoming.size_hint().lower() > MAX_BODY {
            return Err(NetworkError::ResponseTooLarge);
        }
        let timer = Box::pin(sleep_until(next(between, until)));
        Ok(Self { incoming, hold: Some(hold), left: MAX_BODY, between, until, timer })
    }

    /// Fails beyond this many bytes, if that is below its own limit.
    pub(super) fn at_most(mut self, bytes: u64) -> Self {
        self.left = self.left.min(bytes);
        self
    }

    /// Reads the whole body, without trailers.
    ///
    /// # Errors
    ///
    /// [`NetworkError::ResponseTooLarge`], [`NetworkError::BodyTimeout`], [`NetworkError::Incomplete`] or
    /// [`NetworkError::Protocol`].
    pub async fn read(self) -> Result<Bytes, NetworkError> {
        Ok(self.collect().await?.to_bytes())
    }

    fn take(&mut self, frame: Frame<Bytes>) -> Result<Frame<Bytes>, NetworkError> {
        let size = frame.data_ref().map_or(0, Bytes::len) as u64;
        self.left = self.left.checked_sub(size).ok_or(NetworkError::ResponseTooLarge)?;
        self.timer.as_mut().reset(next(self.between, self.until));
        Ok(frame)
    }
}

/// Returns the deadline of the next part of a body.
fn next(between: Duration, until: Instant) -> Instant {
    Instant::now().checked_add(between).map_or(until, |idle| idle.min(until))
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = NetworkError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, NetworkError>>> {
        if self.hold.is_none() {
            return Poll::Ready(None);
        }
        let frame = match Pin::new(&mut self.incoming).poll_frame(cx) {
            // A server that never pauses has the same total time.
            Poll::Ready(Some(Ok(_))) if Instant::now() >= self.until => Some(Err(NetworkError::BodyTimeout)),
            Poll::Ready(Some(Ok(frame))) => Some(self.take(frame)),
            Poll::Ready(Some(Err(error))) => Some(Err(NetworkError::http(&error))),
            Poll::Ready(None) => None,
            Poll::Pending => {
                ready!(self.timer.as_mut().poll(cx));
                Some(Err(NetworkError::BodyTimeout))
            }
        };
        if !matches!(frame, Some(Ok(_))) {
            self.hold = None;
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.hold.is_none() || self.incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}
