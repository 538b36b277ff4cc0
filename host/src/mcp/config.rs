//! The configuration of servers.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use crate::hook::{Cause, HookError};
use crate::native::command::CommandLine;
use hookbox_system::text;

/// An MCP server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerConfig {
    /// The name: the part before the dot in `memory.load`.
    pub name: String,
    /// The connection to it.
    pub transport: Transport,
}

/// The connection to a server.
#[derive(Clone, PartialEq, Eq)]
pub enum Transport {
    /// A process that speaks JSON-RPC over its standard input and output, a message a line.
    Stdio {
        /// The program: a name on `PATH`, or a path; a relative path is below `directory`.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Variables on top of this process's own environment.
        env: BTreeMap<String, String>,
        /// The working directory.
        directory: PathBuf,
    },
    /// A server that speaks streamable HTTP.
    Http {
        /// The address of its endpoint, `http` or `https`.
        url: String,
        /// Header fields of every request.
        headers: BTreeMap<String, String>,
    },
}

impl fmt::Debug for Transport {
    /// Leaves out the values of variables and headers, and the query of an address: they may contain keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdio { command, args, env, directory } => f
                .debug_struct("Stdio")
                .field("command", command)
                .field("args", args)
                .field("env", &env.keys().collect::<Vec<_>>())
                .field("directory", directory)
                .finish(),
            Self::Http { url, headers } => f
                .debug_struct("Http")
                .field("url", &url.split(['?', '#']).next().unwrap_or_default())
                .field("headers", &headers.keys().collect::<Vec<_>>())
                .finish(),
        }
    }
}

impl Transport {
    /// Returns the configuration of a server, with the values of the variables that its declaration names.
    ///
    /// # Errors
    ///
    /// `incompatible` for a variable without a value; `not_found` for a program that is missing.
    pub(crate) fn filled(&self, name: &str, directory: &Path) -> Result<ServerConfig, HookError> {
        let full = |text: &String| {
            expand(text, &|name| std::env::var(name).ok()).map_err(|variable| {
                let (name, variable) = (text::escape(name, 80), text::escape(&variable, 80));
                let what = format!("its server {name:?} needs the variable {variable}, which is not set");
                HookError::new(Cause::Incompatible, what)
            })
        };
        let all = |texts: &BTreeMap<String, String>| {
            texts.iter().map(|(key, value)| Ok((key.clone(), full(value)?))).collect::<Result<_, HookError>>()
        };
        let transport = match self {
            Self::Stdio { command, args, env, .. } => {
                let command = full(command)?;
                let args: Vec<String> = args.iter().map(full).collect::<Result<_, _>>()?;
                let program = CommandLine::Program { program: command.clone(), args: args.clone() };
                program.look(directory, &[]).map_err(|error| {
                    HookError::new(
                        error.cause,
                        format!("its server {:?}: {}", text::escape(name, 80), error.message),
                    )
                })?;
                Self::Stdio { command, args, env: all(env)?, directory: directory.to_owned() }
            }
            Self::Http { url, headers } => Self::Http { url: full(url)?, headers: all(headers)? },
        };
        Ok(ServerConfig { name: name.to_owned(), transport })
    }
}

/// Replaces `${NAME}` and `${NAME:-DEFAULT}` in a text by the values that `variable` returns.
///
/// # Errors
///
/// The name of a variable that is not set and has no default.
fn expand(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((inside, tail)) = after.split_once('}') else { break };
        out.push_str(before);
        let (name, default) = match inside.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inside, None),
        };
        match variable(name).filter(|value| default.is_none() || !value.is_empty()) {
            Some(value) => out.push_str(&value),
            None => out.push_str(default.ok_or_else(|| name.to_owned())?),
        }
        rest = tail;
    }
    out.push_str(rest);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_is_replaced_by_its_value_or_its_default_and_is_never_read_twice() {
        let variable = |name: &str| match name {
            "A" => Some("${B}".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        };
        for (text, want) in [
            ("plain $A {A}", Ok("plain $A {A}")),
            ("x${A}y", Ok("x${B}y")),
            ("${NO:-d}${EMPTY:-e}${EMPTY}", Ok("de")),
            ("${NO}", Err("NO")),
            ("${", Ok("${")),
            ("${A", Ok("${A")),
        ] {
            assert_eq!(expand(text, &variable), want.map(str::to_owned).map_err(str::to_owned), "{text}");
        }
    }
}
