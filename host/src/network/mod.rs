//! HTTP requests of component hooks: to the origins that were granted, at addresses that were checked, within limits.
//!
//! A request is checked, its host resolved once, every address checked, and the connection made to the checked address
//! itself. Redirects are answers like others: who follows one makes a new request, which is checked again. Proxies that
//! the environment names are not used: the address that is checked would be the proxy's.

mod body;
mod connect;
mod error;
mod resolve;
mod target;

use std::error::Error as StdError;
use std::fmt;
use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use tokio::sync::{OnceCell, Semaphore};
use tokio::time::{Instant, timeout_at};
use tokio_rustls::rustls::ClientConfig;

pub use http;

pub use self::body::ResponseBody;
pub use self::error::NetworkError;

use self::body::{Hold, Limited};
use self::connect::{Io, Stream};
use self::resolve::Resolve;
use crate::capability::{Origin, Scheme};

/// How large the body of a request, and that of an answer, may be, in bytes.
pub const MAX_BODY: u64 = 4 << 20;
/// How large the head of a request, and that of an answer, may be, in bytes.
pub const MAX_HEAD: usize = 64 << 10;
/// How many fields a head may have.
pub const MAX_HEADERS: usize = 100;
/// How long the path and query of a request may be, in bytes.
pub const MAX_TARGET: usize = 16 << 10;
/// How many requests of this process run at once, with the reading of their answers.
pub const MAX_REQUESTS: usize = 32;

static REQUESTS: Semaphore = Semaphore::const_new(MAX_REQUESTS);

/// What sends requests. Cheap to clone; clones share the root certificates, which are loaded for the first `https` request.
#[derive(Clone)]
pub struct Network {
    tls: Arc<OnceCell<Arc<ClientConfig>>>,
    resolve: Resolve,
    /// Connects here, whatever the port of the origin is.
    port: Option<u16>,
}

/// What one request may do.
#[derive(Clone, Debug)]
pub struct Rules {
    /// The origins that requests may go to.
    pub origins: Arc<[Origin]>,
    /// All the origins that the user has named: a literal address among them allows an origin of the same scheme and
    /// port to be at that address, though it is none of the internet.
    pub listed: Arc<[Origin]>,
    /// How long it may take.
    pub timeouts: Timeouts,
}

/// How long a request may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Until there is a connection, with resolving the name and TLS; 10 s.
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

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Network").finish_non_exhaustive()
    }
}

impl Network {
    /// Trusts the system's root certificates (`SSL_CERT_FILE` and `SSL_CERT_DIR` name others), or Mozilla's where the
    /// system has none; resolves names as the system does. Loads nothing yet.
    pub fn new() -> Self {
        Self { tls: Arc::default(), resolve: resolve::system(), port: None }
    }

    /// Trusts these root certificates and no others.
    ///
    /// # Errors
    ///
    /// [`NetworkError::Tls`] where `pem` holds none, or something else.
    pub fn with_roots(pem: &[u8]) -> Result<Self, NetworkError> {
        let config = Arc::new(connect::own_roots(pem)?);
        Ok(Self { tls: Arc::new(OnceCell::new_with(Some(config))), ..Self::new() })
    }

    /// The same, but names are resolved by `resolve`. What it finds is checked like what the system finds.
    #[must_use]
    pub fn with_resolver<F, R>(mut self, resolve: F) -> Self
    where
        F: Fn(String) -> R + Send + Sync + 'static,
        R: Future<Output = io::Result<Vec<IpAddr>>> + Send + 'static,
    {
        self.resolve = Arc::new(move |host| Box::pin(resolve(host)));
        self
    }

    /// The same, but connects to this port whatever that of the origin is: for tests, with a server of one's own in the
    /// place of the real one. What is granted and checked stays the origin.
    #[must_use]
    pub fn with_port(mut self, port: u16) -> Self {
        self.port = Some(port);
        self
    }

    /// The origin of a request with this URI, as a right names it.
    ///
    /// # Errors
    ///
    /// [`NetworkError::Invalid`] where it has none: another scheme, no host, a user.
    pub fn origin(uri: &http::Uri) -> Result<Origin, NetworkError> {
        target::origin_of(uri)
    }

    /// Sends a request whose URI is whole, over HTTP/1.1, and waits for the head of its answer. Dropping the future, or the
    /// body that it gives, ends the connection.
    ///
    /// # Errors
    ///
    /// As [`NetworkError`] says; nothing was sent where it is refused.
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
        let stream = self.connect(&origin, rules, connected).await?;
        let mut http = hyper::client::conn::http1::Builder::new();
        http.max_headers(MAX_HEADERS).max_buf_size(MAX_HEAD);
        let handshake = http.handshake(Io::new(stream)).await;
        let (mut sender, connection) = handshake.map_err(|error| NetworkError::http(&error))?;
        // Why a connection failed is told to whoever waits for the answer.
        let driver = tokio::spawn(async move { drop(connection.await) });
        let hold = Hold::new(driver, permit);

        let answer = timeout_at(after(first_byte).min(until), sender.send_request(request)).await;
        if over.load(Ordering::Acquire) {
            return Err(NetworkError::RequestTooLarge);
        }
        let answer = answer.map_err(|_| NetworkError::FirstByteTimeout)?;
        let (parts, incoming) = answer.map_err(|error| NetworkError::http(&error))?.into_parts();
        let body = ResponseBody::new(incoming, hold, between_bytes, until)?;
        Ok(Response::from_parts(parts, body))
    }

    async fn connect(&self, origin: &Origin, rules: &Rules, until: Instant) -> Result<Stream, NetworkError> {
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

/// The moment after this time; far away where the clock does not reach that far.
fn after(time: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(time).unwrap_or_else(|| now + Duration::from_secs(1 << 30))
}

#[cfg(test)]
mod tests;
