//! An artifact in an OCI registry. No I/O.

use std::fmt;

use hookbox::hook::Digest;

/// An artifact in an OCI registry: `oci://HOST[:PORT]/ORG/NAME[:TAG][@sha256:HEX]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OciReference {
    /// The host, with its port if it has one.
    pub registry: String,
    /// The path in the registry, in lower case (OCI distribution specification 1.1, "Pulling manifests").
    pub repository: String,
    /// The tag; without a tag and a digest, `latest` is used.
    pub tag: Option<String>,
    /// The digest of the manifest, which has precedence over the tag.
    pub digest: Option<Digest>,
}

impl OciReference {
    /// Reads the text after `oci://`.
    pub(super) fn parse(text: &str) -> Result<Self, &'static str> {
        const SHAPE: &str = "expected oci://HOST[:PORT]/ORG/NAME[:TAG] or …@sha256:HEX";
        let (registry, path) = text.split_once('/').ok_or(SHAPE)?;
        let (host, port) = match registry.strip_prefix('[') {
            Some(rest) => {
                let (address, port) = rest.split_once(']').ok_or(SHAPE)?;
                if address.parse::<std::net::Ipv6Addr>().is_err() {
                    return Err("expected an address between [ and ]");
                }
                ("v6", port)
            }
            None => registry.split_at(registry.find(':').unwrap_or(registry.len())),
        };
        let is_host = !host.is_empty()
            && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-".contains(&byte))
            && !host.starts_with(['-', '.']);
        let is_port = port.is_empty()
            || port.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok_and(|it| it > 0));
        if !is_host || !is_port {
            return Err("expected a host, and a port if one is given");
        }
        let (path, digest) = match path.split_once('@') {
            Some((path, digest)) => (
                path,
                Some(digest.parse().map_err(|_| "expected sha256: and 64 hexadecimal digits after @")?),
            ),
            None => (path, None),
        };
        let (repository, tag) = match path.split_once(':') {
            Some((path, tag)) => (path, Some(tag)),
            None => (path, None),
        };
        let is_part = |part: &str| {
            let small = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
            part.bytes().all(|byte| small(byte) || b"._-".contains(&byte))
                && part.bytes().next().is_some_and(small)
                && part.bytes().last().is_some_and(small)
        };
        if repository.len() > 255 || !repository.split('/').all(is_part) {
            return Err("expected a repository in small letters, such as org/name");
        }
        let is_tag = |tag: &str| {
            (1..=128).contains(&tag.len())
                && tag.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
                && !tag.starts_with(['.', '-'])
        };
        if !tag.is_none_or(is_tag) {
            return Err("expected a tag of letters, digits and any of . _ - after the colon");
        }
        let (registry, repository) = (registry.to_owned(), repository.to_owned());
        Ok(Self { registry, repository, tag: tag.map(str::to_owned), digest })
    }
}

impl fmt::Display for OciReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "oci://{}/{}", self.registry, self.repository)?;
        if let Some(tag) = &self.tag {
            write!(f, ":{tag}")?;
        }
        match &self.digest {
            Some(digest) => write!(f, "@{digest}"),
            None => Ok(()),
        }
    }
}
