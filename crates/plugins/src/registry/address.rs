//! The addresses of registries, and the protocols that are allowed. No I/O.

use std::net::{Ipv4Addr, Ipv6Addr};

use reqwest::Url;

/// The common name of Docker's registry.
const DOCKER_HUB: &str = "docker.io";
/// The host of Docker's registry.
const DOCKER_HUB_HOST: &str = "registry-1.docker.io";
/// The name under which docker keeps the credentials of its registry.
const DOCKER_HUB_LOGIN: &str = "https://index.docker.io/v1/";

/// Returns the root of a registry's API, such as `https://ghcr.io/v2/`.
///
/// Plain HTTP is for this machine, as in docker, and for all registries with `plain_http`.
pub(super) fn root(registry: &str, plain_http: bool) -> Option<Url> {
    let host = if is_docker_hub(registry) { DOCKER_HUB_HOST } else { registry };
    let https = Url::parse(&format!("https://{host}/v2/")).ok()?;
    let is_host = https.has_host() && https.path() == "/v2/" && https.username().is_empty();
    if !is_host || https.password().is_some() || https.query().is_some() || https.fragment().is_some() {
        return None;
    }
    if plain_http || is_loopback(&https) {
        Url::parse(&format!("http://{host}/v2/")).ok()
    } else {
        Some(https)
    }
}

/// Returns the name under which docker keeps the credentials.
pub(super) fn login(registry: &str) -> &str {
    if is_docker_hub(registry) { DOCKER_HUB_LOGIN } else { registry }
}

fn is_docker_hub(registry: &str) -> bool {
    [DOCKER_HUB, "index.docker.io", DOCKER_HUB_HOST].contains(&registry)
}

/// Returns true if the name of the host is this machine: `localhost`, 127.0.0.0/8 or `::1`.
pub(super) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || address.parse::<Ipv4Addr>().is_ok_and(|it| it.is_loopback())
        || address.parse::<Ipv6Addr>().is_ok_and(|it| it.is_loopback())
}

/// Returns true if a redirect from `from` to `to` is allowed: to HTTPS always; to plain HTTP only from plain
/// HTTP, and only to this machine or with `plain_http`.
pub(super) fn may_follow(from: &Url, to: &Url, plain_http: bool) -> bool {
    match to.scheme() {
        "https" => to.has_host(),
        "http" => from.scheme() == "http" && (plain_http || is_loopback(to)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_http_is_for_this_machine_and_for_users_who_want_it() {
        for (registry, plain_http, want) in [
            ("ghcr.io", false, "https://ghcr.io/v2/"),
            ("ghcr.io", true, "http://ghcr.io/v2/"),
            ("registry.example:5000", false, "https://registry.example:5000/v2/"),
            ("localhost:5000", false, "http://localhost:5000/v2/"),
            ("127.0.0.1:5000", false, "http://127.0.0.1:5000/v2/"),
            ("127.8.9.1", false, "http://127.8.9.1/v2/"),
            ("[::1]:5000", false, "http://[::1]:5000/v2/"),
            ("localhost.example:5000", false, "https://localhost.example:5000/v2/"),
            ("10.0.0.1:5000", false, "https://10.0.0.1:5000/v2/"),
            ("docker.io", false, "https://registry-1.docker.io/v2/"),
        ] {
            assert_eq!(root(registry, plain_http).unwrap().as_str(), want, "{registry}");
        }
    }

    #[test]
    fn text_that_is_not_a_host_is_not_a_registry() {
        for registry in ["", "user@host", "user:secret@host", "host/path", "host?query", "host#part", "a b"] {
            assert_eq!(root(registry, false), None, "{registry}");
        }
    }

    #[test]
    fn nothing_leads_from_https_to_http() {
        for (from, to, plain_http, want) in [
            ("https://a.example/", "https://b.example/", false, true),
            ("https://a.example/", "http://a.example/", false, false),
            ("https://a.example/", "http://a.example/", true, false),
            ("https://a.example/", "http://localhost/", false, false),
            ("http://localhost/", "http://127.0.0.1:1/", false, true),
            ("http://localhost/", "http://a.example/", false, false),
            ("http://a.example/", "http://b.example/", true, true),
            ("http://localhost/", "https://a.example/", false, true),
            ("http://localhost/", "file:///etc/passwd", false, false),
        ] {
            let follows = may_follow(&Url::parse(from).unwrap(), &Url::parse(to).unwrap(), plain_http);
            assert_eq!(follows, want, "{from} to {to}, plain_http: {plain_http}");
        }
    }

    #[test]
    fn credentials_of_dockers_own_registry_have_a_name_of_their_own() {
        assert_eq!(login("docker.io"), "https://index.docker.io/v1/");
        assert_eq!(login("ghcr.io"), "ghcr.io");
    }
}
