//! Resolves the name of a host to the addresses that a request may connect to.

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::pin::Pin;
use std::sync::Arc;

use tokio::sync::Semaphore;

use super::NetworkError;
use crate::capability::{Origin, address};
use hookbox_system::text;

/// The number of names that are resolved at once. Each takes a thread, which outlives a request that gives up.
static LOOKUPS: Semaphore = Semaphore::const_new(16);

/// A resolver of host names.
pub(super) type Resolve = Arc<dyn Fn(String) -> Resolving + Send + Sync>;
pub(super) type Resolving = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

/// Returns the system's resolver.
pub(super) fn system() -> Resolve {
    Arc::new(|host| {
        Box::pin(async move {
            let permit = LOOKUPS.acquire().await.map_err(io::Error::other)?;
            let lookup = tokio::task::spawn_blocking(move || {
                let _permit = permit;
                let found = (host.as_str(), 0).to_socket_addrs()?;
                Ok(found.map(|address| address.ip()).collect())
            });
            lookup.await.map_err(io::Error::other)?
        })
    })
}

/// Returns the addresses of an origin that a request may connect to; `listed` are the origins that the user has named.
pub(super) async fn addresses(
    resolve: &Resolve,
    origin: &Origin,
    listed: &[Origin],
) -> Result<Vec<SocketAddr>, NetworkError> {
    let found = match origin.address() {
        Some(address) => vec![address],
        None => resolve(origin.host()).await.map_err(|error| NetworkError::Resolve {
            host: origin.host(),
            reason: text::escape(&error.to_string(), 200),
        })?,
    };
    allowed(origin, listed, &found)
}

/// Keeps the addresses that a request may connect to, in their order and each once.
fn allowed(origin: &Origin, listed: &[Origin], found: &[IpAddr]) -> Result<Vec<SocketAddr>, NetworkError> {
    let mut allowed = Vec::new();
    for address in found {
        let socket = SocketAddr::new(*address, origin.port());
        if is_allowed(origin, listed, *address) && !allowed.contains(&socket) {
            allowed.push(socket);
        }
    }
    match found.first() {
        None => Err(NetworkError::Resolve { host: origin.host(), reason: "it has no address".to_owned() }),
        Some(address) if allowed.is_empty() => {
            Err(NetworkError::Prohibited { origin: origin.clone(), address: *address })
        }
        Some(_) => Ok(allowed),
    }
}

fn is_allowed(origin: &Origin, listed: &[Origin], found: IpAddr) -> bool {
    address::is_public(found)
        || origin.address() == Some(found)
        || (origin.is_localhost() && found.is_loopback())
        || listed.contains(&origin.with_address(found))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capability::Capability;

    fn origin(text: &str) -> Origin {
        match format!("http:{text}").parse() {
            Ok(Capability::Http(origin)) => origin,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn only_public_and_listed_addresses_are_connected_to() {
        const NAME: &str = "https://a.org";
        for (of, listed, found, want) in [
            (NAME, &[][..], &["1.1.1.1"][..], &["1.1.1.1:443"][..]),
            (NAME, &[], &["10.0.0.1", "1.1.1.1", "::1", "1.1.1.1"], &["1.1.1.1:443"]),
            (NAME, &[], &["2606:4700::1", "127.0.0.1"], &["[2606:4700::1]:443"]),
            (NAME, &[], &["127.0.0.1"], &[]),
            (NAME, &[], &["169.254.169.254"], &[]),
            (NAME, &[], &["::ffff:127.0.0.1"], &[]),
            (NAME, &[], &["0.0.0.0", "::", "fe80::1", "fd00:ec2::254", "64:ff9b::7f00:1"], &[]),
            // Listed: the same scheme, port and address.
            (NAME, &["https://10.0.0.1"], &["10.0.0.2", "10.0.0.1"], &["10.0.0.1:443"]),
            (NAME, &["http://10.0.0.1"], &["10.0.0.1"], &[]),
            (NAME, &["https://10.0.0.1:8443"], &["10.0.0.1"], &[]),
            (NAME, &["https://127.0.0.1"], &["::ffff:127.0.0.1"], &[]),
            (NAME, &["https://[fd00::1]"], &["fd00::1"], &["[fd00::1]:443"]),
            (NAME, &["https://localhost"], &["127.0.0.1"], &[]),
            ("http://a.org:8080", &["http://10.0.0.1:8080"], &["10.0.0.1"], &["10.0.0.1:8080"]),
            // The address itself is what was granted.
            ("http://10.0.0.1:81", &[], &["10.0.0.1"], &["10.0.0.1:81"]),
            ("http://169.254.169.254", &[], &["169.254.169.254"], &["169.254.169.254:80"]),
            ("http://10.0.0.1", &[], &["10.0.0.2"], &[]),
            // The name of this machine.
            ("http://localhost:81", &[], &["127.0.0.1", "::1"], &["127.0.0.1:81", "[::1]:81"]),
            ("http://localhost", &[], &["127.0.0.1", "192.168.0.1"], &["127.0.0.1:80"]),
            ("http://localhost", &[], &["192.168.0.1"], &[]),
            ("http://localhost", &[], &["::ffff:127.0.0.1"], &[]),
            ("http://localhost.a.org", &[], &["127.0.0.1"], &[]),
        ] {
            let listed: Vec<_> = listed.iter().map(|text| origin(text)).collect();
            let found: Vec<IpAddr> = found.iter().map(|text| text.parse().unwrap()).collect();
            let got = allowed(&origin(of), &listed, &found);
            match want {
                [] => {
                    let want = NetworkError::Prohibited { origin: origin(of), address: found[0] };
                    assert_eq!(got, Err(want), "{of} at {found:?}");
                }
                want => {
                    let got: Vec<_> = got.unwrap().iter().map(ToString::to_string).collect();
                    assert_eq!(got, want, "{of} at {found:?}");
                }
            }
        }
    }

    #[test]
    fn a_name_without_addresses_is_not_found() {
        let of = origin("https://a.org");
        assert!(matches!(allowed(&of, &[], &[]), Err(NetworkError::Resolve { .. })));
    }

    #[test]
    fn the_words_of_a_refusal_name_the_grant_that_would_allow_it() {
        for (of, address, right) in [
            ("https://a.org", "10.0.0.1", "http:https://10.0.0.1"),
            ("http://a.org:8080", "fd00::1", "http:http://[fd00::1]:8080"),
        ] {
            let error = allowed(&origin(of), &[], &[address.parse().unwrap()]).unwrap_err();
            assert!(error.to_string().ends_with(&format!("with the right {right}")), "{error}");
            assert_eq!(error.missing().unwrap().to_string(), right);
        }
    }
}
