//! A path inside a plugin.

use hookbox::discovery::MANIFEST;
use std::fmt;
use std::path::{Path, PathBuf};

use super::PARTS;
use super::limits::{MAX_DEPTH, MAX_PATH};
use hookbox_system::text;

/// The most bytes of a file name on common file systems.
const MAX_PART: usize = 255;

/// A path inside a plugin: relative, in UTF-8, with plain parts.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EntryPath(String);

impl EntryPath {
    /// Checks a path of git or tar, and removes one slash at its end.
    ///
    /// # Errors
    ///
    /// The reason why no plugin may have this path. It reads after the path.
    pub fn new(path: &[u8]) -> Result<Self, String> {
        let path = str::from_utf8(path).map_err(|_| "is not UTF-8")?;
        let path = path.strip_suffix('/').unwrap_or(path);
        let is_long = path.len() > MAX_PATH || path.split('/').any(|part| part.len() > MAX_PART);
        let fault = match path {
            "" => "is empty: expected a path in the plugin".to_owned(),
            _ if path.starts_with('/') => "is absolute: it would lead out of the plugin".to_owned(),
            _ if is_long => {
                format!("is too long: expected at most {MAX_PATH} bytes, and {MAX_PART} in a part")
            }
            _ if path.chars().any(|c| c.is_control() || c == '\\') => {
                "has a control character or a backslash".to_owned()
            }
            _ if path.split('/').count() > MAX_DEPTH => {
                format!("is too deep: expected at most {MAX_DEPTH} directories in each other")
            }
            _ => match path.split('/').find_map(fault_of_part) {
                Some(fault) => fault.to_owned(),
                None => return Ok(Self(path.to_owned())),
            },
        };
        Err(fault)
    }

    /// Returns true for `skills`, `recipes`, `hooks`, and every path below them.
    pub(super) fn is_of_a_part(&self) -> bool {
        self.parts().next().is_some_and(|first| PARTS.contains(&first))
    }

    /// Returns true for a path that makes a directory a plugin: one of a part, and a manifest, which may have hooks.
    pub(super) fn is_of_a_plugin(&self) -> bool {
        self.is_of_a_part() || self.as_str() == MANIFEST
    }

    /// Returns true for `skills`, `recipes` and `hooks`, which are directories.
    pub(super) fn is_a_part(&self) -> bool {
        PARTS.contains(&self.as_str())
    }

    /// Returns the parts.
    pub fn parts(&self) -> std::str::Split<'_, char> {
        self.0.split('/')
    }

    /// Returns the path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the path.
    pub fn as_path(&self) -> &Path {
        Path::new(&self.0)
    }

    /// Returns the path in lower case, to compare it as a file system does that ignores case.
    pub(super) fn folded(&self) -> String {
        self.0.to_lowercase()
    }

    /// Returns the parent directory; `None` at the top.
    pub(super) fn parent(&self) -> Option<Self> {
        self.0.rsplit_once('/').map(|(parent, _)| Self(parent.to_owned()))
    }

    /// Resolves the target of a symlink at this path, by its text; `None` if it leads out of the plugin.
    pub(super) fn target(&self, target: &Path) -> Option<PathBuf> {
        let mut path: PathBuf = self.parent().map(|it| PathBuf::from(it.0)).unwrap_or_default();
        for part in target.components() {
            match part {
                std::path::Component::CurDir => {}
                std::path::Component::Normal(part) => path.push(part),
                std::path::Component::ParentDir if path.pop() => {}
                _ => return None,
            }
        }
        Some(path)
    }
}

fn fault_of_part(part: &str) -> Option<&'static str> {
    match part {
        ".." => Some("has a part `..`: it would lead out of the plugin"),
        "" | "." => Some("has a part that is empty or `.`"),
        _ if part.eq_ignore_ascii_case(".git") => {
            Some("has a part `.git`: it would be taken for a repository")
        }
        _ => None,
    }
}

impl fmt::Display for EntryPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&text::escape(&self.0, MAX_PATH))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_in_a_plugin_is_relative_and_plain() {
        for (path, is_of_a_part) in [
            ("hooks/guard", true),
            ("hooks", true),
            ("hooks/", true),
            ("skills/a b/SKILL.md", true),
            ("recipes/ä.md", true),
            ("hooks/..x/...", true),
            ("hooksx/y", false),
            ("README.md", false),
            ("lib/hooks/x", false),
        ] {
            let parsed = EntryPath::new(path.as_bytes()).unwrap();
            assert_eq!(parsed.is_of_a_part(), is_of_a_part, "{path}");
            assert_eq!(parsed.is_a_part(), is_of_a_part && !parsed.as_str().contains('/'), "{path}");
        }
        let (deep, long, part) = ("d/".repeat(33), "a/".repeat(600), "x".repeat(256));
        for (path, error) in [
            ("", "empty: "),
            ("/", "empty: "),
            ("/etc/passwd", "absolute"),
            ("//x", "absolute"),
            ("../x", "`..`"),
            ("hooks/../../x", "`..`"),
            ("hooks/..", "`..`"),
            ("./hooks", "empty or `.`"),
            ("hooks//x", "empty or `.`"),
            ("hooks/x//", "empty or `.`"),
            ("hooks/.", "empty or `.`"),
            ("hooks\\..\\x", "a control character"),
            ("hooks/\n", "a control character"),
            ("hooks/\0", "a control character"),
            ("hooks/\u{9b}31m", "a control character"),
            (".git/config", "`.git`"),
            ("hooks/.GIT/config", "`.git`"),
            (&deep, "too deep"),
            (&long, "too long"),
            (&part, "too long"),
        ] {
            let found = EntryPath::new(path.as_bytes()).unwrap_err();
            assert!(found.contains(error), "{path} {found}");
        }
        assert_eq!(EntryPath::new(b"hooks/\xff").unwrap_err(), "is not UTF-8");
    }

    #[test]
    fn a_symlink_leads_somewhere_in_the_plugin_or_nowhere() {
        let link = EntryPath::new(b"hooks/sub/link").unwrap();
        for (target, leads) in [
            ("x", Some("hooks/sub/x")),
            ("./x", Some("hooks/sub/x")),
            ("../x", Some("hooks/x")),
            ("../../recipes/x", Some("recipes/x")),
            ("../..", Some("")),
            ("../../../x", None),
            ("/etc/passwd", None),
            ("../../../org@repo/hooks/x", None),
        ] {
            assert_eq!(link.target(Path::new(target)), leads.map(PathBuf::from), "{target}");
        }
    }
}
