//! Whole exchanges of a request and its answer, over connections that are kept for the next one.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{Request, StatusCode, header};
use http_body_util::Full;
use tokio::time::{Instant, timeout_at};

use super::body::{Hold, ResponseBody};
use super::{Line, MAX_BODY, Network, NetworkError, REQUESTS, Rules, after, target};
use crate::capability::Origin;
use hookbox_system::mutex;

/// The number of connections that wait for a further request. A process has few services.
const MAX_KEPT: usize = 8;

type Answer = Result<(StatusCode, Bytes), NetworkError>;

/// A connection with its origin, and with the origins that were listed when its address was checked.
type KeptLine = (Origin, Arc<[Origin]>, Line<Full<Bytes>>);

/// The connections that wait for a further request, the latest last.
#[derive(Default)]
pub(super) struct Kept(Mutex<Vec<KeptLine>>);

impl Kept {
    fn take(&self, origin: &Origin, listed: &[Origin]) -> Option<Line<Full<Bytes>>> {
        let mut kept = mutex::lock(&self.0);
        let at = kept.iter().rposition(|(of, with, _)| of == origin && **with == *listed)?;
        Some(kept.remove(at).2)
    }

    fn put(&self, origin: Origin, listed: Arc<[Origin]>, line: Line<Full<Bytes>>) {
        let mut kept = mutex::lock(&self.0);
        kept.push((origin, listed, line));
        let over = kept.len().saturating_sub(MAX_KEPT);
        kept.drain(..over);
    }
}

impl Network {
    /// Sends a request as [`Network::send`] does, and reads the answer, of at most `limit` bytes. The connection is kept for
    /// the next exchange with this origin. If a connection ends, or none can be made, before a byte of the answer came, the
    /// request is sent once more: a server may have closed a connection that was kept, or be starting again.
    ///
    /// # Errors
    ///
    /// [`NetworkError`].
    pub(crate) async fn exchange(&self, request: Request<Bytes>, rules: &Rules, limit: u64) -> Answer {
        let (mut parts, body) = request.into_parts();
        let origin = target::check(&mut parts, rules)?;
        parts.headers.remove(header::CONNECTION);
        if body.len() as u64 > MAX_BODY {
            return Err(NetworkError::RequestTooLarge);
        }
        let request = Request::from_parts(parts, Full::new(body));
        let until = after(rules.timeouts.total);
        let _permit = timeout_at(until, REQUESTS.acquire()).await.map_err(|_| NetworkError::Busy)?;
        let mut is_last = false;
        loop {
            let kept = self.kept.take(&origin, &rules.listed);
            let was_kept = kept.is_some();
            let (answer, is_heard) = match self.line(kept, &origin, rules, until).await {
                Ok(mut line) => {
                    line.heard.store(false, Ordering::Release);
                    let answer = line.ask(request.clone(), limit, until).await;
                    let is_heard = line.heard.load(Ordering::Acquire);
                    if answer.is_ok() && !line.sender.is_closed() {
                        self.kept.put(origin.clone(), Arc::clone(&rules.listed), line);
                    }
                    (answer, is_heard)
                }
                Err(error) => (Err(error), false),
            };
            match answer {
                Err(NetworkError::Refused | NetworkError::Connect(_) | NetworkError::Incomplete)
                    if !is_heard && !is_last =>
                {
                    is_last = !was_kept;
                }
                answer => return answer,
            }
        }
    }

    /// Returns the connection that was kept, if the server has not closed it, or a new one.
    async fn line(
        &self,
        kept: Option<Line<Full<Bytes>>>,
        origin: &Origin,
        rules: &Rules,
        until: Instant,
    ) -> Result<Line<Full<Bytes>>, NetworkError> {
        if let Some(mut line) = kept
            && timeout_at(until, line.sender.ready()).await.is_ok_and(|ready| ready.is_ok())
        {
            return Ok(line);
        }
        self.open(origin, rules, until).await
    }
}

impl Line<Full<Bytes>> {
    async fn ask(&mut self, request: Request<Full<Bytes>>, limit: u64, until: Instant) -> Answer {
        let answer = timeout_at(until, self.sender.send_request(request)).await;
        let answer = answer.map_err(|_| NetworkError::FirstByteTimeout)?;
        let (parts, incoming) = answer.map_err(|error| NetworkError::http(&error))?.into_parts();
        let between = until.saturating_duration_since(Instant::now());
        let body = ResponseBody::new(incoming, Hold::default(), between, until)?;
        Ok((parts.status, body.at_most(limit).read().await?))
    }
}
