//! The servers of an mcp.json.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::document::{Form, Node, Object};
use super::reader::{Reader, at, twice, unknown, wrong};
use crate::mcp::Transport;
use hookbox_system::text;

/// The keys of a server.
const KEYS: [&str; 6] = ["type", "command", "args", "env", "url", "headers"];

/// The number of servers of one file that are used.
const MAX_SERVERS: usize = 64;

/// The number of arguments, variables or headers of a server.
const MAX_ITEMS: usize = 256;

/// A server, as it is declared: variables in it are not expanded, and it has no directory yet.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Server {
    pub(crate) transport: Transport,
    /// Its text in the file.
    pub(crate) text: String,
}

impl Server {
    /// Returns the command line or address, for people; not escaped.
    pub(super) fn runs(&self) -> String {
        match &self.transport {
            Transport::Stdio { command, args, .. } => {
                let words = std::iter::once(command).chain(args);
                words.map(|word| text::shell_word(word)).collect::<Vec<_>>().join(" ")
            }
            Transport::Http { url, .. } => url.clone(),
        }
    }

    /// Returns the texts that may name files: the command, its arguments, and the values of its variables.
    pub(super) fn words(&self) -> Vec<String> {
        match &self.transport {
            Transport::Stdio { command, args, env, .. } => {
                std::iter::once(command).chain(args).chain(env.values()).cloned().collect()
            }
            Transport::Http { .. } => Vec::new(),
        }
    }
}

/// The servers of a file by name, or the reason why one cannot be used.
pub(crate) type Servers = BTreeMap<String, Result<Server, String>>;

impl Reader {
    pub(super) fn servers(&mut self, node: Node<'_>) -> Servers {
        let mut servers = Servers::new();
        let Some(members) = self.object("mcpServers", "an object with a server for each name", node) else {
            return servers;
        };
        for member in members {
            if servers.len() == MAX_SERVERS {
                let what =
                    format!("has more than {MAX_SERVERS} servers: only the first {MAX_SERVERS} are used");
                self.fault(|| at(member.at.spot(), &what));
                break;
            }
            let server = server(member.value);
            if let Err(message) = &server {
                self.fault(|| message.clone());
            }
            servers.insert(member.name, server);
        }
        servers
    }
}

fn server(node: Node<'_>) -> Result<Server, String> {
    let Form::Object(Object { members, again }) = node.form() else {
        return Err(wrong("mcpServers", "an object with a command or a url", node));
    };
    if let Some(member) = again.first() {
        return Err(twice(member));
    }
    let (mut kind, mut command, mut url) = (None, None, None);
    let (mut args, mut env, mut headers) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
    for member in &members {
        let value = member.value;
        match member.name.as_str() {
            "type" => match value.form() {
                Form::Text(text) if matches!(text.as_str(), "stdio" | "http" | "streamable-http") => {
                    kind = Some((text, value));
                }
                _ => return Err(wrong("type", "\"stdio\" or \"http\"", value)),
            },
            "command" => command = Some(word("command", "a program", value)?),
            "url" => url = Some(address(value)?),
            "args" => args = list(value)?,
            "env" => env = map("env", value)?,
            "headers" => headers = map("headers", value)?,
            _ => return Err(unknown(member, &KEYS)),
        }
    }
    let transport = match (command, url) {
        (Some(command), None) => Transport::Stdio { command, args, env, directory: PathBuf::new() },
        (None, Some(url)) => Transport::Http { url, headers },
        (None, None) => return Err(at(node.spot(), "expected a command or a url, found neither")),
        (Some(_), Some(_)) => return Err(at(node.spot(), "expected a command or a url, found both")),
    };
    if let Some((kind, value)) = kind {
        let is_stdio = matches!(transport, Transport::Stdio { .. });
        if is_stdio != (kind == "stdio") {
            let what = if is_stdio { "\"stdio\" with a command" } else { "\"http\" with a url" };
            return Err(wrong("type", what, value));
        }
    }
    Ok(Server { transport, text: node.raw().to_owned() })
}

fn word(key: &str, expected: &str, value: Node<'_>) -> Result<String, String> {
    match value.form() {
        Form::Text(text) if !text.trim().is_empty() && !text.contains('\0') => Ok(text),
        _ => Err(wrong(key, expected, value)),
    }
}

