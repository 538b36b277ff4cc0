//! Which files decide what hooks run: hookbox's own, and the hook configuration of the agents.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::dialect::agent::Agent;
use crate::place::plain;

/// Files in a directory of a certain name, wherever that directory stands: an agent works in many repositories, and
/// which of them is meant is not always known.
struct Pattern {
    /// The directory, as the names at the end of its path.
    directory: Vec<String>,
    /// The names in it that are protected, each with everything beneath it.
    names: Vec<&'static str>,
    /// Whether the directory itself counts: removed or renamed, it takes its files with it.
    itself: bool,
}

/// What a root holds. `hooks` and `plugins` hold what runs, the others say how.
const IN_A_ROOT: [&str; 6] = ["hookbox.toml", "hooks", "hooks.json", "mcp.json", "plugins", "plugins.lock"];

/// hookbox's data and cache where they are by default.
const OWN: [&str; 2] = [".local/share/hookbox", ".cache/hookbox"];

/// Directories with much else in them.
const SHARED: [&str; 5] = ["", ".github", ".github/copilot", ".local/share", ".cache"];

/// Files and directories that are protected wherever they stand, by their directory and the name in it: what decides about
/// the agents' hooks, and hookbox's own.
fn elsewhere() -> BTreeMap<&'static str, Vec<&'static str>> {
    let agents = Agent::ALL.into_iter().flat_map(|agent| agent.places().iter().map(|it| it.path));
    let mut all = BTreeMap::<_, Vec<_>>::new();
    for path in agents.chain(OWN) {
        let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
        all.entry(directory).or_default().push(name);
    }
    all
}

/// The protected paths. Names are compared without regard to the case of ASCII letters, as some file systems do.
pub(super) struct Protected {
    patterns: Vec<Pattern>,
    /// Absolute paths, each with everything beneath it: what stands under another name, or behind a symlink.
    places: Vec<PathBuf>,
    home: Option<PathBuf>,
}

impl Protected {
    /// What is protected with these roots and these places beside what the tables name.
    pub(super) fn new(roots: &[String], places: Vec<PathBuf>, home: Option<PathBuf>) -> Self {
        let roots = roots.iter().map(|root| Pattern {
            directory: vec![root.to_ascii_lowercase()],
            names: IN_A_ROOT.to_vec(),
            itself: true,
        });
        let elsewhere = elsewhere().into_iter().map(|(directory, names)| Pattern {
            directory: directory.split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect(),
            names,
            itself: !SHARED.contains(&directory),
        });
        Self { patterns: roots.chain(elsewhere).collect(), places, home }
    }

    /// The paths in directories below `base` that the patterns name.
    pub(super) fn below(&self, base: &Path) -> Vec<PathBuf> {
        let mut paths = Vec::new();
        for pattern in &self.patterns {
            let directory = base.join(pattern.directory.iter().collect::<PathBuf>());
            paths.extend(pattern.names.iter().map(|name| directory.join(name)));
            if pattern.itself {
                paths.push(directory);
            }
        }
        paths
    }

    /// The same with more places.
    pub(super) fn with_places(mut self, places: impl IntoIterator<Item = PathBuf>) -> Self {
        for place in places {
            // The root of the file system is nobody's place.
            if place.is_absolute() && place.parent().is_some() && !self.places.contains(&place) {
                self.places.push(place);
            }
        }
        self
    }

    /// Whether a path, as it stands in a shell line of an agent in `cwd`, is protected. `~` and `$HOME` are the home
    /// directory; nothing else is expanded, and symlinks are not followed.
    pub(super) fn holds_word(&self, word: &str, cwd: &Path) -> bool {
        if self.holds_names(word) {
            return true;
        }
        if self.places.is_empty() || word.is_empty() {
            return false;
        }
        let in_home = ["~/", "$HOME/", "${HOME}/"].iter().find_map(|head| word.strip_prefix(head));
        let path = match (in_home, &self.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => cwd.join(word),
        };
        self.holds_place(&plain(&path))
    }

    /// Whether an absolute path is protected.
    pub(super) fn holds(&self, path: &str) -> bool {
        self.holds_names(path) || self.holds_place(&plain(Path::new(path)))
    }

    /// Whether this directory is a protected one, so that a bare name in it is a protected file.
    pub(super) fn holds_directory(&self, directory: &Path) -> bool {
        self.holds(&directory.to_string_lossy())
    }

    fn holds_place(&self, path: &Path) -> bool {
        self.places.iter().any(|place| path.starts_with(place))
    }

    fn holds_names(&self, path: &str) -> bool {
        let mut parts: Vec<&str> = Vec::new();
        for part in path.split('/') {
            match part {
                "" | "." => {}
                ".." if parts.last().is_some_and(|last| *last != "..") => {
                    parts.pop();
                }
                part => parts.push(part),
            }
        }
        (0..parts.len())
            .any(|at| self.patterns.iter().any(|it| it.matches(parts.get(at..).unwrap_or_default())))
    }
}

