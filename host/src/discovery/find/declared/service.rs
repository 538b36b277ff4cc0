//! An HTTP service that an entry sends its events to.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use super::document::{Member, Node, address, at, map, words, wrong};
use crate::dialect::Wire;

/// The keys of a service.
pub(super) const KEYS: [&str; 4] = ["url", "headers", "allowedEnvVars", "addresses"];

/// A service, as it is declared: variables in its headers are not filled in.
#[derive(Clone)]
pub struct Service {
    /// The address, `http` or `https`.
    pub url: String,
    /// The header fields of each request; a value may name variables, as `$NAME` or `${NAME}`.
    pub headers: BTreeMap<String, String>,
    /// The variables that a header may name.
    pub variables: Vec<String>,
    /// The addresses outside of the internet at which the host may be.
    pub addresses: Vec<IpAddr>,
    /// The form of events and answers; `None` for Base Coat's, or kodelet's if Base Coat has no such event.
    pub wire: Option<Arc<dyn Wire>>,
}

debug_by!(Service, url);

impl fmt::Display for Service {
    /// The request, not escaped for a terminal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "POST {}", self.url)?;
        match self.variables.as_slice() {
            [] => Ok(()),
            names => write!(f, " with ${}", names.join(" $")),
        }
    }
}

impl Service {
    /// Reads the service of an entry with these members.
    ///
    /// # Errors
    ///
    /// The position and the reason, if it has no address, or another key of it cannot be read.
    pub(super) fn read(members: &[Member<'_>], node: Node<'_>) -> Result<Self, String> {
        let find = |name: &str| members.iter().find(|it| it.name == name).map(|it| it.value);
        let url = find("url").ok_or_else(|| at(node.spot(), "expected url, found none"))?;
        let Some(address) = Some(address(url)?).filter(|it| !it.starts_with("${")) else {
            return Err(wrong("url", "an address without a variable", url));
        };
        let listed = |key: &str, expected: &str| match find(key) {
            None => Ok(Vec::new()),
            Some(value) => words(value).ok_or_else(|| wrong(key, expected, value)),
        };
        let variables = listed("allowedEnvVars", "a list of names of variables")?;
        let expected = "a list of IP addresses";
        let addresses = listed("addresses", expected)?.iter().map(|it| it.parse().ok()).collect();
        let addresses: Option<Vec<IpAddr>> = addresses;
        Ok(Self {
            url: address,
            headers: find("headers").map_or_else(|| Ok(BTreeMap::new()), |it| map("headers", it))?,
            variables,
            addresses: addresses
                .ok_or_else(|| wrong("addresses", expected, find("addresses").unwrap_or(node)))?,
            wire: None,
        })
    }
}

/// A build without HTTP sends nothing.
#[cfg(any(test, feature = "http"))]
impl Service {
    /// Returns the header fields with the values of their variables.
    ///
    /// # Errors
    ///
    /// The field, and the reason why a variable has no value.
    pub(crate) fn filled(
        &self,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<BTreeMap<String, String>, String> {
        let fill = |(name, text): (&String, &String)| match self.fill(text, variable) {
            Ok(value) => Ok((name.clone(), value)),
            Err(why) => Err(format!("its header {name} needs the variable {why}")),
        };
        self.headers.iter().map(fill).collect()
    }

    /// Puts the values of variables in place of their names. A value is not read again.
    fn fill(&self, text: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
        let (mut out, mut rest) = (String::new(), text);
        while let Some((before, after)) = rest.split_once('$') {
            out.push_str(before);
            let inner = after.strip_prefix('{').unwrap_or(after);
            let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let end = inner.find(|c| !is_name(c)).unwrap_or(inner.len());
            let (name, tail) = inner.split_at_checked(end).unwrap_or((inner, ""));
            let tail = if inner.len() == after.len() { Some(tail) } else { tail.strip_prefix('}') };
            let begins = name.starts_with(|c: char| !c.is_ascii_digit());
            match tail.filter(|_| begins) {
                Some(tail) if self.variables.iter().any(|it| it == name) => {
                    out.push_str(&variable(name).ok_or_else(|| format!("{name}, which is not set"))?);
                    rest = tail;
                }
                Some(_) => return Err(format!("{name}, which is not among its allowedEnvVars")),
                None => {
                    out.push('$');
                    rest = after;
                }
            }
        }
        out.push_str(rest);
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::super::document::{Document, Form};
    use super::*;

    fn read(text: &str) -> Result<Service, String> {
        let document = Document::parse(text).unwrap();
        let Form::Object(object) = document.root().form() else { panic!("{text}") };
        Service::read(&object.members, document.root())
    }

    #[test]
    fn a_service_has_an_address_and_each_of_its_other_keys_is_read_or_refused() {
        for (text, want) in [
            (r#"{"url": "https://a.org/x"}"#, Ok("POST https://a.org/x")),
            (
                r#"{"url": "HTTP://10.0.0.1", "headers": {"X": "$A"}, "allowedEnvVars": ["A", "B"], "addresses": ["10.0.0.1", "::1"]}"#,
                Ok("POST HTTP://10.0.0.1 with $A $B"),
            ),
            (r"{}", Err("line 1, column 1: expected url, found none")),
            (r#"{"url": "ftp://a.org"}"#, Err("line 1, column 9: url: expected an address")),
            (r#"{"url": "https://"}"#, Err("line 1, column 9: url: expected an address")),
            (r#"{"url": "${URL}"}"#, Err("line 1, column 9: url: expected an address without a variable")),
            (r#"{"url": "http://a", "headers": ["X"]}"#, Err("line 1, column 32: headers: expected")),
            (r#"{"url": "http://a", "headers": {"a b": "c"}}"#, Err("line 1, column 33: headers:")),
            (r#"{"url": "http://a", "allowedEnvVars": "A"}"#, Err("line 1, column 39: allowedEnvVars:")),
            (r#"{"url": "http://a", "addresses": ["10.0.0.0/8"]}"#, Err("line 1, column 34: addresses:")),
        ] {
            match (read(text).map(|it| it.to_string()), want) {
                (Ok(found), Ok(want)) => assert_eq!(found, want),
                (Err(found), Err(want)) => assert!(found.starts_with(want), "{text}: {found}"),
                (found, _) => panic!("{text}: {found:?}"),
            }
        }
    }

    #[test]
    fn a_header_gets_the_variables_that_its_entry_allows_and_nothing_is_read_twice() {
        let variable = |name: &str| match name {
            "A" => Some("$B".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        };
        for (value, want) in [
            ("Bearer $A", Ok("Bearer $B")),
            ("${A}x$A.$EMPTY!", Ok("$Bx$B.!")),
            ("5$ $1 ${ ${A $", Ok("5$ $1 ${ ${A $")),
            ("$NO", Err("its header X needs the variable NO, which is not set")),
            ("$OTHER", Err("its header X needs the variable OTHER, which is not among its allowedEnvVars")),
            ("$Ax", Err("its header X needs the variable Ax, which is not among its allowedEnvVars")),
        ] {
            let mut service = read(r#"{"url": "http://a", "allowedEnvVars": ["A", "EMPTY", "NO"]}"#).unwrap();
            service.headers.insert("X".to_owned(), value.to_owned());
            let found = service.filled(&variable).map(|it| it["X"].clone());
            assert_eq!(found, want.map(str::to_owned).map_err(str::to_owned), "{value}");
        }
    }
}
