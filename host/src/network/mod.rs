//! HTTP requests of components, and to services that are hooks: to the origins that were granted, at addresses that were
//! checked, within limits.
//!
//! A request is checked, its host resolved once, every address checked, and the connection made to the checked address
//! itself. A redirect is an answer like any other: a hook that follows it makes a new request, which is checked again.
//! Proxies of the environment are not used, because the checked address would be the proxy's.

mod body;
mod connect;
mod error;
mod exchange;
mod resolve;
mod target;

use std::error::Error as StdError;
use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use tokio::io::DuplexStream;
use tokio::sync::{OnceCell, Semaphore};
use tokio::time::{Instant, timeout_at};
use tokio_rustls::rustls::ClientConfig;

pub use http;

pub(crate) use self::body::ResponseBody;
pub use self::error::NetworkError;

use self::body::{Driver, Hold, Limited};
use self::connect::{Io, Stream};
use self::resolve::Resolve;
use crate::capability::{Origin, Scheme};

/// The largest body of a request or an answer, in bytes.
pub(crate) const MAX_BODY: u64 = 4 << 20;
/// The largest head of a request or an answer, in bytes.
pub(crate) const MAX_HEAD: usize = 64 << 10;
/// The largest number of fields in a head.
pub(crate) const MAX_HEADERS: usize = 100;
/// The longest path and query of a request, in bytes.
pub(crate) const MAX_TARGET: usize = 16 << 10;
/// The number of requests of this process that run at once, including the reading of their answers.
pub(crate) const MAX_REQUESTS: usize = 32;

static REQUESTS: Semaphore = Semaphore::const_new(MAX_REQUESTS);

/// The client that sends requests. Cheap to clone; clones share the root certificates, which are loaded for the first
/// `https` request.
#[derive(Clone)]
pub struct Network {
    tls: Arc<OnceCell<Arc<ClientConfig>>>,
    resolve: Resolve,
    /// The port to connect to instead of the origin's.
    port: Option<u16>,
    /// Makes the connections instead of the system.
    peer: Option<Peer>,
    kept: Arc<exchange::Kept>,
}

/// A connection that speaks HTTP.
struct Line<B> {
    sender: hyper::client::conn::http1::SendRequest<B>,
    driver: Driver,
    /// True once a byte of an answer came.
    heard: Arc<AtomicBool>,
}

/// Makes the connection to an origin.
type Peer = Arc<dyn Fn(&Origin) -> DuplexStream + Send + Sync>;

/// The limits of one request.
#[derive(Clone, Debug)]
pub struct Rules {
    /// The origins that requests may go to.
    pub origins: Arc<[Origin]>,
    /// All origins that the user has named. A private address among them allows an origin of the same scheme and port to
    /// be at that address.
    pub listed: Arc<[Origin]>,
    /// The time limits.
    pub timeouts: Timeouts,
}

/// The time limits of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// For the connection, including the resolution of the name and TLS; 10 s.
    pub connect: Duration,
    /// From the connection to the head of the answer; 30 s.
    pub first_byte: Duration,
    /// Between two pieces of the answer's body; 10 s.
    pub between_bytes: Duration,
    /// From the start to the end of the body; 60 s.
    pub total: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { connect: seconds(10), first_byte: seconds(30), between_bytes: seconds(10), total: seconds(60) }
    }
}

impl Default for Network {
    fn default() -> Self {
        Self::new()
    }
}

debug_by!(Network);

impl Network {
    /// Creates a client that trusts the system's root certificates (`SSL_CERT_FILE` and `SSL_CERT_DIR` name others), or
    /// Mozilla's if the system has none, and uses the system's resolver. Loads nothing yet.
    pub fn new() -> Self {
        Self { tls: Arc::default(), resolve: resolve::system(), port: None, peer: None, kept: Arc::default() }
    }

    /// Creates a client that trusts these root certificates and no others.
    ///
    /// # Errors
    ///
    /// [`NetworkError::Tls`] if `pem` has no certificate, or anything else.
    pub fn with_roots(pem: &[u8]) -> Result<Self, NetworkError> {
        let config = Arc::new(connect::own_roots(pem)?);
        Ok(Self { tls: Arc::new(OnceCell::new_with(Some(config))), ..Self::new() })
    }

    /// Resolves names by `resolve`. Its addresses are checked like those of the system's resolver.
    #[must_use]
    pub fn with_resolver<F, R>(mut self, resolve: F) -> Self
    where
        F: Fn(String) -> R + Send + Sync + 'static,
        R: Future<Output = io::Result<Vec<IpAddr>>> + Send + 'static,
    {
        self.resolve = Arc::new(move |host| Box::pin(resolve(host)));
        self
    }

    /// Connects to this port instead of the origin's: for tests, with a server of their own. The origin is granted and
    /// checked as before.
    #[must_use]
    pub fn with_port(mut self, port: u16) -> Self {
        self.port = Some(port);
        self
    }

