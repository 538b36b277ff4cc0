//! The files that decide which hooks run: hookbox's own, and those of other programs that hookbox is told of.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, LazyLock};

use crate::facts::CommandFiles;
use hookbox_system::files::normalize_path;

/// Files of other programs that decide about hooks: `builtin:self-protection` guards them, too.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Protection {
    /// Files and directories, as paths beneath a home directory or a repository, such as `.agent/hooks.json`. They are
    /// guarded in whatever directory they are.
    pub paths: Vec<&'static str>,
    /// Directories of these files that hold much else, and are not guarded themselves.
    pub shared_directories: Vec<&'static str>,
    /// Absolute paths.
    pub places: Vec<PathBuf>,
    /// The programs that hookbox can be installed into, as its command line calls them.
    pub targets: Vec<&'static str>,
    /// Words of a command line, settings and variables with which a program of `targets` runs without its hooks, each with
    /// the program.
    pub without_hooks: Vec<(&'static str, &'static str)>,
    /// The agents in which the model can write to a program that runs without a call that reaches a hook: the agent's
    /// name, and the name of its tool. A program that would wait for commands is not started there.
    pub unseen_input: Vec<(&'static str, &'static str)>,
    /// The directories of skills and command files: see [`ChainOptions`](crate::chain::ChainOptions).
    pub command_files: Vec<CommandFiles>,
}

/// Files in a directory of a certain name, wherever that directory stands: an agent works in many repositories, and
/// which of them is meant is not always known.
struct Pattern {
    /// The directory, as the names at the end of its path.
    directory: Vec<String>,
    /// The names in it that are protected, each with everything beneath it.
    names: Vec<&'static str>,
    /// True if the directory itself counts: its removal or renaming takes its files with it.
    itself: bool,
}

/// The names in a root: `hooks` and `plugins` have code that runs, the others are settings of it.
const IN_A_ROOT: [&str; 6] = ["hookbox.toml", "hooks", "hooks.json", "mcp.json", "plugins", "plugins.lock"];

/// hookbox's data, cache and program where they are by default.
const OWN: [&str; 4] = [".local/share/hookbox", ".cache/hookbox", ".local/bin/hookbox", ".cargo/bin/hookbox"];

/// No name is longer, and no pattern for one, in letters.
const MAX_PATTERN: usize = 255;

/// Directories with much else in them.
const SHARED: [&str; 5] = ["", ".local/share", ".local/bin", ".cargo/bin", ".cache"];

/// Returns the names that are protected in whatever directory they are, by the end of that directory's path.
fn elsewhere(protection: &Protection) -> BTreeMap<&'static str, Vec<&'static str>> {
    let mut all = BTreeMap::<_, Vec<_>>::new();
    for path in protection.paths.iter().copied().chain(OWN) {
        let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
        all.entry(directory).or_default().push(name);
    }
    all
}

/// The protected paths. Names are compared without regard to the case of ASCII letters, as some file systems do.
pub(super) struct Protected {
    patterns: Arc<Patterns>,
    files: LazyLock<Files, Look>,
    /// Variables whose values are absolute paths.
    pub(super) variables: BTreeMap<String, String>,
    /// The programs that hookbox can be installed into.
    pub(super) targets: Vec<&'static str>,
    /// Words with which such a program runs without its hooks.
    pub(super) without_hooks: Vec<(&'static str, &'static str)>,
}

/// The paths that are protected in whatever directory they are.
pub(super) struct Patterns(Vec<Pattern>);

/// The protected paths that a look at the file system finds.
struct Files {
    /// Absolute paths, each with everything beneath it: what has another name, or is behind a symlink.
    places: Vec<PathBuf>,
    /// Absolute paths of programs, whose directories belong to everybody.
    programs: Vec<PathBuf>,
    /// The protected paths that existed at the look. A command that takes one of them with it changes it.
    present: Vec<PathBuf>,
}

type Look = Box<dyn FnOnce() -> Files + Send>;

impl Patterns {
    /// The paths in directories below `base` that the patterns name.
    pub(super) fn below(&self, base: &Path) -> Vec<PathBuf> {
        let mut paths = Vec::new();
        for pattern in &self.0 {
            let directory = base.join(pattern.directory.iter().collect::<PathBuf>());
            paths.extend(pattern.names.iter().map(|name| directory.join(name)));
            if pattern.itself {
                paths.push(directory);
            }
        }
        paths
    }

