//! Paths that a rule names by globs.

use std::path::{Path, PathBuf};

use globset::GlobBuilder;
use regex::bytes::{Regex, RegexBuilder};

use crate::event::ToolCall;
use crate::facts;
use hookbox_system::files::normalize_path;
use hookbox_system::text;

/// The longest glob, in bytes.
const MAX_LENGTH: usize = 1_024;

/// The largest compiled glob, in bytes.
const MAX_SIZE: usize = 256 << 10;

/// A glob for paths. It matches everything beneath a path that it matches, too.
#[derive(Clone, Debug)]
pub(super) struct PathGlob {
    is_at_home: bool,
    regex: Regex,
}

impl PathGlob {
    /// Reads a glob. One that begins with neither `/` nor `~/` matches in any directory.
    ///
    /// # Errors
    ///
    /// The reason why it is not one.
    pub(super) fn parse(glob: &str) -> Result<Self, String> {
        if glob.len() > MAX_LENGTH {
            return Err(format!("has more than {MAX_LENGTH} bytes"));
        }
        let (is_at_home, rest) = match glob.strip_prefix('~') {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => (true, rest),
            _ => (false, glob),
        };
        let rest = rest.strip_prefix("./").unwrap_or(rest);
        let rest = rest.trim_end_matches('/');
        if rest.is_empty() && !is_at_home {
            return Err("expected a glob such as \"src/**\", found none".to_owned());
        }
        let whole = if is_at_home || rest.starts_with('/') { rest.to_owned() } else { format!("**/{rest}") };
        let glob = GlobBuilder::new(&whole).literal_separator(true).backslash_escape(true).build();
        let glob = glob.map_err(|error| text::escape(&error.kind().to_string(), 200))?;
        let body = glob.regex().strip_suffix('$').unwrap_or(glob.regex());
        let regex = RegexBuilder::new(&format!("{body}(?:/.*)?$"))
            .dot_matches_new_line(true)
            .size_limit(MAX_SIZE)
            .dfa_size_limit(MAX_SIZE)
            .build()
            .map_err(|_| "is too large".to_owned())?;
        Ok(Self { is_at_home, regex })
    }

    /// Returns true if an absolute path matches. `homes` are the paths of the home directory.
    pub(super) fn matches(&self, path: &str, homes: &[PathBuf]) -> bool {
        if !self.is_at_home {
            return self.regex.is_match(path.as_bytes());
        }
        homes.iter().any(|home| {
            let home = home.to_string_lossy();
            let beneath = path.strip_prefix(home.trim_end_matches('/'));
            beneath
                .filter(|it| it.is_empty() || it.starts_with('/'))
                .is_some_and(|it| self.regex.is_match(it.as_bytes()))
        })
    }
}

/// A path of a tool call.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CallPath {
    /// The path, absolute.
    pub(super) path: String,
    /// True if it is inside the working directory; `None` if that is not known.
    pub(super) inside: Option<bool>,
}

/// Returns the paths of a call: resolved, and as the call names them. A link of a name is known by both.
pub(super) fn of(call: &ToolCall, cwd: &Path, home: Option<&Path>) -> Vec<CallPath> {
    let resolved = &call.facts.paths;
    let mut paths: Vec<CallPath> =
        resolved.iter().map(|it| CallPath { path: it.path.clone(), inside: Some(it.inside) }).collect();
    if resolved.is_empty() {
        return paths;
    }
    let named = hookbox_calls::named(&call.name, call.input.value());
    let is_each = named.len() == resolved.len();
    for (at, name) in named.into_iter().enumerate() {
        let path = lexical(name, cwd, home).to_string_lossy().into_owned();
        let inside = resolved.get(at).filter(|_| is_each).map(|it| it.inside);
        if !paths.iter().any(|it| it.path == path) {
            paths.push(CallPath { path, inside });
        }
    }
    paths
}

/// Returns the path that a name means in a directory. Symlinks are not followed, and nothing is read.
pub(super) fn lexical(name: &str, cwd: &Path, home: Option<&Path>) -> PathBuf {
    normalize_path(&cwd.join(facts::expand(name, home)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_glob_matches_paths_and_everything_beneath_them() {
        let homes = [PathBuf::from("/home/ada")];
        for (glob, path, expected) in [
            (".env", "/p/.env", true),
            (".env", "/p/a/.env", true),
            (".env", "/p/.env.example", false),
            (".env*", "/p/.env.example", true),
            ("./.env", "/p/.env", true),
            ("src/**", "/p/src/a/b.rs", true),
            ("src/*.rs", "/p/src/a.rs", true),
            ("src/*.rs", "/p/src/a/b.rs", false),
            ("**/secrets/", "/p/secrets/x", true),
            ("/etc", "/etc/passwd", true),
            ("/etc", "/p/etc/passwd", false),
            ("/etc", "/etcetera", false),
            ("~/.ssh", "/home/ada/.ssh/id", true),
            ("~/.ssh", "/home/adam/.ssh/id", false),
            ("~/.ssh", "/p/.ssh/id", false),
            ("~", "/home/ada/x", true),
            ("*.{pem,key}", "/p/a.key", true),
            ("*.[ch]", "/p/a.c", true),
            ("?.c", "/p/ab.c", false),
            ("a?c", "/p/a/c", false),
            ("**", "/p", true),
            (".env", "/p/a\nb/.env", true),
            (".env", "/p/\u{e9}/.env", true),
        ] {
            assert_eq!(PathGlob::parse(glob).unwrap().matches(path, &homes), expected, "{glob}: {path}");
        }
    }

    #[test]
    fn a_glob_with_a_fault_is_refused() {
        for glob in ["", "/", "a[", "{a", "a/**b[z-a]", &"*".repeat(2_000)] {
            assert!(PathGlob::parse(glob).is_err(), "{glob:.20}");
        }
    }
}
