//! What a request asks for: checked before anything is sent, without I/O.

use std::net::IpAddr;

use http::header::{self, HeaderName, HeaderValue};
use http::{HeaderMap, Method, Uri, request};

use super::{MAX_BODY, MAX_HEAD, MAX_HEADERS, MAX_TARGET, NetworkError, Rules};
use crate::capability::{Origin, Scheme};

/// Fields that speak of the connection, which is ours, or that say where a body ends.
const CONNECTION: [HeaderName; 8] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    HeaderName::from_static("proxy-connection"),
    header::TRANSFER_ENCODING,
    header::TE,
    header::UPGRADE,
];

fn invalid<T>(reason: &str) -> Result<T, NetworkError> {
    Err(NetworkError::Invalid(reason.to_owned()))
}

/// The origin that a request goes to, where that is granted and the request can be sent. From then on the request is
/// in the form in which it is sent: its target is a path, and its `Host` the origin.
pub(super) fn check(parts: &mut request::Parts, rules: &Rules) -> Result<Origin, NetworkError> {
    let origin = origin_of(&parts.uri)?;
    if !rules.origins.contains(&origin) {
        return Err(NetworkError::NotGranted(origin));
    }
    if parts.method == Method::CONNECT {
        return invalid("CONNECT is for proxies");
    }
    let target = parts.uri.path_and_query().map_or("/", |target| target.as_str());
    if target.len() > MAX_TARGET {
        return Err(NetworkError::TargetTooLong);
    }
    // Anything else could be the address of another server (RFC 9112, section 3.2.2).
    if !target.starts_with('/') {
        return invalid("the path does not start with a slash");
    }
    let Ok(target) = Uri::try_from(target) else { return invalid("the path is not valid") };
    check_fields(&parts.headers, &origin)?;
    let authority = origin.to_string();
    let authority = authority.split_once("://").map_or("", |(_, authority)| authority);
    let Ok(host) = HeaderValue::from_str(authority) else { return invalid("the host is not valid") };
    parts.uri = target;
    parts.version = http::Version::HTTP_11;
    parts.headers.insert(header::HOST, host);
    parts.headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    Ok(origin)
}

/// The origin of a URI that is whole.
pub(super) fn origin_of(uri: &Uri) -> Result<Origin, NetworkError> {
    let scheme = match uri.scheme_str() {
        Some("http") => Scheme::Http,
        Some("https") => Scheme::Https,
        _ => return invalid("the scheme is neither http nor https"),
    };
    let Some(authority) = uri.authority() else { return invalid("it names no host") };
    match origin(scheme, authority.as_str()) {
        Some(origin) => Ok(origin),
        None if authority.as_str().contains('@') => invalid("it names a user"),
        None => invalid("the host is neither a name nor an address, or the port is none"),
    }
}

/// The origin of `host[:port]`.
fn origin(scheme: Scheme, authority: &str) -> Option<Origin> {
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !authority.starts_with('[') || host.ends_with(']') => {
            // No sign, which `parse` would take.
            let digits = port.bytes().all(|byte| byte.is_ascii_digit());
            (host, Some(port.parse().ok().filter(|port| digits && *port != 0)?))
        }
        _ => (authority, None),
    };
    Origin::of(scheme, host, port)
}

fn check_fields(fields: &HeaderMap, origin: &Origin) -> Result<(), NetworkError> {
    if let Some(name) = CONNECTION.iter().find(|name| fields.contains_key(*name)) {
        return Err(NetworkError::Invalid(format!("the field {name} is not its own to set")));
    }
    let bytes: usize = fields.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
    if fields.len() > MAX_HEADERS || bytes > MAX_HEAD {
        return invalid("its fields are too many or too large");
    }
    let mut hosts = fields.get_all(header::HOST).iter();
    let named =
        hosts.next().map(|host| host.to_str().ok().and_then(|host| self::origin(origin.scheme(), host)));
    if named.is_some_and(|named| named.as_ref() != Some(origin)) || hosts.next().is_some() {
        return invalid("the field host names another host than the address");
    }
    let mut lengths = fields.get_all(header::CONTENT_LENGTH).iter();
    if let Some(length) = lengths.next() {
        let digits = length.as_bytes().iter().all(u8::is_ascii_digit);
        let length = length.to_str().ok().filter(|_| digits).and_then(|length| length.parse::<u64>().ok());
        match length {
            Some(length) if length > MAX_BODY => return Err(NetworkError::RequestTooLarge),
            Some(_) if lengths.next().is_none() => {}
            _ => return invalid("the field content-length is not one number"),
        }
    }
    Ok(())
}

/// The same scheme and port at a literal address.
pub(super) fn literal(origin: &Origin, address: IpAddr) -> Option<Origin> {
    let host = match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    };
    Origin::of(origin.scheme(), &host, Some(origin.port()))
}