    /// Returns true if an absolute path is protected by its names.
    pub(super) fn hold(&self, path: &Path) -> bool {
        self.hold_parts(&parts(path))
    }

    fn hold_parts(&self, parts: &[&str]) -> bool {
        let by_name = |at: usize| {
            let rest = parts.get(at..).unwrap_or_default();
            self.0.iter().any(|pattern| pattern.matches(rest))
        };
        (0..parts.len()).any(by_name)
    }
}

impl Files {
    /// Returns these places and programs, and the files that exist beside them.
    fn new(places: Vec<PathBuf>, programs: Vec<PathBuf>, present: Vec<PathBuf>) -> Self {
        // The root of the file system is nobody's place.
        let is_place = |place: &PathBuf| place.is_absolute() && place.parent().is_some();
        let list = |paths: Vec<PathBuf>| -> Vec<PathBuf> {
            let all: BTreeSet<PathBuf> = paths.into_iter().filter(is_place).collect();
            all.into_iter().collect()
        };
        let places = list(places);
        Self { present: list(present.into_iter().chain(places.iter().cloned()).collect()), places, programs }
    }
}

impl Protected {
    /// The protected paths of these roots, of hookbox's own files and of other programs. `look` reads the file system:
    /// it returns places, programs, and protected paths that exist. It runs when the first path is judged that no pattern decides
    /// on: most events have none.
    pub(super) fn new(
        roots: &[String],
        variables: BTreeMap<String, String>,
        protection: &Protection,
        look: impl FnOnce(&Patterns) -> [Vec<PathBuf>; 3] + Send + 'static,
    ) -> Self {
        let roots = roots.iter().map(|root| Pattern {
            directory: vec![root.to_ascii_lowercase()],
            names: IN_A_ROOT.to_vec(),
            itself: true,
        });
        let elsewhere = elsewhere(protection).into_iter().map(|(directory, names)| Pattern {
            directory: directory.split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect(),
            names,
            itself: !SHARED.contains(&directory) && !protection.shared_directories.contains(&directory),
        });
        let patterns = Arc::new(Patterns(roots.chain(elsewhere).collect()));
        let of_look = Arc::clone(&patterns);
        let look: Look = Box::new(move || {
            let [places, programs, present] = look(&of_look);
            Files::new(places, programs, present)
        });
        Self {
            patterns,
            files: LazyLock::new(look),
            variables,
            targets: protection.targets.clone(),
            without_hooks: protection.without_hooks.clone(),
        }
    }

    /// The home directory.
    pub(super) fn home(&self) -> Option<&str> {
        self.variables.get("HOME").map(String::as_str)
    }

    /// The path that a word of a shell line means in a directory. Symlinks are not followed.
    pub(super) fn path(&self, word: &str, directory: &Path) -> PathBuf {
        let at_home = word.strip_prefix('~').zip(self.home()).and_then(|(rest, home)| {
            let (user, rest) = rest.split_once('/').unwrap_or((rest, ""));
            let is_own = user.is_empty() || Path::new(home).file_name().is_some_and(|name| name == user);
            is_own.then(|| Path::new(home).join(rest.trim_start_matches('/')))
        });
        normalize_path(&at_home.unwrap_or_else(|| directory.join(word)))
    }

    /// Returns true if an absolute path is protected.
    pub(super) fn holds(&self, path: &Path) -> bool {
        let parts = parts(path);
        self.patterns.hold_parts(&parts)
            || self.files.places.iter().any(|place| begins(&parts, place))
            || self.files.programs.iter().any(|it| it.as_os_str().eq_ignore_ascii_case(path))
    }

    /// Returns true if files of any names in this directory may replace hookbox's program, or its settings and those of the
    /// agents: in the root, the home directory, that of the program, and in the home directory also the one above that,
    /// such as `~/.local`.
    pub(super) fn is_around_hookbox(&self, directory: &Path) -> bool {
        let home = self.home().map(Path::new);
        let own = self.files.places.iter().filter(|it| it.ends_with("hookbox"));
        let mut around = own.filter_map(|it| it.parent()).flat_map(|near| {
            let above = near.parent().filter(|it| home.is_some_and(|home| it.starts_with(home)));
            [Some(near), above].into_iter().flatten()
        });
        directory.parent().is_none() || home == Some(directory) || around.any(|it| it == directory)
    }

