//! The reasons why a request was not sent or not answered.

use std::error::Error as _;
use std::io;
use std::net::IpAddr;

use tokio_rustls::rustls;

use super::{MAX_BODY, MAX_HEAD};
use crate::capability::{Capability, Origin};
use hookbox_system::text;

/// The reason why a request failed. Text of a server or the system is escaped and cut.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NetworkError {
    /// The request cannot be sent as it is, for this reason.
    #[error("the request is not valid: {0}")]
    Invalid(String),
    /// Its target is longer than 16 KiB.
    #[error("the path of the request is too long")]
    TargetTooLong,
    /// Its origin is not among the granted ones.
    #[error("no request to {0} is granted, allow it with the right http:{0}")]
    NotGranted(Origin),
    /// The origin is granted, but its host has only private addresses, and they are not granted.
    #[error("{origin} is at {address}, which is not an address of the internet: allow it as well, with the right http:{}",
        .origin.with_address(*.address))]
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
        /// The reason.
        reason: String,
    },
    /// Resolving the name took too long.
    #[error("resolving the name {0} took too long")]
    ResolveTimeout(String),
    /// The maximum number of requests was running until the deadline of the connection.
    #[error("too many requests run at once")]
    Busy,
    /// No server listens at the address.
    #[error("the connection was refused")]
    Refused,
    /// The connection failed for another reason.
    #[error("cannot connect: {0}")]
    Connect(String),
    /// Connecting, with TLS, took too long.
    #[error("connecting took too long")]
    ConnectTimeout,
    /// The server's certificate is not trusted, or belongs to another host.
    #[error("the server's certificate is not accepted: {0}")]
    Certificate(String),
    /// TLS failed for another reason, or there are no root certificates.
    #[error("TLS failed: {0}")]
    Tls(String),
    /// The head of the answer did not come in time.
    #[error("the server took too long to answer")]
    FirstByteTimeout,
    /// A part of the body, or the whole body, took too long.
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
    /// The answer is not HTTP/1.1.
    #[error("the answer is not HTTP/1.1: {0}")]
    Protocol(String),
}

impl NetworkError {
    /// Returns the missing right, if the request was refused because of one.
    pub fn missing(&self) -> Option<Capability> {
        match self {
            Self::NotGranted(origin) => Some(Capability::Http(origin.clone())),
            Self::Prohibited { origin, address } => Some(Capability::Http(origin.with_address(*address))),
            _ => None,
        }
    }

    pub(super) fn connect(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::ConnectionRefused => Self::Refused,
            io::ErrorKind::TimedOut => Self::ConnectTimeout,
            _ => Self::Connect(escaped(error)),
        }
    }

    pub(super) fn tls(error: &io::Error) -> Self {
        let cause = error.get_ref().and_then(|cause| cause.downcast_ref::<rustls::Error>());
        match cause {
            Some(rustls::Error::InvalidCertificate(_)) => Self::Certificate(escaped(error)),
            Some(_) => Self::Tls(escaped(error)),
            None if error.kind() == io::ErrorKind::UnexpectedEof => Self::Incomplete,
            None => Self::Tls(escaped(error)),
        }
    }

    pub(super) fn http(error: &hyper::Error) -> Self {
        if error.is_parse_too_large() {
            return Self::HeadTooLarge;
        }
        let cause = error.source().and_then(|cause| cause.downcast_ref::<io::Error>());
        // Hyper reports a malformed body with these kinds.
        let malformed = [io::ErrorKind::InvalidInput, io::ErrorKind::InvalidData];
        if let Some(cause) = cause.filter(|cause| malformed.contains(&cause.kind())) {
            return Self::Protocol(escaped(cause));
        }
        if error.is_incomplete_message() || error.is_canceled() || error.is_closed() || cause.is_some() {
            return Self::Incomplete;
        }
        Self::Protocol(escaped(error))
    }
}

fn escaped(error: &impl std::fmt::Display) -> String {
    text::escape(&error.to_string(), 200)
}
