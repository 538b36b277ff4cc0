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

/// The most bytes of a header with challenges.
const MAX_HEADER: usize = 8 << 10;

impl Challenge {
    /// Reads the first challenge of a header that is supported, and prefers tokens.
    pub(super) fn parse(header: &str) -> Option<Self> {
        if header.len() > MAX_HEADER {
            return None;
        }
        let (mut rest, mut basic) = (header.trim_start(), None);
        while !rest.is_empty() {
            let end = rest.find([' ', ',']).unwrap_or(rest.len());
            let (scheme, after) = rest.split_at(end);
            let (parameters, next) = parameters(after);
            let value = |wanted: &str| {
                parameters.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|it| it.1.clone())
            };
            if scheme.eq_ignore_ascii_case("bearer")
                && let Some(realm) = value("realm")
            {
                return Some(Self::Bearer { realm, service: value("service") });
            }
            if scheme.eq_ignore_ascii_case("basic") {
                basic = Some(Self::Basic);
            }
            // Without progress the rest is not a challenge.
            if next.len() >= rest.len() {
                break;
            }
            rest = next;
        }
        basic
    }
}

/// Reads the parameters of one challenge, and returns the rest of the text.
fn parameters(text: &str) -> (Vec<(String, String)>, &str) {
    let mut found = Vec::new();
    let mut rest = text.trim_start_matches([' ', ',']);
    loop {
        let Some(equals) = rest.find('=') else { return (found, rest) };
        let (name, value) = rest.split_at(equals);
        let name = name.trim();
        // The next word is the scheme of another challenge.
        if name.is_empty() || name.contains([' ', ',', '"']) {
            return (found, rest);
        }
        let value = value.get(1..).unwrap_or_default().trim_start();
        let (value, after) = match value.strip_prefix('"') {
            Some(quoted) => unquote(quoted),
            None => {
                let end = value.find([',', ' ']).unwrap_or(value.len());
                let (value, after) = value.split_at(end);
                (value.to_owned(), after)
            }
        };
        found.push((name.to_owned(), value));
        rest = after.trim_start_matches([' ', ',']);
    }
}

/// Reads a quoted string after its first quote, and returns the rest of the text.
fn unquote(text: &str) -> (String, &str) {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return (value, text.get(at + 1..).unwrap_or_default()),
            '\\' => value.extend(chars.next().map(|(_, c)| c)),
            c => value.push(c),
        }
    }
    (value, "")
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
        let long = format!("Basic {}", "x".repeat(20_000));
        for header in
            ["", " ", ",", "=", "===", "Bearer", "Bearer realm", "Digest realm=\"x\"", "\"", ",,=\"", &long]
        {
            assert_eq!(Challenge::parse(header), None, "{header}");
        }
    }
}
