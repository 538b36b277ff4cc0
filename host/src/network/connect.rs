//! Connections to a checked address, with TLS for `https`.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use hyper::rt::ReadBufCursor;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, pem::PemObject as _};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::NetworkError;
use crate::capability::Origin;
use hookbox_system::tls;

/// The number of bytes that are read at once.
const READ: usize = 8 << 10;

/// Connects to one of these addresses. They are tried in their order and share the time that is left.
pub(super) async fn tcp(addresses: &[SocketAddr], until: Instant) -> Result<TcpStream, NetworkError> {
    let mut failed = NetworkError::ConnectTimeout;
    for (tried, address) in addresses.iter().enumerate() {
        let now = Instant::now();
        let others = u32::try_from(addresses.len() - tried).unwrap_or(u32::MAX);
        let share = until.saturating_duration_since(now).checked_div(others).unwrap_or_default();
        match timeout_at(now + share, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                // A request is written in few parts, so Nagle's algorithm would only delay it.
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
            Ok(Err(error)) => failed = NetworkError::connect(&error),
            Err(_) => failed = NetworkError::ConnectTimeout,
        }
    }
    Err(failed)
}

/// Starts TLS and checks the certificate against the origin's host.
pub(super) async fn secure(
    config: Arc<ClientConfig>,
    origin: &Origin,
    stream: TcpStream,
) -> Result<TlsStream<TcpStream>, NetworkError> {
    let name = match origin.address() {
        Some(address) => ServerName::from(address),
        None => ServerName::try_from(origin.host())
            .map_err(|error| NetworkError::Tls(format!("{}: {error}", origin.host())))?,
    };
    TlsConnector::from(config).connect(name, stream).await.map_err(|error| NetworkError::tls(&error))
}

/// Returns a TLS configuration that accepts the certificates of the system, or Mozilla's. Reads files.
pub(super) fn system_roots() -> Result<ClientConfig, NetworkError> {
    tls::system_roots().map_err(NetworkError::Tls)
}

/// Returns a TLS configuration that accepts these certificates and no others.
pub(super) fn own_roots(pem: &[u8]) -> Result<ClientConfig, NetworkError> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate = certificate.map_err(|error| NetworkError::Tls(format!("no PEM: {error}")))?;
        roots.add(certificate).map_err(|error| NetworkError::Tls(format!("no root certificate: {error}")))?;
    }
    if roots.is_empty() {
        return Err(NetworkError::Tls("no root certificate".to_owned()));
    }
    tls::config(roots).map_err(NetworkError::Tls)
}

/// A connection of either kind.
pub(super) enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
    /// A peer in this process.
    Peer(DuplexStream),
}

/// A connection with hyper's traits.
pub(super) struct Io {
    pub(super) stream: Stream,
    buffer: Box<[u8]>,
    /// True once a byte came from the server, after TLS.
    pub(super) heard: Arc<AtomicBool>,
}

impl Io {
    pub(super) fn new(stream: Stream) -> Self {
        Self { stream, buffer: vec![0; READ].into_boxed_slice(), heard: Arc::default() }
    }
}

macro_rules! either {
    ($stream:expr, $inner:ident => $call:expr) => {
        match $stream {
            Stream::Plain($inner) => {
                let $inner = Pin::new($inner);
                $call
            }
            Stream::Tls($inner) => {
                let $inner = Pin::new($inner.as_mut());
                $call
            }
            Stream::Peer($inner) => {
                let $inner = Pin::new($inner);
                $call
            }
        }
    };
}

impl hyper::rt::Read for Io {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut into: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let Self { stream, buffer, heard } = self.get_mut();
        let room = buffer.len().min(into.remaining());
        // Hyper's buffer cannot be filled without `unsafe`, so the bytes are copied from a buffer of our own.
        let mut read = ReadBuf::new(buffer.get_mut(..room).unwrap_or_default());
        ready!(either!(stream, inner => inner.poll_read(cx, &mut read)))?;
        if !read.filled().is_empty() {
            heard.store(true, Ordering::Release);
        }
        into.put_slice(read.filled());
        Poll::Ready(Ok(()))
    }
}

impl hyper::rt::Write for Io {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        either!(&mut self.get_mut().stream, inner => inner.poll_write(cx, bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        either!(&mut self.get_mut().stream, inner => inner.poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        either!(&mut self.get_mut().stream, inner => inner.poll_shutdown(cx))
    }
}