    /// Returns the existing protected path that is at or beneath this one.
    pub(super) fn beneath<'a>(&'a self, path: &Path) -> impl Iterator<Item = &'a Path> + use<'a> {
        let path: Vec<String> = parts(path).into_iter().map(str::to_owned).collect();
        self.files.present.iter().map(PathBuf::as_path).filter(move |place| {
            let place = parts(place);
            place.len() >= path.len() && path.iter().zip(place).all(|(path, place)| is_name(path, place))
        })
    }
}

/// The names of a path.
fn parts(path: &Path) -> Vec<&str> {
    path.components()
        .filter_map(|it| if let Component::Normal(name) = it { name.to_str() } else { None })
        .collect()
}

/// Returns true if a path is this one, or beneath it.
fn begins(path: &[&str], place: &Path) -> bool {
    let mut names = path.iter();
    place.components().skip(1).all(|place| {
        let place = place.as_os_str().to_str().unwrap_or_default();
        names.next().is_some_and(|name| is_name(name, place))
    })
}

impl Pattern {
    fn matches(&self, parts: &[&str]) -> bool {
        let Some((directory, rest)) = parts.split_at_checked(self.directory.len()) else { return false };
        if !directory.iter().zip(&self.directory).all(|(a, b)| is_name(a, b)) {
            return false;
        }
        match rest.first() {
            None => self.itself,
            // A pattern may be any of the names.
            Some(name) if name.contains(['*', '?', '[', '{']) => self.itself,
            Some(name) => self.names.iter().any(|it| is_name(name, it)),
        }
    }
}

/// Returns true if a name, or a pattern with letters of its own, is this name.
fn is_name(given: &str, name: &str) -> bool {
    let is_pattern = given.contains(['*', '?', '[']);
    given.eq_ignore_ascii_case(name) || is_pattern && is_match(given, name)
}

/// Returns true if a pattern of the shell matches a name. A name that begins with a dot needs one.
pub(super) fn is_match(pattern: &str, name: &str) -> bool {
    if name.starts_with('.') && !pattern.starts_with(['.', '[']) {
        return false;
    }
    let pattern: Vec<char> = pattern.to_ascii_lowercase().chars().take(MAX_PATTERN).collect();
    let name: Vec<char> = name.to_ascii_lowercase().chars().take(MAX_PATTERN).collect();
    // The prefixes of the name that the pattern so far matches.
    let mut reached = vec![false; name.len() + 1];
    if let Some(first) = reached.first_mut() {
        *first = true;
    }
    let mut rest = pattern.as_slice();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        let mut next = vec![false; reached.len()];
        let set = (*first == '[').then(|| after.iter().skip(1).position(|it| *it == ']')).flatten();
        let set = set.and_then(|end| after.get(..=end));
        rest = rest.get(set.map_or(0, |set| set.len() + 1)..).unwrap_or_default();
        let fits = |letter: char| match (first, set) {
            ('?', _) => true,
            (_, Some(set)) => is_of(set, letter),
            (first, None) => *first == letter,
        };
        for (at, is_reached) in reached.iter().enumerate().filter(|(_, it)| **it) {
            if *first == '*' {
                next.iter_mut().skip(at).for_each(|it| *it = *is_reached);
            } else if name.get(at).is_some_and(|letter| fits(*letter))
                && let Some(next) = next.get_mut(at + 1)
            {
                *next = true;
            }
        }
        reached = next;
    }
    reached.last().copied().unwrap_or_default()
}

/// Returns true if a letter belongs to a set such as `a-z` or `!x`.
fn is_of(set: &[char], letter: char) -> bool {
    match set {
        ['!' | '^', set @ ..] => !is_of(set, letter),
        [from, '-', to, rest @ ..] => (*from..=*to).contains(&letter) || is_of(rest, letter),
        [one, rest @ ..] => *one == letter || is_of(rest, letter),
        [] => false,
    }
}

#[cfg(test)]
pub(super) mod tests;
