//! Checks a request before anything is sent, without I/O.

use http::header::{self, HeaderValue};
use http::{HeaderMap, Method, Uri, request};

use super::{MAX_BODY, MAX_HEAD, MAX_HEADERS, MAX_TARGET, NetworkError, Rules};
use crate::capability::{Origin, Scheme};

/// Fields that control the connection, which is ours, or that mark the end of a body.
const CONNECTION: &str = "connection keep-alive proxy-authenticate proxy-authorization proxy-connection transfer-encoding te upgrade";

fn invalid<T>(reason: &str) -> Result<T, NetworkError> {
    Err(NetworkError::Invalid(reason.to_owned()))
}

/// Returns the origin of a request that is granted and can be sent, and puts the request into the form in which it is
/// sent: its target is a path, and its `Host` is the origin.
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

/// Returns the origin of an absolute URI.
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

/// Returns the origin of `host[:port]`.
fn origin(scheme: Scheme, authority: &str) -> Option<Origin> {
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !authority.starts_with('[') || host.ends_with(']') => {
            // `parse` would accept a sign.
            let digits = port.bytes().all(|byte| byte.is_ascii_digit());
            (host, Some(port.parse().ok().filter(|port| digits && *port != 0)?))
        }
        _ => (authority, None),
    };
    Origin::of(scheme, host, port)
}

