//! Why a request was not sent, or not answered.

use std::error::Error as _;
use std::io;
use std::net::IpAddr;

use tokio_rustls::rustls;

use super::target::literal;
use super::{MAX_BODY, MAX_HEAD};
use crate::capability::{Capability, Origin};
use crate::text;

/// Why a request failed. What a server or the system said is escaped and cut.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NetworkError {
    /// The request cannot be sent as it is; with the reason.
    #[error("the request is not valid: {0}")]
    Invalid(String),
    /// Its target is longer than [`MAX_TARGET`](super::MAX_TARGET) bytes.
    #[error("the path of the request is too long")]
    TargetTooLong,
    /// Its origin is not among the granted ones.
    #[error("no request to {0} is granted, allow it with the right http:{0}")]
    NotGranted(Origin),
    /// The origin is granted, but its host has only addresses that are not of the internet, such as this one, and
    /// they are not granted.
    #[error("{origin} is at {address}, which is no address of the internet: allow it as well, with the right {}",
        literal_right(.origin, *.address))]
    Prohibited {
        /// The origin.
        origin: Origin,
        /// Its address, or the first of several.
        address: IpAddr,
    },
    /// The name of the host could not be resolved.
    #[error("the name {host} cannot be resolved: {reason}")]
    Resolve {
        /// The host.
        host: String,
        /// Why.
        reason: String,
    },
    /// Resolving the name took too long.
    #[error("resolving the name {0} took too long")]
    ResolveTimeout(String),
    /// As many requests as may run at once were running all the time that was left for a connection.
    #[error("too many requests run at once")]
    Busy,
    /// Nobody listens there.
    #[error("the connection was refused")]
    Refused,
    /// No connection for another reason.
    #[error("cannot connect: {0}")]
    Connect(String),
    /// Connecting, with TLS, took too long.
    #[error("connecting took too long")]
    ConnectTimeout,
    /// The server's certificate is not one to trust, or is another host's.
    #[error("the server's certificate is not accepted: {0}")]
    Certificate(String),
    /// TLS failed otherwise, or there are no root certificates.
    #[error("TLS failed: {0}")]
    Tls(String),
    /// The head of the answer did not come in time.
    #[error("the server took too long to answer")]
    FirstByteTimeout,
    /// Between two pieces of the body, or for the whole of it, passed too much time.
    #[error("the body of the answer took too long")]
    BodyTimeout,
    /// The body of the request exceeds its limit.
    #[error("the body of the request is larger than {MAX_BODY} bytes")]
    RequestTooLarge,
    /// The body of the answer exceeds its limit.
    #[error("the body of the answer is larger than {MAX_BODY} bytes")]
    ResponseTooLarge,
    /// The head of the answer exceeds its limits.
    #[error("the head of the answer is larger than {MAX_HEAD} bytes, or has too many fields")]
    HeadTooLarge,
    /// The connection ended before the answer did.
    #[error("the connection ended before the answer did")]
    Incomplete,
    /// What came is no HTTP/1.1.
    #[error("the answer is no HTTP/1.1: {0}")]
    Protocol(String),
}

fn literal_right(origin: &Origin, address: IpAddr) -> String {
    literal(origin, address).map_or_else(|| address.to_string(), |origin| format!("http:{origin}"))
}

impl NetworkError {
    /// The right that is missing, where the request was refused for want of one.
    pub fn missing(&self) -> Option<Capability> {
        match self {
            Self::NotGranted(origin) => Some(Capability::Http(origin.clone())),
            Self::Prohibited { origin, address } => literal(origin, *address).map(Capability::Http),
            _ => None,
        }
    }

    pub(super) fn connect(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::ConnectionRefused => Self::Refused,
            io::ErrorKind::TimedOut => Self::ConnectTimeout,
            _ => Self::Connect(said(error)),
        }
    }

    pub(super) fn tls(error: &io::Error) -> Self {
        let cause = error.get_ref().and_then(|cause| cause.downcast_ref::<rustls::Error>());
        match cause {
            Some(rustls::Error::InvalidCertificate(_)) => Self::Certificate(said(error)),
            Some(_) => Self::Tls(said(error)),
            None if error.kind() == io::ErrorKind::UnexpectedEof => Self::Incomplete,
            None => Self::Tls(said(error)),
        }
    }

    pub(super) fn http(error: &hyper::Error) -> Self {
        if error.is_parse_too_large() {
            return Self::HeadTooLarge;
        }
        let cause = error.source().and_then(|cause| cause.downcast_ref::<io::Error>());
        // That is how hyper says that the pieces of a body are not what they should be.
        let nonsense = [io::ErrorKind::InvalidInput, io::ErrorKind::InvalidData];
        if let Some(cause) = cause.filter(|cause| nonsense.contains(&cause.kind())) {
            return Self::Protocol(said(cause));
        }
        if error.is_incomplete_message() || error.is_canceled() || error.is_closed() || cause.is_some() {
            return Self::Incomplete;
        }
        Self::Protocol(said(error))
    }
}

fn said(error: &impl std::fmt::Display) -> String {
    text::escape(&error.to_string(), 200)
}