fn list(value: Node<'_>) -> Result<Vec<String>, String> {
    let fault = || wrong("args", "a list of texts", value);
    let Form::Array(items) = value.form() else { return Err(fault()) };
    if items.len() > MAX_ITEMS {
        return Err(fault());
    }
    let text = |item: Node<'_>| match item.form() {
        Form::Text(text) if !text.contains('\0') => Ok(text),
        _ => Err(wrong("args", "a text", item)),
    };
    items.into_iter().map(text).collect()
}

fn map(key: &str, value: Node<'_>) -> Result<BTreeMap<String, String>, String> {
    let Form::Object(Object { members, again }) = value.form() else {
        return Err(wrong(key, "an object of texts", value));
    };
    if let Some(member) = again.first() {
        return Err(twice(member));
    }
    if members.len() > MAX_ITEMS {
        return Err(wrong(key, "an object of at most 256 texts", value));
    }
    let text = |member: super::document::Member<'_>| match member.value.form() {
        Form::Text(text) if !text.contains('\0') && is_a_name(key, &member.name) => Ok((member.name, text)),
        Form::Text(_) => Err(at(
            member.at.spot(),
            &format!("{key}: {:?} cannot be a name", text::escape(&member.name, 80)),
        )),
        _ => Err(wrong(&member.name, "a text", member.value)),
    };
    members.into_iter().map(text).collect()
}

/// Returns true if a variable or a header can have this name; a header's is a token of HTTP.
fn is_a_name(key: &str, name: &str) -> bool {
    let is_header = key == "headers";
    let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    !name.is_empty()
        && !name.contains(['=', '\0', '\n', '\r', ':', ' '])
        && (!is_header || name.chars().all(is_token))
}

/// Reads the address of a server. One that begins with a variable is checked when it is used.
fn address(value: Node<'_>) -> Result<String, String> {
    let expected = "an address that begins with http:// or https://";
    let url = word("url", expected, value)?;
    let scheme = url.split_once("://").filter(|(_, rest)| !rest.is_empty()).map(|(scheme, _)| scheme);
    let is_http =
        scheme.is_some_and(|it| it.eq_ignore_ascii_case("http") || it.eq_ignore_ascii_case("https"));
    if is_http || url.starts_with("${") { Ok(url) } else { Err(wrong("url", expected, value)) }
}

#[cfg(test)]
mod tests {
    use super::super::document::Document;
    use super::*;

    #[test]
    fn a_server_is_a_command_or_an_address() {
        for (text, want) in [
            (r#"{"command": "x", "args": ["1"], "env": {"A": "b"}}"#, None),
            (r#"{"type": "stdio", "command": "x"}"#, None),
            (r#"{"type": "http", "url": "http://x", "headers": {"A": "b"}}"#, None),
            (r"5", Some("line 1, column 1: mcpServers: expected an object with a command or a url, found 5")),
            (r"{}", Some("line 1, column 1: expected a command or a url, found neither")),
            (
                r#"{"command": "x", "url": "http://y"}"#,
                Some("line 1, column 1: expected a command or a url, found both"),
            ),
            (r#"{"url": "${BASE}/mcp"}"#, None),
            (
                r#"{"url": "ftp://x"}"#,
                Some(
                    "line 1, column 9: url: expected an address that begins with http:// or https://, found \"ftp://x\"",
                ),
            ),
            (
                r#"{"url": "http://x", "headers": {"A(b)": "c"}}"#,
                Some("line 1, column 33: headers: \"A(b)\" cannot be a name"),
            ),
            (
                r#"{"comand": "x"}"#,
                Some("line 1, column 2: unknown key \"comand\": the nearest is \"command\""),
            ),
            (
                r#"{"command": "x", "type": "http"}"#,
                Some("line 1, column 26: type: expected \"stdio\" with a command, found \"http\""),
            ),
            (
                r#"{"command": "x", "args": "y"}"#,
                Some("line 1, column 26: args: expected a list of texts, found \"y\""),
            ),
            (r#"{"command": "x", "env": {"A": 5}}"#, Some("line 1, column 31: A: expected a text, found 5")),
            (
                r#"{"command": "x", "command": "y"}"#,
                Some("line 1, column 18: \"command\" appears twice: the first one counts"),
            ),
        ] {
            assert_eq!(server(Document::parse(text).unwrap().root()).err().as_deref(), want, "{text}");
        }
    }
}