    /// Takes connections from `peer` instead of the system, which speaks HTTP/1.1 without TLS: for tests, with answers of
    /// their own. The origin is granted and checked as before, and no name is resolved.
    #[must_use]
    pub fn with_peer(mut self, peer: impl Fn(&Origin) -> DuplexStream + Send + Sync + 'static) -> Self {
        self.peer = Some(Arc::new(peer));
        self
    }

    /// Returns the origin of a request with this URI, as a right names it.
    ///
    /// # Errors
    ///
    /// [`NetworkError::Invalid`] for another scheme, a missing host, or a user in the URI.
    pub fn origin(uri: &http::Uri) -> Result<Origin, NetworkError> {
        target::origin_of(uri)
    }

    /// Sends a request with an absolute URI over HTTP/1.1, and waits for the head of its answer. Dropping the future or
    /// the body of the answer ends the connection.
    ///
    /// # Errors
    ///
    /// [`NetworkError`]. A refused request was not sent.
    pub async fn send<B>(
        &self,
        request: Request<B>,
        rules: &Rules,
    ) -> Result<Response<ResponseBody>, NetworkError>
    where
        B: Body<Data = Bytes> + Send + Unpin + 'static,
        B::Error: Into<Box<dyn StdError + Send + Sync>>,
    {
        let Timeouts { connect, first_byte, between_bytes, total } = rules.timeouts;
        let (mut parts, body) = request.into_parts();
        let origin = target::check(&mut parts, rules)?;
        let (body, over) = Limited::new(body)?;
        let request = Request::from_parts(parts, body);

        let until = after(total);
        let connected = after(connect).min(until);
        let permit = timeout_at(connected, REQUESTS.acquire())
            .await
            .map_err(|_| NetworkError::Busy)?
            .map_err(|_| NetworkError::Busy)?;
        let Line { mut sender, driver, .. } = self.open(&origin, rules, connected).await?;
        let hold = Hold { _driver: Some(driver), _permit: Some(permit) };

        let answer = timeout_at(after(first_byte).min(until), sender.send_request(request)).await;
        if over.load(Ordering::Acquire) {
            return Err(NetworkError::RequestTooLarge);
        }
        let answer = answer.map_err(|_| NetworkError::FirstByteTimeout)?;
        let (parts, incoming) = answer.map_err(|error| NetworkError::http(&error))?.into_parts();
        let body = ResponseBody::new(incoming, hold, between_bytes, until)?;
        Ok(Response::from_parts(parts, body))
    }

    /// Connects to an origin, and starts to speak HTTP.
    async fn open<B>(&self, origin: &Origin, rules: &Rules, until: Instant) -> Result<Line<B>, NetworkError>
    where
        B: Body<Data = Bytes> + Send + Unpin + 'static,
        B::Error: Into<Box<dyn StdError + Send + Sync>>,
    {
        let io = Io::new(self.connect(origin, rules, until).await?);
        let heard = Arc::clone(&io.heard);
        let mut http = hyper::client::conn::http1::Builder::new();
        http.max_headers(MAX_HEADERS).max_buf_size(MAX_HEAD);
        let (sender, connection) = http.handshake(io).await.map_err(|error| NetworkError::http(&error))?;
        // The caller that waits for the answer gets the error of the connection.
        let driver = Driver(tokio::spawn(async move { drop(connection.await) }));
        Ok(Line { sender, driver, heard })
    }

    async fn connect(&self, origin: &Origin, rules: &Rules, until: Instant) -> Result<Stream, NetworkError> {
        if let Some(peer) = &self.peer {
            return Ok(Stream::Peer(peer(origin)));
        }
        let mut addresses = timeout_at(until, resolve::addresses(&self.resolve, origin, &rules.listed))
            .await
            .map_err(|_| NetworkError::ResolveTimeout(origin.host()))??;
        if let Some(port) = self.port {
            addresses.iter_mut().for_each(|address| address.set_port(port));
        }
        let stream = connect::tcp(&addresses, until).await?;
        if origin.scheme() == Scheme::Http {
            return Ok(Stream::Plain(stream));
        }
        let secured = async { connect::secure(self.tls().await?, origin, stream).await };
        let stream = timeout_at(until, secured).await.map_err(|_| NetworkError::ConnectTimeout)??;
        Ok(Stream::Tls(Box::new(stream)))
    }

    async fn tls(&self) -> Result<Arc<ClientConfig>, NetworkError> {
        let load = async || {
            let loaded = tokio::task::spawn_blocking(connect::system_roots).await;
            loaded.map_err(|error| NetworkError::Tls(error.to_string()))?.map(Arc::new)
        };
        self.tls.get_or_try_init(load).await.cloned()
    }
}

/// Returns the moment after this time, or a distant one if the clock does not reach that far.
fn after(time: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(time).unwrap_or_else(|| now + Duration::from_secs(1 << 30))
}

#[cfg(test)]
mod tests;
