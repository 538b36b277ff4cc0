//! The challenges of a registry that requires a login: `WWW-Authenticate` (RFC 9110, section 11.6.1). No I/O.

/// A way to log in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Challenge {
    /// User name and password with every request.
    Basic,
    /// A token from the service at `realm`.
    Bearer {
        /// The address of the token service.
        realm: String,
        /// The service that the token is for.
        service: Option<String>,
    },
}

impl Challenge {
    /// Reads the first challenge of a header that is supported, and prefers tokens.
    pub(super) fn parse(header: &str) -> Option<Self> {
        let (mut is_basic, mut is_bearer) = (false, false);
        let (mut realm, mut service) = (None, None);
        for word in words(header) {
            match word.split_once('=') {
                None => {
                    is_bearer = word.eq_ignore_ascii_case("bearer");
                    is_basic |= word.eq_ignore_ascii_case("basic");
                }
                Some((name, value)) if is_bearer && name.eq_ignore_ascii_case("realm") => {
                    realm.get_or_insert_with(|| value.to_owned());
                }
                Some((name, value)) if is_bearer && name.eq_ignore_ascii_case("service") => {
                    service.get_or_insert_with(|| value.to_owned());
                }
                Some(_) => {}
            }
        }
        let bearer = realm.map(|realm| Self::Bearer { realm, service });
        bearer.or_else(|| is_basic.then_some(Self::Basic))
    }
}

/// Splits a header at spaces and commas, and removes the quotes of quoted strings. A word with `=` is a
/// parameter, any other the name of a challenge.
fn words(header: &str) -> Vec<String> {
    let (mut words, mut is_quoted) = (vec![String::new()], false);
    let mut chars = header.chars();
    while let Some(c) = chars.next() {
        let next = match c {
            '"' => {
                is_quoted = !is_quoted;
                None
            }
            ' ' | ',' if !is_quoted => {
                words.push(String::new());
                None
            }
            '\\' if is_quoted => chars.next(),
            c => Some(c),
        };
        words.last_mut().into_iter().for_each(|word| word.extend(next));
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_challenge_is_read_as_registries_write_it() {
        let bearer = |realm: &str, service: Option<&str>| {
            Some(Challenge::Bearer { realm: realm.to_owned(), service: service.map(str::to_owned) })
        };
        for (header, want) in [
            ("Basic realm=\"Registry\"", Some(Challenge::Basic)),
            ("basic", Some(Challenge::Basic)),
            (
                "Bearer realm=\"https://auth.docker.io/token\",service=\"registry.docker.io\",scope=\"repository:a/b:pull\"",
                bearer("https://auth.docker.io/token", Some("registry.docker.io")),
            ),
            ("Bearer realm=\"https://ghcr.io/token\"", bearer("https://ghcr.io/token", None)),
            ("bearer REALM=https://a.example/t , service=s", bearer("https://a.example/t", Some("s"))),
            ("Basic realm=\"r\", Bearer realm=\"https://a.example\"", bearer("https://a.example", None)),
            ("Bearer realm=\"a \\\"quoted\\\" one\"", bearer("a \"quoted\" one", None)),
            ("Negotiate, Basic realm=\"r\"", Some(Challenge::Basic)),
        ] {
            assert_eq!(Challenge::parse(header), want, "{header}");
        }
    }

    #[test]
    fn text_that_is_not_a_challenge_is_ignored() {
        for header in
            ["", " ", ",", "=", "===", "Bearer", "Bearer realm", "Digest realm=\"x\"", "\"", ",,=\""]
        {
            assert_eq!(Challenge::parse(header), None, "{header}");
        }
    }
}