impl Pattern {
    fn matches(&self, parts: &[&str]) -> bool {
        let Some((directory, rest)) = parts.split_at_checked(self.directory.len()) else { return false };
        if !directory.iter().zip(&self.directory).all(|(a, b)| a.eq_ignore_ascii_case(b)) {
            return false;
        }
        match rest.first() {
            None => self.itself,
            // A glob may stand for any of the names.
            Some(name) if name.contains(['*', '?', '[', '{']) => self.itself,
            Some(name) => self.names.iter().any(|it| it.eq_ignore_ascii_case(name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn protected() -> Protected {
        let roots = [".hookbox".to_owned(), ".kodelet".to_owned()];
        Protected::new(&roots, vec!["/srv/codex/hooks.json".into()], Some("/home/ada".into())).with_places([
            "/dot/hookbox".into(),
            "/".into(),
            "relative".into(),
        ])
    }

    #[test]
    fn what_decides_on_hooks_is_protected_and_its_neighbours_are_not() {
        let protected = protected();
        for path in [
            "/p/.hookbox",
            "/p/.hookbox/",
            "/p/.hookbox/hookbox.toml",
            "/p/.HookBox/HOOKBOX.toml",
            "/p/.hookbox/hooks",
            "/p/.hookbox/hooks/guard.wasm",
            "/p/.hookbox/hooks.json",
            "/p/.hookbox/mcp.json",
            "/p/.hookbox/plugins/a@b/hooks/x",
            "/p/.hookbox/plugins.lock",
            "/home/ada/.kodelet/hooks/x",
            "/p/.claude/settings.json",
            "/p/.claude/settings.local.json",
            "/p/.claude/hooks/x.sh",
            "/p/.codex/config.toml",
            "/p/.codex/hooks.json",
            "/p/.gemini/settings.json",
            "/p/.qwen/settings.json",
            "/p/.cursor/hooks.json",
            "/home/ada/.copilot/hooks/x.json",
            "/home/ada/.copilot/settings.json",
            "/p/.github/hooks/x.json",
            "/p/.github/copilot/settings.local.json",
            "/p/.opencode/plugin/x.js",
            "/p/.opencode/plugins/x.js",
            "/home/ada/.config/opencode/plugins/x.js",
            "/home/ada/.config/opencode/opencode.json",
            "/home/ada/.gemini/trustedFolders.json",
            "/home/ada/.Qwen/trustedfolders.json",
            "/home/ada/.copilot/config.json",
            "/home/ada/.claude.json",
            "/home/ada/.claude/plugins/installed_plugins.json",
            "/srv/shop/opencode.json",
            "/srv/shop/opencode.jsonc",
            "/home/ada/.local/share/hookbox/trust.toml",
            "/home/ada/.cache/hookbox/code/x",
            "/srv/codex/hooks.json",
            "/dot/hookbox/hooks/x",
        ] {
            assert!(protected.holds(path), "{path}");
            assert!(protected.holds_word(path, Path::new("/p")), "{path}");
        }
        for path in [
            "",
            "/",
            "/p",
            "/p/.hookbox/README.md",
            "/p/.hookbox/hooks/../notes.md",
            "/p/hookbox.toml",
            "/p/hooks/x",
            "/p/.claude/commands/x.md",
            "/p/.claude/settings.json.md",
            "/p/CLAUDE.md",
            "/p/.github/workflows/ci.yml",
            "/p/.github",
            "/home/ada/.cache/pip",
            "/srv/shop/config.json",
            "/srv/shop/trustedFolders.json",
            "/srv/shop/claude.json",
            "/home/ada/.config/opencode/theme.json",
            "/home/ada/.cache",
            "/srv/codex/notes",
            "/dot/hookbox2",
        ] {
            assert!(!protected.holds(path), "{path}");
            assert!(!protected.holds_word(path, Path::new("/p")), "{path}");
        }
    }

    #[test]
    fn a_word_of_a_shell_line_is_read_as_the_path_that_it_becomes() {
        let protected = protected();
        for (word, cwd) in [
            (".hookbox/*", "/p"),
            (".hookbox/{hooks,plugins}/x", "/p"),
            ("$HOME/.hookbox/hooks", "/p"),
            ("$ANY/.claude/settings.json", "/p"),
            ("~/.codex/config.toml", "/p"),
            ("./src/../.hookbox/./hooks//x", "/p"),
            ("hookbox/x", "/dot"),
            ("../dot/hookbox", "/p"),
        ] {
            assert!(protected.holds_word(word, Path::new(cwd)), "{word}");
        }
        for (word, cwd) in [(".github/*", "/p"), ("*", "/p"), ("hookbox", "/p"), ("~", "/p"), ("--", "/p")] {
            assert!(!protected.holds_word(word, Path::new(cwd)), "{word}");
        }
    }
}
