//! The origins that a right can name.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// An origin (RFC 6454): scheme, host and port. The default port of the scheme is not written.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Origin {
    scheme: Scheme,
    host: Host,
    port: u16,
}

/// The protocol of an origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scheme {
    /// `http`, port 80.
    Http,
    /// `https`, port 443.
    Https,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Host {
    Name(String),
    Address(IpAddr),
}

impl Scheme {
    /// Returns the name, such as `https`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    /// Returns the default port.
    pub fn port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

impl Origin {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let (scheme, rest) = match text.split_once("://") {
            Some(("http", rest)) => (Scheme::Http, rest),
            Some(("https", rest)) => (Scheme::Https, rest),
            _ => return Err("an origin has the scheme http or https, such as https://example.com".to_owned()),
        };
        if rest.contains(['/', '?', '#']) {
            return Err("an origin has no path".to_owned());
        }
        if rest.contains('@') {
            return Err("an origin has no user".to_owned());
        }
        let bracketed = rest.starts_with('[');
        let (host, port) = match rest.rsplit_once(':') {
            Some((host, port)) if !bracketed || host.ends_with(']') => (host, Some(port)),
            _ => (rest, None),
        };
        let port = match port {
            None => scheme.port(),
            Some(port) => match port.parse::<u16>() {
                Ok(number) if number.to_string() != port || number == 0 => {
                    return Err("a port is a number from 1 to 65535".to_owned());
                }
                Ok(number) if number == scheme.port() => {
                    return Err(format!("{number} is the port of {}, leave it out", scheme.as_str()));
                }
                Ok(number) => number,
                Err(_) => return Err("a port is a number from 1 to 65535".to_owned()),
            },
        };
        Ok(Self { scheme, host: Host::parse(host)?, port })
    }

    /// Returns the origin of a request, from the parts of its URI in any case, with or without the port.
    pub fn of(scheme: Scheme, host: &str, port: Option<u16>) -> Option<Self> {
        let host = Host::parse(&host.to_ascii_lowercase()).ok()?;
        Some(Self { scheme, host, port: port.unwrap_or(scheme.port()) })
    }

    /// Returns the protocol.
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// Returns the host without brackets: a name or an address.
    pub fn host(&self) -> String {
        match &self.host {
            Host::Name(name) => name.clone(),
            Host::Address(address) => address.to_string(),
        }
    }

    /// Returns the port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the address, if the host is one.
    pub fn address(&self) -> Option<IpAddr> {
        match self.host {
            Host::Name(_) => None,
            Host::Address(address) => Some(address),
        }
    }

    /// Returns the origin with the same scheme and port at an address.
    #[must_use]
    pub fn with_address(&self, address: IpAddr) -> Self {
        Self { host: Host::Address(address), ..self.clone() }
    }

    /// Returns true if the host is the name `localhost`.
    pub fn is_localhost(&self) -> bool {
        matches!(&self.host, Host::Name(name) if name == "localhost")
    }
}

impl Host {
    fn parse(text: &str) -> Result<Self, String> {
        if let Some(rest) = text.strip_prefix('[') {
            let address = rest.strip_suffix(']').and_then(|inner| inner.parse::<Ipv6Addr>().ok());
            return address
                .map(|address| Self::Address(address.into()))
                .ok_or_else(|| "expected an IPv6 address in brackets".to_owned());
        }
        if let Ok(address) = text.parse::<Ipv4Addr>() {
            return Ok(Self::Address(address.into()));
        }
        if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
            return Err("a host is written in lower case".to_owned());
        }
        let label = |label: &str| {
            !label.is_empty()
                && label.len() <= 63
                && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
        };
        if text.is_empty() || text.len() > 253 || !text.split('.').all(label) {
            return Err("a host is a name such as hooks.example.com, or an address; no pattern".to_owned());
        }
        // Resolvers read `127.1`, `0x7f.1` and `2130706433` as addresses (inet_aton).
        let last = text.rsplit('.').next().unwrap_or_default();
        if last.bytes().all(|byte| byte.is_ascii_digit()) || last.starts_with("0x") {
            return Err("an address is written with four numbers, such as 127.0.0.1".to_owned());
        }
        Ok(Self::Name(text.to_owned()))
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://", self.scheme.as_str())?;
        match &self.host {
            Host::Name(name) => f.write_str(name)?,
            Host::Address(IpAddr::V4(address)) => write!(f, "{address}")?,
            Host::Address(IpAddr::V6(address)) => write!(f, "[{address}]")?,
        }
        if self.port == self.scheme.port() { Ok(()) } else { write!(f, ":{}", self.port) }
    }
}
