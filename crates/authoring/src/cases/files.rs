//! The paths of files in cases.

use std::path::{Component, Path};

/// The directory that a path of a case begins at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Base {
    /// The working directory.
    Work,
    /// The home directory.
    Home,
    /// The data directory of the hook.
    Data,
}

/// The names in the home directory that are the surroundings of the case itself.
pub(super) const OWN: [&str; 2] = [".hookbox", "work"];

/// The words that say which paths are possible.
pub(super) const HINT: &str =
    "write a relative path, $HOME/… or $DATA/…, without .., and not below $HOME/.hookbox";

/// Splits the path of a file in a case: the directory, and the path in it. `None` if it leads elsewhere.
pub(super) fn split(path: &str) -> Option<(Base, &str)> {
    let (base, rest) = match path.split_once('/') {
        Some(("$HOME", rest)) => (Base::Home, rest),
        Some(("$DATA", rest)) => (Base::Data, rest),
        _ => (Base::Work, path),
    };
    let mut parts = rest.split('/');
    let first = parts.clone().next().unwrap_or_default();
    let is_plain = parts.all(|part| {
        let mut names = Path::new(part).components();
        matches!((names.next(), names.next()), (Some(Component::Normal(_)), None)) && !part.contains('\0')
    });
    let is_own = base == Base::Home && OWN.contains(&first);
    (is_plain && !first.starts_with('$') && !is_own).then_some((base, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_stays_below_its_directory() {
        for (path, want) in [
            ("a", Some((Base::Work, "a"))),
            ("sub/a.txt", Some((Base::Work, "sub/a.txt"))),
            (".kodelet/a", Some((Base::Work, ".kodelet/a"))),
            ("$HOME/.kodelet/audit.log", Some((Base::Home, ".kodelet/audit.log"))),
            ("$DATA/audit.jsonl", Some((Base::Data, "audit.jsonl"))),
            ("", None),
            ("/etc/passwd", None),
            ("../up", None),
            ("a/../../up", None),
            ("a//b", None),
            ("a/", None),
            ("./a", None),
            ("a/.", None),
            ("a\0b", None),
            ("$HOME", None),
            ("$HOME/", None),
            ("$HOME//etc/passwd", None),
            ("$HOME/../up", None),
            ("$HOME/.hookbox/hookbox.toml", None),
            ("$HOME/work/a", None),
            ("$DATA/../up", None),
            ("$DAATA/a", None),
            ("$TMP/a", None),
        ] {
            assert_eq!(split(path), want, "{path:?}");
        }
    }
}