fn check_fields(fields: &HeaderMap, origin: &Origin) -> Result<(), NetworkError> {
    if let Some(name) = CONNECTION.split(' ').find(|name| fields.contains_key(*name)) {
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

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;
    use crate::capability::Capability;
    use http::HeaderName;

    fn rules(origins: &[&str]) -> Rules {
        let origin = |text: &&str| match format!("http:{text}").parse() {
            Ok(Capability::Http(origin)) => origin,
            other => panic!("{text}: {other:?}"),
        };
        let origins: std::sync::Arc<[Origin]> = origins.iter().map(origin).collect();
        Rules { listed: origins.clone(), origins, timeouts: super::super::Timeouts::default() }
    }

    fn parts(method: &str, uri: &str, fields: &[(&str, &str)]) -> request::Parts {
        let mut request = Request::builder().method(method).uri(uri);
        for (name, value) in fields {
            request = request.header(*name, value.as_bytes());
        }
        request.body(()).unwrap().into_parts().0
    }

    #[test]
    fn a_request_goes_to_a_granted_origin_however_that_is_written() {
        let rules = rules(&["https://a.org", "http://a.org:8080", "http://[fd00::1]:81", "http://10.0.0.1"]);
        for (uri, host) in [
            ("https://a.org", "a.org"),
            ("https://A.ORG:443/x?y=%0d%0a#z", "a.org"),
            ("HTTPS://a.org/x", "a.org"),
            ("http://a.org:8080/", "a.org:8080"),
            ("http://a.org:08080/", "a.org:8080"),
            ("http://[FD00:0::1]:81/", "[fd00::1]:81"),
            ("http://10.0.0.1:80/", "10.0.0.1"),
        ] {
            let mut parts = parts("GET", uri, &[]);
            check(&mut parts, &rules).unwrap_or_else(|error| panic!("{uri}: {error}"));
            assert_eq!(parts.headers[header::HOST], host, "{uri}");
            assert!(parts.uri.to_string().starts_with('/') && parts.uri.host().is_none(), "{}", parts.uri);
        }
    }

    #[test]
    fn another_scheme_host_or_port_is_not_granted() {
        let rules = rules(&["https://a.org"]);
        for (uri, origin) in [
            ("http://a.org/", "http://a.org"),
            ("http://a.org:443/", "http://a.org:443"),
            ("https://a.org:80/", "https://a.org:80"),
            ("https://a.org:8443/", "https://a.org:8443"),
            ("https://b.a.org/", "https://b.a.org"),
            ("https://a.org.evil.org/", "https://a.org.evil.org"),
            ("https://169.254.169.254/a.org", "https://169.254.169.254"),
            ("https://[::ffff:127.0.0.1]/", "https://[::ffff:127.0.0.1]"),
        ] {
            match check(&mut parts("GET", uri, &[]), &rules) {
                Err(NetworkError::NotGranted(found)) => assert_eq!(found.to_string(), origin),
                other => panic!("{uri}: {other:?}"),
            }
        }
    }

    #[test]
    fn an_ambiguous_request_is_not_sent() {
        let rules = rules(&["https://a.org", "http://127.0.0.1"]);
        let (large, many) = ("x".repeat(MAX_HEAD), vec![("x", "x"); MAX_HEADERS + 1]);
        for (method, uri, fields) in [
            ("GET", "/x", &[][..]),
            ("GET", "ftp://a.org/x", &[]),
            ("GET", "https://a.org@b.org/", &[]),
            ("GET", "https://user:word@a.org/", &[]),
            ("GET", "https://a.org./", &[]),
            ("GET", "https://a.org:0/", &[]),
            ("GET", "http://127.1/", &[]),
            ("GET", "http://0x7f.0.0.1/", &[]),
            ("GET", "http://2130706433/", &[]),
            ("CONNECT", "https://a.org/", &[]),
            ("OPTIONS", "https://a.org*", &[]),
            ("GET", "https://a.org/", &[("host", "b.org")]),
            ("GET", "https://a.org/", &[("host", "a.org:80")]),
            ("GET", "https://a.org/", &[("host", "a.org"), ("host", "b.org")]),
            ("GET", "https://a.org/", &[("host", "a.org\u{ff}")]),
            ("GET", "https://a.org/", &[("connection", "upgrade")]),
            ("GET", "https://a.org/", &[("upgrade", "h2c")]),
            ("GET", "https://a.org/", &[("proxy-authorization", "x")]),
            ("POST", "https://a.org/", &[("transfer-encoding", "chunked")]),
            ("POST", "https://a.org/", &[("transfer-encoding", "\tchunked"), ("content-length", "1")]),
            ("POST", "https://a.org/", &[("content-length", "1"), ("content-length", "2")]),
            ("POST", "https://a.org/", &[("content-length", "1, 2")]),
            ("POST", "https://a.org/", &[("content-length", "+1")]),
            ("POST", "https://a.org/", &[("content-length", "")]),
            ("GET", "https://a.org/", &[("x", large.as_str())]),
            ("GET", "https://a.org/", many.as_slice()),
        ] {
            let Ok(_) = Uri::try_from(uri) else { continue };
            let got = check(&mut parts(method, uri, fields), &rules);
            assert!(matches!(got, Err(NetworkError::Invalid(_))), "{method} {uri}: {got:?}");
        }
        let mut absolute = parts("GET", "https://a.org/", &[]);
        for target in ["http://b.org/", "*", "b.org:80"] {
            let mut uri = absolute.uri.clone().into_parts();
            let Ok(target) = target.parse() else { continue };
            uri.path_and_query = Some(target);
            let Ok(uri) = Uri::from_parts(uri) else { continue };
            absolute.uri = uri;
            let got = check(&mut absolute, &rules);
            assert!(matches!(got, Err(NetworkError::Invalid(_))), "{}: {got:?}", absolute.uri);
        }
        let long = format!("https://a.org/{}", "x".repeat(MAX_TARGET));
        assert_eq!(check(&mut parts("GET", &long, &[]), &rules), Err(NetworkError::TargetTooLong));
        let length = (MAX_BODY + 1).to_string();
        let mut large = parts("POST", "https://a.org/", &[("content-length", length.as_str())]);
        assert_eq!(check(&mut large, &rules), Err(NetworkError::RequestTooLarge));
    }

    #[test]
    fn a_field_holds_no_line_break() {
        for value in ["a\r\nhost: b.org", "a\nx: y", "a\rx: y", "a\0"] {
            assert!(HeaderValue::from_str(value).is_err(), "{value:?}");
        }
        assert!(HeaderName::from_bytes(b"x: y\r\nz").is_err());
    }
}
